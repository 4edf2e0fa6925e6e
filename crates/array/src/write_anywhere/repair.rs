//! Bad blocks: handling reads that find them, and rewriting them.

use strewn_base::Direction;

use crate::driver::{Driver, Tag};
use crate::payload::{BlockContents, Payload};
use crate::units::BLOCK_SECTORS;

use super::tag::{Owner, TagFields};
use super::views::View;
use super::{Run, WriteAnywhere};

impl<P: Payload> WriteAnywhere<P> {
    /// Some blocks of a read are unreadable, or not what was written.
    pub(super) fn on_bad_blocks(
        &mut self,
        now_ns: u64,
        tag: Tag,
        run: Run,
        bad: &[bool],
        outcome: P,
        driver: &mut impl Driver<P>,
    ) {
        let fields = TagFields::unpack(tag);
        match fields.owner {
            Owner::AggregatedRead => return self.on_bad_in_aggregated(fields, bad, driver),
            // What a scan looks at is in memory as well.
            Owner::Aside => return self.on_scan_read_done(),
            _ => {}
        }
        let mut degraded = self.degraded.take().unwrap_or_else(|| self.no_longer_whole());
        let stripes = (run.dbn..run.dbn + u64::from(run.blocks)).zip(bad);
        let known = &mut degraded.groups[run.group.index()].bad;
        let before = known.len();
        known.extend(stripes.filter(|(_, bad)| **bad).map(|(stripe, _)| (stripe, run.spindle)));
        let new = known.len() - before;
        self.counters.bad_blocks += new as u64;
        self.degraded = Some(degraded);
        match fields.owner {
            Owner::HostOperation
            | Owner::ConsistencyPointRead
            | Owner::ReadAhead
            | Owner::Relocation => {
                self.recover(tag, run, driver);
            }
            Owner::Tetris => self.on_tetris_command_done(now_ns, fields, None, driver),
            Owner::Recovery => self.on_recovery_command_done(now_ns, fields, None, driver),
            // A step reads whole rows. Reading again would return the same, and the step does without known bad blocks.
            Owner::Rebuild => {
                let outcome = (new == 0 && !outcome.bytes().is_empty()).then_some(outcome);
                self.on_rebuild_command_done(now_ns, fields, outcome, driver);
            }
            Owner::Repair => unreachable!("a write brings nothing"),
            Owner::AggregatedRead | Owner::Aside => unreachable!("no stripe of theirs is noted"),
        }
    }

    /// Rewrites the bad blocks of a read as computed. Parity already agrees with them. Until it is done, the write
    /// counts as a read, so that its place is not reused.
    pub(super) fn repair(
        &mut self,
        read: TagFields,
        run: Run,
        right: &P,
        driver: &mut impl Driver<P>,
    ) {
        for block in 0..run.blocks {
            let dbn = run.dbn + u64::from(block);
            let Some(degraded) = &mut self.degraded else { return };
            let place = (run.group, dbn, run.spindle);
            let is_bad = degraded.groups[run.group.index()].bad.contains(&(dbn, run.spindle));
            let under_way = degraded.repairs.iter().any(|(_, other)| *other == place);
            let is_moving = read.owner == Owner::ConsistencyPointRead;
            if !is_bad || under_way || is_moving {
                continue;
            }
            let slot = degraded.repairs.insert(place) as u32;
            let key = read.first_key + block;
            let mut payload = right.slice(block * BLOCK_SECTORS, BLOCK_SECTORS);
            let holds = match self.view_of_read(read) {
                Some(View { file, .. }) => BlockContents::Lun { file, block: key.into() },
                None => self.keys.holds(key),
            };
            payload.describe(0, holds);
            self.reads.sent_with(read.epoch_parity);
            let fields = TagFields {
                owner: Owner::Repair,
                slot,
                first_key: 0,
                blocks: 1,
                epoch_parity: read.epoch_parity,
            };
            self.counters.repairs += 1;
            self.send(driver, fields, Direction::Write, Run { dbn, blocks: 1, ..run }, payload);
        }
    }

    /// A bad block has been rewritten, or its spindle failed first.
    pub(super) fn on_repair_done(
        &mut self,
        now_ns: u64,
        fields: TagFields,
        driver: &mut impl Driver<P>,
    ) {
        if let Some(degraded) = &mut self.degraded {
            let (group, dbn, spindle) = degraded.repairs.remove(fields.slot as usize);
            degraded.groups[group.index()].bad.remove(&(dbn, spindle));
        }
        if self.reads.came_back(fields.epoch_parity) {
            self.advance_consistency_point(now_ns, driver);
        }
    }

    /// Blocks have been written, and are no longer bad.
    pub(super) fn on_rewritten(&mut self, run: Run) {
        if let Some(degraded) = &mut self.degraded
            && let bad = &mut degraded.groups[run.group.index()].bad
            && !bad.is_empty()
        {
            for dbn in run.dbn..run.dbn + u64::from(run.blocks) {
                bad.remove(&(dbn, run.spindle));
            }
        }
    }
}
