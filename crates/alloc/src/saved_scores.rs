//! The scores of areas, saved with the maps so that mounting need not read the maps.

use std::error::Error;
use std::fmt;

use strewn_raid::ParityGroup;

use crate::crc32::crc32;
use crate::free_map::FreeMap;
use crate::options::AggregateError;

/// The first bytes: a name and a version.
const MAGIC: [u8; 8] = *b"STRWNAA2";

/// The scores of all allocation areas as of one consistency point. WAFL keeps the best of them in a metadata file
/// ("TopAA") for the same reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedScores {
    consistency_points: u64,
    groups: Vec<GroupScores>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct GroupScores {
    stripes: u64,
    data_spindles: u16,
    /// [`Parity::number`](strewn_raid::Parity::number).
    parity: u8,
    area_stripes: u64,
    scores: Vec<u32>,
}

/// Why an aggregate cannot be mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MountError {
    /// The options or groups are invalid.
    Aggregate(AggregateError),
    /// The scores are of another consistency point than the maps.
    Stale {
        /// Consistency points committed when the scores were saved.
        scores: u64,
        /// Consistency points committed when the maps were.
        maps: u64,
    },
    /// The scores are of groups with another parity, or of another shape.
    Shape {
        /// The group, counted from 0.
        group: usize,
    },
    /// The score of an area is higher than it has blocks.
    Score {
        /// The group, counted from 0.
        group: usize,
        /// The area within the group, counted from 0.
        area: u32,
        /// Free blocks, as saved.
        score: u32,
        /// Blocks of the area.
        blocks: u64,
    },
    /// A map has too few or too many words.
    Words {
        /// The group, counted from 0.
        group: usize,
        /// Words given.
        words: u64,
        /// Words needed: one a data spindle for every 64 stripes.
        needed: u64,
    },
    /// The bytes are not saved scores, or are of an unknown version.
    ForeignScores,
    /// The bytes of the scores are truncated, or followed by others.
    ScoresLength,
    /// The checksum of the scores does not match.
    ScoresChecksum,
}

impl fmt::Display for MountError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Aggregate(inner) => inner.fmt(formatter),
            Self::Stale { scores, maps } => write!(
                formatter,
                "the scores are of consistency point {scores}, the maps of {maps}: \
                recount the areas (`SavedScores::counted`)"
            ),
            Self::Shape { group } => write!(
                formatter,
                "the scores of group {group} are of another shape or parity: if the group is \
                right, recount the areas (`SavedScores::counted`)"
            ),
            Self::Score { group, area, score, blocks } => write!(
                formatter,
                "the scores of group {group} are damaged: area {area} of {blocks} blocks has a \
                score of {score}: recount the areas (`SavedScores::counted`)"
            ),
            Self::Words { group, words, needed } => {
                write!(formatter, "the map of group {group} has {words} words: it takes {needed}")
            }
            Self::ForeignScores => formatter.write_str(
                "not the scores of allocation areas, or of a version this one does not know",
            ),
            Self::ScoresLength => {
                formatter.write_str("the scores are cut off, or something follows them")
            }
            Self::ScoresChecksum => formatter.write_str("the checksum of the scores is wrong"),
        }
    }
}

impl Error for MountError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Aggregate(inner) => inner.source(),
            _ => None,
        }
    }
}

impl From<AggregateError> for MountError {
    fn from(inner: AggregateError) -> Self {
        Self::Aggregate(inner)
    }
}

impl SavedScores {
    pub(crate) fn of<'a>(consistency_points: u64, maps: impl Iterator<Item = &'a FreeMap>) -> Self {
        let groups = maps.map(|map| GroupScores {
            stripes: map.group().stripes(),
            data_spindles: map.group().data_spindles(),
            parity: map.group().parity().number(),
            area_stripes: map.area_stripes(),
            scores: (0..map.areas().count()).map(|area| map.areas().free_blocks_in(area)).collect(),
        });
        Self { consistency_points, groups: groups.collect() }
    }

    /// Counts the scores from the maps, if none were saved or they are stale. Reads every word.
    ///
    /// `words` are as [`FreeMap::words`] returns them. Bits past the last stripe count as used, whatever their value.
    #[must_use]
    pub fn counted<'a>(
        consistency_points: u64,
        area_stripes: u64,
        groups: impl IntoIterator<Item = (ParityGroup, &'a [u64])>,
    ) -> Self {
        let groups = groups.into_iter().map(|(group, words)| {
            let spindles = usize::from(group.data_spindles());
            let rows_of_area = (area_stripes / 64).max(1) as usize;
            let tail = group.stripes() % 64;
            let last_row = group.stripes().div_ceil(64) - 1;
            let mut scores = vec![0; group.stripes().div_ceil(area_stripes.max(64)) as usize];
            for (row, words) in words.chunks(spindles).enumerate() {
                let exists =
                    if tail != 0 && row as u64 == last_row { (1 << tail) - 1 } else { u64::MAX };
                let free: u32 = words.iter().map(|word| (!word & exists).count_ones()).sum();
                if let Some(score) = scores.get_mut(row / rows_of_area) {
                    *score += free;
                }
            }
            GroupScores {
                stripes: group.stripes(),
                data_spindles: group.data_spindles(),
                parity: group.parity().number(),
                area_stripes,
                scores,
            }
        });
        Self { consistency_points, groups: groups.collect() }
    }

    /// The scores of each of `groups`, if they match.
    pub(crate) fn for_groups<'a>(
        self,
        groups: impl Iterator<Item = &'a ParityGroup>,
        area_stripes: u64,
        consistency_points: u64,
    ) -> Result<Vec<Vec<u32>>, MountError> {
        if self.consistency_points != consistency_points {
            let (scores, maps) = (self.consistency_points, consistency_points);
            return Err(MountError::Stale { scores, maps });
        }
        let groups: Vec<_> = groups.collect();
        for (index, group) in groups.iter().enumerate() {
            let fits = self.groups.get(index).is_some_and(|saved| {
                saved.stripes == group.stripes()
                    && saved.data_spindles == group.data_spindles()
                    && saved.parity == group.parity().number()
                    && saved.area_stripes == area_stripes
                    && saved.scores.len() as u64 == group.stripes().div_ceil(area_stripes)
            });
            if !fits {
                return Err(MountError::Shape { group: index });
            }
            for (area, &score) in (0..).zip(&self.groups[index].scores) {
                let first = u64::from(area) * area_stripes;
                let stripes = (group.stripes() - first).min(area_stripes);
                let blocks = stripes * u64::from(group.data_spindles());
                if u64::from(score) > blocks {
                    return Err(MountError::Score { group: index, area, score, blocks });
                }
            }
        }
        if self.groups.len() > groups.len() {
            return Err(MountError::Shape { group: groups.len() });
        }
        Ok(self.groups.into_iter().map(|group| group.scores).collect())
    }

    /// Serialises the scores: magic and version, consistency points, groups (stripes, data spindles, parity,
    /// stripes of an area, number of areas, scores), all little-endian, then a CRC-32 of everything before it.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.consistency_points.to_le_bytes());
        bytes.extend((self.groups.len() as u32).to_le_bytes());
        for group in &self.groups {
            bytes.extend(group.stripes.to_le_bytes());
            bytes.extend(group.data_spindles.to_le_bytes());
            bytes.push(group.parity);
            bytes.extend(group.area_stripes.to_le_bytes());
            bytes.extend((group.scores.len() as u32).to_le_bytes());
            bytes.extend(group.scores.iter().flat_map(|score| score.to_le_bytes()));
        }
        bytes.extend(crc32(&bytes).to_le_bytes());
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// # Errors
    /// [`MountError`] if the bytes are something else or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, MountError> {
        if !bytes.starts_with(&MAGIC) {
            return Err(MountError::ForeignScores);
        }
        let (body, checksum) = bytes.split_last_chunk::<4>().ok_or(MountError::ScoresLength)?;
        if crc32(body) != u32::from_le_bytes(*checksum) {
            return Err(MountError::ScoresChecksum);
        }
        let mut rest = &body[MAGIC.len()..];
        let consistency_points = u64::from_le_bytes(take(&mut rest)?);
        let count = u32::from_le_bytes(take(&mut rest)?);
        let mut groups = Vec::new();
        for _ in 0..count {
            let stripes = u64::from_le_bytes(take(&mut rest)?);
            let data_spindles = u16::from_le_bytes(take(&mut rest)?);
            let [parity] = take(&mut rest)?;
            let area_stripes = u64::from_le_bytes(take(&mut rest)?);
            let areas = u32::from_le_bytes(take(&mut rest)?) as usize;
            let scores = rest.get(..areas * 4).ok_or(MountError::ScoresLength)?;
            rest = &rest[areas * 4..];
            let scores = scores
                .chunks_exact(4)
                .map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]]));
            let scores = scores.collect();
            groups.push(GroupScores { stripes, data_spindles, parity, area_stripes, scores });
        }
        if !rest.is_empty() {
            return Err(MountError::ScoresLength);
        }
        Ok(Self { consistency_points, groups })
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], MountError> {
    let (taken, after) = rest.split_first_chunk::<N>().ok_or(MountError::ScoresLength)?;
    *rest = after;
    Ok(*taken)
}
