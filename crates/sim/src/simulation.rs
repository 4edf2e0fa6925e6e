//! One array under one host, in virtual time.

use std::ops::ControlFlow;

use strewn_array::{AnyArray, DataLost, VolumeId};
use strewn_base::state::{SavedState, StateError, StateReader, StateWriter};
use strewn_raid::SpindleIndex;
use strewn_spindle::{CommandError, SpindleError};
use strewn_workload::AccessStream;
use thiserror::Error;

use crate::closed_loop::ClosedLoop;
use crate::component::{Component, ComponentProbe};
use crate::driven_array::{DrivenArray, Spindles};
use crate::host::{AccessesError, Host};
use crate::segment::{Laws, Segment, ratio};

/// Events between two calls of the observer.
pub(crate) const EVENTS_PER_LOOK: u32 = 1 << 18;

/// Why a simulation stops.
#[derive(Debug, Error)]
#[non_exhaustive]
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
        /// Virtual time of the last event, in nanoseconds.
        at_ns: u64,
    },
    /// Events follow each other at the same time without end.
    #[error(
        "time stands still at {at_ns} ns: operations are answered in no time; give the processor a cost per host \
         operation"
    )]
    StandsStill {
        /// Virtual time at which events repeat, in nanoseconds.
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
    driven: DrivenArray<A>,
    host: H,
    segment: u32,
    segment_start_ns: u64,
    operations_before: u64,
    /// Whether a segment has begun and not ended.
    is_in_segment: bool,
}

impl<A: AnyArray<()>> Simulation<A> {
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

impl<A: AnyArray<()>, H: Host> Simulation<A, H> {
    /// Sets `array` up on `spindles` under the operations of `host`. Virtual time begins at 0.
    ///
    /// # Errors
    /// If the spindles cannot be created.
    pub fn with_host(array: A, spindles: &Spindles, host: H) -> Result<Self, SimulationError> {
        let driven = DrivenArray::new(array, spindles)?;
        let mut simulation = Self {
            driven,
            host,
            segment: 0,
            segment_start_ns: 0,
            operations_before: 0,
            is_in_segment: false,
        };
        while let Some(operation) = simulation.host.first() {
            let driven = &mut simulation.driven;
            driven.array.host_operation(0, operation, &mut driven.driver);
        }
        Ok(simulation)
    }

    /// Fails a spindle at `at_ns` of virtual time, or at once if that time has passed.
    ///
    /// # Panics
    /// If the array has no such spindle. [`run_segment`](Self::run_segment) panics if the spindle's parity group has
    /// not been added by then.
    pub fn fail_at(&mut self, at_ns: u64, spindle: SpindleIndex) {
        self.driven.fail_at(at_ns, spindle);
    }

    /// Adds the array's next parity group ([`Growable::add_group`](strewn_array::Growable::add_group)) at `at_ns` of
    /// virtual time, or at once if that time has passed. Its spindles exist before, but no segment counts them.
    pub fn add_group_at(&mut self, at_ns: u64) {
        self.driven.add_group_at(at_ns);
    }

    /// Takes a snapshot of each volume every `every_ns` of virtual time, as
    /// [`snapshot_volumes_every`](Self::snapshot_volumes_every) does.
    ///
    /// # Panics
    /// If `every_ns` or `keep` is zero.
    pub fn snapshot_every(&mut self, every_ns: u64, keep: u32) {
        self.snapshot_volumes_every(self.driven.array.snapshot_volumes(), every_ns, keep);
    }

    /// Takes a snapshot of each of `volumes` every `every_ns` of virtual time, for the first time after that long, and
    /// keeps `keep` of each: the oldest are deleted before others are taken. Those that the array refuses are left out,
    /// and counted.
    ///
    /// # Panics
    /// If `every_ns` or `keep` is zero.
    pub fn snapshot_volumes_every(&mut self, volumes: Vec<VolumeId>, every_ns: u64, keep: u32) {
        self.driven.snapshot_volumes_every(volumes, every_ns, keep);
    }

    /// Returns a probe that reads, from any thread, which component of this simulation is running.
    #[must_use]
    pub fn component_probe(&self) -> ComponentProbe {
        self.driven.driver.components.at_work()
    }

    /// Returns the array.
    #[must_use]
    pub fn array(&self) -> &A {
        &self.driven.array
    }

    /// Returns the host.
    #[must_use]
    pub fn host(&self) -> &H {
        &self.host
    }

    /// Ends the simulation and returns its host, with what it has learned.
    #[must_use]
    pub fn into_host(self) -> H {
        self.host
    }

    /// Returns whether the host has nothing more to issue, everything is answered, and no segment is left to be
    /// measured. A closed loop is never done.
    #[must_use]
    pub fn is_done(&self) -> bool {
        !self.is_in_segment && self.host.is_done()
    }

    /// Runs and measures `length_ns` of virtual time, or until the host is done. If the host issues nothing after that
    /// time, the segment lasts until everything is answered: answers alone are no segment. `observer` is called from
    /// time to time with the progress, and can stop the run. A segment that it stopped is continued by the next call.
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
        self.run_through(end_ns, observer)?;
        if self.host.issues_no_more(end_ns) {
            self.run_through(u64::MAX, observer)?;
        }
        let end_ns = if self.host.is_done() { self.driven.driver.now_ns } else { end_ns };
        self.look(end_ns, observer)?;
        self.is_in_segment = false;
        Ok(self.measure(end_ns))
    }

    /// Runs until `end_ns`, or until the host is done, with the events that are scheduled until then.
    fn run_through(
        &mut self,
        end_ns: u64,
        observer: &mut dyn FnMut(Progress) -> ControlFlow<()>,
    ) -> Result<(), SimulationError> {
        // Runs up to each of these separately, so that no step has to check for one.
        while let Some(at_ns) = self.driven.next_scheduled_ns().filter(|at_ns| *at_ns < end_ns) {
            self.run_until(at_ns, observer)?;
            if self.host.is_done() {
                return Ok(());
            }
            let Some((_, event)) = self.driven.take_scheduled(end_ns) else { break };
            let now_ns = at_ns.max(self.segment_start_ns);
            self.driven.apply(now_ns, event)?;
            self.answer_ready(now_ns)?;
        }
        self.run_until(end_ns, observer)
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
                let now_ns = self.driven.driver.now_ns;
                if looked_ns == now_ns {
                    return Err(SimulationError::StandsStill { at_ns: now_ns });
                }
                (events, looked_ns) = (0, now_ns);
                self.look(now_ns, observer)?;
            }
        }
        Ok(())
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
    /// Handles the next event if it occurs before `end_ns`, and returns whether it did. At equal times, the array's own
    /// events come first, then operations that the host issues by the clock.
    #[inline(always)]
    fn step(&mut self, end_ns: u64) -> Result<bool, SimulationError> {
        let next = self.driven.next_events();
        let next_ns = next.earliest_ns().min(self.host.next_issue_ns());
        if next_ns >= end_ns {
            if next_ns == u64::MAX {
                return Err(SimulationError::Stuck { at_ns: self.driven.driver.now_ns });
            }
            return Ok(false);
        }
        if !self.driven.step(next, next_ns) {
            self.driven.driver.components.turn_to(Component::Host);
            let issued = self.host.issue_due(next_ns).map_err(SimulationError::Accesses)?;
            if let Some(operation) = issued {
                self.driven.admit(next_ns, operation, &self.host);
            }
        }
        self.answer_ready(next_ns)?;
        Ok(true)
    }

    /// Passes acknowledgements to the host, which may issue an operation for each.
    #[inline(always)]
    fn answer_ready(&mut self, now_ns: u64) -> Result<(), SimulationError> {
        while let Some((id, is_refused)) = self.driven.take_answer() {
            let reply = match is_refused {
                false => self.host.answered(now_ns, id),
                true => self.host.refused(now_ns, id),
            };
            if let Some(operation) = reply {
                self.driven.admit(now_ns, operation, &self.host);
            }
        }
        self.driven.driver.components.turn_to(Component::Events);
        match self.driven.driver.refused.take() {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }

    /// Measures and closes the segment that ends at `end_ns`.
    fn measure(&mut self, end_ns: u64) -> Segment {
        let start_ns = std::mem::replace(&mut self.segment_start_ns, end_ns);
        let length_ns = end_ns - start_ns;
        let mut host = self.host.end_segment(start_ns, end_ns);
        host.close();
        let measures = self.driven.measure(start_ns, end_ns, self.host.issued());
        let processor_error = measures.processor.law_error();
        let laws = Laws {
            utilization_law_error: measures.utilization_law_error.max(processor_error),
            utilization_law_unexplained: measures.utilization_law_unexplained.max(processor_error),
            ..host.littles_law()
        };
        self.segment += 1;
        self.operations_before += host.operations;
        let array = &self.driven.array;
        Segment {
            index: self.segment,
            length_ns,
            operations: host.operations,
            refused: host.refused,
            bytes: host.sectors * strewn_base::SECTOR_BYTES,
            mean_outstanding: ratio(host.outstanding_ns, length_ns as f64),
            response: host.response_times(),
            counters: measures.counters,
            processor_busy_ns: measures.processor.busy_ns,
            data_spindles: measures.data_spindles,
            parity_spindles: measures.parity_spindles,
            groups: measures.groups,
            layout: array.layout(),
            snapshots: array.snapshot_measures(),
            scan: array.scan_progress(),
            volumes: array.volume_measures(),
            failures: array.failures().to_vec(),
            by_direction: host.by_direction,
            by_workload: host.by_workload,
            page_cache: host.page_cache,
            client_raid: host.client_raid,
            remote: host.remote,
            machine: None,
            laws,
        }
    }
}

impl<A: SavedState, H> Simulation<A, H> {
    strewn_base::saved_state! {
        fns save_fields, restore_fields {
            parts: driven;
            values: segment, segment_start_ns, operations_before, is_in_segment;
            built: host;
        }
    }
}

/// What a simulation has come to: its array, spindles and host. It is restored into a simulation that was built from
/// the same configuration and has not run, and goes on as the one that was saved would have.
impl<A: AnyArray<()> + SavedState, H: Host> SavedState for Simulation<A, H> {
    fn save(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        self.save_fields(to)?;
        self.host.save_state(to)
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError> {
        self.restore_fields(from)?;
        self.host.restore_state(from).map_err(|error| error.within("host"))
    }
}
