//! Reads every stripe of an array, and repairs errors from redundancy.
//!
//! Three things tell what a block should contain: the checksum stored with it; for a block in use of a write-anywhere
//! array, the checksum in the pointer to it; and the parity of its stripe. A block that fails one of the first two is
//! recomputed from its stripe and rewritten. Parity and free blocks have no pointer, so one of them may be stale
//! unnoticed; if the result contradicts a pointer, each of the other blocks is left out in turn, as a read does. Once
//! all data is right, parity that does not match it is rewritten. What was written is read again, until nothing is left
//! to write.
//!
//! An in-place array has no pointers. The metadata stored with parity tells which block is stale, unless parity was
//! written when a block of its stripe was unknown. If such parity does not match, the scrub rewrites it to match the
//! data, so that another lost block is not recomputed wrongly from it, and reports the place in
//! [`ScrubReport::lost_writes`].

use std::collections::{BTreeSet, HashMap};

use strewn_array::in_place::InPlaceConfig;
use strewn_array::write_anywhere::WriteAnywhereConfig;
use strewn_array::write_anywhere::metadata::Pointer;
use strewn_array::{BlockContents, crc32c};
use strewn_base::ROW_STRIPES;
use strewn_raid::{
    Dbn, Member, MemberSet, SpindleIndex, StripeBytes, StripeCodec, StripeShape, StripedLayout, Vbn,
};

use crate::cross_check::WrittenBlock;
use crate::device::{BLOCK_BYTES, Devices};
use crate::format::{BlockTag, StripeSum};
use crate::offline::{OfflineArray, SpindleBlock};
use crate::store::{BlockState, SpindleWriteError};
use crate::stripe_compute::compute_missing;
use crate::stripe_read::{InPlaceStripe, MemberRead, stripes_of_lun, unpointed_blocks};

/// Most times that repaired stripes are read and repaired again. A drive that keeps what is written needs one.
const MOST_REPAIRS: usize = 3;

/// The result of a scrub.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScrubReport {
    /// Stripes, of one block per spindle, with any block in use; for an in-place array, with any block written.
    pub stripes: u64,
    /// Blocks that were unreadable or did not have the contents last written.
    pub bad_blocks: u64,
    /// Bad blocks that were recomputed and rewritten.
    pub repaired_blocks: u64,
    /// Stripes whose parity was rewritten although its checksum was good, because it did not match the data.
    pub parity_repaired: u64,
    /// Blocks in use that cannot be recomputed, with their places, those of lost spindles included.
    pub gone: Vec<(BlockContents, SpindleBlock)>,
    /// Blocks that spindles still do not hold after they reported the repair as written, with their contents.
    pub left: Vec<(BlockContents, SpindleBlock)>,
    /// Whether all stripes were read, because the scrub was not ended early.
    pub is_whole: bool,
    /// Stripes of an in-place array whose parity was rewritten although a block of data may be the stale one.
    pub lost_writes: Vec<LostWrite>,
}

/// A stripe whose parity did not match its data, without metadata that tells why: a write of a data block, or of
/// parity, was reported as done and never happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostWrite {
    /// Where the parity block lies.
    pub parity: SpindleBlock,
    /// The LUN blocks that it covers.
    pub among: Vec<u64>,
}

impl ScrubReport {
    /// Returns whether everything was read and nothing was wrong.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.is_whole
            && self.bad_blocks == 0
            && self.parity_repaired == 0
            && self.gone.is_empty()
            && self.left.is_empty()
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
    consistency_point: u64,
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
            repair(offline, consistency_point, &mut scrubbed, |offline| {
                let read = offline.read_runs(&runs);
                let mut found = Found::default();
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
                    // In a stripe without blocks in use, a crash may leave anything; nothing there is read before it
                    // is written.
                    if members.iter().any(|one| one.is_used) {
                        found.scrub_stripe(group.stripe_shape(), &members, consistency_point);
                    }
                }
                found
            })?;
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
    consistency_point: u64,
    mut progress: impl FnMut(f64) -> bool,
) -> Result<ScrubReport, SpindleWriteError> {
    let mut scrubbed = ScrubReport::default();
    let stripes = stripes_of_lun(config);
    for stripe in 0..stripes {
        repair(offline, consistency_point, &mut scrubbed, |offline| {
            let read = InPlaceStripe::read(offline, config, stripe);
            let mut found = Found::default();
            for members in read.rows() {
                if members
                    .iter()
                    .all(|one| matches!(one.state, None | Some(BlockState::NeverWritten)))
                {
                    continue;
                }
                let before = found.writes.len();
                found.scrub_stripe(
                    config.single_group().layout.shape(),
                    &members,
                    consistency_point,
                );
                keep_sums(&members, &mut found.writes[before..]);
            }
            found
        })?;
        if !progress((stripe + 1) as f64 / stripes as f64) {
            return Ok(scrubbed);
        }
    }
    scrubbed.is_whole = true;
    Ok(scrubbed)
}

/// Blocks to write, with their tags.
type Writes = Vec<(SpindleBlock, BlockTag, Vec<u8>)>;

/// Completes the tags of blocks that are written for a row of an in-place stripe. All have the row's highest number, so
/// that none looks older than what it was computed from. Those of parity describe the data of `writes` and the data
/// that was read.
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
    let redo = members.iter().filter_map(|one| Some(WrittenBlock::of(&one.state?)?.redo)).max();
    for (_, block_tag, _) in writes {
        block_tag.redo = redo.unwrap_or(0);
        if block_tag.holds == BlockContents::Parity {
            block_tag.stripe_sum = crcs.as_ref().map(|crcs| StripeSum::of(crcs.iter().copied()));
        }
    }
}

/// Repairs the stripes that `look` reads, and looks again, until there is nothing to write.
///
/// # Errors
/// If a spindle refuses a write.
fn repair<D: Devices>(
    offline: &mut OfflineArray<'_, D>,
    consistency_point: u64,
    scrubbed: &mut ScrubReport,
    mut look: impl FnMut(&mut OfflineArray<'_, D>) -> Found,
) -> Result<(), SpindleWriteError> {
    let mut found = look(offline);
    scrubbed.stripes += found.stripes;
    scrubbed.lost_writes.append(&mut found.lost_writes);
    let (mut bad, mut stale_parity) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..MOST_REPAIRS {
        bad.extend(found.bad.iter().copied());
        stale_parity.extend(found.stale_parity.iter().copied());
        if found.writes.is_empty() {
            break;
        }
        // The new parity matches the repaired data only, so the data is durable first.
        let is_parity = |holds| holds == BlockContents::Parity;
        let (parity, data): (Writes, Writes) =
            found.writes.into_iter().partition(|(_, block_tag, _)| is_parity(block_tag.holds));
        for writes in [data, parity] {
            if !writes.is_empty() {
                offline.write_blocks(&writes, consistency_point)?;
            }
        }
        found = look(offline);
    }
    scrubbed.bad_blocks += bad.len() as u64;
    scrubbed.repaired_blocks += bad.difference(&found.bad).count() as u64;
    scrubbed.parity_repaired += stale_parity.difference(&found.stale_parity).count() as u64;
    scrubbed.gone.append(&mut found.gone);
    let left = found.writes.into_iter().map(|(place, block_tag, _)| (block_tag.holds, place));
    scrubbed.left.extend(left);
    Ok(())
}

/// What is wrong in some stripes, and the writes that repair it.
#[derive(Default)]
struct Found {
    stripes: u64,
    /// Blocks that are unreadable or not what was last written, except parity with a good checksum.
    bad: BTreeSet<SpindleBlock>,
    /// The stripes, within each parity group, with parity that has a good checksum and does not match.
    stale_parity: BTreeSet<Dbn>,
    gone: Vec<(BlockContents, SpindleBlock)>,
    lost_writes: Vec<LostWrite>,
    writes: Writes,
}

impl Found {
    /// Finds the errors in a stripe, and the writes that repair it.
    fn scrub_stripe(
        &mut self,
        shape: StripeShape,
        members: &[MemberRead<'_>],
        consistency_point: u64,
    ) {
        self.stripes += 1;
        let that = |is: &dyn Fn(&MemberRead<'_>) -> bool| -> MemberSet {
            shape.members().iter().filter(|member| is(&members[member.index()])).collect()
        };
        let bad = that(&|one| one.problem(consistency_point).is_some());
        // The pointer vouches for the contents; only the entry is wrong.
        let mislabelled = bad.intersection(that(&|one| one.is_vouched_for()));
        for member in mislabelled.iter() {
            let read = &members[member.index()];
            self.writes.extend(read.bytes.map(|bytes| write(read, bytes)));
        }
        let wrong = bad.difference(mislabelled);
        let lost = that(&|one| one.state.is_none());
        self.bad.extend(bad.iter().map(|member| members[member.index()].place));
        match right_blocks(shape, members, lost.union(wrong)) {
            Some(right) => self.repair_stripe(shape, members, &right, wrong),
            None => self.repair_singly(shape, members, lost.union(wrong)),
        }
    }

    /// Writes the blocks of a stripe that are not as `right` has them, then parity that does not match the data.
    fn repair_stripe(
        &mut self,
        shape: StripeShape,
        members: &[MemberRead<'_>],
        right: &[(Member, Vec<u8>)],
        wrong: MemberSet,
    ) {
        let data = shape.data();
        for (member, bytes) in right.iter().filter(|(member, _)| data.contains(*member)) {
            let read = &members[member.index()];
            if read.state.is_some() && (wrong.contains(*member) || read.bytes != Some(bytes)) {
                self.bad.insert(read.place);
                self.writes.push(write(read, bytes));
            }
        }
        let block_of = |member: Member| {
            let replaced = right.iter().find(|(one, _)| *one == member);
            replaced.map(|(_, bytes)| bytes.as_slice()).or(members[member.index()].bytes)
        };
        let Some(blocks) = data.iter().map(block_of).collect::<Option<Vec<&[u8]>>>() else {
            return;
        };
        let mut parity = vec![vec![0; BLOCK_BYTES]; usize::from(shape.parity_blocks())];
        let Ok(codec) = StripeCodec::for_shape(shape, BLOCK_BYTES) else { return };
        if codec.encode(&blocks, &mut parity).is_err() {
            return;
        }
        for (member, bytes) in shape.parity().iter().zip(parity) {
            let read = &members[member.index()];
            if read.state.is_none() {
                continue;
            }
            if wrong.contains(member) {
                self.writes.push(write(read, &bytes));
            } else if read.bytes != Some(&bytes) {
                let among = unpointed_blocks(&members[..blocks.len()]);
                if !among.is_empty() {
                    self.lost_writes.push(LostWrite { parity: read.place, among });
                }
                self.stale_parity.insert(read.place.dbn);
                self.writes.push(write(read, &bytes));
            }
        }
    }

    /// Repairs those blocks in use among `missing` that a read would compute, although not all can be computed.
    fn repair_singly(
        &mut self,
        shape: StripeShape,
        members: &[MemberRead<'_>],
        missing: MemberSet,
    ) {
        let is_unreadable =
            |member: &Member| members[member.index()].state.is_none_or(|state| state.is_bad());
        let unreadable: MemberSet = shape.members().iter().filter(is_unreadable).collect();
        for member in shape.data().intersection(missing).iter() {
            let read = &members[member.index()];
            if !read.is_used {
                continue;
            }
            let is_right = |computed: &StripeBytes| {
                computed.block(member).is_some_and(|bytes| read.is_right(bytes))
            };
            let block_of = |member: Member| members[member.index()].bytes;
            let wanted = MemberSet::single(member);
            let computed =
                compute_missing(shape, wanted, unreadable.union(wanted), block_of, is_right);
            match computed.as_ref().and_then(|(_, computed)| computed.block(member)) {
                Some(_) if read.state.is_none() => {}
                Some(bytes) => self.writes.push(write(read, bytes)),
                None => self.gone.push((read.holds, read.place)),
            }
        }
    }
}

/// The write of a block, with the tag that it must have.
fn write(read: &MemberRead<'_>, bytes: &[u8]) -> (SpindleBlock, BlockTag, Vec<u8>) {
    (read.place, read.holds.into(), bytes.to_vec())
}

/// Returns the contents of the blocks `missing` of a stripe, and of one that turns out to be stale beside them. `None`
/// if a block in use among them cannot be computed.
fn right_blocks(
    shape: StripeShape,
    members: &[MemberRead<'_>],
    missing: MemberSet,
) -> Option<Vec<(Member, Vec<u8>)>> {
    if missing.is_empty() {
        return Some(Vec::new());
    }
    let block_of = |member: Member| members[member.index()].bytes;
    let are_right = |computed: &StripeBytes| {
        let right = |member: Member| {
            computed.block(member).is_some_and(|bytes| members[member.index()].is_right(bytes))
        };
        missing.iter().all(right)
    };
    let Some((doubted, computed)) = compute_missing(shape, missing, missing, block_of, are_right)
    else {
        // Free blocks may hold anything.
        let free = shape.data().intersection(missing);
        let is_used = |member: Member| members[member.index()].is_used;
        let zeros = |member| (member, vec![0; BLOCK_BYTES]);
        return (!free.iter().any(is_used)).then(|| free.iter().map(zeros).collect());
    };
    let all = missing.union(doubted);
    let blocks = all.iter().map(|member| Some((member, computed.block(member)?.to_vec())));
    blocks.collect()
}
