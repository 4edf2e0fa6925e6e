//! Checks the parity of every stripe with a block in use.

use std::collections::BTreeSet;

use strewn_array::write_anywhere::{PlacedGroup, WriteAnywhereConfig};
use strewn_raid::{Dbn, SpindleIndex, StripeCodec};

use super::{CheckReport, Inconsistency, Reached};
use crate::device::{BLOCK_BYTES, Devices};
use crate::offline::{OfflineArray, SpindleBlock};
use crate::store::BlockState;

/// Checks the stripes whose spindles are all present. Bad blocks in use were already found by the walk of the tree.
pub(super) fn check<D: Devices>(
    offline: &mut OfflineArray<'_, D>,
    config: &WriteAnywhereConfig,
    reached: &Reached,
    report: &mut CheckReport,
) {
    for placed in &config.placed_groups() {
        check_group(offline, placed, reached, report);
    }
}

fn check_group<D: Devices>(
    offline: &mut OfflineArray<'_, D>,
    placed: &PlacedGroup,
    reached: &Reached,
    report: &mut CheckReport,
) {
    let shape = placed.group.stripe_shape();
    let Ok(codec) = StripeCodec::for_shape(shape, BLOCK_BYTES) else { return };
    let ours = reached.keys().filter(|vbn| (placed.first_vbn..placed.end_vbn()).contains(&vbn.0));
    let stripes: BTreeSet<u64> = ours.map(|vbn| placed.locate(*vbn).dbn.0).collect();
    for stripe in stripes {
        let places: Vec<SpindleBlock> = placed
            .spindles()
            .map(|spindle| SpindleBlock { spindle: SpindleIndex(spindle), dbn: Dbn(stripe) })
            .collect();
        let read = offline.read_states(&places);
        if read.iter().any(|(_, state)| state.is_none()) {
            continue;
        }
        report.stripes += 1;
        let mut is_whole = true;
        for (place, (_, state)) in places.into_iter().zip(&read) {
            let Some(BlockState::Bad(bad)) = state else { continue };
            is_whole = false;
            let vbn = placed.vbn(place.spindle, place.dbn);
            if vbn.is_some_and(|vbn| reached.contains_key(&vbn)) {
                continue;
            }
            report.findings.push(Inconsistency::UnusedBlock { place, why: bad.to_string() });
        }
        let blocks: Vec<Vec<u8>> = read.into_iter().map(|(bytes, _)| bytes).collect();
        if is_whole
            && let Ok(check) = codec.check(&blocks)
            && !check.holds()
        {
            let spindles = placed.spindles();
            report.findings.push(Inconsistency::Parity { spindles, stripe, check });
        }
    }
}
