//! What surrounds a part in its tests: a small space, memory, and a driver that records what it is asked for.

use std::collections::{BTreeMap, VecDeque};

use strewn_alloc::{AllocationShape, Chunks, PolicyName};
use strewn_base::{Direction, Rng};
use strewn_raid::{Parity, ParityGroup};

use crate::counters::Counters;
use crate::driver::{Acknowledge, Driver, Durability, OperationId, Refusal, SpindleCommand, Tag};
use crate::format::Format;
use crate::log::{LogLedger, LogRecord, LogSize, Logged};
use crate::processor::{ProcessorCosts, ProcessorWork};
use crate::requests::Requests;
use crate::units::BLOCK_SECTORS;

use super::context::{Context, Next};
use super::memory::Memory;
use super::space::Space;
use super::tag::TagFields;
use super::{CacheStart, VolumeConfig, WriteAnywhereConfig};

/// Blocks of the one LUN.
pub(super) const LUN_BLOCKS: u32 = 4_000;

/// An array of a RAID-DP group of six spindles with one LUN, in the modelled format.
pub(super) fn config() -> WriteAnywhereConfig {
    WriteAnywhereConfig {
        groups: vec![ParityGroup::new(Parity::RaidDp, 4, 4_096).unwrap()],
        groups_at_start: 1,
        shape: AllocationShape { area_stripes: 256, ..AllocationShape::default() },
        policy: PolicyName::EmptiestArea,
        other_data: None,
        volumes: vec![VolumeConfig::of_one_lun(12_000, LUN_BLOCKS)],
        format: Format::Modelled,
        log: LogSize { half_bytes: 1 << 18, record_header_bytes: 160 },
        consistency_point_interval_ns: 10_000_000_000,
        cache_blocks: 512,
        protected_blocks: 256,
        dirty_limit_blocks: 200,
        tetrises_in_flight: 2,
        delayed_free_blocks: 100,
        cache_start: CacheStart::Metadata,
        chunks: Chunks::Aligned,
        processor: ProcessorCosts::default(),
    }
}

/// A driver that records what it is asked for.
pub(super) struct Recorder {
    pub(super) commands: Vec<SpindleCommand<()>>,
    /// How often each block of a spindle has been written.
    pub(super) writes: BTreeMap<(u16, u64), u32>,
    pub(super) acknowledged: Vec<u32>,
    pub(super) refused: Vec<(u32, Refusal)>,
    pub(super) log: LogLedger,
}

impl Durability for Recorder {}

impl Driver<()> for Recorder {
    fn processor(&mut self, _work: ProcessorWork, _cost_ns: u64) {}
    fn command(&mut self, command: SpindleCommand<()>) {
        if command.direction == Direction::Write {
            let first = command.first_sector / u64::from(BLOCK_SECTORS);
            for block in first..first + u64::from(command.sectors / BLOCK_SECTORS) {
                *self.writes.entry((command.spindle.0, block)).or_default() += 1;
            }
        }
        self.commands.push(command);
    }
    fn acknowledge(&mut self, operation: OperationId, _when: Acknowledge, _payload: ()) {
        self.acknowledged.push(operation.0);
    }
    fn refuse(&mut self, operation: OperationId, why: Refusal) {
        self.refused.push((operation.0, why));
    }
    fn set_timer(&mut self, _at_ns: u64) {}
    fn log(&mut self, _operation: OperationId, record: LogRecord, _data: &()) -> Logged {
        self.log.append(&record)
    }
    fn consistency_point_begins(&mut self) {
        self.log.switch();
    }
    fn consistency_point_ends(&mut self) {
        self.log.release();
    }
}

impl Recorder {
    /// Takes out a command at random.
    pub(super) fn any_command(&mut self, rng: &mut Rng) -> Option<(TagFields, SpindleCommand<()>)> {
        let count = self.commands.len() as u64;
        let command = (count > 0).then(|| self.commands.swap_remove(rng.below(count) as usize))?;
        Some((TagFields::unpack(Tag::new(command.tag.number())), command))
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
            driver: Recorder {
                commands: Vec::new(),
                writes: BTreeMap::new(),
                acknowledged: Vec::new(),
                refused: Vec::new(),
                log: LogLedger::new(log),
            },
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
