//! Extents: consecutive dirty sectors within one chunk. Old data and old parity are read, then both are written.

use strewn_alloc::GroupIndex;
use strewn_base::Direction;
use strewn_raid::{ChunkLocation, Member, MemberSet, SpindleIndex, StripedLayout};

use crate::driver::Driver;
use crate::payload::Payload;

use super::super::context::Context;
use super::super::space::Run;
use super::super::space::blocks;
use super::parity_costs::{charge_xor, costs_parity};
use super::{Destage, Destaging, UpdateBytes, tag_of};

impl<P: Payload> Destaging<P> {
    /// Reads the old extent and its parity; in a degraded stripe, what the plan reads instead. Without parity, it
    /// writes at once.
    pub(super) fn send_reads(
        &mut self,
        id: GroupIndex,
        slot: usize,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let group = &cx.space.groups[id];
        if !group.layout.has_parity() {
            return self.send_writes(id, slot, cx);
        }
        let destage = &mut self.groups[id].destages[slot];
        if P::CARRIES_DATA {
            let parity = destage.data.bytes().to_vec();
            destage.bytes = Some(Box::new(UpdateBytes { parity, ..UpdateBytes::default() }));
        }
        if group.losses.is_some() {
            let (stripe, member) = group.stripe_of(destage.sectors.start);
            let plan = group.plan_of_update(stripe, member);
            if plan.read.is_empty() {
                // Parity is lost: only the extent is written.
                self.send_writes(id, slot, cx);
            } else {
                cx.counters.parity_update_reads += u64::from(plan.read.len());
                self.send_planned((id, slot), stripe, plan.read, Direction::Read, cx);
            }
            return;
        }
        self.send_pair(id, slot, Direction::Read, cx);
        cx.counters.parity_update_reads += 2;
    }

    /// Writes the extent and its parity, or the one of the two that is not lost.
    pub(super) fn send_writes(
        &mut self,
        id: GroupIndex,
        slot: usize,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let group = &cx.space.groups[id];
        let destage = &mut self.groups[id].destages[slot];
        assert_eq!(destage.awaited, 0, "a destage writes what is still being read for it");
        destage.writing = true;
        if group.losses.is_some() {
            let (stripe, member) = group.stripe_of(destage.sectors.start);
            let plan = group.plan_of_update(stripe, member);
            let data = u64::from(plan.write.contains(member));
            cx.counters.data_writes += data;
            cx.counters.parity_writes += u64::from(plan.write.len()) - data;
            if costs_parity(cx) {
                // The new data and all that was read, less the one that the others are XORed into.
                charge_xor(u64::from(plan.read.len()) * destage.len(), cx);
            }
            self.send_planned((id, slot), stripe, plan.write, Direction::Write, cx);
            cx.driver.all_or_none_ends();
            return;
        }
        if group.layout.has_parity() {
            if costs_parity(cx) {
                // New data and old data, into old parity.
                charge_xor(2 * destage.len(), cx);
            }
            self.send_pair(id, slot, Direction::Write, cx);
            cx.counters.parity_writes += 1;
        } else {
            destage.awaited = 1;
            let sectors = destage.len() as u32;
            let Some(place) = destage.place else { return };
            let place = (place.spindle, place.sector_on_spindle);
            self.send_member((id, slot, Member(0)), place, sectors, Direction::Write, cx);
        }
        cx.driver.all_or_none_ends();
        cx.counters.data_writes += 1;
    }

    /// Reads or writes members of a stripe at the extent's offset in their chunks.
    #[cold]
    fn send_planned(
        &mut self,
        (id, slot): (GroupIndex, usize),
        stripe: u64,
        members: MemberSet,
        direction: Direction,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let destage = &mut self.groups[id].destages[slot];
        let offset = destage.sectors.start % cx.space.groups[id].layout.unit_sectors();
        let sectors = destage.len() as u32;
        destage.awaited = members.len().into();
        for member in members.iter() {
            let group = &cx.space.groups[id];
            let places = group.places_of(stripe, MemberSet::single(member), offset);
            for place in places {
                self.send_member((id, slot, member), place, sectors, direction, cx);
            }
        }
    }

    /// Reads or writes one member of a destage's stripe.
    #[inline(always)]
    fn send_member(
        &mut self,
        (id, slot, member): (GroupIndex, usize, Member),
        (spindle, first_sector): (SpindleIndex, u64),
        sectors: u32,
        direction: Direction,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let payload = if P::CARRIES_DATA && direction == Direction::Write {
            let is_parity = cx.space.groups[id].layout.is_parity(member);
            self.groups[id].destages[slot].written_to(is_parity)
        } else {
            P::default()
        };
        let fields = tag_of(id, slot, member.0.into());
        cx.send(fields, direction, Run { spindle, first_sector, sectors }, payload);
    }

    /// Reads or writes the extent and its parity.
    #[inline(always)]
    fn send_pair(
        &mut self,
        id: GroupIndex,
        slot: usize,
        direction: Direction,
        cx: &mut Context<'_, P, impl Driver<P>>,
    ) {
        let layout = &cx.space.groups[id].layout;
        let destage = &mut self.groups[id].destages[slot];
        let (_, changed) = layout.stripe_of(destage.sectors.start);
        let parity = layout.shape().row_parity();
        destage.awaited = 2;
        let sectors = destage.len() as u32;
        let Some(place) = destage.place else { return };
        let ChunkLocation { spindle, sector_on_spindle, parity_spindle, parity_sector, .. } = place;
        for (member, spindle, first_sector) in
            [(changed, spindle, sector_on_spindle), (parity, parity_spindle, parity_sector)]
        {
            let place = (spindle, first_sector);
            self.send_member((id, slot, member), place, sectors, direction, cx);
        }
    }
}

impl<P: Payload> Destage<P> {
    /// The payload that it writes to a member of its stripe: parity, or the data.
    fn written_to(&mut self, is_parity: bool) -> P {
        let mut payload = if is_parity {
            let bytes = self.bytes.as_mut();
            P::from_bytes(bytes.map(|bytes| std::mem::take(&mut bytes.parity)).unwrap_or_default())
        } else {
            std::mem::take(&mut self.data)
        };
        let (first, sectors) = (self.sectors.start, self.len() as u32);
        blocks::describe(&mut payload, first, sectors, |block| self.holds(block, is_parity));
        payload
    }
}
