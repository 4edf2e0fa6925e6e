//! Recoveries: reads of lost or bad blocks, which are computed from the rest of their stripes.

use std::collections::BTreeMap;

use strewn_base::Direction;
use strewn_base::state::SavedValue;
use strewn_raid::{Member, SpindleIndex, SpindleSet, StripeBytes, StripePlan};

use crate::driver::{Driver, Tag};
use crate::payload::Payload;
use crate::units::BLOCK_BYTES;

use super::super::context::{Context, Next};
use super::super::space::checksums::BlocksRead;
use super::super::space::{Run, Space};
use super::super::tag::{Owner, TagFields};
use super::Redundancy;

/// A read with lost or bad blocks.
#[derive(SavedValue)]
pub(super) struct Recovery<P> {
    /// The tag and the run of the original read.
    tag: Tag,
    run: Run,
    /// The blocks that it asks for.
    blocks: BlocksRead,
    /// Commands in flight; none while it waits.
    awaited: u32,
    /// A spindle failed meanwhile, or another block is bad: it must read again.
    again: bool,
    /// Stretches of the run, in each of which the same blocks are lost.
    stretches: Vec<Stretch>,
    /// Its reads and their data.
    reads: Vec<(Run, P)>,
    /// The spindle that is doubted in a stripe: computed with its block, the result has a wrong checksum.
    doubted: BTreeMap<u64, SpindleIndex>,
}

/// Part of a run in which the same blocks are lost.
#[derive(SavedValue)]
struct Stretch {
    run: Run,
    source: StretchSource,
}

#[derive(SavedValue)]
enum StretchSource {
    /// The blocks can be read.
    Read,
    /// The blocks are computed.
    Compute(StripePlan),
    /// The blocks can neither be read nor computed.
    Gone,
}

impl<P: Payload> Redundancy<P> {
    /// Recovers a read of `run`, which are these `blocks`. Some of them are lost or bad.
    #[cold]
    pub(crate) fn recover(
        &mut self,
        fields: TagFields,
        run: Run,
        blocks: BlocksRead,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let recovery = Recovery {
            tag: fields.pack(),
            run,
            blocks,
            awaited: 0,
            again: false,
            stretches: Vec::new(),
            reads: Vec::new(),
            doubted: BTreeMap::new(),
        };
        let slot = self.recoveries.insert(recovery) as u32;
        cx.counters.degraded_reads += 1;
        self.begin_recovery(slot, cx);
    }

    /// The run that a recovery's read asked for.
    pub(crate) fn read_of_recovery(&self, fields: TagFields) -> Option<Run> {
        let recovery = self.recoveries.get(fields.slot as usize)?;
        recovery.reads.get(fields.first_key as usize).map(|(run, _)| *run)
    }

    /// Sends a recovery's reads, or queues it behind a tetris that is changing its stripes.
    #[cold]
    pub(super) fn begin_recovery(&mut self, slot: u32, cx: &mut Context<'_, P, impl Driver<P>>) {
        let recovery = &mut self.recoveries[slot as usize];
        let run = recovery.run;
        let group = *cx.space.group(run.group);
        let Some(losses) = cx.space.losses_of_mut(run.group) else { return };
        if losses.must_wait(run) {
            self.groups[run.group.index()].waiting.push_back(slot);
            return;
        }
        let doubted = &recovery.doubted;
        let shape = group.stripe_shape();
        let mut stretches = Vec::new();
        let mut reads = Vec::new();
        let (mut at, end) = (run.dbn, run.end());
        while at < end {
            let doubted_here = doubted.get(&at).copied();
            let bad = losses.bad_at(at).union(doubted_here.into_iter().collect());
            let unreadable = losses.lost_at(at).union(bad);
            let doubt_changes = match doubted_here {
                Some(_) => at + 1,
                None => doubted.range(at..).next().map_or(end, |(stripe, _)| *stripe),
            };
            let until = losses.loss_changes_after(at).min(doubt_changes).min(end);
            let stretch = Run { dbn: at, blocks: (until - at) as u32, ..run };
            let source = if unreadable.contains(run.spindle) {
                let wanted = group.members_on(SpindleSet::single(run.spindle));
                match shape.plan_read(wanted, group.members_on(unreadable)) {
                    Ok(plan) => StretchSource::Compute(plan),
                    Err(_) if bad.is_empty() => {
                        unreachable!("a loss that parity does not make good has ended the run")
                    }
                    Err(_) => StretchSource::Gone,
                }
            } else {
                StretchSource::Read
            };
            match &source {
                StretchSource::Read => reads.push((stretch, P::default())),
                StretchSource::Compute(plan) => {
                    let from = group.spindles_of(plan.read);
                    reads.extend(
                        from.iter().map(|spindle| (Run { spindle, ..stretch }, P::default())),
                    );
                }
                StretchSource::Gone => {}
            }
            stretches.push(Stretch { run: stretch, source });
            at = until;
        }
        let places: Vec<Run> = reads.iter().map(|(run, _)| *run).collect();
        (recovery.stretches, recovery.reads) = (stretches, reads);
        recovery.awaited = places.len() as u32;
        if places.is_empty() {
            self.ended.push(slot);
        } else {
            losses.lock_for_reading(run);
        }
        cx.counters.recovery_reads += places.len() as u64;
        for (first_key, stretch) in (0..).zip(places) {
            let fields = TagFields {
                owner: Owner::Recovery,
                slot,
                first_key,
                blocks: stretch.blocks,
                epoch_parity: false,
            };
            cx.send(fields, Direction::Read, stretch, P::default());
        }
    }

    /// A command of a recovery has completed, or failed.
    #[cold]
    pub(crate) fn on_recovery_command_done(
        &mut self,
        fields: TagFields,
        outcome: Option<P>,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let recovery = &mut self.recoveries[fields.slot as usize];
        let run = recovery.run;
        assert!(recovery.awaited > 0, "a read has completed that its recovery did not wait for");
        recovery.awaited -= 1;
        match outcome {
            Some(payload) => recovery.reads[fields.first_key as usize].1 = payload,
            None => recovery.again = true,
        }
        if recovery.awaited > 0 {
            return;
        }
        if let Some(losses) = cx.space.losses_of_mut(run.group) {
            losses.unlock(run);
        }
        if std::mem::take(&mut recovery.again) {
            self.begin_recovery(fields.slot, cx);
        } else {
            self.end_recovery(fields.slot, cx);
        }
        cx.then(Next::RowsFree(run.group));
    }

    /// Ends one of the recoveries that had nothing to read. Returns whether there was one.
    #[cold]
    pub(crate) fn end_one(&mut self, cx: &mut Context<'_, P, impl Driver<P>>) -> bool {
        let slot = self.ended.pop();
        if let Some(slot) = slot {
            self.end_recovery(slot, cx);
        }
        slot.is_some()
    }

    /// Whether a recovery has ended that had nothing to read.
    #[inline]
    pub(crate) fn has_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    #[cold]
    fn end_recovery(&mut self, slot: u32, cx: &mut Context<'_, P, impl Driver<P>>) {
        let recovery = &self.recoveries[slot as usize];
        let fields = TagFields::unpack(recovery.tag);
        if !P::CARRIES_DATA {
            self.recoveries.remove(slot as usize);
            return cx.then(Next::Recovered(fields, Some(P::default())));
        }
        let mut gone =
            recovery.stretches.iter().any(|stretch| matches!(stretch.source, StretchSource::Gone));
        let answer = computed(recovery, cx.space);
        let of_old = cx.memory.is_of_old_places(fields);
        if !gone
            && let Some(wrong) = cx.space.wrong_blocks(&recovery.blocks, of_old, answer.bytes())
        {
            // In each of these stripes a spindle holds a stale block with a valid checksum. Leaving spindles out one by
            // one finds it.
            if self.doubt_others(slot, &wrong, cx.space) {
                self.begin_recovery(slot, cx);
                return;
            }
            gone = true;
        }
        let recovery = self.recoveries.remove(slot as usize);
        if gone {
            cx.counters.blocks_gone += u64::from(recovery.run.blocks);
            return cx.then(Next::Recovered(fields, None));
        }
        if let Some(losses) = cx.space.losses_of_mut(recovery.run.group) {
            losses.add_bad(recovery.doubted);
        }
        self.repair(fields, recovery.run, &recovery.blocks, &answer, cx);
        cx.then(Next::Recovered(fields, Some(answer)));
    }

    /// In each stripe of a recovery that is flagged as wrong, doubts the next spindle, whose block is then left out as
    /// well. Returns false if none is left in one of them.
    fn doubt_others(&mut self, slot: u32, wrong: &[bool], space: &Space) -> bool {
        let recovery = &mut self.recoveries[slot as usize];
        let run = recovery.run;
        let group = space.group(run.group);
        let Some(losses) = space.losses_of(run.group) else { return false };
        let wanted = group.members_on(SpindleSet::single(run.spindle));
        for (stripe, _) in (run.dbn..).zip(wrong).filter(|(_, wrong)| **wrong) {
            let lost = losses.lost_at(stripe).union(losses.bad_at(stripe));
            let doubted = &mut recovery.doubted;
            let first = doubted.get(&stripe).map_or(0, |doubted| doubted.0 + 1);
            let candidate = (first..group.spindles()).map(SpindleIndex).find(|candidate| {
                let without = group.members_on(lost.union(SpindleSet::single(*candidate)));
                !lost.contains(*candidate)
                    && group.stripe_shape().plan_read(wanted, without).is_ok()
            });
            let Some(candidate) = candidate else { return false };
            doubted.insert(stripe, candidate);
        }
        true
    }
}

/// The blocks of a recovery's run, read or computed.
fn computed<P: Payload>(recovery: &Recovery<P>, space: &Space) -> P {
    let shape = space.group(recovery.run.group).stripe_shape();
    let mut stripe_bytes =
        StripeBytes::new(shape, BLOCK_BYTES).expect("the parity of the group can be computed");
    let mut bytes = Vec::with_capacity(recovery.run.blocks as usize * BLOCK_BYTES);
    let block_of = |spindle: SpindleIndex, dbn: u64| {
        recovery.reads.iter().find_map(|(run, payload)| {
            let block = dbn.checked_sub(run.dbn).filter(|block| *block < run.blocks.into())?;
            let at = block as usize * BLOCK_BYTES;
            (run.spindle == spindle).then(|| payload.bytes().get(at..at + BLOCK_BYTES))?
        })
    };
    for stretch in &recovery.stretches {
        for dbn in stretch.run.dbn..stretch.run.end() {
            let end = bytes.len() + BLOCK_BYTES;
            match &stretch.source {
                StretchSource::Read => {
                    bytes.extend_from_slice(block_of(stretch.run.spindle, dbn).unwrap_or(&[]))
                }
                StretchSource::Compute(plan) => {
                    // Member i is on spindle i.
                    stripe_bytes
                        .compute(plan, |member| block_of(SpindleIndex(member.0.into()), dbn))
                        .expect("all that was planned has been read");
                    let wanted = Member(stretch.run.spindle.0 as u8);
                    bytes.extend_from_slice(stripe_bytes.block(wanted).unwrap_or(&[]));
                }
                StretchSource::Gone => {}
            }
            bytes.resize(end, 0);
        }
    }
    P::from_bytes(bytes)
}
