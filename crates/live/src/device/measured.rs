//! Measures devices: their I/Os, and how much of the time they are busy.

use std::time::Duration;

use rustc_hash::FxHashMap;

use super::{DeviceIndex, Devices, Io, IoCompletion, IoId, Waker};

/// Counts and times the I/Os of devices, at the cost of two clock readings per call and one map entry per I/O.
///
/// The duration of each I/O, from [`submit`](Devices::submit) to the `wait` that returned it, and the number in
/// flight over time are recorded separately, so that Little's law can check one against the other.
#[derive(Debug)]
pub struct Measured<D> {
    devices: D,
    /// For each I/O in flight, when it was submitted, and to which device.
    under_way: FxHashMap<IoId, (u64, DeviceIndex)>,
    each: Vec<State>,
}

/// What a device did between two samples. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceMeasures {
    /// Completed I/Os: reads, writes and flushes.
    pub ios: u64,
    /// Reads submitted.
    pub reads: u64,
    /// Bytes that they read.
    pub read_bytes: u64,
    /// Writes submitted.
    pub writes: u64,
    /// Bytes that they wrote.
    pub written_bytes: u64,
    /// Time with at least one I/O in flight.
    pub busy_ns: u64,
    /// The durations of the completed I/Os, summed.
    pub residence_ns: u64,
    /// Age at the previous sample of the I/Os then in flight, summed.
    pub under_way_before_ns: u64,
    /// Age at this sample of the I/Os in flight, summed.
    pub under_way_after_ns: u64,
    /// The number in flight, integrated over time.
    pub depth_ns: u64,
}

impl DeviceMeasures {
    /// Returns the error of Little's law between two samples: the relative difference between the number in flight
    /// over time and the durations of the I/Os. It is 0 unless the counting is wrong.
    #[must_use]
    pub fn littles_law_error(&self) -> f64 {
        if self.depth_ns == 0 {
            return 0.0;
        }
        let within = self.residence_ns as f64 + self.under_way_after_ns as f64
            - self.under_way_before_ns as f64;
        (within / self.depth_ns as f64 - 1.0).abs()
    }
}

#[derive(Debug, Default)]
struct State {
    under_way: u64,
    /// Time up to which `counted` is complete.
    counted_to_ns: u64,
    counted: DeviceMeasures,
}

impl State {
    fn count_to(&mut self, now_ns: u64) {
        let passed_ns = now_ns - self.counted_to_ns;
        self.counted_to_ns = now_ns;
        if self.under_way > 0 {
            self.counted.busy_ns += passed_ns;
            self.counted.depth_ns += self.under_way * passed_ns;
        }
    }
}

impl<D: Devices> Measured<D> {
    /// Measures `devices` from now on.
    pub fn new(devices: D) -> Self {
        let now_ns = devices.now_ns();
        let state = || State { counted_to_ns: now_ns, ..State::default() };
        let each = (0..devices.count()).map(|_| state()).collect();
        Self { devices, under_way: FxHashMap::default(), each }
    }

    /// Returns what each device did since the last call, by device number.
    pub fn look(&mut self) -> Vec<DeviceMeasures> {
        let now_ns = self.devices.now_ns();
        let mut waited_ns = vec![0; self.each.len()];
        for (submitted_ns, device) in self.under_way.values() {
            waited_ns[usize::from(device.0)] += now_ns - submitted_ns;
        }
        let looked = self.each.iter_mut().zip(waited_ns).map(|(state, waited_ns)| {
            state.count_to(now_ns);
            let fresh =
                DeviceMeasures { under_way_before_ns: waited_ns, ..DeviceMeasures::default() };
            let counted = std::mem::replace(&mut state.counted, fresh);
            DeviceMeasures { under_way_after_ns: waited_ns, ..counted }
        });
        looked.collect()
    }

    /// Returns the measured devices.
    #[must_use]
    pub fn inner(&self) -> &D {
        &self.devices
    }
}

impl<D: Devices> Devices for Measured<D> {
    type Replacement = D::Replacement;

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
        let now_ns = self.devices.now_ns();
        let state = &mut self.each[usize::from(io.device.0)];
        state.count_to(now_ns);
        state.under_way += 1;
        if let Some((_, bytes)) = io.extent() {
            if let super::IoRequest::Read { .. } = io.request {
                state.counted.reads += 1;
                state.counted.read_bytes += bytes;
            } else {
                state.counted.writes += 1;
                state.counted.written_bytes += bytes;
            }
        }
        self.under_way.insert(io.id, (now_ns, io.device));
        self.devices.submit(io);
    }

    fn wait(&mut self, timeout: Option<Duration>, done: &mut Vec<IoCompletion>) {
        let before = done.len();
        self.devices.wait(timeout, done);
        if done.len() == before {
            return;
        }
        let now_ns = self.devices.now_ns();
        for one in &done[before..] {
            let Some((submitted_ns, device)) = self.under_way.remove(&one.id) else { continue };
            let state = &mut self.each[usize::from(device.0)];
            state.count_to(now_ns);
            state.under_way -= 1;
            state.counted.ios += 1;
            state.counted.residence_ns += now_ns - submitted_ns;
        }
    }

    fn waker(&self) -> Waker {
        self.devices.waker()
    }

    fn close(&mut self, device: DeviceIndex) {
        self.devices.close(device);
    }

    fn replace(&mut self, device: DeviceIndex, by: Self::Replacement) {
        self.devices.replace(device, by);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BLOCK_BYTES, Buffer, IoRequest, SimulatedDevices};
    use super::*;

    #[test]
    fn what_ios_take_is_what_is_under_way_over_time() {
        let mut devices = Measured::new(SimulatedDevices::zeroed(1, 2, 64 * BLOCK_BYTES as u64));
        let mut done = Vec::new();
        let mut all = DeviceMeasures::default();
        for id in 0..200 {
            let request = IoRequest::Read { offset: 0, into: Buffer::zeroed(1) };
            devices.submit(Io { id: IoId(id), device: DeviceIndex(0), request });
            if id % 3 == 0 {
                devices.wait(None, &mut done);
            }
            // Sample with some I/Os in flight.
            if id % 50 == 7 {
                let looked = devices.look();
                assert!(looked[0].littles_law_error() < 1e-9, "{looked:?}");
                assert!(looked[0].busy_ns <= looked[0].depth_ns);
                assert_eq!(looked[1], DeviceMeasures::default());
                all.ios += looked[0].ios;
            }
        }
        while done.len() < 200 {
            devices.wait(None, &mut done);
        }
        let last = devices.look()[0];
        assert_eq!(last.under_way_after_ns, 0);
        assert_eq!(all.ios + last.ios, 200);
        assert_eq!((last.writes, last.written_bytes), (0, 0));
        assert_eq!(last.read_bytes, last.reads * BLOCK_BYTES as u64);
    }
}
