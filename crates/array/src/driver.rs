//! What passes between an array and whatever runs it.

use std::ops::Range;

use strewn_alloc::{FileLayout, FreeSpace};
use strewn_base::Direction;
use strewn_raid::{SpindleIndex, Vbn};

use crate::counters::Counters;
use crate::failure::{DataLost, FailedSpindle};
use crate::payload::Payload;
use crate::processor::ProcessorCosts;

/// A host operation's name, chosen by the host, given back with the acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct OperationId(pub u32);

/// A read or write of the LUN.
#[derive(Debug, Clone)]
pub struct HostOperation<P> {
    /// The host's name for it.
    pub id: OperationId,
    /// Read or write.
    pub direction: Direction,
    /// First sector (of 512 bytes) of the LUN.
    pub first_sector: u64,
    /// How many sectors; at least one.
    pub sectors: u32,
    /// What a write writes; the default for a read.
    pub payload: P,
}

/// What the array calls a spindle command; the driver gives it back with the completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag(pub(crate) u64);

/// A read or write of one spindle.
#[derive(Debug, Clone)]
pub struct SpindleCommand<P> {
    /// The array's name for it.
    pub tag: Tag,
    /// Which spindle of the array.
    pub spindle: SpindleIndex,
    /// Read or write.
    pub direction: Direction,
    /// First sector (of 512 bytes) of the spindle.
    pub first_sector: u64,
    /// How many sectors; at least one.
    pub sectors: u32,
    /// What a write writes; the default for a read.
    pub payload: P,
    /// Whether the writes that are asked for in the same call must all reach their spindles or none, should the power go:
    /// they change stripes with blocks in use that are not written, which parity in part old and in part new would not
    /// protect. A driver without power to lose need not care.
    pub all_or_none: bool,
}

/// What a consistency point is reached by, for whoever keeps it: a superblock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Root {
    /// Blocks that are in use only because their frees are held back.
    pub held_back_blocks: u64,
    /// The block that leads to all others: its place, and the CRC-32C of its bytes. Nothing where every block has its
    /// place by the layout.
    pub block: Option<(Vbn, u32)>,
}

/// When an acknowledgement leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acknowledge {
    /// At the present time: the operation waited for a spindle or for room, its processing was done before.
    Now,
    /// When the controller's processor has done everything it was given so far.
    AfterProcessor,
}

/// What a controller's own work is for, told to whoever measures where a program's time goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Serving the host: caches, maps, plans of reads.
    Service,
    /// Bringing what was written to the spindles: consistency points and their allocation, or destaging.
    WriteBack,
}

/// What an array asks of the world: a simulation, or real spindles.
///
/// The controller's processor serves in order. A command leaves when the processor has done everything given to it
/// before, so a driver that keeps the time at which the processor is free knows at once when each command leaves.
pub trait Driver<P> {
    /// The processor works for `cost_ns` after what it has to do already.
    fn processor(&mut self, cost_ns: u64);
    /// Sends a command to a spindle, behind the processor's work so far.
    fn command(&mut self, command: SpindleCommand<P>);
    /// Answers the host; a read's payload is what was read.
    fn acknowledge(&mut self, operation: OperationId, when: Acknowledge, payload: P);
    /// Wants [`Array::timer_fired`] at `at_ns`; an array has one timer, the last setting counts.
    fn set_timer(&mut self, at_ns: u64);
    /// The array turns to other work; what it was at is returned, to be turned back to. Of interest only to who
    /// measures the program.
    #[inline]
    fn turn_to(&mut self, work: Work) -> Work {
        work
    }
    /// A spare takes the place of a spindle that failed: commands for `spindle` go to it from now on. An array
    /// without spares never asks.
    fn take_spare(&mut self, spindle: SpindleIndex) {
        let _ = spindle;
    }
    /// A consistency point begins: what is acknowledged from now on is not part of it.
    #[inline]
    fn checkpoint_begins(&mut self) {}
    /// All that a consistency point writes is written. The driver makes it safe, then `root` by a write of its own, and
    /// calls [`Array::committed`] when that is safe; what was acknowledged before the consistency point began needs the
    /// log no longer. A driver that answers false, which is the default, keeps no root: the array is to do it by itself.
    #[inline]
    fn commit(&mut self, root: Root) -> bool {
        let _ = root;
        false
    }
    /// What was asked for in this call so far that must be all or none belongs together, and not to what follows: other
    /// stripes. A driver that takes a call for one whole need not care, but has to be ready for a large one.
    #[inline]
    fn all_or_none_ends(&mut self) {}
    /// Answers the host that an operation failed: blocks it needs can be neither read nor computed. Never called of an
    /// array whose spindles do what they are asked or are lost as a whole.
    fn refuse(&mut self, operation: OperationId) {
        let _ = operation;
    }
}

/// What has become of an array's layout.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LayoutMeasures {
    /// How the file lies.
    pub file: FileLayout,
    /// Share of the file's blocks that were written at least once since the array was made, 0 to 1; nothing where
    /// that changes nothing.
    pub rewritten: Option<f64>,
    /// How free space lies; nothing where none is ever allocated.
    pub free_space: Option<FreeSpace>,
}

/// A controller as a state machine: without I/O, without a clock. It is told what happens and when, and says
/// through a [`Driver`] what it wants done.
pub trait Array<P: Payload> {
    /// How many spindles the array works on; commands name them from 0.
    fn spindles(&self) -> u16;

    /// The spindles that hold nothing but parity; empty where parity rotates.
    fn parity_spindles(&self) -> Range<u16>;

    /// Begins at `now_ns`: sets the first timer.
    fn start(&mut self, now_ns: u64, driver: &mut impl Driver<P>);

    /// A host operation arrives.
    fn host_operation(
        &mut self,
        now_ns: u64,
        operation: HostOperation<P>,
        driver: &mut impl Driver<P>,
    );

    /// A spindle has done a command; a read's payload is what was read.
    fn command_completed(&mut self, now_ns: u64, tag: Tag, payload: P, driver: &mut impl Driver<P>);

    /// The host will issue this operation, and it is not long till then: the array may fetch what it will look up for
    /// it. Nothing that it does later depends on whether it was told.
    fn hint_operation(&self, direction: Direction, first_sector: u64, sectors: u32) {
        let _ = (direction, first_sector, sectors);
    }

    /// The command of `tag` will complete, and it is not long till then: as
    /// [`hint_operation`](Self::hint_operation).
    fn hint_completion(&self, tag: Tag) {
        let _ = tag;
    }

    /// A spindle is lost with all it held. The driver then gives back every command that the spindle has not done,
    /// through [`command_failed`](Self::command_failed), and gets no other for it until [`Driver::take_spare`].
    ///
    /// # Errors
    /// When more is lost than parity makes good. The array is not to be used any further.
    fn spindle_failed(
        &mut self,
        now_ns: u64,
        spindle: SpindleIndex,
        driver: &mut impl Driver<P>,
    ) -> Result<(), DataLost>;

    /// A command was not done, because its spindle is lost; whether anything of it was is not known.
    fn command_failed(
        &mut self,
        now_ns: u64,
        command: SpindleCommand<P>,
        driver: &mut impl Driver<P>,
    );

    /// A spindle could not read all of what `command` asked for, or what it read is not what was written: `bad` says so of
    /// each of its blocks of 4 KiB. They are computed from the rest of their stripes, and written anew. The command's payload
    /// is what the others of its blocks have, where that is known.
    fn blocks_failed(
        &mut self,
        now_ns: u64,
        command: SpindleCommand<P>,
        bad: &[bool],
        driver: &mut impl Driver<P>,
    ) {
        let _ = (now_ns, command, bad, driver);
    }

    /// What [`Driver::commit`] asked for is safe.
    fn committed(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        let _ = (now_ns, driver);
    }

    /// The spindles that failed, in the order in which they did.
    fn failures(&self) -> &[FailedSpindle];

    /// The timer last set has run out.
    fn timer_fired(&mut self, now_ns: u64, driver: &mut impl Driver<P>);

    /// What the array asks of its processor for each operation and command; nothing else costs it anything.
    fn processor_costs(&self) -> &ProcessorCosts;

    /// What the array has done since it was made.
    fn counters(&self) -> &Counters;

    /// How the array's data and free space lie now. Costs a pass over the maps.
    fn layout(&self) -> LayoutMeasures;
}
