//! Scrubs of spindles that have lost writes, as many as parity covers: everything is repaired, and as many others can
//! be lost.

use std::collections::BTreeSet;

use strewn_base::Rng;

use crate::end::End;
use crate::harness::Harness;
use crate::rng::stream;
use crate::schedule::Schedule;
use strewn_live::check::{Inconsistency, check_array};
use strewn_live::configuration::ArrayConfig;
use strewn_live::device::{BLOCK_BYTES, DeviceIndex, Devices, SimulatedDevices, SimulatedDisk};
use strewn_live::format::{FIRST_ROW_BLOCK, Label, MemberState};
use strewn_live::offline::OfflineArray;
use strewn_live::restart::{
    RestartOptions, newest_superblock, read_tree, restart_in_place, restart_write_anywhere,
    stale_spindles, store_of,
};
use strewn_live::scrub::{ScrubReport, scrub, scrub_in_place};

impl Schedule {
    /// After the array was shut down, puts blocks of some spindles back as they were when the incarnation began, on a
    /// copy of the devices. Then scrubs, checks, takes other spindles away, and reads everything.
    pub(crate) fn scrub_lost_writes(&mut self, end: End) -> Result<(), String> {
        let mut rng = stream(self.seed ^ (self.incarnation + 1) << 48, 7);
        if end != End::ShutDown || !self.stale.is_empty() || rng.one_in(2) {
            return Ok(());
        }
        let mut disks = self.disks.clone();
        let mut devices = SimulatedDevices::new(1, disks.clone());
        let Some(label) = self.label(&devices)? else { return Ok(()) };
        let newest = newest_superblock(&mut devices, &label);
        // A drive that drops superblocks makes its spindle stale.
        if newest.is_none_or(|newest| !stale_spindles(&mut devices, &label, &newest).is_empty()) {
            return Ok(());
        }
        let is_present = |device: &DeviceIndex| {
            !self.absent.contains(device)
                && label.members[usize::from(device.0)].state == MemberState::Present
        };
        let members = (0..label.members.len() as u16).map(DeviceIndex);
        let mut present: Vec<DeviceIndex> = members.filter(is_present).collect();
        let lost = label.members.len() - present.len();
        let covered = usize::from(self.plan.layout.redundancy()).saturating_sub(lost);
        // Spindles with silent faults are among those that may be wrong.
        let mut old: BTreeSet<DeviceIndex> =
            present.iter().filter(|one| self.plan.silent.contains(&one.0)).copied().collect();
        while old.len() < covered && old.len() < present.len() && !rng.one_in(4) {
            old.insert(*rng.pick(&present));
        }
        present.retain(|device| !old.contains(device));
        if old.is_empty() || old.len() > covered {
            return Ok(());
        }
        let one_in = *rng.pick(&[1, 1, 2, 50]);
        for device in old.iter().map(|device| usize::from(device.0)) {
            if let Some(before) = self.disks_before.get(device) {
                put_back(&mut disks[device], before, one_in, &mut rng);
            }
        }
        let mut taken = BTreeSet::new();
        while taken.len() < covered && present.len() > 1 {
            taken.insert(present.swap_remove(rng.within(0..present.len() as u64) as usize));
        }
        self.trace(|| format!("writes of {old:?} are lost; after a scrub, {taken:?}"));
        self.summary.scrubs += 1;
        self.scrub_and_lose(disks, &label, &taken).map_err(|what| {
            format!("one in {one_in} writes of {old:?} lost, scrubbed, without {taken:?}: {what}")
        })
    }

    fn scrub_and_lose(
        &mut self,
        disks: Vec<SimulatedDisk>,
        label: &Label,
        taken: &BTreeSet<DeviceIndex>,
    ) -> Result<(), String> {
        let mut devices = SimulatedDevices::new(self.seed, disks);
        for device in &self.absent {
            devices.close(*device);
        }
        let found = scrub_all(&mut devices, label, &self.plan.config)?;
        if !found.lost_writes.is_empty() {
            // In place, parity that was written without knowing all of its stripe does not tell which block is old.
            return Ok(());
        }
        if !found.gone.is_empty() || !found.left.is_empty() {
            return Err(format!("{:?} are gone, {:?} are left", found.gone, found.left));
        }
        let report = check_array(&mut devices, label, &self.plan.config);
        let is_block = |finding: &&Inconsistency| {
            !matches!(
                finding,
                Inconsistency::Label { .. }
                    | Inconsistency::Superblock { .. }
                    | Inconsistency::LogDevice { .. }
            )
        };
        if let Some(finding) = report.findings.iter().find(is_block) {
            return Err(format!("a check finds: {finding}"));
        }
        for device in taken {
            devices.close(*device);
        }
        let mut harness = Harness::new(devices, u64::MAX, Vec::new());
        let (label, lun_sectors) = (label.clone(), self.plan.lun_sectors());
        let beginning = RestartOptions::new(label, lun_sectors);
        match self.plan.config.clone() {
            ArrayConfig::WriteAnywhere(config) => {
                let started = restart_write_anywhere(&mut harness, &beginning, &config);
                self.read_acknowledged(&mut started.map_err(|error| error.to_string())?)?;
            }
            ArrayConfig::InPlace(config) => {
                let started = restart_in_place(&mut harness, &beginning, &config);
                self.read_acknowledged(&mut started.map_err(|error| error.to_string())?)?;
            }
        }
        harness.hung.map_or(Ok(()), |why| Err(format!("it hangs: {why}")))
    }
}

/// Scrubs an array at rest.
fn scrub_all(
    devices: &mut SimulatedDevices,
    label: &Label,
    config: &ArrayConfig,
) -> Result<ScrubReport, String> {
    let superblock = newest_superblock(devices, label).ok_or("there is no superblock")?;
    let store = store_of(devices, label).map_err(|error| error.to_string())?;
    let mut offline = OfflineArray::new(devices, store);
    let consistency_point = superblock.consistency_point;
    let scrubbed = match config {
        ArrayConfig::WriteAnywhere(config) => {
            let tree = read_tree(&mut offline, config, &superblock);
            let blocks: Vec<_> = tree.map_err(|error| error.to_string())?.in_use().collect();
            scrub(&mut offline, config, &blocks, consistency_point, |_| true)
        }
        ArrayConfig::InPlace(config) => {
            scrub_in_place(&mut offline, config, consistency_point, |_| true)
        }
    };
    scrubbed.map_err(|error| error.to_string())
}

/// Puts one in so many blocks back as they were. Labels, superblocks and maps stay.
fn put_back(disk: &mut SimulatedDisk, before: &SimulatedDisk, one_in: u64, rng: &mut Rng) {
    let end = disk.size_bytes().min(before.size_bytes()) / BLOCK_BYTES as u64 - 1;
    for block in FIRST_ROW_BLOCK..end {
        let mut bytes = vec![0; BLOCK_BYTES];
        let offset = block * BLOCK_BYTES as u64;
        if rng.one_in(one_in) && before.read(offset, &mut bytes).is_ok() {
            disk.write(offset, &bytes);
        }
    }
}
