//! Destaging: dirty extents are written where they belong, with their parity.
//!
//! New parity is the exclusive or of the new data and everything that is read, whatever the plan reads: old data and
//! old parity; the other data, if the old data are lost; or nothing, if parity is lost. A layout without parity reads
//! nothing. Where dirty data go on in the next chunk, more than an extent goes out at once: see
//! [`super::stripes`].

use std::ops::Range;

use strewn_alloc::GroupIndex;
use strewn_base::Direction;
use strewn_base::state::SavedValue;
use strewn_raid::{ChunkLocation, Member, MemberSet, SpindleIndex, StripedLayout};

use crate::driver::{Driver, SpindleCommand, Tag, Work};
use crate::payload::{Contents, Payload};
use crate::processor::ProcessorWork;

use super::blocks::{self, BlockSet};
use super::group::DiskGroup;
use super::partial_stripes::PartialStripe;
use super::stripes::{COMMANDS_OF_EXTENT, StripeDestage};
use super::tag::{Kind, TagFields};
use super::{InPlace, LunLayout};

/// Most chunks skipped in search of a stripe without a destage in flight.
const SEARCH_CHUNKS: u32 = 16;

/// An extent being destaged: old data and old parity are read, then both are written. Or stripes: see
/// [`super::stripes`].
#[derive(SavedValue)]
pub(super) struct Destage<P> {
    pub(super) sectors: Range<u64>,
    /// `None` if it takes more than an extent.
    pub(super) place: Option<ChunkLocation>,
    pub(super) writing: bool,
    pub(super) awaited: u32,
    /// A spindle failed during its reads: they are sent again.
    pub(super) again: bool,
    /// A log drain waits for it.
    pub(super) of_log_drain: bool,
    /// The data to write.
    pub(super) data: P,
    /// `None` if the payload carries no data.
    pub(super) bytes: Option<Box<UpdateBytes>>,
    /// `None` for an extent.
    pub(super) stripes: Option<Box<StripeDestage<P>>>,
}

/// The bytes of a parity update.
#[derive(Default, SavedValue)]
pub(super) struct UpdateBytes {
    /// Exclusive or of the new data and the data read so far: the new parity in the end.
    pub(super) parity: Vec<u8>,
    /// Blocks whose parity cannot be computed, because a block that it needs is gone.
    pub(super) gone: BlockSet,
    /// Those of them whose old data are gone.
    pub(super) data_gone: BlockSet,
}

impl<P: Payload> InPlace<P> {
    /// Begins destages in each disk group while there is enough to write back and room for more in flight. What waits
    /// for room in the cache may be waiting for any group.
    pub(super) fn destage(&mut self, driver: &mut impl Driver<P>) {
        let before = driver.turn_to(Work::WriteBack);
        self.destage_group(GroupIndex(0), driver);
        if self.groups.has_several() {
            self.destage_further_groups(driver);
        }
        driver.turn_to(before);
    }

    #[cold]
    fn destage_further_groups(&mut self, driver: &mut impl Driver<P>) {
        for group in self.groups.indices().skip(1) {
            self.destage_group(group, driver);
        }
    }

    #[inline(always)]
    fn destage_group(&mut self, id: GroupIndex, driver: &mut impl Driver<P>) {
        while self.has_to_destage(id) {
            let group = &mut self.groups[id];
            let Some((sectors, place)) = group.next_extent() else { break };
            // Only what goes on in the next chunk can be worth more than an extent.
            if u64::from(place.sectors_left_in_chunk) == sectors.end - sectors.start
                && group.longest_command_sectors > 0
                && let Some(stripes) = group.stripes_from(sectors.start)
            {
                if self.begin_stripes(id, stripes, driver) {
                    continue;
                }
                break;
            }
            group.cache.begin_destage(sectors.clone());
            group.cache.prefetch_next_dirty();
            group.destage_load += COMMANDS_OF_EXTENT;
            let is_new = group.destaged_stripes.insert(group.layout.stripe_of(sectors.start).0);
            assert!(is_new, "two destages are about to change the parity of one stripe");
            let count = (sectors.end - sectors.start) as u32;
            let data = group.contents.load(sectors.start, count);
            let of_log_drain = self
                .log_drain
                .as_mut()
                .is_some_and(|log_drain| log_drain.take(id, std::slice::from_ref(&sectors)));
            let destage =
                Destage { of_log_drain, ..Destage::of_extent(sectors, Some(place), data) };
            let slot = group.destages.insert(destage);
            self.counters.destages += 1;
            self.send_reads(id, slot, driver);
        }
    }

    /// Whether a disk group may begin a destage, and it has enough to write back, or a write waits for room
    /// that only a destage can make, or a log drain is in progress.
    #[inline(always)]
    fn has_to_destage(&self, id: GroupIndex) -> bool {
        let group = &self.groups[id];
        group.destage_load + COMMANDS_OF_EXTENT <= group.most_commands
            && (group.cache.dirty_sectors() > group.destage_low_sectors
                || !self.waiting_for_room.is_empty()
                || self.log_drain.as_ref().is_some_and(|log_drain| log_drain.has_to_destage(id)))
    }

    /// A command of a destage has completed, a read with all but the blocks that are gone; or it failed. Returns
    /// whether the destage has ended. The parity written with it covers a failed write, unless that is of parity
    /// itself.
    #[inline(always)]
    pub(super) fn on_destage_command_done(
        &mut self,
        tag: TagFields,
        outcome: Option<(&P, &BlockSet)>,
        driver: &mut impl Driver<P>,
    ) -> bool {
        let TagFields { group: id, slot, .. } = tag;
        let destage = &mut self.groups[id].destages[slot];
        assert!(destage.awaited > 0, "a command has completed that its destage did not wait for");
        destage.awaited -= 1;
        destage.again |= outcome.is_none() && !destage.writing;
        if P::CARRIES_DATA
            && let Some((payload, gone)) = outcome
            && !destage.writing
        {
            self.groups[id].on_destage_read(tag, payload, gone);
        }
        let destage = &mut self.groups[id].destages[slot];
        if destage.awaited > 0 {
            return false;
        }
        if !destage.writing {
            if destage.stripes.is_some() {
                return self.on_partial_stripe_read(id, slot, driver);
            }
            if std::mem::take(&mut destage.again) {
                self.send_reads(id, slot, driver);
            } else if destage.lacks_something() && self.set_destage_aside(id, slot) {
                return true;
            } else {
                self.send_writes(id, slot, driver);
            }
            return false;
        }
        let group = &mut self.groups[id];
        let destage = group.remove_destage(slot);
        for sectors in destage.taken() {
            group.cache.end_destage(sectors.clone());
        }
        if destage.of_log_drain
            && let Some(log_drain) = &mut self.log_drain
        {
            log_drain.destage_ended();
        }
        if P::CARRIES_DATA {
            let sectors = destage.taken().iter().flat_map(Clone::clone);
            for sector in sectors.filter(|sector| group.cache.is_gone(*sector)) {
                group.contents.forget(sector, 1);
            }
            if let Some(bytes) = destage.bytes.as_ref().filter(|bytes| !bytes.gone.is_empty()) {
                let first = destage.first_sector_of_parity(&group.layout);
                self.mend_parity(id, first, &bytes.gone, driver);
            }
        }
        true
    }

    /// Reads the old extent and its parity; in a degraded stripe, what the plan reads instead. Without parity, it
    /// writes at once.
    fn send_reads(&mut self, id: GroupIndex, slot: usize, driver: &mut impl Driver<P>) {
        let group = &mut self.groups[id];
        if !group.layout.has_parity() {
            return self.send_writes(id, slot, driver);
        }
        if P::CARRIES_DATA {
            let destage = &mut group.destages[slot];
            let parity = destage.data.bytes().to_vec();
            destage.bytes = Some(Box::new(UpdateBytes { parity, ..UpdateBytes::default() }));
        }
        if group.degraded.is_some() {
            let (stripe, member) = group.stripe_of(group.destages[slot].sectors.start);
            let plan = group.plan_of_update(stripe, member);
            if plan.read.is_empty() {
                // Parity is lost: only the extent is written.
                self.send_writes(id, slot, driver);
            } else {
                self.counters.parity_update_reads += u64::from(plan.read.len());
                self.send_planned((id, slot), stripe, plan.read, Direction::Read, driver);
            }
            return;
        }
        self.send_pair(id, slot, Direction::Read, driver);
        self.counters.parity_update_reads += 2;
    }

    /// Writes the extent and its parity, or the one of the two that is not lost.
    fn send_writes(&mut self, id: GroupIndex, slot: usize, driver: &mut impl Driver<P>) {
        let group = &mut self.groups[id];
        let destage = &mut group.destages[slot];
        assert_eq!(destage.awaited, 0, "a destage writes what is still being read for it");
        destage.writing = true;
        if group.degraded.is_some() {
            let (stripe, member) = group.stripe_of(group.destages[slot].sectors.start);
            let write = group.plan_of_update(stripe, member).write;
            let data = u64::from(write.contains(member));
            self.counters.data_writes += data;
            self.counters.parity_writes += u64::from(write.len()) - data;
            if self.config.processor.write_back.parity_sector_ps > 0 {
                self.charge_planned_parity(id, slot, driver);
            }
            self.send_planned((id, slot), stripe, write, Direction::Write, driver);
            driver.all_or_none_ends();
            return;
        }
        if group.layout.has_parity() {
            if self.config.processor.write_back.parity_sector_ps > 0 {
                // New data and old data, into old parity.
                self.charge_parity(id, slot, 2, driver);
            }
            self.send_pair(id, slot, Direction::Write, driver);
            self.counters.parity_writes += 1;
        } else {
            destage.awaited = 1;
            let sectors = (destage.sectors.end - destage.sectors.start) as u32;
            let Some(place) = destage.place else { return };
            let place = (place.spindle, place.sector_on_spindle);
            self.send_member((id, slot, Member(0)), place, sectors, Direction::Write, driver);
        }
        driver.all_or_none_ends();
        self.counters.data_writes += 1;
    }

    /// Charges the processor for the parity of a degraded stripe: the new data and all that was read, less the one that
    /// the others are XORed into.
    #[cold]
    fn charge_planned_parity(&mut self, id: GroupIndex, slot: usize, driver: &mut impl Driver<P>) {
        let group = &mut self.groups[id];
        let (stripe, member) = group.stripe_of(group.destages[slot].sectors.start);
        let plan = group.plan_of_update(stripe, member);
        self.charge_parity(id, slot, plan.read.len().into(), driver);
    }

    /// Charges the processor for XORing `passes` times an extent into its parity.
    fn charge_parity(
        &mut self,
        id: GroupIndex,
        slot: usize,
        passes: u64,
        driver: &mut impl Driver<P>,
    ) {
        let Range { start, end } = self.groups[id].destages[slot].sectors;
        self.charge_xor((end - start) * passes, driver);
    }

    /// Charges the processor for XORing so many sectors of data in full rows into their parity: one unit of a row is
    /// taken as it is.
    #[inline]
    pub(super) fn charge_full_rows(
        &mut self,
        id: GroupIndex,
        row_sectors: u64,
        driver: &mut impl Driver<P>,
    ) {
        let layout = &self.groups[id].layout;
        if self.config.processor.write_back.parity_sector_ps > 0 && layout.has_parity() {
            let units = u64::from(layout.shape().data_blocks());
            self.charge_xor(row_sectors * (units - 1), driver);
        }
    }

    #[cold]
    pub(super) fn charge_xor(&mut self, sectors: u64, driver: &mut impl Driver<P>) {
        self.counters.parity_sectors += sectors;
        let cost_ns = self.config.processor.write_back.of_parity(sectors);
        driver.processor(ProcessorWork::Parity, cost_ns);
    }

    /// Reads or writes members of a stripe at the extent's offset in their chunks.
    #[cold]
    fn send_planned(
        &mut self,
        (id, slot): (GroupIndex, usize),
        stripe: u64,
        members: MemberSet,
        direction: Direction,
        driver: &mut impl Driver<P>,
    ) {
        let group = &mut self.groups[id];
        let destage = &mut group.destages[slot];
        let first = destage.sectors.start;
        let offset = first % group.layout.unit_sectors();
        let sectors = (destage.sectors.end - first) as u32;
        destage.awaited = members.len().into();
        for member in members.iter() {
            let group = &mut self.groups[id];
            let places = group.places_of(stripe, MemberSet::single(member), offset);
            for place in places {
                self.send_member((id, slot, member), place, sectors, direction, driver);
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
        driver: &mut impl Driver<P>,
    ) {
        let payload = match direction {
            Direction::Read => P::default(),
            Direction::Write => self.groups[id].written_to(slot, member),
        };
        let command = SpindleCommand {
            tag: tag_of(id, slot, member.0.into()),
            spindle,
            direction,
            first_sector,
            sectors,
            payload,
            all_or_none: direction == Direction::Write,
        };
        self.send(id, command, driver);
    }

    /// Reads or writes the extent and its parity.
    #[inline(always)]
    fn send_pair(
        &mut self,
        id: GroupIndex,
        slot: usize,
        direction: Direction,
        driver: &mut impl Driver<P>,
    ) {
        let group = &mut self.groups[id];
        let destage = &mut group.destages[slot];
        let (_, changed) = group.layout.stripe_of(destage.sectors.start);
        let parity = group.layout.shape().row_parity();
        destage.awaited = 2;
        let sectors = (destage.sectors.end - destage.sectors.start) as u32;
        let Some(place) = destage.place else { return };
        let ChunkLocation { spindle, sector_on_spindle, parity_spindle, parity_sector, .. } = place;
        for (member, spindle, first_sector) in
            [(changed, spindle, sector_on_spindle), (parity, parity_spindle, parity_sector)]
        {
            let place = (spindle, first_sector);
            self.send_member((id, slot, member), place, sectors, direction, driver);
        }
    }
}

impl<P: Payload> DiskGroup<P> {
    /// The elevator's next extent: consecutive dirty sectors within one chunk, in a stripe without a destage in flight.
    #[inline(always)]
    fn next_extent(&mut self) -> Option<(Range<u64>, ChunkLocation)> {
        for _ in 0..SEARCH_CHUNKS {
            let first = self.cache.next_dirty()?;
            let place = self.layout.locate(first);
            let chunk_end = first + u64::from(place.sectors_left_in_chunk);
            if let Some(degraded) = &self.degraded {
                let (stripe, _) = self.stripe_of(first);
                if let Some(end) = degraded.end_of_step(stripe) {
                    let layout = &self.layout;
                    let data = u64::from(layout.shape().data_blocks());
                    let next = end * data * layout.unit_sectors();
                    self.cache.sweep_on_to(next.min(self.end_sector));
                    continue;
                }
                if degraded.is_read(stripe) || degraded.set_aside.contains(&stripe) {
                    self.cache.sweep_on_to(chunk_end);
                    continue;
                }
            }
            if self.destaged_stripes.contains(self.stripe_of(first).0) {
                self.cache.sweep_on_to(chunk_end);
                continue;
            }
            let end = self.cache.dirty_run_end(first, chunk_end.min(self.end_sector));
            return Some((first..end, place));
        }
        None
    }

    /// The payload that a destage writes to a member of its stripe.
    fn written_to(&mut self, slot: usize, member: Member) -> P {
        if !P::CARRIES_DATA {
            return P::default();
        }
        let is_parity = self.layout.is_parity(member);
        let destage = &mut self.destages[slot];
        let mut payload = if is_parity {
            let bytes = destage.bytes.as_mut();
            P::from_bytes(bytes.map(|bytes| std::mem::take(&mut bytes.parity)).unwrap_or_default())
        } else {
            std::mem::take(&mut destage.data)
        };
        let first = destage.sectors.start;
        let sectors = (destage.sectors.end - first) as u32;
        blocks::describe(&mut payload, first, sectors, |block| destage.holds(block, is_parity));
        payload
    }
}

impl<P> Destage<P> {
    /// A destage of an extent; of more, with what stripes have beside.
    #[inline(always)]
    pub(super) fn of_extent(sectors: Range<u64>, place: Option<ChunkLocation>, data: P) -> Self {
        Self {
            sectors,
            place,
            writing: false,
            awaited: 0,
            again: false,
            of_log_drain: false,
            data,
            bytes: None,
            stripes: None,
        }
    }

    /// The partial stripe that it updates, if it is not an extent or full stripes.
    pub(super) fn partial_stripe(&self) -> Option<&PartialStripe<P>> {
        self.stripes.as_ref()?.partial.as_ref()
    }

    /// A sector of the LUNs in the first row whose parity it writes.
    fn first_sector_of_parity(&self, layout: &LunLayout) -> u64 {
        self.partial_stripe().map_or(self.sectors.start, |one| one.first_sector(layout))
    }
}

/// The tag of a command: `detail` is the member of an extent's stripe, or the number of a command of stripes.
#[inline(always)]
pub(super) fn tag_of(group: GroupIndex, slot: usize, detail: u32) -> Tag {
    TagFields { kind: Kind::Destage, group, slot, detail }.pack()
}
