//! Devices that are copied while the array runs and put back when it has ended: stale, whatever their labels say.

use std::collections::BTreeSet;

use crate::course::label_of;
use crate::end::End;
use crate::schedule::Schedule;
use strewn_live::device::{DeviceIndex, SimulatedDevices};
use strewn_live::format::MemberState;
use strewn_live::restart::newest_superblock;

impl Schedule {
    /// Puts a spindle that was copied in this incarnation back as it was then, if parity covers one more that is lost,
    /// and if it lacks more than one consistency point: a power loss may always interrupt the last.
    pub(crate) fn put_copy_back(&mut self, end: End) -> Result<(), String> {
        let mut devices = SimulatedDevices::new(1, self.disks.clone());
        let Some(label) = self.label(&devices)? else { return Ok(()) };
        let is_present = |device: &DeviceIndex| {
            label.members[usize::from(device.0)].state == MemberState::Present
        };
        // A start has marked them.
        self.stale.retain(|device| end == End::CrashAtStart && is_present(device));
        let Some((device, copy)) = self.harness.copy.take() else { return Ok(()) };
        let members = (0..label.members.len() as u16).map(DeviceIndex);
        let is_broken = |device: &DeviceIndex| {
            !is_present(device) || self.absent.contains(device) || self.stale.contains(device)
        };
        let broken: BTreeSet<DeviceIndex> = members.filter(is_broken).collect();
        let is_one_too_many = broken.len() >= self.plan.losses && !broken.contains(&device);
        if is_one_too_many || self.absent.contains(&device) || label_of(&copy).is_none() {
            return Ok(());
        }
        if is_present(&device) {
            let newest = newest_superblock(&mut devices, &label);
            *devices.disk_mut(device) = copy.clone();
            let others = 0..label.members.len() as u16;
            for other in others.map(DeviceIndex).filter(|other| *other != device) {
                devices.lose_device(other, "put aside");
            }
            let own = newest_superblock(&mut devices, &label);
            let (Some(own), Some(newest)) = (own, newest) else { return Ok(()) };
            if own.consistency_point + 1 >= newest.consistency_point {
                return Ok(());
            }
            self.stale.insert(device);
        }
        self.trace(|| format!("device {} is an old copy now", device.0));
        self.disks[usize::from(device.0)] = copy;
        self.summary.copies += 1;
        Ok(())
    }
}
