//! The map: where a file's blocks lie on every spindle, and what is free, before the first segment and after each.
//!
//! A spindle's address range is divided into columns of (nearly) equal size. For each column three things are recorded
//! in 64 levels: how much of it holds the file, how far those blocks lie from the blocks that precede them in the file,
//! and how much of it is free. `docs/report.md` describes the file, `map.json`.

use crate::data::json::ResultsError;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use strewn_alloc::{MAP_LEVELS, MapPicture, SpindleLevels};

/// Version of the layout of `map.json` that this crate writes, and the only one it reads.
pub const MAP_SCHEMA: u32 = 1;

/// Columns of a spindle, if it has as many blocks.
pub const MAP_COLUMNS: u32 = 1024;

/// Where the files of all arrays of a run were.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayoutMap {
    /// Layout of this file; [`MAP_SCHEMA`].
    pub schema: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of every random draw.
    pub seed: u64,
    /// The arrays, in the order of the results.
    pub arrays: Vec<ArrayMap>,
}

/// Where the file of one array was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrayMap {
    /// Name of the array.
    pub name: String,
    /// Blocks of 4 KiB on a spindle.
    pub blocks_per_spindle: u64,
    /// Columns of each spindle.
    pub columns: u32,
    /// The first spindle that holds only parity; these come last. None if there are none, or if there are several
    /// parity groups.
    pub first_parity_spindle: Option<u16>,
    /// The spindles that hold only parity, in ascending order, where there are several parity groups; absent otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parity_spindles: Vec<u16>,
    /// The states found, in order. Consecutive states without a difference are one snapshot.
    pub snapshots: Vec<Snapshot>,
}

/// All spindles of an array at a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Segments at whose end this was the state; 0 is before the first.
    pub after_segments: Vec<u32>,
    /// The spindles, in order.
    pub spindles: Vec<Strip>,
}

/// One spindle at a moment, from its first block to its last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strip {
    /// How much of a column holds the file: level 0 none of it, 63 all of it, between them by share.
    pub file: Levels,
    /// How far the file's blocks in a column lie from their predecessors. Half a level is the mean of log2(1 + d),
    /// where d is the distance in blocks of 4 KiB between a block's address on its spindle and the address right behind
    /// its predecessor's on the predecessor's spindle; 0 is right behind it.
    pub distance: Levels,
    /// How much of a column is free: level 0 none of it, 63 all of it. On a parity spindle, how much of it has stripes
    /// without any data. None for an array that does not allocate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free: Option<Levels>,
}

/// One level per column, 0 to 63. As text, one letter per column, in the base64 alphabet (`A` is 0, `/` is 63). Columns
/// past the end of the text have the level of its last letter; in an empty text all are 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Levels(Vec<u8>);

const LETTERS: &[u8; MAP_LEVELS as usize] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

impl Levels {
    /// Creates the levels of all columns. Equal levels at the end are stored once.
    #[must_use]
    pub fn new(mut levels: Vec<u8>) -> Self {
        for level in &mut levels {
            *level = (*level).min(MAP_LEVELS - 1);
        }
        while let [.., before, last] = levels[..]
            && before == last
        {
            levels.pop();
        }
        if levels == [0] {
            levels.clear();
        }
        Self(levels)
    }

    /// Returns the level of a column.
    #[must_use]
    pub fn level(&self, column: usize) -> u8 {
        self.0.get(column).or(self.0.last()).copied().unwrap_or_default()
    }

    /// Returns the first column from which all have the same level.
    #[must_use]
    pub fn settled_from(&self) -> usize {
        self.0.len().saturating_sub(1)
    }
}

impl Serialize for Levels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text: String =
            self.0.iter().map(|level| char::from(LETTERS[usize::from(*level)])).collect();
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Levels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let level = |letter: u8| {
            LETTERS
                .iter()
                .position(|known| *known == letter)
                .map(|level| level as u8)
                .ok_or_else(|| D::Error::custom("a level is one of A-Z, a-z, 0-9, + and /"))
        };
        Ok(Self::new(text.bytes().map(level).collect::<Result<_, _>>()?))
    }
}

impl LayoutMap {
    /// Returns the text of `map.json`: one line, the same bytes for equal maps.
    ///
    /// # Errors
    ///
    /// None that a map can cause.
    pub fn to_json_string(&self) -> Result<String, ResultsError> {
        Ok(serde_json::to_string(self)? + "\n")
    }

    /// Reads the text of a `map.json`.
    ///
    /// # Errors
    ///
    /// [`ResultsError::Schema`] for another schema than [`MAP_SCHEMA`], [`ResultsError::Json`] for text that is not
    /// JSON or lacks a field.
    pub fn from_json(text: &str) -> Result<Self, ResultsError> {
        crate::data::json::check_schema(text, "the map", MAP_SCHEMA)?;
        Ok(serde_json::from_str(text)?)
    }

    /// Returns the same map with half as many columns. Two become one: shares by their mean, distances weighted by
    /// where the file is.
    #[must_use]
    pub fn halved(&self) -> Self {
        Self { arrays: self.arrays.iter().map(ArrayMap::halved).collect(), ..self.clone() }
    }

    /// Returns the map of the array called `name`.
    #[must_use]
    pub fn array(&self, name: &str) -> Option<&ArrayMap> {
        self.arrays.iter().find(|array| array.name == name)
    }
}

impl ArrayMap {
    /// Creates an empty map.
    #[must_use]
    pub fn new(name: &str, blocks_per_spindle: u64, first_parity_spindle: Option<u16>) -> Self {
        Self {
            name: name.to_owned(),
            blocks_per_spindle,
            columns: u64::from(MAP_COLUMNS).min(blocks_per_spindle.max(1)) as u32,
            first_parity_spindle,
            parity_spindles: Vec::new(),
            snapshots: Vec::new(),
        }
    }

    /// Returns whether a spindle holds only parity.
    #[must_use]
    pub fn is_parity(&self, spindle: u16) -> bool {
        self.first_parity_spindle.is_some_and(|first| spindle >= first)
            || self.parity_spindles.contains(&spindle)
    }

    /// Creates an empty picture of `spindles` spindles, to be filled. `allocates` says whether there is free space to
    /// show.
    #[must_use]
    pub fn picture(&self, spindles: u16, allocates: bool) -> MapPicture {
        MapPicture::new(spindles, self.columns, self.blocks_per_spindle, allocates)
    }

    /// Adds the state at the end of `segment`; 0 is before the first.
    pub fn add(&mut self, segment: u32, picture: &MapPicture) {
        let strip = |levels: SpindleLevels| Strip {
            file: Levels::new(levels.file),
            distance: Levels::new(levels.distance),
            free: levels.free.map(Levels::new),
        };
        let spindles = picture.levels().map(strip).collect();
        match self.snapshots.last_mut() {
            Some(last) if last.spindles == spindles => last.after_segments.push(segment),
            _ => self.snapshots.push(Snapshot { after_segments: vec![segment], spindles }),
        }
    }

    fn halved(&self) -> Self {
        let columns = self.columns.div_ceil(2);
        let pairs = |levels: &Levels, merge: &dyn Fn(usize, u8, u8) -> u8| {
            let pair = |column: usize| {
                let (one, other) = (2 * column, (2 * column + 1).min(self.columns as usize - 1));
                merge(column, levels.level(one), levels.level(other))
            };
            Levels::new((0..columns as usize).map(pair).collect())
        };
        // As in the whole map: a small share does not vanish, and only all is all.
        let share = |_: usize, one: u8, other: u8| match (one, other) {
            (0, 0) => 0,
            (63, 63) => 63,
            _ => (u16::from(one) + u16::from(other)).div_euclid(2).clamp(1, 62) as u8,
        };
        let strip = |strip: &Strip| {
            let distance = |column: usize, one: u8, other: u8| {
                let weight = |column: usize| u32::from(strip.file.level(column));
                let (first, second) = (weight(2 * column), weight(2 * column + 1));
                let sum = first * u32::from(one) + second * u32::from(other);
                (sum / (first + second).max(1)) as u8
            };
            Strip {
                file: pairs(&strip.file, &share),
                distance: pairs(&strip.distance, &distance),
                free: strip.free.as_ref().map(|free| pairs(free, &share)),
            }
        };
        let snapshot = |at: &Snapshot| Snapshot {
            after_segments: at.after_segments.clone(),
            spindles: at.spindles.iter().map(strip).collect(),
        };
        Self { columns, snapshots: self.snapshots.iter().map(snapshot).collect(), ..self.clone() }
    }

    /// Returns the part of a spindle's addresses, 0 to 1, that the file has ever occupied.
    #[must_use]
    pub fn span(&self) -> f64 {
        let strips = self.snapshots.iter().flat_map(|snapshot| &snapshot.spindles);
        // The end is empty, unless the file lies at the very end.
        let end = |strip: &Strip| match strip.file.level(self.columns as usize) {
            0 => strip.file.settled_from(),
            _ => self.columns as usize,
        };
        strips.map(end).max().unwrap_or_default() as f64 / f64::from(self.columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_short_as_text_and_the_same_when_read_back() {
        for (levels, text) in [
            (vec![0; 9], "\"\""),
            (vec![63; 9], "\"/\""),
            (vec![1, 2, 2, 2], "\"BC\""),
            (vec![5, 0, 0], "\"FA\""),
        ] {
            let kept = Levels::new(levels.clone());
            assert_eq!(serde_json::to_string(&kept).unwrap(), text);
            assert_eq!(serde_json::from_str::<Levels>(text).unwrap(), kept);
            let back: Vec<u8> = (0..levels.len()).map(|column| kept.level(column)).collect();
            assert_eq!(back, levels);
        }
        assert!(serde_json::from_str::<Levels>("\"A-\"").is_err());
    }

    #[test]
    fn a_file_in_two_pieces_is_where_it_was_put() {
        let mut map = ArrayMap::new("a", 4096, None);
        let mut picture = map.picture(2, true);
        // Four blocks a column: one whole column, one that is three quarters full, and a piece far away.
        picture.add_run(0, 0, 7, 0);
        picture.add_run(1, 2048, 4, 1023);
        picture.add_free_word(1, 0, u64::MAX);
        map.add(0, &picture);
        map.add(1, &picture);
        assert_eq!(map.snapshots.len(), 1);
        let [near, far] = &map.snapshots[0].spindles[..] else { panic!() };
        assert_eq!(map.snapshots[0].after_segments, [0, 1]);
        assert_eq!((near.file.level(0), near.file.level(1), near.file.level(2)), (63, 47, 0));
        assert_eq!(near.distance.level(0), 0);
        // One block of four is 2^10 away: a mean of 2.5 doublings.
        assert_eq!((far.file.level(512), far.distance.level(512)), (63, 5));
        let free = far.free.as_ref().unwrap();
        assert_eq!((free.level(0), free.level(15), free.level(16)), (63, 63, 0));
        assert_eq!(map.span(), 513.0 / 1024.0);
    }

    #[test]
    fn half_as_many_columns_show_the_same() {
        let mut map = ArrayMap::new("a", 4096, None);
        let mut picture = map.picture(1, true);
        picture.add_run(0, 0, 12, 1023);
        picture.add_free_word(0, 4000, 1);
        map.add(0, &picture);
        let half = map.halved();
        assert_eq!(half.columns, 512);
        let strip = &half.snapshots[0].spindles[0];
        assert_eq!([0, 1, 2].map(|column| strip.file.level(column)), [63, 31, 0]);
        assert_eq!([0, 1].map(|column| strip.distance.level(column)), [2, 0]);
        let free = strip.free.as_ref().unwrap();
        assert_eq!([499, 500, 501].map(|column| free.level(column)), [0, 7, 0]);
        assert_eq!(half.span(), 2.0 / 512.0);
    }
}
