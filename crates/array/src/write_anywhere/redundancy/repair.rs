//! Bad blocks are rewritten as computed.

use strewn_base::Direction;

use crate::driver::Driver;
use crate::payload::{BlockContents, Payload};
use crate::units::BLOCK_SECTORS;

use super::super::context::{Context, Next};
use super::super::space::Run;
use super::super::space::checksums::BlocksRead;
use super::super::tag::{Owner, TagFields};
use super::Redundancy;

impl<P: Payload> Redundancy<P> {
    /// Rewrites the bad blocks of a read as computed. Parity already agrees with them. Until it is done, the write
    /// counts as a read, so that its place is not reused.
    pub(super) fn repair(
        &mut self,
        read: TagFields,
        run: Run,
        blocks: &BlocksRead,
        right: &P,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let is_moving = read.owner == Owner::ConsistencyPointRead;
        for block in 0..run.blocks {
            let dbn = run.dbn + u64::from(block);
            let place = (run.group, dbn, run.spindle);
            let is_bad =
                cx.space.losses_of(run.group).is_some_and(|losses| losses.is_bad(dbn, run.spindle));
            let under_way = self.repairs.iter().any(|(_, other)| *other == place);
            if !is_bad || under_way || is_moving {
                continue;
            }
            let slot = self.repairs.insert(place) as u32;
            let mut payload = right.slice(block * BLOCK_SECTORS, BLOCK_SECTORS);
            let holds = match blocks {
                BlocksRead::OfView(view, first) => {
                    BlockContents::Lun { file: view.file, block: (first + block).into() }
                }
                BlocksRead::From(first) => cx.space.keys.holds(first + block),
                BlocksRead::Keys(keys) => cx.space.keys.holds(keys[block as usize]),
            };
            payload.describe(0, holds);
            cx.memory.reads.sent_with(read.epoch_parity);
            let fields = TagFields {
                owner: Owner::Repair,
                slot,
                first_key: 0,
                blocks: 1,
                epoch_parity: read.epoch_parity,
            };
            cx.counters.repairs += 1;
            cx.send(fields, Direction::Write, Run { dbn, blocks: 1, ..run }, payload);
        }
    }

    /// A bad block has been rewritten, or its spindle failed first.
    pub(crate) fn on_repair_done(
        &mut self,
        fields: TagFields,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let (group, dbn, spindle) = self.repairs.remove(fields.slot as usize);
        if let Some(losses) = cx.space.losses_of_mut(group) {
            losses.remove_bad(dbn, spindle);
        }
        if cx.memory.reads.came_back(fields.epoch_parity) {
            cx.then(Next::AdvanceConsistencyPoint);
        }
    }
}
