//! The interface between an array and its driver: a simulation, or real spindles.

use std::ops::Range;

use strewn_alloc::{FileLayout, FreeSpace};
use strewn_base::Direction;
use strewn_base::state::SavedValue;
use strewn_raid::SpindleIndex;

use crate::counters::Counters;
use crate::failure::{DataLost, FailedSpindle};
use crate::log::{LogRecord, Logged};
use crate::lun_id::LunId;
use crate::payload::Payload;
use crate::processor::{ProcessorCosts, ProcessorWork};
use crate::root::Root;
use crate::scan_progress::ScanProgress;

/// Identifies a host operation. The host chooses it; the acknowledgement carries it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, SavedValue)]
pub struct OperationId(pub u32);

/// A read or write of a LUN.
#[derive(Debug, Clone, SavedValue)]
pub struct HostOperation<P> {
    /// Identifies the operation in its acknowledgement.
    pub id: OperationId,
    /// LUN that the host reads or writes.
    pub lun: LunId,
    /// Read or write.
    pub direction: Direction,
    /// First sector of the LUN, in sectors of 512 bytes.
    pub first_sector: u64,
    /// Length in sectors, at least one.
    pub sectors: u32,
    /// A write's data; the default for a read.
    pub payload: P,
}

/// Identifies a spindle command. The array chooses it; the driver returns it with the completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub struct Tag(pub(crate) u64);

impl Tag {
    /// The tag of this number, for an array's own commands.
    ///
    /// # Panics
    /// If it is that of [`OF_DRIVER`](Self::OF_DRIVER).
    #[inline]
    #[must_use]
    pub const fn new(number: u64) -> Self {
        assert!(number != Self::OF_DRIVER.0, "a driver's own");
        Self(number)
    }

    /// Its number.
    #[inline]
    #[must_use]
    pub const fn number(self) -> u64 {
        self.0
    }

    /// For the commands of a driver itself. No command of an array has it, and hints about it do nothing.
    pub const OF_DRIVER: Self = Self(u64::MAX);
}

/// A read or write of one spindle.
#[derive(Debug, Clone, SavedValue)]
pub struct SpindleCommand<P> {
    /// Identifies the command in its completion.
    pub tag: Tag,
    /// Which spindle of the array.
    pub spindle: SpindleIndex,
    /// Read or write.
    pub direction: Direction,
    /// First sector of the spindle, in sectors of 512 bytes.
    pub first_sector: u64,
    /// Length in sectors, at least one.
    pub sectors: u32,
    /// A write's data; the default for a read.
    pub payload: P,
    /// Whether, on power loss, either all or none of the writes issued in this call must reach their spindles. Such
    /// writes change stripes that hold other blocks in use; a torn write would leave parity that no longer protects
    /// those blocks. A simulated driver, which never loses power, can ignore the flag.
    pub all_or_none: bool,
}

/// Why an array refuses a host operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Blocks that it needs can be neither read nor computed.
    BlocksGone,
    /// A write finds no room in the aggregate, or in its volume. Nothing of it is done.
    NoSpace,
}

/// When an acknowledgement leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acknowledge {
    /// Now: the operation waited for a spindle or for room, and its processing is done.
    Now,
    /// When the controller's processor has finished all work given to it so far.
    AfterProcessor,
}

/// Which kind of work a controller is doing. The processor may give each its share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// Serving the host: caches, maps, plans of reads.
    Service,
    /// Writing back: consistency points and their allocation, or destaging.
    WriteBack,
}

/// What an array asks of its driver.
///
/// The controller's processor serves each kind of [`Work`] in order. A command leaves once the processor has finished
/// all earlier work, or as soon as the share of its kind allows ([`ProcessorCosts::write_back_percent`]), so a driver
/// that tracks when the processor becomes free knows each command's departure time at once.
///
/// What only an array of format [`Durable`](crate::Format::Durable) asks for is in [`Durability`].
pub trait Driver<P>: Durability {
    /// Queues `cost_ns` nanoseconds of processor work. A command's work is queued just before the command is sent.
    fn processor(&mut self, work: ProcessorWork, cost_ns: u64);
    /// Sends a command to a spindle, after the processor work queued so far.
    fn command(&mut self, command: SpindleCommand<P>);
    /// Answers a host operation. The payload is a read's data.
    fn acknowledge(&mut self, operation: OperationId, when: Acknowledge, payload: P);
    /// Fails a host operation. An array with room for all that is overwritten, whose spindles either work or fail as a
    /// whole, refuses nothing.
    fn refuse(&mut self, operation: OperationId, why: Refusal) {
        unreachable!("{operation:?} is refused: {why:?}")
    }
    /// Requests [`Array::timer_fired`] at `at_ns`. An array has one timer; the latest setting replaces earlier ones.
    fn set_timer(&mut self, at_ns: u64);
    /// The array switches to another kind of work. Returns the previous kind, so that the array can switch back.
    #[inline]
    fn turn_to(&mut self, work: Work) -> Work {
        work
    }
    /// A spare replaces a failed spindle: commands for `spindle` go to the spare from now on. An array without spares
    /// never calls this.
    fn take_spare(&mut self, spindle: SpindleIndex) {
        let _ = spindle;
    }
    /// Puts `operation` into the log, with the data of a write. If the log takes it, the array acknowledges the
    /// operation next. Never called if [`Durable::log_size`](crate::Durable::log_size) is `None`.
    fn log(&mut self, operation: OperationId, record: LogRecord, data: &P) -> Logged;
    /// A consistency point begins. Operations logged from now on are not part of it, and go to the log's other half.
    fn consistency_point_begins(&mut self);
    /// The consistency point in progress is committed: the half of the log that protected it is free.
    fn consistency_point_ends(&mut self);
}

/// What an array of format [`Durable`](crate::Format::Durable) asks of its driver besides. A driver that only runs
/// modelled arrays has nothing to define.
pub trait Durability {
    /// A consistency point is fully written. The driver makes those writes durable, then writes `root` durably, then
    /// calls [`Durable::committed`](crate::Durable::committed). From then on, operations acknowledged before the
    /// consistency point began no longer need the log.
    fn commit(&mut self, root: Root) {
        unreachable!("{root:?} is to be stored by a driver for modelled arrays")
    }
    /// Ends a group of all-or-none writes: those issued so far in this call belong together, and are independent of
    /// those that follow. A driver may treat the whole call as one group, but that group can be large.
    #[inline]
    fn all_or_none_ends(&mut self) {}
}

/// How an array's LUNs and free space are laid out.
#[derive(Debug, Clone, PartialEq, SavedValue)]
pub struct LayoutMeasures {
    /// Each LUN, as far as hosts work on it.
    pub luns: Vec<LunLayoutMeasures>,
    /// The fragmentation of free space. `None` for an in-place array, which allocates none.
    pub free_space: Option<FreeSpace>,
    /// What a ZFS pool calls its fragmentation (FRAG), in percent; `None` for any other array.
    pub frag_percent: Option<u8>,
    /// What else a ZFS pool has; nothing for any other array.
    pub pool: PoolMeasures,
}

/// What a ZFS pool has besides its volumes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, SavedValue)]
pub struct PoolMeasures {
    /// Blocks meant for special vdevs that have gone to normal ones since the pool was created, those of volumes that
    /// were filled before the run included.
    pub spilled_blocks: u64,
    /// Whether it has an L2ARC.
    pub has_l2arc: bool,
    /// Bytes of blocks that its L2ARC holds.
    pub l2arc_bytes: u64,
    /// Memory for headers of those of them that are not in the ARC.
    pub l2arc_header_bytes: u64,
}

impl PoolMeasures {
    fn plus(self, other: Self) -> Self {
        Self {
            spilled_blocks: self.spilled_blocks + other.spilled_blocks,
            has_l2arc: self.has_l2arc || other.has_l2arc,
            l2arc_bytes: self.l2arc_bytes + other.l2arc_bytes,
            l2arc_header_bytes: self.l2arc_header_bytes + other.l2arc_header_bytes,
        }
    }
}

/// A parity group of an array with several, or a disk group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupMeasures {
    /// Its spindles, as commands number them.
    pub spindles: Range<u16>,
    /// Data blocks of the group, free or in use.
    pub blocks: u64,
    /// Those that are free, or that no LUN takes; `None` as long as the group has not been added.
    pub free_blocks: Option<u64>,
}

/// How a LUN is laid out.
#[derive(Debug, Clone, Copy, PartialEq, SavedValue)]
pub struct LunLayoutMeasures {
    /// Its contiguity over the spindles.
    pub file: FileLayout,
    /// Share of its blocks written at least once since the array was created, 0 to 1. `None` for an in-place array,
    /// where rewriting moves nothing.
    pub rewritten: Option<f64>,
}

impl LayoutMeasures {
    /// That of no LUNs.
    #[must_use]
    pub fn nothing() -> Self {
        Self {
            luns: Vec::new(),
            free_space: None,
            frag_percent: None,
            pool: PoolMeasures::default(),
        }
    }

    /// The layouts of two arrays as those of one, the LUNs of `other` last.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.luns.extend(other.luns);
        self.frag_percent = self.frag_percent.max(other.frag_percent);
        self.pool = self.pool.plus(other.pool);
        self.free_space = match (self.free_space, other.free_space) {
            (Some(one), Some(other)) => Some(one.with(&other)),
            (one, other) => one.or(other),
        };
        self
    }

    /// All LUNs as one, weighted by their blocks. The span is the largest of a LUN.
    #[must_use]
    pub fn of_all_luns(&self) -> LunLayoutMeasures {
        let [first, others @ ..] = self.luns.as_slice() else {
            unreachable!("an array has a LUN");
        };
        let mut all = *first;
        for LunLayoutMeasures { file, rewritten } in others {
            let (blocks, more) = (all.file.blocks as f64, file.blocks as f64);
            let mean = |of: f64, other: f64| (of * blocks + other * more) / (blocks + more);
            all.file.score = mean(all.file.score, file.score);
            all.rewritten = all.rewritten.zip(*rewritten).map(|(of, other)| mean(of, other));
            all.file.extents += file.extents;
            all.file.blocks += file.blocks;
            all.file.span = all.file.span.max(file.span);
        }
        all
    }
}

/// A controller as a state machine, without I/O and without a clock. The driver tells it what happens and when; the
/// array requests work through the [`Driver`].
///
/// What only some arrays can do is in traits of their own: [`Snapshots`](crate::Snapshots),
/// [`Growable`](crate::Growable) and [`Durable`](crate::Durable). An array that cannot implements them with nothing.
pub trait Array<P: Payload> {
    /// Number of spindles. Commands number them from 0.
    fn spindles(&self) -> u16;

    /// Whether a spindle holds only parity. None does if parity rotates.
    fn is_parity(&self, spindle: SpindleIndex) -> bool {
        let _ = spindle;
        false
    }

    /// Starts the array at `now_ns`, which sets the first timer, if it has one.
    fn start(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        let _ = (now_ns, driver);
    }

    /// A host operation arrives.
    fn host_operation(
        &mut self,
        now_ns: u64,
        operation: HostOperation<P>,
        driver: &mut impl Driver<P>,
    );

    /// A spindle has completed a command. The payload is a read's data.
    fn command_completed(&mut self, now_ns: u64, tag: Tag, payload: P, driver: &mut impl Driver<P>);

    /// The host is about to issue this operation, so the array may prefetch what it will look up. A hint changes no
    /// result.
    fn hint_operation(&self, lun: LunId, direction: Direction, first_sector: u64, sectors: u32) {
        let _ = (lun, direction, first_sector, sectors);
    }

    /// The command of `tag` is about to complete: a hint, like [`hint_operation`](Self::hint_operation).
    fn hint_completion(&self, tag: Tag) {
        let _ = tag;
    }

    /// A spindle has failed, with all its data. The driver then returns each command that the spindle had not completed
    /// through [`command_failed`](Self::command_failed). The array sends it no command until [`Driver::take_spare`].
    ///
    /// # Errors
    /// If failures exceed parity. The array must not be used any further.
    fn spindle_failed(
        &mut self,
        now_ns: u64,
        spindle: SpindleIndex,
        driver: &mut impl Driver<P>,
    ) -> Result<(), DataLost>;

    /// A command failed with its spindle. Part of it may have been done. Never called in an array that survives no
    /// failure.
    fn command_failed(
        &mut self,
        now_ns: u64,
        command: SpindleCommand<P>,
        driver: &mut impl Driver<P>,
    ) {
        let _ = (now_ns, driver);
        unreachable!("{:?} failed, and the array goes on", command.tag);
    }

    /// The spindles that have failed, in order of failure; none in an array that survives no failure.
    fn failures(&self) -> &[FailedSpindle] {
        &[]
    }

    /// The controller was replaced by its partner: blocks that are clean and that nothing is using leave the cache.
    fn forget_cache(&mut self) {}

    /// The timer has expired. Never called in an array that sets none.
    fn timer_fired(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        let _ = (now_ns, driver);
    }

    /// How far reallocation scans are; `None` in an array without them.
    fn scan_progress(&self) -> Option<ScanProgress> {
        None
    }

    /// The processor cost of each operation and command. Nothing else costs processor time.
    fn processor_costs(&self) -> &ProcessorCosts;

    /// What the array has done since it was created.
    fn counters(&self) -> &Counters;

    /// Checks the invariants that are too expensive to check at each event, such as the cache's occupancy against its
    /// lists. The simulation calls it at the end of each segment.
    ///
    /// # Panics
    /// If an invariant does not hold.
    fn assert_invariants(&self) {}

    /// Measures the layout of data and free space. Takes a pass over the maps.
    fn layout(&self) -> LayoutMeasures;
}
