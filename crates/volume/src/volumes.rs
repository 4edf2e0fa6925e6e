//! The volumes of an aggregate: created, snapshotted, cloned, destroyed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};

use strewn_alloc::{Aggregate, AggregateError, GroupIndex, MOST_BLOCKS, Policy};
use strewn_raid::ParityGroup;

use super::container::{Container, Entry, LATEST_TIME, Local};
use super::error::VolumeError;
use super::flexible::{Snapshot, Volume};
use super::metadata::Metadata;
use super::names::{BlockSource, SnapshotId, VirtualVbn, VolumeId};
use super::teardown::TeardownJob;

/// Areas withheld from allocation while a cleaning holds the token.
#[derive(Debug)]
pub(crate) struct Withheld {
    pub(crate) token: Weak<()>,
    pub(crate) areas: Vec<(GroupIndex, u32)>,
}

/// The phase of the consistency point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Closed,
    Open,
    Finished,
}

/// An aggregate and the flexible volumes in it: files, snapshots and clones, written in consistency points.
///
/// Files change between [`begin`](Self::begin) and [`commit`](Self::commit); one consistency point covers all volumes.
/// [`finish`](Self::finish) returns the write plan. Volumes, snapshots and clones are created and deleted between
/// consistency points; that takes effect at once and becomes durable with the next commit.
///
/// Two numbers lead to a block (Edwards et al., USENIX 2008): the file's map gives the [`VirtualVbn`], and the volume's
/// container map gives its VBN. One change of the container map therefore moves a block for its file and for all
/// snapshots and clones.
///
/// [`new`](Self::new) keeps the maps of volumes in memory only. [`persistent`](Self::persistent) also writes them: each
/// consistency point places the changed pages of all maps as it places data, and a [`Root`](crate::Root) leads to them.
/// [`mount`](Self::mount) reads them back.
///
/// ```
/// use strewn_alloc::{Aggregate, AggregateOptions};
/// use strewn_volume::{Fbn, Volumes};
/// use strewn_raid::{Parity, ParityGroup};
///
/// let group = ParityGroup::new(Parity::RaidDp, 4, 65_536)?;
/// let mut volumes = Volumes::new(Aggregate::new([group], AggregateOptions::default())?)?;
/// let volume = volumes.create_volume(100_000)?;
///
/// volumes.begin(3)?;
/// let lun = volumes.create_file(volume)?;
/// volumes.write_all(volume, lun, &[Fbn(0), Fbn(1), Fbn(2)])?;
/// for tetris in volumes.finish()? {
///     // Write the runs of the tetris.
/// }
/// volumes.commit()?;
/// let before = volumes.image(volume)?.locate(lun, Fbn(1));
/// let snapshot = volumes.snapshot(volume)?;
///
/// volumes.begin(1)?;
/// volumes.write(volume, lun, Fbn(1))?;
/// // Drops the plan, in place of writing it.
/// volumes.discard_plan();
/// volumes.commit()?;
/// assert_ne!(volumes.image(volume)?.locate(lun, Fbn(1)), before);
/// assert_eq!(volumes.image_of(volume, snapshot)?.locate(lun, Fbn(1)), before);
/// assert_eq!(volumes.space_of(volume)?.snapshots, 1);
///
/// // Blocks that only the snapshot held are freed in bounded steps, and become free with the next commit.
/// volumes.delete_snapshot(volume, snapshot)?;
/// while volumes.background_step(1_000)? > 0 {}
/// assert_eq!(volumes.space_of(volume)?.snapshots, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Memory: for each mapped block, 8 bytes in the tree of its file and 8 in the container map. A snapshot shares the
/// tree nodes (64 entries) that have not changed since, and takes 8 bytes for each block that the active image has
/// dropped since.
#[derive(Debug)]
pub struct Volumes {
    pub(crate) aggregate: Aggregate<BlockSource>,
    pub(crate) volumes: BTreeMap<VolumeId, Volume>,
    /// The volumes that have a name, by it.
    pub(crate) names: BTreeMap<Arc<str>, VolumeId>,
    pub(crate) next_volume: u32,
    /// The number of the next deletion or destruction.
    pub(crate) next_teardown: u64,
    pub(crate) phase: Phase,
    pub(crate) jobs: VecDeque<TeardownJob>,
    /// Free blocks reserved for volumes.
    pub(crate) reserved: u64,
    pub(crate) withheld: Vec<Withheld>,
    /// Of a persistent store.
    pub(crate) metadata: Option<Box<Metadata>>,
}

impl Volumes {
    /// No volumes yet, in `aggregate`, and none of the maps to come is saved. Blocks already in use stay in use and are
    /// counted as [`elsewhere`](crate::Space::elsewhere).
    ///
    /// # Errors
    /// [`VolumeError::ConsistencyPointOpen`] if the aggregate has an open consistency point.
    pub fn new(aggregate: Aggregate<BlockSource>) -> Result<Self, VolumeError> {
        aggregate.scores()?;
        Ok(Self {
            aggregate,
            volumes: BTreeMap::new(),
            names: BTreeMap::new(),
            next_volume: 0,
            next_teardown: 1,
            phase: Phase::Closed,
            jobs: VecDeque::new(),
            reserved: 0,
            withheld: Vec::new(),
            metadata: None,
        })
    }

    /// Where the blocks of all volumes are allocated.
    #[must_use]
    pub fn aggregate(&self) -> &Aggregate<BlockSource> {
        &self.aggregate
    }

    /// Replaces the policy of one group with your own: see [`Aggregate::set_policy`]. A policy is not stored, so set it
    /// again after a mount.
    ///
    /// ```
    /// use strewn_alloc::{Aggregate, AggregateOptions, GroupIndex, PolicyName};
    /// use strewn_raid::{Parity, ParityGroup};
    /// use strewn_volume::Volumes;
    ///
    /// let group = ParityGroup::new(Parity::RaidDp, 4, 65_536)?;
    /// let mut volumes = Volumes::new(Aggregate::new([group], AggregateOptions::default())?)?;
    /// volumes.set_policy(GroupIndex(0), PolicyName::FirstFit.policy())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// During a consistency point; if there is no such group.
    pub fn set_policy(
        &mut self,
        group: GroupIndex,
        policy: Box<dyn Policy>,
    ) -> Result<(), VolumeError> {
        Ok(self.aggregate.set_policy(group, policy)?)
    }

    /// Adds an empty parity group to the aggregate, at any time.
    ///
    /// # Errors
    /// As [`Aggregate::add_group`].
    pub fn add_group(&mut self, group: ParityGroup) -> Result<GroupIndex, AggregateError> {
        self.aggregate.add_group(group)
    }

    /// The volumes, except those being destroyed.
    pub fn ids(&self) -> impl Iterator<Item = VolumeId> + '_ {
        self.volumes.iter().filter(|(_, volume)| !volume.is_destroyed).map(|(id, _)| *id)
    }

    /// Creates an empty volume with room for `blocks`, including those that only snapshots hold. The room is not
    /// reserved: volumes may together be larger than the aggregate.
    ///
    /// # Errors
    /// During a consistency point; if `blocks` is 0 or more than 2^40, or the system does not provide the memory for a
    /// bit for each of them; [`VolumeError::OutOfSpace`] if a persistent store has no room for its maps.
    pub fn create_volume(&mut self, blocks: u64) -> Result<VolumeId, VolumeError> {
        self.between_consistency_points()?;
        self.room_for_creation()?;
        check_blocks(blocks)?;
        let container = Container::new(0, blocks)?;
        Ok(self.insert(Volume::new(container)))
    }

    /// Creates a volume with the contents of `snapshot` of `volume`. It shares the blocks of the snapshot and has room
    /// for `blocks` of its own. O(1), plus a bit for each block of room. The snapshot cannot be deleted while the clone
    /// exists.
    ///
    /// # Errors
    /// During a consistency point; if there is no such snapshot; as [`create_volume`](Self::create_volume) because of
    /// `blocks` and of room.
    pub fn clone_volume(
        &mut self,
        volume: VolumeId,
        snapshot: SnapshotId,
        blocks: u64,
    ) -> Result<VolumeId, VolumeError> {
        self.between_consistency_points()?;
        self.room_for_creation()?;
        check_blocks(blocks)?;
        let parent = self.volume_mut(volume)?;
        let first_number = parent.container.end();
        let next_file = parent.next_file;
        let origin = parent.snapshots.get_mut(snapshot);
        let origin = origin.ok_or(VolumeError::NoSuchSnapshot(volume, snapshot))?;
        let mut clone = Volume::new(Container::new(first_number, blocks)?);
        origin.clones += 1;
        clone.origin = Some((volume, snapshot));
        clone.files = origin.files.clone();
        clone.mapped = origin.mapped;
        // No file of the clone gets a number that a file of the parent had.
        clone.next_file = next_file;
        Ok(self.insert(clone))
    }

    fn insert(&mut self, mut volume: Volume) -> VolumeId {
        let id = VolumeId(self.next_volume);
        self.next_volume += 1;
        if let Some(metadata) = &mut self.metadata {
            volume.container.record_changes();
            metadata.volume_created(id);
        }
        self.volumes.insert(id, volume);
        id
    }

    /// Destroys a volume and its snapshots. It disappears at once; [`background_step`](Self::background_step) frees its
    /// blocks.
    ///
    /// # Errors
    /// During a consistency point; if there is no such volume; if one of its snapshots has clones.
    pub fn destroy_volume(&mut self, id: VolumeId) -> Result<(), VolumeError> {
        self.between_consistency_points()?;
        let number = self.next_teardown;
        let volume = self.volume_mut(id)?;
        if let Some((of, origin)) = volume.snapshots.kept().find(|(_, one)| one.clones > 0) {
            return Err(VolumeError::HasClones(id, of, origin.clones));
        }
        volume.is_destroyed = true;
        volume.destruction = number;
        let reserved = std::mem::take(&mut volume.reserved);
        let name = volume.name.take();
        name.and_then(|name| self.names.remove(&name));
        self.reserved -= reserved;
        self.next_teardown += 1;
        self.jobs.push_back(TeardownJob::destroy(id));
        Ok(())
    }

    /// Takes a snapshot of the volume as of the last commit. O(1).
    ///
    /// # Errors
    /// During a consistency point; if there is no such volume; after 4,194,303 snapshots of it;
    /// [`VolumeError::OutOfSpace`] if a persistent store has no room for its maps.
    pub fn snapshot(&mut self, id: VolumeId) -> Result<SnapshotId, VolumeError> {
        self.between_consistency_points()?;
        self.room_for_creation()?;
        let volume = self.volume_mut(id)?;
        if volume.snapshots.time() >= LATEST_TIME {
            return Err(VolumeError::TooManySnapshots(id));
        }
        let (files, mapped) = (volume.files.clone(), volume.mapped);
        let snapshot = volume.snapshots.take(Snapshot { files, mapped, clones: 0, deletion: 0 });
        if let Some(metadata) = &mut self.metadata {
            metadata.snapshot_created(id, snapshot);
        }
        Ok(snapshot)
    }

    /// Deletes a snapshot. It disappears at once; [`background_step`](Self::background_step) frees the blocks that only
    /// it held.
    ///
    /// # Errors
    /// During a consistency point; if there is no such snapshot; if it has clones.
    pub fn delete_snapshot(
        &mut self,
        id: VolumeId,
        snapshot: SnapshotId,
    ) -> Result<(), VolumeError> {
        self.between_consistency_points()?;
        let number = self.next_teardown;
        let volume = self.volume_mut(id)?;
        let no_such_snapshot = VolumeError::NoSuchSnapshot(id, snapshot);
        match volume.snapshots.get(snapshot) {
            None => return Err(no_such_snapshot),
            Some(doomed) if doomed.clones > 0 => {
                return Err(VolumeError::HasClones(id, snapshot, doomed.clones));
            }
            Some(_) => {}
        }
        if let Some(doomed) = volume.snapshots.get_mut(snapshot) {
            doomed.deletion = number;
        }
        let deletion = volume.snapshots.delete(snapshot).ok_or(no_such_snapshot)?;
        self.next_teardown += 1;
        if let Some(metadata) = &mut self.metadata {
            metadata.snapshot_changed(id, snapshot);
        }
        self.jobs.push_back(TeardownJob::delete(id, deletion));
        Ok(())
    }

    /// The snapshots of `volume`, oldest first, except those being deleted.
    ///
    /// # Errors
    /// If there is no such volume.
    pub fn snapshots(
        &self,
        volume: VolumeId,
    ) -> Result<impl Iterator<Item = SnapshotId> + '_, VolumeError> {
        Ok(self.volume(volume)?.snapshots.kept().map(|(snapshot, _)| snapshot))
    }

    /// The snapshot that `volume` was cloned from, if any.
    ///
    /// # Errors
    /// If there is no such volume.
    pub fn origin(&self, volume: VolumeId) -> Result<Option<(VolumeId, SnapshotId)>, VolumeError> {
        Ok(self.volume(volume)?.origin)
    }

    /// Allows allocation again from areas whose cleaning has ended.
    pub(crate) fn release_abandoned_areas(&mut self) {
        let Self { aggregate, withheld, .. } = self;
        withheld.retain(|Withheld { token, areas }| {
            let is_cleaning = token.strong_count() > 0;
            for (group, area) in areas.iter().filter(|_| !is_cleaning) {
                aggregate.release_area(*group, *area);
            }
            is_cleaning
        });
    }

    pub(crate) fn between_consistency_points(&self) -> Result<(), VolumeError> {
        if self.phase == Phase::Closed { Ok(()) } else { Err(VolumeError::ConsistencyPointOpen) }
    }

    pub(crate) fn volume(&self, id: VolumeId) -> Result<&Volume, VolumeError> {
        let volume = self.volumes.get(&id).filter(|volume| !volume.is_destroyed);
        volume.ok_or(VolumeError::NoSuchVolume(id))
    }

    pub(crate) fn volume_mut(&mut self, id: VolumeId) -> Result<&mut Volume, VolumeError> {
        let volume = self.volumes.get_mut(&id).filter(|volume| !volume.is_destroyed);
        volume.ok_or(VolumeError::NoSuchVolume(id))
    }

    /// The volume that owns `number` of `volume`, and its entry there. O(generations of clones).
    pub(crate) fn resolve(
        &self,
        mut volume: VolumeId,
        number: VirtualVbn,
    ) -> Option<(VolumeId, Local, Entry)> {
        loop {
            let found = self.volumes.get(&volume)?;
            match found.container.local(number) {
                Some(local) => return Some((volume, local, found.container.get(local)?)),
                None => volume = found.origin?.0,
            }
        }
    }
}

/// Refuses sizes that a volume cannot have.
fn check_blocks(blocks: u64) -> Result<(), VolumeError> {
    let fits = (1..=MOST_BLOCKS).contains(&blocks);
    if fits { Ok(()) } else { Err(VolumeError::VolumeBlocks(blocks)) }
}
