//! Verification: counts equal maps.

use std::error::Error;
use std::fmt;

use strewn_raid::{BlockLocation, SpindleIndex, Vbn};

use super::{Aggregate, Taken};
use crate::free_map::MapViolation;
use crate::group_index::GroupIndex;
use crate::mask::bits;

impl<T: Copy> Aggregate<T> {
    /// Verifies that counts equal maps, that blocks allocated by the open consistency point are in use, and that blocks
    /// it freed, and delayed frees, still are. Reads all maps.
    ///
    /// # Errors
    /// The first violation, with its location.
    pub fn verify(&self) -> Result<(), AggregateViolation> {
        for (index, group) in self.groups.iter().enumerate() {
            let index = GroupIndex(index as u16);
            group.map.verify().map_err(|found| AggregateViolation::of_map(index, found))?;
        }
        for Taken { place, mask } in &self.taken {
            let map = &self.groups[place.group().index()].map;
            if let Some(bit) = bits(map.free_in_word(place.word()) & mask).next() {
                let BlockLocation { spindle, dbn } = map.location(*place);
                return Err(AggregateViolation::TakenIsFree {
                    group: place.group(),
                    spindle,
                    stripe: dbn.0 + u64::from(bit),
                });
            }
        }
        for vbn in self.pending_frees() {
            if self.is_free(vbn) {
                return Err(AggregateViolation::FreedTooEarly(vbn));
            }
        }
        Ok(())
    }
}

/// What [`Aggregate::verify`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AggregateViolation {
    /// A summary level of the map marks words as full that have a free block.
    MarkedFull {
        /// Parity group of the map.
        group: GroupIndex,
        /// The first stripe that the mark covers.
        stripe: u64,
    },
    /// The score of an area differs from its map.
    AreaCount {
        /// Parity group of the area.
        group: GroupIndex,
        /// Allocation area within the group, counted from 0.
        area: u32,
        /// Free blocks by its score.
        score: u32,
        /// Free blocks in its map.
        in_map: u32,
    },
    /// The count of a group is not the sum of its areas.
    GroupCount {
        /// Parity group that was counted.
        group: GroupIndex,
        /// Free blocks of the group, as counted.
        counted: u64,
        /// Free blocks of its areas.
        in_areas: u64,
    },
    /// A block allocated by the open consistency point is free.
    TakenIsFree {
        /// Parity group of the block.
        group: GroupIndex,
        /// Data spindle within the group, counted from 0.
        spindle: SpindleIndex,
        /// The stripe (and DBN).
        stripe: u64,
    },
    /// A block freed by the open consistency point, or a delayed free, can already be allocated.
    FreedTooEarly(Vbn),
}

impl fmt::Display for AggregateViolation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MarkedFull { group, stripe } => write!(
                formatter,
                "group {} at stripe {stripe}: marked full, but has a free block",
                group.0
            ),
            Self::AreaCount { group, area, score, in_map } => write!(
                formatter,
                "group {}, allocation area {area}: {score} free blocks counted, its \
                map has {in_map}",
                group.0
            ),
            Self::GroupCount { group, counted, in_areas } => write!(
                formatter,
                "group {}: {counted} free blocks counted, its areas have {in_areas}",
                group.0
            ),
            Self::TakenIsFree { group, spindle, stripe } => write!(
                formatter,
                "group {}, {spindle}, stripe {stripe}: taken by the open consistency \
                point, but free",
                group.0
            ),
            Self::FreedTooEarly(vbn) => {
                write!(
                    formatter,
                    "{vbn}: freed by the open consistency point or delayed, but already free"
                )
            }
        }
    }
}

impl Error for AggregateViolation {}

impl AggregateViolation {
    fn of_map(group: GroupIndex, found: MapViolation) -> Self {
        match found {
            MapViolation::MarkedFull { stripe } => Self::MarkedFull { group, stripe },
            MapViolation::AreaCount { area, score, in_map } => {
                Self::AreaCount { group, area, score, in_map }
            }
            MapViolation::Total { counted, in_areas } => {
                Self::GroupCount { group, counted, in_areas }
            }
        }
    }
}
