//! Volumes, snapshots, clones and mending against a model of plain maps, through random histories.
//!
//! `STREWN_HISTORIES=10000 cargo test --release -p strewn-volume --test volume histories::` runs that many; 500 without
//! it. proptest prints the history to which it shrank a failure, and the seed that repeats it.

mod cases;
mod history;
mod model;
mod persistence;

use std::collections::BTreeSet;

use history::{Action, Deed, End, History, Order, any_history, any_storm};
use model::{Model, places, read};
use persistence::Storage;
use proptest::prelude::*;
use proptest::sample::Index;
use strewn_alloc::Aggregate;
use strewn_raid::{Parity, ParityGroup, Vbn};
use strewn_volume::{
    CleaningPlan, FILE_ATTRIBUTE_BYTES, Fbn, FileId, FileReallocation, Move, SegmentCleaning,
    SnapshotId, Space, VolumeError, VolumeId, Volumes,
};

type Checked<T = ()> = Result<T, TestCaseError>;

enum Mending {
    File(FileReallocation),
    Areas(SegmentCleaning),
}

struct Modelled {
    volumes: Volumes,
    model: Model,
    /// What each VBN holds.
    spindles: Vec<Option<u64>>,
    elsewhere: u64,
    /// Of a persistent store.
    storage: Option<Storage>,
    /// The model as of the last commit.
    committed: Model,
    mending: Option<Mending>,
    kept_moves: Vec<Move>,
}

/// One of `all`, which may be none.
fn pick<T: Copy>(index: &Index, all: impl Iterator<Item = T>) -> Option<T> {
    let all: Vec<T> = all.collect();
    (!all.is_empty()).then(|| *index.get(&all))
}

impl Modelled {
    fn new(history: &History) -> Self {
        let mut aggregate = Aggregate::new(history.groups.clone(), history.options).unwrap();
        let share = f64::from(history.elsewhere_percent) / 100.0;
        let elsewhere = aggregate.set_aside_at_random(share, 2, 5).unwrap();
        let total = aggregate.total_blocks();
        // Smaller ones have no room for metadata.
        let is_persistent = history.is_persistent && aggregate.free_blocks() >= 256;
        let volumes = match is_persistent {
            true => Volumes::persistent(aggregate).unwrap(),
            false => Volumes::new(aggregate).unwrap(),
        };
        let groups = history.groups.clone();
        let storage = is_persistent.then(|| Storage::new(groups, history.options));
        let mut modelled = Self {
            volumes,
            model: Model::default(),
            spindles: vec![None; total as usize],
            elsewhere,
            storage,
            committed: Model::default(),
            mending: None,
            kept_moves: Vec::new(),
        };
        modelled.create_volume(1_000);
        modelled.volumes.begin(0).unwrap();
        modelled.create_file(VolumeId(0));
        assert!(modelled.write_and_commit());
        modelled
    }

    /// Writes the plan of the open consistency point and commits it; if there is no room for metadata, abandons it.
    /// Returns whether it is committed.
    fn write_and_commit(&mut self) -> bool {
        let Ok(plan) = self.volumes.finish() else {
            assert!(self.storage.is_some(), "only metadata are placed by `finish`");
            assert!(self.volumes.commit().is_err());
            self.volumes.abandon().unwrap();
            return false;
        };
        self.model.apply(&self.volumes, &plan, &mut self.spindles);
        if let Some(storage) = &mut self.storage {
            storage.write(&self.volumes, &plan);
            storage.write_root(&self.volumes);
        }
        self.volumes.commit().unwrap();
        self.end_of_consistency_point();
        self.committed = self.model.clone();
        true
    }

    fn end_of_consistency_point(&mut self) {
        self.model.written.clear();
        self.model.volumes.values_mut().for_each(|volume| volume.fresh.clear());
    }

    /// Whether a refusal of a new volume or snapshot is of a persistent store that is full but for its metadata.
    fn is_full(&self, refused: &VolumeError) -> bool {
        let VolumeError::OutOfSpace(refused) = refused else { return false };
        let space = self.volumes.space();
        let now = space.free - space.reserved;
        self.storage.is_some()
            && [now, now + space.pending_free].contains(&refused.free)
            && (refused.free + 1..=space.metadata_reserve + 4).contains(&refused.needed)
    }

    fn create_volume(&mut self, blocks: u64) {
        let id = match self.volumes.create_volume(blocks) {
            Ok(id) => id,
            Err(refused) => return assert!(self.is_full(&refused), "{refused}"),
        };
        assert!(self.model.volumes.insert(id, model::Volume::default()).is_none());
    }

    fn create_file(&mut self, volume: VolumeId) {
        let file = self.volumes.create_file(volume).unwrap();
        let files = &mut self.model.volumes.get_mut(&volume).unwrap().files;
        assert!(files.insert(file, Default::default()).is_none());
    }

    fn volume(&self, index: &Index) -> Option<VolumeId> {
        pick(index, self.model.volumes.keys().copied())
    }

    fn file(&self, volume: &Index, file: &Index) -> Option<(VolumeId, FileId)> {
        let volume = self.volume(volume)?;
        Some((volume, pick(file, self.model.volumes[&volume].files.keys().copied())?))
    }

    fn snapshot(&self, volume: &Index, snapshot: &Index) -> Option<(VolumeId, SnapshotId)> {
        let volume = self.volume(volume)?;
        Some((volume, pick(snapshot, self.model.volumes[&volume].snapshots.keys().copied())?))
    }

    /// Writes, and fails exactly where the model says that there is no room.
    fn write(&mut self, volume: VolumeId, file: FileId, fbns: &[Fbn]) -> Checked<bool> {
        let space = self.volumes.space();
        let own = self.volumes.space_of(volume).unwrap();
        let fresh = &self.model.volumes[&volume].fresh;
        let new: BTreeSet<_> = fbns.iter().filter(|fbn| !fresh.contains(&(file, **fbn))).collect();
        let needed = new.len() as u64;
        let free = space.free.saturating_sub(space.reserved - own.reserved);
        let free = free.saturating_sub(space.metadata_reserve);
        let expected = if needed > own.free {
            Err(VolumeError::VolumeFull { volume, needed, free: own.free })
        } else if needed > free {
            Err(VolumeError::OutOfSpace(strewn_alloc::OutOfSpace { needed, free }))
        } else {
            Ok(())
        };
        let result = self.volumes.write_all(volume, file, fbns);
        prop_assert_eq!(&result, &expected);
        if result.is_err() {
            prop_assert_eq!(self.volumes.space(), space);
            return Ok(false);
        }
        prop_assert_eq!(self.volumes.space().free, space.free - needed);
        let reserved = &mut self.model.volumes.get_mut(&volume).unwrap().reserved;
        *reserved = reserved.saturating_sub(needed);
        fbns.iter().for_each(|fbn| self.model.write(volume, file, *fbn));
        Ok(true)
    }

    fn act(&mut self, action: &Action) -> Checked {
        match action {
            Action::CreateFile(volume) => {
                if let Some(volume) = self.volume(volume) {
                    self.create_file(volume);
                }
            }
            Action::DeleteFile(volume, file) => {
                if let Some((volume, file)) = self.file(volume, file) {
                    // At once, or step by step.
                    match file.0.is_multiple_of(2) {
                        true => self.volumes.delete_file(volume, file).unwrap(),
                        false => while !self.volumes.delete_file_step(volume, file, 3).unwrap() {},
                    }
                    let of = self.model.volumes.get_mut(&volume).unwrap();
                    of.files.remove(&file);
                    of.fresh.retain(|(other, _)| *other != file);
                }
            }
            Action::Write { volume, file, first, count, order } => {
                let Some((volume, file)) = self.file(volume, file) else { return Ok(()) };
                let ascending = *first..first + count;
                let fbns: Vec<Fbn> = match order {
                    Order::Ascending => ascending.map(Fbn).collect(),
                    Order::Descending => ascending.rev().map(Fbn).collect(),
                    Order::Twice => {
                        ascending.clone().step_by(3).chain(ascending.step_by(2)).map(Fbn).collect()
                    }
                    Order::Far => ascending.map(|fbn| Fbn(fbn * 100_003)).collect(),
                };
                self.write(volume, file, &fbns)?;
            }
            Action::Fill { volume, file } => {
                let Some((volume, file)) = self.file(volume, file) else { return Ok(()) };
                let mut fbn = 200;
                for step in [64, 8, 1] {
                    loop {
                        let fbns: Vec<Fbn> = (fbn..fbn + step).map(Fbn).collect();
                        fbn += step;
                        if !self.write(volume, file, &fbns)? {
                            break;
                        }
                    }
                }
                let space = self.volumes.space();
                let own = self.volumes.space_of(volume).unwrap();
                let kept = space.reserved - own.reserved + space.metadata_reserve;
                prop_assert!(own.free == 0 || space.free <= kept);
            }
            Action::Punch { volume, file, first, count } => {
                let Some((volume, file)) = self.file(volume, file) else { return Ok(()) };
                let range = Fbn(*first)..Fbn(first + count);
                self.drop_blocks(volume, file, range.clone(), |volumes| {
                    volumes.punch(volume, file, range)
                })?;
            }
            Action::Truncate { volume, file, first } => {
                let Some((volume, file)) = self.file(volume, file) else { return Ok(()) };
                let first = Fbn(*first);
                let range = first..Fbn(u64::MAX);
                self.drop_blocks(volume, file, range, |volumes| {
                    volumes.truncate(volume, file, first)
                })?;
            }
            Action::Describe { volume, file, length, attribute } => {
                let Some((volume, file)) = self.file(volume, file) else { return Ok(()) };
                let attributes = [*attribute; FILE_ATTRIBUTE_BYTES];
                self.volumes.set_length(volume, file, *length).unwrap();
                self.volumes.set_attributes(volume, file, attributes).unwrap();
                let of = self.model.volumes.get_mut(&volume).unwrap();
                let of = of.files.get_mut(&file).unwrap();
                (of.length, of.attribute) = (*length, *attribute);
            }
            Action::Mend { blocks, later } => self.mend(*blocks, *later)?,
            Action::MendFile { volume, file, blocks } => {
                let Some((volume, file)) = self.file(volume, file) else { return Ok(()) };
                let mending = FileReallocation::full(&self.volumes, volume, file);
                let item = mending.unwrap().next_item(&self.volumes, *blocks);
                self.relocate(&item.unwrap_or_default())?;
            }
            Action::MendKept => {
                // They stay: the next time they are stale, all of them.
                let moves = self.kept_moves.clone();
                self.relocate(&moves)?;
            }
        }
        Ok(())
    }

    fn drop_blocks(
        &mut self,
        volume: VolumeId,
        file: FileId,
        range: std::ops::Range<Fbn>,
        drop: impl FnOnce(&mut Volumes) -> Result<u64, VolumeError>,
    ) -> Checked {
        let of = self.model.volumes.get_mut(&volume).unwrap();
        let blocks = &mut of.files.get_mut(&file).unwrap().blocks;
        let before = blocks.len();
        blocks.retain(|fbn, _| !range.contains(fbn));
        of.fresh.retain(|(other, fbn)| *other != file || !range.contains(fbn));
        prop_assert_eq!(drop(&mut self.volumes), Ok((before - blocks.len()) as u64));
        Ok(())
    }

    fn mend(&mut self, blocks: u64, later: bool) -> Checked {
        let item = match &mut self.mending {
            None => return Ok(()),
            Some(Mending::File(mending)) => mending.next_item(&self.volumes, blocks),
            Some(Mending::Areas(mending)) => {
                let item = mending.next_item(&self.volumes, blocks);
                prop_assert!(item.as_ref().is_none_or(|item| item.len() as u64 <= blocks));
                item
            }
        };
        match item {
            None => self.mending = None,
            Some(item) if later => {
                self.kept_moves.extend(item);
                let stale = self.kept_moves.len().saturating_sub(200);
                self.kept_moves.drain(..stale);
            }
            Some(item) => self.relocate(&item)?,
        }
        Ok(())
    }

    fn relocate(&mut self, moves: &[Move]) -> Checked {
        let space = self.volumes.space();
        match self.volumes.relocate(moves) {
            Ok(moved) => {
                let expected = Space {
                    free: space.free - moved,
                    pending_free: space.pending_free + moved,
                    ..space
                };
                prop_assert_eq!(self.volumes.space(), expected);
            }
            Err(VolumeError::OutOfSpace(error)) => {
                let kept = space.reserved + space.metadata_reserve;
                prop_assert_eq!(error.free, space.free.saturating_sub(kept));
                prop_assert!(error.needed > error.free && error.needed <= moves.len() as u64);
                prop_assert_eq!(self.volumes.space(), space);
            }
            Err(error) => prop_assert!(false, "{}", error),
        }
        Ok(())
    }

    fn consistency_point(&mut self, expected: u64, actions: &[Action], end: End) -> Checked {
        let (before, space) = (self.model.clone(), self.volumes.space());
        self.volumes.begin(expected).unwrap();
        let refused = VolumeError::ConsistencyPointOpen;
        prop_assert_eq!(self.volumes.create_volume(1), Err(refused.clone()));
        prop_assert_eq!(self.volumes.begin(1), Err(refused.clone()));
        prop_assert_eq!(self.volumes.background_step(1), Err(refused));
        for action in actions {
            self.act(action)?;
            self.check_sums()?;
            prop_assert_eq!(self.volumes.verify(), Ok(()));
        }
        let is_committed = match end {
            End::Commit | End::Remount => self.write_and_commit(),
            End::AbandonUnfinished => {
                self.volumes.abandon().unwrap();
                false
            }
            End::Abandon | End::Crash => {
                if let Ok(plan) = self.volumes.finish() {
                    prop_assert_eq!(self.volumes.finish(), Err(VolumeError::Finished));
                    self.model.apply(&self.volumes, &plan, &mut self.spindles);
                    if let Some(storage) = &mut self.storage {
                        storage.write(&self.volumes, &plan);
                    }
                }
                self.volumes.abandon().unwrap();
                false
            }
        };
        if !is_committed {
            let must = actions.is_empty() && matches!(end, End::Commit | End::Remount);
            prop_assert!(!must, "what changes nothing must be committed");
            prop_assert_eq!(self.volumes.space(), space);
            self.model = Model { next_version: self.model.next_version, ..before };
        }
        if end == End::Crash || end == End::Remount && is_committed {
            self.remount(is_committed)?;
        }
        self.end_of_consistency_point();
        prop_assert_eq!(self.volumes.commit(), Err(VolumeError::NoConsistencyPoint));
        Ok(())
    }

    /// Mounts what the last commit left, and goes on with that; `is_committed` if nothing has happened since.
    fn remount(&mut self, is_committed: bool) -> Checked {
        let Some(storage) = &self.storage else { return Ok(()) };
        let mounted = storage.mount()?;
        if is_committed {
            persistence::check_same(&mounted, &self.volumes)?;
        }
        self.mending = None;
        self.volumes = mounted;
        self.model = Model { next_version: self.model.next_version, ..self.committed.clone() };
        let total = self.volumes.aggregate().total_blocks();
        self.spindles.resize(total as usize, None);
        self.check()
    }

    fn snapshot_now(&mut self, volume: VolumeId) {
        let snapshot = match self.volumes.snapshot(volume) {
            Ok(snapshot) => snapshot,
            Err(refused) => return assert!(self.is_full(&refused), "{refused}"),
        };
        let of = self.model.volumes.get_mut(&volume).unwrap();
        assert!(of.snapshots.insert(snapshot, of.files.clone()).is_none());
    }

    fn run(&mut self, deed: &Deed) -> Checked {
        match deed {
            Deed::ConsistencyPoint { expected, actions, end } => {
                self.consistency_point(*expected, actions, *end)?;
            }
            Deed::CreateVolume { blocks } => self.create_volume(*blocks),
            Deed::DestroyVolume(volume) => {
                let Some(volume) = self.volume(volume) else { return Ok(()) };
                let result = self.volumes.destroy_volume(volume);
                let snapshots = self.model.volumes[&volume].snapshots.keys();
                if snapshots.into_iter().any(|snapshot| self.model.is_origin(volume, *snapshot)) {
                    prop_assert!(matches!(result, Err(VolumeError::HasClones(..))));
                } else if result.is_ok() {
                    self.model.volumes.remove(&volume);
                    prop_assert!(self.volumes.image(volume).is_err());
                } else {
                    // The clone is not yet quite gone.
                    prop_assert!(self.volumes.is_background_work_left());
                }
            }
            Deed::Name(volume, name) => {
                let Some(volume) = self.volume(volume) else { return Ok(()) };
                let name = name.map(|name| "a volume's name, ".repeat(usize::from(name) + 1));
                let mut volumes = self.model.volumes.iter();
                let holder = volumes.find(|(id, of)| **id != volume && of.name == name);
                let holder = holder.filter(|_| name.is_some()).map(|(id, _)| *id);
                let result = self.volumes.set_volume_name(volume, name.as_deref());
                prop_assert_eq!(
                    result,
                    holder.map_or(Ok(()), |id| Err(VolumeError::NameTaken(id)))
                );
                if holder.is_none() {
                    self.model.volumes.get_mut(&volume).unwrap().name = name;
                }
            }
            Deed::Snapshot(volume) => {
                if let Some(volume) = self.volume(volume) {
                    self.snapshot_now(volume);
                }
            }
            Deed::DeleteSnapshot(volume, snapshot) => {
                let Some((volume, snapshot)) = self.snapshot(volume, snapshot) else {
                    return Ok(());
                };
                let result = self.volumes.delete_snapshot(volume, snapshot);
                if self.model.is_origin(volume, snapshot) {
                    prop_assert!(matches!(result, Err(VolumeError::HasClones(..))));
                } else if result.is_ok() {
                    self.model.volumes.get_mut(&volume).unwrap().snapshots.remove(&snapshot);
                    let gone = Err(VolumeError::NoSuchSnapshot(volume, snapshot));
                    prop_assert_eq!(self.volumes.delete_snapshot(volume, snapshot), gone);
                } else {
                    prop_assert!(self.volumes.is_background_work_left());
                }
            }
            Deed::Clone { volume, snapshot, blocks } => {
                let Some((volume, snapshot)) = self.snapshot(volume, snapshot) else {
                    return Ok(());
                };
                let clone = match self.volumes.clone_volume(volume, snapshot, *blocks) {
                    Ok(clone) => clone,
                    Err(refused) => {
                        prop_assert!(self.is_full(&refused), "{}", refused);
                        return Ok(());
                    }
                };
                let files = self.model.volumes[&volume].snapshots[&snapshot].clone();
                let origin = Some((volume, snapshot));
                let clone_model = model::Volume { files, origin, ..Default::default() };
                prop_assert!(self.model.volumes.insert(clone, clone_model).is_none());
            }
            Deed::Background { steps } => {
                let done = self.volumes.background_step(*steps).unwrap();
                prop_assert!(done <= *steps);
                prop_assert!(done == *steps || !self.volumes.is_background_work_left());
            }
            Deed::Reserve { volume, blocks } => {
                let Some(volume) = self.volume(volume) else { return Ok(()) };
                let space = self.volumes.space();
                let own = self.model.volumes[&volume].reserved;
                let result = self.volumes.reserve(volume, *blocks);
                let kept = space.reserved - own + space.metadata_reserve;
                let most = space.free.saturating_sub(kept).max(own);
                prop_assert_eq!(result.is_ok(), *blocks <= most);
                if result.is_ok() {
                    self.model.volumes.get_mut(&volume).unwrap().reserved = *blocks;
                }
            }
            Deed::Reallocate { volume, file, segment, most_extents } => {
                let Some((volume, file)) = self.file(volume, file) else { return Ok(()) };
                let volumes = &self.volumes;
                let mending = match segment {
                    0 => FileReallocation::full(volumes, volume, file),
                    1 => FileReallocation::after_read(
                        volumes,
                        volume,
                        file,
                        Fbn(3)..Fbn(40),
                        *most_extents,
                    ),
                    _ => FileReallocation::above_threshold(
                        volumes,
                        volume,
                        file,
                        *segment,
                        *most_extents,
                    ),
                };
                self.mending = Some(Mending::File(mending.unwrap()));
            }
            Deed::Clean { areas } => {
                self.mending = None;
                let plan = CleaningPlan::new(&self.volumes, *areas);
                self.mending = plan.start(&mut self.volumes).ok().map(Mending::Areas);
            }
            Deed::StopMending => self.mending = None,
            Deed::AddGroup { data_spindles, stripes } => {
                let group = ParityGroup::new(Parity::Raid4, *data_spindles, *stripes).unwrap();
                self.volumes.add_group(group).unwrap();
                if let Some(storage) = &mut self.storage {
                    storage.groups.push(group);
                }
                let total = self.volumes.aggregate().total_blocks();
                self.spindles.resize(total as usize, None);
            }
            Deed::Storm { volume, file, snapshots } => {
                for turn in 0..*snapshots as u64 {
                    let Some((volume, file)) = self.file(volume, file) else { return Ok(()) };
                    self.volumes.begin(2).unwrap();
                    let before = self.model.clone();
                    self.write(volume, file, &[Fbn(turn % 7)])?;
                    self.write(volume, file, &[Fbn(turn % 3)])?;
                    if !self.write_and_commit() {
                        self.model = Model { next_version: self.model.next_version, ..before };
                        break;
                    }
                    self.snapshot_now(volume);
                }
            }
        }
        self.check()
    }

    /// What holds at any time.
    fn check_sums(&self) -> Checked {
        let space = self.volumes.space();
        let counts = self.volumes.aggregate().counts();
        prop_assert_eq!(space.elsewhere, self.elsewhere);
        prop_assert_eq!(
            space.active + space.snapshots + space.destroyed + space.metadata + space.elsewhere,
            counts.used
        );
        prop_assert_eq!(counts.used + space.pending_free + space.free, space.total);
        prop_assert!(space.reserved <= space.free);
        let reserved: u64 = self.model.volumes.values().map(|volume| volume.reserved).sum();
        prop_assert_eq!(space.reserved, reserved);
        Ok(())
    }

    /// Everything, between consistency points.
    fn check(&self) -> Checked {
        prop_assert_eq!(self.volumes.verify(), Ok(()));
        self.check_sums()?;
        let ids: Vec<VolumeId> = self.volumes.ids().collect();
        prop_assert!(ids.iter().eq(self.model.volumes.keys()));
        let (mut active_blocks, mut snapshot_blocks) = (0, 0);
        for (id, model) in &self.model.volumes {
            prop_assert_eq!(self.volumes.volume_name(*id).unwrap(), model.name.as_deref());
            if let Some(name) = &model.name {
                prop_assert_eq!(self.volumes.volume_named(name), Some(*id));
            }
            let image = self.volumes.image(*id).unwrap();
            prop_assert_eq!(&read(&image, &self.spindles), &model.files, "active image of {}", id);
            let inherited = match model.origin {
                None => BTreeSet::new(),
                Some((parent, snapshot)) => {
                    places(&self.volumes.image_of(parent, snapshot).unwrap())
                }
            };
            let active: BTreeSet<Vbn> = places(&image);
            let mut held: Vec<(SnapshotId, BTreeSet<Vbn>)> = Vec::new();
            let snapshots: Vec<SnapshotId> = self.volumes.snapshots(*id).unwrap().collect();
            prop_assert!(snapshots.iter().eq(model.snapshots.keys()));
            for (snapshot, files) in &model.snapshots {
                let image = self.volumes.image_of(*id, *snapshot).unwrap();
                prop_assert_eq!(&read(&image, &self.spindles), files, "{} of {}", snapshot, id);
                held.push((*snapshot, places(&image)));
            }
            let own = |vbn: &&Vbn| !inherited.contains(vbn);
            let space = self.volumes.space_of(*id).unwrap();
            prop_assert_eq!(space.active, active.iter().filter(own).count() as u64);
            prop_assert_eq!(space.inherited + space.active, active.len() as u64);
            let all_held: BTreeSet<&Vbn> = held.iter().flat_map(|(_, blocks)| blocks).collect();
            let alone =
                all_held.into_iter().filter(own).filter(|vbn| !active.contains(vbn)).count() as u64;
            if self.volumes.is_background_work_left() {
                prop_assert!(space.snapshots >= alone);
            } else {
                prop_assert_eq!(space.snapshots, alone);
            }
            for (index, (snapshot, blocks)) in held.iter().enumerate().take(4) {
                let by_others = |vbn: &Vbn| {
                    active.contains(vbn)
                        || held
                            .iter()
                            .enumerate()
                            .any(|(other, (_, held))| other != index && held.contains(vbn))
                };
                let alone = blocks.iter().filter(own).filter(|vbn| !by_others(vbn)).count() as u64;
                prop_assert_eq!(self.volumes.held_by_alone(*id, *snapshot).unwrap(), alone);
            }
            active_blocks += space.active;
            snapshot_blocks += space.snapshots;
        }
        let space = self.volumes.space();
        prop_assert_eq!((space.active, space.snapshots), (active_blocks, snapshot_blocks));
        prop_assert!(space.destroyed == 0 || self.volumes.is_background_work_left());
        Ok(())
    }

    /// Destroys everything; nothing must be left.
    fn take_apart(&mut self) -> Checked {
        self.mending = None;
        while !self.model.volumes.is_empty() {
            for volume in self.model.volumes.keys().rev().copied().collect::<Vec<_>>() {
                if self.volumes.destroy_volume(volume).is_ok() {
                    self.model.volumes.remove(&volume);
                }
                while self.volumes.background_step(1_000).unwrap() > 0 {}
            }
        }
        while self.volumes.background_step(1_000).unwrap() > 0 {}
        // The second frees the pages that the first has replaced.
        for _ in 0..2 {
            self.volumes.begin(0).unwrap();
            prop_assert!(self.write_and_commit());
        }
        self.check()?;
        let space = self.volumes.space();
        let left = space.metadata + space.elsewhere;
        prop_assert_eq!(space.free + space.pending_free + left, space.total);
        prop_assert!(space.pending_free <= self.volumes.aggregate().options().delayed_frees);
        self.remount(true)
    }
}

fn play(history: &History) -> Checked {
    let mut modelled = Modelled::new(history);
    for deed in &history.deeds {
        modelled.run(deed)?;
    }
    modelled.take_apart()
}

fn cases(of_500: u32) -> ProptestConfig {
    let histories = std::env::var("STREWN_HISTORIES").ok().and_then(|count| count.parse().ok());
    let cases = (histories.unwrap_or(500u32) * of_500).div_ceil(500);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(475))]

    #[test]
    fn volumes_hold_what_was_written_and_count_every_block(history in any_history()) {
        play(&history)?;
    }
}

proptest! {
    #![proptest_config(cases(25))]

    #[test]
    fn a_storm_of_snapshots_loses_nothing(history in any_storm()) {
        play(&history)?;
    }
}
