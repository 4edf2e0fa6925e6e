//! Reads every stripe of an array, and repairs errors from redundancy.
//!
//! Three things tell what a block should contain: the checksum stored with it; for a block in use of a write-anywhere
//! array, the checksum in the pointer to it; and the parity of its stripe. A block that fails one of the first two is
//! recomputed from its stripe and rewritten. If all data is good and parity does not match, parity is rewritten.
//!
//! An in-place array has no pointers. The metadata stored with parity tells which block is stale, unless parity was
//! written when a block of its stripe was unknown. If such parity does not match, the scrub rewrites it to match the
//! data, so that another lost block is not recomputed wrongly from it, and reports the place in
//! [`ScrubReport::lost_writes`].

use std::collections::HashMap;

use strewn_array::in_place::InPlaceConfig;
use strewn_array::write_anywhere::WriteAnywhereConfig;
use strewn_array::write_anywhere::metadata::{Pointer, checksum};
use strewn_array::{BlockContents, crc32c};
use strewn_base::ROW_STRIPES;
use strewn_raid::{
    Dbn, MemberSet, SpindleIndex, StripeBytes, StripeCodec, StripeShape, StripedLayout, Vbn,
};

use crate::cross_check::WrittenBlock;
use crate::device::{BLOCK_BYTES, Devices};
use crate::format::{BlockTag, StripeSum};
use crate::offline::{OfflineArray, SpindleBlock};
use crate::store::{BlockState, SpindleWriteError};
use crate::stripe_read::{InPlaceStripe, MemberRead, stripes_of_lun, unpointed_blocks};

/// The result of a scrub.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScrubReport {
    /// Stripes, of one block per spindle, with any block in use; for an in-place array, with any block written.
    pub stripes: u64,
    /// Blocks that were unreadable or did not have the contents last written.
    pub bad_blocks: u64,
    /// Bad blocks that were recomputed and rewritten.
    pub repaired_blocks: u64,
    /// Stripes whose data was good and whose parity was rewritten.
    pub parity_repaired: u64,
    /// Blocks in use that cannot be recomputed, with their places.
    pub gone: Vec<(BlockContents, SpindleBlock)>,
    /// Whether all stripes were read, because the scrub was not ended early.
    pub is_whole: bool,
    /// Stripes of an in-place array whose parity was rewritten although a block of data may be the stale one.
    pub lost_writes: Vec<LostWrite>,
}

/// A stripe whose parity did not match its data, without metadata that tells why: a write of a data block, or of
/// parity, was reported as done and never happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostWrite {
    /// The parity block.
    pub parity: SpindleBlock,
    /// The LUN blocks that it covers.
    pub among: Vec<u64>,
}

impl ScrubReport {
    /// Returns whether everything was read and nothing was wrong.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.is_whole && self.bad_blocks == 0 && self.parity_repaired == 0 && self.gone.is_empty()
    }
}

/// Scrubs the spindles of a write-anywhere array whose blocks in use are `blocks`. `progress` is called with the
/// fraction done, 0 to 1, and ends the scrub by returning false.
///
/// # Errors
/// If a spindle refuses a write.
pub fn scrub<D: Devices>(
    offline: &mut OfflineArray<'_, D>,
    config: &WriteAnywhereConfig,
    blocks: &[(BlockContents, Pointer)],
    checkpoint: u64,
    mut progress: impl FnMut(f64) -> bool,
) -> Result<ScrubReport, SpindleWriteError> {
    let in_use: HashMap<Vbn, (BlockContents, u32)> =
        blocks.iter().map(|(holds, pointer)| (pointer.vbn, (*holds, pointer.checksum))).collect();
    let groups = config.placed_groups();
    let all_stripes: u64 = groups.iter().map(|placed| placed.group.stripes()).sum();
    let mut done_stripes = 0;
    let mut scrubbed = ScrubReport::default();
    for placed in &groups {
        let group = &placed.group;
        for first in (0..group.stripes()).step_by(ROW_STRIPES as usize) {
            let stripes = first..(first + ROW_STRIPES).min(group.stripes());
            let runs: Vec<_> =
                placed.spindles().map(|spindle| (SpindleIndex(spindle), stripes.clone())).collect();
            let read = offline.read_runs(&runs);
            let mut writes = Vec::new();
            for stripe in stripes.clone() {
                let at = (stripe - first) as usize;
                let members: Vec<MemberRead<'_>> = placed
                    .spindles()
                    .zip(&read)
                    .map(|(spindle, (bytes, states))| {
                        let (spindle, dbn) = (SpindleIndex(spindle), Dbn(stripe));
                        let vbn = placed.vbn(spindle, dbn);
                        let used = vbn.and_then(|vbn| in_use.get(&vbn).copied());
                        let of_data = used.map_or(BlockContents::Nothing, |(holds, _)| holds);
                        MemberRead {
                            place: SpindleBlock { spindle, dbn },
                            holds: vbn.map_or(BlockContents::Parity, |_| of_data),
                            is_used: used.is_some(),
                            checksum: used.map(|(_, checksum)| checksum),
                            bytes: bytes.get(at * BLOCK_BYTES..(at + 1) * BLOCK_BYTES),
                            state: states.get(at).copied(),
                        }
                    })
                    .collect();
                // In a stripe without blocks in use, a crash may leave anything; nothing there is read before it is
                // written.
                if members.iter().any(|one| one.is_used) {
                    scrub_stripe(group.stripe_shape(), &members, &mut scrubbed, &mut writes);
                }
            }
            offline.write_blocks(&writes, checkpoint)?;
            done_stripes += stripes.end - stripes.start;
            if !progress(done_stripes as f64 / all_stripes as f64) {
                return Ok(scrubbed);
            }
        }
    }
    scrubbed.is_whole = true;
    Ok(scrubbed)
}

/// Scrubs the spindles of an in-place array. `progress` is called with the fraction done, 0 to 1, and ends the scrub
/// by returning false.
///
/// # Errors
/// If a spindle refuses a write.
pub fn scrub_in_place<D: Devices>(
    offline: &mut OfflineArray<'_, D>,
    config: &InPlaceConfig,
    checkpoint: u64,
    mut progress: impl FnMut(f64) -> bool,
) -> Result<ScrubReport, SpindleWriteError> {
    let mut scrubbed = ScrubReport::default();
    let stripes = stripes_of_lun(config);
    for stripe in 0..stripes {
        let read = InPlaceStripe::read(offline, config, stripe);
        let mut writes = Vec::new();
        for members in read.rows() {
            let before = writes.len();
            scrub_stripe(
                config.single_group().layout.shape(),
                &members,
                &mut scrubbed,
                &mut writes,
            );
            keep_sums(&members, &mut writes[before..]);
        }
        offline.write_blocks(&writes, checkpoint)?;
        if !progress((stripe + 1) as f64 / stripes as f64) {
            return Ok(scrubbed);
        }
    }
    scrubbed.is_whole = true;
    Ok(scrubbed)
}

/// Blocks to write, with their tags.
type Writes = Vec<(SpindleBlock, BlockTag, Vec<u8>)>;

/// Completes the tags of parity that is written for a row of an in-place stripe: they describe the data of `writes`
/// and the data that was read.
fn keep_sums(members: &[MemberRead<'_>], writes: &mut [(SpindleBlock, BlockTag, Vec<u8>)]) {
    let Some((_, data)) = members.split_last() else { return };
    let crc_of = |one: &MemberRead<'_>| {
        let written = writes.iter().find(|(place, ..)| *place == one.place);
        match (written, one.state) {
            (Some((_, _, bytes)), _) => Some(crc32c(bytes)),
            (None, Some(state)) => WrittenBlock::of(&state).map(|written| written.crc),
            (None, None) => None,
        }
    };
    let crcs: Option<Vec<u32>> = data.iter().map(crc_of).collect();
    let redo = data.iter().filter_map(|one| Some(WrittenBlock::of(&one.state?)?.redo)).max();
    for (_, block_tag, _) in
        writes.iter_mut().filter(|(_, block_tag, _)| block_tag.holds == BlockContents::Parity)
    {
        block_tag.redo = redo.unwrap_or(0);
        block_tag.stripe_sum = crcs.as_ref().map(|crcs| StripeSum::of(crcs.iter().copied()));
    }
}

/// Finds the errors in a stripe, and the writes that repair it.
fn scrub_stripe(
    shape: StripeShape,
    members: &[MemberRead<'_>],
    scrubbed: &mut ScrubReport,
    writes: &mut Writes,
) {
    if members.iter().all(|one| matches!(one.state, None | Some(BlockState::NeverWritten))) {
        return;
    }
    scrubbed.stripes += 1;
    let that = |is: &dyn Fn(&MemberRead<'_>) -> bool| -> MemberSet {
        shape.members().iter().filter(|member| is(&members[member.index()])).collect()
    };
    let lost = that(&|one| one.state.is_none());
    let wrong = that(&is_wrong);
    scrubbed.bad_blocks += u64::from(wrong.len());
    if wrong.is_empty() {
        if lost.is_empty() {
            scrub_parity(shape, members, scrubbed, writes);
        }
        return;
    }
    let unreadable = lost.union(wrong);
    let computed = shape.plan_read(wrong, unreadable).ok().and_then(|plan| {
        let mut bytes = StripeBytes::new(shape, BLOCK_BYTES).ok()?;
        bytes.compute(&plan, |member| members[member.index()].bytes).ok()?;
        Some(bytes)
    });
    for member in wrong.iter() {
        let read = &members[member.index()];
        let right = computed
            .as_ref()
            .and_then(|computed| computed.block(member))
            .filter(|bytes| read.checksum.is_none_or(|sum| checksum(bytes) == sum));
        match right {
            Some(bytes) => {
                writes.push((read.place, read.holds.into(), bytes.to_vec()));
                scrubbed.repaired_blocks += 1;
            }
            None if read.is_used && read.holds != BlockContents::Parity => {
                scrubbed.gone.push((read.holds, read.place));
            }
            // Nothing refers to it, and the next write to it repairs it.
            None => {}
        }
    }
}

/// Returns whether a block is bad, according to the metadata stored with it and the pointer to it.
fn is_wrong(read: &MemberRead<'_>) -> bool {
    let differs = match (read.checksum, read.bytes) {
        (Some(sum), Some(bytes)) => checksum(bytes) != sum,
        (Some(_), None) => true,
        (None, _) => false,
    };
    match read.state {
        None => false,
        Some(BlockState::Bad(_)) => true,
        Some(BlockState::Good { block_tag, .. }) => {
            differs || read.is_used && !block_tag.holds.may_be(read.holds)
        }
        Some(BlockState::NeverWritten) => differs,
    }
}

fn scrub_parity(
    shape: StripeShape,
    members: &[MemberRead<'_>],
    scrubbed: &mut ScrubReport,
    writes: &mut Writes,
) {
    let bytes: Option<Vec<&[u8]>> = members.iter().map(|one| one.bytes).collect();
    let Some(bytes) = bytes else { return };
    let (data, parity) = members.split_at(usize::from(shape.data_blocks()));
    let mut right = vec![vec![0; BLOCK_BYTES]; parity.len()];
    let Ok(codec) = StripeCodec::for_shape(shape, BLOCK_BYTES) else { return };
    if codec.encode(&bytes[..data.len()], &mut right).is_err() {
        return;
    }
    let mut is_repaired = false;
    for (read, right) in parity.iter().zip(right) {
        if read.bytes != Some(&right) {
            let among = unpointed_blocks(data);
            if !among.is_empty() {
                scrubbed.lost_writes.push(LostWrite { parity: read.place, among });
            }
            writes.push((read.place, BlockContents::Parity.into(), right));
            is_repaired = true;
        }
    }
    scrubbed.parity_repaired += u64::from(is_repaired);
}
