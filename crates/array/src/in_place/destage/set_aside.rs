//! Destages of rows in which a block is gone.
//!
//! * A destage whose new parity cannot be computed writes its data, and marks the parity of the row. Then parity is
//!   recomputed from the data, if all data can be read.
//! * One that writes parity alone, because the data's spindle is lost, would have no place for its data. They stay
//!   dirty until their chunk is rebuilt. If it will not be they are lost, and counted.
//! * New data that cover a gone block in part are lost too: a block is readable as a whole or not at all.

use strewn_alloc::GroupIndex;
use strewn_base::BLOCK_SECTORS;

use crate::driver::Driver;
use crate::payload::{BlockContents, Payload};

use super::super::context::Context;
use super::super::space::LunLayout;
use super::super::space::blocks::{self, BlockSet, sectors_of_block};
use super::super::tag::TagFields;
use super::{Destage, Destaging, UpdateBytes};

impl<P: Payload> Destaging<P> {
    /// Parity of some of a destage's blocks cannot be computed. Where the data have no other place, and will have one
    /// when their chunk is rebuilt, ends the destage with nothing written, and returns true.
    pub(super) fn set_aside(
        &mut self,
        id: GroupIndex,
        slot: usize,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) -> bool {
        let destage = &self.groups[id].destages[slot];
        let group = &mut cx.space.groups[id];
        let layout = &group.layout;
        let (stripe, member) = layout.stripe_of(destage.sectors.start);
        let (Some(losses), Some(bytes)) = (&mut group.losses, &destage.bytes) else {
            return false;
        };
        if !losses.lost_of(layout, stripe).contains(member) {
            let lost = bytes.data_gone.iter().filter(|block| destage.covers_in_part(*block));
            cx.space.bad_blocks.lost += lost.count() as u64;
            return false;
        }
        if !losses.will_be_rebuilt(layout, stripe, member) {
            cx.space.bad_blocks.lost += bytes.gone.len() as u64;
            return false;
        }
        losses.set_aside.insert(stripe);
        self.give_up(id, slot, cx);
        true
    }

    /// Ends a destage of which nothing was written: its sectors are dirty again.
    pub(super) fn give_up(
        &mut self,
        id: GroupIndex,
        slot: usize,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let destage = self.groups[id].remove(slot, &mut cx.space.groups[id]);
        if destage.of_log_drain
            && let Some(log_drain) = &mut self.log_drain
        {
            log_drain.give_back(id, destage.taken());
        }
        for sectors in destage.taken() {
            cx.memory.groups[id].cache.put_back(sectors.clone());
        }
    }
}

impl<P: Payload> Destage<P> {
    /// A read has come, but for what is gone.
    pub(super) fn on_read(
        &mut self,
        tag: TagFields,
        payload: &P,
        gone: &BlockSet,
        layout: &LunLayout,
    ) {
        if self.stripes.is_some() {
            return self.add_partial_stripe_read(tag.detail, payload, gone);
        }
        let (_, changed) = layout.stripe_of(self.sectors.start);
        let Some(bytes) = &mut self.bytes else { return };
        blocks::add(&mut bytes.parity, payload.bytes());
        bytes.gone.add(gone);
        if tag.member() == changed {
            bytes.data_gone.add(gone);
        }
    }
}

impl<P> Destage<P> {
    /// Whether the extent has some of a block's sectors and not the others.
    fn covers_in_part(&self, block: usize) -> bool {
        let covered = sectors_of_block(self.sectors.start, self.len() as u32, block);
        u64::from(covered.end - covered.start) < BLOCK_SECTORS
    }

    /// Whether parity of some of its blocks cannot be computed.
    pub(super) fn lacks_something(&self) -> bool {
        self.bytes.as_ref().is_some_and(|bytes| !bytes.gone.is_empty())
    }

    /// What a block that the destage writes holds then.
    pub(super) fn holds(&self, block: usize, is_parity: bool) -> BlockContents {
        let is_among = |gone: fn(&UpdateBytes) -> &BlockSet| {
            self.bytes.as_ref().is_some_and(|bytes| gone(bytes).contains(block))
        };
        if is_parity {
            if is_among(|bytes| &bytes.gone) { BlockContents::Gone } else { BlockContents::Parity }
        } else if is_among(|bytes| &bytes.data_gone) && self.covers_in_part(block) {
            BlockContents::Gone
        } else {
            BlockContents::lun(self.sectors.start / BLOCK_SECTORS + block as u64)
        }
    }
}
