//! The course of a schedule: incarnation after incarnation, with faults between them, and checks of what is left.

use std::collections::BTreeSet;

use strewn_array::write_anywhere::WriteAnywhereConfig;
use strewn_raid::SpindleIndex;

use strewn_base::BLOCK_SECTORS;

use crate::end::End;
use crate::harness::{Event, Harness};
use crate::image::Image;
use crate::incarnation::Incarnation;
use crate::log_faults::breakable_log;
use crate::model::ImageName;
use crate::rng::{SpreadDraws, stream};
use crate::shadow::versions_of;
use crate::{ScheduleKind, Summary};
use strewn_live::administration::{Inventory, SnapshotName};
use strewn_live::catalog::CatalogSnapshot;
use strewn_live::check::{self, Inconsistency};
use strewn_live::configuration::ArrayConfig;
use strewn_live::device::simulated::{Fault, Injected};
use strewn_live::device::{BLOCK_BYTES, DeviceIndex, Devices, SimulatedDevices, SimulatedDisk};
use strewn_live::format::{FIRST_ROW_BLOCK, Label, MemberState, ROW_BLOCKS, ROW_DATA_BLOCKS};
use strewn_live::offline::OfflineArray;
use strewn_live::restart::{RestartError, read_catalog};
use strewn_live::snapshots::read_image_of;

use crate::schedule::Schedule;

impl Schedule {
    /// Runs all incarnations, and then one without faults.
    pub(crate) fn run(&mut self) -> Result<Summary, String> {
        if self.verbose {
            eprintln!("{}", self.failure(format!("{:?}", self.plan)));
        }
        for incarnation in 0..=self.plan.incarnations {
            self.incarnation = incarnation;
            let is_last = incarnation == self.plan.incarnations;
            self.begin(is_last);
            self.trace(|| format!("life begins, power goes at {}", self.harness.cut_at));
            let mut harness = std::mem::replace(
                &mut self.harness,
                Harness::new(SimulatedDevices::new(0, Vec::new()), 0, Vec::new()),
            );
            let end = Incarnation::new(self, is_last).run_all(&mut harness);
            self.harness = harness;
            if let Some(why) = &self.harness.hung {
                return Err(format!("it hangs: {why}"));
            }
            let end = end?;
            self.trace(|| format!("life ends: {end:?}"));
            self.end(end);
            self.put_copy_back(end)?;
            self.forget_lost_growth()?;
            self.check_what_is_left().map_err(|what| format!("what {end:?} has left: {what}"))?;
            self.read_beyond_parity()?;
            self.scrub_lost_writes(end)?;
            self.start_without_log(end)?;
            self.injure_log(end)?;
            self.replace_log(end)?;
            self.forget_lost_growth()?;
            if !is_last && self.stale.is_empty() {
                self.grow()?;
            }
        }
        Ok(self.summary)
    }

    /// Draws the events of the next incarnation.
    fn begin(&mut self, is_last: bool) {
        let rng = &mut self.rng;
        let seed = self.seed ^ (self.incarnation + 1) << 48;
        self.disks_before = self.disks.clone();
        let mut devices = self.plan.devices(seed, std::mem::take(&mut self.disks));
        for device in &self.absent {
            devices.lose_device(*device, "absent");
        }
        let crashes = self.plan.kind != ScheduleKind::Losses && !is_last;
        let cut_at = match rng.within(0..8) {
            _ if !crashes => u64::MAX,
            0 => rng.within(0..150),
            1..=5 => rng.spread(20..2_500),
            _ => u64::MAX,
        };
        let mut events = Vec::new();
        let spindles = u64::from(self.plan.spindles());
        let all = u64::from(devices.count());
        let label = newest_label(&devices, &self.absent);
        if !is_last {
            let broken = self.absent.union(&self.stale);
            let mut broken: BTreeSet<u16> = broken.map(|device| device.0).collect();
            if let Ok(Some(label)) = &label {
                broken.extend((0u16..).zip(&label.members).filter_map(|(at, member)| {
                    (member.state != MemberState::Present).then_some(at)
                }));
            }
            for _ in 0..self.plan.losses {
                let spindle = rng.within(0..spindles) as u16;
                // A spindle that is being rebuilt may be lost again.
                let is_one_too_many =
                    broken.len() >= self.plan.losses && !broken.contains(&spindle);
                if is_one_too_many || rng.one_in(3) {
                    continue;
                }
                broken.insert(spindle);
                let at = match rng.within(0..4) {
                    0 => rng.within(0..200),
                    _ => rng.spread(10..800),
                };
                events.push((at, Event::Lose(DeviceIndex(spindle))));
            }
            let may_lose_log = self.plan.losses > 0 || self.plan.kind == ScheduleKind::Crashes;
            if may_lose_log
                && let Ok(Some(label)) = &label
                && let Some(log) = breakable_log(label, &self.absent, self.weak_log, rng)
                && rng.one_in(3)
            {
                events.push((rng.spread(1..1_000), Event::Lose(log)));
            }
            if self.plan.full {
                // The log, one spindle, or all devices, which may be files of one file system.
                let devices = match rng.within(0..4) {
                    0 if self.seed.is_multiple_of(3) => all - 1..all,
                    0 => spindles..all,
                    1 => {
                        let spindle = rng.within(0..spindles);
                        spindle..spindle + 1
                    }
                    _ => 0..all,
                };
                let mut at = 0;
                for _ in 0..1 + rng.within(0..3) {
                    let full_at = at + rng.spread(10..1_500);
                    let room_at = full_at + rng.spread(1..400);
                    at = room_at;
                    let has_room_again = !rng.one_in(4);
                    for device in devices.clone().map(|device| DeviceIndex(device as u16)) {
                        events.push((full_at, Event::Full(device)));
                        if has_room_again {
                            events.push((room_at, Event::Room(device)));
                        }
                    }
                }
            }
            if rng.one_in(4) {
                let device = DeviceIndex(rng.within(0..all) as u16);
                events.push((rng.spread(1..2_000), Event::Slow(device, rng.within(2..40) as u32)));
            }
        }
        let mut of_copies = stream(seed, 6);
        if self.plan.losses > 0 && !is_last && of_copies.one_in(2) {
            let spindle = DeviceIndex(of_copies.within(0..spindles) as u16);
            events.push((of_copies.spread(1..800), Event::Copy(spindle)));
        }
        events.sort_by_key(|(at, _)| *at);
        self.harness = Harness::new(devices, cut_at, events);
        self.harness.lost = self.absent.clone();
    }

    fn end(&mut self, end: End) {
        self.summary.incarnations += 1;
        self.summary.ios += self.harness.steps;
        self.summary.crashes += u64::from(matches!(end, End::Crash | End::CrashAtStart));
        self.summary.crashes_at_start += u64::from(end == End::CrashAtStart);
        self.summary.stops += u64::from(end == End::Stopped);
        self.was_shut_down = end == End::ShutDown;
        let injected = self.harness.devices.injected().to_vec();
        self.absent = std::mem::take(&mut self.harness.lost);
        let log = |device: &&DeviceIndex| device.0 >= self.plan.spindles();
        self.weak_log = self.absent.iter().find(log).copied().or(self.weak_log);

        // A lost spindle may return with the power, as stale as it is.
        let rng = &mut self.rng;
        self.absent.retain(|_| rng.one_in(2));
        // A replacement without a label belongs to no array yet: the array is assembled without it.
        let spindles = (0..self.plan.spindles()).map(DeviceIndex);
        self.disks = self.harness.devices.disks();
        let is_nobodys = |one: &DeviceIndex| label_of(&self.disks[usize::from(one.0)]).is_none();
        self.absent.extend(spindles.filter(is_nobodys));
        let lost = injected.iter().filter(|one| matches!(one.fault, Fault::Gone { .. }));
        self.summary.losses += lost.count() as u64;
        let silent = injected.iter().filter(|one| place_of(&one.fault).is_some());
        self.summary.silent_faults += silent.count() as u64;
        self.note_injuries(&injected);
        self.injected.extend(injected);
    }

    /// Records the stripes that faults may have damaged.
    pub(crate) fn note_injuries(&mut self, injected: &[Injected]) {
        for one in injected {
            for (offset, bytes) in place_of(&one.fault).into_iter().flatten() {
                let first = offset / BLOCK_BYTES as u64;
                let end = (offset + bytes).div_ceil(BLOCK_BYTES as u64);
                for block in first.max(FIRST_ROW_BLOCK)..end {
                    let (row, within) = (
                        (block - FIRST_ROW_BLOCK) / ROW_BLOCKS,
                        (block - FIRST_ROW_BLOCK) % ROW_BLOCKS,
                    );
                    let first = row * ROW_DATA_BLOCKS;
                    match within {
                        ROW_DATA_BLOCKS => self.injured.extend(first..first + ROW_DATA_BLOCKS),
                        within => {
                            self.injured.insert(first + within);
                        }
                    }
                }
            }
        }
    }

    /// Returns whether an inconsistency follows from an injected fault.
    fn is_injury(&self, problem: &Inconsistency) -> bool {
        let is_silent = |spindle: SpindleIndex| self.plan.silent.contains(&spindle.0);
        match problem {
            Inconsistency::Label { device, .. } => is_silent(SpindleIndex(device.0)),
            Inconsistency::Superblock { spindle, .. } => is_silent(*spindle),
            Inconsistency::Block { place, .. } => {
                is_silent(place.spindle) && self.injured.contains(&place.dbn.0)
            }
            Inconsistency::UnusedBlock { place, .. } => self.injured.contains(&place.dbn.0),
            Inconsistency::Parity { stripe, .. } => self.injured.contains(stripe),
            Inconsistency::LogDevice { device, .. } => self.weak_log == Some(*device),
            _ => false,
        }
    }

    /// Checks the devices of an array at rest.
    pub(crate) fn check(&mut self, harness: &Harness, label: &Label) -> Result<(), String> {
        let devices = &harness.devices;
        let injected = devices.injected().to_vec();
        self.note_injuries(&injected);
        self.check_disks(devices.disks(), &harness.lost, label, |_| true)
    }

    /// Checks the remains of an incarnation, with its redo records. Labels and superblocks may have been in flight.
    fn check_what_is_left(&mut self) -> Result<(), String> {
        let mut devices = SimulatedDevices::new(1, self.disks.clone());
        for device in &self.absent {
            devices.close(*device);
        }
        let Some(label) = self.label(&devices)? else { return Ok(()) };
        // A spindle that returned and is marked as failed no longer belongs to the array.
        let failed = (0..).map(DeviceIndex).zip(&label.members);
        let failed = failed.filter(|(_, member)| member.state == MemberState::Failed);
        let mut absent = self.absent.clone();
        absent.extend(failed.map(|(device, _)| device));
        self.check_disks(self.disks.clone(), &absent, &label, |problem| {
            !matches!(problem, Inconsistency::Label { .. } | Inconsistency::Superblock { .. })
        })
    }

    fn check_disks(
        &self,
        disks: Vec<SimulatedDisk>,
        lost: &BTreeSet<DeviceIndex>,
        label: &Label,
        counts: impl Fn(&Inconsistency) -> bool,
    ) -> Result<(), String> {
        let mut copy = SimulatedDevices::new(1, disks);
        for device in lost {
            copy.close(*device);
        }
        let report = check::check_array(&mut copy, label, &self.plan.config);
        let unexpected: Vec<String> = report
            .findings
            .iter()
            .filter(|finding| counts(finding))
            .filter(|finding| !self.is_injury(finding) && !is_of_lost(finding, lost))
            .map(ToString::to_string)
            .collect();
        if let Some(first) = unexpected.first() {
            return Err(format!("the check finds {} problems: {first}", unexpected.len()));
        }
        match &self.plan.config {
            ArrayConfig::WriteAnywhere(config) => self.check_snapshots(&mut copy, label, config),
            ArrayConfig::InPlace(_) => Ok(()),
        }
    }

    /// Reads all snapshots and compares them with what they must hold.
    fn check_snapshots(
        &self,
        devices: &mut SimulatedDevices,
        label: &Label,
        config: &WriteAnywhereConfig,
    ) -> Result<(), String> {
        let (mut offline, superblock) = match OfflineArray::as_restarted(devices, label) {
            Ok(restarted) => restarted,
            Err(RestartError::NoSuperblock) => return Ok(()),
            Err(error) => return Err(error.to_string()),
        };
        let (catalog, _) =
            read_catalog(&mut offline, config, &superblock).map_err(|error| error.to_string())?;
        let config = &catalog.config(config);
        let model = self.shadow.model_of(&Inventory::at_rest(&catalog))?;
        for (volume, snapshot) in catalog.snapshots() {
            let name = volume.name.parse().and_then(|of| SnapshotName::new(of, &snapshot.name));
            let name = name.map_err(|error| error.to_string())?;
            for lun in &snapshot.luns {
                let of = ImageName::InSnapshot(name.clone(), lun.name.clone());
                check_image(&mut offline, config, snapshot, lun.file, model.image(&of))
                    .map_err(|wrong| format!("{of}: {wrong}"))?;
            }
        }
        Ok(())
    }

    /// Returns the newest label on the devices that are present.
    pub(crate) fn label(&self, devices: &SimulatedDevices) -> Result<Option<Label>, String> {
        let device_blocks = self.plan.label.device_blocks;
        let label = newest_label(devices, &self.absent)?;
        Ok(label.map(|label| Label { device_blocks, ..label }))
    }
}

/// Reads a LUN in a snapshot and compares it with what it must hold.
fn check_image(
    offline: &mut OfflineArray<'_, SimulatedDevices>,
    config: &WriteAnywhereConfig,
    snapshot: &CatalogSnapshot,
    file: u32,
    image: &Image,
) -> Result<(), String> {
    let mut found = vec![0; image.acknowledged.len()];
    let mut wrong = None;
    let read = read_image_of(offline, config, snapshot, file, |block, bytes| {
        let first = u64::from(block) * BLOCK_SECTORS;
        match versions_of(first, bytes) {
            Ok(versions) => found[first as usize..][..versions.len()].copy_from_slice(&versions),
            Err(what) => wrong = Some(what),
        }
        Ok(())
    });
    read.map_err(|error| error.to_string())?;
    wrong.map_or(Ok(()), Err)?;
    image.check(0, &found)
}

/// Returns whether a finding only reports a missing device.
fn is_of_lost(problem: &Inconsistency, lost: &BTreeSet<DeviceIndex>) -> bool {
    match problem {
        Inconsistency::Label { device, .. } | Inconsistency::LogDevice { device, .. } => {
            lost.contains(device)
        }
        Inconsistency::Superblock { spindle, .. } => lost.contains(&DeviceIndex(spindle.0)),
        _ => false,
    }
}

/// Returns the ranges that a fault damaged: offsets and lengths.
fn place_of(fault: &Fault) -> Option<Vec<(u64, u64)>> {
    match *fault {
        Fault::Unreadable { offset, bytes }
        | Fault::Erased { offset, bytes }
        | Fault::LostWrite { offset, bytes, .. } => Some(vec![(offset, bytes)]),
        Fault::Corrupted { offset, .. } => Some(vec![(offset, 1)]),
        Fault::Misdirected { offset, bytes, landed_at, .. } => {
            Some(vec![(offset, bytes), (landed_at, bytes)])
        }
        _ => None,
    }
}

/// Returns the label of a device, from either copy.
pub(crate) fn label_of(disk: &SimulatedDisk) -> Option<Label> {
    let last = disk.size_bytes() - BLOCK_BYTES as u64;
    let copies = [0, last].map(|offset| {
        let mut bytes = vec![0; BLOCK_BYTES];
        // An unreadable copy counts as missing.
        if disk.read(offset, &mut bytes).is_err() {
            bytes.fill(0);
        }
        bytes
    });
    Label::of_copies(&copies[0], &copies[1]).ok()
}

/// Returns the newest label on all devices; on a tie, one whose device no other label marks as failed.
fn newest_label(
    devices: &SimulatedDevices,
    absent: &BTreeSet<DeviceIndex>,
) -> Result<Option<Label>, String> {
    let there = (0..devices.count()).map(DeviceIndex).filter(|one| !absent.contains(one));
    let mut labels: Vec<Label> = there.filter_map(|one| label_of(devices.disk(one))).collect();
    let Some(newest) = labels.iter().map(Label::precedence).max() else { return Ok(None) };
    labels.retain(|label| label.precedence() == newest);
    let is_believed = |label: &Label| {
        let own = |other: &Label| {
            let mut all = other.members.iter().chain(&other.logs);
            all.find(|member| member.identity == label.own).map(|own| own.state)
        };
        labels.iter().all(|other| own(other) != Some(MemberState::Failed))
    };
    let mut believed = labels.iter().filter(|label| is_believed(label));
    let Some(first) = believed.next() else { return Ok(labels.first().cloned()) };
    let differs = |label: &&Label| (&label.members, &label.logs) != (&first.members, &first.logs);
    match believed.find(differs) {
        None => Ok(Some(first.clone())),
        Some(other) => Err(format!(
            "two labels are both number {}, and have other members: {:?} and {:?}",
            first.sequence, first.members, other.members
        )),
    }
}
