//! What a pool has room for.

use strewn_results::CapacityRule;
use strewn_results::words::fixed;
use strewn_zfs::{AllocationClass, METADATA_RESERVE_PERCENT, NormalSpace, POINTERS, Vdev};

use super::{PlacedVdev, SyncWrites, Zfs};
use crate::array::Array;
use crate::build;
use crate::fields::Section;
use crate::lun::Lun;
use crate::quantity::Bytes;

/// Bytes of an indirect block with all its pointers, compressed, as measured; two copies of each are stored.
const INDIRECT_BYTES: u64 = 44 << 10;

/// What a volume reserves for one, uncompressed.
const RESERVED_INDIRECT_BYTES: u64 = 128 << 10;

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

    /// Whether volumes reserve room for all of their blocks, uncompressed. Files do not.
    pub(super) fn reserves(&self) -> bool {
        !self.is_sparse && self.recordsize_bytes.is_none()
    }

    /// What a volume reserves for each of its blocks, in bytes of space as `zfs list` tells it
    /// (`zvol_volsize_to_reservation`): the block, uncompressed, where it takes most, and its share of two copies of
    /// indirect blocks.
    fn reserved_for_a_block(&self, vdevs: &[Vdev]) -> f64 {
        let data = |vdev: &Vdev| vdev.deflated_bytes(vdev.allocated_bytes(self.block_bytes()));
        let data = vdevs.iter().map(data).max().unwrap_or(0);
        data as f64 + (2 * RESERVED_INDIRECT_BYTES) as f64 / f64::from(POINTERS - 1)
    }

    /// The normal vdevs that are there from the start, of drives with so many bytes.
    fn normal_vdevs(&self, drive_bytes: u64) -> Vec<Vdev> {
        self.normal_at_start().map(|placed| placed.vdev(self, drive_bytes, 1)).collect()
    }

    /// What volumes may have of a pool of drives of so many bytes, and how that figure comes about.
    pub(super) fn usable(&self, drive_bytes: u64) -> (u64, String) {
        let vdev = self.vdev(drive_bytes, 1);
        let vdevs = self.normal_vdevs(drive_bytes);
        let pool = self.pool_bytes(drive_bytes, AllocationClass::Normal);
        let space = NormalSpace::of(&vdevs);
        let kept_free = space.kept_free();
        let moving = DEFERRED_TXGS * self.dirty_limit_bytes * TXG_PERCENT / 100;
        let for_a_block = self.bytes_for_a_block();
        let moving = (moving as f64 / self.block_bytes() as f64 * for_a_block) as u64;
        let blocks = pool.saturating_sub(kept_free + moving) as f64 / for_a_block;
        let reserved = self.reserved_for_a_block(&vdevs);
        let share = 1.0 - kept_free as f64 / space.bytes.max(1) as f64;
        let may_be_reserved = space.data_bytes as f64 * share / reserved;
        let words = if self.reserves() && may_be_reserved < blocks {
            format!(
                "{} in metaslabs, less {} that is kept free; a block of {} reserves {:.0} bytes of data and metadata, \
                 uncompressed; sparse = true reserves nothing",
                Bytes(pool).approximately(),
                Bytes(kept_free).approximately(),
                Bytes(self.block_bytes()),
                reserved,
            )
        } else {
            format!(
                "{} in metaslabs, less {} that is kept free and {} for freed blocks of up to three transaction groups \
                 (less with a smaller dirty_limit), and a block of {} takes {}",
                Bytes(pool).approximately(),
                Bytes(kept_free).approximately(),
                Bytes(moving).approximately(),
                Bytes(self.block_bytes()),
                Bytes(vdev.allocated_bytes(self.stored_bytes()))
            )
        };
        let blocks = if self.reserves() { blocks.min(may_be_reserved) } else { blocks };
        ((blocks.max(0.0) as u64).saturating_mul(self.block_bytes()), words)
    }

    /// Blocks that snapshots may hold at most: all of the pool.
    pub(super) fn most_held(&self, array: &Array) -> u64 {
        let pool = self.pool_bytes(build::capacity_bytes(array), AllocationClass::Normal);
        (pool as f64 / self.bytes_for_a_block()) as u64
    }

    /// Bytes in metaslabs of the vdevs of a class that are there from the start. A vdev on which blocks take more than
    /// on the first counts for as much less.
    fn pool_bytes(&self, drive_bytes: u64, class: AllocationClass) -> u64 {
        let (stored, first) = (self.stored_bytes(), self.vdev(drive_bytes, 1));
        let bytes = |placed: PlacedVdev| {
            let vdev = placed.vdev(self, drive_bytes, 1);
            let bytes = vdev.class_bytes(class);
            let (here, there) = (first.allocated_bytes(stored), vdev.allocated_bytes(stored));
            if here == there { bytes } else { (bytes as f64 * here as f64 / there as f64) as u64 }
        };
        let vdevs = self.placed_vdevs().into_iter();
        vdevs.filter(|vdev| vdev.class == class && vdev.from_ns == 0).map(bytes).sum()
    }

    /// What blocks find on special vdevs.
    pub(super) fn special_warnings(&self, array: &Array) -> Vec<String> {
        let mut warnings = Vec::new();
        let special = self.pool_bytes(build::capacity_bytes(array), AllocationClass::Special);
        if special == 0 || !self.has_possible_vdevs() {
            return warnings;
        }
        let name = &array.name;
        let volumes: u64 = build::luns(array).iter().map(|lun| lun.bytes).sum();
        let blocks = volumes.div_ceil(self.block_bytes());
        let metadata = blocks.div_ceil(u64::from(POINTERS)) * 2 * INDIRECT_BYTES;
        if metadata > special {
            warnings.push(format!(
                "array[{name}].zfs: special vdevs of {} have no room for up to {} of indirect blocks: the rest goes to \
                 the normal vdevs",
                Bytes(special).approximately(),
                Bytes(metadata).approximately()
            ));
        }
        if self.special_small_bytes >= self.stored_bytes() {
            warnings.push(format!(
                "array[{name}].zfs: all blocks of data are of {}, at most special_small_blocks: all go to the special \
                 vdevs, of {}, until these are {} % full (volumes of OpenZFS 2.2 and 2.3 ignore the property; from 2.4 \
                 on they heed it)",
                Bytes(self.stored_bytes()),
                Bytes(special).approximately(),
                100 - METADATA_RESERVE_PERCENT
            ));
        }
        warnings
    }

    /// Log vdevs that get no log blocks.
    pub(super) fn log_warning(&self, array: &Array) -> Option<String> {
        let has_log = self.further_vdevs.iter().any(|vdevs| vdevs.class == AllocationClass::Log);
        (has_log && self.sync == SyncWrites::Disabled).then(|| {
            format!(
                "array[{}].zfs: its log vdevs have nothing to do: no write is synchronous unless sync = \"always\"",
                array.name
            )
        })
    }

    pub(super) fn check_metaslabs(&self, section: &Section<'_>, drive_bytes: u64) {
        self.shape.check_right_sized(section, self.ashift as u8, drive_bytes);
        let is_whole = self.shape.right_sized_bytes.is_none();
        if is_whole && !self.vdev(drive_bytes, 1).has_metaslabs() {
            section.problem(
                "drives",
                format!("drives of {} are too small for metaslabs", Bytes(drive_bytes)),
                "give drives of at least 64 MiB, as `zpool create` asks for".to_owned(),
            );
        }
    }

    /// Compression that leaves blocks as large as they are on their drives.
    pub(super) fn compression_warning(&self, array: &Array) -> Option<String> {
        if self.compressed_percent >= 100.0 || !self.shape.is_possible() {
            return None;
        }
        let vdev = self.vdev(build::capacity_bytes(array), 1);
        let taken = |bytes: u64| vdev.allocated_bytes(bytes);
        (taken(self.stored_bytes()) == taken(self.block_bytes())).then(|| {
            format!(
                "array[{}].zfs: compression to {} % saves nothing: a block of {} takes {} with it and without it; a larger {} \
                 would have it save something",
                array.name,
                self.compressed_percent,
                Bytes(self.block_bytes()),
                Bytes(taken(self.block_bytes())),
                self.block_key()
            )
        })
    }

    /// Snapshots for which there is no room from the start, as volumes reserve what it takes to overwrite them
    /// (`dsl_dataset_snapshot_reserve_space`). `file` has the bytes that are filled before the run.
    pub(super) fn snapshot_warning(
        &self,
        array: &Array,
        file: &dyn Fn(&Lun) -> u64,
    ) -> Option<String> {
        let is_larger_later = self.placed_vdevs().iter().any(|vdev| vdev.from_ns > 0);
        if self.snapshots.is_none() || !self.reserves() || is_larger_later {
            return None;
        }
        if !self.has_possible_vdevs() {
            return None;
        }
        let drive_bytes = build::capacity_bytes(array);
        let kept_free = NormalSpace::of(&self.normal_vdevs(drive_bytes)).kept_free();
        let room = self.pool_bytes(drive_bytes, AllocationClass::Normal);
        let room = room.saturating_sub(kept_free) as f64;
        let volumes = build::luns(array).into_iter().filter(|lun| !self.is_clone(lun));
        let filled: u64 = volumes.map(file).sum();
        let taken = filled as f64 / self.block_bytes() as f64 * self.bytes_for_a_block();
        // A first snapshot has all of it, and all of it may be overwritten.
        (2.0 * taken > room).then(|| {
            let most = (room / 2.0 / self.bytes_for_a_block() * self.block_bytes() as f64) as u64;
            format!(
                "array[{}].zfs: no snapshot will be taken, for lack of room: volumes reserve what overwriting all {} of \
                 their files takes beside it; sparse = true reserves nothing, and files of at most {} leave room for one",
                array.name,
                Bytes(filled).approximately(),
                Bytes(most).rounded_down()
            )
        })
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
    let stored = data / zfs.bytes_for_a_block();
    // Of any large number of bytes.
    let raw = 1 << 40;
    let data_share = vdev.deflated_bytes(raw) as f64 / raw as f64;
    let reserved = zfs.block_bytes() as f64 / zfs.reserved_for_a_block(&[vdev])
        * data_share
        * of_stripe as f64
        / with_data as f64;
    let share = if zfs.reserves() { stored.min(reserved) } else { stored };
    let share = share * (1.0 - NormalSpace::SLOP_SHARE);
    let data = |vdev: PlacedVdev| (vdev.data_and_parity().0, vdev.shape.right_sized_bytes);
    let spindles = zfs.normal_at_start().map(data).collect();
    CapacityRule::Pool { spindles, usable_percent: 100.0 * share }
}
