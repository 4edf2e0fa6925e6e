//! Saved scores that are not those of their maps.

use std::error::Error;
use std::fmt;

use crate::group_index::GroupIndex;

/// The saved score of an allocation area is not that of its map: scores and words were not saved together, or one of
/// them is damaged. Nothing is allocated from such an area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScoreMismatch {
    /// Parity group, counted from 0.
    pub group: GroupIndex,
    /// Allocation area within the group, counted from 0.
    pub area: u32,
    /// Free blocks by its score.
    pub score: u32,
    /// Free blocks in its map.
    pub in_map: u32,
}

impl fmt::Display for ScoreMismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "group {}, allocation area {}: mounted with a score of {} free blocks, its map has {}: \
            if the map is right, mount it with counted scores (`SavedScores::counted`)",
            self.group.0, self.area, self.score, self.in_map
        )
    }
}

impl Error for ScoreMismatch {}
