//! Every stripe of an array read, and what is wrong in it made right from the rest.
//!
//! What a block should be is known in three ways: by the checksum beside it, for a block in use by the checksum in the
//! pointer to it, and by the parity of its stripe. A block that the first two find wrong is computed from its stripe and
//! written again; where all data are right and parity is not, parity is written again.

use std::collections::HashMap;

use strewn_array::Holds;
use strewn_array::write_anywhere::metadata::{Pointer, checksum};
use strewn_array::write_anywhere::{BlockKeys, WriteAnywhereConfig};
use strewn_raid::{Dbn, Member, MemberSet, ParityGroup, SpindleIndex, StripeBytes, StripeCodec};

use crate::device::{BLOCK_BYTES, Devices};
use crate::offline::{BlockPlace, Offline};
use crate::store::{BlockState, Failure};

/// Stripes that are read at a time: a row, with one checksum block a spindle.
const STRIPES_AT_ONCE: u64 = 64;

/// What a scrub has found and done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scrubbed {
    /// Stripes with anything in them.
    pub stripes: u64,
    /// Blocks that could not be read, or were not what was written.
    pub bad_blocks: u64,
    /// Those of them that were computed and written again.
    pub repaired_blocks: u64,
    /// Stripes whose data were right and whose parity was not; it was written again.
    pub parity_repaired: u64,
    /// Blocks in use that cannot be computed either, by key, with their places.
    pub gone: Vec<(u32, BlockPlace)>,
}

impl Scrubbed {
    /// Whether nothing was wrong.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.bad_blocks == 0 && self.parity_repaired == 0 && self.gone.is_empty()
    }
}

/// Scrubs the spindles of a write-anywhere array whose blocks in use are `blocks`. `progress` is told of stripes done.
///
/// # Errors
/// If a spindle does not take what is to be written to it.
pub fn scrub<D: Devices>(
    offline: &mut Offline<'_, D>,
    config: &WriteAnywhereConfig,
    blocks: &[(u32, Pointer)],
    checkpoint: u64,
    mut progress: impl FnMut(u64),
) -> Result<Scrubbed, Failure> {
    let group = &config.group;
    let in_use: HashMap<u64, (u32, u32)> =
        blocks.iter().map(|(key, pointer)| (pointer.vbn.0, (*key, pointer.checksum))).collect();
    let scrub = Scrub { group, in_use, keys: config.block_keys() };
    let mut scrubbed = Scrubbed::default();
    for first in (0..group.stripes()).step_by(STRIPES_AT_ONCE as usize) {
        let stripes = first..(first + STRIPES_AT_ONCE).min(group.stripes());
        let read: Vec<_> = (0..group.spindles())
            .map(|spindle| offline.read_run(SpindleIndex(spindle), stripes.clone()))
            .collect();
        let mut writes = Vec::new();
        for stripe in stripes.clone() {
            let at = (stripe - first) as usize;
            let members: Vec<MemberRead<'_>> = read
                .iter()
                .map(|(bytes, states)| MemberRead {
                    bytes: bytes.get(at * BLOCK_BYTES..(at + 1) * BLOCK_BYTES),
                    state: states.get(at).copied(),
                })
                .collect();
            scrub.stripe(stripe, &members, &mut scrubbed, &mut writes);
        }
        offline.write_blocks(&writes, checkpoint)?;
        progress(stripes.end);
    }
    Ok(scrubbed)
}

struct Scrub<'a> {
    group: &'a ParityGroup,
    /// Key and checksum of each block in use, by VBN.
    in_use: HashMap<u64, (u32, u32)>,
    keys: BlockKeys,
}

/// A block of a stripe as it was read; nothing of one whose spindle is lost.
struct MemberRead<'a> {
    bytes: Option<&'a [u8]>,
    state: Option<BlockState>,
}

type Writes = Vec<(BlockPlace, Holds, Vec<u8>)>;

impl Scrub<'_> {
    fn used(&self, member: Member, stripe: u64) -> Option<(u32, u32)> {
        let spindle = SpindleIndex(member.0.into());
        (spindle.0 < self.group.data_spindles())
            .then(|| self.group.vbn(spindle, Dbn(stripe)).0)
            .and_then(|vbn| self.in_use.get(&vbn).copied())
    }

    fn holds(&self, member: Member, stripe: u64) -> Holds {
        if u16::from(member.0) >= self.group.data_spindles() {
            return Holds::Parity;
        }
        self.used(member, stripe).map_or(Holds::Nothing, |(key, _)| self.keys.holds(key))
    }

    fn stripe(
        &self,
        stripe: u64,
        members: &[MemberRead<'_>],
        scrubbed: &mut Scrubbed,
        writes: &mut Writes,
    ) {
        let all = (0..members.len() as u8).map(Member);
        if members.iter().all(|one| matches!(one.state, None | Some(BlockState::NeverWritten))) {
            return;
        }
        scrubbed.stripes += 1;
        let shape = self.group.stripe_shape();
        let lost: MemberSet =
            all.clone().filter(|one| members[one.index()].state.is_none()).collect();
        let is_wrong = |member: &Member| {
            let read = &members[member.index()];
            let Some(state) = read.state else { return false };
            let differs = match (self.used(*member, stripe), read.bytes) {
                (Some((_, sum)), Some(bytes)) => checksum(bytes) != sum,
                (Some(_), None) => true,
                (None, _) => false,
            };
            state.is_bad() || differs
        };
        let wrong: MemberSet = all.clone().filter(is_wrong).collect();
        scrubbed.bad_blocks += u64::from(wrong.len());
        if wrong.is_empty() {
            if lost.is_empty() {
                self.check_parity(stripe, members, scrubbed, writes);
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
            let place = BlockPlace { spindle: SpindleIndex(member.0.into()), dbn: Dbn(stripe) };
            let used = self.used(member, stripe);
            let right = computed
                .as_ref()
                .and_then(|computed| computed.block(member))
                .filter(|bytes| used.is_none_or(|(_, sum)| checksum(bytes) == sum));
            match (right, used) {
                (Some(bytes), _) => {
                    writes.push((place, self.holds(member, stripe), bytes.to_vec()));
                    scrubbed.repaired_blocks += 1;
                }
                (None, Some((key, _))) => scrubbed.gone.push((key, place)),
                // Nobody refers to it, and what is written there next makes it right.
                (None, None) => {}
            }
        }
    }

    fn check_parity(
        &self,
        stripe: u64,
        members: &[MemberRead<'_>],
        scrubbed: &mut Scrubbed,
        writes: &mut Writes,
    ) {
        let data = usize::from(self.group.data_spindles());
        let bytes: Option<Vec<&[u8]>> = members.iter().map(|one| one.bytes).collect();
        let Some(bytes) = bytes else { return };
        let mut parity = vec![vec![0; BLOCK_BYTES]; members.len() - data];
        let Ok(codec) = StripeCodec::for_shape(self.group.stripe_shape(), BLOCK_BYTES) else {
            return;
        };
        if codec.encode(&bytes[..data], &mut parity).is_err() {
            return;
        }
        let mut is_repaired = false;
        for (spindle, right) in (data..).zip(parity) {
            if bytes[spindle] != right {
                let place = BlockPlace { spindle: SpindleIndex(spindle as u16), dbn: Dbn(stripe) };
                writes.push((place, Holds::Parity, right));
                is_repaired = true;
            }
        }
        scrubbed.parity_repaired += u64::from(is_repaired);
    }
}
