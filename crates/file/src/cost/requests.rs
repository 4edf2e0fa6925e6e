//! The requests that a workload makes of a file, drawn up front.

use std::ops::Range;

use strewn_workload::{Direction, Pattern, PatternStream};

use super::workload::{FileStream, FileWorkload};
use crate::FileError;

/// Requests drawn unless a caller wants fewer: the mean commands per request is then known to about 1 %.
pub const DEFAULT_REQUESTS: u32 = 16_384;

/// Most stretches of a sequential workload.
const STRETCHES: u32 = 64;

/// Fewest requests in a stretch, if the file has as many.
const STRETCH_REQUESTS: u32 = 16;

/// Requests drawn at least, if the workload is random.
const FEWEST_REQUESTS: u32 = 256;

/// How often the requests may cover the file; more would only repeat.
const MOST_COVERAGE: f64 = 16.0;

/// Sectors are the unit of accesses.
const SECTOR_BYTES: u64 = 512;

/// What a file is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// The first byte, counted from the beginning of the file.
    pub offset: u64,
    /// The number of bytes, within the file; not 0.
    pub bytes: u64,
    /// Whether it reads or writes.
    pub direction: Direction,
}

impl Request {
    /// The first byte behind the request.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.offset + self.bytes
    }
}

/// The requests that a workload makes of a file, in the order in which they are issued.
///
/// - A random workload is one *stretch* of requests.
/// - A sequential workload that would not reach the end of the file is drawn as up to 64 stretches that begin at evenly
///   spaced places, one after another, so that it represents all of the file. Each is sequential, and none wraps
///   around.
/// - A request that is larger than the file is clipped to it.
/// - Small files get fewer random requests: as many as cover the file 16 times, but 256 at least. No more are
///   outstanding than cover a quarter of the file: requests for the same bytes at the same time are one to the host's
///   memory.
#[derive(Debug, Clone)]
pub struct RequestPlan {
    workload: String,
    outstanding: u32,
    sequential: bool,
    covers_file: bool,
    requests: Vec<Request>,
    stretches: Vec<Range<usize>>,
}

impl RequestPlan {
    /// Draws about `requests` requests of `workload` over a file of `file_bytes`, repeatable by `seed`. `None` if the
    /// file is empty.
    ///
    /// # Errors
    ///
    /// If a pattern is invalid, or a stream begins behind the end of the file.
    pub fn draw(
        workload: &FileWorkload,
        file_bytes: u64,
        requests: u32,
        seed: u64,
    ) -> Result<Option<Self>, FileError> {
        if file_bytes == 0 {
            return Ok(None);
        }
        let regions = workload.streams().iter().map(|stream| region(workload, stream, file_bytes));
        let regions = regions.collect::<Result<Vec<Range<u64>>, _>>()?;
        let most = of_coverage(workload, &regions);
        let sequential = workload.is_sequential();
        let requests = requests.max(1);
        let covers_file = sequential && whole(workload, &regions) <= u64::from(requests);
        let (stretches, each) = if !sequential {
            (1, requests.min(most.max(FEWEST_REQUESTS)))
        } else if covers_file {
            (1, requests)
        } else {
            let stretches = (requests / STRETCH_REQUESTS).clamp(1, STRETCHES);
            (stretches, requests / stretches)
        };
        let mut plan = Self {
            workload: workload.name().to_owned(),
            outstanding: match sequential {
                true => workload.outstanding().max(1),
                false => workload.outstanding().clamp(1, (most / MOST_COVERAGE as u32 / 4).max(1)),
            },
            sequential,
            covers_file,
            requests: Vec::new(),
            stretches: Vec::new(),
        };
        for stretch in 0..stretches {
            let first = plan.requests.len();
            let of_stretch = |region: &Range<u64>| {
                let piece = (region.end - region.start) / u64::from(stretches);
                let start = region.start + piece * u64::from(stretch);
                // Whole MiB where there is room, so that stretches of requests are aligned as one scan would be.
                let start = if piece > 2 << 20 { start.next_multiple_of(1 << 20) } else { start };
                start.next_multiple_of(SECTOR_BYTES).min(region.end - 1) / SECTOR_BYTES
                    * SECTOR_BYTES..region.end
            };
            let regions: Vec<Range<u64>> = regions.iter().map(of_stretch).collect();
            let seed = seed.wrapping_add(u64::from(stretch).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            plan.draw_stretch(workload, &regions, each, seed)?;
            if plan.requests.len() > first {
                plan.stretches.push(first..plan.requests.len());
            }
        }
        Ok((!plan.requests.is_empty()).then_some(plan))
    }

    fn draw_stretch(
        &mut self,
        workload: &FileWorkload,
        regions: &[Range<u64>],
        requests: u32,
        seed: u64,
    ) -> Result<(), FileError> {
        struct Drawn {
            stream: PatternStream,
            region: Range<u64>,
            /// Requests drawn at a time.
            share: u32,
            /// Where the last sequential request ended, of reads and of writes.
            end: u64,
            ended: bool,
        }
        let mut drawn = Vec::new();
        for (number, (stream, region)) in workload.streams().iter().zip(regions).enumerate() {
            let sectors = (region.end - region.start).div_ceil(SECTOR_BYTES);
            let pattern = clipped(&stream.pattern, sectors);
            let seed = seed.wrapping_add(number as u64);
            let accesses = PatternStream::new(&pattern, region.start / SECTOR_BYTES, sectors, seed)
                .map_err(|error| {
                    FileError::input(
                        error.to_string(),
                        "change the pattern, or choose another file",
                    )
                })?;
            drawn.push(Drawn {
                stream: accesses,
                region: region.clone(),
                share: stream.outstanding.max(1),
                end: 0,
                ended: false,
            });
        }
        let last = self.requests.len() + requests as usize;
        while self.requests.len() < last && drawn.iter().any(|one| !one.ended) {
            for one in &mut drawn {
                for _ in 0..one.share {
                    if one.ended || self.requests.len() == last {
                        break;
                    }
                    let access = one.stream.next_access().access;
                    let offset = access.sector * SECTOR_BYTES;
                    // Sequential streams begin again at their beginning: the stretch is over.
                    one.ended = self.sequential && one.end > 0 && offset < one.end;
                    // The last request is what is left.
                    let offset = if one.ended { one.end } else { offset };
                    let end =
                        (offset + u64::from(access.sectors) * SECTOR_BYTES).min(one.region.end);
                    if end <= offset {
                        continue;
                    }
                    if self.sequential {
                        one.end = end;
                    }
                    let direction = access.direction;
                    self.requests.push(Request { offset, bytes: end - offset, direction });
                }
            }
        }
        Ok(())
    }

    /// The name of the workload.
    #[must_use]
    pub fn workload(&self) -> &str {
        &self.workload
    }

    /// The requests outstanding at a time.
    #[must_use]
    pub fn outstanding(&self) -> u32 {
        self.outstanding
    }

    /// Whether every request follows another.
    #[must_use]
    pub fn is_sequential(&self) -> bool {
        self.sequential
    }

    /// Whether the requests are all that the workload has for the file, and no sample.
    #[must_use]
    pub fn covers_file(&self) -> bool {
        self.covers_file
    }

    /// The requests, in the order in which they are issued.
    #[must_use]
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// The stretches, as ranges of [`requests`](Self::requests).
    #[must_use]
    pub fn stretches(&self) -> &[Range<usize>] {
        &self.stretches
    }
}

/// The bytes of the file that a stream accesses.
fn region(
    workload: &FileWorkload,
    stream: &FileStream,
    file_bytes: u64,
) -> Result<Range<u64>, FileError> {
    let start = stream.first_byte / SECTOR_BYTES * SECTOR_BYTES;
    if start >= file_bytes {
        return Err(FileError::input(
            format!(
                "\"{}\" begins at byte {start}, and the file has {file_bytes} bytes",
                workload.name()
            ),
            "choose a larger file, or let it begin earlier",
        ));
    }
    let bytes = stream.bytes.unwrap_or(u64::MAX).max(1);
    Ok(start..start.saturating_add(bytes).min(file_bytes))
}

/// The requests that cover the regions as often as is useful.
fn of_coverage(workload: &FileWorkload, regions: &[Range<u64>]) -> u32 {
    (whole(workload, regions) as f64 * MOST_COVERAGE) as u32
}

/// The requests of a workload that cover its regions once.
fn whole(workload: &FileWorkload, regions: &[Range<u64>]) -> u64 {
    let of = |(stream, region): (&FileStream, &Range<u64>)| {
        let mean_bytes = stream.pattern.mean_bytes().max(1.0);
        ((region.end - region.start) as f64 / mean_bytes).ceil() as u64
    };
    workload.streams().iter().zip(regions).map(of).sum()
}

/// The pattern with its accesses no larger than a region of `sectors`.
fn clipped(pattern: &Pattern, sectors: u64) -> Pattern {
    let mut pattern = pattern.clone();
    let most_bytes = u32::try_from(sectors.saturating_mul(SECTOR_BYTES)).unwrap_or(u32::MAX);
    for line in &mut pattern.lines {
        line.bytes = line.bytes.min(most_bytes);
    }
    pattern
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::workload::Order;

    fn drawn(workload: &FileWorkload, file_bytes: u64, requests: u32) -> RequestPlan {
        RequestPlan::draw(workload, file_bytes, requests, 1).unwrap().unwrap()
    }

    fn scan() -> FileWorkload {
        FileWorkload::simple(1 << 20, Order::Sequential, 100)
    }

    #[test]
    fn random_requests_lie_within_the_file_and_repeat_by_seed() {
        let plan = drawn(&FileWorkload::default(), 1 << 30, 16_384);
        assert_eq!((plan.requests().len(), plan.stretches().len()), (16_384, 1));
        assert!(plan.requests().iter().all(|request| request.end() <= 1 << 30));
        assert_eq!(plan.requests(), drawn(&FileWorkload::default(), 1 << 30, 16_384).requests());
        let other =
            RequestPlan::draw(&FileWorkload::default(), 1 << 30, 16_384, 2).unwrap().unwrap();
        assert_ne!(plan.requests(), other.requests());
    }

    #[test]
    fn a_scan_of_a_small_file_is_the_whole_file() {
        let plan = drawn(&scan(), (10 << 20) + 5000, 16_384);
        assert!(plan.covers_file());
        let offsets: Vec<u64> =
            plan.requests().iter().map(|request| request.offset >> 20).collect();
        assert_eq!(offsets, Vec::from_iter(0..11));
        assert_eq!(plan.requests()[10].bytes, 5000);
    }

    #[test]
    fn few_requests_of_a_large_file_are_a_sample() {
        let plan = drawn(&scan(), 1 << 40, 10);
        assert!(!plan.covers_file());
        assert_eq!((plan.stretches().len(), plan.requests().len()), (1, 10));
    }

    #[test]
    fn a_scan_of_a_large_file_is_stretches_all_over_it() {
        let plan = drawn(&scan(), 1 << 40, 16_384);
        assert_eq!((plan.stretches().len(), plan.requests().len()), (64, 16_384));
        for (number, stretch) in plan.stretches().iter().enumerate() {
            let of_stretch = &plan.requests()[stretch.clone()];
            assert_eq!(of_stretch[0].offset, (number as u64) << 34);
            assert!(of_stretch.windows(2).all(|pair| pair[0].end() == pair[1].offset));
        }
    }

    #[test]
    fn requests_larger_than_the_file_are_clipped() {
        let plan = drawn(&scan(), 5000, 100);
        let whole = Request { offset: 0, bytes: 5000, direction: Direction::Read };
        assert_eq!(plan.requests(), [whole]);
        let server = drawn(&FileWorkload::default(), 700, 1000);
        assert!(server.requests().iter().all(|request| request.end() <= 700));
        assert_eq!(server.requests().len(), 256);
    }

    #[test]
    fn an_empty_file_has_no_requests() {
        assert!(RequestPlan::draw(&scan(), 0, 100, 1).unwrap().is_none());
    }

    #[test]
    fn a_stream_behind_the_end_is_an_error() {
        let stream = FileStream { first_byte: 1 << 20, ..scan().streams()[0].clone() };
        let behind = FileWorkload::from_streams("behind", vec![stream]);
        let error = RequestPlan::draw(&behind, 4096, 100, 1).unwrap_err();
        assert!(error.to_string().contains("\"behind\" begins at byte 1048576"), "{error}");
    }
}
