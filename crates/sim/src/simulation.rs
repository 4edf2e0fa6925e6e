//! One array under one host, in virtual time.

use std::ops::ControlFlow;
use std::sync::Arc;

use strewn_array::{Array, Counters};
use strewn_spindle::{CommandError, Drive, Scheduler, SimulatedSpindle, SpindleError};
use strewn_workload::AccessStream;
use thiserror::Error;

use crate::host::Host;
use crate::segment::{Laws, Response, Segment, SpindleGroup, ratio};
use crate::world::World;

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
    /// Operations are outstanding, but nothing is left that could answer them.
    #[error("nothing is left to happen at {at_ns} ns while operations are outstanding")]
    Stuck {
        /// The present time.
        at_ns: u64,
    },
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

/// An array on simulated spindles under a closed loop of host operations.
pub struct Simulation<A> {
    array: A,
    world: World,
    host: Host,
    segment: u32,
    segment_start_ns: u64,
    operations_before: u64,
    counted: Counters,
    busy_before: Vec<u64>,
    processor_done_ns: u64,
    processor_busy_ns: u64,
    completed: Vec<SpindleGroup>,
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
        let count = usize::from(array.spindles());
        let Spindles { drive, scheduler, commands_per_spindle, stretch } = spindles;
        let drives = (0..count)
            .map(|_| SimulatedSpindle::new(Arc::clone(drive), *scheduler, *commands_per_spindle))
            .collect::<Result<Vec<_>, _>>()?;
        let mut simulation = Self {
            counted: *array.counters(),
            array,
            world: World::new(drives, *stretch),
            host: Host::new(stream, outstanding),
            segment: 0,
            segment_start_ns: 0,
            operations_before: 0,
            busy_before: vec![0; count],
            processor_done_ns: 0,
            processor_busy_ns: 0,
            completed: vec![SpindleGroup { spindles: 1, ..SpindleGroup::default() }; count],
        };
        simulation.array.start(0, &mut simulation.world);
        for id in simulation.host.slots() {
            let operation = simulation.host.issue(0, id);
            simulation.array.host_operation(0, operation, &mut simulation.world);
        }
        Ok(simulation)
    }

    /// The array.
    #[must_use]
    pub fn array(&self) -> &A {
        &self.array
    }

    /// Runs for `length_ns` of virtual time and measures it. Now and then `observer` is told how far the run has
    /// come and may stop it.
    ///
    /// # Errors
    /// If a spindle refuses a command, nothing is left to happen, or the observer stops the run.
    pub fn run_segment(
        &mut self,
        length_ns: u64,
        observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<Segment, SimulationError> {
        let end_ns = self.segment_start_ns + length_ns;
        let mut events = 0;
        while self.step(end_ns)? {
            events += 1;
            if events == EVENTS_PER_LOOK {
                events = 0;
                self.look(self.world.now_ns, observer)?;
            }
        }
        let segment = self.measure(end_ns);
        self.look(end_ns, observer)?;
        Ok(segment)
    }

    fn look(
        &self,
        now_ns: u64,
        observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), SimulationError> {
        let operations = self.operations_before + self.host.measured.operations;
        match observer(Progress { now_ns, operations }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(SimulationError::Stopped),
        }
    }

    /// Lets the next thing happen, if it happens before `end_ns`. Of things at the same time acknowledgements come
    /// first, then spindles, then the timer.
    #[inline]
    fn step(&mut self, end_ns: u64) -> Result<bool, SimulationError> {
        let world = &mut self.world;
        let later_ns = world.later.front().map_or(u64::MAX, |entry| entry.0);
        let spindle_ns = world.completions.earliest_ns();
        let next_ns = later_ns.min(spindle_ns).min(world.timer_ns);
        if next_ns >= end_ns {
            if next_ns == u64::MAX {
                return Err(SimulationError::Stuck { at_ns: world.now_ns });
            }
            return Ok(false);
        }
        world.now_ns = next_ns;
        if later_ns == next_ns {
            if let Some((_, id)) = world.later.pop_front() {
                world.ready.push(id);
            }
        } else if spindle_ns == next_ns {
            if let Some((spindle, completion)) = world.complete_earliest() {
                let completed = &mut self.completed[usize::from(spindle)];
                completed.commands += 1;
                completed.service_ns += completion.service_ns;
                completed.residence_ns += completion.at_ns - completion.arrived_ns;
                self.array.command_completed(next_ns, completion.tag, (), world);
            }
        } else {
            world.timer_ns = u64::MAX;
            self.array.timer_fired(next_ns, world);
        }
        while let Some(id) = self.world.ready.pop() {
            self.host.answered(next_ns, id);
            let operation = self.host.issue(next_ns, id);
            self.array.host_operation(next_ns, operation, &mut self.world);
        }
        match self.world.refused.take() {
            Some(error) => Err(error.into()),
            None => Ok(true),
        }
    }

    /// Closes the segment that ends at `end_ns`.
    fn measure(&mut self, end_ns: u64) -> Segment {
        let length_ns = end_ns - self.segment_start_ns;
        let outstanding_ns = self.host.measured.outstanding_ns(end_ns);
        let response_ns = self.host.response_within_ns(end_ns);
        let host = self.host.next_segment(end_ns);
        let counters = self.array.counters().since(&self.counted);
        let processor_done_ns = self.world.processor.done_ns(end_ns);
        let processor_served_ns = processor_done_ns - self.processor_done_ns;
        let processor_until_ns = self.world.processor.busy_ns(end_ns);
        let processor_busy_ns = processor_until_ns - self.processor_busy_ns;

        let parity = self.array.parity_spindles();
        let mut groups = [SpindleGroup::default(); 2];
        for (index, spindle) in self.world.spindles.iter().enumerate() {
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
        let laws = Laws {
            littles_law_error: relative(response_ns as f64, outstanding_ns as f64),
            utilization_law_error: relative(processor_served_ns as f64, processor_busy_ns as f64)
                .max(relative(service_ns as f64, busy_ns as f64)),
        };

        self.segment += 1;
        self.segment_start_ns = end_ns;
        self.operations_before += host.operations;
        self.counted = *self.array.counters();
        self.processor_done_ns = processor_done_ns;
        self.processor_busy_ns = processor_until_ns;
        Segment {
            index: self.segment,
            length_ns,
            operations: host.operations,
            bytes: host.sectors * 512,
            response: Response {
                mean_ns: ratio(host.response_sum_ns as f64, host.operations as f64),
                p50_ns: host.response.value_at_quantile(0.50),
                p95_ns: host.response.value_at_quantile(0.95),
                p99_ns: host.response.value_at_quantile(0.99),
                max_ns: host.response.max(),
            },
            counters,
            processor_busy_ns,
            data_spindles,
            parity_spindles,
            layout: self.array.layout(),
            laws,
        }
    }
}

fn add(group: &mut SpindleGroup, one: SpindleGroup) {
    group.spindles += one.spindles;
    group.commands += one.commands;
    group.busy_ns += one.busy_ns;
    group.service_ns += one.service_ns;
    group.residence_ns += one.residence_ns;
}

fn relative(measured: f64, expected: f64) -> f64 {
    if expected == 0.0 { measured.abs() } else { (measured / expected - 1.0).abs() }
}
