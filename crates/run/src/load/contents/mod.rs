//! What is in a block trace, before anything runs: one pass, in memory that does not grow with its length.

mod distinct;
mod rates;
mod responses;
mod volumes;

use std::collections::BTreeMap;
use std::path::Path;

use strewn_base::{BLOCK_BYTES, Direction};
use strewn_formats::trace::{
    BlkparseAction, OutOfOrder, TraceFormat, TraceOptions as ReaderOptions, TraceReader,
    TraceRecord,
};
use strewn_results::{
    SIGNIFICANT_DIGITS, TraceFigures, TraceFootprint, TraceOrder, TraceSizeBin, TraceSizes,
    TraceSkipped, rounded,
};

use super::error::LoadError;
use super::plain_file;
use distinct::{DistinctBlocks, EXACT_BYTES, Touch};
use rates::Rates;
pub(super) use responses::RecordedBySegment;
use responses::RecordedResponses;
pub use volumes::{TraceVolumes, TraceVolumesError};
pub(super) use volumes::{Volumes, not_there, size_of_devices};

/// The last operations of a volume after which one that follows on is sequential. Chosen: more than most hosts have
/// under way, fewer than make random operations sequential.
pub(super) const STREAMS: usize = 16;
/// Records between two calls of `progress`.
pub(super) const RECORDS_PER_LOOK: u64 = 1 << 16;
/// Blocks between two calls of `progress`: a tenth of a second of counting.
const BLOCKS_PER_LOOK: u64 = 1 << 22;
/// Sizes that are told apart.
const MOST_SIZES: usize = 1 << 16;
/// Volumes that are listed.
const HOTTEST: usize = 10;

/// How a trace is looked at.
#[derive(Debug, Clone, Default)]
pub struct TraceView {
    /// Format of the trace; recognised by its beginning if `None`.
    pub format: Option<TraceFormat>,
    /// The moment at which operations of blktrace and blkparse arrive.
    pub action: BlkparseAction,
    /// Only these volumes; all if `None`.
    pub volumes: Option<TraceVolumes>,
    /// Whether operations of a Tencent trace all arrive at their whole second.
    pub at_whole_seconds: bool,
}

impl TraceView {
    /// Returns the options of a reader that takes everything as it comes.
    pub(super) fn reader(&self, volumes: &[u32]) -> ReaderOptions {
        ReaderOptions {
            format: self.format,
            blkparse_action: self.action,
            out_of_order: OutOfOrder::HoldBack,
            devices: volumes.to_vec(),
            at_whole_seconds: self.at_whole_seconds,
            ..ReaderOptions::default()
        }
    }
}

/// Counts what is in the trace at `path`. `progress` is called now and then with the bytes read and the total;
/// returning `false` stops.
///
/// ```
/// use strewn_run::{TraceView, trace_figures};
///
/// let folder = std::env::temp_dir().join(format!("strewn-trace-{}", std::process::id()));
/// std::fs::create_dir_all(&folder)?;
/// let file = folder.join("io_traces.csv");
/// std::fs::write(&file, "3,R,0,8192,1000000\n3,W,8192,4096,2000000\n42,W,0,4096,3000000\n")?;
/// let figures = trace_figures(&file, &TraceView::default(), &mut |_, _| true)?;
/// assert_eq!((figures.operations, figures.reads, figures.volumes), (3, 1, 2));
/// assert_eq!(figures.footprint.blocks, 4);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the trace cannot be read, has no operations or a line that is none.
pub fn trace_figures(
    path: &Path,
    view: &TraceView,
    progress: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<TraceFigures, LoadError> {
    let file = plain_file(path, "a block trace")?;
    let chosen = match &view.volumes {
        None => Vec::new(),
        Some(volumes) => volumes.chosen(path, view, progress)?,
    };
    let options = ReaderOptions { responses: true, ..view.reader(&chosen) };
    let mut reader = TraceReader::open(path, options)?;
    let length = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let mut counts = Counts::new();
    let mut responses = RecordedResponses::default();
    let mut looked_at_blocks = 0;
    while let Some(record) = reader.next() {
        counts.add(&record?)?;
        while let Some(response) = reader.next_response() {
            responses.add(&response);
        }
        let is_due = counts.operations.is_multiple_of(RECORDS_PER_LOOK)
            || counts.accesses - looked_at_blocks >= BLOCKS_PER_LOOK;
        if is_due && !progress(reader.bytes_read(), length) {
            return Err(LoadError::new("stopped while the trace was read", "nothing was counted"));
        }
        if is_due {
            looked_at_blocks = counts.accesses;
        }
    }
    while let Some(response) = reader.next_response() {
        responses.add(&response);
    }
    let skipped = reader.skipped();
    if let Some(TraceVolumes::Numbers(numbers)) = &view.volumes
        && let Some(missing) = numbers.iter().find(|number| counts.volumes.of(**number).is_none())
    {
        return Err(not_there(path, &file, view, *missing, progress));
    }
    if counts.operations == 0 {
        return Err(no_operations(&file, view.action, reader.format(), skipped.all()));
    }
    let mut figures = counts.figures(file, reader.format().name());
    figures.times_that_go_back = reader.held_back();
    figures.skipped = TraceSkipped {
        trims: skipped.trims,
        empty: skipped.empty,
        no_data: skipped.no_data,
        other_actions: skipped.other_actions,
        other_volumes: skipped.other_devices,
    };
    figures.responses = responses.figures();
    Ok(figures)
}

/// Returns the error for a trace without reads and writes.
pub(super) fn no_operations(
    file: &str,
    action: BlkparseAction,
    format: TraceFormat,
    skipped: u64,
) -> LoadError {
    let help = match (format, action) {
        (TraceFormat::Blkparse | TraceFormat::Blktrace, BlkparseAction::Issued) => {
            "its events of action D, requests given to the device, are what is read; a device such as LVM's has \
             queued requests only: give --trace-action queued"
        }
        _ => "give a trace with reads or writes",
    };
    let besides = match skipped {
        0 => String::new(),
        skipped => format!(", and {skipped} lines or records of other kinds"),
    };
    LoadError::new(format!("{file} has no reads or writes{besides}"), help)
}

/// What is counted while a trace is read.
struct Counts {
    operations: u64,
    reads: u64,
    bytes: [u64; 2],
    aligned: u64,
    /// Accesses to blocks, and writes to them.
    accesses: u64,
    block_writes: u64,
    sequential: [u64; 2],
    sizes: Option<BTreeMap<u64, [u64; 2]>>,
    /// By the power of two that a size does not exceed.
    bins: [[u64; 2]; 65],
    max_bytes: u64,
    blocks: DistinctBlocks,
    rates: Rates,
    volumes: Volumes,
    last_ns: u64,
}

impl Counts {
    fn new() -> Self {
        Self {
            operations: 0,
            reads: 0,
            bytes: [0; 2],
            aligned: 0,
            accesses: 0,
            block_writes: 0,
            sequential: [0; 2],
            sizes: Some(BTreeMap::new()),
            bins: [[0; 2]; 65],
            max_bytes: 0,
            blocks: DistinctBlocks::within(EXACT_BYTES),
            rates: Rates::new(),
            volumes: Volumes::default(),
            last_ns: 0,
        }
    }

    fn add(&mut self, record: &TraceRecord) -> Result<(), LoadError> {
        let block_bytes = BLOCK_BYTES;
        let TraceRecord { offset_bytes, length_bytes, .. } = *record;
        let writes = record.direction == Direction::Write;
        let kind = usize::from(writes);
        self.operations += 1;
        self.reads += u64::from(!writes);
        self.bytes[kind] += length_bytes;
        self.max_bytes = self.max_bytes.max(length_bytes);
        self.bins[length_bytes.next_power_of_two().trailing_zeros() as usize][kind] += 1;
        if let Some(sizes) = &mut self.sizes {
            sizes.entry(length_bytes).or_default()[kind] += 1;
            if sizes.len() > MOST_SIZES {
                self.sizes = None;
            }
        }
        let end = record.end_bytes();
        let is_aligned =
            offset_bytes.is_multiple_of(block_bytes) && end.is_multiple_of(block_bytes);
        self.aligned += u64::from(is_aligned);
        let (first, last) = (offset_bytes / block_bytes, (end - 1) / block_bytes);
        self.accesses += last - first + 1;
        self.block_writes += if writes { last - first + 1 } else { 0 };
        self.blocks.add(record.device, first, last, writes);
        self.rates.add(record.arrival_ns, length_bytes, writes);
        self.last_ns = record.arrival_ns;
        self.sequential[kind] += u64::from(self.volumes.add(record)?);
        Ok(())
    }

    /// Returns the size that this share of operations does not exceed.
    fn size(&self, share: f64) -> Option<u64> {
        let wanted = (share * self.operations as f64).ceil().max(1.0) as u64;
        let mut counted = 0;
        let mut sizes = self.sizes.as_ref()?.iter();
        let reaches = |(_, [reads, writes]): &(&u64, &[u64; 2])| {
            counted += reads + writes;
            counted >= wanted
        };
        sizes.find(reaches).map(|(bytes, _)| *bytes)
    }

    fn figures(self, file: String, format: &str) -> TraceFigures {
        let round = |value: f64| rounded(value, SIGNIFICANT_DIGITS);
        let percent = |part: u64, all: u64| match all {
            0 => 0.0,
            _ => round(100.0 * part as f64 / all as f64),
        };
        let writes = self.operations - self.reads;
        let mean = |bytes: u64, operations: u64| match operations {
            0 => 0.0,
            _ => round(bytes as f64 / operations as f64),
        };
        let [blocks, read_blocks, written_blocks] =
            [Touch::Any, Touch::Read, Touch::Write].map(|touch| self.blocks.count(touch));
        let bins = self.bins.iter().enumerate().filter(|(_, counts)| **counts != [0; 2]);
        TraceFigures {
            file,
            format: format.to_owned(),
            operations: self.operations,
            reads: self.reads,
            read_bytes: self.bytes[0],
            written_bytes: self.bytes[1],
            seconds: round(self.last_ns as f64 / 1e9),
            skipped: TraceSkipped::default(),
            times_that_go_back: 0,
            rates: self.rates.figures(),
            sizes: TraceSizes {
                mean_read_bytes: mean(self.bytes[0], self.reads),
                mean_written_bytes: mean(self.bytes[1], writes),
                p50_bytes: self.size(0.5),
                p95_bytes: self.size(0.95),
                max_bytes: self.max_bytes,
                aligned_percent: percent(self.aligned, self.operations),
                bins: bins
                    .map(|(power, [reads, writes])| TraceSizeBin {
                        up_to_bytes: 1_u64.checked_shl(power as u32).unwrap_or(u64::MAX),
                        reads: *reads,
                        writes: *writes,
                    })
                    .collect(),
            },
            footprint: TraceFootprint {
                blocks,
                read_blocks,
                written_blocks,
                error_percent: round(100.0 * self.blocks.error()),
                reused_percent: percent(self.accesses.saturating_sub(blocks), self.accesses),
                rewritten_percent: percent(
                    self.block_writes.saturating_sub(written_blocks),
                    self.block_writes,
                ),
                address_bytes: self.volumes.address_bytes(),
            },
            order: TraceOrder {
                sequential_reads_percent: percent(self.sequential[0], self.reads),
                sequential_writes_percent: percent(self.sequential[1], writes),
                streams: STREAMS as u32,
            },
            responses: None,
            volumes: self.volumes.count(),
            hottest: self.volumes.hottest(HOTTEST),
            over_time: self.rates.over_time(),
        }
    }
}
