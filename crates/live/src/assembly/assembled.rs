//! An array's devices, open and found to belong together, and the labels that identify its members.

use super::device_label;
use super::error::{AssemblyError, MembershipError};
use super::problem::{DeviceProblem, DeviceProblemKind};
use crate::Configuration;
use crate::device::DeviceFile;
use crate::format::{DeviceRole, Label, Member, MemberState, Superblock};

/// How an array is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpenOptions {
    /// Whether to open the array degraded, if redundancy covers the missing spindles.
    pub degraded: bool,
    /// Whether to open the devices read-only. Several processes may read at a time, but none may write meanwhile.
    pub read_only: bool,
}

/// An array's devices: open, locked, and found to belong together.
#[derive(Debug)]
pub struct AssembledArray {
    /// The newest label of the array. Its `own`, `position`, `kind` and `device_blocks` are those of the device that
    /// it was read from.
    pub label: Label,
    /// The configuration of the array.
    pub configuration: Configuration,
    /// The spindles by position. `None` if a spindle is missing, failed or unreliable. A spindle that is being
    /// rebuilt is present, and the label says so.
    pub spindles: Vec<Option<DeviceFile>>,
    /// The devices of the log: at least one of them is not `None`.
    pub logs: Vec<Option<DeviceFile>>,
    /// The newest valid superblock on these spindles; number 0 if the array was never started. `None` if all are
    /// damaged.
    pub superblock: Option<Superblock>,
    /// Problems that do not keep the array from starting.
    pub problems: Vec<DeviceProblem>,
}

impl AssembledArray {
    /// Returns the positions whose spindles cannot be read: missing, failed, or being rebuilt.
    #[must_use]
    pub fn lost(&self) -> Vec<u16> {
        let is_lost = |position: &u16| {
            let position = usize::from(*position);
            self.spindles[position].is_none()
                || self.label.members[position].state != MemberState::Present
        };
        // There are at most 64 spindles.
        (0..self.spindles.len() as u16).filter(is_lost).collect()
    }
}

impl AssembledArray {
    /// Returns the devices in the order of [`DeviceIndex`](crate::device::DeviceIndex): the spindles, then those of the
    /// log.
    pub fn into_devices(self) -> impl Iterator<Item = Option<DeviceFile>> {
        self.spindles.into_iter().chain(self.logs)
    }

    /// Returns all open devices, the log's last.
    pub fn open_devices(&self) -> impl Iterator<Item = &DeviceFile> {
        self.spindles.iter().chain(&self.logs).flatten()
    }

    /// Returns the array's label as written to one device.
    #[must_use]
    pub fn label_of(&self, role: DeviceRole) -> Label {
        match role {
            // The label may be the log's, whose size is another.
            DeviceRole::Spindle(position) => Label {
                device_blocks: self.configuration.device_blocks_of(position),
                ..self
                    .label
                    .of_spindle(position, self.label.members[usize::from(position)].identity)
            },
            // At most two devices.
            role => self.label.of_log(role.index() as u16),
        }
    }

    /// Changes the states of members, raises the label's sequence, and writes the label durably to the log and to all
    /// open spindles that did not fail. Devices that are not open are marked as failed: they miss this change, and
    /// must not be trusted when they return. A device of a mirrored log that cannot be written is closed and marked as
    /// failed too.
    ///
    /// # Errors
    /// If a device cannot be written. If it is a spindle, all others are still written; close it and mark it as
    /// failed by another change. If it is all of the log, nothing else is written.
    pub fn change_members(
        &mut self,
        change: impl FnOnce(&mut [Member]),
    ) -> Result<(), AssemblyError> {
        let before = self.label.clone();
        change(&mut self.label.members);
        self.write_change(before)
    }

    /// Raises the label's sequence, and writes a change from the label `before`.
    fn write_change(&mut self, before: Label) -> Result<(), AssemblyError> {
        self.label.sequence += 1;
        for (member, spindle) in self.label.members.iter_mut().zip(&self.spindles) {
            if spindle.is_none() {
                member.state = MemberState::Failed;
            }
        }
        for (log, device) in self.label.logs.iter_mut().zip(&self.logs) {
            if device.is_none() {
                log.state = MemberState::Failed;
            }
        }
        let lost_logs = match self.write_log_labels() {
            Ok(lost) => lost,
            Err(error) => {
                self.label = before;
                return Err(error);
            }
        };
        // A label that lacks two changes is not trusted, so each change must be on all devices before the next.
        let mut written = Ok(());
        for position in 0..self.spindles.len() as u16 {
            let this = self.write_label(position);
            written = written.and(this);
        }
        // The label of this change is on all other devices, and says that the device is present.
        for (position, error) in lost_logs {
            let kind = DeviceProblemKind::Unreadable(error.to_string());
            let path = self.logs[position].take().map(|device| device.path().to_owned());
            let role = Some(self.label.log_role(position as u16));
            self.problems.push(DeviceProblem { path, role, kind });
            let change = self.write_change(self.label.clone());
            written = written.and(change);
        }
        written
    }

    /// Writes the label to the open devices of the log, and returns those of a mirrored log that cannot be written.
    ///
    /// # Errors
    /// If none can be written.
    fn write_log_labels(&self) -> Result<Vec<(usize, AssemblyError)>, AssemblyError> {
        let mut failed = Vec::new();
        let mut any = false;
        for (position, device) in self.logs.iter().enumerate() {
            let Some(device) = device else { continue };
            // At most two devices.
            match device_label::write(device, &self.label.of_log(position as u16)) {
                Ok(()) => any = true,
                Err(error) => failed.push((position, error)),
            }
        }
        match failed.pop() {
            Some((_, error)) if !any => Err(error),
            last => Ok(last.into_iter().collect()),
        }
    }

    /// Writes the label to a spindle, if it is open and did not fail.
    fn write_label(&self, position: u16) -> Result<(), AssemblyError> {
        let at = usize::from(position);
        match &self.spindles[at] {
            Some(device) if self.label.members[at].state != MemberState::Failed => {
                device_label::write(device, &self.label_of(DeviceRole::Spindle(position)))
            }
            _ => Ok(()),
        }
    }

    /// Completes a change of membership that was interrupted: writes the label to the devices that lack it.
    pub(super) fn complete(&self, stale: &[DeviceRole]) -> Result<(), AssemblyError> {
        stale.iter().try_for_each(|role| match (role, self.logs.get(role.index())) {
            (DeviceRole::Spindle(position), _) => self.write_label(*position),
            (role, Some(Some(device))) => device_label::write(device, &self.label_of(*role)),
            _ => Ok(()),
        })
    }

    /// Records in the labels that the array starts with these devices: completes an interrupted change, marks missing
    /// devices as failed, and raises the sequence twice.
    pub(super) fn begin(&mut self, stale: &[DeviceRole]) -> Result<(), AssemblyError> {
        self.complete(stale)?;
        for _ in 0..2 {
            self.change_members(|_| ())?;
        }
        Ok(())
    }

    /// Fails if spindles other than `position` are missing that the labels do not mark as failed.
    pub(super) fn check_others_present(&self, position: u16) -> Result<(), AssemblyError> {
        let members = (0..).zip(self.label.members.iter().zip(&self.spindles));
        let mut unknown = members.filter(|(at, (member, spindle))| {
            *at != position && spindle.is_none() && member.state != MemberState::Failed
        });
        match unknown.next() {
            None => Ok(()),
            Some(_) => Err(AssemblyError::Degraded {
                usable: self.spindles.len() - self.lost().len(),
                problems: self.problems.clone(),
            }),
        }
    }

    /// Checks that the array can also do without the spindle at `position`.
    ///
    /// # Errors
    /// If there is no such spindle, or too many are lost already.
    pub(super) fn check_redundancy_without(&self, position: u16) -> Result<(), MembershipError> {
        let spindles = self.spindles.len() as u16;
        if position >= spindles {
            return Err(MembershipError::NoSuchSpindle { position, spindles });
        }
        let mut lost = self.lost();
        lost.retain(|other| *other != position);
        let group = self.configuration.group_of(position);
        lost.retain(|other| group.spindles.contains(other));
        if lost.len() >= usize::from(group.redundancy()) {
            return Err(MembershipError::Redundancy { position, lost, layout: group.layout });
        }
        Ok(())
    }
}
