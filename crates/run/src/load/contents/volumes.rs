//! The volumes of a trace: which there are, how large they are, and which are chosen.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::str::FromStr;

use rustc_hash::FxHashMap;
use strewn_base::Direction;
use strewn_formats::trace::{TraceReader, TraceRecord};
use strewn_results::TraceVolume;
use thiserror::Error;

use super::super::error::LoadError;
use super::{RECORDS_PER_LOOK, STREAMS, TraceView};

/// Volumes of a trace that are counted: a thousand times as many as any published trace has.
const MOST_VOLUMES: usize = 1 << 22;
/// Most volumes that can be chosen: a run measures no more by themselves.
const MOST_CHOSEN: usize = 64;
/// Volumes that an error lists.
const LISTED: usize = 20;

/// Volumes that are chosen: by number, or those with most operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceVolumes {
    /// These, ascending and each once.
    Numbers(Vec<u32>),
    /// So many with most operations.
    Hottest(u32),
}

/// Words that choose no volumes.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct TraceVolumesError(String);

impl FromStr for TraceVolumes {
    type Err = TraceVolumesError;

    /// Reads `3,17,42` or `hottest:8`.
    fn from_str(text: &str) -> Result<Self, TraceVolumesError> {
        let wrong =
            |what: &str| Err(TraceVolumesError(format!("{what}; write 3,17,42 or hottest:8")));
        if let Some(count) = text.strip_prefix("hottest:") {
            return match count.parse() {
                Ok(count) if (1..=MOST_CHOSEN).contains(&(count as usize)) => {
                    Ok(Self::Hottest(count))
                }
                _ => wrong(&format!("`{count}` is no number of volumes from 1 to {MOST_CHOSEN}")),
            };
        }
        let numbers: Result<Vec<u32>, _> =
            text.split(',').map(|number| number.trim().parse()).collect();
        let Ok(mut numbers) = numbers else {
            return wrong(&format!("`{text}` is no list of volumes"));
        };
        numbers.sort_unstable();
        if numbers.windows(2).any(|pair| pair[0] == pair[1]) {
            return wrong("a volume is there twice");
        }
        if numbers.len() > MOST_CHOSEN {
            return wrong(&format!("{MOST_CHOSEN} volumes are the most that can be chosen"));
        }
        Ok(Self::Numbers(numbers))
    }
}

impl TraceVolumes {
    /// Returns the numbers of the volumes chosen, ascending. Those with most operations are found by reading the trace.
    pub(crate) fn chosen(
        &self,
        path: &Path,
        view: &TraceView,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<Vec<u32>, LoadError> {
        match self {
            Self::Numbers(numbers) => Ok(numbers.clone()),
            Self::Hottest(count) => {
                let volumes = survey(path, view, progress)?;
                let mut numbers: Vec<u32> =
                    volumes.hottest(*count as usize).iter().map(|volume| volume.volume).collect();
                numbers.sort_unstable();
                Ok(numbers)
            }
        }
    }
}

/// The volumes of a trace, with what is counted of each.
#[derive(Debug, Default)]
pub(crate) struct Volumes(FxHashMap<u32, Volume>);

#[derive(Debug)]
struct Volume {
    figures: TraceVolume,
    /// Where the last operations ended, and the oldest of them.
    ends: [u64; STREAMS],
    oldest: usize,
}

impl Volumes {
    /// Counts an operation. Returns whether it follows on one of the last of its volume.
    pub(crate) fn add(&mut self, record: &TraceRecord) -> Result<bool, LoadError> {
        if self.0.len() >= MOST_VOLUMES && !self.0.contains_key(&record.device) {
            return Err(LoadError::new(
                format!("the trace is of more than {MOST_VOLUMES} volumes"),
                "check its format with --trace-format: a column may be taken for another",
            ));
        }
        let volume = self.0.entry(record.device).or_insert_with(|| Volume {
            figures: TraceVolume { volume: record.device, ..TraceVolume::default() },
            // No operation begins at the end of the address space.
            ends: [u64::MAX; STREAMS],
            oldest: 0,
        });
        let end = record.end_bytes();
        volume.figures.operations += 1;
        volume.figures.reads += u64::from(record.direction == Direction::Read);
        volume.figures.bytes += record.length_bytes;
        volume.figures.end_bytes = volume.figures.end_bytes.max(end);
        let follows = volume.ends.contains(&record.offset_bytes);
        volume.ends[volume.oldest] = end;
        volume.oldest = (volume.oldest + 1) % STREAMS;
        Ok(follows)
    }

    pub(crate) fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// Returns the sum of the highest addresses of all.
    pub(crate) fn address_bytes(&self) -> u64 {
        self.0.values().fold(0, |sum, volume| sum.saturating_add(volume.figures.end_bytes))
    }

    pub(crate) fn of(&self, number: u32) -> Option<&TraceVolume> {
        self.0.get(&number).map(|volume| &volume.figures)
    }

    /// Returns those with most operations, the first of equals by number.
    pub(crate) fn hottest(&self, most: usize) -> Vec<TraceVolume> {
        let mut all: Vec<TraceVolume> = self.0.values().map(|volume| volume.figures).collect();
        all.sort_unstable_by_key(|volume| (u64::MAX - volume.operations, volume.volume));
        all.truncate(most);
        all
    }

    /// Returns the numbers of those with most operations, for an error.
    pub(crate) fn listed(&self) -> String {
        let hottest = self.hottest(LISTED);
        let mut names: Vec<String> =
            hottest.iter().map(|volume| volume.volume.to_string()).collect();
        if self.0.len() > LISTED {
            names.push(format!("and {} more", self.0.len() - LISTED));
        }
        names.join(", ")
    }
}

/// Reads a trace and counts the operations of each volume.
fn survey(
    path: &Path,
    view: &TraceView,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Volumes, LoadError> {
    let mut reader = TraceReader::open(path, view.reader(&[]))?;
    let length = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let mut volumes = Volumes::default();
    while let Some(record) = reader.next() {
        volumes.add(&record?)?;
        if reader.records().is_multiple_of(RECORDS_PER_LOOK)
            && !progress(reader.bytes_read(), length)
        {
            return Err(LoadError::new("stopped while the trace was read", "nothing was run"));
        }
    }
    Ok(volumes)
}

/// Returns the error for a volume that a trace does not have. It reads the trace again, to list those that it has.
pub(crate) fn not_there(
    path: &Path,
    file: &str,
    view: &TraceView,
    missing: u32,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> LoadError {
    match survey(path, view, progress) {
        Ok(volumes) => LoadError::new(
            format!("{file} has no reads or writes of volume {missing}"),
            format!("the busiest of its {} volumes are {}", volumes.count(), volumes.listed()),
        ),
        Err(error) => error,
    }
}

/// Reads the sizes of volumes from a list such as Alibaba's `device_size.csv`: a volume and its bytes a line.
pub(crate) fn size_of_devices(path: &Path) -> Result<FxHashMap<u32, u64>, LoadError> {
    const HELP: &str = "a line is `device_id,bytes`, such as 3,42949672960";
    let shown = path.display();
    let cannot = |error: std::io::Error| {
        LoadError::new(
            format!("cannot read {shown}: {error}"),
            "give the list of the volumes' sizes",
        )
    };
    let mut sizes = FxHashMap::default();
    for (number, line) in BufReader::new(File::open(path).map_err(cannot)?).lines().enumerate() {
        let line = line.map_err(cannot)?;
        let fields: Vec<&str> = line.trim().split(',').map(str::trim).collect();
        let place = format!("{shown}:{}", number + 1);
        match fields.as_slice() {
            [""] => {}
            // Names of columns.
            [first, _] if number == 0 && !first.starts_with(|c: char| c.is_ascii_digit()) => {}
            [volume, bytes] => {
                let (Ok(volume), Ok(bytes)) = (volume.parse(), bytes.parse()) else {
                    return Err(LoadError::new(
                        format!("{place}: `{}` has no numbers", line.trim()),
                        HELP,
                    ));
                };
                if sizes.insert(volume, bytes).is_some() {
                    let message = format!("{place}: volume {volume} is there twice");
                    return Err(LoadError::new(message, "keep one of its lines"));
                }
            }
            _ => {
                let message = format!("{place}: {} fields, where two are due", fields.len());
                return Err(LoadError::new(message, HELP));
            }
        }
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_are_chosen_by_number_or_by_heat() {
        assert_eq!("42,3, 17".parse(), Ok(TraceVolumes::Numbers(vec![3, 17, 42])));
        assert_eq!("hottest:8".parse(), Ok(TraceVolumes::Hottest(8)));
        for (text, what) in [
            ("hottest:0", "`0` is no number of volumes from 1 to 64"),
            ("hottest:65", "`65` is no number of volumes from 1 to 64"),
            ("3,x", "`3,x` is no list of volumes"),
            ("", "`` is no list of volumes"),
            ("3,3", "a volume is there twice"),
        ] {
            let error = text.parse::<TraceVolumes>().unwrap_err().to_string();
            assert_eq!(error, format!("{what}; write 3,17,42 or hottest:8"));
        }
    }

    #[test]
    fn interleaved_streams_are_sequential() {
        let mut volumes = Volumes::default();
        let record = |offset_bytes, device| TraceRecord {
            arrival_ns: 0,
            device,
            offset_bytes,
            length_bytes: 10,
            direction: Direction::Read,
        };
        let mut follow = 0;
        for step in 0..10 {
            for stream in 0..STREAMS as u64 {
                follow += u32::from(volumes.add(&record(stream * 1000 + step * 10, 1)).unwrap());
                // Of another volume, which is no stream of this one.
                assert!(!volumes.add(&record(stream * 5000 + step * 300, 2)).unwrap());
            }
        }
        assert_eq!(follow, 9 * STREAMS as u32);
        assert_eq!(volumes.hottest(1)[0].volume, 1);
        assert_eq!(volumes.listed(), "1, 2");
    }

    /// A stream among random operations is one as long as few enough are between two of its own.
    #[test]
    fn random_operations_end_no_stream() {
        for between in [1, STREAMS as u64 - 1, STREAMS as u64] {
            let mut volumes = Volumes::default();
            let mut add = |offset_bytes| {
                let record = TraceRecord {
                    arrival_ns: 0,
                    device: 1,
                    offset_bytes,
                    length_bytes: 10,
                    direction: Direction::Read,
                };
                u32::from(volumes.add(&record).unwrap())
            };
            let mut follow = 0;
            for step in 0..100 {
                follow += add(step * 10);
                for other in 0..between {
                    follow += add(1_000_000 + (step * between + other) * 1_000);
                }
            }
            let expected = if between < STREAMS as u64 { 99 } else { 0 };
            assert_eq!(follow, expected, "{between} between");
        }
    }
}
