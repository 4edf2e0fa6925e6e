//! Chunks: which bytes of which devices a range of btrfs's addresses is.

use std::collections::BTreeMap;
use std::ops::Range;

use super::fields::{u16_at, u64_at};
use super::superblock::SUPERBLOCK_COPIES;
use crate::space::Piece;

/// Bytes of a stripe on one device. The chunk item has the number too, and the kernel insists on this one.
const STRIPE_BYTES: u64 = 64 << 10;

/// Limits beyond which a chunk tree is not taken for one: an exbibyte in chunks of 1 GiB has a quarter as many.
const MOST_CHUNKS: usize = 1 << 22;
const MOST_STRIPES: usize = 1 << 23;

/// Bits of a chunk's type (include/uapi/linux/btrfs_tree.h).
const DATA: u64 = 1;
const PROFILES: u64 = 0x7f8;

/// How a chunk spreads its addresses over its stripes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Profile {
    /// Every stripe has all bytes: single, DUP, RAID 1, RAID 1C3 and 1C4.
    Copies,
    /// Stripes of 64 KiB in turn, each with `copies` copies next to one another: RAID 0 and RAID 10.
    Striped { copies: u64 },
    /// Stripes of 64 KiB in turn, `parity` of each row being parity that moves by one from row to row.
    Parity { parity: u64 },
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Stripe {
    /// Index of the device; `None` if it is missing.
    device: Option<u16>,
    byte: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Chunk {
    bytes: u64,
    kind: u64,
    profile: Profile,
    stripes: Vec<Stripe>,
}

/// The chunks of a btrfs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChunkMap {
    chunks: BTreeMap<u64, Chunk>,
    stripes: usize,
}

impl ChunkMap {
    /// Adds the chunk that begins at `logical`, from the bytes of its item (struct `btrfs_chunk`).
    pub(super) fn insert(
        &mut self,
        logical: u64,
        item: &[u8],
        device: impl Fn(u64) -> Option<u16>,
    ) -> Result<(), String> {
        let chunk =
            Chunk::parse(item, device).map_err(|what| format!("chunk {logical}: {what}"))?;
        let end = logical
            .checked_add(chunk.bytes)
            .ok_or_else(|| format!("chunk {logical} ends beyond all addresses"))?;
        let overlaps = |(start, other): (&u64, &Chunk)| start + other.bytes > logical;
        if self.chunks.range(..end).next_back().is_some_and(overlaps) {
            return Err(format!("chunk {logical} overlaps another"));
        }
        self.stripes += chunk.stripes.len();
        if self.chunks.len() >= MOST_CHUNKS || self.stripes > MOST_STRIPES {
            return Err("there are more chunks than any file system has".to_owned());
        }
        self.chunks.insert(logical, chunk);
        Ok(())
    }

    /// The number of chunks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.chunks.len()
    }

    /// Whether there are no chunks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// The addresses of chunks that hold data, in ascending order.
    pub(crate) fn data_chunks(&self) -> impl Iterator<Item = Range<u64>> + '_ {
        let data = self.chunks.iter().filter(|(_, chunk)| chunk.kind & DATA != 0);
        data.map(|(start, chunk)| *start..start + chunk.bytes)
    }

    /// Bytes of devices that chunks take.
    pub(crate) fn allocated_bytes(&self) -> u64 {
        let of_stripe = |chunk: &Chunk| chunk.bytes / chunk.shape().0;
        let bytes = |chunk: &Chunk| of_stripe(chunk).saturating_mul(chunk.stripes.len() as u64);
        self.chunks.values().map(bytes).fold(0, u64::saturating_add)
    }

    /// The chunk with address `at`, and where it begins.
    fn chunk(&self, at: u64) -> Option<(u64, &Chunk)> {
        let (start, chunk) = self.chunks.range(..=at).next_back()?;
        (at - start < chunk.bytes).then_some((*start, chunk))
    }

    /// Appends the pieces of `bytes` from `at`; returns how many of them have a device.
    pub(crate) fn read(&self, at: u64, bytes: u64, pieces: &mut Vec<Piece>) -> u64 {
        let from = pieces.len();
        let end = at.saturating_add(bytes);
        let (mut at, mut mapped) = (at, 0);
        while at < end {
            let Some((start, chunk)) = self.chunk(at) else {
                // To the next chunk, if one begins within the range.
                let next = self.chunks.range(at..end).next();
                at = next.map_or(end, |(start, _)| *start);
                continue;
            };
            let part = (end - at).min(start + chunk.bytes - at);
            mapped += chunk.read(at - start, part, None, pieces, from);
            at += part;
        }
        mapped
    }

    /// The pieces of tree block `at` in copy number `copy`, or `None` if there is no such copy.
    pub(super) fn copy(&self, at: u64, bytes: u64, copy: usize) -> Option<Vec<Piece>> {
        let (start, chunk) = self.chunk(at)?;
        if copy >= chunk.copies() || start + chunk.bytes - at < bytes {
            return None;
        }
        let mut pieces = Vec::new();
        chunk.read(at - start, bytes, Some(copy), &mut pieces, 0);
        Some(pieces)
    }

    /// The parts of the chunk at `start` that are not given out because a copy of the superblock lies there, in
    /// ascending order and without overlap (`btrfs_rmap_block`, fs/btrfs/block-group.c).
    pub(crate) fn superblocks(&self, start: u64) -> Vec<Range<u64>> {
        let mut found = Vec::new();
        let Some(chunk) = self.chunks.get(&start) else { return found };
        let (columns, width) = chunk.shape();
        let stripe_bytes = chunk.bytes / columns;
        for copy in SUPERBLOCK_COPIES {
            for (index, stripe) in chunk.stripes.iter().enumerate() {
                let Some(within) = copy.checked_sub(stripe.byte).filter(|at| *at < stripe_bytes)
                else {
                    continue;
                };
                let (row, rest) = (within / STRIPE_BYTES, within % STRIPE_BYTES);
                let at = match chunk.profile {
                    Profile::Copies => within,
                    Profile::Striped { copies } => {
                        (row * columns + index as u64 / copies) * STRIPE_BYTES + rest
                    }
                    // The whole row, wherever its parity is.
                    Profile::Parity { .. } => row * width,
                };
                let end = at.saturating_add(width).min(chunk.bytes);
                found.push(start + at.min(end)..start + end);
            }
        }
        found.sort_unstable_by_key(|range| range.start);
        found.dedup();
        found
    }
}

impl Chunk {
    fn parse(item: &[u8], device: impl Fn(u64) -> Option<u16>) -> Result<Self, String> {
        const SHORT: &str = "its item is incomplete";
        let bytes = u64_at(item, 0).ok_or(SHORT)?;
        let stripe_bytes = u64_at(item, 16).ok_or(SHORT)?;
        let kind = u64_at(item, 24).ok_or(SHORT)?;
        let count = u16_at(item, 44).ok_or(SHORT)?;
        let copies = u64::from(u16_at(item, 46).ok_or(SHORT)?);
        if bytes == 0 || bytes % 4096 != 0 || stripe_bytes != STRIPE_BYTES || count == 0 {
            return Err(format!("{bytes} bytes in {count} stripes of {stripe_bytes}"));
        }
        let profile = match kind & PROFILES {
            // Single, RAID 1, DUP, RAID 1C3, RAID 1C4.
            0 | 0x10 | 0x20 | 0x200 | 0x400 => Profile::Copies,
            0x08 => Profile::Striped { copies: 1 },
            0x40 => Profile::Striped { copies },
            0x80 => Profile::Parity { parity: 1 },
            0x100 => Profile::Parity { parity: 2 },
            other => return Err(format!("profile {other:#x} is not known")),
        };
        let fits = match profile {
            Profile::Copies => true,
            Profile::Striped { copies } => copies > 0 && u64::from(count) % copies == 0,
            Profile::Parity { parity } => u64::from(count) > parity,
        };
        if !fits {
            return Err(format!("{count} stripes do not fit profile {:#x}", kind & PROFILES));
        }
        let stripe = |index: usize| {
            let at = 48 + 32 * index;
            let id = u64_at(item, at)?;
            Some(Stripe { device: device(id), byte: u64_at(item, at + 8)? })
        };
        let stripes: Option<Vec<_>> = (0..usize::from(count)).map(stripe).collect();
        Ok(Self { bytes, kind, profile, stripes: stripes.ok_or(SHORT)? })
    }

    fn copies(&self) -> usize {
        match self.profile {
            Profile::Copies => self.stripes.len(),
            Profile::Striped { copies } => copies as usize,
            Profile::Parity { .. } => 1,
        }
    }

    /// Stripes with different data in a row, and the bytes that a superblock's 64 KiB on one device take of addresses.
    fn shape(&self) -> (u64, u64) {
        let stripes = self.stripes.len() as u64;
        match self.profile {
            Profile::Copies => (1, STRIPE_BYTES),
            Profile::Striped { copies } => (stripes / copies, STRIPE_BYTES),
            Profile::Parity { parity } => (stripes - parity, (stripes - parity) * STRIPE_BYTES),
        }
    }

    /// Appends the pieces of `bytes` from `at`, counted from the chunk's beginning, from one copy or from the first
    /// whose device is there (`map_blocks_*`, fs/btrfs/volumes.c). Returns how many bytes have a device.
    fn read(
        &self,
        at: u64,
        bytes: u64,
        copy: Option<usize>,
        pieces: &mut Vec<Piece>,
        from: usize,
    ) -> u64 {
        let (columns, _) = self.shape();
        if columns == 1 && !matches!(self.profile, Profile::Parity { .. }) {
            return self.piece(&self.stripes, copy, at, bytes, pieces, from);
        }
        let (mut at, end) = (at, at + bytes);
        let mut mapped = 0;
        while at < end {
            let (number, within) = (at / STRIPE_BYTES, at % STRIPE_BYTES);
            let part = (STRIPE_BYTES - within).min(end - at);
            let (row, column) = (number / columns, number % columns);
            let stripes = match self.profile {
                Profile::Parity { .. } => {
                    let index = ((row + column) % self.stripes.len() as u64) as usize;
                    &self.stripes[index..=index]
                }
                _ => {
                    let copies = self.copies();
                    let first = column as usize * copies;
                    &self.stripes[first..first + copies]
                }
            };
            let byte = row * STRIPE_BYTES + within;
            mapped += self.piece(stripes, copy, byte, part, pieces, from);
            at += part;
        }
        mapped
    }

    /// One piece, from byte `at` of one of `stripes`, which are copies of each other.
    fn piece(
        &self,
        stripes: &[Stripe],
        copy: Option<usize>,
        at: u64,
        bytes: u64,
        pieces: &mut Vec<Piece>,
        from: usize,
    ) -> u64 {
        let mut wanted = match copy {
            Some(copy) => stripes.get(copy..=copy).unwrap_or_default().iter(),
            None => stripes.iter(),
        };
        let Some((device, byte)) =
            wanted.find_map(|stripe| Some((stripe.device?, stripe.byte.checked_add(at)?)))
        else {
            return 0;
        };
        Piece { device, byte, bytes }.append_to(pieces, from);
        bytes
    }
}

#[cfg(test)]
#[path = "chunk_tests.rs"]
mod tests;
