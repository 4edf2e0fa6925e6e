//! What a part of an array sees besides itself while it handles an event, and how it asks for what others do.

use std::ops::Range;

use strewn_alloc::GroupIndex;
use strewn_base::Direction;

use crate::counters::Counters;
use crate::driver::{Acknowledge, Driver, HostOperation, SpindleCommand};
use crate::payload::Payload;
use crate::processor::ProcessorWork;
use crate::requests::Requests;

use super::memory::Memory;
use super::space::blocks::BlockSet;
use super::space::{Run, Space};
use super::tag::{Kind, TagFields};

/// What a part of an array sees besides itself while it handles an event.
pub(super) struct Context<'a, P: Payload, D> {
    pub(super) now_ns: u64,
    pub(super) driver: &'a mut D,
    pub(super) space: &'a mut Space,
    pub(super) memory: &'a mut Memory<P>,
    pub(super) counters: &'a mut Counters,
    pub(super) next: &'a mut Requests<Next<P>>,
}

/// What a part wants done elsewhere. What it asks for is carried out in order, once it has returned, each with all that
/// follows from it before the next.
pub(super) enum Next<P> {
    /// A read within one chunk, by the layout, which may be lost: it is sent, or recovered.
    Read(TagFields, Run),
    /// A recovery has what a read asked for, all but the blocks that are gone.
    Recovered(TagFields, P, BlockSet),
    /// Of blocks that a host read waits for because they are being read ahead, these have come; without a payload they
    /// could not be read.
    ReadAheadDone(GroupIndex, usize, Range<u32>, Option<P>),
    /// A write owns its blocks now.
    CompleteWrite(GroupIndex, HostOperation<P>),
    /// A write is taken into the cache, or waits for room.
    Write(HostOperation<P>, Acknowledge),
    /// Writes that wait for room are taken into the cache.
    AdmitWaiting,
    /// Destages begin, as far as they may.
    Destage,
    /// A destage of a disk group has ended: there is room in the cache, and a stripe that others may have waited for.
    DestageEnded(GroupIndex),
    /// A log drain begins.
    OpenLogDrain,
    /// The log drain in progress ends, if all of it is written.
    FinishLogDrain,
    /// Parity that a destage has marked as gone is computed: a sector of the first row, and the blocks from there.
    MendParity(GroupIndex, u64, BlockSet),
    /// What waited for a stripe of a disk group goes on.
    StripesFree(GroupIndex),
    /// A recovery that waited for a destage begins.
    BeginRecovery(GroupIndex, usize),
    /// The rebuild of a disk group goes on.
    AdvanceRebuild(GroupIndex),
    /// Losses that were only bad blocks, and are dealt with, leave nothing behind.
    EndLosses(GroupIndex),
}

impl<P: Payload, D: Driver<P>> Context<'_, P, D> {
    /// The same, for a function that is called and not inlined: this one then stays in registers.
    #[inline(always)]
    pub(super) fn reborrow(&mut self) -> Context<'_, P, D> {
        Context {
            now_ns: self.now_ns,
            driver: self.driver,
            space: self.space,
            memory: self.memory,
            counters: self.counters,
            next: self.next,
        }
    }

    /// Asks for something to be done elsewhere.
    #[inline]
    pub(super) fn then(&mut self, next: Next<P>) {
        self.next.push(next);
    }

    /// Sends a command to a spindle of a disk group, and charges the processor for it. What a destage writes changes
    /// stripes that hold other blocks in use: all of it, or nothing.
    #[inline(always)]
    pub(super) fn send(&mut self, fields: TagFields, direction: Direction, run: Run, payload: P) {
        let cost_ns = self.space.config.processor.of_command(run.sectors);
        self.driver.processor(ProcessorWork::Command, cost_ns);
        self.driver.command(SpindleCommand {
            tag: fields.pack(),
            spindle: self.space.first_spindles.in_array(fields.group, run.spindle),
            direction,
            first_sector: run.first_sector,
            sectors: run.sectors,
            payload,
            all_or_none: direction == Direction::Write && fields.kind == Kind::Destage,
        });
    }

    /// Sends a read within one chunk, where the layout has it; or asks for it if it may be lost.
    #[inline(always)]
    pub(super) fn send_read(&mut self, fields: TagFields, run: Run) {
        if self.space.is_degraded(fields.group) {
            self.then(Next::Read(fields, run));
        } else {
            self.send(fields, Direction::Read, run, P::default());
        }
    }
}
