//! One array under one host, in virtual time.

use std::ops::ControlFlow;
use std::sync::Arc;

use strewn_array::{Array, Counters, DataLost};
use strewn_raid::SpindleIndex;
use strewn_spindle::{CommandError, Drive, Scheduler, SimulatedSpindle, SpindleError};
use strewn_workload::AccessStream;
use thiserror::Error;

use crate::closed_loop::ClosedLoop;
use crate::component::{Component, ComponentProbe};
use crate::driver::SimDriver;
use crate::host::{AccessesError, Host, Moved};
use crate::segment::{Laws, Segment, SpindleGroup, ratio, relative};

/// Events between two looks at whether the run should go on.
const EVENTS_PER_LOOK: u32 = 1 << 18;

/// The spindles of an array: all of one kind.
#[derive(Debug, Clone)]
pub struct Spindles {
    /// The drive.
    pub drive: Arc<Drive>,
    /// How it chooses among its commands.
    pub scheduler: Scheduler,
    /// How many commands the array keeps at a drive; the rest waits in the array, in order.
    pub commands_per_spindle: u32,
    /// How many times as far apart chunks lie on the drive as in the array: 1 but for scaled-down runs.
    pub stretch: u32,
}

/// Why a simulation stops.
#[derive(Debug, Error)]
pub enum SimulationError {
    /// The spindles cannot be made.
    #[error(transparent)]
    Spindle(#[from] SpindleError),
    /// A spindle refused a command of the array.
    #[error("a spindle refused a command: {0}")]
    Command(#[from] CommandError),
    /// More spindles failed than parity makes good.
    #[error(transparent)]
    DataLost(#[from] DataLost),
    /// Operations are outstanding, but nothing is left that could answer them.
    #[error("nothing is left to happen at {at_ns} ns while operations are outstanding")]
    Stuck {
        /// The present time.
        at_ns: u64,
    },
    /// Events follow each other, but time does not pass.
    #[error(
        "time stands still at {at_ns} ns: operations are answered in no time; give the processor a cost per host \
         operation"
    )]
    StandsStill {
        /// The present time.
        at_ns: u64,
    },
    /// The host's next access cannot be had.
    #[error("the host cannot go on: {0}")]
    Accesses(AccessesError),
    /// The observer wanted no more.
    #[error("stopped before the segment was complete")]
    Stopped,
}

/// How far a run has come.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Virtual time since the beginning.
    pub now_ns: u64,
    /// Host operations answered since the beginning.
    pub operations: u64,
}

/// An array on simulated spindles under the operations of a host: a closed loop, unless it is another [`Host`].
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
    /// What the commands in service as the segment began had been served by then, summed over spindles.
    served_before_ns: u64,
    /// Failures to come, the first of them last.
    failures: Vec<(u64, SpindleIndex)>,
}

impl<A: Array<()>> Simulation<A> {
    /// Sets `array` up on `spindles` under `outstanding` operations drawn from `stream`. Virtual time begins at 0.
    ///
    /// # Errors
    /// If the spindles cannot be made.
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
    /// If the spindles cannot be made.
    pub fn with_host(array: A, spindles: &Spindles, host: H) -> Result<Self, SimulationError> {
        let count = usize::from(array.spindles());
        let Spindles { drive, scheduler, commands_per_spindle, stretch } = spindles;
        let drives = (0..count)
            .map(|_| SimulatedSpindle::new(Arc::clone(drive), *scheduler, *commands_per_spindle))
            .collect::<Result<Vec<_>, _>>()?;
        let mut simulation = Self {
            counted: *array.counters(),
            array,
            driver: SimDriver::new(drives, *stretch),
            host,
            segment: 0,
            segment_start_ns: 0,
            operations_before: 0,
            busy_before: vec![0; count],
            processor_before: ProcessorAt::default(),
            completed: vec![SpindleGroup { spindles: 1, ..SpindleGroup::default() }; count],
            served_before_ns: 0,
            failures: Vec::new(),
        };
        simulation.array.start(0, &mut simulation.driver);
        while let Some(operation) = simulation.host.first() {
            simulation.array.host_operation(0, operation, &mut simulation.driver);
        }
        Ok(simulation)
    }

    /// Has a spindle fail at `at_ns` of virtual time, or at once if that is over.
    ///
    /// # Panics
    /// If the array has no such spindle.
    pub fn fail_at(&mut self, at_ns: u64, spindle: SpindleIndex) {
        assert!(spindle.index() < self.driver.spindles.len(), "the array has no {spindle}");
        let later = self.failures.partition_point(|failure| failure.0 > at_ns);
        self.failures.insert(later, (at_ns, spindle));
    }

    /// Tells, from another thread too, which part of this simulation is at work.
    #[must_use]
    pub fn component_probe(&self) -> ComponentProbe {
        self.driver.components.at_work()
    }

    /// The array.
    #[must_use]
    pub fn array(&self) -> &A {
        &self.array
    }

    /// Whether the host has nothing more to issue, and everything was answered. A closed loop never is done.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.host.is_done()
    }

    /// Runs for `length_ns` of virtual time, or until the host is done, and measures it. Now and then `observer` is
    /// told how far the run has come and may stop it.
    ///
    /// # Errors
    /// If a spindle refuses a command, data are lost, nothing is left to happen, the host cannot go on, or the observer
    /// stops the run.
    pub fn run_segment(
        &mut self,
        length_ns: u64,
        observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Segment, SimulationError> {
        let end_ns = self.segment_start_ns + length_ns;
        self.host.begin_segment(self.segment_start_ns, self.segment + 1);
        // Up to each failure on its own, so that no step has to look whether there is one.
        while let Some((at_ns, spindle)) = self.failures.pop_if(|failure| failure.0 < end_ns) {
            self.run_until(at_ns, observer)?;
            if self.host.is_done() {
                break;
            }
            self.fail(at_ns.max(self.segment_start_ns), spindle)?;
        }
        self.run_until(end_ns, observer)?;
        let end_ns = if self.host.is_done() { self.driver.now_ns } else { end_ns };
        let segment = self.measure(end_ns);
        self.look(end_ns, observer)?;
        Ok(segment)
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

    fn fail(&mut self, now_ns: u64, spindle: SpindleIndex) -> Result<(), SimulationError> {
        self.driver.now_ns = now_ns;
        let (commands, served_ns) = self.driver.fail(spindle);
        // It was busy for that long, and no completion will say so.
        self.completed[spindle.index()].service_ns += served_ns;
        self.array.spindle_failed(now_ns, spindle, &mut self.driver)?;
        for command in commands {
            self.array.command_failed(now_ns, command, &mut self.driver);
        }
        self.answer_ready(now_ns)
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

    // What every operation goes through is inlined into this loop and four functions more, here and in the crates below, by
    // `#[inline(always)]`. A compiler that is given a profile does so by itself; without one it makes forty functions of
    // it, with a sixth more instructions.
    /// Lets the next thing happen, if it happens before `end_ns`. Of things at the same time acknowledgements come
    /// first, then spindles, then the timer, then what the host issues by the clock.
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
                // What it has begun is done some events from now, about one a spindle: time enough to fetch what the
                // array will look up then.
                if let Some(tag) = driver.in_service(spindle) {
                    self.array.hint_completion(tag);
                }
                driver.components.turn_to(Component::Service);
                self.array.command_completed(next_ns, completion.tag, (), driver);
            }
        } else if issue_ns == next_ns && driver.timer_ns != next_ns {
            driver.components.turn_to(Component::Host);
            let issued = self.host.issue_due(next_ns).map_err(SimulationError::Accesses)?;
            if let Some(operation) = issued {
                driver.components.turn_to(Component::Service);
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

    /// The host hears of what was acknowledged, and issues as many operations anew.
    #[inline(always)]
    fn answer_ready(&mut self, now_ns: u64) -> Result<(), SimulationError> {
        while let Some(id) = self.driver.ready.pop() {
            self.driver.components.turn_to(Component::Host);
            let Some(operation) = self.host.answered(now_ns, id) else { continue };
            self.driver.components.turn_to(Component::Service);
            if let Some(hint) = self.host.prefetch_hint() {
                self.array.hint_operation(hint.direction, hint.sector, hint.sectors);
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

    /// What the processor must have done since `before`, from what was counted and what each costs, and for how long it
    /// was busy, both in nanoseconds.
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

    /// Closes the segment that ends at `end_ns`.
    fn measure(&mut self, end_ns: u64) -> Segment {
        let length_ns = end_ns - self.segment_start_ns;
        let mut host = self.host.end_segment(self.segment_start_ns, end_ns);
        host.close();
        let counters = self.array.counters().since(&self.counted);
        let now = self.processor_at(end_ns);
        let before = std::mem::replace(&mut self.processor_before, now);
        let (processor_served_ns, processor_busy_ns) = self.processor_since(&before);

        let parity = self.array.parity_spindles();
        let mut groups = [SpindleGroup::default(); 2];
        for (index, spindle) in self.driver.spindles.iter().enumerate() {
            let busy_ns = spindle.busy_ns_until(end_ns);
            let completed = &mut self.completed[index];
            completed.busy_ns = busy_ns - std::mem::replace(&mut self.busy_before[index], busy_ns);
            let fresh = SpindleGroup { spindles: 1, ..SpindleGroup::default() };
            let completed = std::mem::replace(completed, fresh);
            add(&mut groups[usize::from(parity.contains(&(index as u16)))], completed);
        }
        let [data_spindles, parity_spindles] = groups;
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
            bytes: host.sectors * strewn_base::SECTOR_BYTES,
            mean_outstanding: ratio(host.outstanding_ns, length_ns as f64),
            response: host.response_times(),
            counters,
            processor_busy_ns,
            data_spindles,
            parity_spindles,
            layout: self.array.layout(),
            failures: self.array.failures().to_vec(),
            by_direction: host.by_direction,
            laws,
        }
    }
}

/// What is known of the processor at one moment.
#[derive(Debug, Clone, Copy, Default)]
struct ProcessorAt {
    busy_ns: u64,
    backlog_ns: u64,
    operations: Moved,
    commands: Moved,
}

fn add(group: &mut SpindleGroup, one: SpindleGroup) {
    group.spindles += one.spindles;
    group.commands += one.commands;
    group.busy_ns += one.busy_ns;
    group.service_ns += one.service_ns;
    group.residence_ns += one.residence_ns;
}
