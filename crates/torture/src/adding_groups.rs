//! Adds parity groups between two incarnations, while the power may fail.

use strewn_array::write_anywhere::WriteAnywhereConfig;
use strewn_raid::ParityGroup;

use crate::labels::{identity, write_label};
use crate::rng::SpreadDraws;
use crate::schedule::Schedule;
use strewn_live::configuration::ArrayConfig;
use strewn_live::device::{BLOCK_BYTES, DeviceIndex, SimulatedDevices, SimulatedDisk};
use strewn_live::format::{
    DeviceKind, FEATURE_PARITY_GROUPS, InitializationMap, Label, Member, MemberGroup, MemberState,
    device_blocks_for, rows_of,
};
use strewn_live::restart::newest_superblock;

impl Schedule {
    /// Adds the parity groups that the array gets after this incarnation, each by all label writes or by some.
    pub(crate) fn grow(&mut self) -> Result<(), String> {
        let incarnation = self.incarnation;
        let due = self.plan.growth.extract_if(.., |growth| growth.after == incarnation);
        for growth in due.collect::<Vec<_>>() {
            self.add_group(growth.group)?;
        }
        Ok(())
    }

    /// An addition is undone if all devices that knew of it are lost before others learn of it: only the log's device
    /// did, for example, and it does not return. Then the spindles of the group are no members, and are taken away.
    pub(crate) fn forget_lost_growth(&mut self) -> Result<(), String> {
        let devices = SimulatedDevices::new(1, std::mem::take(&mut self.disks));
        let newest = self.label(&devices);
        self.disks = devices.disks();
        let Some(label) = newest? else { return Ok(()) };
        let (members, spindles) = (label.members.len(), usize::from(self.plan.spindles()));
        let ArrayConfig::WriteAnywhere(config) = &mut self.plan.config else { return Ok(()) };
        if members == spindles {
            return Ok(());
        }
        config.groups.truncate(label.groups.len().max(1));
        config.groups_at_start = config.groups.len();
        self.plan.label.groups.clone_from(&label.groups);
        self.plan.label.members.truncate(members);
        self.disks.drain(members..spindles);
        let gone = (spindles - members) as u16;
        let moved = |device: DeviceIndex| match usize::from(device.0) {
            index if index >= spindles => Some(DeviceIndex(device.0 - gone)),
            index => (index < members).then_some(device),
        };
        self.absent = self.absent.iter().filter_map(|device| moved(*device)).collect();
        self.weak_log = self.weak_log.and_then(moved);
        self.summary.additions_undone += 1;
        Ok(())
    }

    fn add_group(&mut self, group: ParityGroup) -> Result<(), String> {
        let mut devices = SimulatedDevices::new(1, std::mem::take(&mut self.disks));
        let newest = self.label(&devices);
        let superblock = newest.as_ref().ok().and_then(|label| {
            let label = label.as_ref()?;
            newest_superblock(&mut devices, label)
        });
        self.disks = devices.disks();
        let is_log = |device: &DeviceIndex| device.0 >= self.plan.spindles();
        // A log that is missing at this moment would have to be marked as failed.
        let has_whole_log = self.weak_log.is_none() && !self.absent.iter().any(is_log);
        let (Some(mut label), Some(superblock), true) = (newest?, superblock, has_whole_log) else {
            return Ok(());
        };
        let ArrayConfig::WriteAnywhere(config) = &mut self.plan.config else { return Ok(()) };
        if config.groups.len() == WriteAnywhereConfig::MOST_GROUPS {
            return Ok(());
        }

        // The array opens: who is absent is marked as failed, and all others have the newest label.
        for device in &self.absent {
            label.members[usize::from(device.0)].state = MemberState::Failed;
        }
        label.sequence += 1;
        for (device, label) in label.of_devices() {
            write_label(&mut self.disks[usize::from(device.0)], &label);
        }

        let first = label.members.len() as u16;
        let device_blocks = device_blocks_for(group.blocks_per_spindle());
        let before = MemberGroup { spindles: first, device_blocks: self.plan.label.device_blocks };
        let added = MemberGroup { spindles: group.spindles(), device_blocks };
        let mut grown = Label {
            incompatible_features: label.incompatible_features | FEATURE_PARITY_GROUPS,
            kind: DeviceKind::Spindle,
            ..label
        };
        if grown.groups.is_empty() {
            grown.groups.push(before);
        }
        grown.groups.push(added);
        let seed = self.seed;
        let members = (first..first + group.spindles()).map(|position| Member {
            identity: identity(seed, 300 + u64::from(position)),
            state: MemberState::Present,
        });
        grown.members.extend(members);
        let rows = rows_of(device_blocks);
        let map = InitializationMap::with_zones_of(grown.array, rows, self.plan.zone_rows);
        let new = (first..first + group.spindles()).map(|position| {
            let mut disk = SimulatedDisk::zeroed(device_blocks * BLOCK_BYTES as u64);
            disk.write(superblock.slot() * BLOCK_BYTES as u64, superblock.encode().bytes());
            disk.write(map.slot() * BLOCK_BYTES as u64, map.encode().bytes());
            let own = grown.members[usize::from(position)].identity;
            write_label(&mut disk, &grown.of_spindle(position, own));
            disk
        });
        let at = usize::from(first);
        self.disks.splice(at..at, new);

        // All devices get the next label, the log first. From the first write on, the array has the group.
        grown.sequence += 1;
        let mut writes = grown.of_devices();
        writes.rotate_right(grown.logs.len());
        let writes = writes.into_iter().flat_map(|(device, label)| {
            [label.device_blocks - 1, 0].map(|block| (device, block, label.clone()))
        });
        let written = match self.rng.one_in(2) {
            true => usize::MAX,
            false => self.rng.spread(1..2 * (grown.members.len() as u64 + 1)) as usize,
        };
        for (device, block, label) in writes.take(written) {
            let encoded = label.encode().map_err(|error| error.to_string())?;
            self.disks[usize::from(device.0)].write(block * BLOCK_BYTES as u64, encoded.bytes());
        }
        config.groups.push(group);
        config.groups_at_start = config.groups.len();
        self.plan.label.incompatible_features |= FEATURE_PARITY_GROUPS;
        self.plan.label.groups = grown.groups;
        self.plan.label.members = grown.members;
        self.summary.groups_added += 1;
        Ok(())
    }
}
