//! Two controllers that mirror each other's log and take over from each other.

use strewn_array::{AnyArray, ProcessorWork};
use strewn_base::state::SavedValue;

use crate::host::Host;

use super::{ControllerId, Interconnect, LogMirror, Machine};

/// How two controllers stand in for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub struct PairConfig {
    /// What joins them. A write is acknowledged when its record is in both logs.
    pub interconnect: Interconnect,
    /// From a controller's failure until its partner begins to take over, in nanoseconds.
    pub detection_ns: u64,
    /// How long a giveback takes: nobody serves the array meanwhile, in nanoseconds.
    pub giveback_ns: u64,
}

impl PairConfig {
    /// Controllers joined so, of which one is seen to have failed, or gets its array back, after so many nanoseconds.
    #[must_use]
    pub fn new(interconnect: Interconnect, detection_ns: u64, giveback_ns: u64) -> Self {
        Self { interconnect, detection_ns, giveback_ns }
    }
}

/// A step of a takeover or a giveback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub(super) enum FailoverStep {
    Fail(ControllerId),
    /// The partner stops serving the controller's array, to give it back.
    Release(ControllerId),
    /// The second controller begins to serve the first one's array.
    Serve(ControllerId, ControllerId),
}

impl<A: AnyArray<()>, H: Host> Machine<A, H> {
    /// Makes the machine's two controllers a pair.
    ///
    /// # Panics
    /// If there are not two.
    pub fn pair(&mut self, settings: PairConfig) {
        assert_eq!(self.controllers.len(), 2, "controllers of a pair");
        for controller in &mut self.controllers {
            let driven = &mut controller.driven;
            let header_bytes = driven.array.log_size().map_or(0, |log| log.record_header_bytes);
            let mirror = LogMirror::new(settings.interconnect, header_bytes);
            driven.driver.set_mirror(mirror);
        }
        self.pair = Some(settings);
    }

    /// Lets a controller fail at `at_ns` of virtual time. Its partner notices, takes its array over, replays its log,
    /// and goes on with what was under way. The cache of the controller that failed is lost.
    ///
    /// # Panics
    /// If the controllers are no pair.
    pub fn fail_controller_at(&mut self, at_ns: u64, controller: ControllerId) {
        let Some(settings) = self.pair else { panic!("{controller:?} has no partner") };
        let partner = ControllerId(1 - controller.0);
        self.schedule(at_ns, FailoverStep::Fail(controller));
        self.schedule(at_ns + settings.detection_ns, FailoverStep::Serve(controller, partner));
    }

    /// Lets a controller that failed have its array back at `at_ns` of virtual time.
    ///
    /// # Panics
    /// If the controllers are no pair.
    pub fn give_back_at(&mut self, at_ns: u64, controller: ControllerId) {
        let Some(settings) = self.pair else { panic!("{controller:?} has no partner") };
        self.schedule(at_ns, FailoverStep::Release(controller));
        self.schedule(at_ns + settings.giveback_ns, FailoverStep::Serve(controller, controller));
    }

    fn schedule(&mut self, at_ns: u64, step: FailoverStep) {
        let later = self.failover_steps.partition_point(|other| other.0 > at_ns);
        self.failover_steps.insert(later, (at_ns, step));
    }

    pub(super) fn take_failover_step(&mut self, now_ns: u64, step: FailoverStep) {
        match step {
            FailoverStep::Fail(controller) => {
                let index = controller.index();
                self.stop_serving(now_ns, index);
                let failed = &mut self.controllers[index];
                let lost_ns = failed.driven.driver.processor.halt(now_ns);
                failed.other_work_ns -= lost_ns as i64;
                self.mirror_logs(false);
            }
            FailoverStep::Release(controller) => self.stop_serving(now_ns, controller.index()),
            FailoverStep::Serve(controller, server) => {
                self.serve(now_ns, controller.index(), server.index());
                self.mirror_logs(controller == server);
            }
        }
    }

    fn mirror_logs(&mut self, is_on: bool) {
        let drivers = self.controllers.iter_mut().map(|controller| &mut controller.driven.driver);
        drivers.filter_map(|driver| driver.mirror.as_mut()).for_each(|mirror| mirror.set_on(is_on));
    }

    fn stop_serving(&mut self, now_ns: u64, index: usize) {
        assert!(
            self.controllers[index].stopped.is_none(),
            "nobody serves the array of controller {index}"
        );
        let stopped = self.with_processor(index, |driven| driven.stop(now_ns));
        self.controllers[index].stopped = Some((now_ns, stopped));
    }

    /// Controller `server` serves the array of controller `index`, after it has replayed the log.
    fn serve(&mut self, now_ns: u64, index: usize, server: usize) {
        let Some((since_ns, stopped)) = self.controllers[index].stopped.take() else {
            unreachable!("the array of controller {index} is served")
        };
        self.controllers[index].served_by = server;
        let replay_ns = match server == index {
            // The partner hands over what it has in memory.
            true => 0,
            false => self.controllers[index].driven.replay_ns(),
        };
        self.controllers[server].other_work_ns += replay_ns as i64;
        self.with_processor(index, |driven| {
            driven.driver.processor.add(ProcessorWork::Operation, now_ns, replay_ns, false);
            driven.go_on(now_ns, stopped);
        });
        self.requests.shift_at_controller(now_ns - since_ns, index);
        let waiting = std::mem::take(&mut self.controllers[index].waiting);
        for slot in waiting {
            let request = self.requests.get_mut(slot);
            request.time.outage_ns += now_ns - request.since_ns;
            self.received(now_ns, slot);
        }
    }
}
