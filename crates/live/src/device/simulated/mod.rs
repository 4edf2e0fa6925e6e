//! Devices in memory that fail as they are told to: deterministic, without threads, with a time of their own.
//!
//! Everything replays from the seed: when each operation is done, which faults come, and what a loss of power leaves.
//! A driver either uses them as any [`Devices`], or goes step by step and looks in between:
//!
//! ```
//! use strewn_live::device::{Buffer, DeviceIndex, Devices, Io, IoId, IoRequest, SimulatedDevices};
//!
//! let mut devices = SimulatedDevices::zeroed(7, 2, 1 << 20);
//! let mut from = Buffer::zeroed(1);
//! from.bytes_mut().fill(1);
//! let write = IoRequest::Write { offset: 8192, from, durable: false };
//! devices.submit(Io { id: IoId(1), device: DeviceIndex(0), request: write });
//! assert!(devices.step().is_some_and(|done| done.result.is_ok()));
//!
//! // Done, and yet not safe: either is right after the power was lost.
//! devices.crash();
//! let mut found = [0; 4096];
//! devices.disk(DeviceIndex(0)).read(8192, &mut found)?;
//! assert!(found.iter().all(|byte| [0, 1].contains(byte)));
//! # Ok::<(), strewn_live::device::IoError>(())
//! ```
//!
//! What an operation does, it does at the moment at which it is done: a read sees the writes that were done before it.

mod crash;
mod disk;
mod driven;
mod fault;
mod inject;
mod latency;
mod medium;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use strewn_base::Rng;

use super::{DeviceIndex, Devices, Io, IoCompletion, IoError, IoId, IoRequest};
pub use crash::CrashCounts;
pub use disk::SimulatedDisk;
pub use fault::{Fault, FaultRates, Injected};
pub use latency::Latency;
use latency::ServiceSlots;

/// What is known of one device.
#[derive(Debug, Clone)]
struct Device {
    disk: SimulatedDisk,
    latency: Latency,
    factor: u32,
    service_slots: ServiceSlots,
    rates: FaultRates,
    full: bool,
    gone: Option<String>,
    // Counts the times that it was lost, closed or replaced: what was asked of it before comes to nothing.
    generation: u32,
    misdirect_next: bool,
    /// How many of the next writes are lost.
    lose_next: u64,
}

impl Device {
    fn new(disk: SimulatedDisk) -> Self {
        Self {
            disk,
            latency: Latency::DISK,
            factor: 1,
            service_slots: ServiceSlots::new(),
            rates: FaultRates::default(),
            full: false,
            gone: None,
            generation: 0,
            misdirect_next: false,
            lose_next: 0,
        }
    }
}

/// An operation that a device was asked for and has not done.
#[derive(Debug, Clone)]
struct UnderWay {
    io: Io,
    generation: u32,
    // What a flush makes safe.
    flush_mark: u64,
}

/// When an operation is done, and which it was: one after the other at the same time.
type Turn = (u64, u64);

/// A set of devices in memory, which fail as they are told to. A clone goes on by itself, and alike.
#[derive(Debug)]
pub struct SimulatedDevices {
    devices: Vec<Device>,
    under_way: BTreeMap<Turn, UnderWay>,
    submitted: u64,
    now_ns: u64,
    service: Rng,
    faults: Rng,
    crashes: Rng,
    injected: Vec<Injected>,
    woken: Arc<AtomicBool>,
}

impl SimulatedDevices {
    /// Devices with these disks, and everything drawn from `seed`.
    ///
    /// # Panics
    ///
    /// If there are more than `u16` counts.
    #[must_use]
    pub fn new(seed: u64, disks: Vec<SimulatedDisk>) -> Self {
        assert!(disks.len() <= usize::from(u16::MAX), "{} devices", disks.len());
        Self {
            devices: disks.into_iter().map(Device::new).collect(),
            under_way: BTreeMap::new(),
            submitted: 0,
            now_ns: 0,
            service: stream(seed, 1),
            faults: stream(seed, 2),
            crashes: stream(seed, 3),
            injected: Vec::new(),
            woken: Arc::default(),
        }
    }

    /// `count` devices of `size_bytes` zeros each.
    #[must_use]
    pub fn zeroed(seed: u64, count: u16, size_bytes: u64) -> Self {
        Self::new(seed, vec![SimulatedDisk::zeroed(size_bytes); usize::from(count)])
    }

    /// What lies on a device.
    #[must_use]
    pub fn disk(&self, device: DeviceIndex) -> &SimulatedDisk {
        &self.devices[usize::from(device.0)].disk
    }

    /// What lies on a device, to be prepared or damaged behind its back.
    pub fn disk_mut(&mut self, device: DeviceIndex) -> &mut SimulatedDisk {
        &mut self.device_mut(device).disk
    }

    /// The disks of all devices, as they are: for another run, or to be kept.
    #[must_use]
    pub fn disks(&self) -> Vec<SimulatedDisk> {
        self.devices.iter().map(|device| device.disk.clone()).collect()
    }

    /// Has a device take other times, for what is asked from here on. It is [`Latency::DISK`] until then.
    pub fn set_latency(&mut self, device: DeviceIndex, latency: Latency) {
        self.device_mut(device).latency = latency;
    }

    /// What is under way, as it will be done if nothing is done to it.
    pub fn under_way(&self) -> impl Iterator<Item = &Io> {
        self.under_way.values().map(|under_way| &under_way.io)
    }

    /// When the next is done; nothing if nothing is under way.
    #[must_use]
    pub fn next_ns(&self) -> Option<u64> {
        self.under_way.keys().next().map(|(at_ns, _)| *at_ns)
    }

    /// Lets time pass to `now_ns`, unless it is later already. Nothing is done by it: what is due comes with the next
    /// [`Self::step`].
    pub fn advance_to(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
    }

    /// Lets time pass to the next completion, and does it; nothing if nothing is under way.
    pub fn step(&mut self) -> Option<IoCompletion> {
        let (turn, under_way) = self.under_way.pop_first()?;
        self.advance_to(turn.0);
        Some(self.finish(under_way))
    }

    /// Does this one now, before all others; nothing if it is not under way.
    pub fn complete(&mut self, id: IoId) -> Option<IoCompletion> {
        let turn = *self.under_way.iter().find(|(_, under_way)| under_way.io.id == id)?.0;
        let under_way = self.under_way.remove(&turn)?;
        Some(self.finish(under_way))
    }

    /// The power goes and comes back: what is under way is gone, without a word of what became of it, and each write
    /// that was under way, or done and not safe, is there, or not, or some of its sectors are.
    ///
    /// What was durable or done before a flush that is done is there. Devices that were lost, full or slow still are.
    pub fn crash(&mut self) -> CrashCounts {
        let mut counts = CrashCounts::default();
        for index in 0..self.count() {
            let device = DeviceIndex(index);
            let writes = self.lose_power(device);
            self.log(device, Fault::PowerLost { writes });
            self.device_mut(device).service_slots.clear();
            counts += writes;
        }
        self.under_way.clear();
        counts
    }

    fn device_mut(&mut self, device: DeviceIndex) -> &mut Device {
        &mut self.devices[usize::from(device.0)]
    }

    fn lose_power(&mut self, device: DeviceIndex) -> CrashCounts {
        let of_device = &mut self.devices[usize::from(device.0)];
        let generation = of_device.generation;
        let writes = self.under_way.values().filter_map(|under_way| match &under_way.io.request {
            // On a full device it would have failed, and one that was lost or replaced is no longer asked.
            IoRequest::Write { offset, from, .. }
                if under_way.io.device == device
                    && under_way.generation == generation
                    && !of_device.full
                    && of_device.gone.is_none() =>
            {
                Some((*offset, from.bytes()))
            }
            _ => None,
        });
        of_device.disk.crash(writes, &mut self.crashes)
    }

    /// Whatever is under way at the device comes back as gone, from now on.
    fn abandon(&mut self, device: DeviceIndex, why: &str) {
        let now_ns = self.now_ns;
        let of_device = self.device_mut(device);
        of_device.gone = Some(why.to_owned());
        of_device.generation += 1;
        of_device.service_slots.clear();
        let turns: Vec<Turn> = self
            .under_way
            .iter()
            .filter(|(turn, under_way)| under_way.io.device == device && turn.0 > now_ns)
            .map(|(turn, _)| *turn)
            .collect();
        for turn in turns {
            if let Some(under_way) = self.under_way.remove(&turn) {
                self.under_way.insert((now_ns, turn.1), under_way);
            }
        }
    }

    fn finish(&mut self, under_way: UnderWay) -> IoCompletion {
        let UnderWay { mut io, generation, flush_mark } = under_way;
        let device = &self.devices[usize::from(io.device.0)];
        if let Some(why) = &device.gone {
            let why = why.clone();
            return io.refused(IoError::Gone(why));
        }
        if device.generation != generation {
            return io.refused(IoError::Gone("another has its place".to_owned()));
        }
        if device.full && matches!(io.request, IoRequest::Write { .. }) {
            return io.refused(IoError::NoSpace);
        }
        self.decay(&io);
        let result = self.perform(&mut io, flush_mark);
        IoCompletion { id: io.id, device: io.device, buffer: io.request.into_buffer(), result }
    }

    fn perform(&mut self, io: &mut Io, flush_mark: u64) -> Result<(), IoError> {
        let landed_at = match io.request {
            IoRequest::Write { offset, .. } => self.divert(io, offset),
            _ => None,
        };
        let disk = &mut self.devices[usize::from(io.device.0)].disk;
        match &mut io.request {
            IoRequest::Read { offset, into } => disk.read(*offset, into.bytes_mut()),
            IoRequest::Write { from, durable, .. } => {
                if let Some(offset) = landed_at {
                    disk.write_done(offset, from.bytes(), *durable);
                }
                Ok(())
            }
            IoRequest::Flush => {
                disk.flush(flush_mark);
                Ok(())
            }
        }
    }
}

/// The stream of a seed for one purpose, so that another draw for a fault leaves the service times alone.
fn stream(seed: u64, purpose: u64) -> Rng {
    Rng::new(seed.wrapping_add(purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

/// Whether something happens this often. A rate of zero draws nothing, and so changes no other draw.
fn happens(rng: &mut Rng, per_million: u32) -> bool {
    rng.chance(per_million.into(), 1_000_000)
}
