//! Placing changed pages, which changes more pages.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use strewn_alloc::OutOfSpace;

use super::array::PageArray;
use super::nodes::NodeWriter;
use super::page::{
    CONTAINER_ENTRIES, FANOUT, PAGE_WORDS, Page, PageKind, PageName, PagePointer, SNAPSHOT_RECORDS,
};
use super::root::Root;
use super::{Metadata, SLACK, free_map_page_of, free_map_pages, page_of_nodes, page_of_volume};
use crate::container::free_owned_block;
use crate::error::VolumeError;
use crate::names::{BlockSource, MetadataPage, VolumeId};
use crate::volumes::Volumes;

/// The pages of the open consistency point.
#[derive(Debug, Default)]
pub(super) struct Placement {
    /// The number of each page in the write plan.
    pub(super) numbers: BTreeMap<PageName, u32>,
    /// By these numbers, once they are encoded.
    pub(super) pages: Vec<Page>,
    /// New pages of nodes.
    pub(super) node_pages: BTreeMap<u64, Page>,
    /// What each volume saves of itself.
    pub(super) records: BTreeMap<VolumeId, Vec<u64>>,
    pub(super) delayed_list: Vec<u64>,
    /// The first page of the free map of each group.
    pub(super) first_pages: Vec<u64>,
    /// Once everything is placed and encoded.
    pub(super) root: Option<Root>,
    /// The previous pointer of each page placed or removed.
    undo: Vec<(PageName, Option<PagePointer>)>,
    done: BTreeSet<PageName>,
    pending: BTreeSet<PageName>,
}

impl Volumes {
    /// Gives all metadata that the consistency point changes new places.
    pub(crate) fn place_metadata(&mut self) -> Result<(), VolumeError> {
        let Some(mut metadata) = self.metadata.take() else { return Ok(()) };
        let placed = metadata.place_all(self);
        if placed.is_err() {
            metadata.revert();
        }
        self.metadata = Some(metadata);
        placed
    }
}

impl Metadata {
    fn place_all(&mut self, volumes: &mut Volumes) -> Result<(), VolumeError> {
        let consistency_point = volumes.aggregate.consistency_points() + 1;
        let groups = volumes.aggregate.free_maps().map(|map| map.group());
        let first_pages = free_map_pages(groups);
        let mut placement = Placement { first_pages, ..Placement::default() };
        placement.pending.extend(&self.changed);

        let mut writer = NodeWriter {
            ids: &mut self.node_ids,
            consistency_point,
            pages: &mut placement.node_pages,
            filling: None,
        };
        for volume in volumes.volumes.values().filter(|volume| volume.undo.is_some()) {
            writer.write_files(&volume.files);
        }
        placement.pending.extend(placement.node_pages.keys().map(|index| page_of_nodes(*index)));
        for (id, volume) in &volumes.volumes {
            let (kind, volume_number) = (PageKind::Container, id.0);
            let pages = volume.container.changed_pages();
            placement.pending.extend(pages.map(|index| PageName {
                kind,
                volume: volume_number,
                level: 0,
                index,
            }));
            let record = volume.to_record();
            if self.of_volumes.get(id).is_none_or(|pages| pages.record != record) {
                placement.pending.insert(page_of_volume(*id));
            }
            placement.records.insert(*id, record);
        }
        for (group, word) in volumes.aggregate.allocated_words() {
            let page = free_map_page_of(&placement.first_pages, group, word);
            placement.pending.insert(page);
        }
        // Each level above takes a page or so, and the free maps of what is placed now.
        volumes.aggregate.expect_more(placement.pending.len() as u64 + 8);
        let placed = self.place_until_nothing_changes(volumes, &mut placement);
        self.placement = Some(placement);
        placed?;
        // What cannot be taken back must be committed, and is bounded where it is made.
        let mut changed = volumes.volumes.values().filter_map(|volume| volume.undo.as_ref());
        let can_be_abandoned = changed.clone().next().is_some();
        let writes = changed.any(|undo| !undo.written.is_empty());
        let room = volumes.room_with(self.page_count());
        let lacking = room.needed.saturating_sub(room.free);
        let may_lack = if writes { 0 } else { SLACK / 2 };
        if can_be_abandoned && lacking > self.lacking_at_begin.max(may_lack) {
            return Err(room.into());
        }
        Ok(())
    }

    fn place_until_nothing_changes(
        &mut self,
        volumes: &mut Volumes,
        placement: &mut Placement,
    ) -> Result<(), VolumeError> {
        let mut frees_seen = 0;
        loop {
            if volumes.aggregate.options().delayed_frees > 0 || !self.delayed_list.is_empty() {
                self.note_delayed_frees(volumes, placement);
            } else {
                for vbn in volumes.aggregate.freed_since_commit(frees_seen) {
                    let position = volumes.aggregate.map_position(vbn);
                    let page =
                        free_map_page_of(&placement.first_pages, position.group(), position.word());
                    placement.pending.insert(page);
                    frees_seen += 1;
                }
            }
            let Placement { pending, done, .. } = placement;
            pending.retain(|page| !done.contains(page));
            if pending.is_empty() {
                return Ok(());
            }
            while let Some(page) = placement.pending.pop_first() {
                if placement.done.insert(page) {
                    self.place(page, volumes, placement)?;
                }
            }
        }
    }

    /// Notes what the delayed frees will be after the commit, and the blocks that will be free.
    fn note_delayed_frees(&self, volumes: &Volumes, placement: &mut Placement) {
        let aggregate = &volumes.aggregate;
        let freed: HashSet<u64> =
            aggregate.freed_by_commit().into_iter().map(|vbn| vbn.0 + 1).collect();
        for vbn in &freed {
            let position = aggregate.map_position(strewn_raid::Vbn(vbn - 1));
            let page = free_map_page_of(&placement.first_pages, position.group(), position.word());
            placement.pending.insert(page);
        }
        let pending = aggregate.pending_frees().map(|vbn| vbn.0 + 1);
        let mut delayed: BTreeSet<u64> = pending.filter(|vbn| !freed.contains(vbn)).collect();
        let mut list = self.delayed_list.clone();
        let mut changed = Vec::new();
        for (slot, entry) in list.iter_mut().enumerate() {
            if *entry != 0 && !delayed.remove(entry) {
                *entry = 0;
                changed.push(slot);
            }
        }
        // What is new fills the gaps.
        let gaps: Vec<usize> = (0..list.len()).filter(|slot| list[*slot] == 0).collect();
        for slot in gaps {
            let Some(vbn) = delayed.pop_first() else { break };
            list[slot] = vbn;
            changed.push(slot);
        }
        changed.extend(list.len()..list.len() + delayed.len());
        list.extend(delayed);
        for slot in changed {
            let index = slot as u64 / PAGE_WORDS;
            let page = PageName { kind: PageKind::DelayedFrees, volume: 0, level: 0, index };
            placement.pending.insert(page);
        }
        placement.delayed_list = list;
    }

    /// Gives a page a new block, or removes it if it holds nothing any more. Notes the pages that change with it.
    fn place(
        &mut self,
        page: PageName,
        volumes: &mut Volumes,
        placement: &mut Placement,
    ) -> Result<(), VolumeError> {
        let holds_something = self.holds_something(page, volumes);
        let Some(array) = self.array_mut(page) else { return Ok(()) };
        let old = array.get(page.level, page.index);
        if !holds_something && old.is_none() {
            return Ok(());
        }
        let mut new = None;
        if holds_something {
            if page.level == 0 {
                for level in array.reach(page.index) {
                    placement.pending.insert(PageName { level, index: 0, ..page });
                }
            }
            let free = volumes.aggregate.free_blocks();
            if free <= volumes.reserved {
                return Err(OutOfSpace { needed: 1, free: 0 }.into());
            }
            let number = placement.numbers.len() as u32;
            let what = BlockSource::Metadata(MetadataPage(number));
            let vbn = volumes.aggregate.allocate(what)?;
            placement.numbers.insert(page, number);
            let position = volumes.aggregate.map_position(vbn);
            let map_page =
                free_map_page_of(&placement.first_pages, position.group(), position.word());
            placement.pending.insert(map_page);
            new = Some(PagePointer { vbn, crc: 0 });
        }
        array.set(page.level, page.index, new);
        placement.undo.push((page, old));
        if let Some(old) = old {
            free_owned_block(&mut volumes.aggregate, old.vbn);
        }
        placement.pending.extend(leads_to(page, array));
        Ok(())
    }

    fn holds_something(&self, page: PageName, volumes: &Volumes) -> bool {
        let PageName { kind, volume, level, index } = page;
        if level > 0 {
            let array = self.array(page);
            return array.is_some_and(|array| array.pointers_of(level, index).next().is_some());
        }
        let volume = || volumes.volumes.get(&VolumeId(volume));
        match kind {
            PageKind::Nodes => self.node_ids.is_used(index),
            PageKind::Container => volume().is_some_and(|volume| {
                let first = index * CONTAINER_ENTRIES;
                volume.container.scan(first, CONTAINER_ENTRIES).0.next().is_some()
            }),
            PageKind::Snapshots => volume().is_some_and(|volume| {
                volume
                    .snapshots_from(index * SNAPSHOT_RECORDS + 1, SNAPSHOT_RECORDS)
                    .next()
                    .is_some()
            }),
            PageKind::Volumes => volumes.volumes.contains_key(&VolumeId(index as u32)),
            PageKind::DelayedFrees | PageKind::FreeMaps => true,
        }
    }

    /// Takes back what the open consistency point has placed.
    pub(super) fn revert(&mut self) {
        let Some(placement) = self.placement.take() else { return };
        for (page, old) in &placement.undo {
            if let Some(array) = self.array_mut(*page) {
                array.set(page.level, page.index, *old);
            }
        }
        // Levels that were added.
        for (page, _) in placement.undo {
            if let Some(array) = self.array_mut(page) {
                array.trim();
            }
        }
    }
}

/// The page that leads to `page`, if it is not the root.
fn leads_to(page: PageName, array: &PageArray) -> Option<PageName> {
    let PageName { kind, volume, level, index } = page;
    if level < array.top_level() {
        return Some(PageName { kind, volume, level: level + 1, index: index / FANOUT });
    }
    let is_of_volume = matches!(kind, PageKind::Container | PageKind::Snapshots);
    is_of_volume.then(|| page_of_volume(VolumeId(volume)))
}
