//! The map: where a file's blocks lie on every spindle, and what is free, before the first segment and after each.
//!
//! A spindle's address range is divided into columns of (nearly) equal size. For each column three things are recorded
//! in 64 levels: how much of it holds the file, how far those blocks lie from the blocks that precede them in the file,
//! and how much of it is free. `docs/report.md` describes the file, `map.json`.

use crate::data::json::ResultsError;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ops::Range;

/// Version of the layout of `map.json` that this crate writes, and the only one it reads.
pub const MAP_SCHEMA: u32 = 1;

/// Columns of a spindle, if it has as many blocks.
pub const MAP_COLUMNS: u32 = 1024;

/// Levels of a [`Levels`]: 0 to 63.
pub const MAP_LEVELS: u8 = 64;

/// Levels per doubling of a distance.
const LEVELS_PER_DOUBLING: u64 = 2;

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
        let cells = usize::from(spindles) * self.columns as usize;
        let (columns, blocks) = (u64::from(self.columns), self.blocks_per_spindle);
        MapPicture {
            starts: (0..=columns).map(|column| (column * blocks).div_ceil(columns)).collect(),
            columns_per_block: (columns << 32) / blocks.max(1),
            columns: self.columns,
            file: vec![0; cells],
            distance: vec![0; cells],
            free: if allocates { vec![0; cells] } else { Vec::new() },
        }
    }

    /// Adds the state at the end of `segment`; 0 is before the first.
    pub fn add(&mut self, segment: u32, picture: &MapPicture) {
        let spindles = picture.strips();
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

/// A picture being filled: blocks counted by spindle and column.
#[derive(Clone, Debug)]
pub struct MapPicture {
    /// The first block of each column, and of one more. They avoid a division for each of a hundred million runs.
    starts: Vec<u64>,
    /// In 2⁻³², rounded down.
    columns_per_block: u64,
    columns: u32,
    file: Vec<u32>,
    /// Sums of log2(1 + distance), in 256ths.
    distance: Vec<u64>,
    free: Vec<u32>,
}

impl MapPicture {
    /// Adds a run of `blocks` consecutive blocks of the file, from block `first` of `spindle`. The first of them lies
    /// `distance` blocks from the end of its predecessor; the others are right behind theirs.
    #[inline]
    pub fn add_run(&mut self, spindle: u16, first: u64, blocks: u64, distance: u64) {
        let column = self.column_of(first);
        let cell = self.cell(spindle, column);
        self.distance[cell] += u64::from(log2_in_256ths(1 + distance));
        self.split(first, blocks, column, |picture, column, blocks| {
            let cell = picture.cell(spindle, column);
            picture.file[cell] += blocks;
        });
    }

    /// Adds free blocks: those of the 64 blocks from block `first` of `spindle` whose bit is set.
    #[inline]
    pub fn add_free_word(&mut self, spindle: u16, first: u64, word: u64) {
        if word == 0 {
            return;
        }
        let column = self.column_of(first);
        let last = first + u64::from(63 - word.leading_zeros());
        if self.column_of(last) == column {
            let cell = self.cell(spindle, column);
            self.free[cell] += word.count_ones();
            return;
        }
        for bit in (0..64).filter(|bit| word >> bit & 1 == 1) {
            let cell = self.cell(spindle, self.column_of(first + bit));
            self.free[cell] += 1;
        }
    }

    /// Adds the counts of another picture of the same map.
    pub fn add(&mut self, other: &Self) {
        let blocks = self.file.iter_mut().chain(&mut self.free);
        blocks.zip(other.file.iter().chain(&other.free)).for_each(|(sum, more)| *sum += more);
        self.distance.iter_mut().zip(&other.distance).for_each(|(sum, more)| *sum += more);
    }

    /// Distributes a run's blocks over columns, from `column` on.
    #[inline]
    fn split(
        &mut self,
        first: u64,
        blocks: u64,
        mut column: u32,
        mut add: impl FnMut(&mut Self, u32, u32),
    ) {
        let (mut at, end) = (first, first + blocks);
        loop {
            let stop = self.blocks_of(column).end.min(end);
            add(self, column, (stop - at) as u32);
            if stop == end {
                return;
            }
            (at, column) = (stop, column + 1);
        }
    }

    fn cell(&self, spindle: u16, column: u32) -> usize {
        usize::from(spindle) * self.columns as usize + column as usize
    }

    #[inline]
    fn column_of(&self, block: u64) -> u32 {
        let columns = (u128::from(block) * u128::from(self.columns_per_block)) >> 32;
        let mut column = columns as usize;
        debug_assert!(
            self.starts.last() > Some(&block),
            "block {block} is past the end of a spindle"
        );
        while self.starts[column + 1] <= block {
            column += 1;
        }
        column as u32
    }

    /// Returns the blocks of a column: those that [`column_of`](Self::column_of) assigns to it.
    #[inline]
    fn blocks_of(&self, column: u32) -> Range<u64> {
        self.starts[column as usize]..self.starts[column as usize + 1]
    }

    fn strips(&self) -> Vec<Strip> {
        let columns = self.columns as usize;
        let sizes: Vec<u64> = (0..self.columns)
            .map(|column| self.blocks_of(column))
            .map(|blocks| blocks.end - blocks.start)
            .collect();
        let shares = |blocks: &[u32]| {
            let level = |(blocks, size): (&u32, &u64)| share_level(u64::from(*blocks), *size);
            Levels::new(blocks.iter().zip(&sizes).map(level).collect())
        };
        let mut free = self.free.chunks(columns);
        let by_spindle = self.file.chunks(columns).zip(self.distance.chunks(columns));
        let strip = |(file, distance): (&[u32], &[u64])| {
            let level = |(sum, blocks): (&u64, &u32)| {
                let blocks = u64::from(*blocks).max(1);
                ((sum * LEVELS_PER_DOUBLING + 128 * blocks) / (256 * blocks)).min(63) as u8
            };
            Strip {
                file: shares(file),
                distance: Levels::new(distance.iter().zip(file).map(level).collect()),
                free: free.next().map(shares),
            }
        };
        by_spindle.map(strip).collect()
    }
}

/// Returns a share in 64 levels. The first is nothing and the last is all, so that a small share does not vanish.
fn share_level(part: u64, whole: u64) -> u8 {
    match part {
        0 => 0,
        part if part >= whole => 63,
        part => (part * 63 / whole).clamp(1, 62) as u8,
    }
}

/// Returns the binary logarithm in 256ths, linear between powers of two (at most 0.09 below it). It uses whole numbers,
/// so it is the same on every machine.
#[inline]
fn log2_in_256ths(value: u64) -> u32 {
    let power = value.ilog2();
    let behind = (value << (63 - power) >> 55) as u32 & 0xFF;
    power * 256 + behind
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn logarithms_are_straight_between_powers() {
        for (value, logarithm) in [(1, 0), (2, 256), (3, 384), (4, 512), (1 << 25, 6400)] {
            assert_eq!(log2_in_256ths(value), logarithm);
        }
    }

    #[test]
    fn what_little_there_is_does_not_vanish() {
        assert_eq!([0, 1, 999, 1000].map(|part| share_level(part, 1000)), [0, 1, 62, 63]);
    }

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

    proptest! {
        #[test]
        fn every_block_is_counted_once(
            blocks_per_spindle in 1..20_000_u64,
            from in 0.0..1.0_f64,
            to in 0.0..1.0_f64,
        ) {
            let map = ArrayMap::new("a", blocks_per_spindle, None);
            let mut picture = map.picture(1, true);
            let first = (from * (blocks_per_spindle - 1) as f64) as u64;
            let blocks = 1 + (to * (blocks_per_spindle - 1 - first) as f64) as u64;
            picture.add_run(0, first, blocks, 5);
            prop_assert_eq!(picture.file.iter().map(|count| u64::from(*count)).sum::<u64>(), blocks);
            for column in 0..map.columns {
                let whole = picture.blocks_of(column);
                prop_assert!(picture.file[column as usize] as u64 <= whole.end - whole.start);
                prop_assert!(whole.clone().all(|block| picture.column_of(block) == column));
            }
        }
    }
}
