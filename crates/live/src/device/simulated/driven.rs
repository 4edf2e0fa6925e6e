//! Simulated devices behind the interface that every driver uses.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::super::{DeviceIndex, Devices, Io, IoCompletion, Waker};
use super::{Device, SimulatedDevices, SimulatedDisk, UnderWay};

impl Devices for SimulatedDevices {
    type Replacement = SimulatedDisk;

    fn count(&self) -> u16 {
        // The constructor has checked that the count fits.
        self.devices.len() as u16
    }

    fn size_bytes(&self, device: DeviceIndex) -> u64 {
        self.disk(device).size_bytes()
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn submit(&mut self, io: Io) {
        io.assert_within(self.size_bytes(io.device));
        let device = &mut self.devices[usize::from(io.device.0)];
        let done_ns = if device.gone.is_some() {
            self.now_ns
        } else {
            let service_ns = device.latency.draw(&io.request, &mut self.service);
            let service_ns = service_ns.saturating_mul(u64::from(device.factor));
            device.service_slots.occupy(device.latency.at_once, self.now_ns, service_ns)
        };
        let (generation, flush_mark) = (device.generation, device.disk.flush_mark());
        self.submitted += 1;
        let under_way = UnderWay { io, generation, flush_mark };
        self.under_way.insert((done_ns, self.submitted), under_way);
    }

    /// Advances time to the next completion, or by `timeout` if none comes before. With nothing in flight and no
    /// timeout it returns at once, where real devices would wait to be woken.
    fn wait(&mut self, timeout: Option<Duration>, done: &mut Vec<IoCompletion>) {
        let nanoseconds = |timeout: Duration| u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        let mut until_ns = timeout.map(|timeout| self.now_ns.saturating_add(nanoseconds(timeout)));
        if self.woken.swap(false, Ordering::AcqRel) {
            until_ns = Some(self.now_ns);
        }
        match self.next_ns() {
            Some(next_ns) if until_ns.is_none_or(|until_ns| next_ns <= until_ns) => {
                self.advance_to(next_ns);
                while self.next_ns().is_some_and(|next_ns| next_ns <= self.now_ns) {
                    done.extend(self.step());
                }
            }
            _ => self.advance_to(until_ns.unwrap_or(0)),
        }
    }

    fn waker(&self) -> Waker {
        let woken = Arc::clone(&self.woken);
        Waker::new(move || woken.store(true, Ordering::Release))
    }

    /// Closes a device. The disk keeps its contents; I/Os in flight do not happen.
    fn close(&mut self, device: DeviceIndex) {
        self.abandon(device, "closed");
    }

    /// Replaces a device. The new one has none of the old one's faults, and keeps its latency settings.
    fn replace(&mut self, device: DeviceIndex, by: SimulatedDisk) {
        self.abandon(device, "replaced");
        let of_device = self.device_mut(device);
        let (latency, generation) = (of_device.latency, of_device.generation);
        *of_device = Device { latency, generation, ..Device::new(by) };
    }
}

impl Clone for SimulatedDevices {
    fn clone(&self) -> Self {
        Self {
            devices: self.devices.clone(),
            under_way: self.under_way.clone(),
            submitted: self.submitted,
            now_ns: self.now_ns,
            service: self.service.clone(),
            faults: self.faults.clone(),
            crashes: self.crashes.clone(),
            injected: self.injected.clone(),
            // A wake-up belongs to the original, whose waker was used.
            woken: Arc::default(),
        }
    }
}
