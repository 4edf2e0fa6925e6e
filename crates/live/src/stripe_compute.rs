//! Blocks computed from the rest of their stripe, for scrub, check, and reads of arrays at rest.

use strewn_raid::{Member, MemberSet, StripeBytes, StripeShape};

use crate::device::BLOCK_BYTES;

/// Computes the blocks `wanted` of a stripe without the blocks `missing`. A block on one spindle may be stale with
/// nothing to contradict it, so if the result is not right, each of the others is left out in turn. Returns the block
/// left out, and the computed ones, that one included. `None` if no result is right.
pub(crate) fn compute_missing<'a>(
    shape: StripeShape,
    wanted: MemberSet,
    missing: MemberSet,
    block_of: impl Fn(Member) -> Option<&'a [u8]>,
    is_right: impl Fn(&StripeBytes) -> bool,
) -> Option<(MemberSet, StripeBytes)> {
    let others = shape.members().difference(missing).iter().map(MemberSet::single);
    for doubted in std::iter::once(MemberSet::EMPTY).chain(others) {
        let plan = shape.plan_read(wanted.union(doubted), missing.union(doubted));
        let Ok(plan) = plan else { continue };
        let mut stripe = StripeBytes::new(shape, BLOCK_BYTES).ok()?;
        if stripe.compute(&plan, &block_of).is_ok() && is_right(&stripe) {
            return Some((doubted, stripe));
        }
    }
    None
}
