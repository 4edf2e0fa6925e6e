//! One array under one host, in virtual time.

use std::collections::VecDeque;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use strewn_array::{
    Array, Counters, DataLost, GroupMeasures, LogLedger, SnapshotId, Tag, VolumeId,
};
#[cfg(feature = "state")]
use strewn_base::state::{SavedState, StateError, StateReader, StateWriter};
use strewn_raid::SpindleIndex;
use strewn_spindle::{CommandError, Drive, Scheduler, SimulatedSpindle, SpindleError};
use strewn_workload::AccessStream;
use thiserror::Error;

use crate::closed_loop::ClosedLoop;
use crate::component::{Component, ComponentProbe};
use crate::driver::SimDriver;
use crate::host::{AccessesError, Host, Moved};
use crate::segment::{GroupSegment, Laws, Segment, SpindleGroup, ratio, relative};

/// Events between two calls of the observer.
const EVENTS_PER_LOOK: u32 = 1 << 18;

/// The spindles of an array, all of one kind.
#[derive(Debug, Clone)]
pub struct Spindles {
    /// The drive.
    pub drive: Arc<Drive>,
    /// Its scheduler.
    pub scheduler: Scheduler,
    /// Commands that the array keeps at a drive. Further commands wait in the array, in order.
    pub commands_per_spindle: u32,
    /// Factor by which chunks lie farther apart on the drive than in the array: 1 except in scaled-down runs.
    pub stretch: u32,
}

/// Why a simulation stops.
#[derive(Debug, Error)]
pub enum SimulationError {
    /// The spindles cannot be created.
    #[error(transparent)]
    Spindle(#[from] SpindleError),
    /// A spindle refused a command of the array.
    #[error("a spindle refused a command: {0}")]
    Command(#[from] CommandError),
    /// Failures exceed parity.
    #[error(transparent)]
    DataLost(#[from] DataLost),
    /// Operations are outstanding, but no event is left that could answer them.
    #[error("nothing is left to happen at {at_ns} ns while operations are outstanding")]
    Stuck {
        /// The present time.
        at_ns: u64,
    },
    /// Events follow each other at the same time without end.
    #[error(
        "time stands still at {at_ns} ns: operations are answered in no time; give the processor a cost per host \
         operation"
    )]
    StandsStill {
        /// The present time.
        at_ns: u64,
    },
    /// The host's next access cannot be read.
    #[error("the host cannot go on: {0}")]
    Accesses(AccessesError),
    /// The observer stopped the run.
    #[error("stopped before the segment was complete")]
    Stopped,
}

/// The progress of a run.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Virtual time since the beginning.
    pub now_ns: u64,
    /// Host operations answered since the beginning.
    pub operations: u64,
}

/// An array on simulated spindles, under the operations of a [`Host`]: a closed loop by default.
pub struct Simulation<A, H = ClosedLoop> {
    array: A,
    driver: SimDriver,
    host: H,
    segment: u32,
    segment_start_ns: u64,
    operations_before: u64,
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
    /// What is to happen when, the next one last.
    scheduled: Vec<(u64, Scheduled)>,
    /// Whether a segment has begun and not ended.
    is_in_segment: bool,
}

/// What happens to an array at a set time.
#[cfg_attr(feature = "state", derive(serde::Serialize, serde::Deserialize))]
enum Scheduled {
    /// A spindle fails.
    Failure(SpindleIndex),
    /// A parity group is added.
    AddedGroup,
    /// Snapshots are taken, and others later.
    Snapshots(SnapshotSchedule),
}

/// Snapshots of some volumes together at equal distances in time, of which some are kept.
#[cfg_attr(feature = "state", derive(serde::Serialize, serde::Deserialize))]
struct SnapshotSchedule {
    volumes: Vec<VolumeId>,
    every_ns: u64,
    keep: usize,
    /// Those taken together, oldest first.
    kept: VecDeque<Vec<(VolumeId, SnapshotId)>>,
}

impl<A: Array<()>> Simulation<A> {
    /// Sets `array` up on `spindles` under `outstanding` operations drawn from `stream`. Virtual time begins at 0.
    ///
    /// # Errors
    /// If the spindles cannot be created.
    pub fn new(
        array: A,
        spindles: &Spindles,
        stream: AccessStream,
        outstanding: u32,
    ) -> Result<Self, SimulationError> {
        Self::with_host(array, spindles, ClosedLoop::new(stream, outstanding))
    }
}

impl<A: Array<()>, H: Host> Simulation<A, H> {
    /// Sets `array` up on `spindles` under the operations of `host`. Virtual time begins at 0.
    ///
    /// # Errors
    /// If the spindles cannot be created.
    pub fn with_host(array: A, spindles: &Spindles, host: H) -> Result<Self, SimulationError> {
        let count = usize::from(array.spindles());
        let Spindles { drive, scheduler, commands_per_spindle, stretch } = spindles;
        let drives = (0..count)
            .map(|_| SimulatedSpindle::new(Arc::clone(drive), *scheduler, *commands_per_spindle))
            .collect::<Result<Vec<_>, _>>()?;
        let log = array.log_size().map(LogLedger::new);
        let mut driver = SimDriver::new(drives, *stretch, array.processor_costs(), log);
        let mut used_from_ns = vec![0; count];
        for group in array.groups().iter().filter(|group| group.free_blocks.is_none()) {
            used_from_ns[indices(&group.spindles)].fill(u64::MAX);
            driver.set_aside(&group.spindles);
        }
        let mut simulation = Self {
            counted: *array.counters(),
            array,
            driver,
            host,
            segment: 0,
            segment_start_ns: 0,
            operations_before: 0,
            busy_before: vec![0; count],
            processor_before: ProcessorAt::default(),
            completed: vec![SpindleGroup { spindles: 1, ..SpindleGroup::default() }; count],
            served_before_ns: 0,
            completed_before: 0,
            returned: 0,
            used_from_ns,
            commands_before: vec![[0; 2]; count],
            scheduled: Vec::new(),
            is_in_segment: false,
        };
        simulation.array.start(0, &mut simulation.driver);
        while let Some(operation) = simulation.host.first() {
            simulation.array.host_operation(0, operation, &mut simulation.driver);
        }
        Ok(simulation)
    }

    /// Fails a spindle at `at_ns` of virtual time, or at once if that time has passed.
    ///
    /// # Panics
    /// If the array has no such spindle. [`run_segment`](Self::run_segment) panics if the spindle's parity group has not
    /// been added by then.
    pub fn fail_at(&mut self, at_ns: u64, spindle: SpindleIndex) {
        assert!(spindle.index() < self.driver.spindles.len(), "the array has no {spindle}");
        self.schedule(at_ns, Scheduled::Failure(spindle));
    }

    /// Adds the array's next parity group ([`Array::add_group`]) at `at_ns` of virtual time, or at once if that time has
    /// passed. Its spindles exist before, but no segment counts them.
    pub fn add_group_at(&mut self, at_ns: u64) {
        self.schedule(at_ns, Scheduled::AddedGroup);
    }

    /// Takes a snapshot of each volume every `every_ns` of virtual time, as
    /// [`snapshot_volumes_every`](Self::snapshot_volumes_every) does.
    ///
    /// # Panics
    /// If `every_ns` or `keep` is zero.
    pub fn snapshot_every(&mut self, every_ns: u64, keep: u32) {
        self.snapshot_volumes_every(self.array.snapshot_volumes(), every_ns, keep);
    }

    /// Takes a snapshot of each of `volumes` every `every_ns` of virtual time, for the first time after that long, and keeps
    /// `keep` of each: the oldest are deleted before others are taken. Those that the array refuses are left out, and
    /// counted.
    ///
    /// # Panics
    /// If `every_ns` or `keep` is zero.
    pub fn snapshot_volumes_every(&mut self, volumes: Vec<VolumeId>, every_ns: u64, keep: u32) {
        assert!(every_ns > 0 && keep > 0, "snapshots every {every_ns} ns, {keep} of them kept");
        let (keep, kept) = (keep as usize, VecDeque::new());
        let schedule = SnapshotSchedule { volumes, every_ns, keep, kept };
        self.schedule(self.driver.now_ns + every_ns, Scheduled::Snapshots(schedule));
    }

    fn schedule(&mut self, at_ns: u64, what: Scheduled) {
        let later = self.scheduled.partition_point(|other| other.0 > at_ns);
        self.scheduled.insert(later, (at_ns, what));
    }

    /// Returns a probe that reads, from any thread, which component of this simulation is running.
    #[must_use]
    pub fn component_probe(&self) -> ComponentProbe {
        self.driver.components.at_work()
    }

    /// Returns the array.
    #[must_use]
    pub fn array(&self) -> &A {
        &self.array
    }

    /// Returns whether the host has nothing more to issue and everything is answered. A closed loop is never done.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.host.is_done()
    }

    /// Runs and measures `length_ns` of virtual time, or until the host is done. `observer` is called from time to time
    /// with the progress, and can stop the run. A segment that it stopped is continued by the next call.
    ///
    /// # Errors
    /// If a spindle refuses a command, failures exceed parity, no event is left, the host cannot continue, or the
    /// observer stops the run.
    pub fn run_segment(
        &mut self,
        length_ns: u64,
        observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Segment, SimulationError> {
        let end_ns = self.segment_start_ns + length_ns;
        if !std::mem::replace(&mut self.is_in_segment, true) {
            self.host.begin_segment(self.segment_start_ns, self.segment + 1);
        }
        // Runs up to each of these separately, so that no step has to check for one.
        while let Some(&(at_ns, _)) = self.scheduled.last().filter(|next| next.0 < end_ns) {
            self.run_until(at_ns, observer)?;
            if self.host.is_done() {
                break;
            }
            let Some((_, what)) = self.scheduled.pop() else { break };
            let now_ns = at_ns.max(self.segment_start_ns);
            assert!(now_ns >= self.driver.now_ns, "virtual time goes back");
            self.driver.now_ns = now_ns;
            match what {
                Scheduled::Failure(spindle) => self.fail(now_ns, spindle)?,
                Scheduled::AddedGroup => self.add_group(now_ns),
                Scheduled::Snapshots(schedule) => self.snapshot(now_ns, schedule),
            }
            self.answer_ready(now_ns)?;
        }
        self.run_until(end_ns, observer)?;
        let end_ns = if self.host.is_done() { self.driver.now_ns } else { end_ns };
        self.look(end_ns, observer)?;
        self.is_in_segment = false;
        Ok(self.measure(end_ns))
    }

    fn run_until(
        &mut self,
        end_ns: u64,
        observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), SimulationError> {
        let (mut events, mut looked_ns) = (0, u64::MAX);
        while !self.host.is_done() && self.step(end_ns)? {
            events += 1;
            if events == EVENTS_PER_LOOK {
                let now_ns = self.driver.now_ns;
                if looked_ns == now_ns {
                    return Err(SimulationError::StandsStill { at_ns: now_ns });
                }
                (events, looked_ns) = (0, now_ns);
                self.look(now_ns, observer)?;
            }
        }
        Ok(())
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
                Tag::OF_DRIVER => is_committed |= self.driver.superblock_is_done(),
                _ => self.array.command_failed(now_ns, command, &mut self.driver),
            }
        }
        if is_committed {
            self.array.committed(now_ns, &mut self.driver);
        }
        Ok(())
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
        self.schedule(now_ns + schedule.every_ns, Scheduled::Snapshots(schedule));
    }

    fn look(
        &self,
        now_ns: u64,
        observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), SimulationError> {
        let operations = self.operations_before + self.host.answered_in_segment();
        match observer(Progress { now_ns, operations }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(SimulationError::Stopped),
        }
    }

    // `#[inline(always)]` inlines the path of every operation into this loop and four other functions, here and in the
    // crates below. With a profile the compiler does so by itself; without one it splits the path into forty functions,
    // with a sixth more instructions.
    /// Handles the next event if it occurs before `end_ns`, and returns whether it did. At equal times,
    /// acknowledgements come first, then spindles, then the timer, then operations that the host issues by the clock.
    #[inline(always)]
    fn step(&mut self, end_ns: u64) -> Result<bool, SimulationError> {
        let driver = &mut self.driver;
        let later_ns = driver.later.front().map_or(u64::MAX, |entry| entry.0);
        let spindle_ns = driver.completions.earliest_ns();
        let issue_ns = self.host.next_issue_ns();
        let next_ns = later_ns.min(spindle_ns).min(driver.timer_ns).min(issue_ns);
        if next_ns >= end_ns {
            if next_ns == u64::MAX {
                return Err(SimulationError::Stuck { at_ns: driver.now_ns });
            }
            return Ok(false);
        }
        assert!(next_ns >= driver.now_ns, "virtual time goes back");
        driver.now_ns = next_ns;
        if later_ns == next_ns {
            if let Some((_, id)) = driver.later.pop_front() {
                driver.ready.push(id);
            }
        } else if spindle_ns == next_ns {
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
                if completion.tag == Tag::OF_DRIVER {
                    if driver.superblock_is_done() {
                        self.array.committed(next_ns, driver);
                    }
                } else {
                    self.array.command_completed(next_ns, completion.tag, (), driver);
                }
            }
        } else if issue_ns == next_ns && driver.timer_ns != next_ns {
            driver.components.turn_to(Component::Host);
            let issued = self.host.issue_due(next_ns).map_err(SimulationError::Accesses)?;
            if let Some(operation) = issued {
                driver.components.turn_to(Component::Service);
                if let Some((lun, hint)) = self.host.prefetch_hint() {
                    self.array.hint_operation(lun, hint.direction, hint.sector, hint.sectors);
                }
                self.array.host_operation(next_ns, operation, driver);
            }
        } else {
            driver.timer_ns = u64::MAX;
            driver.components.turn_to(Component::Service);
            self.array.timer_fired(next_ns, driver);
        }
        self.answer_ready(next_ns)?;
        Ok(true)
    }

    /// Passes acknowledgements to the host, which may issue an operation for each.
    #[inline(always)]
    fn answer_ready(&mut self, now_ns: u64) -> Result<(), SimulationError> {
        while let Some(id) = self.driver.ready.pop() {
            self.driver.components.turn_to(Component::Host);
            let reply = match self.driver.take_refusal(id) {
                false => self.host.answered(now_ns, id),
                true => self.host.refused(now_ns, id),
            };
            let Some(operation) = reply else { continue };
            self.driver.components.turn_to(Component::Service);
            if let Some((lun, hint)) = self.host.prefetch_hint() {
                self.array.hint_operation(lun, hint.direction, hint.sector, hint.sectors);
            }
            self.array.host_operation(now_ns, operation, &mut self.driver);
        }
        self.driver.components.turn_to(Component::Events);
        match self.driver.refused.take() {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }

    fn processor_at(&self, now_ns: u64) -> ProcessorAt {
        ProcessorAt {
            busy_ns: self.driver.processor.busy_ns(now_ns),
            backlog_ns: self.driver.processor.backlog_ns(now_ns),
            operations: self.host.issued(),
            commands: self.driver.sent,
        }
    }

    /// Returns the processor's work since `before`, computed from counts and costs, and its busy time, both in
    /// nanoseconds.
    fn processor_since(&self, before: &ProcessorAt) -> (f64, u64) {
        let now = &self.processor_before;
        let costs = self.array.processor_costs();
        let operations = now.operations.since(before.operations);
        let commands = now.commands.since(before.commands);
        let sectors = operations.sectors + commands.sectors;
        let given_ns = (operations.count * costs.host_operation_ns
            + commands.count * costs.spindle_command_ns) as f64
            + sectors as f64 * costs.per_sector_ps as f64 / 1e3;
        let served_ns = given_ns + before.backlog_ns as f64 - now.backlog_ns as f64;
        let busy_ns = now.busy_ns - before.busy_ns;
        // Each cost is rounded down to a nanosecond where it is charged.
        let rounding_ns = (operations.count + commands.count) as f64;
        let off_ns = served_ns - busy_ns as f64;
        (if (0.0..=rounding_ns).contains(&off_ns) { busy_ns as f64 } else { served_ns }, busy_ns)
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
                add(&mut group.data_spindles, of_spindles[index][0]);
                add(&mut group.parity_spindles, of_spindles[index][1]);
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

    /// Measures and closes the segment that ends at `end_ns`.
    fn measure(&mut self, end_ns: u64) -> Segment {
        let length_ns = end_ns - self.segment_start_ns;
        let mut host = self.host.end_segment(self.segment_start_ns, end_ns);
        host.close();
        let counters = self.array.counters().since(&self.counted);
        let now = self.processor_at(end_ns);
        let before = std::mem::replace(&mut self.processor_before, now);
        let (processor_served_ns, processor_busy_ns) = self.processor_since(&before);

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
            completed.absent_ns = if used_from_ns < end_ns {
                used_from_ns.saturating_sub(self.segment_start_ns)
            } else {
                0
            };
            let is_parity = self.array.is_parity(SpindleIndex(index as u16));
            add(&mut by_kind[usize::from(is_parity)], completed);
            add(&mut of_spindles[index][usize::from(is_parity)], completed);
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
        let processor_error = relative(processor_served_ns, processor_busy_ns as f64);
        let laws = Laws {
            utilization_law_error: processor_error.max(relative(service_ns as f64, busy_ns as f64)),
            utilization_law_unexplained: processor_error.max(relative(served_ns, busy_ns as f64)),
            ..host.littles_law()
        };

        self.segment += 1;
        self.segment_start_ns = end_ns;
        self.operations_before += host.operations;
        self.counted = *self.array.counters();
        Segment {
            index: self.segment,
            length_ns,
            operations: host.operations,
            refused: host.refused,
            bytes: host.sectors * strewn_base::SECTOR_BYTES,
            mean_outstanding: ratio(host.outstanding_ns, length_ns as f64),
            response: host.response_times(),
            counters,
            processor_busy_ns,
            data_spindles,
            parity_spindles,
            groups,
            layout: self.array.layout(),
            snapshots: self.array.snapshot_measures(),
            volumes: self.array.volume_measures(),
            failures: self.array.failures().to_vec(),
            by_direction: host.by_direction,
            by_workload: host.by_workload,
            laws,
        }
    }
}

/// The spindles of a group as indices.
fn indices(spindles: &Range<u16>) -> Range<usize> {
    spindles.start.into()..spindles.end.into()
}

/// The state of the processor at one moment.
#[derive(Debug, Clone, Copy, Default)]
#[cfg_attr(feature = "state", derive(serde::Serialize, serde::Deserialize))]
struct ProcessorAt {
    busy_ns: u64,
    backlog_ns: u64,
    operations: Moved,
    commands: Moved,
}

fn add(group: &mut SpindleGroup, one: SpindleGroup) {
    group.spindles += one.spindles;
    group.absent_ns += one.absent_ns;
    group.commands += one.commands;
    group.busy_ns += one.busy_ns;
    group.service_ns += one.service_ns;
    group.residence_ns += one.residence_ns;
}

#[cfg(feature = "state")]
impl<A: SavedState, H> Simulation<A, H> {
    strewn_base::saved_state! {
        fns save_fields, restore_fields {
            parts: array, driver, busy_before, used_from_ns, completed, commands_before;
            values: segment, segment_start_ns, operations_before, counted, processor_before,
                served_before_ns, completed_before, returned, scheduled, is_in_segment;
            built: host;
        }
    }
}

/// What a simulation has come to: its array, spindles and host. It is restored into a simulation that was built from the
/// same configuration and has not run, and goes on as the one that was saved would have.
#[cfg(feature = "state")]
impl<A: Array<()> + SavedState, H: Host> SavedState for Simulation<A, H> {
    fn save(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        self.save_fields(to)?;
        self.host.save_state(to)
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError> {
        self.restore_fields(from)?;
        self.host.restore_state(from).map_err(|error| error.within("host"))
    }
}
