//! Patterns: access specifications with bursts, delays and hot spots.

use crate::distribution::Distribution;
use crate::specification::is_whole_sectors;
use crate::{AccessLine, AccessSpecification, WorkloadError};

/// One kind of access within a [`Pattern`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PatternLine {
    /// Bytes of an access: a positive multiple of 512.
    pub bytes: u32,
    /// How often the line is drawn, in proportion to the weights of the other lines.
    pub weight: u32,
    /// The percentage of this line's accesses that read, 0 to 100; the others write.
    pub read_percent: u8,
    /// The percentage of this line's accesses that go to a random place, 0 to 100; the others are
    /// sequential.
    pub random_percent: u8,
    /// Accesses start at a multiple of this many bytes: a positive multiple of 512.
    pub alignment_bytes: u32,
    /// Accesses in a burst, after which a line is drawn again; 0 counts as 1.
    pub burst_accesses: u32,
    /// The delay before each burst of the line, in nanoseconds.
    pub delay_ns: u64,
}

/// Which previous access a sequential access follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sequence {
    /// The previous access in either direction, as in Iometer.
    #[default]
    AnyAccess,
    /// The previous access in the same direction: reads follow reads, writes follow writes, as in
    /// fio.
    SameDirection,
}

/// A mix of accesses, more general than an [`AccessSpecification`]: any number of lines, each with
/// its own alignment, bursts and delay, and a distribution of random places.
///
/// ```
/// use strewn_workload::{Distribution, Pattern, PatternLine, PatternStream, Sequence};
///
/// let line = PatternLine {
///     bytes: 4096,
///     weight: 1,
///     read_percent: 100,
///     random_percent: 100,
///     alignment_bytes: 4096,
///     burst_accesses: 10,
///     delay_ns: 5_000_000,
/// };
/// let hot = Distribution::Zipf { theta: 1.2, centre: Some(0.5) };
/// let pattern = Pattern {
///     name: "hot".into(),
///     lines: vec![line],
///     distributions: [hot.clone(), hot],
///     sequence: Sequence::AnyAccess,
/// };
/// let mut stream = PatternStream::new(&pattern, 0, 1 << 20, 1)?;
/// let bursts = (0..100).filter(|_| stream.next_access().delay_ns > 0).count();
/// assert_eq!(bursts, 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// The name of the pattern.
    pub name: String,
    /// The kinds of access it mixes.
    pub lines: Vec<PatternLine>,
    /// Where random accesses go: of reads, then of writes.
    pub distributions: [Distribution; 2],
    /// Which access a sequential access follows.
    pub sequence: Sequence,
}

impl From<&AccessSpecification> for Pattern {
    fn from(specification: &AccessSpecification) -> Self {
        let line = |line: &AccessLine| PatternLine {
            bytes: line.bytes,
            weight: line.percent_of_accesses.into(),
            read_percent: line.read_percent,
            random_percent: line.random_percent,
            alignment_bytes: specification.alignment_bytes(),
            burst_accesses: 1,
            delay_ns: 0,
        };
        Self {
            name: specification.name().to_owned(),
            lines: specification.lines().iter().map(line).collect(),
            distributions: [Distribution::AnyByte, Distribution::AnyByte],
            sequence: Sequence::AnyAccess,
        }
    }
}

impl Pattern {
    /// Returns the plain specification that draws the same accesses, if there is one: no delays or
    /// bursts, one alignment, percentages for weights, and places drawn as Iometer does.
    #[must_use]
    pub fn as_specification(&self) -> Option<AccessSpecification> {
        let first = self.lines.first()?;
        let plain = |line: &PatternLine| {
            line.delay_ns == 0
                && line.burst_accesses <= 1
                && line.alignment_bytes == first.alignment_bytes
        };
        let any_byte = self.distributions.iter().all(|each| *each == Distribution::AnyByte);
        if !any_byte || self.sequence != Sequence::AnyAccess || !self.lines.iter().all(plain) {
            return None;
        }
        let lines = self.lines.iter().map(|line| {
            Some(AccessLine {
                bytes: line.bytes,
                percent_of_accesses: u8::try_from(line.weight).ok()?,
                read_percent: line.read_percent,
                random_percent: line.random_percent,
            })
        });
        let lines = lines.collect::<Option<Vec<_>>>()?;
        AccessSpecification::new(self.name.clone(), lines, first.alignment_bytes).ok()
    }

    /// Returns the mean bytes of an access.
    #[must_use]
    pub fn mean_bytes(&self) -> f64 {
        let weights: f64 = self.lines.iter().map(|line| f64::from(line.weight)).sum();
        let bytes = |line: &PatternLine| f64::from(line.bytes) * f64::from(line.weight);
        self.lines.iter().map(bytes).sum::<f64>() / weights
    }

    pub(crate) fn check(&self) -> Result<(), WorkloadError> {
        let refuse = |line_number: usize, field, value: u64, must: &'static str| {
            Err(WorkloadError::Field { name: self.name.clone(), line_number, field, value, must })
        };
        for (position, line) in self.lines.iter().enumerate() {
            let number = position + 1;
            for (field, bytes) in [("bytes", line.bytes), ("alignment_bytes", line.alignment_bytes)]
            {
                if !is_whole_sectors(bytes) {
                    return refuse(number, field, bytes.into(), "a positive multiple of 512");
                }
            }
            for (field, percent) in
                [("read_percent", line.read_percent), ("random_percent", line.random_percent)]
            {
                if percent > 100 {
                    return refuse(number, field, percent.into(), "0 to 100");
                }
            }
        }
        if self.lines.iter().all(|line| line.weight == 0) {
            return Err(WorkloadError::NoAccesses { name: self.name.clone() });
        }
        for distribution in &self.distributions {
            let within = |value: f64, least: f64, most: f64| value > least && value < most;
            let problem = match distribution {
                Distribution::Zipf { theta, .. } if !within(*theta, 0.0, 1e6) => "theta",
                Distribution::Pareto { power, .. } if !within(*power, 0.0, 1.0) => "power",
                Distribution::Normal { deviation_percent, .. }
                    if !within(*deviation_percent, -1.0, 101.0) =>
                {
                    "deviation"
                }
                Distribution::Zoned(zones)
                    if zones
                        .iter()
                        .map(|zone| u32::from(zone.percent_of_accesses))
                        .sum::<u32>()
                        != 100 =>
                {
                    "percentages of zones"
                }
                _ => continue,
            };
            return Err(WorkloadError::Distribution { name: self.name.clone(), problem });
        }
        Ok(())
    }
}
