//! A ZFS pool as an array: host operations become reads and writes of blocks, and these commands to drives.

mod cache_device;
mod config;
mod dirty;
mod drives;
mod growth;
mod host;
mod intent_log;
mod measures;
mod pipeline;
mod prefetch;
mod resilver;
mod snapshots;
mod sync;
mod transactions;
mod volume_scan;

use strewn_array::{
    Acknowledge, Array, Counters, DataLost, Direction, Driver, Durable, FailedSpindle,
    HostOperation, LayoutMeasures, LunId, ProcessorCosts, ScanProgress, SpindleCommand, Tag,
};
use strewn_raid::SpindleIndex;

use crate::arc::{Arc, ArcOptions, Block, Found, Intent, Kind};
use crate::dva::NoRoom;
use crate::order::AllocationOrder;
use crate::pool::Pool;
use crate::pool_objects::PoolObjects;
use crate::volume::{Volume, VolumeShape};

use cache_device::CacheDevice;
pub use config::L2arcConfig;
pub use config::{PipelineCosts, ResilverKind, VolumeConfig, ZfsConfig};
use drives::{BlockIo, Drives, Purpose};
use host::Host;
use intent_log::IntentLog;
use pipeline::Pipeline;
use prefetch::Prefetcher;
use resilver::Resilver;
use transactions::Transactions;
use volume_scan::VolumeScan;
pub use volume_scan::{ScanKind, VolumeScanConfig};

/// A pool, its volumes and the pool's own objects: what decides where blocks lie.
struct Space {
    pool: Pool,
    volumes: Vec<Volume>,
    /// The volume whose clone each is, or its own number.
    origins: Vec<u8>,
    objects: PoolObjects,
    order: AllocationOrder,
}

impl Space {
    /// A block of a volume, and its bytes on disk.
    fn block(&self, BlockKey { volume, level, number }: BlockKey) -> (crate::block::Block, u32) {
        let volume = &self.volumes[usize::from(volume)];
        match level & !SHARED {
            0 => (volume.block(number), volume.shape().stored_bytes),
            level => volume.indirect(level.into(), number),
        }
    }

    /// Filling the volumes has left their indirect blocks in memory, as far as there is room.
    fn warm(&self, arc: &mut Arc) {
        for (volume, blocks) in (0..).zip(&self.volumes) {
            for (level, number) in blocks.indirect_blocks() {
                let key = self.cached_as(BlockKey { volume, level, number }).encode();
                let block = Block { key, bytes: INDIRECT_BYTES, kind: Kind::Indirect };
                if arc.access(0, block, Intent::Demand) != Found::Hit {
                    arc.on_read_done(key);
                }
            }
        }
    }

    /// What a block is known by in memory: one that clones and their origin have in common is there once.
    fn cached_as(&self, key: BlockKey) -> BlockKey {
        let volume = &self.volumes[usize::from(key.volume)];
        let origin_txg = volume.snapshots().origin_txg();
        if origin_txg == 0 || volume.birth_of(key.level, key.number) > origin_txg {
            return key;
        }
        let origin = self.origins[usize::from(key.volume)];
        BlockKey { volume: origin, level: key.level | SHARED, number: key.number }
    }
}

strewn_base::saved_state! {
    impl for Space {
        parts:;
        values: pool, volumes, origins, objects, order;
        built:;
    }
}

/// An array with a ZFS pool.
pub struct ZfsArray {
    config: ZfsConfig,
    space: Space,
    /// What is in memory.
    arc: Arc,
    prefetchers: Vec<Prefetcher>,
    pipeline: Pipeline,
    drives: Drives,
    /// The device of the L2ARC, idle without one.
    cache_device: CacheDevice,
    transactions: Transactions,
    host: Host,
    intent_log: IntentLog,
    counters: Counters,
    failures: Vec<FailedSpindle>,
    resilver: Resilver,
    scan: VolumeScan,
    /// The last transaction group before the run.
    filled_in_txg: u64,
    timer_ns: Option<u64>,
}

strewn_base::saved_state! {
    impl for ZfsArray {
        parts: space;
        values: arc, prefetchers, pipeline, drives, cache_device, transactions, host, intent_log, counters, failures,
            resilver, scan, filled_in_txg, timer_ns;
        built: config;
    }
}

/// Marks the level of a block that clones and their origin have in common.
const SHARED: u8 = 1 << 6;

/// Bytes of an indirect block in memory.
const INDIRECT_BYTES: u32 = 128 << 10;

/// What a block of a volume is known by in memory and on its way there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BlockKey {
    volume: u8,
    /// 0 for data.
    level: u8,
    number: u32,
}

impl BlockKey {
    fn encode(self) -> u64 {
        u64::from(self.volume) << 40 | u64::from(self.level) << 32 | u64::from(self.number)
    }

    fn decode(key: u64) -> Self {
        Self { volume: (key >> 40) as u8, level: (key >> 32) as u8, number: key as u32 }
    }
}

impl ZfsArray {
    /// Creates an array, with its volumes filled.
    ///
    /// # Errors
    /// If the volumes do not fit into the pool.
    pub fn new(config: ZfsConfig) -> Result<Self, NoRoom> {
        let shapes: Vec<VolumeShape> = config.volumes.iter().map(VolumeConfig::shape).collect();
        let pool = growth::pool_at_start(&config);
        let metaslabs = pool.metaslabs_in_use().map(|(_, all)| all).sum();
        let slots = growth::slots(&config, &pool);
        let mut space = Space {
            pool,
            volumes: shapes.iter().map(|shape| Volume::new(*shape)).collect(),
            origins: (0..)
                .zip(&config.volumes)
                .map(|(own, volume)| volume.clone_of.unwrap_or(own))
                .collect(),
            objects: PoolObjects::new(metaslabs),
            order: AllocationOrder::new(slots, config.seed).with_waves(config.waves),
        };
        space.fill(&config)?;
        space.check_room()?;
        let blocks: Vec<u32> = shapes.iter().map(|shape| shape.blocks).collect();
        let prefetcher = |shape: &VolumeShape| {
            Prefetcher::new(shape.blocks, shape.block_bytes, config.prefetch_bytes)
        };
        let mut arc = Arc::new(ArcOptions::new(config.arc_bytes));
        if let Some(l2arc) = &config.l2arc {
            arc = arc.with_l2arc(l2arc.options);
        }
        space.warm(&mut arc);
        Ok(Self {
            arc,
            prefetchers: shapes.iter().map(prefetcher).collect(),
            pipeline: Pipeline::new(),
            drives: Drives::new(&config.vdevs),
            cache_device: CacheDevice::new(),
            transactions: Transactions::new(&blocks, &config, space.room_for(&config)),
            host: Host::default(),
            intent_log: IntentLog::new(config.vdevs.len()),
            counters: Counters::default(),
            failures: Vec::new(),
            resilver: Resilver::new(config.spares, config.vdevs.len()),
            scan: VolumeScan::new(config.scan),
            filled_in_txg: space.pool.txg() - 1,
            timer_ns: None,
            space,
            config,
        })
    }

    /// Reads the first volume from places on the first vdev, in bytes, where a real pool had its blocks. Space is not
    /// accounted for: nothing may be written afterwards. For comparisons with real pools.
    #[doc(hidden)]
    pub fn read_from_places(&mut self, places: &[u64]) {
        let blocks =
            places.iter().map(|offset| crate::block::Block::at_place((0, *offset))).collect();
        self.space.volumes[0].set_blocks(blocks);
    }

    /// What happens after any event: drives get commands, transaction groups go on, waiting writes too.
    fn advance(&mut self, now_ns: u64, driver: &mut impl Driver<()>) {
        loop {
            self.go_on_issuing(now_ns, driver);
            self.go_on_with_cache_device(now_ns, driver);
            while let Some(io) = self.pipeline.next_done(now_ns) {
                self.on_done(now_ns, io, driver);
            }
            while let Some(io) = self.drives.next_done() {
                if let Some(io) = self.complete_block(now_ns, io) {
                    self.on_done(now_ns, io, driver);
                }
            }
            self.go_on_syncing(now_ns, driver);
            let goes_on = self.go_on_resilvering(now_ns, driver);
            self.admit_waiting(now_ns, driver);
            self.go_on_with_scan_of_volumes(now_ns, driver);
            let log_bytes = self.transactions.room.log_bytes;
            let (pool, drives) = (&mut self.space.pool, &mut self.drives);
            let has_room = self.intent_log.go_on(now_ns, log_bytes, pool, drives);
            let dirty_percent = self.transactions.dirty_percent();
            let costs = &self.config.processor;
            self.drives.issue(dirty_percent, costs, &mut self.counters, driver);
            if !self.drives.has_done() && !goes_on && has_room {
                break;
            }
        }
        self.set_timer(now_ns, driver);
    }

    /// A block is read or written.
    fn on_done(&mut self, now_ns: u64, io: BlockIo, driver: &mut impl Driver<()>) {
        match io.purpose {
            Purpose::Log => {
                for operation in self.intent_log.on_written(io.key) {
                    driver.acknowledge(operation, Acknowledge::Now, ());
                }
            }
            Purpose::Sync => self.on_written(),
            Purpose::Resilver => self.on_resilver_io(now_ns, io.key),
            purpose => self.on_read(now_ns, io.key, purpose, driver),
        }
    }

    fn set_timer(&mut self, now_ns: u64, driver: &mut impl Driver<()>) {
        let transactions = &self.transactions;
        let collects = transactions.syncing.is_none() && !self.resilver.is_passing();
        let due_ns = if transactions.is_forced() {
            collects.then_some(now_ns)
        } else {
            let due_ns = transactions.opened_ns + transactions.interval_ns;
            (collects && transactions.open_bytes > 0).then_some(due_ns)
        };
        let wakeup_ns = self.host.next_wakeup_ns();
        let pipeline_ns = self.pipeline.next_ns();
        let cache_ns = self.config.l2arc.map(|_| self.cache_device.next_ns());
        let next = [due_ns, wakeup_ns, pipeline_ns, self.next_scan_ns(), cache_ns]
            .into_iter()
            .flatten()
            .min()
            .map(|at_ns| at_ns.max(now_ns));
        if let Some(at_ns) = next.filter(|_| next != self.timer_ns) {
            driver.set_timer(at_ns);
        }
        self.timer_ns = next;
    }
}

impl Array<()> for ZfsArray {
    fn spindles(&self) -> u16 {
        self.drives.count()
    }

    fn host_operation(
        &mut self,
        now_ns: u64,
        operation: HostOperation<()>,
        driver: &mut impl Driver<()>,
    ) {
        match operation.direction {
            Direction::Read => self.read(now_ns, &operation, driver),
            Direction::Write => self.write(now_ns, &operation, driver),
        }
        self.advance(now_ns, driver);
    }

    fn command_completed(&mut self, now_ns: u64, tag: Tag, _: (), driver: &mut impl Driver<()>) {
        self.drives.complete(now_ns, tag);
        self.advance(now_ns, driver);
    }

    fn start(&mut self, now_ns: u64, driver: &mut impl Driver<()>) {
        self.set_timer(now_ns, driver);
    }

    fn timer_fired(&mut self, now_ns: u64, driver: &mut impl Driver<()>) {
        self.timer_ns = None;
        self.advance(now_ns, driver);
    }

    fn hint_operation(&self, lun: LunId, _: Direction, first_sector: u64, _: u32) {
        self.hint(lun, first_sector);
    }

    fn spindle_failed(
        &mut self,
        now_ns: u64,
        spindle: SpindleIndex,
        driver: &mut impl Driver<()>,
    ) -> Result<(), DataLost> {
        self.failures.push(FailedSpindle {
            spindle,
            at_ns: now_ns,
            rebuild_began_ns: None,
            rebuilt_ns: None,
            rebuilt: 0.0,
        });
        self.drives.fail(now_ns, spindle.0);
        self.note_log_loss(spindle);
        if let Some(lost) = self.data_lost(now_ns, spindle) {
            return Err(lost);
        }
        let vdev = self.drives.vdev_of(spindle.0);
        self.resilver.on_failed(spindle.0, vdev, self.config.vdevs[vdev].redundancy);
        self.advance(now_ns, driver);
        Ok(())
    }

    fn command_failed(
        &mut self,
        now_ns: u64,
        command: SpindleCommand<()>,
        driver: &mut impl Driver<()>,
    ) {
        self.drives.command_failed(now_ns, command.tag, command.direction);
        self.advance(now_ns, driver);
    }

    fn failures(&self) -> &[FailedSpindle] {
        &self.failures
    }

    fn forget_cache(&mut self) {
        self.arc.forget_clean();
    }

    fn scan_progress(&self) -> Option<ScanProgress> {
        self.measure_scan()
    }

    fn processor_costs(&self) -> &ProcessorCosts {
        &self.config.processor
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn layout(&self) -> LayoutMeasures {
        self.measure()
    }
}

impl Durable<()> for ZfsArray {}
