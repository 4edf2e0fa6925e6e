//! What an array does beside its hosts: delayed frees reclaimed at a pace, and scans that read map files.

use std::ops::Range;

use strewn_base::Direction;
use strewn_base::state::SavedValue;
use strewn_volume::Region;

use crate::driver::Driver;
use crate::payload::Payload;
use crate::processor::ProcessorWork;
use crate::units::BLOCK_SECTORS;

use super::consistency_point::ConsistencyPoint;
use super::placement::MetadataSet;
use super::tag::{Owner, TagFields};
use super::{Run, WriteAnywhere};

const NS_PER_S: u64 = 1_000_000_000;

/// What an array is to do in the background.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BackgroundWork {
    /// How long a scan takes that reclaims the delayed frees of one region after another, in nanoseconds; the next
    /// follows at once. 0: delayed frees are reclaimed only above their bound.
    pub reclaim_interval_ns: u64,
    /// A scan that reads map files.
    pub scan: Option<BackgroundScan>,
}

/// A scan that reads the blocks of all map files (the volumes' bitmaps, the container maps, the aggregate's bitmap),
/// over and over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub struct BackgroundScan {
    /// Blocks that it looks at in a second, at least one.
    pub blocks_per_second: u32,
    /// When it begins, in nanoseconds since the array started.
    pub begins_ns: u64,
    /// When it ends; `u64::MAX` if it never does.
    pub ends_ns: u64,
    /// Most blocks that it has on their way, at least one. It skips its turns while they are.
    pub reads_in_flight: u32,
}

impl Default for BackgroundScan {
    fn default() -> Self {
        Self { blocks_per_second: 1, begins_ns: 0, ends_ns: u64::MAX, reads_in_flight: 8 }
    }
}

/// The state of what is done in the background.
#[derive(SavedValue)]
pub(super) struct Background {
    reclamation: Option<Reclamation>,
    scan: Option<Scan>,
}

/// A scan for delayed frees, region by region, at a steady pace.
#[derive(SavedValue)]
struct Reclamation {
    interval_ns: u64,
    began_ns: u64,
    /// The first region that it has not come to, and the first that it need not have come to yet.
    next: u32,
    due: u32,
}

#[derive(SavedValue)]
struct Scan {
    settings: BackgroundScan,
    due_ns: u64,
    /// Map blocks that it has come to.
    looked_at: u64,
    in_flight: u32,
}

impl Reclamation {
    /// Notes how far the scan must have come at `now_ns`.
    fn set_due(&mut self, now_ns: u64, regions: u32) {
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
        self.due = due.min(regions.into()) as u32;
    }
}

impl<P: Payload> WriteAnywhere<P> {
    /// Gives the array work to do in the background.
    ///
    /// # Panics
    /// If a scan looks at no blocks.
    #[must_use]
    pub fn with_background(self, work: BackgroundWork) -> Self {
        let BackgroundWork { reclaim_interval_ns, scan } = work;
        let reclamation = (reclaim_interval_ns > 0).then_some(Reclamation {
            interval_ns: reclaim_interval_ns,
            began_ns: 0,
            next: 0,
            due: 0,
        });
        let scan = scan.map(|settings| {
            assert!(settings.blocks_per_second > 0, "a scan that looks at no blocks");
            Scan { settings, due_ns: settings.begins_ns, looked_at: 0, in_flight: 0 }
        });
        let works = reclamation.is_some() || scan.is_some();
        let background = works.then(|| Box::new(Background { reclamation, scan }));
        Self { background, ..self }
    }

    /// When the background scan looks at the next block, if there is one.
    pub(super) fn scan_due_ns(&self) -> Option<u64> {
        let scan = self.background.as_ref().and_then(|background| background.scan.as_ref())?;
        (scan.due_ns < u64::MAX).then_some(scan.due_ns)
    }

    /// A consistency point begins: notes how far the scan for delayed frees must have come.
    #[inline]
    pub(super) fn account_frees(&mut self, now_ns: u64) {
        if let Some(background) = &mut self.background
            && let Some(reclamation) = &mut background.reclamation
        {
            reclamation.set_due(now_ns, self.volumes.regions());
        }
    }

    /// Reclaims the delayed frees of the regions that are due.
    #[cold]
    pub(super) fn reclaim_at_pace(
        &mut self,
        consistency_point: &mut ConsistencyPoint<P>,
        changed: &mut MetadataSet,
    ) {
        while let Some(region) = self.next_region_due() {
            let blocks = self.volumes.reclaim_region(region);
            if !blocks.is_empty() {
                self.counters.paced_regions += 1;
                self.free_region(region, blocks, consistency_point, changed);
            }
        }
    }

    fn next_region_due(&mut self) -> Option<Region> {
        let reclamation = self.background.as_mut()?.reclamation.as_mut()?;
        (reclamation.next < reclamation.due).then(|| {
            reclamation.next += 1;
            Region((reclamation.next - 1) as u16)
        })
    }

    /// The background scan looks at its next block, if that is due.
    pub(super) fn scan_maps(&mut self, now_ns: u64, driver: &mut impl Driver<P>) {
        let maps = self.keys.maps();
        let scan = self.background.as_mut().and_then(|background| background.scan.as_mut());
        let Some(scan) = scan.filter(|scan| now_ns >= scan.due_ns) else { return };
        let BackgroundScan { blocks_per_second, ends_ns, reads_in_flight, .. } = scan.settings;
        if now_ns >= ends_ns {
            scan.due_ns = u64::MAX;
            return;
        }
        scan.due_ns = now_ns + NS_PER_S / u64::from(blocks_per_second);
        if scan.in_flight >= reads_in_flight {
            return;
        }
        // Blocks that were never written have nothing to read.
        let blocks = maps.len() as u64;
        let first = scan.looked_at;
        let keys = (first..first + blocks).map(|at| (at, maps.start + (at % blocks) as u32));
        let is_there =
            |(_, key): &(u64, u32)| self.cache.contains(*key) || self.map.get(*key).is_some();
        let Some((at, key)) = { keys }.find(is_there) else { return };
        if let Some(scan) = self.background.as_mut().and_then(|background| background.scan.as_mut())
        {
            scan.looked_at = at + 1;
        }
        self.look_at_map(key, driver);
    }

    /// Looks at a map block. What the cache lacks is read, and not kept: a scan must not push out what hosts need.
    fn look_at_map(&mut self, key: u32, driver: &mut impl Driver<P>) {
        if self.cache.contains(key) {
            self.counters.map_scan_hits += 1;
            let cost_ns = self.processor().of_memory(BLOCK_SECTORS);
            return driver.processor(ProcessorWork::Scans, cost_ns);
        }
        let Some(vbn) = self.map.get(key) else { return };
        let run = Run { blocks: 1, ..self.run_at(vbn) };
        if self.is_lost(run) {
            return;
        }
        if let Some(background) = &mut self.background
            && let Some(scan) = &mut background.scan
        {
            scan.in_flight += 1;
        }
        let fields = TagFields {
            owner: Owner::Aside,
            slot: 0,
            first_key: key,
            blocks: 1,
            epoch_parity: false,
        };
        self.counters.map_scan_reads += 1;
        self.send(driver, fields, Direction::Read, run, P::default());
    }

    /// A read of a scan has completed, or failed.
    #[cold]
    pub(super) fn on_scan_read_done(&mut self) {
        if let Some(background) = &mut self.background
            && let Some(scan) = &mut background.scan
        {
            assert!(scan.in_flight > 0, "a scan's read has come back that was not on its way");
            scan.in_flight -= 1;
        }
    }
}

impl super::BlockKeys {
    /// The blocks of all map files.
    fn maps(&self) -> Range<u32> {
        self.inodes().end..self.aggregate_bitmap().end
    }
}
