//! Injects faults: on request, or at a rate.

use super::super::{BLOCK_BYTES, DeviceIndex, Devices, Io, IoRequest};
use super::fault::{Fault, FaultRates, Injected, MOST_ERASED_BLOCKS};
use super::{SimulatedDevices, happens};

const BLOCK: u64 = BLOCK_BYTES as u64;

impl SimulatedDevices {
    /// Returns every fault so far, in order.
    #[must_use]
    pub fn injected(&self) -> &[Injected] {
        &self.injected
    }

    /// Sets the rates of a device's spontaneous faults from here on.
    pub fn set_fault_rates(&mut self, device: DeviceIndex, rates: FaultRates) {
        self.device_mut(device).rates = rates;
    }

    /// Makes the sectors of these bytes unreadable until each is written again.
    ///
    /// # Panics
    ///
    /// If they extend beyond the device.
    pub fn make_unreadable(&mut self, device: DeviceIndex, offset: u64, bytes: u64) {
        let end = offset.checked_add(bytes);
        assert!(end.is_some_and(|end| end <= self.size_bytes(device)), "beyond the device");
        self.disk_mut(device).make_unreadable(offset..offset + bytes);
        self.log(device, Fault::Unreadable { offset, bytes });
    }

    /// Flips the bits of `mask` in the byte at `offset`, at rest.
    ///
    /// # Panics
    ///
    /// If it is beyond the device.
    pub fn corrupt(&mut self, device: DeviceIndex, offset: u64, mask: u8) {
        assert!(offset < self.size_bytes(device), "beyond the device");
        self.disk_mut(device).flip(offset, mask);
        self.log(device, Fault::Corrupted { offset, mask });
    }

    /// Makes whole blocks zeros, at rest.
    ///
    /// # Panics
    ///
    /// If they are no whole blocks, or extend beyond the device.
    pub fn erase(&mut self, device: DeviceIndex, offset: u64, bytes: u64) {
        let zeros = vec![0; bytes as usize];
        self.disk_mut(device).write(offset, &zeros);
        self.log(device, Fault::Erased { offset, bytes });
    }

    /// Makes the device's next write land elsewhere.
    pub fn misdirect_next_write(&mut self, device: DeviceIndex) {
        self.device_mut(device).misdirect_next = true;
    }

    /// Makes the device report its next write as done without doing it.
    pub fn lose_next_write(&mut self, device: DeviceIndex) {
        self.device_mut(device).lose_next = 1;
    }

    /// Loses a device: I/Os in flight to it and all later ones complete as [`Gone`](super::super::IoError::Gone) with
    /// `why`. Its disk loses power, as in [`Self::crash`].
    pub fn lose_device(&mut self, device: DeviceIndex, why: &str) {
        let writes = self.lose_power(device);
        self.abandon(device, why);
        self.log(device, Fault::Gone { writes });
    }

    /// Makes all writes fail for lack of space, or succeed again.
    pub fn set_full(&mut self, device: DeviceIndex, full: bool) {
        self.device_mut(device).full = full;
        self.log(device, Fault::Full(full));
    }

    /// Makes the device take `factor` times as long for later I/Os; 1 is normal.
    pub fn set_slow(&mut self, device: DeviceIndex, factor: u32) {
        self.device_mut(device).factor = factor;
        self.log(device, Fault::Slow { factor });
    }

    pub(super) fn log(&mut self, device: DeviceIndex, fault: Fault) {
        self.injected.push(Injected { now_ns: self.now_ns, device, fault });
    }

    /// Injects the faults at rest that occur before `io` is done.
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
        if happens(&mut self.faults, rates.erased_per_million)
            && let Some(first) = self.draw_block(io)
        {
            let most = MOST_ERASED_BLOCKS.min(self.size_bytes(io.device) / BLOCK - first);
            let blocks = 1 + self.faults.below(most);
            self.erase(io.device, first * BLOCK, blocks * BLOCK);
        }
    }

    /// Returns where a write lands, or `None` if it is lost.
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
        // A write that fills the device cannot land elsewhere.
        let misdirected = places > 0 && std::mem::take(&mut device.misdirect_next);
        if misdirected || (places > 0 && happens(&mut self.faults, rates.misdirected_per_million)) {
            // Draw one of the other places: skip the correct one.
            let place = self.faults.below(places);
            let landed_at = (place + u64::from(place >= offset / BLOCK)) * BLOCK;
            self.log(io.device, Fault::Misdirected { id, offset, bytes, landed_at });
            return Some(landed_at);
        }
        Some(offset)
    }

    /// Draws a block that `io` reads or, just as often, any written block.
    fn draw_block(&mut self, io: &Io) -> Option<u64> {
        if let IoRequest::Read { offset, into } = &io.request
            && self.faults.below(2) == 0
        {
            return Some(offset / BLOCK + self.faults.below(into.blocks() as u64));
        }
        self.devices[usize::from(io.device.0)].disk.draw_written_block(&mut self.faults)
    }
}
