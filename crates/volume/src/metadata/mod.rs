//! The metadata of a persistent store: all maps as pages, which consistency points place as they place data.
//!
//! Nothing has a fixed place. A consistency point gives every page that changed a new block and frees the old one; that
//! changes free maps and the pages that lead to the page, which get new blocks too, until nothing new changes. The
//! [`Root`] leads to all pages, and pointers carry checksums. Free maps are saved as the commit leaves them.
//!
//! Files are in trees that snapshots and clones share, so their nodes are saved as they are in memory ([`nodes`]). All
//! other maps are arrays ([`array`]). A dead list is not saved, nor is how far a deletion has come: each container map
//! entry has the time at which its block left the active image, which tells the list.

mod array;
mod damage;
mod encode;
mod load;
mod mount;
mod nodes;
mod page;
mod place;
mod root;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use strewn_alloc::{Aggregate, GroupIndex, OutOfSpace};
use strewn_raid::{ParityGroup, Vbn};

use self::array::PageArray;
use self::nodes::{NodeIds, page_of_nodes};
use self::page::{CONTAINER_ENTRIES as ENTRIES, PAGE_WORDS, PageKind, SNAPSHOT_RECORDS};
use self::place::Placement;
use super::container::free_owned_block;
use super::error::VolumeError;
use super::flexible::Files;
use super::names::{BlockSource, MetadataPage, NodeId, SnapshotId, VolumeId};
use super::teardown::{drop_nodes, roots_of};
use super::volumes::Volumes;

pub use damage::{Damage, VolumesMountError};
pub use page::{METADATA_BYTES, PageName};
pub use root::{APPLICATION_BYTES, Root};

/// Entries of a page of a container map.
pub(crate) const CONTAINER_ENTRIES: u64 = ENTRIES;
/// The fewest free blocks kept for metadata: what a consistency point writes that changes little.
const LEAST_RESERVE: u64 = 64;
/// The share of the aggregate that is kept otherwise. Container maps and trees take 20 bytes a block, with nodes half
/// used a hundredth of the data, and all of them may change at once.
const RESERVE_SHARE: u64 = 32;
/// Blocks beyond those of all pages that a consistency point leaves which writes blocks. Others may take half of them:
/// freeing a few blocks can take more pages than it frees blocks.
const SLACK: u64 = 16;
/// Blocks that a new volume or snapshot may take: for its record and the page that leads to it, which are written once
/// and then anew.
const BLOCKS_OF_CREATION: u64 = 4;

/// Where the metadata of a persistent store lie, and what has changed in them.
#[derive(Debug, Default)]
pub(crate) struct Metadata {
    nodes: PageArray,
    volumes: PageArray,
    delayed_frees: PageArray,
    free_maps: PageArray,
    of_volumes: BTreeMap<VolumeId, VolumePages>,
    node_ids: NodeIds,
    /// The delayed frees as they are saved: VBNs plus one, and zeros.
    delayed_list: Vec<u64>,
    /// Pages that have changed since the last commit, besides those of container maps.
    changed: BTreeSet<PageName>,
    /// The open consistency point, once it is finished.
    placement: Option<Placement>,
    /// The root of the last commit.
    root: Option<Root>,
    /// Pages as of the last commit.
    committed_pages: u64,
    /// Volumes and snapshots made since the last commit.
    created: u64,
    /// Blocks that were too few to write every page anew when the open consistency point began.
    lacking_at_begin: u64,
    /// What the next root carries for the application.
    application: [u8; APPLICATION_BYTES],
}

/// The maps of a volume.
#[derive(Debug, Default)]
struct VolumePages {
    container: PageArray,
    snapshots: PageArray,
    /// What is saved of the volume itself.
    record: Vec<u64>,
}

/// The page that describes `snapshot`.
fn page_of_snapshot(volume: VolumeId, snapshot: SnapshotId) -> PageName {
    // Times begin at 1.
    let index = u64::from(snapshot.0 - 1) / SNAPSHOT_RECORDS;
    PageName { kind: PageKind::Snapshots, volume: volume.0, level: 0, index }
}

fn page_of_volume(volume: VolumeId) -> PageName {
    PageName { kind: PageKind::Volumes, volume: 0, level: 0, index: volume.0.into() }
}

/// The first page of the free map of each group, and the number of pages.
fn free_map_pages<'a>(groups: impl Iterator<Item = &'a ParityGroup>) -> Vec<u64> {
    let mut pages = vec![0];
    for group in groups {
        let words = group.stripes().div_ceil(64) * u64::from(group.data_spindles());
        let first = pages[pages.len() - 1];
        pages.push(first + words.div_ceil(PAGE_WORDS));
    }
    pages
}

impl Metadata {
    fn array(&self, page: PageName) -> Option<&PageArray> {
        let of_volume = || self.of_volumes.get(&VolumeId(page.volume));
        match page.kind {
            PageKind::Nodes => Some(&self.nodes),
            PageKind::Container => of_volume().map(|pages| &pages.container),
            PageKind::Snapshots => of_volume().map(|pages| &pages.snapshots),
            PageKind::Volumes => Some(&self.volumes),
            PageKind::DelayedFrees => Some(&self.delayed_frees),
            PageKind::FreeMaps => Some(&self.free_maps),
        }
    }

    fn array_mut(&mut self, page: PageName) -> Option<&mut PageArray> {
        let Self { of_volumes, nodes, volumes, delayed_frees, free_maps, .. } = self;
        let of_volume = of_volumes.get_mut(&VolumeId(page.volume));
        match page.kind {
            PageKind::Nodes => Some(nodes),
            PageKind::Container => of_volume.map(|pages| &mut pages.container),
            PageKind::Snapshots => of_volume.map(|pages| &mut pages.snapshots),
            PageKind::Volumes => Some(volumes),
            PageKind::DelayedFrees => Some(delayed_frees),
            PageKind::FreeMaps => Some(free_maps),
        }
    }

    fn arrays(&self) -> impl Iterator<Item = (PageKind, u32, &PageArray)> {
        let shared = [
            (PageKind::Nodes, 0, &self.nodes),
            (PageKind::Volumes, 0, &self.volumes),
            (PageKind::DelayedFrees, 0, &self.delayed_frees),
            (PageKind::FreeMaps, 0, &self.free_maps),
        ];
        let of_volumes = self.of_volumes.iter().flat_map(|(id, pages)| {
            let VolumePages { container, snapshots, .. } = pages;
            [(PageKind::Container, id.0, container), (PageKind::Snapshots, id.0, snapshots)]
        });
        shared.into_iter().chain(of_volumes)
    }

    /// How many pages there are.
    fn page_count(&self) -> u64 {
        self.arrays().map(|(_, _, array)| array.len()).sum()
    }

    /// What all pages take, with those of what was made since the last commit.
    fn blocks_of_all_pages(&self) -> u64 {
        self.committed_pages + BLOCKS_OF_CREATION * self.created
    }

    /// All pages, with the blocks that hold them.
    pub(crate) fn pages(&self) -> impl Iterator<Item = (PageName, Vbn)> {
        self.arrays().flat_map(|(kind, volume, array)| {
            array.pages().map(move |(level, index, pointer)| {
                (PageName { kind, volume, level, index }, pointer.vbn)
            })
        })
    }

    /// Whether the open consistency point has been finished.
    pub(crate) fn is_placed(&self) -> bool {
        self.placement.as_ref().is_some_and(|placement| placement.root.is_some())
    }

    pub(crate) fn volume_created(&mut self, id: VolumeId) {
        self.created += 1;
        self.of_volumes.insert(id, VolumePages::default());
    }

    pub(crate) fn snapshot_created(&mut self, id: VolumeId, snapshot: SnapshotId) {
        self.created += 1;
        self.snapshot_changed(id, snapshot);
    }

    pub(crate) fn snapshot_changed(&mut self, id: VolumeId, snapshot: SnapshotId) {
        self.changed.insert(page_of_snapshot(id, snapshot));
    }

    /// A volume has been taken apart: its pages become free with the next commit.
    pub(crate) fn volume_gone(&mut self, id: VolumeId, aggregate: &mut Aggregate<BlockSource>) {
        let Some(VolumePages { container, snapshots, .. }) = self.of_volumes.remove(&id) else {
            return;
        };
        for (_, _, pointer) in container.pages().chain(snapshots.pages()) {
            free_owned_block(aggregate, pointer.vbn);
        }
        self.changed.insert(page_of_volume(id));
    }

    pub(crate) fn node_dropped(&mut self, id: NodeId) {
        if let Some(page) = self.node_ids.node_dropped(id) {
            self.changed.insert(page_of_nodes(page));
        }
    }

    fn drop_files(&mut self, files: Vec<Files>) {
        let mut roots: Vec<_> = files.into_iter().flat_map(roots_of).collect();
        drop_nodes(&mut roots, u64::MAX, |id| self.node_dropped(id));
    }
}

impl Volumes {
    /// No volumes yet, in `aggregate`, with all maps saved: each consistency point also writes the pages of the maps
    /// that have changed, and a [`Root`] leads to them. [`mount`](Self::mount) reads them back.
    ///
    /// The order of a consistency point: [`begin`](Self::begin), changes, [`finish`](Self::finish); write the plan, and
    /// make it durable; write the [`root`](Self::root), and make it durable; [`commit`](Self::commit).
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use strewn_alloc::{Aggregate, AggregateOptions};
    /// use strewn_volume::{BlockSource, Fbn, METADATA_BYTES, Root, Volumes};
    /// use strewn_raid::{Parity, ParityGroup, Vbn};
    ///
    /// let (group, options) = (ParityGroup::new(Parity::RaidDp, 4, 65_536)?, AggregateOptions::default());
    /// let mut volumes = Volumes::persistent(Aggregate::new([group], options)?)?;
    /// // What would be spindles. Only blocks of metadata are kept here.
    /// let mut blocks: HashMap<Vbn, [u8; METADATA_BYTES]> = HashMap::new();
    ///
    /// let volume = volumes.create_volume(100_000)?;
    /// volumes.begin(1_000)?;
    /// let lun = volumes.create_file(volume)?;
    /// volumes.write_all(volume, lun, &Vec::from_iter((0..1_000).map(Fbn)))?;
    /// for tetris in volumes.finish()? {
    ///     for (vbn, source) in volumes.aggregate().blocks_of(&tetris) {
    ///         if let BlockSource::Metadata(page) = source {
    ///             let bytes = volumes.metadata_page(page).ok_or("a page of this plan")?;
    ///             blocks.insert(vbn, *bytes);
    ///         }
    ///     }
    /// }
    /// // Everything is durable: then the root is written.
    /// let superblock: [u8; Root::BYTES] = volumes.root().ok_or("finished")?.to_bytes();
    /// volumes.commit()?;
    ///
    /// let root = Root::from_bytes(&superblock)?;
    /// let mounted = Volumes::mount([group], options, &root, |vbn, bytes| match blocks.get(&vbn) {
    ///     Some(found) => Ok(bytes.copy_from_slice(found)),
    ///     None => Err("never written"),
    /// })?;
    /// assert_eq!(mounted.space(), volumes.space());
    /// assert_eq!(mounted.image(volume)?.locate(lun, Fbn(7)), volumes.image(volume)?.locate(lun, Fbn(7)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`VolumeError::BlockTooSmall`] if a block is smaller than a page of metadata (4 KiB);
    /// [`VolumeError::ConsistencyPointOpen`] if the aggregate has an open consistency point.
    pub fn persistent(aggregate: Aggregate<BlockSource>) -> Result<Self, VolumeError> {
        let bytes = aggregate.options().block_size.bytes();
        if bytes < METADATA_BYTES as u64 {
            return Err(VolumeError::BlockTooSmall { bytes });
        }
        let mut metadata = Metadata::default();
        let groups = aggregate.free_maps().map(|map| map.group());
        let first_pages = free_map_pages(groups);
        for (map, first) in aggregate.free_maps().zip(first_pages) {
            let pages = map.words().chunks(PAGE_WORDS as usize);
            let used =
                (first..).zip(pages).filter(|(_, words)| words.iter().any(|word| *word != 0));
            let names = used.map(|(index, _)| free_map_page(index));
            metadata.changed.extend(names);
        }
        let mut volumes = Self::new(aggregate)?;
        volumes.metadata = Some(Box::new(metadata));
        Ok(volumes)
    }

    /// The root of a persistent store: of the consistency point being written, from [`finish`](Self::finish) to
    /// [`commit`](Self::commit), otherwise of the last commit. `None` before the first, and if the store is not
    /// persistent.
    #[must_use]
    pub fn root(&self) -> Option<&Root> {
        let metadata = self.metadata.as_ref()?;
        let finished = metadata.placement.as_ref().and_then(|placement| placement.root.as_ref());
        finished.or(metadata.root.as_ref())
    }

    /// Sets the bytes that the next roots carry for the application, such as the place of a superblock of its own. They
    /// become current with the next commit, together with all else that changed, also if a consistency point is
    /// abandoned before it.
    ///
    /// ```
    /// # use strewn_alloc::{Aggregate, AggregateOptions};
    /// # use strewn_raid::{Parity, ParityGroup};
    /// # use strewn_volume::{Root, Volumes};
    /// # let group = ParityGroup::new(Parity::RaidDp, 4, 65_536)?;
    /// let mut volumes = Volumes::persistent(Aggregate::new([group], AggregateOptions::default())?)?;
    /// volumes.begin(0)?;
    /// volumes.set_application_bytes(*b"catalog of fish, file 3, v. 0017")?;
    /// volumes.finish()?;
    /// // A store writes the plan and the root, and then commits.
    /// let superblock = volumes.root().ok_or("finished")?.to_bytes();
    /// volumes.commit()?;
    /// assert_eq!(&Root::from_bytes(&superblock)?.application_bytes()[..7], b"catalog");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`VolumeError::NotPersistent`] if the store has no root; [`VolumeError::Finished`] once the consistency point is
    /// finished.
    pub fn set_application_bytes(
        &mut self,
        bytes: [u8; APPLICATION_BYTES],
    ) -> Result<(), VolumeError> {
        let metadata = self.metadata.as_mut().ok_or(VolumeError::NotPersistent)?;
        if metadata.is_placed() {
            return Err(VolumeError::Finished);
        }
        metadata.application = bytes;
        Ok(())
    }

    /// The bytes of a page in the write plan, until the commit.
    #[must_use]
    pub fn metadata_page(&self, page: MetadataPage) -> Option<&[u8; METADATA_BYTES]> {
        let placement = self.metadata.as_ref()?.placement.as_ref()?;
        placement.pages.get(page.0 as usize).map(|page| page.bytes())
    }

    /// Pages of metadata in the write plan of the open consistency point, once it is finished.
    #[must_use]
    pub fn metadata_pages(&self) -> u64 {
        let placement = self.metadata.as_ref().and_then(|metadata| metadata.placement.as_ref());
        placement.map_or(0, |placement| placement.pages.len() as u64)
    }

    /// Blocks that hold metadata.
    pub(crate) fn metadata_blocks(&self) -> u64 {
        self.metadata.as_ref().map_or(0, |metadata| metadata.page_count())
    }

    /// Free blocks that only metadata may take: for all pages, which a consistency point that frees blocks may change,
    /// and for the old places of as many, the frees of which its commit may delay.
    pub(crate) fn metadata_reserve(&self) -> u64 {
        let Some(metadata) = &self.metadata else { return 0 };
        let share = self.aggregate.total_blocks() / RESERVE_SHARE;
        let all_pages = metadata.blocks_of_all_pages() + SLACK;
        let delayed_frees = self.aggregate.options().delayed_frees;
        share.max(LEAST_RESERVE).max(all_pages).saturating_add(delayed_frees)
    }

    /// Refuses a new volume or snapshot whose pages would leave too little to free blocks: no consistency point that is
    /// abandoned takes it back.
    pub(crate) fn room_for_creation(&self) -> Result<(), VolumeError> {
        let Some(metadata) = &self.metadata else { return Ok(()) };
        let pages = metadata.blocks_of_all_pages() + BLOCKS_OF_CREATION;
        // What is freed meanwhile can be allocated only after the commit that has to write them.
        let free = self.aggregate.free_blocks().saturating_sub(self.reserved);
        let now = OutOfSpace { needed: pages + SLACK, free };
        let too_little =
            [now, self.room_with(pages)].into_iter().find(|room| room.needed > room.free);
        too_little.map_or(Ok(()), |room| Err(room.into()))
    }

    /// What the store needs to write each of `pages` anew, which freeing blocks may take, and what it has. Blocks that
    /// are freed count, as a commit delays no more frees than it may.
    fn room_with(&self, pages: u64) -> OutOfSpace {
        let counts = self.aggregate.counts();
        let free = counts.free + counts.freed_at_commit + counts.held_back;
        OutOfSpace {
            needed: (pages + SLACK).saturating_add(self.aggregate.options().delayed_frees),
            free: free.saturating_sub(self.reserved),
        }
    }

    /// A consistency point begins.
    pub(crate) fn begin_metadata(&mut self) {
        let Some(pages) = self.metadata.as_ref().map(|metadata| metadata.blocks_of_all_pages())
        else {
            return;
        };
        let room = self.room_with(pages);
        if let Some(metadata) = &mut self.metadata {
            metadata.lacking_at_begin = room.needed.saturating_sub(room.free);
        }
    }

    /// The consistency point is committed; `files` are those of each volume before it.
    pub(crate) fn commit_metadata(&mut self, files: Vec<Files>) {
        let Some(metadata) = &mut self.metadata else { return };
        let Some(placement) = metadata.placement.take() else { return };
        for volume in self.volumes.values_mut() {
            volume.container.forget_changes();
        }
        metadata.changed.clear();
        metadata.created = 0;
        metadata.committed_pages = metadata.page_count();
        metadata.delayed_list = placement.delayed_list;
        for (id, record) in placement.records {
            metadata.of_volumes.entry(id).or_default().record = record;
        }
        metadata.root = placement.root;
        metadata.drop_files(files);
    }

    /// The consistency point is abandoned; `files` are those that it leaves. What has changed since the last commit is
    /// written with the next.
    pub(crate) fn abandon_metadata(&mut self, files: Vec<Files>) {
        let Some(metadata) = &mut self.metadata else { return };
        metadata.revert();
        metadata.drop_files(files);
    }
}

fn free_map_page(index: u64) -> PageName {
    PageName { kind: PageKind::FreeMaps, volume: 0, level: 0, index }
}

/// The page of the free maps that holds `word` of the map of `group`.
fn free_map_page_of(first_pages: &[u64], group: GroupIndex, word: u64) -> PageName {
    free_map_page(first_pages[group.index()] + word / PAGE_WORDS)
}
