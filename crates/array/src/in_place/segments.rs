//! Where the segments of a lost spindle are: lost still, on reserve, or back on the spindle that took its place.

use strewn_raid::SpindleIndex;

use super::LunLayout;

/// Where the segments of a lost spindle are.
pub(super) struct Segments {
    spindle: SpindleIndex,
    shift: u32,
    places: Vec<SegmentLocation>,
    /// Segments that are somewhere, and those of them that are where the layout has them.
    rebuilt: usize,
    at_home: usize,
    /// Segments below are rebuilt, or there is no room for them.
    pub(super) next: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SegmentLocation {
    Lost,
    /// On this spindle, from this sector on.
    At(SpindleIndex, u64),
}

impl Segments {
    /// So many segments of `spindle`, all of them lost.
    pub(super) fn lost(layout: &LunLayout, spindle: SpindleIndex, segments: u64) -> Self {
        let shift = layout.segment_sectors().trailing_zeros();
        let places = vec![SegmentLocation::Lost; segments as usize];
        Self { spindle, shift, places, rebuilt: 0, at_home: 0, next: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn place(&self, sector: u64) -> Option<(SpindleIndex, u64)> {
        match self.places.get((sector >> self.shift) as usize)? {
            SegmentLocation::Lost => None,
            SegmentLocation::At(spindle, first) => {
                Some((*spindle, first + sector % (1 << self.shift)))
            }
        }
    }

    pub(super) fn is_lost(&self, segment: usize) -> bool {
        self.places[segment] == SegmentLocation::Lost
    }

    pub(super) fn is_at_home(&self, segment: usize) -> bool {
        self.places[segment] == self.home(segment)
    }

    fn home(&self, segment: usize) -> SegmentLocation {
        SegmentLocation::At(self.spindle, (segment as u64) << self.shift)
    }

    /// A segment is there again.
    pub(super) fn put(&mut self, segment: usize, spindle: SpindleIndex, first_sector: u64) {
        self.rebuilt += usize::from(self.is_lost(segment));
        self.places[segment] = SegmentLocation::At(spindle, first_sector);
        self.at_home += usize::from(self.is_at_home(segment));
    }

    /// What was put on another spindle is lost with that one.
    pub(super) fn lose_those_on(&mut self, spindle: SpindleIndex) {
        for segment in 0..self.places.len() {
            if matches!(self.places[segment], SegmentLocation::At(other, _) if other == spindle) {
                self.at_home -= usize::from(self.is_at_home(segment));
                self.places[segment] = SegmentLocation::Lost;
                self.rebuilt -= 1;
                self.next = 0;
            }
        }
    }

    pub(super) fn are_whole(&self) -> bool {
        self.rebuilt == self.places.len()
    }

    /// Whether every segment is where the layout has it.
    pub(super) fn are_at_home(&self) -> bool {
        self.at_home == self.places.len()
    }

    /// Share that is rebuilt.
    pub(super) fn rebuilt(&self) -> f64 {
        if self.places.is_empty() { 1.0 } else { self.rebuilt as f64 / self.places.len() as f64 }
    }
}
