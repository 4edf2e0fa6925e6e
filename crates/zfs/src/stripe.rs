//! What RAID-Z and dRAID have in common: a block is columns of parity and data on drives of its vdev.

use crate::draid::{DraidColumns, DraidLayout, DraidStripes};
use crate::raid_z::{Column, Columns, RaidZ};

/// A vdev whose blocks have parity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Striped {
    /// RAID-Z.
    RaidZ(RaidZ),
    /// dRAID.
    Draid(DraidLayout),
}

/// The stripes of a block.
#[derive(Debug, Clone)]
pub enum Stripes {
    /// In RAID-Z: one.
    RaidZ(Option<Columns>),
    /// In dRAID: one for each redundancy group that it lies in.
    Draid(DraidStripes),
}

impl Iterator for Stripes {
    type Item = Stripe;

    #[inline]
    fn next(&mut self) -> Option<Stripe> {
        match self {
            Self::RaidZ(columns) => columns.take().map(Stripe::RaidZ),
            Self::Draid(stripes) => stripes.next().map(Stripe::Draid),
        }
    }
}

/// A block, or the part of it in one redundancy group, which has parity of its own.
#[derive(Debug, Clone, Copy)]
pub enum Stripe {
    /// In RAID-Z.
    RaidZ(Columns),
    /// In dRAID.
    Draid(DraidColumns),
}

impl Striped {
    /// Drives that may fail.
    #[must_use]
    pub fn parity(&self) -> u8 {
        match self {
            Self::RaidZ(raid_z) => raid_z.parity,
            Self::Draid(layout) => layout.draid().parity,
        }
    }

    /// Bytes of the vdev that a block of `bytes` on disk takes: its `asize`.
    #[must_use]
    pub fn allocated_bytes(&self, bytes: u64) -> u64 {
        match self {
            Self::RaidZ(raid_z) => raid_z.allocated_bytes(bytes),
            Self::Draid(layout) => layout.allocated_bytes(bytes),
        }
    }

    /// Where a block of `bytes` at `offset` of the vdev lies.
    #[inline]
    pub fn stripes(&self, offset: u64, bytes: u64) -> Stripes {
        match self {
            Self::RaidZ(raid_z) => Stripes::RaidZ(Some(raid_z.columns(offset, bytes))),
            Self::Draid(layout) => Stripes::Draid(layout.columns(offset, bytes)),
        }
    }
}

impl Stripe {
    fn column(&self, number: u8) -> Column {
        match self {
            Self::RaidZ(columns) => columns.column(number),
            Self::Draid(columns) => columns.column(number),
        }
    }

    fn numbers(&self) -> (u8, u8) {
        match self {
            Self::RaidZ(columns) => columns.numbers(),
            Self::Draid(columns) => (columns.parity_count(), columns.count()),
        }
    }

    /// Columns with parity.
    pub fn parity(&self) -> impl Iterator<Item = Column> + use<> {
        let (this, (parity, _)) = (*self, self.numbers());
        (0..parity).map(move |number| this.column(number))
    }

    /// Those with data, in the order of the data.
    pub fn data(&self) -> impl Iterator<Item = Column> + use<> {
        let (this, (parity, in_use)) = (*self, self.numbers());
        let columns = (parity..in_use).map(move |number| this.column(number));
        columns.filter(|column| column.sectors > 0)
    }

    /// Data columns as parity is computed from them. In dRAID all are of one height, with zeros that are written, and
    /// read by scans and for what is lost (`vdev_draid_map_alloc_write`, `vdev_draid_map_alloc_scrub`,
    /// `vdev_draid_map_alloc_empty`).
    pub fn full_data(&self) -> impl Iterator<Item = Column> + use<> {
        let (this, (parity, in_use)) = (*self, self.numbers());
        (parity..in_use).map(move |number| match &this {
            Self::RaidZ(columns) => columns.column(number),
            Self::Draid(columns) => columns.full_column(number),
        })
    }

    /// Sectors that only fill gaps between writes: those that RAID-Z skips.
    pub fn skipped(&self) -> impl Iterator<Item = Column> + use<> {
        let columns = match self {
            Self::RaidZ(columns) => Some(columns.skipped()),
            Self::Draid(_) => None,
        };
        columns.into_iter().flatten()
    }
}
