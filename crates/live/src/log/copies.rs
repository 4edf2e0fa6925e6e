//! The devices that the log is on: one, or two with the same records at the same places.

use crate::device::{DeviceIndex, IoId};
use crate::format::MIRRORED_LOGS;

/// A set of the log's devices, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CopySet(u8);

impl CopySet {
    pub(super) const EMPTY: Self = Self(0);

    pub(super) fn insert(&mut self, copy: usize) {
        self.0 |= 1 << copy;
    }

    pub(super) fn remove(&mut self, copy: usize) {
        self.0 &= !(1 << copy);
    }

    pub(super) fn contains(self, copy: usize) -> bool {
        self.0 & 1 << copy != 0
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CopyState {
    Working,
    /// It has failed, and the labels may not say so yet: what only the others have must not count as durable, because
    /// a restart would trust this one.
    Failing,
    /// It has failed, and the labels say so.
    Failed,
}

/// The devices of a running log.
#[derive(Debug)]
pub(super) struct Copies {
    all: Vec<(DeviceIndex, CopyState)>,
    /// Groups sent so far.
    groups: u64,
}

impl Copies {
    pub(super) fn new(devices: &[DeviceIndex]) -> Self {
        assert!((1..=MIRRORED_LOGS).contains(&devices.len()), "{} log devices", devices.len());
        Self {
            all: devices.iter().map(|device| (*device, CopyState::Working)).collect(),
            groups: 0,
        }
    }

    /// Returns the number of the next group.
    pub(super) fn next_group(&mut self) -> u64 {
        self.groups += 1;
        self.groups - 1
    }

    /// Returns the id of the write of a group to one of the devices.
    pub(super) fn io(group: u64, copy: usize) -> IoId {
        IoId(group * MIRRORED_LOGS as u64 + copy as u64)
    }

    /// Returns the group and the device of a write.
    pub(super) fn of_io(id: IoId) -> (u64, usize) {
        let copies = MIRRORED_LOGS as u64;
        (id.0 / copies, (id.0 % copies) as usize)
    }

    /// Returns the devices that take records.
    pub(super) fn working(&self) -> impl Iterator<Item = (usize, DeviceIndex)> {
        let all = self.all.iter().enumerate();
        all.filter(|(_, (_, state))| *state == CopyState::Working)
            .map(|(copy, (device, _))| (copy, *device))
    }

    /// Returns the devices without which a record does not count as durable.
    pub(super) fn needed(&self) -> CopySet {
        let mut needed = CopySet::EMPTY;
        for (copy, (_, state)) in self.all.iter().enumerate() {
            if *state != CopyState::Failed {
                needed.insert(copy);
            }
        }
        needed
    }

    /// Notes that a device has failed; returns false if no other one works.
    pub(super) fn fail(&mut self, failed: DeviceIndex) -> bool {
        if !self.working().any(|(_, device)| device != failed) {
            return false;
        }
        for (_, state) in self.all.iter_mut().filter(|(device, _)| *device == failed) {
            if *state == CopyState::Working {
                *state = CopyState::Failing;
            }
        }
        true
    }

    /// Returns the device whose failure is not known to be in the labels.
    pub(super) fn failing(&self) -> Option<DeviceIndex> {
        let mut all = self.all.iter();
        all.find(|(_, state)| *state == CopyState::Failing).map(|(device, _)| *device)
    }

    /// Notes that the labels say that the failing device has failed, and returns it.
    pub(super) fn failure_recorded(&mut self) -> Option<usize> {
        let copy = self.all.iter().position(|(_, state)| *state == CopyState::Failing)?;
        self.all[copy].1 = CopyState::Failed;
        Some(copy)
    }
}
