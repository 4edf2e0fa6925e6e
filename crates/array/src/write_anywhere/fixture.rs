//! What surrounds a part in its tests: a small space, memory, and a driver that records what it is asked for.

use std::collections::VecDeque;

use strewn_alloc::AllocationShape;
use strewn_raid::{Parity, ParityGroup};

use crate::counters::Counters;
use crate::log::LogSize;
use crate::recorder::Recorder;
use crate::requests::Requests;

use super::context::{Context, Next};
use super::memory::Memory;
use super::space::Space;
use super::{VolumeConfig, WriteAnywhereConfig};

/// Blocks of the one LUN.
pub(super) const LUN_BLOCKS: u32 = 4_000;

/// An array of a RAID-DP group of six spindles with one LUN, in the modelled format.
pub(super) fn config() -> WriteAnywhereConfig {
    WriteAnywhereConfig {
        shape: AllocationShape { area_stripes: 256, ..AllocationShape::default() },
        protected_blocks: 256,
        dirty_limit_blocks: 200,
        delayed_free_blocks: 100,
        ..WriteAnywhereConfig::new(
            vec![ParityGroup::new(Parity::RaidDp, 4, 4_096).unwrap()],
            vec![VolumeConfig::of_one_lun(12_000, LUN_BLOCKS)],
            LogSize { half_bytes: 1 << 18, record_header_bytes: 160 },
            512,
        )
    }
}

/// All that a part sees besides itself.
pub(super) struct Surroundings {
    pub(super) space: Space,
    pub(super) memory: Memory<()>,
    pub(super) driver: Recorder,
    pub(super) counters: Counters,
    pub(super) now_ns: u64,
    pub(super) is_in_progress: bool,
    next: Requests<Next<()>>,
}

impl Surroundings {
    /// A laid-out array's, with its metadata in the cache.
    pub(super) fn new(config: WriteAnywhereConfig) -> Self {
        let log = config.log;
        let space = Space::laid_out(config, false).unwrap();
        let mut memory = Memory::new(&space);
        memory.warm(space.placed_metadata());
        let mut surroundings = Self {
            memory,
            driver: Recorder::new(log),
            counters: Counters::default(),
            now_ns: 0,
            is_in_progress: false,
            next: Requests::new(),
            space,
        };
        surroundings.space.note_room();
        surroundings
    }

    pub(super) fn context(&mut self) -> Context<'_, (), Recorder> {
        Context {
            now_ns: self.now_ns,
            driver: &mut self.driver,
            space: &mut self.space,
            memory: &mut self.memory,
            counters: &mut self.counters,
            is_in_progress: self.is_in_progress,
            next: &mut self.next,
        }
    }

    /// What the part has asked for, in order.
    pub(super) fn asked(&mut self) -> VecDeque<Next<()>> {
        std::iter::from_fn(|| self.next.take_next()).collect()
    }
}
