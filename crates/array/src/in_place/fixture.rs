//! What surrounds a part in its tests: a small space, memory, and a driver that records what it is asked for.

use strewn_alloc::GroupIndex;
use strewn_base::Rng;
use strewn_raid::{SpindleIndex, VraidConfig, VraidLayout};

use crate::counters::Counters;
use crate::failure::Rebuild;
use crate::format::Format;
use crate::log::LogSize;
use crate::recorder::Recorder;
use crate::requests::Requests;

use super::context::{Context, Next};
use super::memory::Memory;
use super::space::Space;
use super::{DiskGroupConfig, InPlaceConfig, LunConfig, LunLayout, Raid0Layout, Raid5Layout};

pub(super) const GROUP: GroupIndex = GroupIndex(0);
const CHUNK_BYTES: u64 = 4_096;
const LOG: LogSize = LogSize { half_bytes: 1 << 16, record_header_bytes: 160 };

/// An array of one disk group, with any layout, and a reserve for two failures if the layout has any.
pub(super) fn any_config(rng: &mut Rng) -> InPlaceConfig {
    let (segment_bytes, spindle_bytes) = (2 * CHUNK_BYTES, 20 * CHUNK_BYTES);
    let layout: LunLayout = match rng.below(4) {
        0 => Raid0Layout::new(4, CHUNK_BYTES, segment_bytes, spindle_bytes).unwrap().into(),
        1 => Raid5Layout::new(5, CHUNK_BYTES, segment_bytes, spindle_bytes).unwrap().into(),
        _ => return vraid_config(rng),
    };
    config_of(DiskGroupConfig::new(layout, rng.within(1..6) as u32), rng)
}

/// An array of one disk group of nine spindles with VRAID-5, and a reserve for two failures.
pub(super) fn vraid_config(rng: &mut Rng) -> InPlaceConfig {
    let (chunk_bytes, segment_bytes) = (CHUNK_BYTES, 2 * CHUNK_BYTES);
    let config = VraidConfig { redundancy_sets: vec![9], chunk_bytes, segment_bytes };
    let layout = VraidLayout::new(config, 20 * CHUNK_BYTES).unwrap();
    let rebuild = Rebuild { spares: 2, steps_in_flight: rng.within(1..4) as u32 };
    let group = DiskGroupConfig::new(layout, rng.within(1..6) as u32).with_rebuild(rebuild);
    config_of(group, rng)
}

fn config_of(group: DiskGroupConfig, rng: &mut Rng) -> InPlaceConfig {
    InPlaceConfig {
        destage_low_sectors: rng.below(40),
        ..InPlaceConfig::new(
            vec![group],
            vec![LunConfig::whole(rng.within(20..41) * 8)],
            160,
            rng.within(40..200),
        )
    }
}

impl InPlaceConfig {
    /// The same in the durable format, with a log.
    pub(super) fn durable(mut self) -> Self {
        (self.format, self.log) = (Format::Durable, Some(LOG));
        self
    }
}

/// All that a part sees besides itself.
pub(super) struct Surroundings {
    pub(super) space: Space,
    pub(super) memory: Memory<()>,
    pub(super) driver: Recorder,
    pub(super) counters: Counters,
    /// Whether one half of the log is being freed.
    pub(super) log_is_draining: bool,
    next: Requests<Next<()>>,
}

impl Surroundings {
    pub(super) fn new(config: InPlaceConfig) -> Self {
        let space = Space::new(config, false).unwrap();
        Self {
            memory: Memory::new(&space),
            driver: Recorder::new(LOG),
            counters: Counters::default(),
            log_is_draining: false,
            next: Requests::new(),
            space,
        }
    }

    pub(super) fn context(&mut self) -> Context<'_, (), Recorder> {
        Context {
            now_ns: 0,
            driver: &mut self.driver,
            space: &mut self.space,
            memory: &mut self.memory,
            counters: &mut self.counters,
            next: &mut self.next,
        }
    }

    /// Carries out what was asked for, in the order of the array's loop.
    pub(super) fn carry_out(&mut self, mut one: impl FnMut(Next<()>, &mut Self)) {
        while let Some(next) = self.next.take_next() {
            one(next, self);
        }
    }

    /// Where a sector of the LUN is now; `None` if it is lost.
    pub(super) fn place_now(&self, lun_sector: u64) -> Option<(SpindleIndex, u64)> {
        let group = &self.space.groups[GROUP];
        let (spindle, sector) = group.place_by_layout(lun_sector);
        group.place_now(spindle, sector)
    }
}
