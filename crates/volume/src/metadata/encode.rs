//! The contents of pages.

use std::collections::HashMap;

use super::Metadata;
use super::array::{ArrayRoot, PageArray};
use super::page::{
    CONTAINER_ENTRIES, PAGE_WORDS, Page, PageKind, PageName, SNAPSHOT_RECORDS, pointer_words,
    words_of,
};
use super::place::Placement;
use super::root::{Root, checksum_of_shapes};
use crate::flexible::{Files, Snapshot, Volume};
use crate::names::{MOST_NAME_BYTES, SnapshotId, VolumeId};
use crate::volumes::Volumes;

/// Words of a volume's record, before its arrays.
pub(super) const VOLUME_WORDS: u64 = 10;
/// Where its name follows the arrays: its bytes in a word, then the bytes.
pub(super) const NAME_AT: u64 = VOLUME_WORDS + 2 * ARRAY_WORDS;
/// Words that the bytes of a name can take.
pub(super) const NAME_WORDS: u64 = (MOST_NAME_BYTES as u64).div_ceil(8);
/// Words of a snapshot's record: the number of its deletion plus one (0 if there is no such snapshot), its files.
pub(super) const SNAPSHOT_WORDS: u64 = PAGE_WORDS / SNAPSHOT_RECORDS;
/// Words of an array: its levels, the pointer to its top page.
pub(super) const ARRAY_WORDS: u64 = 3;

/// The root node plus one, and the levels.
fn files_words(files: &Files) -> [u64; 2] {
    let root = files.root().and_then(|root| root.stored_as().get());
    [root.map_or(0, |id| id.0 + 1), files.levels().into()]
}

impl Volume {
    /// What is saved of the volume besides its maps: its numbers, [`VOLUME_WORDS`] of them, and then its name.
    pub(super) fn to_record(&self) -> Vec<u64> {
        let (volume, snapshot) = self
            .origin
            .map_or((0, 0), |(volume, snapshot)| (u64::from(volume.0) + 1, u64::from(snapshot.0)));
        let [root, levels] = files_words(&self.files);
        let record = [
            self.container.first(),
            self.container.size(),
            volume,
            snapshot,
            self.next_file,
            self.reserved,
            self.snapshots.time().into(),
            self.destruction,
            root,
            levels,
        ];
        let name = self.name.as_deref().unwrap_or_default().as_bytes();
        let mut record = record.to_vec();
        record.push(name.len() as u64);
        record.extend(words_of(name));
        record
    }

    /// The snapshots taken from `time` on, within `count` times, including those being deleted.
    pub(super) fn snapshots_from(
        &self,
        time: u64,
        count: u64,
    ) -> impl Iterator<Item = (SnapshotId, &Snapshot)> {
        let later = self.snapshots.all_from(time);
        later.take_while(move |(snapshot, _)| u64::from(snapshot.0) < time + count)
    }
}

impl Volumes {
    /// Encodes the pages that are placed, and the root that leads to them.
    pub(crate) fn encode_metadata(&mut self) {
        let Some(mut metadata) = self.metadata.take() else { return };
        if let Some(mut placement) = metadata.placement.take() {
            metadata.encode_all(self, &mut placement);
            metadata.placement = Some(placement);
        }
        self.metadata = Some(metadata);
    }
}

impl Metadata {
    fn encode_all(&mut self, volumes: &Volumes, placement: &mut Placement) {
        let aggregate = &volumes.aggregate;
        let consistency_point = aggregate.consistency_points() + 1;
        // The free maps are saved as they are after the commit.
        let mut freed: HashMap<u64, Vec<(u64, u32)>> = HashMap::new();
        for vbn in aggregate.freed_by_commit() {
            let position = aggregate.map_position(vbn);
            let first = placement.first_pages[position.group().index()];
            let page = freed.entry(first + position.word() / PAGE_WORDS).or_default();
            page.push((position.word() % PAGE_WORDS, position.bit()));
        }
        let mut encoded = vec![None; placement.numbers.len()];
        let numbers: Vec<_> =
            placement.numbers.iter().map(|(name, number)| (*name, *number)).collect();
        for (name, number) in numbers {
            let mut page = Page::new(name, consistency_point);
            if name.level > 0 {
                let array = self.array(name);
                let pointers = array.map(|array| array.pointers_of(name.level, name.index));
                for (index, pointer) in pointers.into_iter().flatten() {
                    page.set_pointer(index, Some(pointer));
                }
            } else if name.kind == PageKind::Nodes {
                // Each page of nodes that is placed is new.
                let nodes = placement.node_pages.remove(&name.index);
                assert!(nodes.is_some(), "{name} is written again");
                page = nodes.unwrap_or(page);
            } else {
                self.encode(name, volumes, placement, &mut page);
            }
            if name.kind == PageKind::FreeMaps && name.level == 0 {
                for (word, bit) in freed.remove(&name.index).unwrap_or_default() {
                    page.set_word(word, page.word(word) & !(1 << bit));
                }
            }
            if let Some(array) = self.array_mut(name)
                && let Some(mut pointer) = array.get(name.level, name.index)
            {
                pointer.crc = page.crc();
                array.set(name.level, name.index, Some(pointer));
            }
            encoded[number as usize] = Some(page);
        }
        placement.pages = encoded.into_iter().flatten().collect();
        let groups: Vec<_> = aggregate.free_maps().map(|map| *map.group()).collect();
        placement.root = Some(Root {
            consistency_points: consistency_point,
            groups: groups.len() as u32,
            shapes: checksum_of_shapes(&groups),
            block_bytes: aggregate.options().block_size.bytes() as u32,
            next_volume: volumes.next_volume,
            next_teardown: volumes.next_teardown,
            nodes: self.nodes.root(),
            volumes: self.volumes.root(),
            delayed_frees: self.delayed_frees.root(),
            free_maps: self.free_maps.root(),
            application: self.application,
        });
    }

    /// Encodes page `name` of a map that is an array.
    fn encode(&self, name: PageName, volumes: &Volumes, placement: &Placement, page: &mut Page) {
        let index = name.index;
        let volume = || volumes.volumes.get(&VolumeId(name.volume));
        match name.kind {
            PageKind::Nodes => {}
            PageKind::Container => {
                let Some(Volume { container, .. }) = volume() else { return };
                let first = index * CONTAINER_ENTRIES;
                for (local, entry) in container.scan(first, CONTAINER_ENTRIES).0 {
                    page.set_word(local - first, entry.to_bits());
                    page.set_half_word(CONTAINER_ENTRIES, local - first, container.death(local));
                }
            }
            PageKind::Snapshots => {
                let Some(volume) = volume() else { return };
                let first = index * SNAPSHOT_RECORDS + 1;
                for (id, snapshot) in volume.snapshots_from(first, SNAPSHOT_RECORDS) {
                    let word = (u64::from(id.0) - first) * SNAPSHOT_WORDS;
                    let [root, levels] = files_words(&snapshot.files);
                    page.set_word(word, snapshot.deletion + 1);
                    page.set_word(word + 1, root);
                    page.set_word(word + 2, levels);
                }
            }
            PageKind::Volumes => {
                let id = VolumeId(index as u32);
                let record = placement.records.get(&id).into_iter().flatten();
                let words = (0..VOLUME_WORDS).chain(NAME_AT..);
                words.zip(record).for_each(|(word, value)| page.set_word(word, *value));
                let Some(pages) = self.of_volumes.get(&id) else { return };
                put_array(page, VOLUME_WORDS, &pages.container);
                put_array(page, VOLUME_WORDS + ARRAY_WORDS, &pages.snapshots);
            }
            PageKind::DelayedFrees => {
                let list = placement.delayed_list.iter().skip((index * PAGE_WORDS) as usize);
                (0..PAGE_WORDS).zip(list).for_each(|(word, vbn)| page.set_word(word, *vbn));
            }
            PageKind::FreeMaps => {
                let group = placement.first_pages.partition_point(|first| *first <= index) - 1;
                let Some(map) = volumes.aggregate.free_maps().nth(group) else { return };
                let first = (index - placement.first_pages[group]) * PAGE_WORDS;
                let words = map.words().iter().skip(first as usize);
                (0..PAGE_WORDS).zip(words).for_each(|(word, bits)| page.set_word(word, *bits));
            }
        }
    }
}

fn put_array(page: &mut Page, word: u64, array: &PageArray) {
    let ArrayRoot { levels, top } = array.root();
    page.set_word(word, levels.into());
    let [vbn, crc] = pointer_words(top);
    page.set_word(word + 1, vbn);
    page.set_word(word + 2, crc);
}
