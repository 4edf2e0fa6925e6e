//! The labels of a running array, which identify its members. A change is on every device before the array relies on
//! it.

use strewn_raid::SpindleIndex;

use crate::device::{BLOCK_BYTES, Buffer, DeviceIndex, Io, IoCompletion, IoError, IoId, IoRequest};
use crate::format::{Label, Member, MemberState};

/// Writes labels when they change.
pub(super) struct LabelWriter {
    /// The label of a spindle.
    label: Label,
    is_changed: bool,
    /// First copies, written once all second copies are. At any moment one of a device's two copies is valid.
    first_copies: Vec<(DeviceIndex, Buffer)>,
    in_flight: usize,
    next_io: u64,
}

impl LabelWriter {
    pub(super) fn new(label: Label) -> Self {
        Self { label, is_changed: false, first_copies: Vec::new(), in_flight: 0, next_io: 0 }
    }

    pub(super) fn label(&self) -> &Label {
        &self.label
    }

    /// Returns whether all labels on all devices are up to date.
    pub(super) fn is_idle(&self) -> bool {
        !self.is_changed && self.first_copies.is_empty() && self.in_flight == 0
    }

    /// Returns the spindles that are being rebuilt.
    pub(super) fn rebuilding(&self) -> impl Iterator<Item = SpindleIndex> {
        let members = (0..).map(SpindleIndex).zip(&self.label.members);
        members.filter(|(_, one)| one.state == MemberState::Rebuilding).map(|(spindle, _)| spindle)
    }

    /// Sets the state of a spindle; returns false if it already has that state.
    pub(super) fn set_state(&mut self, spindle: SpindleIndex, state: MemberState) -> bool {
        let member: &mut Member = &mut self.label.members[spindle.index()];
        if member.state == state {
            return false;
        }
        member.state = state;
        self.is_changed = true;
        if state == MemberState::Failed {
            // By the time of the write, a replacement may have taken the failed device's place.
            self.first_copies.retain(|(device, _)| device.0 != spindle.0);
        }
        true
    }

    /// Marks the device of a mirrored log as failed; returns false if it already is.
    pub(super) fn fail_log(&mut self, device: DeviceIndex) -> bool {
        let position = usize::from(device.0) - self.label.members.len();
        let log = &mut self.label.logs[position];
        if log.state == MemberState::Failed {
            return false;
        }
        log.state = MemberState::Failed;
        self.is_changed = true;
        self.first_copies.retain(|(other, _)| *other != device);
        true
    }

    /// Appends the writes of changed labels: both copies, one after the other, on every spindle and every
    /// device of the log that did not fail.
    pub(super) fn take_ios(&mut self, ios: &mut Vec<Io>) {
        if self.in_flight > 0 {
            return;
        }
        for (device, copy) in std::mem::take(&mut self.first_copies) {
            self.write(device, 0, copy, ios);
        }
        if !self.is_changed || self.in_flight > 0 {
            return;
        }
        self.is_changed = false;
        // One change at a time, each with its own number: a device that lacks more than the last change counts as one
        // that was away.
        self.label.sequence += 1;
        for (device, label) in self.label.of_devices() {
            let device_blocks = label.device_blocks;
            // A label that cannot be encoded could not have been created.
            let Ok(from) = label.encode() else { continue };
            self.first_copies.push((device, from.clone()));
            self.write(device, device_blocks - 1, from, ios);
        }
    }

    fn write(&mut self, device: DeviceIndex, block: u64, from: Buffer, ios: &mut Vec<Io>) {
        let request = IoRequest::Write { offset: block * BLOCK_BYTES as u64, from, durable: true };
        let id = IoId(self.next_io);
        self.next_io += 1;
        self.in_flight += 1;
        ios.push(Io { id, device, request });
    }

    /// Handles the completion of a label write. If it failed, returns the device, which is lost.
    pub(super) fn done(&mut self, done: IoCompletion) -> Option<DeviceIndex> {
        assert!(self.in_flight > 0, "a label write comes back once");
        self.in_flight -= 1;
        matches!(done.result, Err(IoError::Gone(_))).then_some(done.device)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{DeviceKind, FORMAT, Identity};

    fn labels() -> LabelWriter {
        let member =
            |number| Member { identity: Identity([number; 16]), state: MemberState::Present };
        LabelWriter::new(Label {
            version: FORMAT,
            incompatible_features: 0,
            compatible_features: 0,
            array: Identity([1; 16]),
            own: Identity([2; 16]),
            position: 0,
            kind: DeviceKind::Spindle,
            sequence: 7,
            device_blocks: 100,
            log_half_blocks: 10,
            redo_half_blocks: 10,
            members: vec![member(2), member(3)],
            groups: Vec::new(),
            logs: Vec::new(),
            configuration: String::new(),
        })
    }

    /// Completes the label writes in flight, and returns their devices and extents.
    fn on_written(labels: &mut LabelWriter) -> Vec<(u16, (u64, u64))> {
        let mut ios = Vec::new();
        labels.take_ios(&mut ios);
        let extents = ios.iter().filter_map(|io| Some((io.device.0, io.extent()?))).collect();
        for io in ios {
            let done = IoCompletion {
                id: io.id,
                device: io.device,
                buffer: Buffer::default(),
                result: Ok(()),
            };
            assert_eq!(labels.done(done), None);
        }
        extents
    }

    #[test]
    fn a_first_copy_is_written_when_all_second_ones_are() {
        let mut labels = labels();
        labels.set_state(SpindleIndex(1), MemberState::Rebuilding);
        assert_eq!(on_written(&mut labels), [(0, (99 * 4096, 4096)), (1, (99 * 4096, 4096))]);
        assert_eq!(on_written(&mut labels), [(0, (0, 4096)), (1, (0, 4096))]);
        assert!(labels.is_idle());
    }

    #[test]
    fn regression_what_takes_the_place_of_a_spindle_does_not_get_its_label() {
        let mut labels = labels();
        labels.set_state(SpindleIndex(1), MemberState::Rebuilding);
        on_written(&mut labels);
        labels.set_state(SpindleIndex(1), MemberState::Failed);
        // The first copies of the previous label, then the second copies of the next.
        assert_eq!(on_written(&mut labels), [(0, (0, 4096))]);
        assert_eq!(on_written(&mut labels), [(0, (99 * 4096, 4096))]);
    }

    #[test]
    fn a_change_of_membership_raises_the_sequence() {
        let mut labels = labels();
        assert!(labels.set_state(SpindleIndex(1), MemberState::Failed));
        assert!(!labels.set_state(SpindleIndex(1), MemberState::Failed));
        assert!(!labels.is_idle());
        let mut ios = Vec::new();
        labels.take_ios(&mut ios);
        assert_eq!((labels.label().sequence, ios.len()), (8, 1));
        // While a label is being written, the next one waits.
        labels.set_state(SpindleIndex(1), MemberState::Rebuilding);
        labels.take_ios(&mut ios);
        assert_eq!((labels.label().sequence, ios.len()), (8, 1));
    }
}
