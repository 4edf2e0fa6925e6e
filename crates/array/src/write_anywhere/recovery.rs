//! Recoveries: reads of lost or bad blocks, which are computed from the rest of their stripes.

use std::collections::BTreeMap;

use strewn_base::Direction;
use strewn_base::state::SavedValue;
use strewn_raid::{Member, SpindleIndex, SpindleSet, StripeBytes, StripePlan};

use crate::driver::{Driver, Tag};
use crate::payload::Payload;
use crate::units::BLOCK_BYTES;

use super::tag::{Owner, TagFields};
use super::{Run, WriteAnywhere};

/// A read with lost or bad blocks.
#[derive(SavedValue)]
pub(super) struct Recovery<P> {
    /// The tag and the run of the original read.
    tag: Tag,
    pub(super) run: Run,
    /// Commands in flight; none while it waits.
    pub(super) awaited: u32,
    /// A spindle failed meanwhile, or another block is bad: it must read again.
    again: bool,
    /// Stretches of the run, in each of which the same blocks are lost.
    stretches: Vec<Stretch>,
    /// Its reads and their data.
    pub(super) reads: Vec<(Run, P)>,
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

impl<P: Payload> WriteAnywhere<P> {
    #[cold]
    pub(super) fn recover(&mut self, tag: Tag, run: Run, driver: &mut impl Driver<P>) {
        let Some(degraded) = &mut self.degraded else { return };
        let (stretches, reads) = (Vec::new(), Vec::new());
        let recovery = Recovery {
            tag,
            run,
            awaited: 0,
            again: false,
            stretches,
            reads,
            doubted: BTreeMap::new(),
        };
        let slot = degraded.recoveries.insert(recovery) as u32;
        self.counters.degraded_reads += 1;
        self.begin_recovery(slot, driver);
    }

    /// Sends a recovery's reads, or queues it behind a tetris that is changing its stripes.
    #[cold]
    pub(super) fn begin_recovery(&mut self, slot: u32, driver: &mut impl Driver<P>) {
        let Some(degraded) = &mut self.degraded else { return };
        let run = degraded.recoveries[slot as usize].run;
        let of_group = &mut degraded.groups[run.group.index()];
        if of_group.must_wait(run) {
            of_group.waiting.push_back(slot);
            return;
        }
        let doubted = &degraded.recoveries[slot as usize].doubted;
        let group = &self.config.groups[run.group.index()];
        let shape = group.stripe_shape();
        let mut stretches = Vec::new();
        let mut reads = Vec::new();
        let (mut at, end) = (run.dbn, run.dbn + u64::from(run.blocks));
        while at < end {
            let doubted_here = doubted.get(&at).copied();
            let bad = of_group.bad_at(at).union(doubted_here.into_iter().collect());
            let unreadable = of_group.lost_at(at).union(bad);
            let doubt_changes = match doubted_here {
                Some(_) => at + 1,
                None => doubted.range(at..).next().map_or(end, |(stripe, _)| *stripe),
            };
            let until = of_group.loss_changes_after(at).min(doubt_changes).min(end);
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
        let recovery = &mut degraded.recoveries[slot as usize];
        (recovery.stretches, recovery.reads) = (stretches, reads);
        recovery.awaited = places.len() as u32;
        if places.is_empty() {
            degraded.ended.push(slot);
        }
        self.counters.recovery_reads += places.len() as u64;
        for (first_key, stretch) in (0..).zip(places) {
            let fields = TagFields {
                owner: Owner::Recovery,
                slot,
                first_key,
                blocks: stretch.blocks,
                epoch_parity: false,
            };
            self.send(driver, fields, Direction::Read, stretch, P::default());
        }
    }

    /// A command of a recovery has completed, or failed.
    #[cold]
    pub(super) fn on_recovery_command_done(
        &mut self,
        now_ns: u64,
        fields: TagFields,
        outcome: Option<P>,
        driver: &mut impl Driver<P>,
    ) {
        let Some(degraded) = &mut self.degraded else { return };
        let recovery = &mut degraded.recoveries[fields.slot as usize];
        let group = recovery.run.group;
        assert!(recovery.awaited > 0, "a read has completed that its recovery did not wait for");
        recovery.awaited -= 1;
        match outcome {
            Some(payload) => recovery.reads[fields.first_key as usize].1 = payload,
            None => recovery.again = true,
        }
        if recovery.awaited > 0 {
            return;
        }
        if std::mem::take(&mut recovery.again) {
            self.begin_recovery(fields.slot, driver);
        } else {
            self.end_recovery(now_ns, fields.slot, driver);
        }
        self.on_rows_free(now_ns, group, driver);
    }

    /// Ends the recoveries that had nothing to read.
    #[inline]
    pub(super) fn end_recoveries(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        while let Some(degraded) = &mut self.degraded
            && let Some(slot) = degraded.ended.pop()
        {
            self.end_recovery(now_ns, slot, driver);
        }
    }

    #[cold]
    fn end_recovery(&mut self, now_ns: u64, slot: u32, driver: &mut impl Driver<P>) {
        if !P::CARRIES_DATA {
            let Some(degraded) = &mut self.degraded else { return };
            let recovery = degraded.recoveries.remove(slot as usize);
            self.on_command_done(now_ns, recovery.tag, P::default(), driver);
            return;
        }
        let Some(degraded) = &self.degraded else { return };
        let recovery = &degraded.recoveries[slot as usize];
        let fields = TagFields::unpack(recovery.tag);
        let mut gone =
            recovery.stretches.iter().any(|stretch| matches!(stretch.source, StretchSource::Gone));
        let answer = self.computed(recovery);
        if !gone && let Some(wrong) = self.wrong_blocks(fields, &answer) {
            // In each of these stripes a spindle holds a stale block with a valid checksum. Leaving spindles out one by
            // one finds it.
            if self.doubt_others(slot, &wrong) {
                self.begin_recovery(slot, driver);
                return;
            }
            gone = true;
        }
        let Some(degraded) = &mut self.degraded else { return };
        let recovery = degraded.recoveries.remove(slot as usize);
        if gone {
            self.gone(now_ns, fields, recovery.run, driver);
            return;
        }
        degraded.groups[recovery.run.group.index()].bad.extend(recovery.doubted);
        self.repair(fields, recovery.run, &answer, driver);
        self.on_command_done(now_ns, recovery.tag, answer, driver);
    }

    /// The blocks of a recovery's run, read or computed.
    fn computed(&self, recovery: &Recovery<P>) -> P {
        let shape = self.group(recovery.run.group).stripe_shape();
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
            for dbn in stretch.run.dbn..stretch.run.dbn + u64::from(stretch.run.blocks) {
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

    /// In each stripe of a recovery that is flagged as wrong, doubts the next spindle, whose block is then left out as
    /// well. Returns false if none is left in one of them.
    fn doubt_others(&mut self, slot: u32, wrong: &[bool]) -> bool {
        let Some(degraded) = &mut self.degraded else { return false };
        let run = degraded.recoveries[slot as usize].run;
        let group = &self.config.groups[run.group.index()];
        let of_group = &degraded.groups[run.group.index()];
        let wanted = group.members_on(SpindleSet::single(run.spindle));
        for (stripe, _) in (run.dbn..).zip(wrong).filter(|(_, wrong)| **wrong) {
            let lost = of_group.lost_at(stripe).union(of_group.bad_at(stripe));
            let doubted = &mut degraded.recoveries[slot as usize].doubted;
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

    /// The blocks of a read can be neither read nor computed.
    fn gone(&mut self, now_ns: u64, fields: TagFields, run: Run, driver: &mut impl Driver<P>) {
        self.counters.blocks_gone += u64::from(run.blocks);
        match fields.owner {
            Owner::HostOperation => self.operation_lost_blocks(now_ns, fields, driver),
            Owner::ReadAhead => self.on_read_ahead_done(now_ns, fields, None, driver),
            // What the metadata describes is in memory, and is written elsewhere.
            Owner::ConsistencyPointRead => self.on_metadata_read(now_ns, fields, None, driver),
            // It stays where it is.
            Owner::Relocation => self.on_relocation_read(now_ns, fields, None, driver),
            Owner::Tetris
            | Owner::Recovery
            | Owner::Rebuild
            | Owner::Repair
            | Owner::AggregatedRead
            | Owner::Aside => {
                unreachable!("only reads of the file and of metadata are recovered")
            }
        }
    }
}
