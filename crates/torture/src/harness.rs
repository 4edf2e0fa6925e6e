//! Simulated devices whose power can fail at any I/O, whatever is waiting for them.

use std::collections::BTreeSet;
use std::time::Duration;

use strewn_live::device::{
    Buffer, DeviceIndex, Devices, Io, IoCompletion, IoError, IoId, IoRequest, SimulatedDevices,
    SimulatedDisk, Waker,
};

/// The most I/Os of one incarnation. More mean an endless loop.
const MOST_STEPS: u64 = 2_000_000;

/// The most consecutive waits without a completion.
const MOST_IDLE_WAITS: u32 = 5_000;

/// An event of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    Lose(DeviceIndex),
    Full(DeviceIndex),
    /// There is room again.
    Room(DeviceIndex),
    Slow(DeviceIndex, u32),
    /// A spindle is copied, as it is.
    Copy(DeviceIndex),
}

/// Devices that lose power after a number of I/Os. From then on every I/O completes as gone, so that everything
/// waiting for them ends.
#[derive(Debug)]
pub(crate) struct Harness {
    pub(crate) devices: SimulatedDevices,
    /// I/Os completed.
    pub(crate) steps: u64,
    /// Number of I/Os after which the power fails.
    pub(crate) cut_at: u64,
    /// Events, sorted by the number of I/Os after which they happen.
    pub(crate) events: Vec<(u64, Event)>,
    pub(crate) is_off: bool,
    /// Why the incarnation seems endless, if it does.
    pub(crate) hung: Option<String>,
    /// Devices that are lost and not replaced.
    pub(crate) lost: BTreeSet<DeviceIndex>,
    /// A spindle as it was when it was copied.
    pub(crate) copy: Option<(DeviceIndex, SimulatedDisk)>,
    under_way: Vec<(IoId, DeviceIndex)>,
    gone: Vec<IoCompletion>,
    idle_waits: u32,
}

impl Harness {
    pub(crate) fn new(devices: SimulatedDevices, cut_at: u64, events: Vec<(u64, Event)>) -> Self {
        Self {
            devices,
            steps: 0,
            cut_at,
            events,
            is_off: false,
            hung: None,
            lost: BTreeSet::new(),
            copy: None,
            under_way: Vec::new(),
            gone: Vec::new(),
            idle_waits: 0,
        }
    }

    /// Fails the power. When it returns, nothing uses the devices any more.
    pub(crate) fn cut(&mut self) {
        if self.is_off {
            return;
        }
        self.is_off = true;
        self.devices.crash();
        for (id, device) in std::mem::take(&mut self.under_way) {
            self.gone.push(gone(id, device, Buffer::default()));
        }
    }

    /// Ends the program abruptly; the I/Os that it had issued complete.
    pub(crate) fn drain(&mut self) {
        while !self.is_off && self.devices.step().is_some() {}
        self.is_off = true;
        for (id, device) in std::mem::take(&mut self.under_way) {
            self.gone.push(gone(id, device, Buffer::default()));
        }
    }

    fn hang(&mut self, why: String) {
        self.hung = Some(why);
        self.cut();
    }

    fn apply_events(&mut self) {
        while let Some((at, event)) = self.events.first().copied()
            && at <= self.steps
        {
            self.events.remove(0);
            match event {
                Event::Lose(device) => {
                    self.lost.insert(device);
                    self.devices.lose_device(device, "lost");
                }
                Event::Full(device) => self.devices.set_full(device, true),
                Event::Room(device) => self.devices.set_full(device, false),
                Event::Copy(device) => {
                    self.copy = Some((device, self.devices.disk(device).clone()));
                }
                Event::Slow(device, factor) => self.devices.set_slow(device, factor),
            }
        }
    }
}

fn gone(id: IoId, device: DeviceIndex, buffer: Buffer) -> IoCompletion {
    IoCompletion { id, device, buffer, result: Err(IoError::Gone("the power is off".to_owned())) }
}

/// An incarnation borrows the devices, so that they can be inspected after it.
impl Devices for &mut Harness {
    type Replacement = SimulatedDisk;

    fn count(&self) -> u16 {
        self.devices.count()
    }

    fn size_bytes(&self, device: DeviceIndex) -> u64 {
        self.devices.size_bytes(device)
    }

    fn now_ns(&self) -> u64 {
        self.devices.now_ns()
    }

    fn submit(&mut self, io: Io) {
        if self.is_off {
            let buffer = match io.request {
                IoRequest::Read { into: buffer, .. } | IoRequest::Write { from: buffer, .. } => {
                    buffer
                }
                IoRequest::Flush => Buffer::default(),
            };
            self.gone.push(gone(io.id, io.device, buffer));
            return;
        }
        self.under_way.push((io.id, io.device));
        self.devices.submit(io);
    }

    fn wait(&mut self, timeout: Option<Duration>, done: &mut Vec<IoCompletion>) {
        if !self.is_off && self.steps >= self.cut_at {
            self.cut();
        }
        let until_ns =
            timeout.map(|timeout| self.devices.now_ns().saturating_add(timeout.as_nanos() as u64));
        if self.is_off {
            // What waits for a time sees it come.
            self.devices.advance_to(until_ns.unwrap_or(0));
            done.append(&mut self.gone);
            self.idle_waits += 1;
            assert!(
                self.idle_waits < 20 * MOST_IDLE_WAITS,
                "something waits for ever for devices without power"
            );
            return;
        }
        self.apply_events();
        match self.devices.next_ns() {
            Some(next_ns) if until_ns.is_none_or(|until_ns| next_ns <= until_ns) => {
                self.idle_waits = 0;
                self.steps += 1;
                let one = self.devices.step();
                if let Some(one) = &one {
                    let this = (one.id, one.device);
                    let at = self.under_way.iter().position(|other| *other == this);
                    at.map(|at| self.under_way.swap_remove(at));
                }
                done.extend(one);
            }
            _ => {
                self.devices.advance_to(until_ns.unwrap_or(0));
                self.idle_waits += 1;
            }
        }
        if self.idle_waits > MOST_IDLE_WAITS {
            self.hang("nothing is under way, and something is waited for".to_owned());
        } else if self.steps > MOST_STEPS {
            self.hang(format!("{MOST_STEPS} I/Os, and still no end"));
        }
    }

    fn waker(&self) -> Waker {
        self.devices.waker()
    }

    fn close(&mut self, device: DeviceIndex) {
        self.devices.close(device);
    }

    fn replace(&mut self, device: DeviceIndex, by: SimulatedDisk) {
        self.lost.remove(&device);
        self.devices.replace(device, by);
    }
}
