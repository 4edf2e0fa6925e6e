//! An engine on its devices: moves I/Os between the two, and waits.

use std::time::Duration;

use crate::device::{Devices, Io, IoCompletion, Waker};
use crate::engine::{
    Answer, HostRequest, LiveArray, LiveArrayEngine, RequestError, RequestId, TargetId,
};
use crate::log::LogDeviceFinding;

/// How long a caller that waits for the spindles waits for space.
const PATIENCE_NS: u64 = 1_000_000_000;

/// An array running on devices.
pub struct RunningArray<D, A> {
    devices: D,
    engine: LiveArrayEngine<A>,
    ios: Vec<Io>,
    done: Vec<IoCompletion>,
    in_flight: usize,
    log_findings: Vec<LogDeviceFinding>,
}

impl<D: Devices, A: LiveArray> RunningArray<D, A> {
    /// Runs `engine` on `devices`.
    pub fn new(devices: D, engine: LiveArrayEngine<A>) -> Self {
        let (ios, done, log_findings) = (Vec::new(), Vec::new(), Vec::new());
        Self { devices, engine, ios, done, in_flight: 0, log_findings }
    }

    pub(crate) fn with_log_findings(self, log_findings: Vec<LogDeviceFinding>) -> Self {
        Self { log_findings, ..self }
    }

    /// Returns what the restart found wrong with a device of a mirrored log. The other device had everything, and both
    /// have it since.
    #[must_use]
    pub fn log_findings(&self) -> &[LogDeviceFinding] {
        &self.log_findings
    }

    /// Returns the devices.
    #[must_use]
    pub fn devices(&self) -> &D {
        &self.devices
    }

    /// Returns the devices, mutably.
    pub fn devices_mut(&mut self) -> &mut D {
        &mut self.devices
    }

    /// Returns the engine.
    #[must_use]
    pub fn engine(&self) -> &LiveArrayEngine<A> {
        &self.engine
    }

    /// Returns the engine, mutably.
    pub fn engine_mut(&mut self) -> &mut LiveArrayEngine<A> {
        &mut self.engine
    }

    /// Returns the same array on devices that `make` wraps, for example to measure them. Nothing may be in flight.
    #[must_use]
    pub fn map_devices<E: Devices>(self, make: impl FnOnce(D) -> E) -> RunningArray<E, A> {
        let Self { devices, engine, ios, done, in_flight, log_findings } = self;
        assert_eq!(in_flight, 0, "I/Os in flight would come back to nobody");
        RunningArray { devices: make(devices), engine, ios, done, in_flight, log_findings }
    }

    /// Returns a waker that ends a wait in [`poll`](Self::poll) from another thread.
    #[must_use]
    pub fn waker(&self) -> Waker {
        self.devices.waker()
    }

    /// Returns nanoseconds since the devices were opened.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.devices.now_ns()
    }

    /// Returns the devices, after the array was shut down.
    #[must_use]
    pub fn into_devices(self) -> D {
        self.devices
    }

    /// Returns whether an I/O is in flight.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.in_flight > 0
    }

    /// Accepts a host's request of a target.
    pub fn submit(&mut self, id: RequestId, target: TargetId, request: HostRequest) {
        let now_ns = self.devices.now_ns();
        self.engine.submit(now_ns, id, target, request);
    }

    /// Gives a request up: see [`LiveArrayEngine::give_up`].
    pub fn give_up(&mut self, id: RequestId) {
        self.engine.give_up(id);
    }

    /// Submits the engine's I/Os to the devices.
    pub fn send(&mut self) {
        self.engine.take_ios(&mut self.ios);
        for io in self.ios.drain(..) {
            self.in_flight += 1;
            self.devices.submit(io);
        }
    }

    /// Waits for a completion, the array's timer, a wake-up or at most `most`, and handles the events.
    pub fn poll(&mut self, most: Option<Duration>) {
        self.send();
        let now_ns = self.devices.now_ns();
        let timer = self.engine.timer_ns();
        let until_timer = timer.map(|at_ns| Duration::from_nanos(at_ns.saturating_sub(now_ns)));
        let timeout = match (most, until_timer) {
            (Some(most), Some(timer)) => Some(most.min(timer)),
            (most, timer) => most.or(timer),
        };
        self.devices.wait(timeout, &mut self.done);
        let now_ns = self.devices.now_ns();
        for done in self.done.drain(..) {
            assert!(self.in_flight > 0, "an I/O comes back once");
            self.in_flight -= 1;
            self.engine.done(now_ns, done);
        }
        self.engine.timer(now_ns);
        self.send();
    }

    /// Executes one request and waits for its answer. No other request may be in flight.
    ///
    /// # Errors
    /// The error that the request is answered with.
    pub fn ask(
        &mut self,
        id: RequestId,
        target: TargetId,
        request: HostRequest,
    ) -> Result<Answer, RequestError> {
        self.submit(id, target, request);
        let mut answers = Vec::new();
        loop {
            self.engine.take_answers(&mut answers);
            if let Some((_, answer)) = answers.pop() {
                return answer;
            }
            self.poll(None);
        }
    }

    /// Returns why nothing more gets to the spindles: the array has stopped, or there was no space for a write for a
    /// second after `begin_ns`.
    #[must_use]
    pub fn obstacle(&self, begin_ns: u64) -> Option<String> {
        let since_ns = self.engine.out_of_space_since_ns().map(|since_ns| since_ns.max(begin_ns));
        let is_short = since_ns.is_some_and(|since_ns| self.now_ns() >= since_ns + PATIENCE_NS);
        let stopped = self.engine.stopped().map(str::to_owned);
        let no_space = || {
            let lacking = self.engine.label().names_of(&self.engine.out_of_space());
            format!("there is no space left under {lacking}; make room on the file system")
        };
        stopped.or_else(|| is_short.then(no_space))
    }

    /// Writes everything to the spindles and waits for all I/O in flight, including a rebuild.
    ///
    /// # Errors
    /// Why the array stopped, or that there is no space for what is to be written.
    pub fn clean(&mut self) -> Result<(), String> {
        self.bring_to_spindles_until(Self::is_clean)
    }

    /// Does the same as [`clean`](Self::clean), but does not wait for a rebuild to end.
    ///
    /// # Errors
    /// Why the array stopped, or that there is no space for what is to be written.
    pub fn catch_up(&mut self) -> Result<(), String> {
        self.bring_to_spindles_until(|running| {
            let engine = &running.engine;
            if engine.is_rebuilding() { engine.is_caught_up() } else { running.is_clean() }
        })
    }

    fn is_clean(&self) -> bool {
        self.engine.is_clean() && self.in_flight == 0
    }

    fn bring_to_spindles_until(&mut self, is_there: impl Fn(&Self) -> bool) -> Result<(), String> {
        let begin_ns = self.now_ns();
        loop {
            if let Some(why) = self.obstacle(begin_ns) {
                return Err(why);
            }
            self.send();
            if is_there(self) {
                return Ok(());
            }
            let now_ns = self.devices.now_ns();
            self.engine.bring_to_spindles(now_ns);
            self.poll(None);
        }
    }

    /// Writes a superblock that needs nothing from the log: see [`LiveArrayEngine::seal`]. The array must be caught
    /// up.
    ///
    /// # Errors
    /// Why the array stopped, or that there is no space for what is to be written.
    pub fn seal(&mut self, clean: bool) -> Result<(), String> {
        self.engine.seal(clean);
        self.catch_up()
    }

    /// Writes the last superblock once more and waits for it: see [`LiveArrayEngine::rewrite_superblock`].
    ///
    /// # Errors
    /// Why the array stopped, or that there is no space for what is to be written.
    pub fn rewrite_superblock(&mut self) -> Result<(), String> {
        if !self.engine.is_committing() {
            self.engine.rewrite_superblock();
        }
        let begin_ns = self.now_ns();
        loop {
            if let Some(why) = self.obstacle(begin_ns) {
                return Err(why);
            }
            if !self.engine.is_committing() {
                return Ok(());
            }
            self.poll(None);
        }
    }

    /// Shuts the array down: writes everything to the spindles and marks it as clean. Does not wait for a rebuild to
    /// end; the next start begins it again.
    ///
    /// # Errors
    /// Why the array stopped, or that there is no space for what is to be written.
    pub fn shut_down(&mut self) -> Result<(), String> {
        self.catch_up()?;
        // A rebuild's I/Os in flight may be in the log only.
        let clean = self.is_clean();
        self.seal(clean)?;
        while self.in_flight > 0 {
            self.devices.wait(None, &mut self.done);
            let done = self.done.drain(..).len();
            assert!(done <= self.in_flight, "an I/O comes back once");
            self.in_flight -= done;
        }
        Ok(())
    }
}
