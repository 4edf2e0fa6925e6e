//! The format of metadata blocks, byte by byte.
//!
//! A pointer block (an indirect block, the inode, a block of the directory) has a header of 16 bytes and 510 pointers
//! of 8; the header has its file, level and index. A block of the aggregate's bitmap is 32,768 bits. All numbers are
//! little endian. A block's own checksum is stored in the pointer to it, so that following a pointer detects a stale or
//! misplaced block.

use strewn_base::BLOCK_BYTES;
use strewn_base::state::SavedValue;
use strewn_raid::Vbn;

use super::address::BlockAddress;
use super::restore_error::RestoreError;

/// The first four bytes of a pointer block.
const POINTERS_MAGIC: [u8; 4] = *b"STP2";
/// The first four bytes of a block of the volume's bitmap or the container map.
const REGION_MAGIC: [u8; 4] = *b"STRG";
const HEADER_BYTES: usize = 16;
const POINTER_BYTES: usize = 8;
/// The VBN of a block that was never written, or is unmapped.
const NOWHERE: u32 = u32::MAX;

/// A pointer to a block: where it lies, and the [`checksum`] of its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub struct Pointer {
    /// Where the block lies.
    pub vbn: Vbn,
    /// CRC-32C of its bytes; see [`checksum`].
    pub checksum: u32,
}

/// The CRC-32C of a block's bytes, or 1 in place of 0. A checksum of 0 stands for one that is unknown.
#[must_use]
pub fn checksum(bytes: &[u8]) -> u32 {
    crate::crc32c(bytes).max(1)
}

/// Encodes the pointer block at `address`.
pub(crate) fn encode_pointers(
    address: BlockAddress,
    pointers: impl ExactSizeIterator<Item = Option<Pointer>>,
) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(BLOCK_BYTES as usize);
    bytes.extend_from_slice(&POINTERS_MAGIC);
    bytes.extend_from_slice(&address.file.to_le_bytes());
    bytes.extend_from_slice(&(pointers.len() as u16).to_le_bytes());
    bytes.extend_from_slice(&[address.level, 0]);
    bytes.extend_from_slice(&address.index.to_le_bytes());
    for pointer in pointers {
        let (vbn, checksum) =
            pointer.map_or((NOWHERE, 0), |pointer| (pointer.vbn.0 as u32, pointer.checksum));
        bytes.extend_from_slice(&vbn.to_le_bytes());
        bytes.extend_from_slice(&checksum.to_le_bytes());
    }
    bytes.resize(BLOCK_BYTES as usize, 0);
    bytes
}

/// Decodes the pointer block at `address`.
///
/// # Errors
/// If the bytes are not that block.
///
/// # Panics
/// If `bytes` is not a whole block.
pub fn decode_pointers(
    address: BlockAddress,
    bytes: &[u8],
) -> Result<Vec<Option<Pointer>>, RestoreError> {
    assert_eq!(bytes.len() as u64, BLOCK_BYTES, "a block of another size");
    let number =
        |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let count = (number(8) & 0xFFFF) as usize;
    if bytes[..4] != POINTERS_MAGIC || count > (bytes.len() - HEADER_BYTES) / POINTER_BYTES {
        return Err(RestoreError::NotPointers(address));
    }
    let found = BlockAddress { file: number(4), level: bytes[10], index: number(12) };
    if found != address {
        return Err(RestoreError::OtherBlock { expected: address, found });
    }
    let pointer = |index: usize| {
        let at = HEADER_BYTES + index * POINTER_BYTES;
        let vbn = number(at);
        (vbn != NOWHERE).then(|| Pointer { vbn: Vbn(vbn.into()), checksum: number(at + 4) })
    };
    Ok((0..count).map(pointer).collect())
}

/// Encodes a block that describes a region of the volume's numbers: its key, and how many of the region's numbers are
/// in use. The array does not keep numbers within a region, so the block contains nothing else.
pub(crate) fn encode_region(key: u32, numbers_used: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(BLOCK_BYTES as usize);
    bytes.extend_from_slice(&REGION_MAGIC);
    bytes.extend_from_slice(&key.to_le_bytes());
    bytes.extend_from_slice(&numbers_used.to_le_bytes());
    bytes.resize(BLOCK_BYTES as usize, 0);
    bytes
}

/// Encodes a block of the aggregate's bitmap. `in_use` yields runs of 1 to 64 VBNs: their number, and a bit for each in
/// use. `free` lists VBNs, by position in the block, that are free all the same.
pub(crate) fn encode_bitmap(
    in_use: impl Iterator<Item = (u32, u64)>,
    free: impl Iterator<Item = usize>,
) -> Vec<u8> {
    let mut words = vec![0u64; BLOCK_BYTES as usize / 8];
    let mut at = 0;
    for (count, used) in in_use {
        let (word, bit) = (at / 64, at % 64);
        words[word] |= used << bit;
        if bit + count as usize > 64 {
            words[word + 1] |= used >> (64 - bit);
        }
        at += count as usize;
    }
    for at in free {
        words[at / 64] &= !(1 << (at % 64));
    }
    words.into_iter().flat_map(u64::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_come_back_and_other_blocks_are_refused() {
        let pointers = [None, Some(Pointer { vbn: Vbn(7), checksum: 9 }), None];
        let address = BlockAddress { file: 7, level: 2, index: 12 };
        let bytes = encode_pointers(address, pointers.iter().copied());
        assert_eq!(decode_pointers(address, &bytes).unwrap(), pointers);
        let other = BlockAddress { index: 13, ..address };
        assert_eq!(
            decode_pointers(other, &bytes).unwrap_err().to_string(),
            "metadata block 7:2:13 identifies itself as block 7:2:12"
        );
        let not_pointers = Err(RestoreError::NotPointers(address));
        assert_eq!(decode_pointers(address, &[0; 4096]), not_pointers);
        assert_eq!(decode_pointers(address, &encode_region(12, 4)), not_pointers);
    }

    #[test]
    fn a_bitmap_has_a_bit_for_each_block() {
        // Words of all lengths, as far as there is room.
        let counts = (0u32..).map(|at| at % 64 + 1).scan(0, |start, count| {
            let first = *start;
            *start += count as usize;
            (*start <= 32_768).then_some((first, count))
        });
        let words = counts.map(|(first, count)| {
            let used = (0..count as usize).filter(|at| (first + at) % 9 == 0);
            (count, used.fold(0, |word, at| word | 1 << at))
        });
        let end = words.clone().map(|(count, _)| count as usize).sum::<usize>();
        let bytes = encode_bitmap(words, [0, 90].into_iter());
        let set = (0..32_768).filter(|bit| bytes[bit / 8] >> (bit % 8) & 1 == 1);
        assert!(set.eq((0..end).step_by(9).filter(|at| ![0, 90].contains(at))));
    }
}
