//! What a pool has room for.

use strewn_results::CapacityRule;
use strewn_results::words::fixed;
use strewn_zfs::{POINTERS, Pool};

use super::Zfs;
use crate::array::Array;
use crate::build;
use crate::fields::Section;
use crate::quantity::Bytes;

/// Bytes of an indirect block with all its pointers, compressed, as measured; two copies of each are stored.
const INDIRECT_BYTES: u64 = 44 << 10;

/// Transaction groups whose freed blocks may not be allocated yet, and the one that is being written.
const DEFERRED_TXGS: u64 = 3;

/// A transaction group is written when so much of the dirty limit is, in percent.
const TXG_PERCENT: u64 = 20;

impl Zfs {
    /// Bytes of the pool that a block of a volume takes, with its share of the indirect blocks.
    pub(super) fn bytes_for_a_block(&self) -> f64 {
        let vdev = self.vdev(0, 1);
        let indirect = 2 * vdev.allocated_bytes(INDIRECT_BYTES);
        vdev.allocated_bytes(self.stored_bytes()) as f64 + indirect as f64 / f64::from(POINTERS)
    }

    /// What volumes may have of a pool of drives of so many bytes, and how that figure comes about.
    pub(super) fn usable(&self, drive_bytes: u64) -> (u64, String) {
        let vdev = self.vdev(drive_bytes, 1);
        let size = vdev.metaslabs();
        let sectors: u64 = match vdev.draid() {
            // Whole stripes of each.
            Some(_) => (0..size.count).map(|of| u64::from(vdev.metaslab_sectors(of).1)).sum(),
            None => u64::from(size.count) << (size.shift - vdev.ashift),
        };
        let pool = (sectors << vdev.ashift) * u64::from(self.vdevs);
        let moving = DEFERRED_TXGS * self.dirty_limit_bytes * TXG_PERCENT / 100;
        let for_a_block = self.bytes_for_a_block();
        let of_moving = moving as f64 / self.block_bytes() as f64 * for_a_block;
        let left = pool.saturating_sub(Pool::slop_bytes(pool, 1)) as f64 - of_moving;
        let blocks = (left.max(0.0) / for_a_block) as u64;
        let words = format!(
            "{} in metaslabs, less what is kept free, and a block of {} takes {}",
            Bytes(pool).approximately(),
            Bytes(self.block_bytes()),
            Bytes(vdev.allocated_bytes(self.stored_bytes()))
        );
        (blocks.saturating_mul(self.block_bytes()), words)
    }

    /// Blocks that snapshots may hold at most: all of the pool.
    pub(super) fn most_held(&self, array: &Array) -> u64 {
        let size = self.vdev(build::capacity_bytes(array), 1).metaslabs();
        let pool = (u64::from(size.count) << size.shift) * u64::from(self.vdevs);
        (pool as f64 / self.bytes_for_a_block()) as u64
    }

    pub(super) fn check_metaslabs(&self, section: &Section<'_>, drive_bytes: u64) {
        if self.vdev(drive_bytes, 1).metaslabs().count < 2 {
            section.problem(
                "drives",
                format!("drives of {} are too small for metaslabs", Bytes(drive_bytes)),
                "give drives of at least 64 MiB, as `zpool create` asks for".to_owned(),
            );
        }
    }

    /// What blocks that fill no row of RAID-Z cost.
    pub(super) fn padding_warning(&self, array: &Array) -> Option<String> {
        let redundancy = self.shape.redundancy;
        if !redundancy.is_striped() || !self.shape.is_possible() {
            return None;
        }
        let vdev = self.vdev(build::capacity_bytes(array), 1);
        let taken = vdev.allocated_bytes(self.stored_bytes()) as f64;
        let (of_stripe, with_data) = vdev.stripe_drives();
        let least = self.stored_bytes() as f64 * of_stripe as f64 / with_data as f64;
        let reason = if redundancy.is_draid() {
            format!(
                "it takes whole stripes of {of_stripe} sectors; give fewer draid_data or a larger volblocksize"
            )
        } else {
            format!(
                "parity for each block, and padding to a multiple of {} sectors",
                redundancy.parity() + 1
            )
        };
        (taken >= 1.25 * least).then(|| {
            format!(
                "array[{}].zfs: a block of {} takes {} of {}, {} % more than its data and parity need in wide stripes: \
                 {reason}",
                array.name,
                Bytes(self.block_bytes()),
                Bytes(taken as u64),
                redundancy.noun(),
                fixed(100.0 * (taken / least - 1.0), 0),
            )
        })
    }
}

/// The part of the data drives that blocks of volumes can have.
pub(super) fn capacity(zfs: &Zfs) -> CapacityRule {
    // Of a pool of any size: what is kept free, and what blocks take beside their data.
    let vdev = zfs.vdev(0, 1);
    let (of_stripe, with_data) = vdev.stripe_drives();
    let data = zfs.block_bytes() as f64 * of_stripe as f64 / with_data as f64;
    let share = data / zfs.bytes_for_a_block() * (1.0 - Pool::SLOP_SHARE);
    CapacityRule::Pool { usable_percent: 100.0 * share }
}
