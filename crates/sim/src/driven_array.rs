//! An array with its driver, and what is measured of the two.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use strewn_array::{
    AnyArray, Counters, DataLost, Driver, GroupMeasures, HostOperation, LogLedger, OperationId,
    ProcessorWork, SnapshotId, SpindleCommand, Tag, VolumeId, WriteBackCosts,
};
use strewn_base::state::{SavedState, SavedValue};
use strewn_raid::SpindleIndex;
use strewn_spindle::{Drive, Scheduler, SimulatedSpindle, SpindleError};

use crate::component::Component;
use crate::driver::SimDriver;
use crate::host::{Host, Moved};
use crate::segment::{GroupSegment, SpindleGroup, relative};

/// What a drive must be.
const SECTOR_WORDS: &str = "arrays address drives by sectors of 512 bytes: give one of \
    Profile::with_512_byte_sectors";

/// The spindles of an array, all of one kind.
#[derive(Debug, Clone)]
pub struct Spindles {
    /// Drive model of every spindle, with sectors of 512 bytes
    /// ([`with_512_byte_sectors`](strewn_spindle::Profile::with_512_byte_sectors)).
    pub drive: Arc<Drive>,
    /// How each drive orders its queue.
    pub scheduler: Scheduler,
    /// Commands that the array keeps at a drive. Further commands wait in the array, in order.
    pub commands_per_spindle: u32,
    /// Factor by which chunks lie farther apart on the drive than in the array: 1 except in scaled-down runs.
    pub stretch: u32,
    /// Whether each drive uses its own cache, if its profile describes one
    /// ([`gathering_writes`](SimulatedSpindle::gathering_writes)). Controllers of arrays turn it off.
    pub drive_cache: bool,
}

impl Spindles {
    /// Spindles at full scale, with the drives' caches off.
    #[must_use]
    pub fn new(drive: Arc<Drive>, scheduler: Scheduler, commands_per_spindle: u32) -> Self {
        Self { drive, scheduler, commands_per_spindle, stretch: 1, drive_cache: false }
    }
}

/// An event at an array, at a set time.
#[derive(SavedValue)]
pub(crate) enum ScheduledEvent {
    Failure(SpindleIndex),
    /// A parity group is added.
    AddedGroup,
    /// Snapshots are taken, and others later.
    Snapshots(SnapshotSchedule),
}

/// Snapshots of some volumes together at equal distances in time, of which some are kept.
#[derive(SavedValue)]
pub(crate) struct SnapshotSchedule {
    volumes: Vec<VolumeId>,
    every_ns: u64,
    keep: usize,
    /// Those taken together, oldest first.
    kept: VecDeque<Vec<(VolumeId, SnapshotId)>>,
}

/// An array on simulated spindles, behind a processor of its own, without a host.
pub(crate) struct DrivenArray<A> {
    pub(crate) array: A,
    pub(crate) driver: SimDriver,
    counted: Counters,
    busy_before: Vec<u64>,
    processor_before: ProcessorAt,
    completed: Vec<SpindleGroup>,
    /// Service time that commands in service at the segment's beginning had received by then, summed over spindles.
    served_before_ns: u64,
    /// Commands completed by spindles in earlier segments, and commands returned by failed spindles.
    completed_before: u64,
    returned: u64,
    /// When each spindle came to be used: `u64::MAX` as long as its parity group is not added.
    used_from_ns: Vec<u64>,
    /// Reads and writes of each spindle in earlier segments.
    commands_before: Vec<[u64; 2]>,
    /// Events to come and their times, the next one last.
    scheduled: Vec<(u64, ScheduledEvent)>,
}

/// When an array's own next events occur: `u64::MAX` for never.
#[derive(Clone, Copy)]
pub(crate) struct NextEvents {
    later_ns: u64,
    spindle_ns: u64,
    timer_ns: u64,
}

impl NextEvents {
    /// When the first of them occurs.
    #[inline(always)]
    pub(crate) fn earliest_ns(&self) -> u64 {
        self.later_ns.min(self.spindle_ns).min(self.timer_ns)
    }
}

/// What was under way at an array when its controller stopped.
#[derive(SavedValue)]
pub(crate) struct Stopped {
    commands: Vec<SpindleCommand<()>>,
    timer_ns: u64,
    answers: Vec<OperationId>,
}

/// What an array and its spindles did in a segment.
pub(crate) struct ArrayMeasures {
    pub(crate) counters: Counters,
    pub(crate) processor: ProcessorMeasures,
    pub(crate) data_spindles: SpindleGroup,
    pub(crate) parity_spindles: SpindleGroup,
    pub(crate) groups: Vec<GroupSegment>,
    /// The utilization law of the spindles: as the segment reports them, and with the commands that were in service at
    /// its beginning and end.
    pub(crate) utilization_law_error: f64,
    pub(crate) utilization_law_unexplained: f64,
}

/// A processor's work in a segment.
#[derive(Clone, Copy, Default)]
pub(crate) struct ProcessorMeasures {
    /// What it was given, by counts and costs, with what was left from before and less what is left now.
    pub(crate) served_ns: f64,
    /// How long it was busy.
    pub(crate) busy_ns: u64,
    /// Each cost is rounded down to a nanosecond where it is charged.
    pub(crate) rounding_ns: f64,
}

impl ProcessorMeasures {
    /// The error of the utilization law.
    pub(crate) fn law_error(&self) -> f64 {
        let busy_ns = self.busy_ns as f64;
        match (0.0..=self.rounding_ns).contains(&(self.served_ns - busy_ns)) {
            true => 0.0,
            false => relative(self.served_ns, busy_ns),
        }
    }
}

impl<A: AnyArray<()>> DrivenArray<A> {
    /// Sets `array` up on `spindles` and starts it at time zero.
    pub(crate) fn new(array: A, spindles: &Spindles) -> Result<Self, SpindleError> {
        let count = usize::from(array.spindles());
        let Spindles { drive, scheduler, commands_per_spindle, stretch, drive_cache } = spindles;
        assert_eq!(u64::from(drive.sector_bytes()), strewn_base::SECTOR_BYTES, "{SECTOR_WORDS}");
        let new = match *drive_cache {
            true => SimulatedSpindle::gathering_writes,
            false => SimulatedSpindle::new,
        };
        let drives = (0..count)
            .map(|_| new(Arc::clone(drive), *scheduler, *commands_per_spindle))
            .collect::<Result<Vec<_>, _>>()?;
        let log = array.log_size().map(LogLedger::new);
        let mut driver = SimDriver::new(drives, *stretch, array.processor_costs(), log);
        let mut used_from_ns = vec![0; count];
        for group in array.groups().iter().filter(|group| group.free_blocks.is_none()) {
            used_from_ns[indices(&group.spindles)].fill(u64::MAX);
            driver.set_aside(&group.spindles);
        }
        let mut driven = Self {
            counted: *array.counters(),
            array,
            driver,
            busy_before: vec![0; count],
            processor_before: ProcessorAt::default(),
            completed: vec![SpindleGroup { spindles: 1, ..SpindleGroup::default() }; count],
            served_before_ns: 0,
            completed_before: 0,
            returned: 0,
            used_from_ns,
            commands_before: vec![[0; 2]; count],
            scheduled: Vec::new(),
        };
        driven.array.start(0, &mut driven.driver);
        Ok(driven)
    }

    pub(crate) fn fail_at(&mut self, at_ns: u64, spindle: SpindleIndex) {
        assert!(spindle.index() < self.driver.spindles.len(), "the array has no {spindle}");
        self.schedule(at_ns, ScheduledEvent::Failure(spindle));
    }

    pub(crate) fn add_group_at(&mut self, at_ns: u64) {
        self.schedule(at_ns, ScheduledEvent::AddedGroup);
    }

    pub(crate) fn snapshot_volumes_every(
        &mut self,
        volumes: Vec<VolumeId>,
        every_ns: u64,
        keep: u32,
    ) {
        assert!(every_ns > 0 && keep > 0, "snapshots every {every_ns} ns, {keep} of them kept");
        let (keep, kept) = (keep as usize, VecDeque::new());
        let schedule = SnapshotSchedule { volumes, every_ns, keep, kept };
        self.schedule(self.driver.now_ns + every_ns, ScheduledEvent::Snapshots(schedule));
    }

    fn schedule(&mut self, at_ns: u64, event: ScheduledEvent) {
        let later = self.scheduled.partition_point(|other| other.0 > at_ns);
        self.scheduled.insert(later, (at_ns, event));
    }

    /// When the next scheduled event occurs.
    pub(crate) fn next_scheduled_ns(&self) -> Option<u64> {
        self.scheduled.last().map(|next| next.0)
    }

    /// Removes and returns the next scheduled event, if it occurs before `end_ns`.
    pub(crate) fn take_scheduled(&mut self, end_ns: u64) -> Option<(u64, ScheduledEvent)> {
        self.scheduled.pop_if(|next| next.0 < end_ns)
    }

    /// Applies a scheduled event now.
    pub(crate) fn apply(&mut self, now_ns: u64, event: ScheduledEvent) -> Result<(), DataLost> {
        assert!(now_ns >= self.driver.now_ns, "virtual time goes back");
        self.driver.now_ns = now_ns;
        match event {
            ScheduledEvent::Failure(spindle) => self.fail(now_ns, spindle)?,
            ScheduledEvent::AddedGroup => self.add_group(now_ns),
            ScheduledEvent::Snapshots(schedule) => self.snapshot(now_ns, schedule),
        }
        Ok(())
    }

    /// When the array's own next events occur.
    #[inline(always)]
    pub(crate) fn next_events(&self) -> NextEvents {
        let driver = &self.driver;
        NextEvents {
            later_ns: driver.later.front().map_or(u64::MAX, |entry| entry.0),
            spindle_ns: driver.completions.earliest_ns(),
            timer_ns: driver.timer_ns,
        }
    }

    /// Handles the event of `next` that occurs at `next_ns`, and returns whether there is one. At equal times,
    /// acknowledgements come first, then spindles, then the timer.
    #[inline(always)]
    pub(crate) fn step(&mut self, next: NextEvents, next_ns: u64) -> bool {
        let driver = &mut self.driver;
        assert!(next_ns >= driver.now_ns, "virtual time goes back");
        driver.now_ns = next_ns;
        if next.later_ns == next_ns {
            if let Some((_, id)) = driver.later.pop_front() {
                driver.ready.push(id);
            }
        } else if next.spindle_ns == next_ns {
            if let Some((spindle, completion)) = driver.complete_earliest() {
                let completed = &mut self.completed[usize::from(spindle)];
                completed.commands += 1;
                completed.service_ns += completion.service_ns;
                completed.residence_ns += completion.at_ns - completion.arrived_ns;
                // The command that the spindle starts now completes about as many events later as there are spindles.
                // That is time enough to prefetch what the array will then look up.
                if let Some(tag) = driver.in_service(spindle) {
                    self.array.hint_completion(tag);
                }
                driver.components.turn_to(Component::Service);
                driver.interrupt();
                if completion.tag == Tag::OF_DRIVER {
                    if driver.on_superblock_done() {
                        self.array.committed(next_ns, driver);
                    }
                } else {
                    self.array.command_completed(next_ns, completion.tag, (), driver);
                }
            }
        } else if next.timer_ns == next_ns {
            driver.timer_ns = u64::MAX;
            driver.components.turn_to(Component::Service);
            self.array.timer_fired(next_ns, driver);
        } else {
            return false;
        }
        true
    }

    /// Gives the array an operation that `host` issues now.
    #[inline(always)]
    pub(crate) fn admit(&mut self, now_ns: u64, operation: HostOperation<()>, host: &impl Host) {
        self.driver.components.turn_to(Component::Service);
        if let Some((lun, hint)) = host.prefetch_hint() {
            self.array.hint_operation(lun, hint.direction, hint.sector, hint.sectors);
        }
        self.array.host_operation(now_ns, operation, &mut self.driver);
    }

    /// Gives the array an operation. Returns when its commands leave the processor, or its answer.
    pub(crate) fn give(&mut self, now_ns: u64, operation: HostOperation<()>) -> u64 {
        let id = operation.id;
        self.driver.components.turn_to(Component::Service);
        self.array.host_operation(now_ns, operation, &mut self.driver);
        let copied_ns = self.driver.mirror.as_ref().map_or(0, |mirror| mirror.copied_ns(id));
        self.driver.processor.done_ns(now_ns, false).max(copied_ns)
    }

    /// Processor work of replaying the log: what its operations cost when they arrived, without their commands.
    pub(crate) fn replay_ns(&self) -> u64 {
        let Some(mirror) = &self.driver.mirror else { return 0 };
        let logged = mirror.logged();
        let costs = self.array.processor_costs();
        logged.records * costs.host_operation_ns + logged.sectors * costs.per_sector_ps / 1_000
    }

    /// Takes an operation that is answered now, and whether it is refused.
    #[inline(always)]
    pub(crate) fn take_answer(&mut self) -> Option<(OperationId, bool)> {
        let id = self.driver.ready.pop()?;
        self.driver.components.turn_to(Component::Host);
        Some((id, self.driver.take_refusal(id)))
    }

    fn fail(&mut self, now_ns: u64, spindle: SpindleIndex) -> Result<(), DataLost> {
        assert!(self.used_from_ns[spindle.index()] <= now_ns, "{spindle} has not been added yet");
        let (commands, served_ns) = self.driver.fail(spindle);
        self.returned += commands.len() as u64;
        // It was busy for that long, and no completion reports it.
        self.completed[spindle.index()].service_ns += served_ns;
        self.array.spindle_failed(now_ns, spindle, &mut self.driver)?;
        let mut is_committed = false;
        for command in commands {
            match command.tag {
                Tag::OF_DRIVER => is_committed |= self.driver.on_superblock_done(),
                _ => self.array.command_failed(now_ns, command, &mut self.driver),
            }
        }
        if is_committed {
            self.array.committed(now_ns, &mut self.driver);
        }
        Ok(())
    }

    /// The controller stops at `now_ns`, in the middle of everything: spindles drop what they have not completed, and
    /// acknowledgements that have not left do not leave.
    pub(crate) fn stop(&mut self, now_ns: u64) -> Stopped {
        self.driver.now_ns = now_ns;
        let mut commands = Vec::new();
        for index in 0..self.driver.spindles.len() {
            let (recalled, served_ns) = self.driver.recall(SpindleIndex(index as u16));
            self.returned += recalled.len() as u64;
            self.completed[index].service_ns += served_ns;
            commands.extend(recalled);
        }
        let timer_ns = std::mem::replace(&mut self.driver.timer_ns, u64::MAX);
        let answers = self.driver.later.drain(..).map(|(_, operation)| operation).collect();
        Stopped { commands, timer_ns, answers }
    }

    /// Whoever serves the array from now on takes up what was under way: the spindles get their commands again, and
    /// what was done is acknowledged. Nothing is left in the cache but what the log protects.
    pub(crate) fn go_on(&mut self, now_ns: u64, stopped: Stopped) {
        let Stopped { commands, timer_ns, answers } = stopped;
        self.driver.now_ns = now_ns;
        self.array.forget_cache();
        self.driver.components.turn_to(Component::Service);
        let costs = *self.array.processor_costs();
        for command in commands {
            self.driver.processor(ProcessorWork::Command, costs.of_command(command.sectors));
            self.driver.command(command);
        }
        let done_ns = self.driver.processor.done_ns(now_ns, false);
        self.driver.later.extend(answers.into_iter().map(|operation| (done_ns, operation)));
        self.driver.timer_ns = match timer_ns {
            u64::MAX => u64::MAX,
            timer_ns => timer_ns.max(now_ns),
        };
    }

    fn add_group(&mut self, now_ns: u64) {
        let later = self.array.groups().into_iter().find(|group| group.free_blocks.is_none());
        if let Some(group) = later {
            self.driver.put_to_use(&group.spindles);
            assert!(self.array.add_group(now_ns, &mut self.driver), "the array has a group to add");
            self.used_from_ns[indices(&group.spindles)].fill(now_ns);
        }
    }

    fn snapshot(&mut self, now_ns: u64, mut schedule: SnapshotSchedule) {
        // Those that are not taken yet cannot be deleted: the consistency point in progress is that long.
        while schedule.kept.len() >= schedule.keep
            && let Some(oldest) = schedule.kept.front()
            && oldest.iter().all(|(volume, one)| self.array.expire_snapshot(*volume, *one))
        {
            schedule.kept.pop_front();
        }
        // The array counts those that it refuses.
        let volumes = &schedule.volumes;
        if let Ok(taken) = self.array.begin_snapshots(now_ns, volumes, &mut self.driver)
            && schedule.kept.back() != Some(&taken)
        {
            schedule.kept.push_back(taken);
        }
        self.schedule(now_ns + schedule.every_ns, ScheduledEvent::Snapshots(schedule));
    }

    fn processor_at(&self, now_ns: u64, operations: Moved) -> ProcessorAt {
        ProcessorAt {
            busy_ns: self.driver.processor.busy_ns(now_ns),
            backlog_ns: self.driver.processor.backlog_ns(now_ns),
            operations,
            commands: self.driver.sent,
            interrupts: self.driver.interrupts,
        }
    }

    /// Returns the processor's work since `before`.
    fn processor_since(&self, before: &ProcessorAt, counters: &Counters) -> ProcessorMeasures {
        let now = &self.processor_before;
        let costs = self.array.processor_costs();
        let operations = now.operations.since(before.operations);
        let commands = now.commands.since(before.commands);
        let scanned = counters.map_scan_hits * strewn_base::BLOCK_SECTORS;
        let sectors = operations.sectors + commands.sectors + scanned;
        let given_ns = (operations.count * costs.host_operation_ns
            + commands.count * costs.spindle_command_ns
            + (now.interrupts - before.interrupts) * costs.interrupt_ns)
            as f64
            + sectors as f64 * costs.per_sector_ps as f64 / 1e3
            + write_back_ns(&costs.write_back, counters);
        ProcessorMeasures {
            served_ns: given_ns + before.backlog_ns as f64 - now.backlog_ns as f64,
            busy_ns: now.busy_ns - before.busy_ns,
            // Parity is charged once for each extent, and at most once for each stripe.
            rounding_ns: (operations.count
                + commands.count
                + counters.map_scan_hits
                + counters.stripes_written
                + counters.destages) as f64,
        }
    }

    /// Asserts that each command sent was completed by a spindle, returned by a failed one, or is still at one.
    fn assert_every_command_is_accounted_for(&self) {
        let at_spindles: usize =
            self.driver.spindles.iter().map(SimulatedSpindle::outstanding).sum();
        assert_eq!(
            self.driver.sent.count,
            self.completed_before + self.returned + at_spindles as u64,
            "commands sent, against commands completed, returned or still at a spindle"
        );
    }

    /// Measures each parity group of an array with several, given the data and the parity half of each spindle.
    fn measure_groups(&mut self, of_spindles: &[[SpindleGroup; 2]]) -> Vec<GroupSegment> {
        let mut groups = Vec::new();
        for GroupMeasures { spindles, blocks, free_blocks } in self.array.groups() {
            let mut group = GroupSegment { blocks, free_blocks, ..GroupSegment::default() };
            for index in indices(&spindles) {
                group.data_spindles.add(of_spindles[index][0]);
                group.parity_spindles.add(of_spindles[index][1]);
                let now = self.driver.spindles[index].statistics();
                let now = [now.reads, now.writes];
                let before = std::mem::replace(&mut self.commands_before[index], now);
                group.reads += now[0] - before[0];
                group.writes += now[1] - before[1];
            }
            groups.push(group);
        }
        groups
    }

    /// Measures the segment from `start_ns` to `end_ns`. `operations` are those that the array has been given since the
    /// beginning.
    pub(crate) fn measure(
        &mut self,
        start_ns: u64,
        end_ns: u64,
        operations: Moved,
    ) -> ArrayMeasures {
        let counters = self.array.counters().since(&self.counted);
        let now = self.processor_at(end_ns, operations);
        let before = std::mem::replace(&mut self.processor_before, now);
        let processor = self.processor_since(&before, &counters);

        let mut by_kind = [SpindleGroup::default(); 2];
        let mut of_spindles = vec![[SpindleGroup::default(); 2]; self.driver.spindles.len()];
        for (index, spindle) in self.driver.spindles.iter().enumerate() {
            let busy_ns = spindle.busy_ns_until(end_ns);
            let completed = &mut self.completed[index];
            completed.busy_ns = busy_ns - std::mem::replace(&mut self.busy_before[index], busy_ns);
            let fresh = SpindleGroup { spindles: 1, ..SpindleGroup::default() };
            let mut completed = std::mem::replace(completed, fresh);
            let used_from_ns = self.used_from_ns[index];
            completed.spindles = u32::from(used_from_ns < end_ns);
            completed.absent_ns =
                if used_from_ns < end_ns { used_from_ns.saturating_sub(start_ns) } else { 0 };
            let is_parity = self.array.is_parity(SpindleIndex(index as u16));
            by_kind[usize::from(is_parity)].add(completed);
            of_spindles[index][usize::from(is_parity)].add(completed);
        }
        let groups = self.measure_groups(&of_spindles);
        let [data_spindles, parity_spindles] = by_kind;
        self.completed_before += data_spindles.commands + parity_spindles.commands;
        self.assert_every_command_is_accounted_for();
        self.array.assert_invariants();
        let service_ns = data_spindles.service_ns + parity_spindles.service_ns;
        let busy_ns = data_spindles.busy_ns + parity_spindles.busy_ns;
        let served = self.driver.spindles.iter().map(|spindle| spindle.served_ns_until(end_ns));
        let served_after_ns = served.sum();
        let served_before_ns = std::mem::replace(&mut self.served_before_ns, served_after_ns);
        let served_ns = (service_ns + served_after_ns) as f64 - served_before_ns as f64;
        self.counted = *self.array.counters();
        ArrayMeasures {
            counters,
            processor,
            data_spindles,
            parity_spindles,
            groups,
            utilization_law_error: relative(service_ns as f64, busy_ns as f64),
            utilization_law_unexplained: relative(served_ns, busy_ns as f64),
        }
    }
}

/// What write-back cost besides its commands, by its counts.
fn write_back_ns(costs: &WriteBackCosts, counters: &Counters) -> f64 {
    let in_blocks = counters.allocated_blocks * costs.allocated_block_ns
        + counters.freed_blocks * costs.freed_block_ns
        + counters.changed_metadata_blocks * costs.metadata_block_ns;
    in_blocks as f64 + counters.parity_sectors as f64 * costs.parity_sector_ps as f64 / 1e3
}

/// The spindles of a group as indices.
fn indices(spindles: &Range<u16>) -> Range<usize> {
    spindles.start.into()..spindles.end.into()
}

/// The state of the processor at one moment.
#[derive(Debug, Clone, Copy, Default, SavedValue)]
struct ProcessorAt {
    busy_ns: u64,
    backlog_ns: u64,
    operations: Moved,
    commands: Moved,
    interrupts: u64,
}

strewn_base::saved_state! {
    impl[A: SavedState] for DrivenArray<A> {
        parts: array, driver, busy_before, used_from_ns, completed, commands_before;
        values: counted, processor_before, served_before_ns, completed_before, returned, scheduled;
        built:;
    }
}
