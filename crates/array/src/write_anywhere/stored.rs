//! What an array of the durable format keeps beside its maps: the unmapped blocks; and with bytes, each block's
//! checksum and those of blocks that only snapshots hold.

use std::collections::{BTreeMap, HashMap};

use strewn_alloc::{GroupIndex, SummaryBitmap};
use strewn_base::state::SavedValue;
use strewn_raid::{SpindleIndex, Vbn};

use crate::payload::{BlockContents, Payload};
use crate::units::BLOCK_BYTES;

use super::consistency_point::ConsistencyPoint;
use super::held_blocks::HeldBlocks;
use super::metadata::{self};
use super::tag::{Owner, TagFields};
use super::{Run, WriteAnywhere};

/// A consistency point begins when more blocks than this are unmapped: 1 GiB. They take no room in the cache.
pub(super) const MOST_UNMAPPED: u64 = 1 << 18;

/// The blocks of a catalog.
pub type CatalogBlocks = Vec<Box<[u8]>>;

/// Absent in a simulation of the modelled format.
pub(super) struct Stored {
    /// Each block's checksum as last written, by key; 0 if unknown. Empty without bytes.
    checksums: Vec<u32>,
    /// Blocks that were unmapped and not written since. The next consistency point takes their places from them. Until
    /// then they read as zeros; those in the cache contain zeros.
    pub(super) unmapped: SummaryBitmap,
    /// The key of the block that lies, or last lay, at each VBN. Empty without bytes.
    pub(super) key_at: Vec<u32>,
    /// Blocks in use whose keys are gone, since their LUN is, or its end: by VBN. Snapshots hold them, or the last
    /// superblock still leads to them.
    pub(super) without_key: HashMap<u32, WithoutKey>,
    /// Blocks that only snapshots hold. Empty without bytes.
    pub(super) held: HeldBlocks,
    /// Metadata blocks that are out of date. The next consistency point rewrites them.
    pub(super) stale: Vec<u32>,
    /// Blocks that nothing uses any more. The next consistency point frees them.
    pub(super) abandoned: Vec<Vbn>,
    /// What the volumes and LUNs are, in blocks; empty as long as they are those that the array was created with.
    pub(super) catalog: CatalogBlocks,
    /// Whether a consistency point is needed although nothing was written.
    pub(super) has_changed: bool,
}

/// A block in use that has no key.
#[derive(Debug, Clone, Copy, SavedValue)]
pub(super) struct WithoutKey {
    pub(super) holds: BlockContents,
    /// 0 if unknown, or if snapshots hold it.
    pub(super) checksum: u32,
}

/// The key of no block.
const NOBODY: u32 = u32::MAX;

impl Stored {
    pub(super) fn new(data_keys: u32) -> Self {
        Self {
            checksums: Vec::new(),
            unmapped: SummaryBitmap::new(data_keys.into()),
            key_at: Vec::new(),
            without_key: HashMap::new(),
            held: HeldBlocks::default(),
            stale: Vec::new(),
            abandoned: Vec::new(),
            catalog: Vec::new(),
            has_changed: false,
        }
    }

    /// Room for the checksums of an array with bytes.
    pub(super) fn with_checksums(self, keys: u32, aggregate_blocks: u64) -> Self {
        Self {
            checksums: strewn_base::memory::filled(0, keys as usize),
            key_at: strewn_base::memory::filled(NOBODY, aggregate_blocks as usize),
            ..self
        }
    }

    /// Takes out all unmapped blocks, in ascending order.
    pub(super) fn take_unmapped(&mut self) -> Vec<u32> {
        let mut blocks = Vec::with_capacity(self.unmapped.count() as usize);
        self.unmapped.drain(|block| blocks.push(block as u32));
        blocks
    }

    /// The key of the block that lies, or last lay, at `vbn`.
    pub(super) fn key_at(&self, vbn: Vbn) -> Option<u32> {
        let key = *self.key_at.get(vbn.0 as usize)?;
        (key != NOBODY).then_some(key)
    }

    /// Block `key` now lies at `vbn`.
    #[inline]
    pub(super) fn record_placement(&mut self, key: u32, vbn: Vbn) {
        if let Some(there) = self.key_at.get_mut(vbn.0 as usize) {
            *there = key;
        }
        if !self.without_key.is_empty() {
            self.without_key.remove(&(vbn.0 as u32));
        }
    }

    /// Replaces all keys. `new_key` returns the new key of a block, if it has one; `holds`, the
    /// contents of a block in use, by its place and its old key.
    pub(super) fn renumber(
        &mut self,
        new_key: impl Fn(u32) -> Option<u32>,
        holds: impl Fn(Vbn, u32) -> Option<BlockContents>,
    ) {
        for (key, vbn) in self.key_at.iter_mut().zip(0..) {
            if *key == NOBODY {
                continue;
            }
            let before = std::mem::replace(key, NOBODY);
            match new_key(before) {
                Some(new) => *key = new,
                None => {
                    if let Some(holds) = holds(Vbn(vbn.into()), before) {
                        let without_key = WithoutKey { holds, checksum: 0 };
                        self.without_key.entry(vbn).or_insert(without_key);
                    }
                }
            }
        }
    }
}

impl<P: Payload> WriteAnywhere<P> {
    /// The bytes of a block of the catalog.
    pub(super) fn catalog_block(&self, block: u32) -> Option<&[u8]> {
        self.stored.as_ref()?.catalog.get(block as usize).map(|bytes| &**bytes)
    }

    /// The catalog as it is on the spindles, after a restart.
    pub(super) fn restore_catalog(&mut self, blocks: CatalogBlocks) {
        if let Some(stored) = &mut self.stored {
            stored.catalog = blocks;
        }
    }

    /// Replaces the catalog: with the next consistency point, the new one is on the spindles. It has at most
    /// [`CATALOG_BLOCKS`](crate::CATALOG_BLOCKS) blocks.
    ///
    /// # Panics
    /// If it has more, or blocks of another size.
    pub fn set_catalog(&mut self, blocks: CatalogBlocks) {
        let keys = self.keys.catalog();
        assert!(blocks.len() <= keys.len(), "the catalog is too long");
        assert!(blocks.iter().all(|block| block.len() == BLOCK_BYTES), "a block of another size");
        let Some(stored) = &mut self.stored else { return };
        for (key, at) in keys.zip(0..) {
            if at < blocks.len() {
                stored.stale.push(key);
            } else if let Some(vbn) = self.map.remove(key) {
                stored.abandoned.push(vbn);
                stored.checksums[key as usize] = 0;
            }
        }
        stored.catalog = blocks;
        stored.has_changed = true;
    }
}

/// How bytes compare with what is known of their block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit {
    /// They are what was written.
    Right,
    /// Unknown, and not needed.
    Unknown,
    /// They are not what the consistency point in progress writes there, which it may not have done yet.
    Early,
    /// They are not what was written.
    Wrong,
}

/// Where a block lay before the consistency point in progress, and its checksum there.
#[derive(SavedValue)]
pub(super) struct OldLocation {
    vbn: Option<Vbn>,
    checksum: u32,
}

impl<P: Payload> WriteAnywhere<P> {
    /// The checksum that block `key` must have; 0 if unknown.
    pub(super) fn checksum_of(&self, key: u32) -> u32 {
        let checksums = self.stored.as_ref().map(|stored| &stored.checksums);
        checksums.and_then(|checksums| checksums.get(key as usize).copied()).unwrap_or(0)
    }

    pub(super) fn set_checksum(&mut self, key: u32, checksum: u32) {
        if let Some(stored) = &mut self.stored {
            stored.checksums[key as usize] = checksum;
        }
    }

    /// The place that a read of `key` went to, and the checksum that its data must have. A read sent before the
    /// consistency point in progress went to the old place.
    pub(super) fn expected(&self, fields: TagFields, key: u32) -> (Option<Vbn>, u32) {
        if let Some(view) = self.view_of_read(fields) {
            let there = self.block_in_view(view, key);
            return there.map_or((None, 0), |there| (Some(there.vbn), there.checksum));
        }
        let sent_before = fields.owner == Owner::ConsistencyPointRead
            || fields.epoch_parity != self.reads.epoch_parity();
        let moved = self
            .consistency_point
            .as_ref()
            .and_then(|consistency_point| consistency_point.old_locations.get(&key));
        match moved {
            Some(before) if sent_before => (before.vbn, before.checksum),
            _ => (self.map.get(key), self.checksum_of(key)),
        }
    }

    /// The key of one of a read's blocks.
    fn key_of_read(&self, fields: TagFields, block: u32) -> u32 {
        let in_batch = match fields.owner {
            Owner::Relocation => self.relocation.as_ref(),
            _ => None,
        };
        let key = in_batch.and_then(|relocation| relocation.key_of_read(fields, block));
        key.unwrap_or(fields.first_key + block)
    }

    /// Flags the blocks of a read that are not what was written; `None` if all are right.
    pub(super) fn wrong_blocks(&self, fields: TagFields, payload: &P) -> Option<Vec<bool>> {
        let blocks = payload.bytes().chunks(BLOCK_BYTES);
        let wrong: Vec<bool> = (0..fields.blocks)
            .zip(blocks)
            .map(|(block, bytes)| {
                let key = self.key_of_read(fields, block);
                let (_, expected) = self.expected(fields, key);
                expected != 0 && metadata::checksum(bytes) != expected
            })
            .collect();
        wrong.contains(&true).then_some(wrong)
    }

    /// The blocks that a read asked for, with a flag for each that is not what was written; `None` if all are right, or
    /// cannot be checked.
    pub(super) fn wrong_read(&self, fields: TagFields, payload: &P) -> Option<(Run, Vec<bool>)> {
        let run = match fields.owner {
            Owner::HostOperation
            | Owner::ConsistencyPointRead
            | Owner::ReadAhead
            | Owner::Relocation => {
                let wrong = self.wrong_blocks(fields, payload)?;
                // A command's blocks are consecutive.
                let first = self.expected(fields, self.key_of_read(fields, 0)).0?;
                return Some((Run { blocks: fields.blocks, ..self.run_at(first) }, wrong));
            }
            _ if payload.bytes().is_empty() => return None,
            Owner::Tetris => self.consistency_point.as_ref()?.read_of_tetris(fields)?,
            Owner::Recovery => self.degraded.as_ref()?.read_of_recovery(fields)?,
            Owner::Rebuild => self.read_of_step(fields)?,
            // The reads that it carries are checked one by one.
            Owner::AggregatedRead | Owner::Aside | Owner::Repair => return None,
        };
        let blocks = payload.bytes().chunks(BLOCK_BYTES);
        let wrong: Vec<bool> = (run.dbn..)
            .zip(blocks)
            .map(|(dbn, bytes)| self.fit(run.group, (run.spindle, dbn), bytes) == Fit::Wrong)
            .collect();
        wrong.contains(&true).then_some((run, wrong))
    }

    /// Compares bytes with what is known of the block at `dbn` of a group's spindle. A data block in use must have the
    /// bytes last written.
    pub(super) fn fit(&self, group: GroupIndex, place: (SpindleIndex, u64), bytes: &[u8]) -> Fit {
        self.fit_in(self.consistency_point.as_ref(), group, place, bytes)
    }

    /// The same during a consistency point.
    pub(super) fn fit_in(
        &self,
        consistency_point: Option<&ConsistencyPoint<P>>,
        group: GroupIndex,
        (spindle, dbn): (SpindleIndex, u64),
        bytes: &[u8],
    ) -> Fit {
        let Some(vbn) = self.vbn_at(group, spindle, dbn) else { return Fit::Unknown };
        let agrees = |sum| sum == metadata::checksum(bytes);
        let verdict = |sum| match sum {
            0 => Fit::Unknown,
            sum if agrees(sum) => Fit::Right,
            _ => Fit::Wrong,
        };
        let Some(key) = self.key_at(vbn) else {
            return match self.held_checksum(vbn).or_else(|| self.checksum_without_key(vbn)) {
                Some(sum) => verdict(sum),
                None => Fit::Unknown,
            };
        };
        let before = consistency_point
            .and_then(|consistency_point| consistency_point.old_locations.get(&key));
        let (place, sum) = match before {
            Some(before) => (before.vbn, before.checksum),
            None => (self.map.get(key), self.checksum_of(key)),
        };
        if place == Some(vbn) {
            return verdict(sum);
        }
        if let Some(sum) = self.held_checksum(vbn) {
            return if agrees(sum) { Fit::Right } else { Fit::Wrong };
        }
        // If the consistency point in progress has moved the block, its new place may not be written yet.
        let is_new_place = before.is_some() && self.map.get(key) == Some(vbn);
        match is_new_place && !agrees(self.checksum_of(key)) {
            true => Fit::Early,
            false => Fit::Unknown,
        }
    }

    /// The checksum of the block that only snapshots hold at `vbn`, if they do.
    fn held_checksum(&self, vbn: Vbn) -> Option<u32> {
        self.stored.as_ref()?.held.checksum_at(vbn)
    }

    /// The checksum of the block without a key at `vbn`.
    fn checksum_without_key(&self, vbn: Vbn) -> Option<u32> {
        let block = self.stored.as_ref()?.without_key.get(&(vbn.0 as u32))?;
        (!self.aggregate.is_free(vbn)).then_some(block.checksum)
    }

    /// The key of the block that lies, or last lay, at `vbn`.
    pub(super) fn key_at(&self, vbn: Vbn) -> Option<u32> {
        self.stored.as_ref()?.key_at(vbn)
    }

    /// The contents of the block that lies, or last lay, at `vbn`.
    pub(super) fn contents_of(&self, vbn: Vbn) -> BlockContents {
        let without_key = || self.stored.as_ref()?.without_key.get(&(vbn.0 as u32));
        match self.key_at(vbn) {
            Some(key) => self.keys.holds(key),
            None => without_key().map_or(BlockContents::Nothing, |block| block.holds),
        }
    }

    /// Records the place of block `key` before it gets a new one.
    pub(super) fn remember(&self, key: u32, old_locations: &mut BTreeMap<u32, OldLocation>) {
        if P::CARRIES_DATA {
            let (vbn, checksum) = (self.map.get(key), self.checksum_of(key));
            old_locations.entry(key).or_insert(OldLocation { vbn, checksum });
        }
    }
}

strewn_base::saved_state! {
    impl for Stored {
        parts: checksums, unmapped, key_at, without_key;
        values: held, stale, abandoned, catalog, has_changed;
        built:;
    }
}
