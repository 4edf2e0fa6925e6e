//! Reserved space that replaces a lost spindle.

use std::collections::HashMap;

use strewn_base::state::SavedValue;

use crate::{SpindleIndex, StripeUnit, StripedLayout, VraidLayout};

/// The segments of a disk group that a LUN does not use, assigned to the contents of lost spindles.
///
/// An EVA has no spare drives: it rebuilds a lost spindle into reserved space on the others. Here
/// each lost segment goes to a spindle of the same redundancy set that holds no other segment of
/// its RStore, so that the RStore survives another loss. Among those spindles, the one with the
/// most space left is chosen (the lowest on a tie), so that all take their share. How an EVA
/// chooses is not published.
///
/// A set of five spindles has no such spindle, so nothing of it is rebuilt.
///
/// ```
/// use strewn_raid::{SpareSegments, SpindleIndex, StripedLayout, VraidConfig, VraidLayout};
///
/// let layout = VraidLayout::new(VraidConfig::new(vec![10, 10]), 286_749_488 * 512)?;
/// // A LUN of 100 GiB leaves most of each spindle.
/// let mut spares = SpareSegments::new(&layout, 100 << 21);
/// let failed = SpindleIndex(3);
///
/// let place = spares.replace(&layout, failed, 0, |spindle| spindle == failed).expect("space");
/// assert_ne!(place.spindle, failed);
///
/// // From now on stripes find their units there.
/// let (number, member) = layout.stripe_on(failed, 5).expect("a stripe");
/// let unit = layout.stripe(number).unit(member);
/// assert_eq!(spares.now_at(&layout, unit).spindle, place.spindle);
/// # Ok::<(), strewn_raid::LayoutError>(())
/// ```
#[derive(Clone, Debug, SavedValue)]
pub struct SpareSegments {
    first_spare: u64,
    spares_per_spindle: u64,
    taken: Vec<u64>,
    /// Where segments were rebuilt, by their spindle and segment in the layout.
    moved: HashMap<(SpindleIndex, u64), (SpindleIndex, u64)>,
}

impl SpareSegments {
    /// The segments that a LUN of `lun_sectors` leaves free: those after its last round of RStores.
    pub fn new(layout: &VraidLayout, lun_sectors: u64) -> Self {
        let first_spare = layout.segments_used(lun_sectors);
        let segments = layout.segments_used(layout.lun_capacity_sectors());
        Self {
            first_spare,
            spares_per_spindle: segments.saturating_sub(first_spare),
            taken: vec![0; usize::from(layout.spindles())],
            moved: HashMap::new(),
        }
    }

    /// Segments that the LUN uses on each spindle, to be rebuilt if it is lost.
    pub fn segments_used(&self) -> u64 {
        self.first_spare
    }

    /// Segments left on a spindle.
    fn segments_left(&self, spindle: SpindleIndex) -> u64 {
        self.spares_per_spindle - self.taken[spindle.index()]
    }

    /// Assigns a place to `segment` of `spindle`, both numbered as in the layout, on a spindle that
    /// is not `lost`. A segment that was rebuilt before, on a spindle that is lost now, gets
    /// another place.
    ///
    /// `None` if the layout does not use the segment, or if no spindle of the set has space left and
    /// no other segment of the RStore.
    pub fn replace(
        &mut self,
        layout: &VraidLayout,
        spindle: SpindleIndex,
        segment: u64,
        lost: impl Fn(SpindleIndex) -> bool,
    ) -> Option<StripeUnit> {
        let sectors = layout.config().segment_sectors();
        let (number, _) = layout.stripe_on(spindle, segment * sectors)?;
        let stripe = layout.stripe(number);
        let holds_one = |candidate: SpindleIndex| {
            stripe.units().any(|(_, unit)| self.now_at(layout, unit).spindle == candidate)
        };
        let candidates = layout
            .set_of(spindle)
            .filter(|&candidate| !lost(candidate) && self.segments_left(candidate) > 0)
            .filter(|&candidate| !holds_one(candidate));
        let chosen = candidates.min_by_key(|candidate| self.taken[candidate.index()])?;
        let spare = self.first_spare + self.taken[chosen.index()];
        self.taken[chosen.index()] += 1;
        self.moved.insert((spindle, segment), (chosen, spare));
        Some(StripeUnit { spindle: chosen, sector: spare * sectors })
    }

    /// Where a unit of the layout lies now: where it was rebuilt, or as in the layout.
    #[inline]
    pub fn now_at(&self, layout: &VraidLayout, unit: StripeUnit) -> StripeUnit {
        if self.moved.is_empty() {
            return unit;
        }
        let sectors = layout.config().segment_sectors();
        let (segment, sector) = (unit.sector / sectors, unit.sector % sectors);
        match self.moved.get(&(unit.spindle, segment)) {
            Some(&(spindle, segment)) => StripeUnit { spindle, sector: segment * sectors + sector },
            None => unit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MemberSet, VraidConfig};
    use std::collections::BTreeSet;

    fn layout(sets: Vec<u16>) -> VraidLayout {
        let config =
            VraidConfig { redundancy_sets: sets, chunk_bytes: 512, segment_bytes: 16 << 10 };
        VraidLayout::new(config, 60 * (16 << 10)).unwrap()
    }

    /// Rebuilds everything that `spindle` held; the number of segments without a place.
    fn rebuild(
        layout: &VraidLayout,
        spares: &mut SpareSegments,
        spindle: SpindleIndex,
        lost: &[SpindleIndex],
    ) -> u64 {
        let mut without = 0;
        for own in (0..layout.spindles()).map(SpindleIndex) {
            for segment in 0..spares.segments_used() {
                let sector = segment * layout.config().segment_sectors();
                let now = spares.now_at(layout, StripeUnit { spindle: own, sector });
                if now.spindle == spindle {
                    let place = spares.replace(layout, own, segment, |one| lost.contains(&one));
                    without += u64::from(place.is_none());
                }
            }
        }
        without
    }

    fn check_stripes(layout: &VraidLayout, spares: &SpareSegments, lost: &[SpindleIndex]) {
        let mut places = BTreeSet::new();
        let used = spares.segments_used() / 5 * u64::from(layout.spindles());
        let stripes = used * layout.config().segment_sectors() / layout.unit_sectors();
        for number in 0..stripes {
            let units = layout.stripe(number);
            let units =
                units.units().map(|(_, unit)| spares.now_at(layout, unit)).collect::<Vec<_>>();
            let spindles = units.iter().map(|unit| unit.spindle).collect::<BTreeSet<_>>();
            assert_eq!(spindles.len(), 5, "stripe {number}");
            assert!(lost.iter().all(|spindle| !spindles.contains(spindle)), "stripe {number}");
            assert!(units.into_iter().all(|unit| places.insert(unit)), "stripe {number}");
        }
    }

    #[test]
    fn one_loss_after_another_is_rebuilt_onto_the_rest_of_the_set() {
        let layout = layout(vec![10, 8]);
        let mut spares = SpareSegments::new(&layout, layout.lun_capacity_sectors() / 4);
        assert_eq!(spares.segments_used(), 15);
        let mut lost = Vec::new();
        for spindle in [3, 7, 0, 12].map(SpindleIndex) {
            lost.push(spindle);
            assert_eq!(rebuild(&layout, &mut spares, spindle, &lost), 0);
            check_stripes(&layout, &spares, &lost);
        }
        // Each of the others of the set has taken a share, and those of the other set nothing.
        let taken =
            |spindle| spares.spares_per_spindle - spares.segments_left(SpindleIndex(spindle));
        assert!([1, 2, 4, 5, 6, 8, 9].iter().all(|&spindle| (5..=9).contains(&taken(spindle))));
        assert_eq!((10..18).map(taken).sum::<u64>(), 15);
    }

    #[test]
    fn a_set_of_five_has_no_place() {
        let layout = layout(vec![5, 6]);
        let mut spares = SpareSegments::new(&layout, 1);
        assert_eq!(spares.segments_used(), 5);
        assert_eq!(spares.replace(&layout, SpindleIndex(0), 0, |_| false), None);
        assert!(spares.replace(&layout, SpindleIndex(5), 0, |one| one.0 == 5).is_some());
        assert_eq!(spares.replace(&layout, SpindleIndex(5), 60, |_| false), None);
    }

    #[test]
    fn space_runs_out() {
        let layout = layout(vec![6]);
        let mut spares = SpareSegments::new(&layout, layout.lun_capacity_sectors());
        assert_eq!(spares.segments_left(SpindleIndex(0)), 0);
        assert_eq!(spares.replace(&layout, SpindleIndex(0), 0, |one| one.0 == 0), None);
        let stripe = layout.stripe(0);
        assert_eq!(stripe.members_on(|_| false), MemberSet::EMPTY);
    }
}
