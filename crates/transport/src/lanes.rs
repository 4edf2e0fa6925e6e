//! Several links that serve as one.

use crate::link::Link;
use crate::{LinkId, Toward};

/// How lanes share trains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "state", derive(serde::Serialize, serde::Deserialize))]
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
#[cfg_attr(feature = "state", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Lanes {
    pub(crate) links: Vec<LinkId>,
    pub(crate) rule: LaneRule,
    /// How long a failed lane is still used, in nanoseconds.
    pub(crate) detection_ns: u64,
    /// With [`LaneRule::RoundRobin`]: trains so far, by direction.
    pub(crate) trains: [u64; 2],
}

impl Lanes {
    /// The lane for a train of `flow` at `at_ns`; `None` if all are known to be down.
    pub(crate) fn choose(
        &mut self,
        links: &[Link],
        toward: Toward,
        flow: u64,
        at_ns: u64,
    ) -> Option<LinkId> {
        let count = self.links.len() as u64;
        let is_used = |lane: &LinkId| match links[lane.index()].outages.down_since(at_ns) {
            None => true,
            Some(since_ns) => at_ns - since_ns < self.detection_ns,
        };
        match self.rule {
            LaneRule::FlowHash => {
                let hash = flow_hash(flow);
                let lane = self.links[(hash % count) as usize];
                if is_used(&lane) {
                    return Some(lane);
                }
                let others = self.links.iter().filter(|lane| is_used(lane)).count() as u64;
                let other = hash.checked_rem(others)? as usize;
                self.links.iter().copied().filter(is_used).nth(other)
            }
            LaneRule::RoundRobin => {
                let first = self.trains[toward as usize];
                let turn = (first..first + count)
                    .find(|turn| is_used(&self.links[(turn % count) as usize]))?;
                self.trains[toward as usize] = turn + 1;
                Some(self.links[(turn % count) as usize])
            }
            LaneRule::LeastQueue => {
                let used = self.links.iter().copied().filter(is_used);
                used.min_by_key(|lane| links[lane.index()].free_ns(toward, at_ns))
            }
        }
    }
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
