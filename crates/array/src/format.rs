//! What an array's spindles hold: the format of its time, or Strewn's own.

/// Whose on-disk format an array has. Whether there are bytes is another matter: a simulation, which has none, runs
/// either format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// That of the arrays of the time. A write-anywhere array writes its own superblock, and updates parity in the
    /// cheaper of two ways. An in-place array's spindles take single sectors.
    #[default]
    Modelled,
    /// Strewn's own, which a live array has. A root block leads to everything that is committed. The parity of RAID-DP
    /// is never computed from what a free block held before. Blocks of 4 KiB have checksums, so an in-place array
    /// writes whole ones. A driver makes consistency points durable by
    /// [`Durability::commit`](crate::Durability::commit).
    Durable,
}

impl Format {
    /// Whether this is the format of a live array.
    #[must_use]
    pub const fn is_durable(self) -> bool {
        matches!(self, Self::Durable)
    }
}
