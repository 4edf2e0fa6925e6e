//! Several links that serve as one.

use strewn_base::state::SavedValue;

use crate::link::Link;
use crate::{LinkId, Toward};

/// How lanes share trains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, SavedValue)]
pub enum LaneRule {
    /// A flow stays on one lane, that of its number modulo lanes, as with LACP (IEEE 802.1AX) or NIC teaming.
    ///
    /// Switches and drivers hash addresses and ports, each in its own way. Linux's bonding (`layer3+4`) takes their
    /// exclusive or modulo lanes, so connections with successive ports take lanes in turn, as flows with successive
    /// numbers do here. Flows that a particular switch puts on one lane are modelled by giving them numbers that do.
    #[default]
    FlowHash,
    /// Each train takes the next lane: MPIO round robin.
    RoundRobin,
    /// Each train takes the lane that is free first, the first one of equals: MPIO least queue depth.
    LeastQueue,
}

/// Several links between the same two ports.
#[derive(Clone, Debug, PartialEq, Eq, SavedValue)]
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
                let lane = self.links[(flow % count) as usize];
                if is_used(&lane) {
                    return Some(lane);
                }
                let others = self.links.iter().filter(|lane| is_used(lane)).count() as u64;
                let other = flow.checked_rem(others)? as usize;
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
