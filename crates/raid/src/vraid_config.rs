//! The configuration of a VRAID-5 disk group.

use crate::SECTOR_BYTES;
use crate::layout_error::LayoutError;

/// Spindles of one stripe: four chunks of data and one of parity, whatever the size of the
/// redundancy set.
pub(crate) const MEMBERS: u16 = 5;

/// The redundancy sets of a disk group, and the units in which space is allocated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VraidConfig {
    /// Spindles in each redundancy set (RSS), 5 to 16. The spindles of the disk group are
    /// numbered set after set.
    pub redundancy_sets: Vec<u16>,
    /// Bytes of a stripe on one spindle; a power of two of at least a sector.
    pub chunk_bytes: u64,
    /// Bytes of a segment (PSEG), which is whole on one spindle; a power of two of at least a
    /// chunk.
    pub segment_bytes: u64,
}

impl VraidConfig {
    /// The chunk of an EVA: 128 KiB.
    pub const DEFAULT_CHUNK_BYTES: u64 = 128 << 10;

    /// The segment of an EVA: 2 MiB.
    pub const DEFAULT_SEGMENT_BYTES: u64 = 2 << 20;

    /// The fewest spindles of a redundancy set: as many as a stripe has units.
    pub const LEAST_SET: u16 = MEMBERS;

    /// The most spindles of a redundancy set.
    pub const MOST_SET: u16 = 16;

    /// The given redundancy sets with the chunk and segment of an EVA.
    pub fn new(redundancy_sets: Vec<u16>) -> Self {
        Self {
            redundancy_sets,
            chunk_bytes: Self::DEFAULT_CHUNK_BYTES,
            segment_bytes: Self::DEFAULT_SEGMENT_BYTES,
        }
    }

    /// `spindles` split into redundancy sets as an EVA aims to: 6 to 11 spindles each and near 8
    /// on average, sizes at most one apart. 20 spindles become `[10, 10]`.
    ///
    /// Five spindles make one set. How an array really splits depends on the order in which
    /// drives were added, so a study should state its split if it is known.
    ///
    /// # Errors
    ///
    /// [`LayoutError::RedundancySet`] if there are fewer than 5 spindles.
    ///
    /// ```
    /// use strewn_raid::VraidConfig;
    ///
    /// assert_eq!(VraidConfig::for_spindles(20)?.redundancy_sets, [10, 10]);
    /// assert_eq!(VraidConfig::for_spindles(96)?.redundancy_sets, [8; 12]);
    /// # Ok::<(), strewn_raid::LayoutError>(())
    /// ```
    pub fn for_spindles(spindles: u16) -> Result<Self, LayoutError> {
        if spindles < Self::LEAST_SET {
            return Err(LayoutError::RedundancySet { position: 0, spindles });
        }
        // The nearest number of sets to spindles / 8, the lower of two as near.
        let near_eight = (u32::from(spindles) + 3) / 8;
        let fewest = u32::from(spindles).div_ceil(11);
        let most = (u32::from(spindles) / 6).max(1);
        let sets = near_eight.clamp(fewest, most.max(fewest)) as u16;
        let larger = usize::from(spindles % sets);
        let mut redundancy_sets = vec![spindles / sets; usize::from(sets)];
        redundancy_sets[..larger].iter_mut().for_each(|set| *set += 1);
        Ok(Self::new(redundancy_sets))
    }

    /// Spindles of the disk group; only once [`check`](Self::check) has found them to be few
    /// enough to count.
    pub(crate) fn spindles(&self) -> u16 {
        self.redundancy_sets.iter().sum()
    }

    /// Sectors of a stripe on one spindle.
    pub fn chunk_sectors(&self) -> u64 {
        self.chunk_bytes / SECTOR_BYTES
    }

    /// Sectors of a segment.
    pub fn segment_sectors(&self) -> u64 {
        self.segment_bytes / SECTOR_BYTES
    }

    pub(crate) fn check(&self) -> Result<(), LayoutError> {
        if self.redundancy_sets.is_empty() {
            return Err(LayoutError::NoRedundancySet);
        }
        for (position, &spindles) in self.redundancy_sets.iter().enumerate() {
            if !(Self::LEAST_SET..=Self::MOST_SET).contains(&spindles) {
                return Err(LayoutError::RedundancySet { position, spindles });
            }
        }
        let spindles = self.redundancy_sets.iter().map(|&spindles| u64::from(spindles)).sum();
        if spindles > u64::from(u16::MAX) {
            return Err(LayoutError::TooManySpindles { spindles });
        }
        if !self.chunk_bytes.is_power_of_two() || self.chunk_bytes < SECTOR_BYTES {
            return Err(LayoutError::VraidChunk { chunk_bytes: self.chunk_bytes });
        }
        let largest_segment = u64::from(u32::MAX);
        if !self.segment_bytes.is_power_of_two()
            || !(self.chunk_bytes..=largest_segment).contains(&self.segment_bytes)
        {
            return Err(LayoutError::Segment {
                segment_bytes: self.segment_bytes,
                chunk_bytes: self.chunk_bytes,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_splits_keep_sets_of_6_to_11() {
        for spindles in 6..=1000 {
            let sets = VraidConfig::for_spindles(spindles).unwrap().redundancy_sets;
            assert_eq!(sets.iter().sum::<u16>(), spindles);
            assert!(sets.iter().all(|set| (6..=11).contains(set)), "{spindles}: {sets:?}");
            assert!(sets[0] - sets[sets.len() - 1] <= 1);
        }
    }

    #[test]
    fn default_splits_by_example() {
        for (spindles, sets) in [
            (5, vec![5]),
            (8, vec![8]),
            (11, vec![11]),
            (12, vec![6, 6]),
            (13, vec![7, 6]),
            (16, vec![8, 8]),
            (20, vec![10, 10]),
            (21, vec![7, 7, 7]),
            (24, vec![8, 8, 8]),
        ] {
            assert_eq!(VraidConfig::for_spindles(spindles).unwrap().redundancy_sets, sets);
        }
        assert!(VraidConfig::for_spindles(4).is_err());
    }

    #[test]
    fn errors_name_the_field_and_what_is_right() {
        let error = |change: fn(&mut VraidConfig)| {
            let mut config = VraidConfig::new(vec![10, 10]);
            change(&mut config);
            config.check().unwrap_err().to_string()
        };
        assert_eq!(
            error(|config| config.redundancy_sets[1] = 4),
            "a redundancy set has 5 to 16 spindles (6 to 11 as an EVA keeps them); set 1 has 4"
        );
        assert_eq!(
            error(|config| config.chunk_bytes = 3000),
            "chunk_bytes is a power of two of at least 512 bytes, not 3000"
        );
        assert_eq!(
            error(|config| config.segment_bytes = 65536),
            "segment_bytes is a power of two from chunk_bytes (131072) to 2 GiB, not 65536"
        );
        assert_eq!(
            error(|config| config.redundancy_sets.clear()),
            "a disk group has 1 redundancy set or more, not 0"
        );
        assert_eq!(
            error(|config| config.redundancy_sets = vec![16; 4096]),
            "a disk group has at most 65535 spindles, not 65536"
        );
    }
}
