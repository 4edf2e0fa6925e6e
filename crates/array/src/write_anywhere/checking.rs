//! With bytes, each read is checked against what is known of its blocks, and bad blocks are noted and read elsewhere.

use crate::driver::Driver;
use crate::payload::Payload;
use crate::units::BLOCK_BYTES;

use super::WriteAnywhere;
use super::context::Context;
use super::space::Run;
use super::space::checksums::{BlocksRead, Fit};
use super::tag::{Owner, TagFields};

impl<P: Payload> WriteAnywhere<P> {
    /// A command has completed, or part of one.
    #[inline(always)]
    pub(super) fn on_arrived(
        &mut self,
        fields: TagFields,
        payload: P,
        now_ns: u64,
        driver: &mut impl Driver<P>,
    ) {
        if P::CARRIES_DATA
            && let Some((run, wrong)) = self.wrong_read(fields, &payload)
        {
            return self.on_bad_blocks(fields, run, &wrong, payload, now_ns, driver);
        }
        self.on_done(fields, payload, now_ns, driver);
    }

    /// The blocks that a read of hosts, of a consistency point or of a relocation asks for.
    pub(super) fn blocks_read(&self, fields: TagFields) -> BlocksRead {
        let first = fields.first_key;
        match fields.owner {
            Owner::Relocation => match self.background.keys_of_read(fields) {
                Some(keys) => BlocksRead::Keys(keys),
                None => BlocksRead::From(first),
            },
            Owner::HostOperation => {
                match self.host.view_read_by(fields.slot).and_then(|lun| self.view(lun)) {
                    Some(view) => BlocksRead::OfView(view, first),
                    None => BlocksRead::From(first),
                }
            }
            _ => BlocksRead::From(first),
        }
    }

    /// The blocks that a read asked for, with a flag for each that is not what was written; `None` if all are right, or
    /// cannot be checked.
    fn wrong_read(&self, fields: TagFields, payload: &P) -> Option<(Run, Vec<bool>)> {
        let bytes = payload.bytes();
        let space = &self.space;
        if fields.owner.waits_for_blocks() {
            let blocks = self.blocks_read(fields);
            let of_old = self.memory.is_of_old_places(fields);
            let wrong = space.wrong_blocks(&blocks, of_old, bytes)?;
            // A command's blocks are consecutive.
            let first = space.expected(&blocks, 0, of_old).0?;
            return Some((Run { blocks: fields.blocks, ..space.run_at(first) }, wrong));
        }
        if bytes.is_empty() {
            return None;
        }
        let run = match fields.owner {
            Owner::Tetris => self.consistency_points.read_of_tetris(fields)?,
            Owner::Recovery => self.redundancy.read_of_recovery(fields)?,
            Owner::Rebuild => self.redundancy.read_of_step(fields, space)?,
            // The reads that it carries are checked one by one.
            _ => return None,
        };
        let blocks = bytes.chunks(BLOCK_BYTES);
        let wrong: Vec<bool> = (run.dbn..)
            .zip(blocks)
            .map(|(dbn, bytes)| space.fit(run.group, (run.spindle, dbn), bytes) == Fit::Wrong)
            .collect();
        wrong.contains(&true).then_some((run, wrong))
    }

    /// Some blocks of a read are unreadable, or not what was written.
    #[cold]
    pub(super) fn on_bad_blocks(
        &mut self,
        fields: TagFields,
        run: Run,
        bad: &[bool],
        outcome: P,
        now_ns: u64,
        driver: &mut impl Driver<P>,
    ) {
        // What a scan looks at is in memory as well.
        if fields.owner == Owner::Aside {
            return self.background.on_scan_read_done();
        }
        self.begin_losses();
        if fields.owner == Owner::AggregatedRead {
            let cx = context!(self, now_ns, driver);
            return self.host.on_bad_in_aggregated(fields, bad, cx);
        }
        let stripes = (run.dbn..run.end()).zip(bad).filter(|(_, bad)| **bad);
        let new = match self.space.losses_of_mut(run.group) {
            Some(losses) => losses.add_bad(stripes.map(|(stripe, _)| (stripe, run.spindle))),
            None => 0,
        };
        self.counters.bad_blocks += new;
        if fields.owner == Owner::Rebuild {
            // A step reads whole rows. Reading again would return the same, and the step does without known bad blocks.
            let outcome = (new == 0 && !outcome.bytes().is_empty()).then_some(outcome);
            let cx = context!(self, now_ns, driver);
            return self.redundancy.on_rebuild_command_done(fields, outcome, cx);
        }
        assert!(fields.owner != Owner::Repair, "a write brings nothing");
        self.on_failed(fields, run, now_ns, driver);
    }
}
