//! Changes of who belongs to an array.

use std::path::Path;

use crate::format::{DeviceKind, Label, Member, MemberState};

use super::find::{FoundArray, find};
use super::place::{ArrayFile, as_named};
use super::{ArrayLocation, AssembledArray, AssemblyError, ChangeError, OpenOptions, device_label};

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

/// Marks a spindle of an array that nobody has open as failed: what it has is not read again. Gives the new label.
///
/// # Errors
/// If there is no such spindle, it is marked already, redundancy would not make it good, or the array cannot be opened;
/// then nothing is written.
pub fn mark_failed(place: &ArrayLocation, position: u16) -> Result<Label, ChangeError> {
    let options = OpenOptions { degraded: true, read_only: false };
    let FoundArray { mut array, mut stale } = find(place, options)?;
    array.check_redundancy_without(position)?;
    // It may be for this that it fails: that it does not take its label.
    stale.retain(|one| *one != Some(position));
    if array.label.members[usize::from(position)].state == MemberState::Failed {
        return Err(ChangeError::FailedAlready { position });
    }
    array.complete(&stale)?;
    array.change_members(|members| {
        members[usize::from(position)].state = MemberState::Failed;
    })?;
    Ok(array.label)
}

/// Puts `path` into the place of a spindle, or of the log as none, in a directory's `array.toml`, so that it is found by it.
///
/// # Errors
/// If the file cannot be read or written.
pub fn record_device_path(
    directory: &Path,
    position: Option<u16>,
    path: &Path,
) -> Result<(), AssemblyError> {
    let Some(mut file) = ArrayFile::read(directory)? else { return Ok(()) };
    let named = match position {
        Some(position) => file.spindles.get_mut(usize::from(position)),
        None => Some(&mut file.log),
    };
    let Some(named) = named else { return Ok(()) };
    *named = as_named(directory, path);
    file.write(directory)
}
