//! Several links that serve as one.

use crate::LinkId;

/// How lanes share trains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaneRule {
    /// A flow stays on one lane, [`flow_hash`]` modulo lanes`, as with LACP (IEEE 802.1AX) or NIC teaming.
    FlowHash,
    /// Each train takes the next lane: MPIO round robin.
    RoundRobin,
    /// Each train takes the lane that is free first, the first one of equals: MPIO least queue depth.
    LeastQueue,
}

/// Several links between the same two ports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lanes {
    pub(crate) links: Vec<LinkId>,
    pub(crate) rule: LaneRule,
    /// How long a failed lane is still used, in nanoseconds.
    pub(crate) detection_ns: u64,
    /// With [`LaneRule::RoundRobin`]: trains so far, by direction.
    pub(crate) trains: [u64; 2],
}

/// The hash of a flow by which [`LaneRule::FlowHash`] chooses a lane: the finalizer of SplitMix64, in which every bit of
/// the flow changes half of the result's.
///
/// Switches hash addresses and ports, each in its own way. Two flows that a particular switch puts on one lane are
/// modelled by giving both the same number.
#[inline]
#[must_use]
pub const fn flow_hash(flow: u64) -> u64 {
    let mixed = (flow ^ (flow >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
