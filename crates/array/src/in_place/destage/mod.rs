//! Destaging: dirty sectors are written where they belong, with their parity.
//!
//! New parity is the exclusive or of the new data and everything that is read, whatever the plan reads: old data and
//! old parity; the other data, if the old data are lost; or nothing, if parity is lost. A layout without parity reads
//! nothing. The elevator takes extents; where dirty data go on in the next chunk, more than an extent goes out at once:
//! see [`stripes`].

mod elevator;
mod extents;
mod full_stripes;
mod load;
mod log_drain;
mod parity_costs;
mod partial_stripes;
mod set_aside;
mod stripes;
#[cfg(test)]
mod tests;

use std::ops::Range;

use strewn_alloc::GroupIndex;
use strewn_base::state::SavedValue;
use strewn_raid::{ChunkLocation, SpindleIndex, StripedLayout};

use crate::driver::Driver;
use crate::payload::{Contents, Payload};
use crate::slots::Slots;

use super::context::{Context, Next};
use super::memory::Memory;
use super::space::blocks::BlockSet;
use super::space::{DiskGroup, Groups, LunLayout, Space};
use super::tag::{Kind, TagFields};
use full_stripes::longest_command_sectors;
use load::COMMANDS_OF_EXTENT;
use log_drain::LogDrain;
use partial_stripes::PartialStripe;
use stripes::StripeDestage;

/// The destages of an array, and the log drain that they serve.
pub(super) struct Destaging<P: Payload> {
    groups: Groups<GroupDestaging<P>>,
    log_drain: Option<Box<LogDrain>>,
}

/// The destages of a disk group.
struct GroupDestaging<P> {
    /// Most commands in flight: two for each extent.
    most_commands: usize,
    /// The longest command of full stripes; 0 if only extents are destaged.
    longest_command_sectors: u64,
    /// Destaging pauses at this many dirty sectors, unless a write waits for room.
    low_sectors: u64,
    destages: Slots<Destage<P>>,
    /// The commands of extents that the destages in flight count as.
    load: usize,
}

/// An extent being destaged: old data and old parity are read, then both are written. Or [`stripes`].
#[derive(SavedValue)]
struct Destage<P> {
    sectors: Range<u64>,
    /// `None` if it takes more than an extent.
    place: Option<ChunkLocation>,
    writing: bool,
    awaited: u32,
    /// A spindle failed during its reads: they are sent again.
    again: bool,
    /// A log drain waits for it.
    of_log_drain: bool,
    /// The data to write.
    data: P,
    /// `None` if the payload carries no data.
    bytes: Option<Box<UpdateBytes>>,
    /// `None` for an extent.
    stripes: Option<Box<StripeDestage<P>>>,
}

/// The bytes of a parity update.
#[derive(Default, SavedValue)]
struct UpdateBytes {
    /// Exclusive or of the new data and the data read so far: the new parity in the end.
    parity: Vec<u8>,
    /// Blocks whose parity cannot be computed, because a block that it needs is gone.
    gone: BlockSet,
    /// Those of them whose old data are gone.
    data_gone: BlockSet,
}

impl<P: Payload> Destaging<P> {
    pub(super) fn new(space: &Space) -> Self {
        let config = &space.config;
        let all_spindles: u64 = space.groups.sum(|group| group.layout.spindles().into());
        let groups = space.groups.map(|group| {
            let spindles = u64::from(group.layout.spindles());
            GroupDestaging {
                most_commands: COMMANDS_OF_EXTENT * group.destages_in_flight as usize,
                longest_command_sectors: match group.full_stripes {
                    true => longest_command_sectors(config.format),
                    false => 0,
                },
                low_sectors: config.destage_low_sectors * spindles / all_spindles,
                destages: Slots::new(),
                load: 0,
            }
        });
        Self { groups, log_drain: None }
    }

    /// A command of a destage has completed, a read with all but the blocks that are gone; or it failed. Returns
    /// whether the destage has ended. The parity written with it covers a failed write, unless that is of parity
    /// itself.
    #[inline(always)]
    pub(super) fn on_command_done(
        &mut self,
        tag: TagFields,
        outcome: Option<(&P, &BlockSet)>,
        cx: &mut Context<'_, P, impl Driver<P>>,
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
            destage.on_read(tag, payload, gone, &cx.space.groups[id].layout);
        }
        if destage.awaited > 0 {
            return false;
        }
        if destage.writing {
            self.end(id, slot, cx);
            return true;
        } else if destage.stripes.is_some() {
            return self.on_partial_stripe_read(id, slot, &mut cx.reborrow());
        } else if std::mem::take(&mut destage.again) {
            self.send_reads(id, slot, &mut cx.reborrow());
        } else if destage.lacks_something() && self.set_aside(id, slot, &mut cx.reborrow()) {
            return true;
        } else {
            self.send_writes(id, slot, &mut cx.reborrow());
        }
        false
    }

    /// All is written.
    #[inline(always)]
    fn end(&mut self, id: GroupIndex, slot: usize, cx: &mut Context<'_, P, impl Driver<P>>) {
        let destage = self.groups[id].remove(slot, &mut cx.space.groups[id]);
        let memory = &mut cx.memory.groups[id];
        for sectors in destage.taken() {
            memory.cache.end_destage(sectors.clone());
        }
        if destage.of_log_drain
            && let Some(log_drain) = &mut self.log_drain
        {
            log_drain.destage_ended();
        }
        if P::CARRIES_DATA {
            let sectors = destage.taken().iter().flat_map(Clone::clone);
            for sector in sectors.filter(|sector| memory.cache.is_gone(*sector)) {
                memory.contents.forget(sector, 1);
            }
            if let Some(bytes) = destage.bytes.as_ref().filter(|bytes| !bytes.gone.is_empty()) {
                let first = destage.first_sector_of_parity(&cx.space.groups[id].layout);
                cx.then(Next::MendParity(id, first, bytes.gone.clone()));
            }
        }
    }

    /// Where the sectors lie by the layout that a command reads, if the command is about to change them; `None` for
    /// what is read once more, or is written.
    pub(super) fn place_of_read(
        &self,
        tag: TagFields,
        space: &Space,
    ) -> Option<(SpindleIndex, u64)> {
        let layout = &space.groups[tag.group].layout;
        let destage = &self.groups[tag.group].destages[tag.slot];
        if destage.writing || destage.again {
            return None;
        }
        if let Some(one) = destage.partial_stripe() {
            return Some(one.place_of_read(layout, tag.detail));
        }
        let first = destage.sectors.start;
        let unit = layout.stripe(layout.stripe_of(first).0).unit(tag.member());
        Some((unit.spindle, unit.sector + first % layout.unit_sectors()))
    }

    /// The first sector that a command's destage takes, if the tag is of one.
    #[inline]
    pub(super) fn first_sector_of(&self, tag: TagFields) -> Option<u64> {
        let destages = &self.groups.get(tag.group)?.destages;
        destages.get(tag.slot).map(|destage| destage.sectors.start)
    }

    pub(super) fn assert_invariants(&self, memory: &Memory<P>) {
        for id in self.groups.indices() {
            let group = &self.groups[id];
            assert!(
                group.load <= group.most_commands || group.destages.len() == 1,
                "more destages are in flight than may be"
            );
            let taken = group.destages.iter().flat_map(|(_, one)| one.taken());
            let in_flight: u64 = taken.map(|sectors| sectors.end - sectors.start).sum();
            assert_eq!(
                in_flight,
                memory.groups[id].cache.sectors_in_flight(),
                "sectors on their way to the spindles"
            );
        }
    }
}

impl<P: Payload> GroupDestaging<P> {
    /// Takes out a destage that has ended, or given up. Its sectors are still in flight.
    #[inline(always)]
    fn remove(&mut self, slot: usize, group: &mut DiskGroup) -> Destage<P> {
        let destage = self.destages.remove(slot);
        let load = destage.stripes.as_ref().map_or(COMMANDS_OF_EXTENT, |stripes| stripes.load);
        self.load -= load;
        let (first, _) = group.stripe_of(destage.sectors.start);
        let last = match &destage.stripes {
            None => first,
            Some(_) => group.stripe_of(destage.sectors.end - 1).0,
        };
        group.unlock_destaged(first..last + 1);
        destage
    }
}

impl<P> Destage<P> {
    /// A destage of an extent; of more, with what stripes have beside.
    #[inline(always)]
    fn of_extent(sectors: Range<u64>, place: Option<ChunkLocation>, data: P) -> Self {
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

    /// A destage that takes what `stripes` took.
    fn of_stripes(stripes: StripeDestage<P>, of_log_drain: bool) -> Self
    where
        P: Payload,
    {
        let start = stripes.taken.first().map_or(0, |sectors| sectors.start);
        let end = stripes.taken.last().map_or(0, |sectors| sectors.end);
        Self {
            of_log_drain,
            stripes: Some(Box::new(stripes)),
            ..Self::of_extent(start..end, None, P::default())
        }
    }

    /// The number of its sectors.
    #[inline(always)]
    fn len(&self) -> u64 {
        self.sectors.end - self.sectors.start
    }

    /// The dirty sectors that it took.
    fn taken(&self) -> &[Range<u64>] {
        match &self.stripes {
            None => std::slice::from_ref(&self.sectors),
            Some(stripes) => &stripes.taken,
        }
    }

    /// The partial stripe that it updates, if it is not an extent or full stripes.
    fn partial_stripe(&self) -> Option<&PartialStripe<P>> {
        self.stripes.as_ref()?.partial.as_ref()
    }

    /// A sector of the LUNs in the first row whose parity it writes.
    fn first_sector_of_parity(&self, layout: &LunLayout) -> u64 {
        self.partial_stripe().map_or(self.sectors.start, |one| one.first_sector(layout))
    }
}

/// The tag of a command: `detail` is the member of an extent's stripe, or the number of a command of stripes.
#[inline(always)]
fn tag_of(group: GroupIndex, slot: usize, detail: u32) -> TagFields {
    TagFields { kind: Kind::Destage, group, slot, detail }
}

strewn_base::saved_state! {
    impl for Destaging<()> {
        parts: groups;
        values: log_drain;
        built:;
    }
}

strewn_base::saved_state! {
    impl for GroupDestaging<()> {
        parts:;
        values: destages, load;
        built: most_commands, longest_command_sectors, low_sectors;
    }
}
