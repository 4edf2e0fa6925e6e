//! How faults come about: asked for, or by a rate.

use super::super::{BLOCK_BYTES, DeviceIndex, Devices, Io, IoRequest};
use super::fault::{Fault, FaultRates, Injected};
use super::{SimulatedDevices, happens};

const BLOCK: u64 = BLOCK_BYTES as u64;

impl SimulatedDevices {
    /// Every fault so far, in the order in which they came.
    #[must_use]
    pub fn injected(&self) -> &[Injected] {
        &self.injected
    }

    /// Has a device do wrong by itself this often, from here on.
    pub fn set_fault_rates(&mut self, device: DeviceIndex, rates: FaultRates) {
        self.device_mut(device).rates = rates;
    }

    /// Makes the sectors in which these bytes lie unreadable until each is written again.
    ///
    /// # Panics
    ///
    /// If they go beyond the device.
    pub fn make_unreadable(&mut self, device: DeviceIndex, offset: u64, bytes: u64) {
        let end = offset.checked_add(bytes);
        assert!(end.is_some_and(|end| end <= self.size_bytes(device)), "beyond the device");
        self.disk_mut(device).make_unreadable(offset..offset + bytes);
        self.log(device, Fault::Unreadable { offset, bytes });
    }

    /// Flips the bits of `mask` in the byte at `offset`, where it lies.
    ///
    /// # Panics
    ///
    /// If it is beyond the device.
    pub fn corrupt(&mut self, device: DeviceIndex, offset: u64, mask: u8) {
        assert!(offset < self.size_bytes(device), "beyond the device");
        self.disk_mut(device).flip(offset, mask);
        self.log(device, Fault::Corrupted { offset, mask });
    }

    /// Has the next write that this device does land elsewhere.
    pub fn misdirect_next_write(&mut self, device: DeviceIndex) {
        self.device_mut(device).misdirect_next = true;
    }

    /// Has the next write that this device does be reported done and never happen.
    pub fn lose_next_write(&mut self, device: DeviceIndex) {
        self.device_mut(device).lose_next = 1;
    }

    /// The device is gone: whatever is under way at it, and all that is asked later, comes back as
    /// [`Gone`](super::super::IoError::Gone) with `why`. Its disk lost its power, as in [`Self::crash`].
    pub fn lose_device(&mut self, device: DeviceIndex, why: &str) {
        let writes = self.lose_power(device);
        self.abandon(device, why);
        self.log(device, Fault::Gone { writes });
    }

    /// Has writes fail for want of space, all of them, or no longer.
    pub fn set_full(&mut self, device: DeviceIndex, full: bool) {
        self.device_mut(device).full = full;
        self.log(device, Fault::Full(full));
    }

    /// Has the device take `factor` times as long for what is asked from here on; 1 is as it should be.
    pub fn set_slow(&mut self, device: DeviceIndex, factor: u32) {
        self.device_mut(device).factor = factor;
        self.log(device, Fault::Slow { factor });
    }

    pub(super) fn log(&mut self, device: DeviceIndex, fault: Fault) {
        self.injected.push(Injected { now_ns: self.now_ns, device, fault });
    }

    /// What happens at rest, before `io` is done.
    pub(super) fn decay(&mut self, io: &Io) {
        let rates = self.devices[usize::from(io.device.0)].rates;
        if io.extent().is_none() {
            return;
        }
        if happens(&mut self.faults, rates.unreadable_per_million)
            && let Some(block) = self.draw_block(io)
        {
            self.make_unreadable(io.device, block * BLOCK, BLOCK);
        }
        if happens(&mut self.faults, rates.corrupted_per_million)
            && let Some(block) = self.draw_block(io)
        {
            let byte = self.faults.below(BLOCK);
            let mask = 1 << self.faults.below(8);
            self.corrupt(io.device, block * BLOCK + byte, mask);
        }
    }

    /// Where a write lands; nowhere, if it is lost.
    pub(super) fn divert(&mut self, io: &Io, offset: u64) -> Option<u64> {
        let (id, bytes) = (io.id, io.extent().map_or(0, |(_, bytes)| bytes));
        let device = &mut self.devices[usize::from(io.device.0)];
        let (rates, places) = (device.rates, (device.disk.size_bytes() - bytes) / BLOCK);
        let is_one_more = device.lose_next > 0;
        device.lose_next = device.lose_next.saturating_sub(1);
        if is_one_more || happens(&mut self.faults, rates.lost_per_million) {
            if !is_one_more && rates.lost_in_a_row > 0 {
                let more = self.faults.below(u64::from(rates.lost_in_a_row) + 1);
                device.lose_next = self.faults.below(2) * more;
            }
            self.log(io.device, Fault::LostWrite { id, offset, bytes });
            return None;
        }
        // Where it fills the device it can land nowhere else.
        let misdirected = places > 0 && std::mem::take(&mut device.misdirect_next);
        if misdirected || (places > 0 && happens(&mut self.faults, rates.misdirected_per_million)) {
            // One of the other places: those from the right one on count one more.
            let place = self.faults.below(places);
            let landed_at = (place + u64::from(place >= offset / BLOCK)) * BLOCK;
            self.log(io.device, Fault::Misdirected { id, offset, bytes, landed_at });
            return Some(landed_at);
        }
        Some(offset)
    }

    /// A block of what is read, as often as any other that was written.
    fn draw_block(&mut self, io: &Io) -> Option<u64> {
        if let IoRequest::Read { offset, into } = &io.request
            && self.faults.below(2) == 0
        {
            return Some(offset / BLOCK + self.faults.below(into.blocks() as u64));
        }
        self.devices[usize::from(io.device.0)].disk.draw_written_block(&mut self.faults)
    }
}
