//! Partial stripes: what is dirty in a stripe is written with one update of its parity.
//!
//! Extent by extent, each dirty run takes four commands. Together they take fewer, by the cheaper of two methods, as
//! [`StripeShape::plan_update`](strewn_raid::StripeShape::plan_update) chooses for whole units:
//!
//! * read-modify-write reads old data and old parity, and writes both: two commands for each run, and two for parity;
//! * a reconstruct-write reads what is missing in the rows that change, and writes data and parity: one command for
//!   each dirty run, one for each run that is missing, and one for parity.
//!
//! It begins in whole stripes only: what a lost unit needs is planned extent by extent.

use std::ops::Range;

use strewn_alloc::GroupIndex;
use strewn_base::state::SavedValue;
use strewn_base::{BLOCK_SECTORS, Direction};
use strewn_raid::{Member, SpindleIndex, StripedLayout, UpdateMethod};

use crate::driver::Driver;
use crate::payload::{BlockContents, Contents, Payload};

use super::super::context::Context;
use super::super::memory::GroupMemory;
use super::super::space::blocks::{self, BlockSet, bytes_of};
use super::super::space::{DiskGroup, LunLayout, Run};
use super::load::load_of;
use super::parity_costs::{charge_full_rows, charge_xor, costs_parity};
use super::{Destage, Destaging, UpdateBytes, tag_of};

/// Commands of the read-modify-write of an extent.
const COMMANDS_OF_AN_EXTENT: usize = 4;

/// An update of what is dirty in one stripe.
#[derive(SavedValue)]
pub(super) struct PartialStripe<P> {
    pub(super) stripe: u64,
    method: UpdateMethod,
    /// The sectors of each unit from the first to the last that changes: parity is written there.
    rows: Range<u64>,
    /// What is missing in them, or what is dirty, and parity.
    reads: Vec<Piece>,
    /// What is dirty.
    writes: Vec<Piece>,
    /// The data of each write.
    data: Vec<P>,
}

/// Sectors of a member of a stripe, counted from the beginning of its unit.
#[derive(Clone, SavedValue)]
struct Piece {
    member: Member,
    sectors: Range<u64>,
}

impl Piece {
    fn len(&self) -> u32 {
        (self.sectors.end - self.sectors.start) as u32
    }

    fn is_of_blocks(&self) -> bool {
        self.sectors.start.is_multiple_of(BLOCK_SECTORS)
            && self.sectors.end.is_multiple_of(BLOCK_SECTORS)
    }

    /// Where it is within the rows.
    fn within(&self, rows: &Range<u64>) -> Range<u32> {
        (self.sectors.start - rows.start) as u32..(self.sectors.end - rows.start) as u32
    }
}

impl<P> PartialStripe<P> {
    /// Whether it computes parity from all data of the rows.
    pub(super) fn is_reconstruct_write(&self) -> bool {
        self.method == UpdateMethod::Recalculation
    }

    /// The commands of extents that it counts as. Those of a read-modify-write are as long as extents' own.
    pub(super) fn load(&self) -> usize {
        if !self.is_reconstruct_write() {
            return self.reads.len();
        }
        let load = |pieces: &[Piece]| {
            load_of(pieces.len(), pieces.iter().map(|piece| u64::from(piece.len())).sum())
        };
        let rows = Piece { member: Member(0), sectors: self.rows.clone() };
        load(&self.reads).max(load(&[self.writes.as_slice(), &[rows]].concat()))
    }

    pub(super) fn dirty_sectors(&self, layout: &LunLayout) -> Vec<Range<u64>> {
        let of_lun = |piece: &Piece| {
            let first = layout.sectors_of_unit(self.stripe, piece.member).start;
            first + piece.sectors.start..first + piece.sectors.end
        };
        self.writes.iter().map(of_lun).collect()
    }

    /// A sector of the LUNs in the first row that changes.
    pub(super) fn first_sector(&self, layout: &LunLayout) -> u64 {
        layout.sectors_of_stripe(self.stripe).start + self.rows.start
    }

    /// Where the sectors lie that a command reads.
    pub(super) fn place_of_read(&self, layout: &LunLayout, index: u32) -> (SpindleIndex, u64) {
        let piece = &self.reads[index as usize];
        let unit = layout.stripe(self.stripe).unit(piece.member);
        (unit.spindle, unit.sector + piece.sectors.start)
    }
}

impl<P: Payload> PartialStripe<P> {
    /// The exclusive or of the new data, for all rows.
    fn sum_of_data(&self) -> Vec<u8> {
        let mut sum = vec![0; bytes_of(&(0..(self.rows.end - self.rows.start) as u32)).len()];
        for (piece, data) in self.writes.iter().zip(&self.data) {
            add_at(&mut sum, &piece.within(&self.rows), data.bytes());
        }
        sum
    }
}

/// Adds the bytes of `sectors` to a sum by exclusive or.
fn add_at(sum: &mut [u8], sectors: &Range<u32>, bytes: &[u8]) {
    for (sum, byte) in sum[bytes_of(sectors)].iter_mut().zip(bytes) {
        *sum ^= byte;
    }
}

impl<P: Payload> Destaging<P> {
    pub(super) fn send_partial_reads(
        &mut self,
        id: GroupIndex,
        slot: usize,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let group = &cx.space.groups[id];
        let destage = &mut self.groups[id].destages[slot];
        let Some(one) = destage.partial_stripe() else { return };
        // It began in a whole stripe, so every unit has a place.
        let reads: Vec<_> = (0..)
            .zip(&one.reads)
            .filter_map(|(index, piece)| {
                let (spindle, sector) = one.place_of_read(&group.layout, index);
                let (spindle, first_sector) = group.place_now(spindle, sector)?;
                Some((index, Run { spindle, first_sector, sectors: piece.len() }))
            })
            .collect();
        if P::CARRIES_DATA {
            let parity = one.sum_of_data();
            destage.bytes = Some(Box::new(UpdateBytes { parity, ..UpdateBytes::default() }));
        }
        if reads.is_empty() {
            // The rows are dirty in all units.
            return self.send_partial_writes(id, slot, cx);
        }
        destage.awaited = reads.len() as u32;
        cx.counters.parity_update_reads += reads.len() as u64;
        for (index, run) in reads {
            cx.send(tag_of(id, slot, index), Direction::Read, run, P::default());
        }
    }

    /// All reads of a partial stripe have come, or failed. Returns whether it has ended: if a spindle was lost
    /// meanwhile, nothing is written, and the elevator will come to the sectors again.
    #[cold]
    #[inline(never)]
    pub(super) fn on_partial_stripe_read(
        &mut self,
        id: GroupIndex,
        slot: usize,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) -> bool {
        let group = &cx.space.groups[id];
        let destage = &self.groups[id].destages[slot];
        let (stripe, _) = group.stripe_of(destage.sectors.start);
        if destage.again || destage.lacks_something() && !group.lost_of(stripe).is_empty() {
            self.give_up(id, slot, cx);
            return true;
        }
        self.send_partial_writes(id, slot, cx);
        false
    }

    fn send_partial_writes(
        &mut self,
        id: GroupIndex,
        slot: usize,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let destage = &mut self.groups[id].destages[slot];
        let Some(one) = destage.partial_stripe() else { return };
        if one.is_reconstruct_write() {
            charge_full_rows(id, one.rows.end - one.rows.start, cx);
        } else if costs_parity(cx) {
            // New data and old data, into old parity.
            let sectors: u64 = one.writes.iter().map(|piece| u64::from(piece.len())).sum();
            charge_xor(2 * sectors, cx);
        }
        let writes = destage.writes_of_partial_stripe(&cx.space.groups[id]);
        destage.writing = true;
        destage.awaited = writes.len() as u32;
        for (index, (member, run, payload)) in (0..).zip(writes) {
            let parity = u64::from(cx.space.groups[id].layout.is_parity(member));
            cx.counters.parity_writes += parity;
            cx.counters.data_writes += 1 - parity;
            cx.send(tag_of(id, slot, index), Direction::Write, run, payload);
        }
        cx.driver.all_or_none_ends();
    }
}

impl<P: Payload> PartialStripe<P> {
    /// The update of all that is dirty in the stripe of `first`, if it takes fewer commands than extent by extent.
    /// `first` is dirty, as is the rest of its chunk.
    ///
    /// Extents share parity only where they are in the same rows. That is so where a dirty run is as long as two
    /// chunks, and where half of the stripe's data are dirty. Other extents that happen to be in one stripe are short,
    /// and so is their parity: together they would read and write it from the first row to the last.
    pub(super) fn from(first: u64, group: &DiskGroup, memory: &GroupMemory<P>) -> Option<Self> {
        let (layout, cache) = (&group.layout, &memory.cache);
        let (stripe, _) = layout.stripe_of(first);
        let of_lun = layout.sectors_of_stripe(stripe);
        let two_chunks = first + 2 * layout.unit_sectors();
        let share_rows = || cache.dirty_run_end(first, two_chunks) == two_chunks;
        let are_half = || 2 * cache.dirty_within(of_lun.clone()) >= layout.stripe_sectors();
        if !layout.has_parity()
            || !group.lost_of(stripe).is_empty()
            || !(share_rows() || are_half())
        {
            return None;
        }
        // What is scattered over a stripe is as well off alone, and not worth listing.
        let most = 2 * usize::from(layout.shape().data_blocks());
        let writes: Vec<Piece> = layout
            .shape()
            .data()
            .iter()
            .flat_map(|member| {
                let unit = layout.sectors_of_unit(stripe, member);
                let runs = cache.dirty_runs_within(unit.clone());
                runs.map(move |run| Piece {
                    member,
                    sectors: run.start - unit.start..run.end - unit.start,
                })
            })
            .take(most + 1)
            .collect();
        let rows = writes.iter().map(|piece| piece.sectors.start).min()?
            ..writes.iter().map(|piece| piece.sectors.end).max()?;
        // Bytes are told, and found to be gone, block by block.
        if writes.len() > most || !writes.iter().all(Piece::is_of_blocks) {
            return None;
        }
        let missing = missing(&writes, layout.shape().data().iter(), &rows);
        // A stripe that the LUNs' end cuts has more than their data: it is not reconstructed.
        let (method, reads) = if of_lun.end <= group.end_sector && missing.len() <= writes.len() + 1
        {
            (UpdateMethod::Recalculation, missing)
        } else {
            let parity = Piece { member: layout.shape().row_parity(), sectors: rows.clone() };
            (UpdateMethod::Subtraction, writes.iter().cloned().chain([parity]).collect())
        };
        if reads.len() + writes.len() + 1 >= COMMANDS_OF_AN_EXTENT * writes.len() {
            return None;
        }
        let mut one = Self { stripe, method, rows, reads, writes, data: Vec::new() };
        if P::CARRIES_DATA {
            let sectors = one.dirty_sectors(layout).into_iter();
            let load =
                |run: Range<u64>| memory.contents.load(run.start, (run.end - run.start) as u32);
            one.data = sectors.map(load).collect();
        }
        Some(one)
    }
}

impl<P: Payload> Destage<P> {
    /// A read of a partial stripe has come, but for what is gone.
    pub(super) fn add_partial_stripe_read(&mut self, index: u32, payload: &P, gone: &BlockSet) {
        let Self { stripes: Some(stripes), bytes: Some(bytes), .. } = self else { return };
        let Some(one) = &stripes.partial else { return };
        let within = one.reads[index as usize].within(&one.rows);
        add_at(&mut bytes.parity, &within, payload.bytes());
        for block in gone.iter() {
            bytes.gone.insert((u64::from(within.start) / BLOCK_SECTORS) as usize + block);
        }
    }

    /// What the update of a partial stripe writes, and where. Lost units are left out: parity covers data, and lost
    /// parity is rebuilt.
    fn writes_of_partial_stripe(&mut self, group: &DiskGroup) -> Vec<(Member, Run, P)> {
        let layout = &group.layout;
        let Some(one) = self.stripes.as_mut().and_then(|one| one.partial.as_mut()) else {
            return Vec::new();
        };
        let data = std::mem::take(&mut one.data);
        let parity = Piece { member: layout.shape().row_parity(), sectors: one.rows.clone() };
        let pieces = one.writes.iter().chain([&parity]).cloned();
        let mut payloads: Vec<P> = data;
        payloads.resize_with(one.writes.len(), P::default);
        let bytes = self.bytes.as_mut();
        payloads.push(P::from_bytes(
            bytes.map(|bytes| std::mem::take(&mut bytes.parity)).unwrap_or_default(),
        ));
        let gone = self.bytes.as_ref().map(|bytes| &bytes.gone);
        let is_gone = |block| gone.is_some_and(|gone| gone.contains(block));
        let units = layout.stripe(one.stripe);
        let mut writes = Vec::new();
        for (piece, mut payload) in pieces.zip(payloads) {
            let unit = units.unit(piece.member);
            let sector = unit.sector + piece.sectors.start;
            let place = group.place_now(unit.spindle, sector);
            let Some((spindle, first_sector)) = place else { continue };
            if P::CARRIES_DATA {
                let is_parity = layout.is_parity(piece.member);
                let first = match is_parity {
                    true => piece.sectors.start,
                    false => {
                        layout.sectors_of_unit(one.stripe, piece.member).start + piece.sectors.start
                    }
                };
                blocks::describe(&mut payload, first, piece.len(), |block| match is_parity {
                    true if is_gone(block) => BlockContents::Gone,
                    true => BlockContents::Parity,
                    false => BlockContents::lun(first / BLOCK_SECTORS + block as u64),
                });
            }
            let run = Run { spindle, first_sector, sectors: piece.len() };
            writes.push((piece.member, run, payload));
        }
        writes
    }
}

/// What the pieces leave out of the rows of each member, in order.
fn missing(
    pieces: &[Piece],
    members: impl Iterator<Item = Member>,
    rows: &Range<u64>,
) -> Vec<Piece> {
    let mut missing = Vec::new();
    for member in members {
        let mut at = rows.start;
        let ends = Piece { member, sectors: rows.end..rows.end };
        for piece in pieces.iter().filter(|piece| piece.member == member).chain([&ends]) {
            if at < piece.sectors.start {
                missing.push(Piece { member, sectors: at..piece.sectors.start });
            }
            at = piece.sectors.end;
        }
    }
    missing
}
