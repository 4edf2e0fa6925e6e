//! An engine on its devices: what moves between the two, and waits.

use std::time::Duration;

use crate::device::{Devices, Io, IoCompletion, Waker};
use crate::engine::{Answer, HostRequest, LiveArray, LiveArrayEngine, RequestError, RequestId};

/// An array that runs on devices.
pub struct RunningArray<D, A> {
    devices: D,
    engine: LiveArrayEngine<A>,
    ios: Vec<Io>,
    done: Vec<IoCompletion>,
    under_way: usize,
}

impl<D: Devices, A: LiveArray> RunningArray<D, A> {
    /// `engine` on `devices`.
    pub fn new(devices: D, engine: LiveArrayEngine<A>) -> Self {
        Self { devices, engine, ios: Vec::new(), done: Vec::new(), under_way: 0 }
    }

    /// The devices.
    #[must_use]
    pub fn devices(&self) -> &D {
        &self.devices
    }

    /// The devices, to be changed.
    pub fn devices_mut(&mut self) -> &mut D {
        &mut self.devices
    }

    /// The engine.
    #[must_use]
    pub fn engine(&self) -> &LiveArrayEngine<A> {
        &self.engine
    }

    /// The engine, to be told something.
    pub fn engine_mut(&mut self) -> &mut LiveArrayEngine<A> {
        &mut self.engine
    }

    /// The same on what `make` makes of its devices, such as a wrapper that watches them. Nothing may be under way.
    #[must_use]
    pub fn map_devices<E: Devices>(self, make: impl FnOnce(D) -> E) -> RunningArray<E, A> {
        let Self { devices, engine, ios, done, under_way } = self;
        debug_assert_eq!(under_way, 0, "what is under way would not be seen to come back");
        RunningArray { devices: make(devices), engine, ios, done, under_way }
    }

    /// What ends a wait in [`poll`](Self::poll) from another thread.
    #[must_use]
    pub fn waker(&self) -> Waker {
        self.devices.waker()
    }

    /// Nanoseconds since the devices were opened.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.devices.now_ns()
    }

    /// The devices, when nothing is to be done any more.
    #[must_use]
    pub fn into_devices(self) -> D {
        self.devices
    }

    /// Whether an I/O is under way.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.under_way > 0
    }

    /// A host's request arrives.
    pub fn submit(&mut self, id: RequestId, request: HostRequest) {
        let now_ns = self.devices.now_ns();
        self.engine.submit(now_ns, id, request);
    }

    /// Gives the devices what there is for them.
    pub fn send(&mut self) {
        self.engine.take_ios(&mut self.ios);
        for io in self.ios.drain(..) {
            self.under_way += 1;
            self.devices.submit(io);
        }
    }

    /// Lets what can happen happen: waits for a device, the array's timer, a wake-up, or `most`.
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
            self.under_way -= 1;
            self.engine.done(now_ns, done);
        }
        self.engine.timer(now_ns);
        self.send();
    }

    /// Asks for something and waits until it is answered. Nothing else may be asked for meanwhile.
    ///
    /// # Errors
    /// As the request is answered.
    pub fn ask(&mut self, id: RequestId, request: HostRequest) -> Result<Answer, RequestError> {
        self.submit(id, request);
        let mut answers = Vec::new();
        loop {
            self.engine.take_answers(&mut answers);
            if let Some((_, answer)) = answers.pop() {
                return answer;
            }
            self.poll(None);
        }
    }

    /// Brings everything to the spindles, and waits for all that is under way, a rebuild too.
    ///
    /// # Errors
    /// Why the array stopped.
    pub fn clean(&mut self) -> Result<(), String> {
        self.bring_to_spindles_until(Self::is_clean)
    }

    /// The same, but while a spindle is being rebuilt only what was acknowledged is waited for.
    ///
    /// # Errors
    /// Why the array stopped.
    pub fn catch_up(&mut self) -> Result<(), String> {
        self.bring_to_spindles_until(|running| {
            let engine = &running.engine;
            if engine.is_rebuilding() { engine.is_caught_up() } else { running.is_clean() }
        })
    }

    fn is_clean(&self) -> bool {
        self.engine.is_clean() && self.under_way == 0
    }

    fn bring_to_spindles_until(&mut self, is_there: impl Fn(&Self) -> bool) -> Result<(), String> {
        loop {
            if let Some(why) = self.engine.stopped() {
                return Err(why.to_owned());
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

    /// Writes a superblock that needs nothing of the log, see [`LiveArrayEngine::seal`]. Of use only when all has caught up.
    ///
    /// # Errors
    /// Why the array stopped.
    pub fn seal(&mut self, clean: bool) -> Result<(), String> {
        self.engine.seal(clean);
        self.catch_up()
    }

    /// Writes the last superblock once more, see [`LiveArrayEngine::rewrite_superblock`], and waits for it.
    ///
    /// # Errors
    /// Why the array stopped.
    pub fn rewrite_superblock(&mut self) -> Result<(), String> {
        if !self.engine.is_committing() {
            self.engine.rewrite_superblock();
        }
        loop {
            if let Some(why) = self.engine.stopped() {
                return Err(why.to_owned());
            }
            if !self.engine.is_committing() {
                return Ok(());
            }
            self.poll(None);
        }
    }

    /// Brings everything to the spindles, and says so on them; then nothing is under way any more. The end of a rebuild is not
    /// waited for: the next start begins it anew.
    ///
    /// # Errors
    /// Why the array stopped.
    pub fn shut_down(&mut self) -> Result<(), String> {
        self.catch_up()?;
        // What a rebuild has under way may be in the log alone.
        let clean = self.is_clean();
        self.seal(clean)?;
        while self.under_way > 0 {
            self.devices.wait(None, &mut self.done);
            self.under_way -= self.done.drain(..).len();
        }
        Ok(())
    }
}
