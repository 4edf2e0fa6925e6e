//! Blocks that could not be read, or that are not what was written.
//!
//! A bad block is computed from the rest of its stripe and written back where it is: see [`super::recovery`]. Where
//! more of a row is bad or lost than parity makes good, a block is *gone*. A host operation that needs it is refused; a
//! rebuild and a destage put [`BlockContents::Gone`] where they cannot say what belongs there, so that a row that is
//! not whole never passes for one, whenever it is read again:
//!
//! * A destage whose new parity cannot be computed writes its data, and marks the parity of the row. Then parity is
//!   recomputed from the data, if all data can be read.
//! * One that writes parity alone, because the data's spindle is lost, would have no place for its data. They stay
//!   dirty until their chunk is rebuilt. If it will not be they are lost, and counted.
//! * New data that cover a gone block in part are lost too: a block is readable as a whole or not at all.

use crate::driver::{Driver, SpindleCommand};
use crate::payload::{BlockContents, Payload};
use strewn_alloc::GroupIndex;
use strewn_base::state::SavedValue;
use strewn_base::{BLOCK_SECTORS, SECTOR_BYTES};
use strewn_raid::{Member, StripedLayout};

use super::InPlace;
use super::blocks::{self, BlockSet, blocks_touched, sectors_of_block};
use super::degraded::Degraded;
use super::destage::{Destage, UpdateBytes};
use super::group::DiskGroup;
use super::tag::{Kind, TagFields};

/// Counts of the bad blocks that an array has met, by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, SavedValue)]
pub struct BadBlocks {
    /// Blocks computed from the rest of their stripes and rewritten, including parity that was marked as gone and could
    /// be recomputed.
    pub repaired: u64,
    /// Blocks that a rebuild could not compute, and marked as gone.
    pub left_out: u64,
    /// Blocks of acknowledged data that had no place left in their stripe.
    pub lost: u64,
    /// Host reads that were refused.
    pub refused: u64,
}

impl<P: Payload> InPlace<P> {
    /// The bad blocks met since the array was created.
    #[must_use]
    pub fn bad_blocks(&self) -> &BadBlocks {
        &self.bad_blocks
    }

    /// Some blocks of a read are bad. Of a payload that is not all of what was asked for, nothing counts as read.
    pub(super) fn on_bad_blocks(
        &mut self,
        now_ns: u64,
        command: SpindleCommand<P>,
        bad: &[bool],
        driver: &mut impl Driver<P>,
    ) {
        let SpindleCommand { tag, first_sector, sectors, mut payload, .. } = command;
        let touched = blocks_touched(first_sector, sectors);
        let mut bad = BlockSet::of_flags(bad, touched);
        let bytes = sectors as usize * SECTOR_BYTES as usize;
        if payload.bytes().len() != bytes {
            payload = P::from_bytes(vec![0; bytes]);
            bad = BlockSet::all(touched);
        }
        // The operations that wait for what is bad read it themselves, and repair it.
        if bad.is_empty() || TagFields::of(tag).kind == Kind::ReadAhead {
            return self.on_command_done(now_ns, tag, &payload, &bad, driver);
        }
        let fields = TagFields::of(tag);
        let TagFields { kind, group: id, slot, .. } = fields;
        let group = &mut self.groups[id];
        group.degraded_or_new();
        let layout = &group.layout;
        let at = match kind {
            Kind::HostRead => {
                let place = layout.locate(group.wanted_by(fields));
                Some((place.spindle, place.sector_on_spindle))
            }
            Kind::Destage if !group.destages[slot].writing && !group.destages[slot].again => {
                let destage = &group.destages[slot];
                if let Some(one) = destage.partial_stripe() {
                    let at = one.place_of_read(layout, fields.detail);
                    return self.recover_blocks((id, Some(tag)), at, sectors, payload, bad, driver);
                }
                let first = destage.sectors.start;
                let unit = layout.stripe(group.stripe_of(first).0).unit(destage_member(fields));
                Some((unit.spindle, unit.sector + first % layout.unit_sectors()))
            }
            Kind::Recovery => group.read_directly_by(fields),
            // What is read of the rest of a stripe has no other way to it.
            Kind::Destage | Kind::Step | Kind::ReadAhead => None,
        };
        match at {
            Some(at) => self.recover_blocks((id, Some(tag)), at, sectors, payload, bad, driver),
            None => self.on_command_done(now_ns, tag, &payload, &bad, driver),
        }
    }

    /// Parity of some of a destage's blocks cannot be computed. Where the data have no other place, and will have one
    /// when their chunk is rebuilt, ends the destage with nothing written, and returns true.
    pub(super) fn set_destage_aside(&mut self, id: GroupIndex, slot: usize) -> bool {
        let group = &mut self.groups[id];
        let destage = &group.destages[slot];
        let layout = &group.layout;
        let (stripe, member) = layout.stripe_of(destage.sectors.start);
        let Some(degraded) = &mut group.degraded else { return false };
        let Some(bytes) = &destage.bytes else { return false };
        if !degraded.lost_of(layout, stripe).contains(member) {
            let lost = bytes.data_gone.iter().filter(|block| destage.covers_in_part(*block));
            self.bad_blocks.lost += lost.count() as u64;
            return false;
        }
        if !degraded.will_be_rebuilt(layout, stripe, member) {
            self.bad_blocks.lost += bytes.gone.len() as u64;
            return false;
        }
        degraded.set_aside.insert(stripe);
        self.give_up_destage(id, slot);
        true
    }

    /// Ends a destage of which nothing was written: its sectors are dirty again.
    pub(super) fn give_up_destage(&mut self, id: GroupIndex, slot: usize) {
        let group = &mut self.groups[id];
        let destage = group.remove_destage(slot);
        if destage.of_log_drain
            && let Some(log_drain) = &mut self.log_drain
        {
            log_drain.give_back(id, destage.taken());
        }
        for sectors in destage.taken() {
            group.cache.put_back(sectors.clone());
        }
    }

    /// Computes parity that a destage has marked as gone, if all data of the stripe can be read.
    pub(super) fn mend_parity(
        &mut self,
        id: GroupIndex,
        first: u64,
        gone: &BlockSet,
        driver: &mut impl Driver<P>,
    ) {
        let group = &mut self.groups[id];
        group.degraded_or_new();
        let (stripe, _) = group.stripe_of(first);
        let layout = &group.layout;
        let is_whole = |degraded: &Degraded<P>| degraded.lost_of(layout, stripe).is_empty();
        let (Some(hull), true) = (gone.hull(), group.degraded.as_deref().is_some_and(is_whole))
        else {
            return;
        };
        let unit = layout.stripe(stripe).unit(layout.shape().row_parity());
        let offset = first % layout.unit_sectors() / BLOCK_SECTORS * BLOCK_SECTORS;
        let sectors = hull.end as u32 * BLOCK_SECTORS as u32;
        let at = (unit.spindle, unit.sector + offset);
        self.recover_blocks((id, None), at, sectors, P::default(), gone.clone(), driver);
    }
}

impl<P: Payload> DiskGroup<P> {
    /// A destage's read has come, but for what is gone.
    pub(super) fn on_destage_read(&mut self, tag: TagFields, payload: &P, gone: &BlockSet) {
        let destage = &mut self.destages[tag.slot];
        if destage.stripes.is_some() {
            return self.add_partial_stripe_read(tag, payload, gone);
        }
        let (_, changed) = self.layout.stripe_of(destage.sectors.start);
        let Some(bytes) = &mut destage.bytes else { return };
        blocks::add(&mut bytes.parity, payload.bytes());
        bytes.gone.add(gone);
        if destage_member(tag) == changed {
            bytes.data_gone.add(gone);
        }
    }
}

/// The member of the stripe that a destage's command addresses.
fn destage_member(tag: TagFields) -> Member {
    Member(tag.detail as u8)
}

impl<P> Destage<P> {
    /// Whether the extent has some of a block's sectors and not the others.
    fn covers_in_part(&self, block: usize) -> bool {
        let sectors = (self.sectors.end - self.sectors.start) as u32;
        let covered = sectors_of_block(self.sectors.start, sectors, block);
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
