//! What an application asks of a file.

use strewn_workload::{AccessSpecification, Distribution, Pattern, PatternLine, Sequence};

/// Requests kept outstanding unless a workload says otherwise. With 16, the nearline profile comes to the 175 to 185
/// random reads a second that such drives are known for.
pub const DEFAULT_OUTSTANDING: u32 = 16;

/// Where the requests of a simple workload go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Each at the end of the one before.
    Sequential,
    /// Anywhere, at multiples of the request's size.
    Random,
}

/// Accesses drawn from one pattern over a part of a file: a worker of Iometer's, a job of fio's.
#[derive(Debug, Clone, PartialEq)]
pub struct FileStream {
    /// What is drawn. Delays and bursts are left out: requests are issued as fast as they are answered.
    pub pattern: Pattern,
    /// The first byte of the file that it accesses.
    pub first_byte: u64,
    /// The bytes that it accesses, or `None` for the rest of the file.
    pub bytes: Option<u64>,
    /// The requests it keeps outstanding, at least 1.
    pub outstanding: u32,
}

/// What an application asks of a file: one or several streams of requests.
///
/// ```
/// use strewn_file::{FileWorkload, Order};
///
/// let scan = FileWorkload::simple(1 << 20, Order::Sequential, 100);
/// assert_eq!((scan.name(), scan.outstanding()), ("sequential 1 MiB reads", 1));
/// assert!(scan.is_sequential());
/// assert_eq!(FileWorkload::default().name(), "file-server");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct FileWorkload {
    name: String,
    streams: Vec<FileStream>,
}

impl Default for FileWorkload {
    /// Intel's File Server pattern, as Iometer distributed it.
    fn default() -> Self {
        let shipped = AccessSpecification::shipped("file-server");
        shipped.map_or_else(
            || Self::simple(4096, Order::Random, 80),
            |specification| Self::from_specification(&specification, DEFAULT_OUTSTANDING),
        )
    }
}

impl FileWorkload {
    /// Requests of one size: `bytes` is a multiple of 512 (other sizes are rounded up), and `read_percent` of them
    /// read.
    ///
    /// Random requests keep [`DEFAULT_OUTSTANDING`] outstanding. Sequential ones are issued one at a time, which is
    /// what Linux's read-ahead does with reads of 1 MiB; a drive reads ahead by itself.
    #[must_use]
    pub fn simple(bytes: u32, order: Order, read_percent: u8) -> Self {
        let bytes = bytes.max(1).checked_next_multiple_of(512).unwrap_or(1 << 31);
        let read_percent = read_percent.min(100);
        let (words, random_percent, alignment_bytes, outstanding) = match order {
            Order::Sequential => ("sequential", 0, 512, 1),
            Order::Random => ("random", 100, bytes, DEFAULT_OUTSTANDING),
        };
        let mix = match read_percent {
            100 => "reads".to_owned(),
            0 => "writes".to_owned(),
            percent => format!("requests, {percent} % reads"),
        };
        let name = format!("{words} {} {mix}", size_text(bytes.into()));
        let line = PatternLine {
            bytes,
            weight: 1,
            read_percent,
            random_percent,
            alignment_bytes,
            burst_accesses: 1,
            delay_ns: 0,
        };
        let pattern = Pattern {
            name,
            lines: vec![line],
            distributions: [Distribution::Uniform, Distribution::Uniform],
            sequence: Sequence::AnyAccess,
        };
        Self::from_pattern(pattern, outstanding)
    }

    /// What an access specification draws, over the whole file.
    #[must_use]
    pub fn from_specification(specification: &AccessSpecification, outstanding: u32) -> Self {
        Self::from_pattern(Pattern::from(specification), outstanding)
    }

    /// What a pattern draws, over the whole file.
    #[must_use]
    pub fn from_pattern(pattern: Pattern, outstanding: u32) -> Self {
        let name = pattern.name.clone();
        Self::from_streams(
            name,
            vec![FileStream { pattern, first_byte: 0, bytes: None, outstanding }],
        )
    }

    /// Several streams at once: the workers of a configuration, the jobs of a job file. Their requests are interleaved
    /// in proportion to what each keeps outstanding.
    #[must_use]
    pub fn from_streams(name: impl Into<String>, streams: Vec<FileStream>) -> Self {
        Self { name: name.into(), streams }
    }

    /// The same workload with `outstanding` requests outstanding in each stream.
    #[must_use]
    pub fn with_outstanding(mut self, outstanding: u32) -> Self {
        self.streams.iter_mut().for_each(|stream| stream.outstanding = outstanding.max(1));
        self
    }

    /// Its name, for people.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its streams.
    #[must_use]
    pub fn streams(&self) -> &[FileStream] {
        &self.streams
    }

    /// The requests outstanding at a time, of all streams.
    #[must_use]
    pub fn outstanding(&self) -> u32 {
        let all = self.streams.iter().map(|stream| stream.outstanding.max(1));
        all.fold(0, u32::saturating_add)
    }

    /// The share of the requests that read, 0 to 1, all streams counting alike.
    #[must_use]
    pub fn read_fraction(&self) -> f64 {
        let lines = || self.streams.iter().flat_map(|stream| &stream.pattern.lines);
        let all: f64 = lines().map(|line| f64::from(line.weight)).sum();
        let reads =
            lines().map(|line| f64::from(line.weight) * f64::from(line.read_percent) / 100.0);
        if all > 0.0 { reads.sum::<f64>() / all } else { 1.0 }
    }

    /// Whether no request goes to a random place.
    #[must_use]
    pub fn is_sequential(&self) -> bool {
        let lines = self.streams.iter().flat_map(|stream| &stream.pattern.lines);
        lines.filter(|line| line.weight > 0).all(|line| line.random_percent == 0)
    }
}

/// Bytes in the largest unit of which they are a whole number.
pub(crate) fn size_text(bytes: u64) -> String {
    let units = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
    let fitting = units.iter().find(|(_, bits)| bytes > 0 && bytes.is_multiple_of(1 << bits));
    fitting.map_or_else(|| format!("{bytes} B"), |(unit, bits)| format!("{} {unit}", bytes >> bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_is_asked() {
        let name =
            |bytes, order, reads| FileWorkload::simple(bytes, order, reads).name().to_owned();
        assert_eq!(name(4096, Order::Random, 100), "random 4 KiB reads");
        assert_eq!(name(1536, Order::Random, 0), "random 1536 B writes");
        assert_eq!(name(1 << 20, Order::Sequential, 70), "sequential 1 MiB requests, 70 % reads");
    }

    #[test]
    fn streams_add_up() {
        let stream = |outstanding| FileStream {
            outstanding,
            ..FileWorkload::simple(4096, Order::Random, 100).streams()[0].clone()
        };
        let both = FileWorkload::from_streams("both", vec![stream(3), stream(0)]);
        assert_eq!(both.outstanding(), 4);
        assert_eq!(both.with_outstanding(8).outstanding(), 16);
    }
}
