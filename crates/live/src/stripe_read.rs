//! A stripe as read from its devices, with the expected contents of each block: the input of scrub and check.

use strewn_alloc::GroupIndex;
use strewn_array::BlockContents;
use strewn_array::in_place::InPlaceConfig;
use strewn_array::write_anywhere::metadata::checksum;
use strewn_base::BLOCK_SECTORS;
use strewn_raid::{Dbn, StripedLayout};

use crate::cross_check::{WrittenBlock, cross_check, lacks_write};
use crate::device::{BLOCK_BYTES, Devices};
use crate::offline::{OfflineArray, SpindleBlock};
use crate::store::{BadBlock, BlockState};

/// A block of a stripe as read.
pub(crate) struct MemberRead<'a> {
    pub(crate) place: SpindleBlock,
    /// What the block should contain.
    pub(crate) holds: BlockContents,
    /// Whether the block is referenced, so that its contents matter.
    pub(crate) is_used: bool,
    /// The checksum in the pointer to it, if there is one.
    pub(crate) checksum: Option<u32>,
    /// `None` if its spindle is lost.
    pub(crate) bytes: Option<&'a [u8]>,
    pub(crate) state: Option<BlockState>,
}

impl MemberRead<'_> {
    /// Returns what is wrong with the block, if anything, in an array whose newest superblock has number
    /// `consistency_point`. Of a free block, only the checksum matters.
    pub(crate) fn problem(&self, consistency_point: u64) -> Option<String> {
        match (self.state?, self.holds) {
            (BlockState::Bad(bad), BlockContents::Nothing) => Some(bad.to_string()),
            (_, BlockContents::Nothing) => None,
            (state, holds) => problem_of(&state, holds, self.checksum, consistency_point),
        }
    }

    /// Returns whether these may be its contents, according to the pointer to it.
    pub(crate) fn is_right(&self, bytes: &[u8]) -> bool {
        self.checksum.is_none_or(|sum| checksum(bytes) == sum)
    }

    /// Returns whether the block can be read, and the pointer to it says that its contents are right, whatever its
    /// entry says.
    pub(crate) fn is_vouched_for(&self) -> bool {
        let is_readable = self.state.is_some_and(|state| !state.is_bad());
        is_readable && self.checksum.is_some() && self.bytes.is_some_and(|one| self.is_right(one))
    }
}

/// Returns what is wrong with a block that was read, if anything. `crc` is the checksum in the pointer to it; an
/// in-place array has none, and a block of it may never have been written. The newest superblock has number
/// `consistency_point`.
pub(crate) fn problem_of(
    state: &BlockState,
    expected: BlockContents,
    crc: Option<u32>,
    consistency_point: u64,
) -> Option<String> {
    match state {
        BlockState::Bad(bad) => Some(bad.to_string()),
        BlockState::NeverWritten => crc.map(|_| "it was never written".to_owned()),
        BlockState::Good { block_tag, .. } if !block_tag.holds.may_be(expected) => {
            Some(format!("its entry says that it is {:?}", block_tag.holds))
        }
        BlockState::Good { crc: found, .. } if crc.is_some_and(|crc| (*found).max(1) != crc) => {
            let crc = crc.unwrap_or_default();
            Some(format!("it has CRC-32C {found:08x}, and its pointer says {crc:08x}"))
        }
        BlockState::Good { consistency_point: of, .. } if *of > consistency_point + 1 => {
            Some(format!("it is of consistency point {of}, behind {consistency_point}"))
        }
        BlockState::Good { .. } => None,
    }
}

/// Returns the blocks of the LUN among `data` that no pointer leads to.
pub(crate) fn unpointed_blocks(data: &[MemberRead<'_>]) -> Vec<u64> {
    let lun_block = |one: &MemberRead<'_>| match one.holds {
        BlockContents::Lun { block, .. } if one.is_used && one.checksum.is_none() => Some(block),
        _ => None,
    };
    data.iter().filter_map(lun_block).collect()
}

/// Returns how many stripes of an in-place array its LUN occupies. Later stripes hold nothing.
pub(crate) fn stripes_of_lun(config: &InPlaceConfig) -> u64 {
    config.stripes(GroupIndex(0))
}

/// A stripe of an in-place array, with a chunk on each of its spindles.
pub(crate) struct InPlaceStripe {
    lun_blocks: u64,
    chunks: Vec<ChunkRead>,
}

struct ChunkRead {
    first: SpindleBlock,
    /// Its first block of the LUN; `None` for parity.
    first_lun_block: Option<u64>,
    bytes: Vec<u8>,
    states: Vec<BlockState>,
}

impl InPlaceStripe {
    /// Reads a stripe.
    pub(crate) fn read<D: Devices>(
        offline: &mut OfflineArray<'_, D>,
        config: &InPlaceConfig,
        stripe: u64,
    ) -> Self {
        let layout = &config.single_group().layout;
        let chunk_blocks = layout.unit_sectors() / BLOCK_SECTORS;
        let places = layout.stripe(stripe);
        let data = u64::from(layout.shape().data_blocks());
        let runs: Vec<_> = places
            .units()
            .map(|(_, unit)| {
                let first = unit.sector / BLOCK_SECTORS;
                (unit.spindle, first..first + chunk_blocks)
            })
            .collect();
        let read = offline.read_runs(&runs);
        let chunks = (0..).zip(runs).zip(read).map(|((member, run), (bytes, states))| ChunkRead {
            first: SpindleBlock { spindle: run.0, dbn: Dbn(run.1.start) },
            first_lun_block: (member < data).then(|| (stripe * data + member) * chunk_blocks),
            bytes,
            states,
        });
        Self {
            lun_blocks: config.end_sector(GroupIndex(0)) / BLOCK_SECTORS,
            chunks: chunks.collect(),
        }
    }

    /// Returns its rows: one block of each chunk, data before parity. Blocks that are consistent in themselves but
    /// stale according to the others count as bad.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Vec<MemberRead<'_>>> {
        let blocks = self.chunks.iter().map(|chunk| chunk.states.len()).max().unwrap_or(0);
        (0..blocks).map(|row| {
            let mut members: Vec<_> =
                self.chunks.iter().map(|chunk| self.member(chunk, row)).collect();
            doubt(&mut members);
            members
        })
    }

    fn member<'a>(&self, chunk: &'a ChunkRead, row: usize) -> MemberRead<'a> {
        let SpindleBlock { spindle, dbn } = chunk.first;
        let holds = match chunk.first_lun_block {
            Some(first) => BlockContents::lun(first + row as u64),
            None => BlockContents::Parity,
        };
        MemberRead {
            place: SpindleBlock { spindle, dbn: Dbn(dbn.0 + row as u64) },
            holds,
            // The last stripe of a LUN extends beyond its end.
            is_used: matches!(holds, BlockContents::Lun { block, .. } if block < self.lun_blocks)
                || holds == BlockContents::Parity,
            checksum: None,
            bytes: chunk.bytes.get(row * BLOCK_BYTES..(row + 1) * BLOCK_BYTES),
            state: chunk.states.get(row).copied(),
        }
    }
}

/// Marks members of a row as bad if they contradict the others, and parity if it lacks a write.
fn doubt(members: &mut [MemberRead<'_>]) {
    let written: Vec<Option<WrittenBlock>> =
        members.iter().map(|one| WrittenBlock::of(&one.state?)).collect();
    let Some((parity, data)) = written.split_last() else { return };
    for ((one, written), must_be) in
        members.iter_mut().zip(&written).zip(cross_check(data, *parity))
    {
        if let Some(WrittenBlock { crc: found, .. }) = *written
            && !must_be.allows(found)
        {
            one.state = Some(BlockState::Bad(BadBlock::Stale { found }));
        }
    }
    if let (Some(parity), Some(one)) = (parity, members.last_mut())
        && lacks_write(data, *parity)
    {
        one.state = Some(BlockState::Bad(BadBlock::Stale { found: parity.crc }));
    }
}
