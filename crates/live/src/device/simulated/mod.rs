//! Devices in memory that fail on command: deterministic, without threads, with their own clock.
//!
//! Everything repeats from the seed: when each operation completes, which faults occur, and what a power loss leaves.
//! A driver either uses them as any [`Devices`], or goes step by step and inspects them in between:
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
//! An operation takes effect at the moment of its completion: a read sees the writes that completed before it.

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
pub use fault::{Fault, FaultRates, Injected, MOST_ERASED_BLOCKS};
pub use latency::Latency;
use latency::ServiceSlots;

/// The state of one device.
#[derive(Debug, Clone)]
struct Device {
    disk: SimulatedDisk,
    latency: Latency,
    factor: u32,
    service_slots: ServiceSlots,
    rates: FaultRates,
    full: bool,
    gone: Option<String>,
    // Incremented whenever the device is lost, closed or replaced: operations submitted before are void.
    generation: u32,
    misdirect_next: bool,
    /// How many of the next writes to lose.
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

/// An operation that was submitted and is not complete.
#[derive(Debug, Clone)]
struct UnderWay {
    io: Io,
    generation: u32,
    // The changes that a flush makes durable.
    flush_mark: u64,
}

/// When an operation completes, and its number, which orders simultaneous completions.
type Turn = (u64, u64);

/// A set of devices in memory that fail on command. A clone is independent, and behaves identically.
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
    /// Creates devices with these disks; all random draws come from `seed`.
    ///
    /// # Panics
    ///
    /// If there are more than `u16` can count.
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

    /// Creates `count` devices of `size_bytes` zeros each.
    #[must_use]
    pub fn zeroed(seed: u64, count: u16, size_bytes: u64) -> Self {
        Self::new(seed, vec![SimulatedDisk::zeroed(size_bytes); usize::from(count)])
    }

    /// Returns the disk of a device.
    #[must_use]
    pub fn disk(&self, device: DeviceIndex) -> &SimulatedDisk {
        &self.devices[usize::from(device.0)].disk
    }

    /// Returns the disk of a device, to prepare it or damage it behind the device's back.
    pub fn disk_mut(&mut self, device: DeviceIndex) -> &mut SimulatedDisk {
        &mut self.device_mut(device).disk
    }

    /// Returns copies of all devices' disks, to use in another run or to keep.
    #[must_use]
    pub fn disks(&self) -> Vec<SimulatedDisk> {
        self.devices.iter().map(|device| device.disk.clone()).collect()
    }

    /// Sets the latency of a device's later operations. It is [`Latency::DISK`] until then.
    pub fn set_latency(&mut self, device: DeviceIndex, latency: Latency) {
        self.device_mut(device).latency = latency;
    }

    /// Returns the operations in flight, in the order in which they will complete.
    pub fn under_way(&self) -> impl Iterator<Item = &Io> {
        self.under_way.values().map(|under_way| &under_way.io)
    }

    /// Returns when the next operation completes, or `None` if nothing is in flight.
    #[must_use]
    pub fn next_ns(&self) -> Option<u64> {
        self.under_way.keys().next().map(|(at_ns, _)| *at_ns)
    }

    /// Advances time to `now_ns`, unless it is already later. Nothing completes by that: due operations complete with
    /// the next [`Self::step`].
    pub fn advance_to(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
    }

    /// Advances time to the next completion, and performs it; returns `None` if nothing is in flight.
    pub fn step(&mut self) -> Option<IoCompletion> {
        let (turn, under_way) = self.under_way.pop_first()?;
        self.advance_to(turn.0);
        Some(self.finish(under_way))
    }

    /// Completes this operation now, before all others; returns `None` if it is not in flight.
    pub fn complete(&mut self, id: IoId) -> Option<IoCompletion> {
        let turn = *self.under_way.iter().find(|(_, under_way)| under_way.io.id == id)?.0;
        let under_way = self.under_way.remove(&turn)?;
        Some(self.finish(under_way))
    }

    /// Loses and restores power. Operations in flight vanish without completion. Each write that was in flight, or
    /// complete but not durable, is kept, lost or torn.
    ///
    /// Durable writes, and writes complete before a completed flush, are kept. Devices that were lost, full or slow
    /// stay so.
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
            // On a full device the write would have failed, and a lost or replaced device gets no writes.
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

    /// Makes the device's operations in flight complete as gone, from now on.
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

/// Returns the random stream of a seed for one purpose, so that an extra draw for a fault does not change service
/// times.
fn stream(seed: u64, purpose: u64) -> Rng {
    Rng::new(seed.wrapping_add(purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

/// Draws whether an event of this rate occurs. A rate of zero draws nothing, and so changes no other draw.
fn happens(rng: &mut Rng, per_million: u32) -> bool {
    rng.chance(per_million.into(), 1_000_000)
}
