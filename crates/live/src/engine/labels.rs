//! The labels while an array runs: which spindles it has, written to all that are there before it relies on it.

use strewn_raid::SpindleIndex;

use crate::device::{BLOCK_BYTES, DeviceIndex, Done, Io, IoError, IoId, Request};
use crate::format::{DeviceKind, Identity, Label, Member, MemberState};

/// Labels that are written when they change.
pub(super) struct LabelWrites {
    /// As the log has it.
    label: Label,
    /// Blocks of each spindle in use: its second copy is the last.
    is_changed: bool,
    under_way: usize,
    next_io: u64,
}

impl LabelWrites {
    pub(super) fn new(label: Label) -> Self {
        Self { label, is_changed: false, under_way: 0, next_io: 0 }
    }

    pub(super) fn label(&self) -> &Label {
        &self.label
    }

    /// Whether all labels say what they should.
    pub(super) fn is_idle(&self) -> bool {
        !self.is_changed && self.under_way == 0
    }

    pub(super) fn rebuilding(&self) -> impl Iterator<Item = SpindleIndex> + '_ {
        let members = (0..).map(SpindleIndex).zip(&self.label.members);
        members
            .filter(|(_, member)| member.state == MemberState::Rebuilding)
            .map(|(spindle, _)| spindle)
    }

    /// Notes how a spindle is; whether that is new.
    pub(super) fn set_state(&mut self, spindle: SpindleIndex, state: MemberState) -> bool {
        let member: &mut Member = &mut self.label.members[spindle.index()];
        if member.state == state {
            return false;
        }
        member.state = state;
        self.is_changed = true;
        true
    }

    /// The writes of changed labels: both copies on every spindle that did not fail, and on the log.
    pub(super) fn take_ios(&mut self, ios: &mut Vec<Io>) {
        if !self.is_changed || self.under_way > 0 {
            return;
        }
        self.is_changed = false;
        // One at a time: a device that lacks more than the last change is taken for one that was away.
        self.label.sequence += 1;
        let spindles = self.label.members.len() as u16;
        let log = self.label.log.map(|log| (spindles, DeviceKind::Log, 0, log));
        let there = (0..spindles).zip(&self.label.members).filter_map(|(position, member)| {
            (member.state != MemberState::Failed).then_some((
                position,
                DeviceKind::Spindle,
                position,
                member.identity,
            ))
        });
        let places: Vec<(u16, DeviceKind, u16, Identity)> = there.chain(log).collect();
        for (device, kind, position, own) in places {
            let device_blocks = match kind {
                DeviceKind::Spindle => self.label.device_blocks,
                DeviceKind::Log => self.log_blocks(),
            };
            let label = Label { kind, position, own, device_blocks, ..self.label.clone() };
            // One that cannot be encoded could not have been made.
            let Ok(from) = label.encode() else { continue };
            for block in [0, device_blocks - 1] {
                let request = Request::Write {
                    offset: block * BLOCK_BYTES as u64,
                    from: from.clone(),
                    durable: true,
                };
                let id = IoId(self.next_io);
                self.next_io += 1;
                self.under_way += 1;
                ios.push(Io { id, device: DeviceIndex(device), request });
            }
        }
    }

    fn log_blocks(&self) -> u64 {
        let Label { log_half_blocks, redo_half_blocks, .. } = self.label;
        crate::format::LogLayout { redo_half_blocks, half_blocks: log_half_blocks }.device_blocks()
    }

    /// A label is written; or it is not, and then the spindle it was for is lost.
    pub(super) fn done(&mut self, done: Done) -> Option<SpindleIndex> {
        self.under_way -= 1;
        let failed = matches!(done.result, Err(IoError::Gone(_) | IoError::NoSpace));
        let is_spindle = usize::from(done.device.0) < self.label.members.len();
        (failed && is_spindle).then_some(SpindleIndex(done.device.0))
    }
}
