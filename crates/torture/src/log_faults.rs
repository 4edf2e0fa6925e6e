//! Faults of one device of a mirrored log between two incarnations: nothing acknowledged may be lost.

use std::collections::BTreeSet;

use strewn_base::Rng;

use crate::end::End;
use crate::labels::{identity, write_label};
use crate::rng::SpreadDraws;
use crate::schedule::Schedule;
use strewn_live::device::{BLOCK_BYTES, DeviceIndex, Devices, SimulatedDevices, SimulatedDisk};
use strewn_live::format::{
    ArrayTag, Label, LogLayout, Member, MemberState, RECORD_ALIGNMENT, RECORD_HEADER_BYTES,
    RecordHeader,
};
use strewn_live::restart::newest_superblock;

/// Returns a device of a mirrored log that may have a fault: both must be present, and if one may lack records, only
/// that.
pub(crate) fn breakable_log(
    label: &Label,
    absent: &BTreeSet<DeviceIndex>,
    weak: Option<DeviceIndex>,
    rng: &mut Rng,
) -> Option<DeviceIndex> {
    let logs: Vec<DeviceIndex> = label.present_logs().map(|(_, log)| log).collect();
    let is_breakable = logs.len() > 1 && !logs.iter().any(|log| absent.contains(log));
    is_breakable.then(|| weak.unwrap_or(*rng.pick(&logs)))
}

impl Schedule {
    /// After a crash, may damage one device of a mirrored log, or take it away.
    pub(crate) fn injure_log(&mut self, end: End) -> Result<(), String> {
        if end == End::ShutDown || !self.plan.label.is_log_mirrored() {
            return Ok(());
        }
        let mut devices = SimulatedDevices::new(self.seed, self.disks.clone());
        let Some(label) = self.label(&devices)? else { return Ok(()) };
        let log = breakable_log(&label, &self.absent, self.weak_log, &mut self.rng);
        let Some(log) = log.filter(|_| !self.rng.one_in(4)) else { return Ok(()) };
        let layout = label.log_layout();
        let parts = layout.redo_halves().into_iter().map(|at| (at, layout.redo_half_blocks));
        let parts: Vec<(u64, u64)> =
            parts.chain(layout.halves().into_iter().map(|at| (at, layout.half_blocks))).collect();
        let rng = &mut self.rng;
        let what = match rng.within(0..5) {
            0 => {
                for (offset, blocks) in &parts {
                    devices.erase(log, *offset, blocks * BLOCK_BYTES as u64);
                }
                "is erased"
            }
            1 => {
                let (offset, blocks) = *rng.pick(&parts);
                devices.erase(log, offset, blocks * BLOCK_BYTES as u64);
                "has lost a half"
            }
            2 => {
                let last = last_record(devices.disk(log), &layout, label.array.tag());
                let Some((offset, bytes)) = last else { return Ok(()) };
                let at = offset + rng.within(0..bytes);
                devices.corrupt(log, at, 1 << rng.within(0..8));
                "has a bit of its last record flipped"
            }
            3 => {
                let (offset, blocks) = *rng.pick(&parts);
                let first = rng.spread(1..blocks + 1) - 1;
                let count = rng.spread(1..blocks - first + 1);
                let block = BLOCK_BYTES as u64;
                devices.make_unreadable(log, offset + first * block, count * block);
                "is unreadable in part"
            }
            _ => {
                self.absent.insert(log);
                "does not return with the power"
            }
        };
        self.trace(|| format!("{} {what}", label.role_of(log)));
        self.weak_log = Some(log);
        self.summary.log_faults += 1;
        self.disks = devices.disks();
        Ok(())
    }

    /// After the array was shut down, may replace the device of a mirrored log that has failed.
    pub(crate) fn replace_log(&mut self, end: End) -> Result<(), String> {
        let may_be = end == End::ShutDown && self.plan.label.is_log_mirrored();
        if !may_be || self.rng.one_in(2) {
            return Ok(());
        }
        let mut devices = SimulatedDevices::new(self.seed, self.disks.clone());
        for device in &self.absent {
            devices.close(*device);
        }
        let Some(mut label) = self.label(&devices)? else { return Ok(()) };
        let is_clean = newest_superblock(&mut devices, &label).is_some_and(|found| found.clean);
        let failed = label.logs.iter().position(|log| log.state == MemberState::Failed);
        let Some(position) = failed.filter(|_| is_clean) else { return Ok(()) };
        let identity = identity(self.seed, 1_000 + self.incarnation);
        label.logs[position] = Member { identity, state: MemberState::Present };
        label.sequence += 1;
        let log = usize::from(self.plan.spindles()) + position;
        let bytes = label.log_layout().device_blocks() * BLOCK_BYTES as u64;
        self.disks[log] = SimulatedDisk::zeroed(bytes);
        self.absent.remove(&DeviceIndex(log as u16));
        for (device, label) in label.of_devices() {
            if !self.absent.contains(&device) {
                write_label(&mut self.disks[usize::from(device.0)], &label);
            }
        }
        self.trace(|| format!("the log's device {position} is replaced"));
        self.weak_log = None;
        self.summary.logs_replaced += 1;
        Ok(())
    }
}

/// Returns the place and the length of the host record with the highest number on a device of the log.
fn last_record(disk: &SimulatedDisk, layout: &LogLayout, tag: ArrayTag) -> Option<(u64, u64)> {
    let mut last: Option<(u64, u64, u64)> = None;
    for half in layout.halves() {
        let mut bytes = vec![0; layout.half_bytes() as usize];
        disk.read(half, &mut bytes).ok()?;
        for at in (0..bytes.len()).step_by(RECORD_ALIGNMENT) {
            let Some((header_bytes, rest)) = bytes[at..].split_first_chunk::<RECORD_HEADER_BYTES>()
            else {
                continue;
            };
            let Some(header) = RecordHeader::decode(header_bytes, tag) else { continue };
            let Some(data) = rest.get(..header.data_bytes as usize) else { continue };
            if RecordHeader::is_whole(header_bytes, data)
                && last.is_none_or(|(sequence, ..)| header.sequence > sequence)
            {
                let length = RECORD_HEADER_BYTES + data.len();
                last = Some((header.sequence, half + at as u64, length as u64));
            }
        }
    }
    last.map(|(_, offset, bytes)| (offset, bytes))
}
