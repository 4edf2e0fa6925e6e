//! Delayed frees reclaimed region by region, at a steady pace.

use strewn_base::state::SavedValue;
use strewn_volume::Region;

/// A scan for delayed frees, region by region, at a steady pace.
#[derive(SavedValue)]
pub(super) struct Reclamation {
    interval_ns: u64,
    began_ns: u64,
    /// The first region that it has not come to.
    next: u32,
}

impl Reclamation {
    /// A scan that takes so long; `None` if that is 0.
    pub(super) fn every(interval_ns: u64) -> Option<Self> {
        (interval_ns > 0).then_some(Self { interval_ns, began_ns: 0, next: 0 })
    }

    /// The regions of `regions` that the scan must have come to by `now_ns`, and has not.
    pub(super) fn due(&mut self, now_ns: u64, regions: u32) -> Vec<Region> {
        let end_ns = self.began_ns.saturating_add(self.interval_ns);
        if self.next == regions && now_ns >= end_ns {
            // A consistency point may come late. What was missed is not made up for.
            self.began_ns = match now_ns < end_ns.saturating_add(self.interval_ns) {
                true => end_ns,
                false => now_ns,
            };
            self.next = 0;
        }
        let passed_ns = u128::from(now_ns.saturating_sub(self.began_ns));
        let due = u128::from(regions) * passed_ns / u128::from(self.interval_ns);
        let due = due.min(regions.into()) as u32;
        let first = self.next;
        self.next = first.max(due);
        (first..due).map(|region| Region(region as u16)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_regions_are_due_once_in_an_interval() {
        let mut scan = Reclamation::every(100).unwrap();
        let regions = |due: Vec<Region>| due.into_iter().map(|region| region.0).collect::<Vec<_>>();
        assert_eq!(regions(scan.due(0, 4)), []);
        assert_eq!(regions(scan.due(50, 4)), [0, 1]);
        assert_eq!(regions(scan.due(50, 4)), []);
        // The end of the interval is its own: the next begins with the next call.
        assert_eq!(regions(scan.due(100, 4)), [2, 3]);
        assert_eq!(regions(scan.due(125, 4)), [0]);
    }

    #[test]
    fn a_scan_that_was_late_does_not_catch_up() {
        let mut scan = Reclamation::every(100).unwrap();
        assert_eq!(scan.due(1_000, 4).len(), 4);
        assert_eq!(scan.due(1_000, 4).len(), 0);
        assert_eq!(scan.due(1_050, 4).len(), 2);
    }
}
