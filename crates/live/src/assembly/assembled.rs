//! An array's devices, open and found to belong together, and the labels that say who its members are.

use super::device_label;
use super::error::{AssemblyError, ChangeError};
use super::problem::DeviceProblem;
use crate::Configuration;
use crate::device::DeviceFile;
use crate::format::{DeviceKind, Label, Member, MemberState, Superblock};

/// How an array is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpenOptions {
    /// Whether to start without some of the spindles, as long as redundancy makes them good.
    pub degraded: bool,
    /// Whether the devices are only read: several may do so at a time, and nobody may write meanwhile.
    pub read_only: bool,
}

/// An array's devices, open, locked, and found to belong together.
#[derive(Debug)]
pub struct AssembledArray {
    /// The newest label of the array. What it says of a single device (`own`, `position`, `kind`, `device_blocks`) is
    /// that of the device that it came from.
    pub label: Label,
    /// How the array is made.
    pub configuration: Configuration,
    /// The spindles by position. Nothing where there is none to start with: missing, failed, or not to be relied upon. One
    /// that is rebuilding is here, and the label's state says so.
    pub spindles: Vec<Option<DeviceFile>>,
    /// The log device.
    pub log: DeviceFile,
    /// The newest good superblock of the array, over all spindles that it starts with; that of an array that
    /// was never started has number 0. Nothing only if all of them are damaged.
    pub superblock: Option<Superblock>,
    /// What is wrong, in spite of which it starts.
    pub problems: Vec<DeviceProblem>,
}

impl AssembledArray {
    /// Positions whose spindle is not there to be read: not open, or not to be read, as its state says. One that is
    /// rebuilding is among them.
    #[must_use]
    pub fn lost(&self) -> Vec<u16> {
        let is_lost = |position: &u16| {
            let position = usize::from(*position);
            self.spindles[position].is_none()
                || self.label.members[position].state != MemberState::Present
        };
        // At most 64 spindles.
        (0..self.spindles.len() as u16).filter(is_lost).collect()
    }
}

impl AssembledArray {
    /// What the array's label says, as that of one of its devices: of the spindle at a position, or of the log.
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

    /// Raises the label's sequence, with these states of members, and writes it to the log and to all spindles that are
    /// open and not failed by it. Spindles that are not open are marked as failed: they do not learn of it, and are not to
    /// be taken for whole when they come back. Durable when this returns.
    ///
    /// # Errors
    /// If a device cannot be written. If it is a spindle all others are written all the same: it is to be closed and
    /// failed by another change. If it is the log nothing else is written.
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
        // A label that lacks two changes is not relied upon: each must be on all devices before the next one.
        let mut written = Ok(());
        for position in 0..self.spindles.len() as u16 {
            let this = self.write_label(position);
            written = written.and(this);
        }
        written
    }

    /// Writes the label as it is to a spindle, if that is open and not failed.
    fn write_label(&self, position: u16) -> Result<(), AssemblyError> {
        let at = usize::from(position);
        match &self.spindles[at] {
            Some(device) if self.label.members[at].state != MemberState::Failed => {
                device_label::write(device, &self.label_of(Some(position)))
            }
            _ => Ok(()),
        }
    }

    /// Completes a change of membership that was cut off: writes the label as it is to devices that lack it, spindles by
    /// position and the log as none.
    pub(super) fn complete(&self, stale: &[Option<u16>]) -> Result<(), AssemblyError> {
        stale.iter().try_for_each(|device| match device {
            Some(position) => self.write_label(*position),
            None => device_label::write(&self.log, &self.label_of(None)),
        })
    }

    /// Has the labels say that the array is started with these devices: completes what was cut off, marks who is not there as
    /// failed, and raises the sequence twice.
    pub(super) fn begin(&mut self, stale: &[Option<u16>]) -> Result<(), AssemblyError> {
        self.complete(stale)?;
        for _ in 0..2 {
            self.change_members(|_| ())?;
        }
        Ok(())
    }

    /// Refuses to go on without spindles of which the labels do not know yet that they are lost, but for one.
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

    /// Whether the array could do without the spindle at `position` as well.
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
