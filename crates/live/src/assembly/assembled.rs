//! An array's devices, open and found to belong together, and the labels that identify its members.

use super::device_label;
use super::error::{AssemblyError, ChangeError};
use super::problem::DeviceProblem;
use crate::Configuration;
use crate::device::DeviceFile;
use crate::format::{DeviceKind, Label, Member, MemberState, Superblock};

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
    /// The log device.
    pub log: DeviceFile,
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
    /// Returns the array's label as written to one device: the spindle at a position, or the log for `None`.
    #[must_use]
    pub fn label_of(&self, position: Option<u16>) -> Label {
        let label = self.label.clone();
        match position {
            Some(position) => Label {
                own: label.members[usize::from(position)].identity,
                position,
                kind: DeviceKind::Spindle,
                device_blocks: self.configuration.spindle_device_blocks(),
                ..label
            },
            None => Label {
                own: label.log.unwrap_or(label.own),
                position: 0,
                kind: DeviceKind::Log,
                device_blocks: self.configuration.log_layout().device_blocks(),
                ..label
            },
        }
    }

    /// Changes the states of members, raises the label's sequence, and writes the label durably to the log and to all
    /// open spindles that did not fail. Spindles that are not open are marked as failed: they miss this change, and
    /// must not be trusted when they return.
    ///
    /// # Errors
    /// If a device cannot be written. If it is a spindle, all others are still written; close it and mark it as
    /// failed by another change. If it is the log, nothing else is written.
    pub fn change_members(
        &mut self,
        change: impl FnOnce(&mut [Member]),
    ) -> Result<(), AssemblyError> {
        let before = self.label.clone();
        self.label.sequence += 1;
        change(&mut self.label.members);
        for (member, spindle) in self.label.members.iter_mut().zip(&self.spindles) {
            if spindle.is_none() {
                member.state = MemberState::Failed;
            }
        }
        if let Err(error) = device_label::write(&self.log, &self.label_of(None)) {
            self.label = before;
            return Err(error);
        }
        // A label that lacks two changes is not trusted, so each change must be on all devices before the next.
        let mut written = Ok(());
        for position in 0..self.spindles.len() as u16 {
            let this = self.write_label(position);
            written = written.and(this);
        }
        written
    }

    /// Writes the label to a spindle, if it is open and did not fail.
    fn write_label(&self, position: u16) -> Result<(), AssemblyError> {
        let at = usize::from(position);
        match &self.spindles[at] {
            Some(device) if self.label.members[at].state != MemberState::Failed => {
                device_label::write(device, &self.label_of(Some(position)))
            }
            _ => Ok(()),
        }
    }

    /// Completes a change of membership that was interrupted: writes the label to the devices that lack it, given as
    /// spindle positions, or `None` for the log.
    pub(super) fn complete(&self, stale: &[Option<u16>]) -> Result<(), AssemblyError> {
        stale.iter().try_for_each(|device| match device {
            Some(position) => self.write_label(*position),
            None => device_label::write(&self.log, &self.label_of(None)),
        })
    }

    /// Records in the labels that the array starts with these devices: completes an interrupted change, marks missing
    /// spindles as failed, and raises the sequence twice.
    pub(super) fn begin(&mut self, stale: &[Option<u16>]) -> Result<(), AssemblyError> {
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
    pub(super) fn check_redundancy_without(&self, position: u16) -> Result<(), ChangeError> {
        let spindles = self.spindles.len() as u16;
        if position >= spindles {
            return Err(ChangeError::NoSuchSpindle { position, spindles });
        }
        let mut lost = self.lost();
        lost.retain(|other| *other != position);
        if lost.len() >= usize::from(self.configuration.redundancy()) {
            let layout = self.configuration.layout_name();
            return Err(ChangeError::Redundancy { position, lost, layout });
        }
        Ok(())
    }
}
