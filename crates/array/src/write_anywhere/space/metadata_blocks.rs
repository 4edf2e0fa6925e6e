//! The bytes of metadata blocks, and the root that leads to all of them.

use strewn_alloc::{AggregateLocation, REGION_BLOCKS};
use strewn_base::ROW_STRIPES;
use strewn_raid::{BlockLocation, Vbn};
use strewn_volume::Region;

use crate::root::{CATALOG_BLOCKS, Root};

use super::Space;
use super::keys::CONTAINER_BLOCKS_PER_REGION;
use super::metadata::{self, Pointer};

impl Space {
    /// The bytes of metadata block `key` after a consistency point that frees `freed`, in ascending order.
    pub(crate) fn metadata_block(&self, key: u32, freed: &[Vbn]) -> Vec<u8> {
        if let Some(block) = key.checked_sub(self.keys.catalog().start)
            && let Some(bytes) = self.catalog_block(block)
        {
            return bytes.to_vec();
        }
        if self.keys.has_pointers(key) {
            let address = self.keys.pointer_address(key);
            let pointers = self.keys.children(key).into_iter().map(|child| {
                let vbn = self.map.get(child)?;
                Some(Pointer { vbn, checksum: self.checksum_of(child) })
            });
            return metadata::encode_pointers(address, pointers);
        }
        let bitmap = self.keys.aggregate_bitmap();
        if bitmap.contains(&key) {
            let first = u64::from(key - bitmap.start) * REGION_BLOCKS;
            let end = (first + REGION_BLOCKS).min(self.aggregate.total_blocks());
            let from = freed.partition_point(|vbn| vbn.0 < first);
            let freed = freed[from..].iter().take_while(|vbn| vbn.0 < end);
            let free = freed.map(|vbn| (vbn.0 - first) as usize);
            return metadata::encode_bitmap(self.used_words(first, end), free);
        }
        let region = match key - self.keys.volume_bitmap_of(Region(0)) {
            bitmap if bitmap < self.volumes.regions() => bitmap,
            container => (container - self.volumes.regions()) / CONTAINER_BLOCKS_PER_REGION,
        };
        metadata::encode_region(key, self.volumes.numbers_used(Region(region as u16)))
    }

    /// The blocks in use from `first` to `end`, word by word of the free map: the number of blocks, and a bit for each.
    fn used_words(&self, first: u64, end: u64) -> impl Iterator<Item = (u32, u64)> {
        let mut at = first;
        std::iter::from_fn(move || {
            (at < end).then(|| {
                let AggregateLocation { group, location } = self.aggregate.place_of(Vbn(at));
                let (BlockLocation { spindle, dbn }, map) =
                    (location, self.aggregate.free_map(group));
                let (row, bit) = (dbn.0 / ROW_STRIPES, dbn.0 % ROW_STRIPES);
                let on_spindle = map.group().blocks_per_spindle() - dbn.0;
                let count = (ROW_STRIPES - bit).min(on_spindle).min(end - at);
                at += count;
                let used = !map.free_word(spindle, row) >> bit;
                (count as u32, used & (u64::MAX >> (64 - count)))
            })
        })
    }

    /// The root of everything that the consistency point in progress has written.
    pub(crate) fn root(&self) -> Root {
        let block = self.keys.root().and_then(|root| {
            let vbn = self.map.get(root)?;
            Some((vbn, self.checksum_of(root)))
        });
        let doomed = self.snapshots.as_ref().map_or(0, |snapshots| snapshots.doomed());
        let mut catalog = [None; CATALOG_BLOCKS as usize];
        for (at, key) in self.keys.catalog().enumerate() {
            catalog[at] = self.map.get(key).map(|vbn| (vbn, self.checksum_of(key)));
        }
        Root {
            held_back_blocks: self.volumes.held_back_blocks() + doomed,
            block,
            catalog,
            groups: self.aggregate.groups() as u16,
        }
    }
}
