//! A background scan that reads map files.

use std::ops::Range;

use strewn_base::Direction;
use strewn_base::state::SavedValue;

use crate::driver::Driver;
use crate::payload::Payload;
use crate::processor::ProcessorWork;
use crate::units::BLOCK_SECTORS;

use super::super::context::Context;
use super::super::space::keys::BlockKeys;
use super::super::tag::{Owner, TagFields};

const NS_PER_S: u64 = 1_000_000_000;

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

#[derive(SavedValue)]
pub(super) struct MapScan {
    settings: BackgroundScan,
    due_ns: u64,
    /// Map blocks that it has come to.
    looked_at: u64,
    in_flight: u32,
}

impl MapScan {
    /// # Panics
    /// If the scan looks at no blocks.
    pub(super) fn new(settings: BackgroundScan) -> Self {
        assert!(settings.blocks_per_second > 0, "a scan that looks at no blocks");
        Self { settings, due_ns: settings.begins_ns, looked_at: 0, in_flight: 0 }
    }

    /// When it looks at the next block, if it goes on.
    pub(super) fn due_ns(&self) -> Option<u64> {
        (self.due_ns < u64::MAX).then_some(self.due_ns)
    }

    /// Looks at the next block, if that is due.
    pub(super) fn look<P: Payload>(&mut self, cx: &mut Context<'_, P, impl Driver<P>>) {
        if cx.now_ns < self.due_ns {
            return;
        }
        let BackgroundScan { blocks_per_second, ends_ns, reads_in_flight, .. } = self.settings;
        if cx.now_ns >= ends_ns {
            self.due_ns = u64::MAX;
            return;
        }
        self.due_ns = cx.now_ns + NS_PER_S / u64::from(blocks_per_second);
        if self.in_flight >= reads_in_flight {
            return;
        }
        // Blocks that were never written have nothing to read.
        let maps = maps(&cx.space.keys);
        let blocks = maps.len() as u64;
        let first = self.looked_at;
        let mut keys = (first..first + blocks).map(|at| (at, maps.start + (at % blocks) as u32));
        let (cache, map) = (&cx.memory.cache, &cx.space.map);
        let is_there = |(_, key): &(u64, u32)| cache.contains(*key) || map.get(*key).is_some();
        let Some((at, key)) = keys.find(is_there) else { return };
        self.looked_at = at + 1;
        self.look_at(key, cx);
    }

    /// Looks at a map block. What the cache lacks is read, and not kept: a scan must not push out what hosts need.
    fn look_at<P: Payload>(&mut self, key: u32, cx: &mut Context<'_, P, impl Driver<P>>) {
        if cx.memory.cache.contains(key) {
            cx.counters.map_scan_hits += 1;
            let cost_ns = cx.costs().of_memory(BLOCK_SECTORS);
            return cx.driver.processor(ProcessorWork::Scans, cost_ns);
        }
        let Some(vbn) = cx.space.map.get(key) else { return };
        let run = cx.space.run_at(vbn);
        if cx.space.is_lost(run) {
            return;
        }
        self.in_flight += 1;
        let fields = TagFields {
            owner: Owner::Aside,
            slot: 0,
            first_key: key,
            blocks: 1,
            epoch_parity: false,
        };
        cx.counters.map_scan_reads += 1;
        cx.send(fields, Direction::Read, run, P::default());
    }

    pub(super) fn on_read_done(&mut self) {
        assert!(self.in_flight > 0, "a scan's read has come back that was not on its way");
        self.in_flight -= 1;
    }
}

/// The blocks of all map files.
fn maps(keys: &BlockKeys) -> Range<u32> {
    keys.inodes().end..keys.aggregate_bitmap().end
}
