//! What an array with bytes knows of each block: its checksum, and what lies, or last lay, at each VBN. So each read
//! can be checked, and each computed block.

use std::collections::{BTreeMap, HashMap};

use strewn_alloc::GroupIndex;
use strewn_base::state::SavedValue;
use strewn_raid::{SpindleIndex, Vbn};

use crate::payload::BlockContents;
use crate::units::BLOCK_BYTES;

use super::Space;
use super::held_blocks::HeldBlocks;
use super::metadata::{self, Pointer};
use super::view::View;

/// Checksums and owners of blocks.
pub(crate) struct Checksums {
    /// Each block's checksum as last written, by key; 0 if unknown.
    sums: Vec<u32>,
    /// The key of the block that lies, or last lay, at each VBN.
    key_at: Vec<u32>,
    /// Blocks in use whose keys are gone, since their LUN is, or its end: by VBN. Snapshots hold them, or the last
    /// superblock still leads to them.
    without_key: HashMap<u32, WithoutKey>,
    /// Blocks that only snapshots hold.
    pub(crate) held: HeldBlocks,
    /// Where the blocks that the consistency point in progress has placed were before.
    old_locations: BTreeMap<u32, OldLocation>,
}

/// A block in use that has no key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WithoutKey {
    pub(crate) holds: BlockContents,
    /// 0 if unknown, or if snapshots hold it.
    pub(crate) checksum: u32,
}

/// Where a block lay before the consistency point in progress, and its checksum there.
struct OldLocation {
    vbn: Option<Vbn>,
    checksum: u32,
}

/// The key of no block.
const NOBODY: u32 = u32::MAX;

impl Checksums {
    pub(crate) fn new(keys: u32, aggregate_blocks: u64) -> Self {
        Self {
            sums: strewn_base::memory::filled(0, keys as usize),
            key_at: strewn_base::memory::filled(NOBODY, aggregate_blocks as usize),
            without_key: HashMap::new(),
            held: HeldBlocks::default(),
            old_locations: BTreeMap::new(),
        }
    }

    /// The key of the block that lies, or last lay, at `vbn`.
    fn key_at(&self, vbn: Vbn) -> Option<u32> {
        let key = *self.key_at.get(vbn.0 as usize)?;
        (key != NOBODY).then_some(key)
    }

    /// Block `key` now lies at `vbn`.
    #[inline]
    pub(crate) fn record_placement(&mut self, key: u32, vbn: Vbn) {
        if let Some(there) = self.key_at.get_mut(vbn.0 as usize) {
            *there = key;
        }
        if !self.without_key.is_empty() {
            self.without_key.remove(&(vbn.0 as u32));
        }
    }

    /// The block in use at `vbn` has no key.
    pub(crate) fn record_without_key(&mut self, vbn: Vbn, block: WithoutKey) {
        self.without_key.insert(vbn.0 as u32, block);
    }

    /// Takes over from the checksums of an array with other keys. `new_key` returns the new key of a block, if it has
    /// one; `holds`, the contents of a block in use, by its place and its old key.
    pub(crate) fn take_over(
        &mut self,
        before: &mut Self,
        new_key: impl Fn(u32) -> Option<u32>,
        holds: impl Fn(Vbn, u32) -> Option<BlockContents>,
    ) {
        self.key_at = std::mem::take(&mut before.key_at);
        self.without_key = std::mem::take(&mut before.without_key);
        self.held = std::mem::take(&mut before.held);
        for (key, vbn) in self.key_at.iter_mut().zip(0..) {
            if *key == NOBODY {
                continue;
            }
            let old = std::mem::replace(key, NOBODY);
            match new_key(old) {
                Some(new) => *key = new,
                None => {
                    if let Some(holds) = holds(Vbn(vbn.into()), old) {
                        let without_key = WithoutKey { holds, checksum: 0 };
                        self.without_key.entry(vbn).or_insert(without_key);
                    }
                }
            }
        }
    }
}

/// The blocks that a read asks for.
#[derive(Debug, Clone, SavedValue)]
pub(crate) enum BlocksRead {
    /// Blocks with consecutive keys, from the first on.
    From(u32),
    /// Blocks with these keys.
    Keys(Vec<u32>),
    /// Blocks of a LUN as it is in a snapshot, from the first on.
    OfView(View, u32),
}

/// How bytes compare with what is known of their block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fit {
    /// They are what was written.
    Right,
    /// Unknown, and not needed.
    Unknown,
    /// They are not what the consistency point in progress writes there, which it may not have done yet.
    Early,
    /// They are not what was written.
    Wrong,
}

impl Space {
    /// The checksum that block `key` must have; 0 if unknown.
    pub(crate) fn checksum_of(&self, key: u32) -> u32 {
        let checksums = self.checksums.as_ref();
        checksums.and_then(|all| all.sums.get(key as usize).copied()).unwrap_or(0)
    }

    pub(crate) fn set_checksum(&mut self, key: u32, checksum: u32) {
        if let Some(checksums) = &mut self.checksums {
            checksums.sums[key as usize] = checksum;
        }
    }

    /// Where block `key` lies, and its checksum, 0 if unknown; `None` if it has no place.
    pub(crate) fn pointer(&self, key: u32) -> Option<Pointer> {
        let vbn = self.map.get(key)?;
        Some(Pointer { vbn, checksum: self.checksum_of(key) })
    }

    /// Records the place of block `key` before a consistency point gives it a new one.
    #[inline]
    pub(crate) fn remember_location(&mut self, key: u32) {
        if self.checksums.is_some() {
            let (vbn, checksum) = (self.map.get(key), self.checksum_of(key));
            if let Some(checksums) = &mut self.checksums {
                checksums.old_locations.entry(key).or_insert(OldLocation { vbn, checksum });
            }
        }
    }

    /// The consistency point in progress commits: where blocks were before no longer matters.
    pub(crate) fn forget_old_locations(&mut self) {
        if let Some(checksums) = &mut self.checksums {
            checksums.old_locations.clear();
        }
    }

    fn old_location(&self, key: u32) -> Option<&OldLocation> {
        self.checksums.as_ref()?.old_locations.get(&key)
    }

    /// The place that a read of its block number `block` went to, and the checksum that its data must have. With
    /// `of_old`, the read went to the places from before the consistency point in progress.
    pub(crate) fn expected(
        &self,
        read: &BlocksRead,
        block: u32,
        of_old: bool,
    ) -> (Option<Vbn>, u32) {
        let key = match read {
            BlocksRead::OfView(view, first) => {
                let there = self.block_in_view(*view, first + block);
                return there.map_or((None, 0), |there| (Some(there.vbn), there.checksum));
            }
            BlocksRead::From(first) => first + block,
            BlocksRead::Keys(keys) => match keys.get(block as usize) {
                Some(key) => *key,
                None => return (None, 0),
            },
        };
        match self.old_location(key) {
            Some(before) if of_old => (before.vbn, before.checksum),
            _ => (self.map.get(key), self.checksum_of(key)),
        }
    }

    /// Flags the blocks of a read that are not what was written; `None` if all are right.
    pub(crate) fn wrong_blocks(
        &self,
        read: &BlocksRead,
        of_old: bool,
        bytes: &[u8],
    ) -> Option<Vec<bool>> {
        let wrong: Vec<bool> = (0..)
            .zip(bytes.chunks(BLOCK_BYTES))
            .map(|(block, bytes)| {
                let (_, expected) = self.expected(read, block, of_old);
                expected != 0 && metadata::checksum(bytes) != expected
            })
            .collect();
        wrong.contains(&true).then_some(wrong)
    }

    /// Compares bytes with what is known of the block at `dbn` of a group's spindle. A data block in use must have the
    /// bytes last written.
    pub(crate) fn fit(
        &self,
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
        let before = self.old_location(key);
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
        self.checksums.as_ref()?.held.checksum_at(vbn)
    }

    /// The checksum of the block without a key at `vbn`.
    fn checksum_without_key(&self, vbn: Vbn) -> Option<u32> {
        let block = self.checksums.as_ref()?.without_key.get(&(vbn.0 as u32))?;
        (!self.aggregate.is_free(vbn)).then_some(block.checksum)
    }

    /// The key of the block that lies, or last lay, at `vbn`.
    fn key_at(&self, vbn: Vbn) -> Option<u32> {
        self.checksums.as_ref()?.key_at(vbn)
    }

    /// The contents of the block that lies, or last lay, on a spindle of `group` in `stripe`.
    pub(crate) fn contents_at(
        &self,
        group: GroupIndex,
        spindle: SpindleIndex,
        stripe: u64,
    ) -> BlockContents {
        let Some(vbn) = self.vbn_at(group, spindle, stripe) else { return BlockContents::Parity };
        let without_key = || self.checksums.as_ref()?.without_key.get(&(vbn.0 as u32));
        match self.key_at(vbn) {
            Some(key) => self.keys.holds(key),
            None => without_key().map_or(BlockContents::Nothing, |block| block.holds),
        }
    }
}
