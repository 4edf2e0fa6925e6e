//! What the next consistency point writes or frees although no host has written it: metadata that is out of date,
//! blocks that nothing uses any more, another catalog.

use strewn_raid::Vbn;

use crate::units::BLOCK_BYTES;

use super::Space;

/// The blocks of a catalog.
pub type CatalogBlocks = Vec<Box<[u8]>>;

/// Work for the next consistency point, which is not any host's.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// Metadata blocks that are out of date, to be rewritten.
    pub(crate) stale: Vec<u32>,
    /// Blocks that nothing uses any more, to be freed.
    pub(crate) abandoned: Vec<Vbn>,
    /// What the volumes and LUNs are, in blocks; empty as long as they are those that the array was created with.
    pub(crate) catalog: CatalogBlocks,
    /// Whether a consistency point is needed although nothing was written.
    pub(crate) has_changed: bool,
}

impl Space {
    /// The bytes of a block of the catalog.
    pub(crate) fn catalog_block(&self, block: u32) -> Option<&[u8]> {
        self.pending.catalog.get(block as usize).map(|bytes| &**bytes)
    }

    /// Replaces the catalog: with the next consistency point, the new one is on the spindles. It has at most
    /// [`CATALOG_BLOCKS`](crate::CATALOG_BLOCKS) blocks.
    ///
    /// # Panics
    /// If it has more, or blocks of another size.
    pub(crate) fn set_catalog(&mut self, blocks: CatalogBlocks) {
        let keys = self.keys.catalog();
        assert!(blocks.len() <= keys.len(), "the catalog is too long");
        assert!(blocks.iter().all(|block| block.len() == BLOCK_BYTES), "a block of another size");
        for (key, at) in keys.zip(0..) {
            if at < blocks.len() {
                self.pending.stale.push(key);
            } else if let Some(vbn) = self.map.remove(key) {
                self.pending.abandoned.push(vbn);
                self.set_checksum(key, 0);
            }
        }
        self.pending.catalog = blocks;
        self.pending.has_changed = true;
    }
}

strewn_base::saved_state! {
    impl for Pending {
        parts:;
        values: stale, abandoned, catalog, has_changed;
        built:;
    }
}
