//! What a rebuild writes, computed from what it has read.

use strewn_raid::{Dbn, Member, SpindleIndex, SpindleSet, StripeBytes};

use crate::payload::{Holds, Payload};

use super::{BLOCK_BYTES, BLOCK_SECTORS, Run, WriteAnywhere};

impl<P: Payload> WriteAnywhere<P> {
    /// The blocks of the spindles `rebuilt` in `blocks` stripes from `first_stripe` on, in runs. Blocks that cannot be
    /// computed, or come out other than they were written, are left out: they are bad from now on.
    pub(super) fn rebuilt_runs(
        &mut self,
        first_stripe: u64,
        blocks: u32,
        rebuilt: SpindleSet,
        read: &[(SpindleIndex, P)],
    ) -> Vec<(Run, P)> {
        let group = *self.group();
        let shape = group.stripe_shape();
        let mut stripe_bytes =
            StripeBytes::new(shape, BLOCK_BYTES).expect("the parity of the group can be computed");
        let mut runs: Vec<(Run, P)> = Vec::new();
        for block in 0..blocks {
            let stripe = first_stripe + u64::from(block);
            let lost = self.lost_at(stripe).union(self.bad_at(stripe));
            let plan = shape.plan_rebuild(group.members_on(rebuilt), group.members_on(lost));
            let at = block as usize * BLOCK_BYTES;
            // Member i is on spindle i.
            let block_of = |member: Member| {
                let (_, payload) = read.iter().find(|(spindle, _)| spindle.0 == member.0.into())?;
                payload.bytes().get(at..at + BLOCK_BYTES)
            };
            let computed = plan.is_ok_and(|plan| stripe_bytes.compute(&plan, block_of).is_ok());
            for spindle in rebuilt {
                let bytes = stripe_bytes.block(Member(spindle.0 as u8)).filter(|_| computed);
                let holds = self.holds_at(spindle, stripe);
                let right = bytes.filter(|bytes| self.may_be_at(spindle, stripe, bytes));
                let Some(bytes) = right else {
                    self.counters.blocks_gone += 1;
                    if let Some(degraded) = &mut self.degraded {
                        degraded.bad.insert((stripe, spindle));
                    }
                    continue;
                };
                let bytes = P::from_bytes(bytes.to_vec());
                let follows = runs.iter_mut().find(|(run, _)| {
                    run.spindle == spindle && run.dbn + u64::from(run.blocks) == stripe
                });
                let (run, payload) = match follows {
                    Some((run, payload)) => {
                        run.blocks += 1;
                        (run, payload)
                    }
                    None => {
                        let run = Run { spindle, dbn: stripe, blocks: 1 };
                        runs.push((run, P::default()));
                        let Some((run, payload)) = runs.last_mut() else { continue };
                        (run, payload)
                    }
                };
                let at_sector = (run.blocks - 1) * BLOCK_SECTORS;
                payload.splice(at_sector, &bytes);
                payload.describe(at_sector, holds);
            }
        }
        runs
    }

    /// What the block of `spindle` in `stripe` holds.
    fn holds_at(&self, spindle: SpindleIndex, stripe: u64) -> Holds {
        if spindle.0 >= self.group().data_spindles() {
            return Holds::Parity;
        }
        let vbn = self.group().vbn(spindle, Dbn(stripe));
        self.key_at(vbn).map_or(Holds::Nothing, |key| self.keys.holds(key))
    }
}
