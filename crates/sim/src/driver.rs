//! The driver of a simulated array: its processor, its spindles, and acknowledgements in flight.

use std::collections::VecDeque;
use std::ops::Range;

use strewn_array::{
    Acknowledge, Driver, Durability, LogLedger, LogRecord, Logged, OperationId, ProcessorCosts,
    ProcessorWork, Refusal, Root, SpindleCommand, Tag, Work,
};
use strewn_base::{BLOCK_SECTORS, Direction};
use strewn_raid::SpindleIndex;
use strewn_spindle::{Command, CommandError, Completion, SimulatedSpindle};

use crate::component::{ActiveComponent, Component};
use crate::host::Moved;
use crate::machine::LogMirror;
use crate::next_completions::NextCompletions;
use crate::processor::{Processor, ProcessorCores};

/// Sectors that stay together when a spindle is stretched: a chunk of 64 blocks.
const STRETCH_UNIT_SECTORS: u64 = 512;

/// The driver of an array in virtual time.
///
/// The processor serves at known costs, so a command's departure time is known when the array asks for the command. The
/// command enters its spindle's queue at once, stamped with that time, and costs no event.
pub(crate) struct SimDriver {
    pub(crate) now_ns: u64,
    pub(crate) spindles: Vec<SimulatedSpindle<Tag>>,
    pub(crate) completions: NextCompletions,
    pub(crate) processor: Processor,
    /// Commands sent and their sectors, since the beginning.
    pub(crate) sent: Moved,
    /// Interrupts that told of completions, since the beginning.
    pub(crate) interrupts: u64,
    /// Acknowledgements that leave when the processor is done, in order.
    pub(crate) later: VecDeque<(u64, OperationId)>,
    /// Acknowledgements that leave now.
    pub(crate) ready: Vec<OperationId>,
    /// Operations among these that are refused.
    refusals: Vec<OperationId>,
    pub(crate) timer_ns: u64,
    /// The controller's log; `None` if its cache protects what it acknowledges.
    log: Option<LogLedger>,
    /// The partner's copy of the log, in a pair of controllers.
    pub(crate) mirror: Option<Box<LogMirror>>,
    /// Whether acknowledgements may leave in another order than they were given: with a mirror, or several cores.
    answers_overtake: bool,
    costs: ProcessorCosts,
    /// Superblocks of the commit in progress that are not written yet.
    superblocks_out: usize,
    stretch: u64,
    /// The spindles that failed and were not replaced by a spare, and those of parity groups that are yet to be added.
    /// They take no commands.
    lost: Vec<SpindleIndex>,
    /// The first command that a spindle refused.
    pub(crate) refused: Option<CommandError>,
    pub(crate) components: ActiveComponent,
}

impl SimDriver {
    pub(crate) fn new(
        spindles: Vec<SimulatedSpindle<Tag>>,
        stretch: u32,
        costs: &ProcessorCosts,
        log: Option<LogLedger>,
    ) -> Self {
        Self {
            now_ns: 0,
            completions: NextCompletions::new(spindles.len()),
            spindles,
            processor: Processor::new(costs),
            sent: Moved::default(),
            interrupts: 0,
            later: VecDeque::new(),
            ready: Vec::new(),
            refusals: Vec::new(),
            timer_ns: u64::MAX,
            log,
            mirror: None,
            answers_overtake: false,
            costs: *costs,
            superblocks_out: 0,
            stretch: stretch.into(),
            lost: Vec::new(),
            refused: None,
            components: ActiveComponent::new(),
        }
    }

    /// Gives it a partner that mirrors the log.
    pub(crate) fn set_mirror(&mut self, mirror: LogMirror) {
        self.mirror = Some(Box::new(mirror));
        self.answers_overtake = true;
    }

    /// Gives it so many cores.
    pub(crate) fn set_cores(&mut self, cores: &ProcessorCores) {
        self.processor.set_cores(cores);
        self.answers_overtake |= self.processor.several_cores().is_some();
    }

    /// Sets aside the spindles of a parity group that is yet to be added.
    pub(crate) fn set_aside(&mut self, spindles: &Range<u16>) {
        self.lost.extend(spindles.clone().map(SpindleIndex));
    }

    /// These spindles' parity group has been added.
    pub(crate) fn put_to_use(&mut self, spindles: &Range<u16>) {
        self.lost.retain(|lost| !spindles.contains(&lost.0));
    }

    /// Fails a spindle. Returns the commands that it had not completed, and how long it had served the one in service.
    pub(crate) fn fail(&mut self, index: SpindleIndex) -> (Vec<SpindleCommand<()>>, u64) {
        self.lost.push(index);
        self.recall(index)
    }

    /// Takes the commands back that a spindle has not completed, with how long it had served the one in service.
    pub(crate) fn recall(&mut self, index: SpindleIndex) -> (Vec<SpindleCommand<()>>, u64) {
        self.completions.set(index.0, u64::MAX);
        let replaced = self.spindles[index.index()].replace(self.now_ns);
        let commands = replaced.commands.into_iter().map(|(command, tag)| {
            let unit = STRETCH_UNIT_SECTORS * self.stretch;
            SpindleCommand {
                tag,
                spindle: index,
                direction: command.direction,
                first_sector: command.lba / unit * STRETCH_UNIT_SECTORS + command.lba % unit,
                sectors: command.sectors,
                payload: (),
                all_or_none: false,
            }
        });
        (commands.collect(), replaced.served_ns)
    }

    /// An acknowledgement leaves once the partner has the operation's record as well, and may overtake that of an
    /// operation on another core.
    #[cold]
    fn acknowledge_out_of_order(&mut self, operation: OperationId, when: Acknowledge) {
        let own_ns = match when {
            Acknowledge::Now => self.now_ns,
            Acknowledge::AfterProcessor => self.processor.done_ns(self.now_ns, false),
        };
        let copied_ns = self.mirror.as_ref().map_or(0, |mirror| mirror.copied_ns(operation));
        match (when, own_ns.max(copied_ns)) {
            (Acknowledge::Now, at_ns) if at_ns == self.now_ns => self.ready.push(operation),
            (_, at_ns) => self.leave_later(at_ns, operation),
        }
    }

    /// Something is answered that is none of the array's operations, when the processor has done all that it was given.
    pub(crate) fn answer_after_processor(&mut self, operation: OperationId) {
        let at_ns = self.processor.done_ns(self.now_ns, false);
        match self.answers_overtake {
            true => self.leave_later(at_ns, operation),
            false => self.later.push_back((at_ns, operation)),
        }
    }

    /// An acknowledgement leaves at `at_ns`, which may be before that of others that were given earlier.
    #[cold]
    pub(crate) fn leave_later(&mut self, at_ns: u64, operation: OperationId) {
        let earlier = self.later.partition_point(|entry| entry.0 <= at_ns);
        self.later.insert(earlier, (at_ns, operation));
    }

    /// Returns once whether an operation that is answered is refused.
    #[inline(always)]
    pub(crate) fn take_refusal(&mut self, operation: OperationId) -> bool {
        !self.refusals.is_empty() && self.take_refusal_of(operation)
    }

    #[cold]
    fn take_refusal_of(&mut self, operation: OperationId) -> bool {
        let position = self.refusals.iter().position(|refused| *refused == operation);
        position.map(|position| self.refusals.swap_remove(position)).is_some()
    }

    /// A superblock is written, or its spindle has failed. Returns whether the commit is done with it.
    #[cold]
    pub(crate) fn on_superblock_done(&mut self) -> bool {
        assert!(self.superblocks_out > 0, "a superblock is written that no commit asked for");
        self.superblocks_out -= 1;
        self.superblocks_out == 0
    }

    /// Returns the tag of the command in service at `spindle`.
    #[inline]
    pub(crate) fn in_service(&self, spindle: u16) -> Option<Tag> {
        self.spindles[usize::from(spindle)].in_service().copied()
    }

    /// A command has completed, and the processor is told of it, unless it learns of it with others.
    #[inline(always)]
    pub(crate) fn interrupt(&mut self) {
        if self.costs.interrupt_ns > 0 && self.processor.begins_batch(self.now_ns) {
            self.interrupts += 1;
            self.processor(ProcessorWork::Command, self.costs.interrupt_ns);
        }
    }

    /// Takes the earliest completion. Its spindle has started its next command.
    #[inline(always)]
    pub(crate) fn complete_earliest(&mut self) -> Option<(u16, Completion<Tag>)> {
        self.components.turn_to(Component::Spindles);
        let index = self.completions.earliest()?;
        let spindle = &mut self.spindles[usize::from(index)];
        let completion = spindle.complete()?;
        self.completions.set(index, spindle.next_completion_ns());
        Some((index, completion))
    }
}

impl Driver<()> for SimDriver {
    #[inline]
    fn processor(&mut self, work: ProcessorWork, cost_ns: u64) {
        self.processor.add(work, self.now_ns, cost_ns, self.components.is_write_back());
    }

    #[inline(always)]
    fn command(&mut self, command: SpindleCommand<()>) {
        debug_assert!(!self.lost.contains(&command.spindle), "{} is lost", command.spindle);
        self.sent.add(command.sectors);
        let first = command.first_sector;
        // A stretched spindle moves its chunks apart, so that seeks over a small file are as long as over a large one.
        let lba = if self.stretch == 1 {
            first
        } else {
            first / STRETCH_UNIT_SECTORS * STRETCH_UNIT_SECTORS * self.stretch
                + first % STRETCH_UNIT_SECTORS
        };
        let before = self.components.turn_to(Component::Spindles);
        let leaves_ns = self.processor.done_ns(self.now_ns, before == Component::WriteBack);
        let spindle = &mut self.spindles[command.spindle.index()];
        let next_before_ns = spindle.next_completion_ns();
        let command_for_drive =
            Command { lba, sectors: command.sectors, direction: command.direction };
        let submitted = match before {
            Component::WriteBack => {
                spindle.submit_overtaking(leaves_ns, command_for_drive, command.tag)
            }
            _ => spindle.submit(leaves_ns, command_for_drive, command.tag),
        };
        let submitted = match submitted {
            // What one core sends may overtake what another one will send.
            Err(CommandError::ArrivalDecreases { .. })
                if self.processor.several_cores().is_some() =>
            {
                spindle.submit_overtaking(leaves_ns, command_for_drive, command.tag)
            }
            submitted => submitted,
        };
        match submitted {
            Ok(()) if spindle.next_completion_ns() != next_before_ns => {
                self.completions.set(command.spindle.0, spindle.next_completion_ns());
            }
            Ok(()) => {}
            Err(error) => self.refused = self.refused.take().or(Some(error)),
        }
        self.components.turn_to(before);
    }

    #[inline(always)]
    fn acknowledge(&mut self, operation: OperationId, when: Acknowledge, _payload: ()) {
        if self.answers_overtake {
            return self.acknowledge_out_of_order(operation, when);
        }
        match when {
            Acknowledge::Now => self.ready.push(operation),
            Acknowledge::AfterProcessor => {
                self.later.push_back((self.processor.done_ns(self.now_ns, false), operation));
            }
        }
    }

    fn refuse(&mut self, operation: OperationId, _why: Refusal) {
        self.refusals.push(operation);
        self.acknowledge(operation, Acknowledge::AfterProcessor, ());
    }

    #[inline]
    fn turn_to(&mut self, work: Work) -> Work {
        match self.components.turn_to(work.into()) {
            Component::WriteBack => Work::WriteBack,
            _ => Work::Service,
        }
    }

    fn set_timer(&mut self, at_ns: u64) {
        self.timer_ns = at_ns;
    }

    fn take_spare(&mut self, spindle: SpindleIndex) {
        self.lost.retain(|lost| *lost != spindle);
    }

    #[inline(always)]
    fn log(&mut self, operation: OperationId, record: LogRecord, _data: &()) -> Logged {
        match &mut self.log {
            Some(log) => {
                let logged = log.append(&record);
                if let Some(mirror) = &mut self.mirror
                    && logged == Logged::Done
                {
                    let leaves_ns = self.processor.done_ns(self.now_ns, false);
                    mirror.copy(leaves_ns, operation, &record);
                }
                logged
            }
            None => unreachable!("an array without a log logs {record:?}"),
        }
    }

    fn consistency_point_begins(&mut self) {
        if let Some(log) = &mut self.log {
            log.switch();
        }
        if let Some(mirror) = &mut self.mirror {
            mirror.consistency_point_begins();
        }
    }

    fn consistency_point_ends(&mut self) {
        if let Some(log) = &mut self.log {
            log.release();
        }
        if let Some(mirror) = &mut self.mirror {
            mirror.consistency_point_ends();
        }
    }
}

impl Durability for SimDriver {
    /// Writes a superblock to the beginning of every spindle. The flush before it costs nothing: spindles here write
    /// through.
    fn commit(&mut self, _root: Root) {
        assert_eq!(self.superblocks_out, 0, "two commits at once");
        let spindles = (0..self.spindles.len() as u16).map(SpindleIndex);
        let working: Vec<SpindleIndex> =
            spindles.filter(|spindle| !self.lost.contains(spindle)).collect();
        self.superblocks_out = working.len();
        let sectors = BLOCK_SECTORS as u32;
        for spindle in working {
            self.processor(ProcessorWork::Command, self.costs.of_command(sectors));
            self.command(SpindleCommand {
                tag: Tag::OF_DRIVER,
                spindle,
                direction: Direction::Write,
                first_sector: 0,
                sectors,
                payload: (),
                all_or_none: false,
            });
        }
    }
}

strewn_base::saved_state! {
    impl for SimDriver {
        parts: spindles, completions, processor, log;
        values: now_ns, sent, interrupts, later, ready, refusals, timer_ns, superblocks_out, lost, mirror;
        built: costs, stretch, answers_overtake, refused, components;
    }
}
