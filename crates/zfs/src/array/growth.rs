//! Vdevs that a pool gets during the run, and vdevs of classes of their own.

use strewn_array::{Driver, GroupMeasures, Growable};
use strewn_base::BLOCK_BYTES;
use strewn_raid::SpindleIndex;

use super::{ZfsArray, ZfsConfig};
use crate::allocation_class::{AllocationClass, Spilled};
use crate::pool::{Pool, PoolOptions};

/// The pool with the vdevs that it has from the start.
pub fn pool_at_start(config: &ZfsConfig) -> Pool {
    let ZfsConfig { version, special_small_bytes, autotrim, .. } = *config;
    let at_start = config.vdevs.len() - config.late_vdevs;
    assert_eq!(config.class_of(0), AllocationClass::Normal, "the first vdev is normal");
    let options = PoolOptions { version, special_small_bytes, autotrim };
    let mut pool = Pool::new(&config.vdevs[..1], options);
    for (number, vdev) in config.vdevs[..at_start].iter().enumerate().skip(1) {
        pool.add(*vdev, config.class_of(number));
    }
    pool
}

/// Writes of data that the allocation throttle lets be under way: those of the vdevs of the normal class.
pub fn slots(config: &ZfsConfig, pool: &Pool) -> Option<u32> {
    let vdevs = pool.vdevs_in(AllocationClass::Normal) as u32;
    config.throttle_slots.map(|slots| slots * vdevs)
}

impl ZfsArray {
    /// Blocks that found no room in the special class.
    #[must_use]
    pub fn spilled(&self) -> Spilled {
        self.space.pool.spilled()
    }

    /// Counts what has found no room in the special class since it was `before`.
    pub(super) fn note_spilled(&mut self, before: Spilled) {
        let Spilled { data, metadata } = self.spilled();
        self.counters.spilled_data_blocks += data - before.data;
        self.counters.spilled_metadata_blocks += metadata - before.metadata;
    }

    /// Trims what was freed. A drive that has failed, or whose spare is being resilvered, is left out.
    pub(super) fn note_trimmed(&mut self) {
        let drives = &self.drives;
        let is_skipped = |vdev: usize, drive: u8| {
            drives.is_failed_or_resilvered(drives.first_of(vdev as u16) + u16::from(drive))
        };
        let trimmed = self.space.pool.autotrim(is_skipped);
        self.counters.trimmed_ranges += trimmed.ranges;
        self.counters.trimmed_bytes += trimmed.bytes;
        self.counters.trim_skipped_bytes += trimmed.skipped_bytes;
    }

    /// A log vdev whose drives have all failed gets no more log blocks: they go to the other vdevs.
    pub(super) fn note_log_loss(&mut self, spindle: SpindleIndex) {
        let vdev = self.drives.vdev_of(spindle.0);
        if self.config.class_of(vdev) == AllocationClass::Log && self.drives.is_gone(vdev as u16) {
            self.space.pool.passivate(vdev);
        }
    }
}

impl Growable<()> for ZfsArray {
    fn groups(&self) -> Vec<GroupMeasures> {
        let is_divided = self.config.late_vdevs > 0 || !self.config.classes.is_empty();
        let vdevs = if is_divided { &self.config.vdevs[..] } else { &[] };
        let measures = vdevs.iter().enumerate().map(|(number, vdev)| {
            let first = self.drives.first_of(number as u16);
            let (of_stripe, with_data) = vdev.stripe_drives();
            let blocks = |bytes: u64| bytes * with_data / of_stripe / BLOCK_BYTES;
            let pool = &self.space.pool;
            let is_there = number < pool.vdevs();
            let size = vdev.metaslabs();
            let all = match is_there {
                true => pool.bytes_of(number),
                false => u64::from(size.count) << size.shift,
            };
            let free = || all - pool.allocated_on(number);
            GroupMeasures {
                spindles: first..first + u16::from(vdev.drives()),
                blocks: blocks(all),
                free_blocks: is_there.then(|| blocks(free())),
            }
        });
        measures.collect()
    }

    /// `zpool add`. Nothing moves: metadata goes to a special vdev as it is rewritten, the next log blocks go to a log
    /// vdev.
    fn add_group(&mut self, now_ns: u64, driver: &mut impl Driver<()>) -> bool {
        let number = self.space.pool.vdevs();
        let Some(vdev) = self.config.vdevs.get(number) else { return false };
        let space = &mut self.space;
        space.pool.add(*vdev, self.config.class_of(number));
        space.objects.add_metaslabs(space.pool.metaslab_count(number));
        space.order.set_slots(slots(&self.config, &space.pool));
        self.transactions.room = space.room_for(&self.config);
        self.advance(now_ns, driver);
        true
    }
}
