//! Verification: maps, lists and counts agree.

use std::error::Error;
use std::fmt;

use strewn_alloc::{AggregateViolation, SummaryBitmap};
use strewn_raid::Vbn;

use super::container::Entry;
use super::flexible::{Files, Volume};
use super::metadata::PageName;
use super::names::{BlockName, Fbn, FileId, SnapshotId, VirtualVbn, VolumeId};
use super::volumes::Volumes;

/// What [`Volumes::verify`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum VolumeViolation {
    /// The aggregate is inconsistent in itself.
    Aggregate(AggregateViolation),
    /// The free map of a volume's block numbers is inconsistent in itself.
    Numbers(VolumeId, AggregateViolation),
    /// A container map has an entry for a free number, or its entries are not as many as the numbers in use.
    Number(VolumeId, VirtualVbn),
    /// A block of a container map is free in the aggregate.
    NotAllocated(VolumeId, VirtualVbn, Vbn),
    /// A block of the aggregate has two owners.
    OwnedTwice(VolumeId, VirtualVbn, Vbn),
    /// A block that holds a page of metadata is free, or has something else too.
    Metadata(PageName, Vbn),
    /// The map of a file leads to a number that is not in use.
    Dangling(BlockName),
    /// The map of a file leads to a number that another block or a dead list has too.
    UsedTwice(BlockName),
    /// The block count of a file is wrong.
    FileCount(VolumeId, FileId, u64, u64),
    /// The block count of an image is wrong.
    ImageCount(VolumeId, u64, u64),
    /// A dead list has a block that does not exist, that is in the active image, or that no snapshot holds.
    NotDead(VolumeId, VirtualVbn),
    /// A block is neither in the active image nor on a dead list.
    Lost(VolumeId, VirtualVbn),
    /// The map of a snapshot leads to a block that was written later, or had been dropped before.
    NotInSnapshot(VolumeId, SnapshotId, VirtualVbn),
    /// The count of blocks on dead lists is wrong.
    DeadCount(VolumeId, u64, u64),
    /// The clone count of a snapshot is wrong.
    Clones(VolumeId, SnapshotId, u32, u32),
    /// A name leads to another volume than the one that has it, or to none.
    Name(VolumeId),
    /// More blocks are reserved than are free, or the reservations of volumes do not add up.
    Reserved(u64, u64, u64),
}

impl fmt::Display for VolumeViolation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Aggregate(inner) => inner.fmt(formatter),
            Self::Numbers(id, found) => write!(formatter, "block numbers of {id}: {found}"),
            Self::Number(id, number) => write!(
                formatter,
                "{id}: {number} is free, but has a place, or is used and has none"
            ),
            Self::NotAllocated(id, number, vbn) => {
                write!(formatter, "{id}, {number}: lies at {vbn}, which is free")
            }
            Self::OwnedTwice(id, number, vbn) => {
                write!(formatter, "{id}, {number}: lies at {vbn}, which another block has too")
            }
            Self::Metadata(page, vbn) => {
                write!(formatter, "{page}: lies at {vbn}, which is free or has something else too")
            }
            Self::Dangling(name) => write!(
                formatter,
                "{}, {}, {}: leads to a block that does not exist",
                name.volume, name.file, name.fbn
            ),
            Self::UsedTwice(name) => write!(
                formatter,
                "{}, {}, {}: leads to a block that is used twice",
                name.volume, name.file, name.fbn
            ),
            Self::FileCount(id, file, counted, mapped) => {
                write!(formatter, "{id}, {file}: {counted} blocks counted, its map has {mapped}")
            }
            Self::ImageCount(id, counted, mapped) => write!(
                formatter,
                "{id}: {counted} blocks counted in an image, its files have {mapped}"
            ),
            Self::NotDead(id, number) => write!(
                formatter,
                "{id}, {number}: on a dead list, but in use or held by no snapshot"
            ),
            Self::Lost(id, number) => write!(
                formatter,
                "{id}, {number}: leads nowhere from the active image or a snapshot"
            ),
            Self::NotInSnapshot(id, snapshot, number) => write!(
                formatter,
                "{id}, {snapshot}: leads to {number}, which was not there when it was taken"
            ),
            Self::DeadCount(id, counted, listed) => write!(
                formatter,
                "{id}: {counted} blocks counted on dead lists, there are {listed}"
            ),
            Self::Clones(id, snapshot, counted, clones) => {
                write!(formatter, "{id}, {snapshot}: {counted} clones counted, there are {clones}")
            }
            Self::Name(id) => {
                write!(formatter, "{id}: its name leads to another, or a name of another to it")
            }
            Self::Reserved(reserved, to_volumes, free) => write!(
                formatter,
                "{reserved} blocks are promised, {to_volumes} to volumes, {free} are free"
            ),
        }
    }
}

impl Error for VolumeViolation {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Numbers(_, inner) => Some(inner),
            _ => None,
        }
    }
}

impl From<AggregateViolation> for VolumeViolation {
    fn from(inner: AggregateViolation) -> Self {
        Self::Aggregate(inner)
    }
}

/// The holder of a block: the active image, the dead list of an image, or nothing yet.
const NOBODY: u32 = 0;
const ACTIVE: u32 = u32::MAX;

impl Volumes {
    /// Verifies, at any time, that no block of the aggregate has two owners; that every entry of every map leads to a
    /// block in use, including snapshots and clones; that each block is either in the active image, or on exactly one
    /// dead list and held by a snapshot; and that counts equal maps. O(blocks of all images).
    ///
    /// # Errors
    /// The first violation, with its location.
    pub fn verify(&self) -> Result<(), VolumeViolation> {
        self.aggregate.verify()?;
        let mut owned = SummaryBitmap::new(self.aggregate.total_blocks());
        // Nobody owns a block that is freed.
        for vbn in self.aggregate.pending_frees() {
            owned.insert(vbn.0);
        }
        for (page, vbn) in self.metadata.iter().flat_map(|metadata| metadata.pages()) {
            if self.aggregate.is_free(vbn) || !owned.insert(vbn.0) {
                return Err(VolumeViolation::Metadata(page, vbn));
            }
        }
        for (id, volume) in &self.volumes {
            self.verify_container(*id, volume, &mut owned)?;
            if !volume.is_destroyed {
                self.verify_images(*id, volume)?;
            }
        }
        self.verify_names()?;
        let reserved = self.volumes.values().map(|volume| volume.reserved).sum();
        let free = self.aggregate.free_blocks();
        if self.reserved != reserved || reserved > free {
            return Err(VolumeViolation::Reserved(self.reserved, reserved, free));
        }
        Ok(())
    }

    fn verify_names(&self) -> Result<(), VolumeViolation> {
        let misled = self.volumes.iter().find(|(id, volume)| {
            let name = volume.name.as_deref();
            name.is_some_and(|name| self.volume_named(name) != Some(**id))
        });
        let stray = self.names.iter().find(|(name, id)| {
            let volume = self.volumes.get(id);
            volume.is_none_or(|volume| volume.name.as_ref() != Some(name))
        });
        let wrong = misled.map(|(id, _)| id).or(stray.map(|(_, id)| id));
        wrong.map_or(Ok(()), |id| Err(VolumeViolation::Name(*id)))
    }

    fn verify_container(
        &self,
        id: VolumeId,
        volume: &Volume,
        owned: &mut SummaryBitmap,
    ) -> Result<(), VolumeViolation> {
        let container = &volume.container;
        let numbers = container.numbers();
        numbers.verify().map_err(|found| VolumeViolation::Numbers(id, found))?;
        let mut blocks = 0;
        for (local, entry) in container.scan(0, u64::MAX).0 {
            let (number, vbn) = (container.number(local), entry.vbn());
            blocks += 1;
            if numbers.is_free(Vbn(local)) {
                return Err(VolumeViolation::Number(id, number));
            }
            if vbn.0 >= self.aggregate.total_blocks() || self.aggregate.is_free(vbn) {
                return Err(VolumeViolation::NotAllocated(id, number, vbn));
            }
            if !owned.insert(vbn.0) {
                return Err(VolumeViolation::OwnedTwice(id, number, vbn));
            }
        }
        if blocks != container.blocks() || blocks != numbers.counts().used {
            return Err(VolumeViolation::Number(id, container.number(blocks)));
        }
        Ok(())
    }

    fn verify_images(&self, id: VolumeId, volume: &Volume) -> Result<(), VolumeViolation> {
        let container = &volume.container;
        // The holder of each number: the active image, or the dead list of image `holder - 1`.
        let numbers = container.scan(0, u64::MAX).0.last().map_or(0, |(local, _)| local + 1);
        let mut holders = vec![NOBODY; numbers as usize];
        self.verify_image(id, &volume.files, volume.mapped, |name, number| {
            let Some(local) = container.local(number) else { return Ok(()) };
            let holder = &mut holders[local as usize];
            if *holder != NOBODY {
                return Err(VolumeViolation::UsedTwice(name));
            }
            *holder = ACTIVE;
            Ok(())
        })?;
        let mut dead = 0;
        for (image, (snapshot_before, list)) in (1..).zip(volume.snapshots.images()) {
            let taken_before = snapshot_before.map_or(0, |snapshot| snapshot.0);
            for local in list {
                let birth = container.get(*local).map(Entry::birth);
                let is_held = birth.is_some_and(|birth| birth <= taken_before);
                if !is_held || holders[*local as usize] != NOBODY {
                    return Err(VolumeViolation::NotDead(id, container.number(*local)));
                }
                holders[*local as usize] = image;
                dead += 1;
            }
        }
        if dead != volume.snapshots.blocks() {
            return Err(VolumeViolation::DeadCount(id, volume.snapshots.blocks(), dead));
        }
        for (local, _) in container.scan(0, u64::MAX).0 {
            if holders[local as usize] == NOBODY {
                return Err(VolumeViolation::Lost(id, container.number(local)));
            }
        }
        for (index, (snapshot_id, is_deleted, snapshot)) in (1..).zip(volume.snapshots.all()) {
            if is_deleted {
                continue;
            }
            self.verify_image(id, &snapshot.files, snapshot.mapped, |_, number| {
                let Some(local) = container.local(number) else { return Ok(()) };
                let birth = container.get(local).map_or(u32::MAX, Entry::birth);
                // On the list of a later image, or alive.
                let died_later = holders[local as usize] > index;
                if birth > snapshot_id.0 || !died_later {
                    return Err(VolumeViolation::NotInSnapshot(id, snapshot_id, number));
                }
                Ok(())
            })?;
            let clones =
                self.volumes.values().filter(|clone| clone.origin == Some((id, snapshot_id)));
            let clones = clones.count() as u32;
            if clones != snapshot.clones {
                return Err(VolumeViolation::Clones(id, snapshot_id, snapshot.clones, clones));
            }
        }
        Ok(())
    }

    fn verify_image(
        &self,
        id: VolumeId,
        files: &Files,
        counted: u64,
        mut check: impl FnMut(BlockName, VirtualVbn) -> Result<(), VolumeViolation>,
    ) -> Result<(), VolumeViolation> {
        let mut in_files = 0;
        for (file, inode) in files.iter_from(0) {
            let mut mapped = 0;
            for (fbn, slot) in inode.blocks.iter_from(0) {
                let name = BlockName { volume: id, file: FileId(file), fbn: Fbn(fbn) };
                let number = VirtualVbn::from(*slot);
                self.resolve(id, number).ok_or(VolumeViolation::Dangling(name))?;
                check(name, number)?;
                mapped += 1;
            }
            if mapped != inode.mapped {
                return Err(VolumeViolation::FileCount(id, FileId(file), inode.mapped, mapped));
            }
            in_files += mapped;
        }
        if in_files != counted {
            return Err(VolumeViolation::ImageCount(id, counted, in_files));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Volumes;
    use strewn_alloc::{Aggregate, AggregateOptions};
    use strewn_raid::{Parity, ParityGroup};

    const VOLUME: VolumeId = VolumeId(0);

    /// A file of 8 blocks, four of them rewritten after a snapshot.
    fn volumes() -> Volumes {
        let group = ParityGroup::new(Parity::RaidDp, 2, 256).unwrap();
        let mut volumes =
            Volumes::new(Aggregate::new([group], AggregateOptions::default()).unwrap()).unwrap();
        let volume = volumes.create_volume(100).unwrap();
        volumes.begin(8).unwrap();
        let file = volumes.create_file(volume).unwrap();
        volumes.write_all(volume, file, &Vec::from_iter((0..8).map(Fbn))).unwrap();
        volumes.discard_plan();
        volumes.commit().unwrap();
        volumes.snapshot(volume).unwrap();
        volumes.begin(4).unwrap();
        volumes.write_all(volume, file, &Vec::from_iter((0..4).map(Fbn))).unwrap();
        volumes.discard_plan();
        volumes.commit().unwrap();
        assert_eq!(volumes.verify(), Ok(()));
        volumes
    }

    /// What is found after `harm`.
    fn found(harm: impl FnOnce(&mut Volumes, &mut Volume)) -> VolumeViolation {
        let mut volumes = volumes();
        let mut volume = volumes.volumes.remove(&VOLUME).unwrap();
        harm(&mut volumes, &mut volume);
        volumes.volumes.insert(VOLUME, volume);
        volumes.verify().unwrap_err()
    }

    #[test]
    fn the_violation_is_named() {
        let name = |fbn| BlockName { volume: VOLUME, file: FileId(0), fbn: Fbn(fbn) };
        let number = VirtualVbn;
        let lies = |volume: &Volume, local| volume.container.get(local).unwrap().vbn();

        let twice = found(|_, volume| {
            let moved = volume.container.get(1).unwrap().moved_to(lies(volume, 0));
            volume.container.put(1, moved);
        });
        assert!(matches!(twice, VolumeViolation::OwnedTwice(VOLUME, VirtualVbn(1), _)), "{twice}");
        let free = found(|volumes, volume| {
            volumes.aggregate.begin(0).unwrap();
            volumes.aggregate.free_at_commit(lies(volume, 5)).unwrap();
            volumes.aggregate.commit().unwrap();
        });
        assert!(matches!(free, VolumeViolation::NotAllocated(VOLUME, VirtualVbn(5), _)), "{free}");
        let dangling = found(|_, volume| {
            volume.container.remove(6);
            volume.container.free_number(6);
        });
        assert_eq!(dangling, VolumeViolation::Dangling(name(6)));
        let used_twice = found(|_, volume| {
            let inode = Arc::make_mut(volume.files.get_mut(0).unwrap());
            inode.blocks.replace(7, number(6).into());
        });
        assert_eq!(used_twice, VolumeViolation::UsedTwice(name(7)));
        let lost = found(|_, volume| {
            volume.snapshots.active.pop();
            volume.snapshots.blocks -= 1;
        });
        assert_eq!(lost, VolumeViolation::Lost(VOLUME, number(3)));
        assert_eq!(
            found(|_, volume| volume.snapshots.active.push(9)),
            VolumeViolation::NotDead(VOLUME, number(9)),
            "born after the snapshot"
        );
        assert_eq!(
            found(|_, volume| volume.snapshots.blocks += 1),
            VolumeViolation::DeadCount(VOLUME, 5, 4)
        );
        assert_eq!(
            found(|_, volume| volume.snapshots.get_mut(SnapshotId(1)).unwrap().files =
                volume.files.clone()),
            VolumeViolation::NotInSnapshot(VOLUME, SnapshotId(1), number(8))
        );
        assert_eq!(
            found(|_, volume| volume.mapped += 1),
            VolumeViolation::ImageCount(VOLUME, 9, 8)
        );
        assert_eq!(
            found(|_, volume| volume.snapshots.get_mut(SnapshotId(1)).unwrap().clones += 1),
            VolumeViolation::Clones(VOLUME, SnapshotId(1), 1, 0)
        );
        let unknown = found(|_, volume| volume.name = Some("home".into()));
        assert_eq!(unknown, VolumeViolation::Name(VOLUME));
        let nobody = found(|volumes, _| volumes.names.extend([("home".into(), VOLUME)]));
        assert_eq!(nobody, VolumeViolation::Name(VOLUME));
        assert_eq!(found(|_, volume| volume.reserved += 1), VolumeViolation::Reserved(0, 1, 500));
    }
}
