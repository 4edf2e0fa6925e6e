//! A disk group: where its sectors lie, and which of its stripes are locked.

use std::ops::Range;

use strewn_alloc::{FileLayout, SummaryBitmap};
use strewn_base::BLOCK_SECTORS;
use strewn_raid::{Member, MemberSet, SpindleIndex, StripePlan, StripedLayout};

use crate::failure::Rebuild;

use super::config::DiskGroupConfig;
use super::layout::LunLayout;
use super::losses::Losses;

/// A disk group of an array. Its LUNs lie here alone: their sectors are numbered through within the group, as the
/// layout places them, and spindles have their number in the group.
pub(crate) struct DiskGroup {
    pub(crate) layout: LunLayout,
    pub(crate) rebuild: Rebuild,
    /// Extents destaged at once.
    pub(crate) destages_in_flight: u32,
    /// Whether stripes that are dirty as a whole or nearly so are destaged together.
    pub(crate) full_stripes: bool,
    /// One more than the last sector of the last LUN.
    pub(crate) end_sector: u64,
    /// The stripes whose parity a destage is about to change: one destage a stripe.
    pub(crate) destaged_stripes: SummaryBitmap,
    /// `None` until a spindle fails or a block is bad. A group without failures must not depend on it.
    pub(crate) losses: Option<Box<Losses>>,
}

impl DiskGroup {
    /// For LUNs that end at `end_sector`.
    pub(crate) fn new(config: &DiskGroupConfig, end_sector: u64) -> Self {
        Self {
            layout: config.layout.clone(),
            rebuild: config.rebuild,
            destages_in_flight: config.destages_in_flight,
            full_stripes: config.full_stripes,
            end_sector,
            destaged_stripes: SummaryBitmap::new(config.layout.stripes()),
            losses: None,
        }
    }

    /// The stripe of a sector of the LUNs, and the member that it is on.
    #[inline(always)]
    pub(crate) fn stripe_of(&self, lun_sector: u64) -> (u64, Member) {
        self.layout.stripe_of(lun_sector)
    }

    /// Where a sector of the LUNs lies by the layout.
    pub(crate) fn place_by_layout(&self, lun_sector: u64) -> (SpindleIndex, u64) {
        let place = self.layout.locate(lun_sector);
        (place.spindle, place.sector_on_spindle)
    }

    /// Whether a destage of one of `stripes` is in flight.
    pub(crate) fn is_destaged(&self, stripes: Range<u64>) -> bool {
        self.destaged_stripes.count_range(stripes) > 0
    }

    /// A destage takes these stripes.
    #[inline(always)]
    pub(crate) fn lock_for_destage(&mut self, stripes: Range<u64>) {
        for stripe in stripes {
            let is_new = self.destaged_stripes.insert(stripe);
            assert!(is_new, "two destages are about to change the parity of one stripe");
        }
    }

    /// A destage leaves these stripes.
    #[inline(always)]
    pub(crate) fn unlock_destaged(&mut self, stripes: Range<u64>) {
        for stripe in stripes {
            self.destaged_stripes.remove(stripe);
        }
    }

    /// Whether a stripe is being read to compute lost chunks, or has data set aside.
    pub(crate) fn is_kept(&self, stripe: u64) -> bool {
        self.losses.as_ref().is_some_and(|losses| losses.is_kept(stripe))
    }

    /// The members of a stripe that are lost.
    pub(crate) fn lost_of(&self, stripe: u64) -> MemberSet {
        let losses = self.losses.as_ref();
        losses.map_or(MemberSet::EMPTY, |losses| losses.lost_of(&self.layout, stripe))
    }

    /// What is lost, from the first lost or bad block on.
    pub(crate) fn losses_or_new(&mut self) -> &mut Losses {
        let Self { layout, rebuild, end_sector, losses, .. } = self;
        losses.get_or_insert_with(|| {
            let spares = layout.spares(*end_sector);
            Box::new(Losses::new(spares, rebuild.spares))
        })
    }

    /// Where members of a stripe are now, `offset` sectors into their units.
    pub(crate) fn places_of(
        &self,
        stripe: u64,
        members: MemberSet,
        offset: u64,
    ) -> Vec<(SpindleIndex, u64)> {
        let units = self.layout.stripe(stripe);
        let placed = members.iter().filter_map(|member| {
            let unit = units.unit(member);
            self.place_now(unit.spindle, unit.sector + offset)
        });
        placed.collect()
    }

    /// Where a sector that the layout puts on `spindle` is now; `None` if it is lost.
    pub(crate) fn place_now(
        &self,
        spindle: SpindleIndex,
        sector: u64,
    ) -> Option<(SpindleIndex, u64)> {
        match &self.losses {
            Some(losses) => losses.place(spindle, sector),
            None => Some((spindle, sector)),
        }
    }

    /// Plans an update of one member's data in a stripe with lost members.
    pub(crate) fn plan_of_update(&self, stripe: u64, member: Member) -> StripePlan {
        let lost = self.lost_of(stripe);
        let plan = self.layout.shape().plan_update(MemberSet::single(member), lost);
        // Failures that exceed parity have ended the run.
        plan.unwrap_or_else(|loss| unreachable!("{loss}"))
    }

    /// How the file of a LUN that begins at `first_sector` lies, for as long as the array exists: contiguous within
    /// chunks. In blocks of 4 KiB, to be compared with a write-anywhere array.
    pub(crate) fn file_layout(
        &self,
        first_sector: u64,
        file_sectors: u64,
        spindle_sectors: u64,
    ) -> FileLayout {
        let chunk_sectors = self.layout.unit_sectors();
        let (mut lowest, mut end) = (u64::MAX, 0);
        let sectors = first_sector..first_sector + file_sectors;
        for sector in sectors.step_by(chunk_sectors as usize) {
            let place = self.layout.locate(sector).sector_on_spindle;
            lowest = lowest.min(place);
            end = end.max(place + chunk_sectors);
        }
        let blocks = file_sectors.div_ceil(BLOCK_SECTORS);
        let extents = file_sectors.div_ceil(chunk_sectors);
        FileLayout::of_extents(blocks, extents, (end - lowest) as f64 / spindle_sectors as f64)
    }
}

strewn_base::saved_state! {
    impl for DiskGroup {
        parts: destaged_stripes;
        values: losses;
        built: layout, rebuild, destages_in_flight, full_stripes, end_sector;
    }
}
