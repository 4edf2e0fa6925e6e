//! The space of the vdevs of the normal class, by which a pool is said to be full.
//!
//! `spa_misc.c` of OpenZFS: `spa_update_dspace`, `spa_get_slop_space`.

use strewn_base::state::SavedValue;

use crate::allocation_class::AllocationClass;
use crate::vdev::Vdev;

/// The share of a pool that is kept free (`spa_slop_shift`): a 32nd,
const SLOP_SHIFT: u8 = 5;

/// at least so much (`spa_min_slop`), but never more than half of the pool,
const LEAST_SLOP_BYTES: u64 = 128 << 20;

/// and at most so much (`spa_max_slop`).
const MOST_SLOP_BYTES: u64 = 128 << 30;

/// The space of vdevs of the normal class, without what they keep for the intent log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, SavedValue)]
pub struct NormalSpace {
    /// Bytes, parity included.
    pub bytes: u64,
    /// The same as space for data ([`Vdev::deflated_bytes`]).
    pub data_bytes: u64,
    /// What the intent log has, as space for data.
    log_bytes: u64,
    scale_down: u32,
}

impl NormalSpace {
    /// The share of a pool that is kept free, unless it is very small or very large.
    pub const SLOP_SHARE: f64 = 1.0 / (1 << SLOP_SHIFT) as f64;

    /// The space of these vdevs.
    #[must_use]
    pub fn of(vdevs: &[Vdev]) -> Self {
        let mut space = Self::default();
        vdevs.iter().for_each(|vdev| space.add(vdev));
        space
    }

    /// Adds that of a vdev.
    pub fn add(&mut self, vdev: &Vdev) {
        let bytes = vdev.class_bytes(AllocationClass::Normal);
        self.bytes += bytes;
        self.data_bytes += vdev.deflated_bytes(bytes);
        self.log_bytes += vdev.deflated_bytes(vdev.metaslab_bytes(0..vdev.log_metaslabs()));
        self.scale_down = vdev.scale_down;
    }

    /// What is kept free of it, parity included.
    #[must_use]
    pub fn kept_free(&self) -> u64 {
        let kept = u128::from(self.kept_free_for_data());
        (kept * u128::from(self.bytes) / u128::from(self.data_bytes.max(1))) as u64
    }

    /// What is kept free of it, as space for data (`spa_get_slop_space`). What the intent log has counts as kept free,
    /// up to half of it.
    #[must_use]
    pub fn kept_free_for_data(&self) -> u64 {
        let by = u64::from(self.scale_down.max(1));
        let kept = (self.data_bytes >> SLOP_SHIFT).min(MOST_SLOP_BYTES / by);
        let kept = kept - self.log_bytes.min(kept / 2);
        kept.max((LEAST_SLOP_BYTES / by).min(self.data_bytes / 2))
    }
}
