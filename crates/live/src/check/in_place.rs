//! Checks every block of an in-place array's LUN, and the parity that covers it.

use strewn_array::BlockContents;
use strewn_array::in_place::InPlaceConfig;
use strewn_raid::{MemberSet, StripeCodec, StripeShape, StripedLayout};

use super::{CheckReport, Inconsistency};
use crate::device::{BLOCK_BYTES, Devices};
use crate::format::Superblock;
use crate::offline::OfflineArray;
use crate::store::BlockState;
use crate::stripe_read::{InPlaceStripe, MemberRead, stripes_of_lun, unpointed_blocks};

/// Checks stripe by stripe. Blocks beyond the LUN do not matter.
pub(super) fn check<D: Devices>(
    offline: &mut OfflineArray<'_, D>,
    config: &InPlaceConfig,
    superblock: &Superblock,
    report: &mut CheckReport,
) {
    let shape = config.single_group().layout.shape();
    let Ok(codec) = StripeCodec::for_shape(shape, BLOCK_BYTES) else { return };
    for stripe in 0..stripes_of_lun(config) {
        let read = InPlaceStripe::read(offline, config, stripe);
        for members in read.rows() {
            check_blocks(shape, &members, superblock, report);
            check_parity(&codec, &members, report);
        }
    }
}

fn check_blocks(
    shape: StripeShape,
    members: &[MemberRead<'_>],
    superblock: &Superblock,
    report: &mut CheckReport,
) {
    let mut unreadable = MemberSet::EMPTY;
    for (member, read) in shape.members().iter().zip(members) {
        let why = match read.state {
            Some(state) => {
                report.blocks += u64::from(state != BlockState::NeverWritten);
                read.problem(superblock.consistency_point)
            }
            None => {
                report.blocks_missing += u64::from(read.is_used);
                unreadable = unreadable.with(member);
                continue;
            }
        };
        if let Some(why) = why {
            unreadable = unreadable.with(member);
            let (holds, place) = (read.holds, read.place);
            report.findings.push(Inconsistency::Block { holds, place, why });
        }
    }
    for member in shape.gone(unreadable).iter() {
        let MemberRead { holds, place, is_used, .. } = members[member.index()];
        if is_used && holds != BlockContents::Parity {
            report.findings.push(Inconsistency::Lost { holds, place });
        }
    }
}

/// Checks parity against the data of its stripe, if all of it is present and good by itself.
fn check_parity(codec: &StripeCodec, members: &[MemberRead<'_>], report: &mut CheckReport) {
    let is_right = |one: &MemberRead<'_>| one.state.is_some_and(|state| !state.is_bad());
    if !members.iter().all(is_right) {
        return;
    }
    report.stripes += 1;
    let blocks: Vec<&[u8]> = members.iter().filter_map(|one| one.bytes).collect();
    let (data, [parity]) = members.split_at(codec.data_blocks()) else { return };
    if codec.check(&blocks).is_ok_and(|check| !check.holds()) {
        let of = unpointed_blocks(data);
        report.findings.push(Inconsistency::ParityInPlace { parity: parity.place, of });
    }
}
