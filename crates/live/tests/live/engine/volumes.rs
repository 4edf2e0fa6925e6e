//! Volumes, LUNs, snapshots and clones that come, change and go, beside a model that copies everything.

use std::collections::BTreeMap;

use strewn_base::Rng;
use strewn_live::administration::{Change, ChangeError, LunName, SnapshotName, VolumeName};
use strewn_live::check::{Inconsistency, check_write_anywhere};
use strewn_live::device::{DeviceIndex, Devices};
use strewn_live::engine::{Answer, HostRequest, RequestError, RequestId, TargetId};
use strewn_live::format::Label;
use strewn_live::offline::OfflineArray;
use strewn_live::restart::{RestartOptions, read_tree, restart_write_anywhere};
use strewn_live::scrub::scrub;
use strewn_raid::{Parity, ParityGroup};

use strewn_array::write_anywhere::WriteAnywhereConfig;

use super::{Array, BLOCK, LUN_BLOCKS, config, fresh_devices};

/// Stripes of an array that its volumes fill.
const SMALL_STRIPES: u64 = 2_048;

/// A byte for each block of a LUN: all of the block has it.
type Image = Vec<u8>;

#[derive(Clone, Default, PartialEq, Debug)]
struct Volume {
    luns: BTreeMap<String, Image>,
    snapshots: BTreeMap<String, BTreeMap<String, Image>>,
    origin: Option<(String, String)>,
    thin: bool,
}

struct Rig {
    array: Option<Array>,
    beginning: RestartOptions,
    config: WriteAnywhereConfig,
    model: BTreeMap<String, Volume>,
    rng: Rng,
    names: u32,
    /// Writes that found no room.
    refused: u32,
}

fn volume(name: &str) -> VolumeName {
    name.parse().unwrap()
}

fn lun(volume: &str, lun: &str) -> LunName {
    format!("{volume}/{lun}").parse().unwrap()
}

fn snapshot(volume: &str, snapshot: &str) -> SnapshotName {
    format!("{volume}@{snapshot}").parse().unwrap()
}

fn bytes(blocks: u32) -> u64 {
    u64::from(blocks) * BLOCK as u64
}

impl Rig {
    fn new(seed: u64, stripes: u64) -> Self {
        let mut config = config(Parity::RaidDp, 5);
        config.groups = vec![ParityGroup::new(Parity::RaidDp, 5, stripes).unwrap()];
        let (devices, beginning) = fresh_devices(seed, &config);
        let array = restart_write_anywhere(devices, &beginning, &config).unwrap();
        let first = Volume {
            luns: [("lun".to_owned(), vec![0; LUN_BLOCKS as usize])].into(),
            ..Volume::default()
        };
        Self {
            array: Some(array),
            beginning,
            config,
            model: [("volume".to_owned(), first)].into(),
            rng: Rng::new(seed),
            names: 0,
            refused: 0,
        }
    }

    fn array(&mut self) -> &mut Array {
        self.array.as_mut().unwrap()
    }

    fn name(&mut self, of: &str) -> String {
        self.names += 1;
        format!("{of}{}", self.names)
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> Option<T> {
        match from.len() {
            0 => None,
            count => Some(from[self.rng.below(count as u64) as usize].clone()),
        }
    }

    fn volume(&mut self) -> String {
        let names: Vec<String> = self.model.keys().cloned().collect();
        self.pick(&names).unwrap()
    }

    fn lun(&mut self) -> Option<(String, String)> {
        let luns: Vec<_> = self
            .model
            .iter()
            .flat_map(|(name, volume)| {
                volume.luns.keys().map(move |lun| (name.clone(), lun.clone()))
            })
            .collect();
        self.pick(&luns)
    }

    fn snapshot(&mut self) -> Option<(String, String)> {
        let all: Vec<_> = self
            .model
            .iter()
            .flat_map(|(name, volume)| {
                volume.snapshots.keys().map(move |one| (name.clone(), one.clone()))
            })
            .collect();
        self.pick(&all)
    }

    fn target(&mut self, name: (&str, &str)) -> TargetId {
        let inventory = self.array().inventory();
        inventory.lun(&lun(name.0, name.1)).unwrap().target
    }

    fn ask(&mut self, target: TargetId, request: HostRequest) -> Result<Answer, RequestError> {
        self.array().ask(RequestId(1), target, request)
    }

    fn write(&mut self) {
        let Some((of, name)) = self.lun() else { return };
        let blocks = self.model[&of].luns[&name].len() as u64;
        let first = self.rng.below(blocks);
        let count = 1 + self.rng.below((blocks - first).min(600));
        let unmaps = self.rng.one_in(5);
        self.write_blocks(&of, &name, first, count, unmaps);
    }

    fn write_blocks(&mut self, of: &str, name: &str, first: u64, count: u64, unmaps: bool) {
        let target = self.target((of, name));
        let byte = self.rng.below(255) as u8 + 1;
        let sectors = first * 8..(first + count) * 8;
        let request = match unmaps {
            true => HostRequest::Zero(sectors),
            false => HostRequest::Write {
                first_sector: sectors.start,
                data: vec![byte; count as usize * BLOCK],
            },
        };
        match self.ask(target, request) {
            Ok(_) => {
                let image = self.model.get_mut(of).unwrap().luns.get_mut(name).unwrap();
                image[first as usize..(first + count) as usize].fill(if unmaps { 0 } else { byte });
            }
            // Thin volumes may be larger than what there is. What was done of it is read below.
            Err(RequestError::ArrayFull) => {
                assert!(self.model[of].thin, "a write to {of}, which is thick, is refused");
                self.refused += 1;
                self.adopt(of, name);
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Thin volumes take all that they can get. Then all LUNs of thick volumes are written.
    fn fill(&mut self) {
        let name = self.name("v");
        for change in [
            Change::CreateVolume { volume: volume(&name), bytes: Some(bytes(40_000)), thin: true },
            Change::CreateLun { lun: lun(&name, "l"), bytes: bytes(12_000) },
        ] {
            if self.array().administer(change.clone()).is_ok() {
                self.follow(&change);
            }
        }
        for thin in [true, false] {
            for (of, of_model) in self.model.clone() {
                if of_model.thin != thin {
                    continue;
                }
                for (name, image) in of_model.luns {
                    for first in (0..image.len() as u64).step_by(500) {
                        let count = (image.len() as u64 - first).min(500);
                        self.write_blocks(&of, &name, first, count, false);
                    }
                }
            }
        }
    }

    /// Takes over what a LUN has, after a write that was done in part.
    fn adopt(&mut self, of: &str, name: &str) {
        let target = self.target((of, name));
        let blocks = self.model[of].luns[name].len();
        let image = self.read(target, blocks);
        *self.model.get_mut(of).unwrap().luns.get_mut(name).unwrap() = image;
    }

    fn read(&mut self, target: TargetId, blocks: usize) -> Image {
        let mut image = Vec::new();
        for first in (0..blocks).step_by(500) {
            let end = (first + 500).min(blocks);
            let request = HostRequest::Read(first as u64 * 8..end as u64 * 8);
            let Ok(Answer::Bytes(bytes)) = self.ask(target, request) else { panic!("no bytes") };
            for block in bytes.chunks(BLOCK) {
                assert!(block.iter().all(|byte| *byte == block[0]), "a block of one byte");
                image.push(block[0]);
            }
        }
        image
    }

    /// Everything the array has is what the model has.
    fn compare(&mut self) {
        let inventory = self.array().inventory();
        let names: Vec<&str> = inventory.volumes.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names.len(), self.model.len());
        for (name, of_model) in self.model.clone() {
            let found = inventory.volume(&volume(&name)).unwrap();
            assert_eq!(found.luns.len(), of_model.luns.len());
            assert_eq!(found.snapshots.len(), of_model.snapshots.len());
            for (one, image) in &of_model.luns {
                let target = inventory.lun(&lun(&name, one)).unwrap().target;
                assert!(self.read(target, image.len()) == *image, "{name}/{one}");
            }
            for (of, luns) in &of_model.snapshots {
                let found = inventory.snapshot(&snapshot(&name, of)).unwrap();
                assert_eq!(found.luns.len(), luns.len());
                for (one, image) in luns {
                    let found = found.luns.iter().find(|lun| lun.name == *one).unwrap();
                    assert_eq!(found.bytes, bytes(image.len() as u32));
                    let target = found.target.unwrap();
                    assert!(self.read(target, image.len()) == *image, "{name}/{one}@{of}");
                    let sectors = image.len() as u64 * 8;
                    let Ok(Answer::Allocation(runs)) =
                        self.ask(target, HostRequest::Allocation(0..sectors))
                    else {
                        panic!("nothing is known of {name}/{one}@{of}")
                    };
                    let mut blocks = image.as_slice();
                    for (length, allocated) in runs {
                        let (run, others) = blocks.split_at(length as usize / 8);
                        assert!(allocated || run.iter().all(|byte| *byte == 0), "a hole");
                        blocks = others;
                    }
                    let refused = self.ask(target, HostRequest::Zero(0..8));
                    assert_eq!(refused, Err(RequestError::ReadOnly));
                }
            }
        }
    }

    fn change(&mut self) {
        let change = match self.rng.below(12) {
            0 => {
                let (name, thin) = (self.name("v"), self.rng.one_in(2));
                let blocks = 500 + self.rng.below(6_000) as u32;
                Change::CreateVolume { volume: volume(&name), bytes: Some(bytes(blocks)), thin }
            }
            1 | 2 => {
                let (of, name) = (self.volume(), self.name("l"));
                let blocks = 1 + self.rng.below(3_000) as u32;
                Change::CreateLun { lun: lun(&of, &name), bytes: bytes(blocks) }
            }
            3 => {
                let Some((of, name)) = self.lun() else { return };
                let blocks = 1 + self.rng.below(6_000) as u32;
                Change::ResizeLun { lun: lun(&of, &name), bytes: bytes(blocks) }
            }
            4 => {
                let of = self.volume();
                let blocks = 1 + self.rng.below(9_000) as u32;
                Change::ResizeVolume { volume: volume(&of), bytes: bytes(blocks) }
            }
            5 => {
                let Some((of, name)) = self.lun() else { return };
                Change::DeleteLun { lun: lun(&of, &name) }
            }
            6 => Change::DeleteVolume { volume: volume(&self.volume()) },
            7 | 8 => {
                let (of, name) = (self.volume(), self.name("s"));
                Change::TakeSnapshot { snapshot: snapshot(&of, &name), taken_unix_seconds: 7 }
            }
            9 | 10 => {
                let Some((of, name)) = self.snapshot() else { return };
                Change::DeleteSnapshot { snapshot: snapshot(&of, &name) }
            }
            _ => {
                let Some((of, name)) = self.snapshot() else { return };
                let new = self.name("c");
                Change::CreateClone { volume: volume(&new), of: snapshot(&of, &name) }
            }
        };
        let done = self.array().administer(change.clone());
        match done {
            Ok(()) => self.follow(&change),
            // Names are given once.
            Err(error) if error.is_of_contents() && !matches!(error, ChangeError::Exists(_)) => {}
            Err(error) => panic!("{change:?}: {error}"),
        }
    }

    fn follow(&mut self, change: &Change) {
        let model = &mut self.model;
        match change {
            Change::CreateVolume { volume, thin, .. } => {
                model.insert(volume.to_string(), Volume { thin: *thin, ..Volume::default() });
            }
            Change::DeleteVolume { volume } => {
                let gone = model.remove(volume.as_str()).unwrap();
                assert!(gone.luns.is_empty() && gone.snapshots.is_empty());
            }
            Change::ResizeVolume { .. } => {}
            Change::CreateLun { lun, bytes } => {
                let volume = model.get_mut(lun.volume().as_str()).unwrap();
                volume.luns.insert(lun.lun().to_owned(), vec![0; *bytes as usize / BLOCK]);
            }
            Change::ResizeLun { lun, bytes } => {
                let volume = model.get_mut(lun.volume().as_str()).unwrap();
                let image = volume.luns.get_mut(lun.lun()).unwrap();
                let blocks = *bytes as usize / BLOCK;
                assert!(image.iter().skip(blocks).all(|byte| *byte == 0), "data is cut off");
                image.resize(blocks, 0);
            }
            Change::DeleteLun { lun } => {
                model.get_mut(lun.volume().as_str()).unwrap().luns.remove(lun.lun());
            }
            Change::TakeSnapshot { snapshot, .. } => {
                let volume = model.get_mut(snapshot.volume().as_str()).unwrap();
                volume.snapshots.insert(snapshot.snapshot().to_owned(), volume.luns.clone());
            }
            Change::DeleteSnapshot { snapshot } => {
                let (of, name) = (snapshot.volume().as_str(), snapshot.snapshot());
                let origin = Some((of.to_owned(), name.to_owned()));
                assert!(model.values().all(|volume| volume.origin != origin));
                model.get_mut(of).unwrap().snapshots.remove(name);
            }
            Change::CreateClone { volume, of } => {
                let (origin, name) = (of.volume().to_string(), of.snapshot().to_owned());
                let luns = model[&origin].snapshots[&name].clone();
                let origin = Some((origin, name));
                let clone = Volume { luns, origin, thin: true, ..Volume::default() };
                model.insert(volume.to_string(), clone);
            }
        }
    }

    /// Shuts the array down, or cuts its power; finds nothing wrong with it, and starts it again.
    fn restart(&mut self, crash: bool) {
        let mut array = self.array.take().unwrap();
        if !crash {
            array.shut_down().unwrap();
        }
        let label: Label = array.engine().label().clone();
        let mut devices = array.into_devices();
        if crash {
            devices.crash();
        }
        let mut report = check_write_anywhere(&mut devices, &label, &self.config);
        // The one being written may be torn.
        let may_be_torn = |one: &Inconsistency| matches!(one, Inconsistency::Superblock { .. });
        report.findings.retain(|one| !crash || !may_be_torn(one));
        assert_eq!(report.findings, []);
        if !crash {
            let (mut offline, superblock) =
                OfflineArray::as_restarted(&mut devices, &label).unwrap();
            let tree = read_tree(&mut offline, &self.config, &superblock).unwrap();
            let blocks: Vec<_> = tree.in_use().collect();
            let consistency_point = superblock.consistency_point;
            let scrubbed = scrub(&mut offline, &self.config, &blocks, consistency_point, |_| true);
            assert!(scrubbed.unwrap().is_clean());
        }
        self.beginning.label = label;
        let array = restart_write_anywhere(devices, &self.beginning, &self.config).unwrap();
        self.array = Some(array);
    }
}

#[test]
fn volumes_luns_snapshots_and_clones_are_what_a_model_says() {
    let first = std::env::var("STREWN_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = first.map_or(1..1 + u64::from(strewn_testing::cases(8, 24)), |seed| seed..seed + 1);
    let mut refused = 0;
    for seed in seeds {
        println!("STREWN_SEED={seed}");
        // Half of the arrays have room for little more than the first LUN, two and a half times.
        let mut rig = Rig::new(seed, if seed % 2 == 0 { 16_384 } else { SMALL_STRIPES });
        for step in 0..60 {
            match rig.rng.below(10) {
                0..5 => rig.write(),
                5..9 => rig.change(),
                _ => {
                    let crash = rig.rng.one_in(2);
                    rig.restart(crash);
                }
            }
            if step % 15 == 14 {
                rig.compare();
            }
        }
        let is_small = rig.config.single_group().blocks_per_spindle() == SMALL_STRIPES;
        if is_small {
            rig.fill();
        }
        rig.restart(false);
        rig.compare();
        // Everything is still there without two spindles.
        let mut array = rig.array.take().unwrap();
        array.shut_down().unwrap();
        rig.beginning.label = array.engine().label().clone();
        let mut devices = array.into_devices();
        devices.close(DeviceIndex(2));
        devices.close(DeviceIndex(4));
        rig.array = Some(restart_write_anywhere(devices, &rig.beginning, &rig.config).unwrap());
        rig.compare();
        refused += rig.refused;
    }
    println!("{refused} writes to thin volumes were refused");
    assert!(first.is_some() || refused > 50, "no thin volume found the array full");
}
