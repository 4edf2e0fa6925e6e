//! Where the segments of a failed spindle are: still lost, on reserve, or on the spindle's replacement.

use strewn_base::state::SavedValue;
use strewn_raid::SpindleIndex;

use super::layout::LunLayout;

/// The places of a failed spindle's segments.
#[derive(SavedValue)]
pub(crate) struct Segments {
    spindle: SpindleIndex,
    shift: u32,
    places: Vec<SegmentLocation>,
    /// Segments that have a place, and those of them in the place that the layout gives them.
    rebuilt: usize,
    at_home: usize,
    /// Segments below this one are rebuilt, or have no room.
    pub(crate) next: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub(crate) enum SegmentLocation {
    Lost,
    /// On this spindle, from this sector on.
    At(SpindleIndex, u64),
}

impl Segments {
    /// `segments` segments of `spindle`, all lost.
    pub(crate) fn lost(layout: &LunLayout, spindle: SpindleIndex, segments: u64) -> Self {
        let shift = layout.segment_sectors().trailing_zeros();
        let places = vec![SegmentLocation::Lost; segments as usize];
        Self { spindle, shift, places, rebuilt: 0, at_home: 0, next: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn place(&self, sector: u64) -> Option<(SpindleIndex, u64)> {
        match self.places.get((sector >> self.shift) as usize)? {
            SegmentLocation::Lost => None,
            SegmentLocation::At(spindle, first) => {
                Some((*spindle, first + sector % (1 << self.shift)))
            }
        }
    }

    pub(crate) fn is_lost(&self, segment: usize) -> bool {
        self.places[segment] == SegmentLocation::Lost
    }

    pub(crate) fn is_at_home(&self, segment: usize) -> bool {
        self.places[segment] == self.home(segment)
    }

    fn home(&self, segment: usize) -> SegmentLocation {
        SegmentLocation::At(self.spindle, (segment as u64) << self.shift)
    }

    /// A segment has been rebuilt.
    pub(crate) fn put(&mut self, segment: usize, spindle: SpindleIndex, first_sector: u64) {
        self.rebuilt += usize::from(self.is_lost(segment));
        self.places[segment] = SegmentLocation::At(spindle, first_sector);
        self.at_home += usize::from(self.is_at_home(segment));
    }

    /// Segments rebuilt onto `spindle` are lost with it.
    pub(crate) fn lose_those_on(&mut self, spindle: SpindleIndex) {
        for segment in 0..self.places.len() {
            if matches!(self.places[segment], SegmentLocation::At(other, _) if other == spindle) {
                self.at_home -= usize::from(self.is_at_home(segment));
                self.places[segment] = SegmentLocation::Lost;
                self.rebuilt -= 1;
                self.next = 0;
            }
        }
    }

    pub(crate) fn are_whole(&self) -> bool {
        self.rebuilt == self.places.len()
    }

    /// Whether every segment is in the place that the layout gives it.
    pub(crate) fn are_at_home(&self) -> bool {
        self.at_home == self.places.len()
    }

    /// Share of segments that are rebuilt, 0 to 1.
    pub(crate) fn rebuilt(&self) -> f64 {
        if self.places.is_empty() { 1.0 } else { self.rebuilt as f64 / self.places.len() as f64 }
    }
}
