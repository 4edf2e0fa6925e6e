//! What live arrays carry: bytes, and what their blocks hold.

use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::Arc;

use strewn_array::{Contents, Holds, Payload};
use strewn_raid::SECTOR_BYTES;

use crate::device::BLOCK_BYTES;
use crate::hashing::NumberMap;

const SECTOR: usize = SECTOR_BYTES as usize;
const BLOCK_SECTORS: u64 = (BLOCK_BYTES / SECTOR) as u64;

/// Whole sectors, and of each block of 4 KiB of a write what it holds.
#[derive(Debug, Clone, Default)]
pub struct Data {
    bytes: Bytes,
    holds: Vec<Holds>,
}

/// Bytes that are one's own, or a part of what others have too: most are looked at, and not changed.
#[derive(Debug, Clone)]
enum Bytes {
    Own(Vec<u8>),
    Shared(Arc<Vec<u8>>, Range<usize>),
}

impl Default for Bytes {
    fn default() -> Self {
        Self::Own(Vec::new())
    }
}

impl Bytes {
    fn make_own(&mut self) -> &mut Vec<u8> {
        if let Self::Shared(of, range) = self {
            *self = Self::Own(of[range.clone()].to_vec());
        }
        match self {
            Self::Own(bytes) => bytes,
            Self::Shared(..) => unreachable!("it has just become one's own"),
        }
    }
}

impl PartialEq for Data {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes() && self.holds == other.holds
    }
}

impl Eq for Data {}

impl Data {
    /// A part of `of`, in bytes, which is not copied.
    #[must_use]
    pub fn part(of: &Arc<Vec<u8>>, part: Range<usize>) -> Self {
        Self { bytes: Bytes::Shared(Arc::clone(of), part), holds: Vec::new() }
    }

    /// What its blocks hold, those that nothing was said of nothing.
    #[must_use]
    pub fn holds(&self, blocks: usize) -> Vec<Holds> {
        let mut holds = self.holds.clone();
        holds.resize(blocks, Holds::Nothing);
        holds
    }

    /// Its bytes.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        match self.bytes {
            Bytes::Own(bytes) => bytes,
            Bytes::Shared(of, range) => of[range].to_vec(),
        }
    }
}

impl Payload for Data {
    type Contents = CachedBlocks;
    const CARRIES_DATA: bool = true;

    fn splice(&mut self, at_sector: u32, part: &Self) {
        let start = at_sector as usize * SECTOR;
        let part = part.bytes();
        let end = start + part.len();
        let bytes = self.bytes.make_own();
        if start == bytes.len() {
            bytes.extend_from_slice(part);
            return;
        }
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        bytes[start..end].copy_from_slice(part);
    }

    fn slice(&self, from_sector: u32, sectors: u32) -> Self {
        let start = from_sector as usize * SECTOR;
        Self::from_bytes(self.bytes()[start..start + sectors as usize * SECTOR].to_vec())
    }

    fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Own(bytes) => bytes,
            Bytes::Shared(of, range) => &of[range.clone()],
        }
    }

    fn from_bytes(bytes: Vec<u8>) -> Self {
        Self { bytes: Bytes::Own(bytes), holds: Vec::new() }
    }

    fn describe(&mut self, at_sector: u32, holds: Holds) {
        let block = at_sector as usize / BLOCK_SECTORS as usize;
        if self.holds.len() <= block {
            self.holds.resize(block + 1, Holds::Nothing);
        }
        self.holds[block] = holds;
    }
}

/// The blocks that an array has in memory.
#[derive(Debug, Default)]
pub struct CachedBlocks {
    blocks: NumberMap<u64, CachedBlock>,
}

#[derive(Debug)]
struct CachedBlock {
    /// All of the block. What was loaded of it shares it, until it is changed.
    bytes: Arc<Vec<u8>>,
    /// The sectors that are there, one bit each.
    there: u8,
}

/// The stretches of `sectors` that lie in one block each: the block, where the stretch begins in it and in `sectors`,
/// how long it is.
fn by_block(first_sector: u64, sectors: u32) -> impl Iterator<Item = (u64, usize, usize, usize)> {
    let end = first_sector + u64::from(sectors);
    let mut at = first_sector;
    std::iter::from_fn(move || {
        (at < end).then(|| {
            let block = at / BLOCK_SECTORS;
            let next = ((block + 1) * BLOCK_SECTORS).min(end);
            let stretch = (
                block,
                (at % BLOCK_SECTORS) as usize * SECTOR,
                (at - first_sector) as usize * SECTOR,
                (next - at) as usize * SECTOR,
            );
            at = next;
            stretch
        })
    })
}

fn mask(at: usize, bytes: usize) -> u8 {
    (((1u16 << (bytes / SECTOR)) - 1) << (at / SECTOR)) as u8
}

impl Contents<Data> for CachedBlocks {
    fn store(&mut self, first_sector: u64, sectors: u32, payload: &Data) {
        for (block, at, from, bytes) in by_block(first_sector, sectors) {
            let part = &payload.bytes()[from..from + bytes];
            match self.blocks.entry(block) {
                Entry::Occupied(mut held) => {
                    let held = held.get_mut();
                    held.there |= mask(at, bytes);
                    match Arc::get_mut(&mut held.bytes) {
                        None if bytes == BLOCK_BYTES => held.bytes = Arc::new(part.to_vec()),
                        _ => Arc::make_mut(&mut held.bytes)[at..at + bytes].copy_from_slice(part),
                    }
                }
                // Most blocks come whole: those are not made of zeros first.
                Entry::Vacant(place) if bytes == BLOCK_BYTES => {
                    let bytes = Arc::new(part.to_vec());
                    place.insert(CachedBlock { bytes, there: u8::MAX });
                }
                Entry::Vacant(place) => {
                    let mut whole = vec![0; BLOCK_BYTES];
                    whole[at..at + bytes].copy_from_slice(part);
                    let there = mask(at, bytes);
                    place.insert(CachedBlock { bytes: Arc::new(whole), there });
                }
            }
        }
    }

    fn load(&self, first_sector: u64, sectors: u32) -> Data {
        if sectors as usize * SECTOR == BLOCK_BYTES && first_sector.is_multiple_of(BLOCK_SECTORS) {
            let held = &self.blocks[&(first_sector / BLOCK_SECTORS)];
            debug_assert_eq!(held.there, u8::MAX, "not all is there");
            return Data::part(&held.bytes, 0..BLOCK_BYTES);
        }
        let mut loaded = Vec::with_capacity(sectors as usize * SECTOR);
        for (block, at, _, bytes) in by_block(first_sector, sectors) {
            let held = &self.blocks[&block];
            debug_assert_eq!(held.there & mask(at, bytes), mask(at, bytes), "not all is there");
            loaded.extend_from_slice(&held.bytes[at..at + bytes]);
        }
        Data::from_bytes(loaded)
    }

    fn forget(&mut self, first_sector: u64, sectors: u32) {
        for (block, at, _, bytes) in by_block(first_sector, sectors) {
            if let Some(held) = self.blocks.get_mut(&block) {
                held.there &= !mask(at, bytes);
                if held.there == 0 {
                    self.blocks.remove(&block);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_keep_sectors_and_forget_them() {
        let mut contents = CachedBlocks::default();
        let bytes: Vec<u8> = (0..20 * SECTOR).map(|at| (at / SECTOR) as u8).collect();
        contents.store(5, 20, &Data::from_bytes(bytes.clone()));
        assert_eq!(contents.load(5, 20).into_bytes(), bytes);
        assert_eq!(contents.load(8, 1).into_bytes(), vec![3; SECTOR]);
        contents.forget(5, 3);
        assert_eq!(contents.blocks.len(), 3);
        contents.forget(8, 8);
        assert_eq!(contents.blocks.len(), 2);
        contents.forget(16, 9);
        assert!(contents.blocks.is_empty());
    }
}
