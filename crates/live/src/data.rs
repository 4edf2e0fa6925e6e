//! The payload of live arrays: bytes, and tags for their blocks.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use strewn_array::{BlockContents, Contents, Payload};
use strewn_base::{BLOCK_SECTORS, SECTOR_BYTES};

use crate::device::BLOCK_BYTES;

const SECTOR: usize = SECTOR_BYTES as usize;
/// Whole sectors and, for a write, the contents tag of each of its blocks of 4 KiB.
#[derive(Debug, Clone, Default)]
pub struct Data {
    bytes: Bytes,
    holds: Vec<BlockContents>,
}

/// Owned bytes, or a view of shared ones: most payloads are only read.
#[derive(Debug, Clone)]
enum Bytes {
    Own(Vec<u8>),
    Shared(Arc<Vec<u8>>, Range<usize>),
    /// A whole shared block.
    Block(Arc<[u8]>),
    /// Consecutive blocks that are apart in memory, because a write does not need them contiguous; and a contiguous
    /// copy, once one was needed.
    Blocks(Vec<Bytes>, OnceCell<Vec<u8>>),
}

impl Default for Bytes {
    fn default() -> Self {
        Self::Own(Vec::new())
    }
}

impl Bytes {
    fn make_own(&mut self) -> &mut Vec<u8> {
        if !matches!(self, Self::Own(_)) {
            *self = Self::Own(self.as_slice().to_vec());
        }
        match self {
            Self::Own(bytes) => bytes,
            _ => unreachable!("it has just become one's own"),
        }
    }

    fn as_slice(&self) -> &[u8] {
        match self {
            Self::Own(bytes) => bytes,
            Self::Shared(of, range) => &of[range.clone()],
            Self::Block(of) => of,
            Self::Blocks(blocks, together) => together.get_or_init(|| {
                let slices: Vec<&[u8]> = blocks.iter().map(Self::as_slice).collect();
                slices.concat()
            }),
        }
    }

    /// Returns the bytes in order, in the parts in which they are stored.
    fn parts(&self) -> impl Iterator<Item = &[u8]> {
        let (one, many) = match self {
            Self::Blocks(blocks, _) => (None, &blocks[..]),
            other => (Some(other.as_slice()), &[][..]),
        };
        one.into_iter().chain(many.iter().map(Self::as_slice))
    }
}

impl PartialEq for Data {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes() && self.holds == other.holds
    }
}

impl Eq for Data {}

impl Data {
    /// Returns a part of `of`, as a range of bytes, without a copy.
    #[must_use]
    pub fn part(of: &Arc<Vec<u8>>, part: Range<usize>) -> Self {
        Self { bytes: Bytes::Shared(Arc::clone(of), part), holds: Vec::new() }
    }

    /// Returns the contents tags of its blocks; empty unless they were set.
    #[must_use]
    pub fn holds(&self, blocks: usize) -> Vec<BlockContents> {
        let mut holds = self.holds.clone();
        holds.resize(blocks, BlockContents::Nothing);
        holds
    }

    /// Returns the bytes.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        match self.bytes {
            Bytes::Own(bytes) => bytes,
            other => other.as_slice().to_vec(),
        }
    }

    /// Returns the bytes in the parts in which they are stored, each of whole sectors; in a payload made of blocks,
    /// each part is a block.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.parts()
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
        self.bytes.as_slice()
    }

    fn from_bytes(bytes: Vec<u8>) -> Self {
        Self { bytes: Bytes::Own(bytes), holds: Vec::new() }
    }

    fn of_blocks(blocks: Vec<(Self, BlockContents)>) -> Self {
        let (blocks, holds) = blocks.into_iter().map(|(block, holds)| (block.bytes, holds)).unzip();
        Self { bytes: Bytes::Blocks(blocks, OnceCell::new()), holds }
    }

    fn describe(&mut self, at_sector: u32, holds: BlockContents) {
        let block = at_sector as usize / BLOCK_SECTORS as usize;
        if self.holds.len() <= block {
            self.holds.resize(block + 1, BlockContents::Nothing);
        }
        self.holds[block] = holds;
    }
}

/// The blocks that an array has in memory.
#[derive(Debug, Default)]
pub struct CachedBlocks {
    /// Consecutive blocks are stored together: most are accessed in order, and each lookup costs a wait for memory.
    groups: FxHashMap<u64, Box<Group>>,
}

/// Blocks of a group.
const GROUP_BLOCKS: u64 = 16;

/// The blocks from a multiple of [`GROUP_BLOCKS`] on that are in memory.
#[derive(Debug, Default)]
struct Group {
    blocks: [Option<CachedBlock>; GROUP_BLOCKS as usize],
    /// Number of blocks in memory.
    count: u32,
}

#[derive(Debug)]
struct CachedBlock {
    /// The whole block. Payloads loaded from it share it until it changes.
    bytes: Arc<[u8]>,
    /// The sectors in memory, one bit each.
    there: u8,
}

impl CachedBlocks {
    fn get(&self, block: u64) -> &CachedBlock {
        let group = self.groups.get(&(block / GROUP_BLOCKS));
        let held = group.and_then(|group| group.blocks[slot_of(block)].as_ref());
        held.expect("who loads a block has stored it")
    }
}

fn slot_of(block: u64) -> usize {
    (block % GROUP_BLOCKS) as usize
}

/// Divides `sectors` by blocks: returns the block, the offset of the part in it and in `sectors`, and the length of
/// the part, in bytes.
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
        let bytes_of_payload = payload.bytes();
        for (block, at, from, bytes) in by_block(first_sector, sectors) {
            let part = &bytes_of_payload[from..from + bytes];
            let group = self.groups.entry(block / GROUP_BLOCKS).or_default();
            match &mut group.blocks[slot_of(block)] {
                Some(held) => {
                    held.there |= mask(at, bytes);
                    match Arc::get_mut(&mut held.bytes) {
                        None if bytes == BLOCK_BYTES => held.bytes = part.into(),
                        _ => Arc::make_mut(&mut held.bytes)[at..at + bytes].copy_from_slice(part),
                    }
                }
                empty => {
                    // Most blocks arrive whole, and need not be filled with zeros first.
                    let whole = match bytes {
                        BLOCK_BYTES => part.into(),
                        _ => {
                            let mut whole = [0; BLOCK_BYTES];
                            whole[at..at + bytes].copy_from_slice(part);
                            whole[..].into()
                        }
                    };
                    *empty = Some(CachedBlock { bytes: whole, there: mask(at, bytes) });
                    group.count += 1;
                }
            }
        }
    }

    fn load(&self, first_sector: u64, sectors: u32) -> Data {
        if sectors as usize * SECTOR == BLOCK_BYTES && first_sector.is_multiple_of(BLOCK_SECTORS) {
            let held = self.get(first_sector / BLOCK_SECTORS);
            assert_eq!(held.there, u8::MAX, "not all is there");
            return Data { bytes: Bytes::Block(Arc::clone(&held.bytes)), holds: Vec::new() };
        }
        let mut loaded = Vec::with_capacity(sectors as usize * SECTOR);
        for (block, at, _, bytes) in by_block(first_sector, sectors) {
            let held = self.get(block);
            assert_eq!(held.there & mask(at, bytes), mask(at, bytes), "not all is there");
            loaded.extend_from_slice(&held.bytes[at..at + bytes]);
        }
        Data::from_bytes(loaded)
    }

    fn forget(&mut self, first_sector: u64, sectors: u32) {
        for (block, at, _, bytes) in by_block(first_sector, sectors) {
            let Some(group) = self.groups.get_mut(&(block / GROUP_BLOCKS)) else { continue };
            let slot = &mut group.blocks[slot_of(block)];
            let Some(held) = slot else { continue };
            held.there &= !mask(at, bytes);
            if held.there == 0 {
                *slot = None;
                group.count -= 1;
                if group.count == 0 {
                    self.groups.remove(&(block / GROUP_BLOCKS));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(contents: &CachedBlocks) -> usize {
        contents.groups.values().flat_map(|group| &group.blocks).flatten().count()
    }

    #[test]
    fn a_payload_of_blocks_has_their_bytes_and_what_they_hold() {
        let block = |byte| Data::from_bytes(vec![byte; BLOCK_BYTES]);
        let mut contents = CachedBlocks::default();
        contents.store(24, 8, &block(2));
        let shared = contents.load(24, 8);
        let all = Data::of_blocks(vec![
            (block(1), BlockContents::Parity),
            (shared, BlockContents::lun(3)),
        ]);
        assert_eq!(all.holds(2), [BlockContents::Parity, BlockContents::lun(3)]);
        // An overwritten block is a different one.
        contents.store(24, 8, &block(9));
        let bytes = [vec![1; BLOCK_BYTES], vec![2; BLOCK_BYTES]].concat();
        assert_eq!(all.parts().collect::<Vec<_>>().concat(), bytes);
        assert_eq!(
            (all.bytes(), all.slice(7, 2).bytes()),
            (&bytes[..], &bytes[7 * SECTOR..9 * SECTOR])
        );
        assert_eq!(all.into_bytes(), bytes);
    }

    #[test]
    fn contents_keep_sectors_and_forget_them() {
        let mut contents = CachedBlocks::default();
        let bytes: Vec<u8> = (0..20 * SECTOR).map(|at| (at / SECTOR) as u8).collect();
        contents.store(5, 20, &Data::from_bytes(bytes.clone()));
        assert_eq!(contents.load(5, 20).into_bytes(), bytes);
        assert_eq!(contents.load(8, 1).into_bytes(), vec![3; SECTOR]);
        contents.forget(5, 3);
        assert_eq!(held(&contents), 3);
        contents.forget(8, 8);
        assert_eq!(held(&contents), 2);
        contents.forget(16, 9);
        assert!(contents.groups.is_empty());
    }
}
