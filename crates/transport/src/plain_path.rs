//! Paths of the common kind. What each hop is need not be asked for each train.

use strewn_base::state::SavedValue;

use crate::frames::{FrameShape, Frames, RUNS};
use crate::hop::LostOnTheWay;
use crate::link::{Link, Progress};
use crate::tcp::Released;
use crate::{Arrival, Forwarding, Hop, LinkId, Switch, Toward};

/// The links of a path over which frames are cut once: alike links, between them switches that store and forward.
#[derive(Clone, Debug, PartialEq, Eq, SavedValue)]
pub(crate) struct PlainPath {
    /// In the order of travel, by direction.
    hops: [Vec<PlainHop>; 2],
}

/// A link, and what the switch behind it adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, SavedValue)]
struct PlainHop {
    link: LinkId,
    switch_ns: u64,
}

impl PlainPath {
    /// The path over `hops`, which follow each other as they should; `None` if it is another kind of path.
    pub(crate) fn new(hops: &[Hop], links: &[Link]) -> Option<Self> {
        let there = plain_hops(hops.iter(), links)?;
        let back = plain_hops(hops.iter().rev(), links)?;
        Some(Self { hops: [there, back] })
    }

    /// Sends a train that was cut for these links.
    #[inline(always)]
    pub(crate) fn carry(
        &self,
        links: &mut [Link],
        now_ns: u64,
        toward: Toward,
        released: Released,
        frames: &Frames,
    ) -> Result<Arrival, LostOnTheWay> {
        let hops = &self.hops[toward as usize];
        // By constants, so that the times of so few runs stay in registers.
        match frames.runs().len() {
            1 => carry_runs::<1>(hops, links, now_ns, toward, released, frames),
            2 => carry_runs::<2>(hops, links, now_ns, toward, released, frames),
            _ => carry_runs::<RUNS>(hops, links, now_ns, toward, released, frames),
        }
    }
}

#[inline(always)]
fn carry_runs<const MOST: usize>(
    hops: &[PlainHop],
    links: &mut [Link],
    now_ns: u64,
    toward: Toward,
    released: Released,
    frames: &Frames,
) -> Result<Arrival, LostOnTheWay> {
    let mut progress = Progress::<MOST>::ready(released.first_ns, released.last_ns);
    // Each link begins later than the one before.
    let mut sent_ns = u64::MAX;
    for hop in hops {
        let arrived_ns = progress.first_ns();
        match links[hop.link.index()].carry(now_ns, toward, frames, &mut progress) {
            Ok(left_ns) => sent_ns = sent_ns.min(left_ns),
            Err(lost_ns) => {
                let sent_ns = if sent_ns == u64::MAX { arrived_ns } else { sent_ns };
                return Err(LostOnTheWay { sent_ns, lost_ns: lost_ns.max(sent_ns) });
            }
        }
        progress.later_ns += hop.switch_ns;
    }
    Ok(Arrival { first_ns: progress.first_ns(), last_ns: progress.last_ns(frames) })
}

/// The links of a plain path in the order of `hops`.
fn plain_hops<'h>(hops: impl Iterator<Item = &'h Hop>, links: &[Link]) -> Option<Vec<PlainHop>> {
    let mut plain: Vec<PlainHop> = Vec::new();
    let mut kind = None;
    for hop in hops {
        match *hop {
            Hop::Link(link) => {
                let of_link = &links[link.index()];
                // What TCP adds is the same on all.
                let of_link = (FrameShape::of(of_link.profile(), 0), of_link.byte_time());
                if kind.replace(of_link).is_some_and(|before| before != of_link) {
                    return None;
                }
                plain.push(PlainHop { link, switch_ns: 0 });
            }
            Hop::Switch(Switch { latency_ns, forwarding: Forwarding::StoreAndForward }) => {
                plain.last_mut()?.switch_ns = latency_ns;
            }
            Hop::Switch(_) | Hop::Lanes(_) | Hop::Router(_) => return None,
        }
    }
    Some(plain)
}
