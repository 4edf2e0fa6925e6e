//! The contents of a simulated disk: bytes, and unreadable sectors.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use strewn_base::{BLOCK_SECTORS, SECTOR_BYTES};

use super::super::{BLOCK_BYTES, IoError};

/// A power loss keeps sectors whole.
const SECTOR: usize = SECTOR_BYTES as usize;

pub(super) type Page = [u8; BLOCK_BYTES];

static ZEROS: Page = [0; BLOCK_BYTES];

/// The blocks of a write, shared by everything that references them.
#[derive(Debug, Clone)]
pub(super) struct Extent {
    pub(super) first_block: u64,
    pub(super) pages: Vec<Arc<Page>>,
}

impl Extent {
    /// Creates the extent of `bytes`, which are whole blocks, at byte `offset`.
    pub(super) fn new(offset: u64, bytes: &[u8]) -> Self {
        let (pages, rest) = bytes.as_chunks::<BLOCK_BYTES>();
        assert!(rest.is_empty() && offset.is_multiple_of(BLOCK_BYTES as u64), "whole blocks");
        let first_block = offset / BLOCK_BYTES as u64;
        Self { first_block, pages: pages.iter().map(|page| Arc::new(*page)).collect() }
    }

    pub(super) fn sectors(&self) -> u64 {
        self.pages.len() as u64 * BLOCK_SECTORS
    }

    fn blocks(&self) -> impl Iterator<Item = (u64, &Arc<Page>)> {
        (self.first_block..).zip(&self.pages)
    }
}

/// Sparse bytes; unwritten ones read as zeros. A clone shares its pages until they are written.
#[derive(Debug, Clone, Default)]
pub(super) struct Medium {
    // Ordered, so that drawing a written block gives the same result in every run.
    pages: BTreeMap<u64, Arc<Page>>,
    unreadable: BTreeSet<u64>,
}

impl Medium {
    pub(super) fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), IoError> {
        let sectors = offset / SECTOR_BYTES..(offset + into.len() as u64) / SECTOR_BYTES;
        if self.unreadable.range(sectors).next().is_some() {
            return Err(IoError::Unreadable);
        }
        let first = offset / BLOCK_BYTES as u64;
        for (block, bytes) in (first..).zip(into.chunks_exact_mut(BLOCK_BYTES)) {
            bytes.copy_from_slice(self.page(block));
        }
        Ok(())
    }

    pub(super) fn page(&self, block: u64) -> &Page {
        self.pages.get(&block).map_or(&ZEROS, |page| page)
    }

    pub(super) fn write(&mut self, extent: &Extent) {
        for (block, page) in extent.blocks() {
            self.pages.insert(block, Arc::clone(page));
        }
        let first = extent.first_block * BLOCK_SECTORS;
        self.make_readable(first..first + extent.sectors());
    }

    /// Writes those sectors of `extent`, counted from its beginning, that `kept` selects.
    pub(super) fn write_sectors(&mut self, extent: &Extent, mut kept: impl FnMut(u64) -> bool) {
        for (index, (block, page)) in (0..).zip(extent.blocks()) {
            for sector in 0..BLOCK_SECTORS {
                if !kept(index * BLOCK_SECTORS + sector) {
                    continue;
                }
                let bytes = sector as usize * SECTOR..(sector as usize + 1) * SECTOR;
                self.page_mut(block)[bytes.clone()].copy_from_slice(&page[bytes]);
                self.unreadable.remove(&(block * BLOCK_SECTORS + sector));
            }
        }
    }

    pub(super) fn flip(&mut self, offset: u64, mask: u8) {
        let byte = (offset % BLOCK_BYTES as u64) as usize;
        self.page_mut(offset / BLOCK_BYTES as u64)[byte] ^= mask;
    }

    pub(super) fn make_unreadable(&mut self, sectors: Range<u64>) {
        self.unreadable.extend(sectors);
    }

    /// Returns the first written block from `block` on, or else the first of all.
    pub(super) fn written_block_near(&self, block: u64) -> Option<u64> {
        let beyond = self.pages.range(block..).next();
        beyond.or_else(|| self.pages.iter().next()).map(|(block, _)| *block)
    }

    fn make_readable(&mut self, sectors: Range<u64>) {
        while let Some(sector) = self.unreadable.range(sectors.clone()).next().copied() {
            self.unreadable.remove(&sector);
        }
    }

    fn page_mut(&mut self, block: u64) -> &mut Page {
        Arc::make_mut(self.pages.entry(block).or_insert_with(|| Arc::new(ZEROS)))
    }
}
