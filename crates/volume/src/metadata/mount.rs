//! Mounting a persistent store.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use strewn_alloc::{
    Aggregate, AggregateError, AggregateOptions, MOST_BLOCKS, SavedScores, SummaryBitmap,
};
use strewn_raid::{ParityGroup, Vbn};

use super::array::ArrayRoot;
use super::damage::{Damage, VolumesMountError};
use super::encode::{ARRAY_WORDS, NAME_AT, NAME_WORDS, SNAPSHOT_WORDS, VOLUME_WORDS};
use super::load::{LoadedFiles, Loader, TreeLoader};
use super::page::{
    CONTAINER_ENTRIES, METADATA_BYTES, PAGE_WORDS, Page, PageBytes, PageKind, SNAPSHOT_RECORDS,
    pointer_from,
};
use super::root::{Root, checksum_of_shapes};
use super::{Metadata, VolumePages, free_map_pages, page_of_nodes};
use crate::container::{Container, Entry, LATEST_TIME};
use crate::dead_lists::DeadLists;
use crate::flexible::{Snapshot, Volume};
use crate::names::{BlockSource, MOST_NAME_BYTES, SnapshotId, VirtualVbn, VolumeId};
use crate::teardown::TeardownJob;
use crate::volumes::{Phase, Volumes};

impl Volumes {
    /// Mounts a [`persistent`](Self::persistent) store as the commit of `root` left it. `read` reads the first 4 KiB of
    /// a block. `groups` are those of the aggregate; more may follow, which are added empty.
    ///
    /// Everything that was durable with that commit is there, and answers as it did. What is not: how far deletions of
    /// snapshots and volumes had come, which begin again with what they had not freed; cleanings, which have ended; and
    /// where the allocator had come to, so that it begins as after [`Aggregate::mount`]. Two mounts of one root
    /// allocate alike.
    ///
    /// Reads all metadata, level by level, in the order of their VBNs. O(blocks of active images) of time, plus
    /// O(blocks / 64) to count free blocks. What it does not compare is whether snapshots hold what they should:
    /// [`verify`](Self::verify) does.
    ///
    /// # Errors
    /// [`VolumesMountError`] if the options or groups are not those of the store, a page cannot be read, or the
    /// metadata are damaged.
    pub fn mount<E>(
        groups: impl IntoIterator<Item = ParityGroup>,
        options: AggregateOptions,
        root: &Root,
        read: impl FnMut(Vbn, &mut [u8; METADATA_BYTES]) -> Result<(), E>,
    ) -> Result<Self, VolumesMountError<E>> {
        Self::mount_with(groups, options, root, read, !cfg!(fuzzing))
    }

    pub(super) fn mount_with<E>(
        groups: impl IntoIterator<Item = ParityGroup>,
        options: AggregateOptions,
        root: &Root,
        read: impl FnMut(Vbn, &mut PageBytes) -> Result<(), E>,
        checks: bool,
    ) -> Result<Self, VolumesMountError<E>> {
        options.shape.check()?;
        let groups: Vec<ParityGroup> = groups.into_iter().collect();
        let known = groups.get(..root.groups as usize).unwrap_or_default();
        if known.is_empty() || checksum_of_shapes(known) != root.shapes {
            return Err(VolumesMountError::OtherGroups);
        }
        let given = options.block_size.bytes();
        if given != u64::from(root.block_bytes) {
            return Err(VolumesMountError::OtherBlockSize { stored: root.block_bytes, given });
        }
        let blocks = known.iter().map(ParityGroup::total_blocks);
        let total_blocks = blocks.fold(0, u64::saturating_add);
        if total_blocks > MOST_BLOCKS {
            return Err(AggregateError::TooManyBlocks(total_blocks).into());
        }
        let consistency_points = root.consistency_points;
        let used = SummaryBitmap::new(total_blocks);
        let mut loader = Loader { read, consistency_points, total_blocks, used, checks };
        let mut metadata = Metadata { application: root.application, ..Metadata::default() };

        let mut trees = TreeLoader::default();
        metadata.nodes =
            loader.array((PageKind::Nodes, 0), root.nodes, total_blocks, |index, page| {
                trees.pages.insert(index, page);
            })?;
        let mut records = BTreeMap::new();
        let most_volumes = root.next_volume.into();
        metadata.volumes =
            loader.array((PageKind::Volumes, 0), root.volumes, most_volumes, |index, page| {
                records.insert(VolumeId(index as u32), page);
            })?;
        let mut mount =
            Mount { volumes: BTreeMap::new(), names: BTreeMap::new(), jobs: Vec::new(), trees };
        for (id, page) in records {
            let pages = mount.volume(id, &page, &mut loader)?;
            metadata.of_volumes.insert(id, pages);
        }
        mount.check_origins()?;
        mount.volumes.keys().try_for_each(|id| mount.check_active_image(*id))?;
        // Pages of nodes that only snapshots being deleted had.
        let nodes = metadata
            .nodes
            .pages()
            .filter(|(level, index, _)| *level == 0 && !mount.trees.ids.is_used(*index));
        metadata.changed = nodes.map(|(_, index, _)| page_of_nodes(index)).collect();
        metadata.node_ids = mount.trees.ids;

        let delayed_pages = total_blocks.div_ceil(PAGE_WORDS);
        let list = &mut metadata.delayed_list;
        let of_delayed = (PageKind::DelayedFrees, 0);
        metadata.delayed_frees =
            loader.array(of_delayed, root.delayed_frees, delayed_pages, |index, page| {
                put_words(list, index, &page);
            })?;
        let delayed = list.iter().filter_map(|entry| entry.checked_sub(1).map(Vbn));
        let delayed: Vec<Vbn> = delayed.collect();
        delayed.iter().try_for_each(|vbn| loader.claim(*vbn))?;
        let mut aggregate = mount_aggregate(&mut loader, &mut metadata, known, options, root)?;
        if let Some(vbn) = loader.used.iter().map(Vbn).find(|vbn| aggregate.is_free(*vbn)) {
            return Err(Damage::NotInUse(vbn).into());
        }
        // All of them exist, are in use, and are there once.
        let resumed = aggregate.resume_delayed_frees(&delayed);
        assert!(resumed.is_ok(), "delayed frees: {resumed:?}");
        let reserved = mount.volumes.values().map(|volume| volume.reserved);
        let reserved = reserved.fold(0, u64::saturating_add);
        if reserved > aggregate.free_blocks() {
            return Err(Damage::Reserved(reserved, aggregate.free_blocks()).into());
        }
        for group in &groups[known.len()..] {
            aggregate.add_group(*group)?;
        }
        metadata.root = Some(root.clone());
        metadata.committed_pages = metadata.page_count();
        mount.jobs.sort_by_key(|(number, _)| *number);
        let last_job = mount.jobs.last().map_or(0, |(number, _)| *number);
        Ok(Self {
            aggregate,
            volumes: mount.volumes,
            names: mount.names,
            next_volume: root.next_volume,
            next_teardown: root.next_teardown.max(last_job.saturating_add(1)),
            phase: Phase::Closed,
            jobs: mount.jobs.into_iter().map(|(_, job)| job).collect::<VecDeque<_>>(),
            reserved,
            withheld: Vec::new(),
            metadata: Some(Box::new(metadata)),
        })
    }
}

/// Puts the words of page `index` of a map at their places.
fn put_words(words: &mut Vec<u64>, index: u64, page: &Page) {
    let first = (index * PAGE_WORDS) as usize;
    if words.len() < first + PAGE_WORDS as usize {
        words.resize(first + PAGE_WORDS as usize, 0);
    }
    (0..).zip(&mut words[first..][..PAGE_WORDS as usize]).for_each(|(index, word)| {
        *word = page.word(index);
    });
}

fn mount_aggregate<E, F: FnMut(Vbn, &mut PageBytes) -> Result<(), E>>(
    loader: &mut Loader<F>,
    metadata: &mut Metadata,
    groups: &[ParityGroup],
    options: AggregateOptions,
    root: &Root,
) -> Result<Aggregate<BlockSource>, VolumesMountError<E>> {
    let first_pages = free_map_pages(groups.iter());
    let all_pages = first_pages[groups.len()];
    let size =
        |group: &ParityGroup| group.stripes().div_ceil(64) * u64::from(group.data_spindles());
    let mut maps: Vec<Vec<u64>> = groups
        .iter()
        .map(|group| strewn_base::memory::zeroed_words(size(group) as usize))
        .collect();
    let array =
        loader.array((PageKind::FreeMaps, 0), root.free_maps, all_pages, |index, page| {
            let group = first_pages.partition_point(|first| *first <= index) - 1;
            let first = (index - first_pages[group]) * PAGE_WORDS;
            let words = maps[group].iter_mut().skip(first as usize);
            (0..PAGE_WORDS).zip(words).for_each(|(index, word)| *word = page.word(index));
        })?;
    metadata.free_maps = array;
    let points = root.consistency_points;
    let with_words = groups.iter().copied().zip(maps.iter().map(Vec::as_slice));
    let scores = SavedScores::counted(points, options.shape.area_stripes, with_words);
    Ok(Aggregate::mount(groups.iter().copied().zip(maps), options, points, scores)?)
}

/// Volumes as far as they are mounted.
struct Mount {
    volumes: BTreeMap<VolumeId, Volume>,
    names: BTreeMap<Arc<str>, VolumeId>,
    /// Deletions and destructions, by number.
    jobs: Vec<(u64, TeardownJob)>,
    trees: TreeLoader,
}

impl Mount {
    /// Mounts one volume. Those with lower numbers are mounted.
    fn volume<E, F: FnMut(Vbn, &mut PageBytes) -> Result<(), E>>(
        &mut self,
        id: VolumeId,
        page: &Page,
        loader: &mut Loader<F>,
    ) -> Result<VolumePages, VolumesMountError<E>> {
        let damaged = |what| Damage::Volume(id, what);
        let name = name_on(page).map_err(damaged)?;
        let name_words = 1 + name.len().div_ceil(8) as u64;
        let words = (0..VOLUME_WORDS).chain(NAME_AT..NAME_AT + name_words);
        let record: Vec<u64> = words.map(|word| page.word(word)).collect();
        let &[first, size, origin, origin_snapshot, next_file, reserved, time, destruction, ..] =
            &record[..]
        else {
            return Err(damaged("its record is cut off").into());
        };
        let time = u32::try_from(time).ok().filter(|time| (1..=LATEST_TIME).contains(time));
        let time = time.ok_or(damaged("has had more snapshots than can be"))?;
        let parent = u32::try_from(origin).ok().and_then(|origin| origin.checked_sub(1));
        let snapshot = u32::try_from(origin_snapshot).map_err(|_| damaged("no such origin"))?;
        let origin = parent.map(|parent| (VolumeId(parent), SnapshotId(snapshot)));
        // Volumes are mounted in their order, and a clone comes after its origin.
        let expected = match origin {
            None => (record[2] == 0).then_some(0),
            Some((parent, _)) => self.volumes.get(&parent).map(|parent| parent.container.end()),
        };
        if expected != Some(first) || first.checked_add(size).is_none_or(|end| end >= 1 << 62) {
            return Err(damaged("its block numbers are not its own").into());
        }
        if !(1..=MOST_BLOCKS).contains(&size) {
            return Err(damaged("has a size that no volume has").into());
        }
        // Three maps of a bit a number. Memory that is missing is no reason to end the program.
        let too_large = damaged("has more block numbers than there is memory for");
        if !memory_has_room(size.div_ceil(64).saturating_mul(3)) {
            return Err(too_large.into());
        }
        let mut volume = Volume::new(Container::new(first, size)?);
        volume.container.record_changes();
        volume.origin = origin;
        (volume.next_file, volume.reserved) = (next_file, reserved);
        (volume.is_destroyed, volume.destruction) = (destruction > 0, destruction);
        // Its destruction took its reservation back.
        if volume.is_destroyed && reserved > 0 {
            return Err(damaged("is destroyed, and blocks are promised to it").into());
        }
        if !name.is_empty() {
            let name: Arc<str> = name.into();
            let taken = self.names.insert(Arc::clone(&name), id).is_some();
            if volume.is_destroyed || taken {
                return Err(damaged("has a name that cannot be its own").into());
            }
            volume.name = Some(name);
        }

        let mut snapshots = BTreeMap::new();
        // A destroyed volume whose blocks are freed has forgotten its time.
        let latest = if volume.is_destroyed { LATEST_TIME } else { time - 1 };
        let pages = u64::from(latest).div_ceil(SNAPSHOT_RECORDS);
        let of_snapshots = array_root(page, VOLUME_WORDS + ARRAY_WORDS);
        let snapshots_array =
            loader.array((PageKind::Snapshots, id.0), of_snapshots, pages, |index, page| {
                for record in 0..SNAPSHOT_RECORDS {
                    let word = |word| page.word(record * SNAPSHOT_WORDS + word);
                    if let Some(deletion) = word(0).checked_sub(1) {
                        let time = index * SNAPSHOT_RECORDS + record + 1;
                        snapshots.insert(time, [deletion, word(1), word(2)]);
                    }
                }
            })?;
        if !volume.is_destroyed {
            let mut restored = Vec::new();
            let mut numbers = Vec::new();
            for (taken, record) in snapshots {
                if taken >= time.into() {
                    return Err(damaged("has a snapshot of the future").into());
                }
                let snapshot = self.snapshot(id, next_file, record)?;
                let is_deleted = snapshot.deletion > 0;
                numbers.extend(is_deleted.then_some(snapshot.deletion));
                restored.push((taken as u32, is_deleted, snapshot));
            }
            let (lists, deletions) = DeadLists::restored(time, restored);
            let jobs = deletions.into_iter().map(|deletion| TeardownJob::delete(id, deletion));
            self.jobs.extend(numbers.into_iter().zip(jobs));
            volume.snapshots = lists;
            let LoadedFiles { files, mapped, last } = self.trees.files(record[8], record[9])?;
            if last.is_some_and(|last| last >= next_file) {
                return Err(damaged("has a file that was never created").into());
            }
            (volume.files, volume.mapped) = (files, mapped);
        } else {
            volume.snapshots = DeadLists::restored(time, []).0;
            self.jobs.push((destruction, TeardownJob::destroy(id)));
        }

        let pages = size.div_ceil(CONTAINER_ENTRIES);
        let mut entries = Vec::new();
        let of_container = array_root(page, VOLUME_WORDS);
        let container =
            loader.array((PageKind::Container, id.0), of_container, pages, |index, page| {
                let all = (0..CONTAINER_ENTRIES).map(|slot| (slot, page.word(slot)));
                entries.extend(all.filter(|(_, bits)| *bits != 0).map(|(slot, bits)| {
                    let death = page.half_word(CONTAINER_ENTRIES, slot);
                    (index * CONTAINER_ENTRIES + slot, bits, death)
                }));
            })?;
        entries.sort_unstable();
        if !memory_has_room(entries.last().map_or(0, |(last, ..)| *last)) {
            return Err(too_large.into());
        }
        for (local, bits, death) in entries {
            let entry = Entry::from_bits(bits).filter(|entry| entry.birth() <= time);
            let entry = entry.ok_or(damaged("has a block that was never written"))?;
            loader.claim(entry.vbn())?;
            if !volume.container.restore(local, entry, death) {
                return Err(damaged("has a block number past the end").into());
            }
            if death > 0
                && !volume.is_destroyed
                && !volume.snapshots.restore(entry.birth(), death, local)
            {
                return Err(damaged("has a block that no snapshot holds").into());
            }
        }
        volume.container.forget_changes();
        self.volumes.insert(id, volume);
        Ok(VolumePages { container, snapshots: snapshots_array, record })
    }

    fn snapshot(
        &mut self,
        id: VolumeId,
        next_file: u64,
        [deletion, root, levels]: [u64; 3],
    ) -> Result<Snapshot, Damage> {
        // Nothing reads the files of a snapshot being deleted.
        let root = if deletion > 0 { 0 } else { root };
        let LoadedFiles { files, mapped, last } = self.trees.files(root, levels)?;
        if last.is_some_and(|last| last >= next_file) {
            return Err(Damage::Volume(id, "has a file that was never created"));
        }
        Ok(Snapshot { files, mapped, clones: 0, deletion })
    }

    /// Counts the clones of snapshots, which must exist.
    fn check_origins(&mut self) -> Result<(), Damage> {
        let origins: Vec<_> =
            self.volumes.iter().filter_map(|(id, volume)| Some((*id, volume.origin?))).collect();
        for (id, (parent, snapshot)) in origins {
            let parent = self.volumes.get_mut(&parent).filter(|parent| !parent.is_destroyed);
            let origin = parent.and_then(|parent| parent.snapshots.get_mut(snapshot));
            let origin = origin.ok_or(Damage::Volume(id, "its origin does not exist"))?;
            origin.clones += 1;
        }
        Ok(())
    }

    /// Checks that each block of the active image exists and is there once, and that each block of the volume is in it
    /// or on a dead list.
    fn check_active_image(&self, id: VolumeId) -> Result<(), Damage> {
        let Some(volume) = self.volumes.get(&id).filter(|volume| !volume.is_destroyed) else {
            return Ok(());
        };
        let container = &volume.container;
        if volume.mapped > container.end() {
            return Err(Damage::Volume(id, "has more blocks than numbers"));
        }
        let mut seen = SummaryBitmap::new(container.size());
        for (_, inode) in volume.files.iter_from(0) {
            for (_, slot) in inode.blocks.iter_from(0) {
                let number = VirtualVbn::from(*slot);
                let Some(local) = container.local(number) else {
                    self.resolve(id, number).ok_or(Damage::Volume(id, "a file lost a block"))?;
                    continue;
                };
                let is_alive = container.get(local).is_some() && container.death(local) == 0;
                if !is_alive || !seen.insert(local) {
                    return Err(Damage::Volume(id, "a file has a block of another"));
                }
            }
        }
        if seen.count() + volume.snapshots.blocks() != container.blocks() {
            return Err(Damage::Volume(id, "a block belongs to no file"));
        }
        Ok(())
    }

    /// The block that volume `id` inherits under `number`.
    fn resolve(&self, id: VolumeId, number: VirtualVbn) -> Option<Entry> {
        let mut volume = self.volumes.get(&id)?;
        loop {
            match volume.container.local(number) {
                Some(local) => return volume.container.get(local),
                None => volume = self.volumes.get(&volume.origin?.0)?,
            }
        }
    }
}

/// Whether so many words of zeros can be had.
fn memory_has_room(words: u64) -> bool {
    let words = usize::try_from(words);
    words.is_ok_and(|words| Vec::<u64>::new().try_reserve_exact(words).is_ok())
}

/// The name on the page of a volume; empty if it has none.
fn name_on(page: &Page) -> Result<String, &'static str> {
    let length = page.word(NAME_AT);
    if length > MOST_NAME_BYTES as u64 {
        return Err("has a longer name than can be");
    }
    let words = (1..=NAME_WORDS).flat_map(|word| page.word(NAME_AT + word).to_le_bytes());
    let bytes: Vec<u8> = words.take(length as usize).collect();
    String::from_utf8(bytes).map_err(|_| "has a name that is not UTF-8")
}

fn array_root(page: &Page, word: u64) -> ArrayRoot {
    let top = pointer_from([page.word(word + 1), page.word(word + 2)]);
    ArrayRoot { levels: u8::try_from(page.word(word)).unwrap_or(u8::MAX), top }
}
