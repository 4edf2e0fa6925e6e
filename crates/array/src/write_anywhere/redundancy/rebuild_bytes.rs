//! The blocks that a rebuild writes, computed from those it has read.

use std::ops::Range;

use strewn_alloc::GroupIndex;
use strewn_raid::{Member, SpindleIndex, SpindleSet, StripeBytes};

use crate::driver::Driver;
use crate::payload::{BlockContents, Payload};
use crate::units::{BLOCK_BYTES, BLOCK_SECTORS};

use super::super::context::Context;
use super::super::space::Run;
use super::super::space::checksums::Fit;

/// Computed blocks of a stripe, by spindle.
type Rebuilt = Vec<(SpindleIndex, Vec<u8>, Fit)>;

/// Whether no block contradicts its checksum.
fn fits(computed: &Rebuilt) -> bool {
    computed.iter().all(|(_, _, fit)| matches!(fit, Fit::Right | Fit::Unknown))
}

/// The blocks of the spindles `rebuilt` of a group in some stripes, in runs. Blocks that cannot be
/// computed, or whose checksum is wrong, are omitted and marked as bad. Returns `None` if reading `all` blocks may
/// give a better result.
///
/// A block that does not fit the pointer to it is not used: parity computed from it would be as stale. If a rebuilt
/// block has a wrong checksum, it was computed from a stale block that no pointer covers, such as parity. Leaving
/// spindles out one by one finds it.
pub(super) fn rebuilt_runs<P: Payload>(
    index: GroupIndex,
    Range { start: first_stripe, end }: Range<u64>,
    rebuilt: SpindleSet,
    read: &[(SpindleIndex, P)],
    all: bool,
    cx: &mut Context<'_, P, impl Driver<P>>,
) -> Option<Vec<(Run, P)>> {
    let space = &*cx.space;
    let group = *space.group(index);
    let shape = group.stripe_shape();
    let mut stripe_bytes =
        StripeBytes::new(shape, BLOCK_BYTES).expect("the parity of the group can be computed");
    let mut runs: Vec<(Run, P)> = Vec::new();
    let (mut bad, mut gone) = (Vec::new(), 0);
    for stripe in first_stripe..end {
        let lost = space.lost_at(index, stripe).union(space.bad_at(index, stripe));
        let at = (stripe - first_stripe) as usize * BLOCK_BYTES;
        // Member i is on spindle i.
        let block_of = |member: Member| {
            let (_, payload) = read.iter().find(|(spindle, _)| spindle.0 == member.0.into())?;
            payload.bytes().get(at..at + BLOCK_BYTES)
        };
        // A drive may have dropped the last write of a block that parity is rebuilt from.
        let stale: SpindleSet = read
            .iter()
            .map(|(spindle, _)| *spindle)
            .filter(|spindle| !lost.contains(*spindle))
            .filter(|spindle| {
                let bytes = block_of(Member(spindle.0 as u8));
                bytes.is_some_and(|bytes| space.fit(index, (*spindle, stripe), bytes) == Fit::Wrong)
            })
            .collect();
        bad.extend(stale.iter().map(|spindle| (stripe, spindle)));
        let lost = lost.union(stale);
        let mut compute = |without: SpindleSet| {
            let missing = group.members_on(lost.union(without));
            let plan = shape.plan_rebuild(group.members_on(rebuilt), missing).ok()?;
            Some(stripe_bytes.compute(&plan, block_of).map(|()| {
                let computed = rebuilt.iter().map(|spindle| {
                    let bytes = stripe_bytes.block(Member(spindle.0 as u8)).unwrap_or(&[]);
                    (spindle, bytes.to_vec(), space.fit(index, (spindle, stripe), bytes))
                });
                computed.collect::<Rebuilt>()
            }))
        };
        let mut computed = match compute(SpindleSet::EMPTY) {
            Some(Err(_)) if !all => return None,
            computed => computed.and_then(Result::ok).unwrap_or_default(),
        };
        if !fits(&computed) {
            let there = (0..group.spindles()).map(SpindleIndex);
            for doubted in there.filter(|one| !lost.contains(*one)) {
                match compute(SpindleSet::single(doubted)) {
                    Some(Ok(other)) if fits(&other) => {
                        computed = other;
                        bad.push((stripe, doubted));
                        break;
                    }
                    Some(Err(_)) if !all => return None,
                    _ => {}
                }
            }
        }
        for spindle in rebuilt {
            let right = computed.iter().find(|(of, _, fit)| *of == spindle && *fit != Fit::Wrong);
            let Some((_, bytes, _)) = right else {
                gone += 1;
                bad.push((stripe, spindle));
                continue;
            };
            let contents = space.contents_at(index, spindle, stripe);
            let place = Run { group: index, spindle, dbn: stripe, blocks: 0 };
            append(&mut runs, place, &P::from_bytes(bytes.clone()), contents);
        }
    }
    cx.counters.blocks_gone += gone;
    if let Some(losses) = cx.space.losses_of_mut(index) {
        losses.add_bad(bad);
    }
    Some(runs)
}

/// Appends the block at `place`, a run of none so far, to the run that it follows, or begins a run with it.
fn append<P: Payload>(runs: &mut Vec<(Run, P)>, place: Run, bytes: &P, contents: BlockContents) {
    let follows = |(run, _): &(Run, P)| {
        run.spindle == place.spindle && run.dbn + u64::from(run.blocks) == place.dbn
    };
    let position = runs.iter().position(follows).unwrap_or_else(|| {
        runs.push((place, P::default()));
        runs.len() - 1
    });
    let (run, payload) = &mut runs[position];
    let at_sector = run.blocks * BLOCK_SECTORS;
    run.blocks += 1;
    payload.splice(at_sector, bytes);
    payload.describe(at_sector, contents);
}
