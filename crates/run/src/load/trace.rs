//! Replays traces.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use strewn_formats::trace::{
    Beyond, Lun, OutOfOrder, SpeedUp, TraceFormat, TraceReader, TraceRecord,
};
use strewn_results::{SIGNIFICANT_DIGITS, TraceReplay, rounded};
use strewn_scenario::MOST_OUTSTANDING;
use strewn_sim::{Accesses, AccessesError, Outstanding, TimedAccess, Worker};
use strewn_workload::{Access, Direction};

use super::error::LoadError;

/// Records between two calls of `progress`.
pub(crate) const RECORDS_PER_LOOK: u64 = 1 << 16;

/// Sectors of the largest access: 1 GiB.
const MOST_SECTORS: u64 = 1 << 21;

/// Most devices of a trace that an error lists.
const DEVICES_LISTED: usize = 20;

/// How a trace is replayed.
#[derive(Debug, Clone, Default)]
pub struct TraceOptions {
    /// Format of the trace; recognised by its first line if `None`.
    pub format: Option<TraceFormat>,
    /// Whether to replay by timestamps.
    pub replay: TraceLoop,
    /// Whether to wrap records beyond the end of the scenario's file; otherwise they are errors.
    pub wrap: bool,
    /// Whether to delay a record that is earlier than the one before it until that one arrives; otherwise it is an
    /// error.
    pub hold_back: bool,
    /// Replays only this device's records.
    pub device: Option<u32>,
}

/// When the operations of a trace are issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceLoop {
    /// By their timestamps, sped up by this factor, whether or not earlier ones were answered: an open loop.
    Open(SpeedUp),
    /// In order, with as many outstanding as the scenario says; timestamps are ignored.
    Closed,
}

impl Default for TraceLoop {
    fn default() -> Self {
        Self::Open(SpeedUp::NONE)
    }
}

/// A trace that was read once and checked.
#[derive(Debug, Clone)]
pub(super) struct Trace {
    path: PathBuf,
    options: TraceOptions,
    format: TraceFormat,
    records: u64,
    reads: u64,
    bytes: u64,
    last_arrival_ns: u64,
    wrapped: u64,
    widened: u64,
    held_back: u64,
    skipped: u64,
}

/// The records of a file as accesses to a LUN.
struct TraceAccesses {
    reader: TraceReader<BufReader<File>>,
    name: String,
    lun: Lun,
    replay: TraceLoop,
    wrapped: u64,
    widened: u64,
}

impl TraceAccesses {
    fn open(path: &Path, options: &TraceOptions, lun_bytes: u64) -> Result<Self, LoadError> {
        let reader = TraceReader::open(
            path,
            strewn_formats::trace::TraceOptions {
                format: options.format,
                speed_up: match options.replay {
                    TraceLoop::Open(speed_up) => speed_up,
                    TraceLoop::Closed => SpeedUp::NONE,
                },
                out_of_order: if options.hold_back || options.replay == TraceLoop::Closed {
                    OutOfOrder::HoldBack
                } else {
                    OutOfOrder::Refuse
                },
                devices: options.device.into_iter().collect(),
                ..Default::default()
            },
        )?;
        let beyond = if options.wrap { Beyond::Wrap } else { Beyond::Refuse };
        Ok(Self {
            reader,
            name: path.display().to_string(),
            // Round down to whole sectors, so that a record at the end can be widened.
            lun: Lun { bytes: lun_bytes / 512 * 512, beyond },
            replay: options.replay,
            wrapped: 0,
            widened: 0,
        })
    }

    /// Returns the next record, as replayed and as recorded.
    fn next(&mut self) -> Result<Option<(TimedAccess, TraceRecord)>, LoadError> {
        let record = match self.reader.next() {
            None => return Ok(None),
            Some(Ok(record)) => record,
            Some(Err(error)) => {
                let error = LoadError::from(error);
                let message = error.to_string();
                let out_of_order = message.contains("arrives before the one ahead");
                return Err(if out_of_order {
                    let help = "sort the trace by time, or give --hold-back to have such records \
                                arrive with the one ahead of them";
                    LoadError::new(message, help)
                } else {
                    error
                });
            }
        };
        let mapped = self.lun.map(record).map_err(|beyond| {
            let place = format!("{}:{}", self.name, self.reader.line());
            let message = format!(
                "{place}: {} bytes from byte {} lie beyond the file under load of {} bytes",
                beyond.length_bytes, beyond.offset_bytes, beyond.lun_bytes
            );
            let help = if record.length_bytes > self.lun.bytes {
                " to hold it"
            } else {
                ", or give --wrap to have such records begin at their offset modulo its size"
            };
            LoadError::beyond_the_file(message, help)
        })?;
        self.wrapped += u64::from(mapped.offset_bytes != record.offset_bytes);
        let sector = mapped.offset_bytes / 512;
        let sectors = mapped.end_bytes().div_ceil(512) - sector;
        self.widened += u64::from(sectors * 512 != mapped.length_bytes);
        if sectors > MOST_SECTORS {
            return Err(LoadError::new(
                format!(
                    "{}:{}: a record of {} bytes",
                    self.name,
                    self.reader.line(),
                    record.length_bytes
                ),
                "give records of at most 1 GiB; no host issues larger ones",
            ));
        }
        let access = Access { sector, sectors: sectors as u32, direction: mapped.direction };
        let not_before_ns = match self.replay {
            TraceLoop::Open(_) => mapped.arrival_ns,
            TraceLoop::Closed => 0,
        };
        Ok(Some((TimedAccess { access, not_before_ns, delay_ns: 0 }, record)))
    }
}

impl Accesses for TraceAccesses {
    fn next_access(&mut self) -> Result<Option<TimedAccess>, AccessesError> {
        match self.next() {
            Ok(next) => Ok(next.map(|(access, _)| access)),
            Err(error) => Err(error.into()),
        }
    }
}

/// Returns the first devices of a trace that has none of the chosen one.
fn devices_of(path: &Path, options: &TraceOptions, file_bytes: u64) -> Result<String, LoadError> {
    let any = TraceOptions { device: None, wrap: true, hold_back: true, ..options.clone() };
    let mut accesses = TraceAccesses::open(path, &any, file_bytes)?;
    let mut devices = BTreeSet::new();
    while devices.len() <= DEVICES_LISTED
        && let Some((_, record)) = accesses.next()?
    {
        devices.insert(record.device);
    }
    Ok(listed_devices(&devices))
}

fn listed_devices(devices: &BTreeSet<u32>) -> String {
    let mut names: Vec<String> = devices.iter().take(DEVICES_LISTED).map(u32::to_string).collect();
    if devices.len() > DEVICES_LISTED {
        names.push("more".to_owned());
    }
    names.join(", ")
}

impl Trace {
    /// Reads the trace in full, so that its errors are found before anything runs.
    pub(super) fn check(
        path: &Path,
        options: &TraceOptions,
        file_bytes: u64,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<Self, LoadError> {
        let shown = path.display().to_string();
        let file_length = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        let mut accesses = TraceAccesses::open(path, options, file_bytes)?;
        let mut devices = BTreeSet::new();
        let mut trace = Self {
            path: path.to_owned(),
            options: options.clone(),
            format: accesses.reader.format(),
            records: 0,
            reads: 0,
            bytes: 0,
            last_arrival_ns: 0,
            wrapped: 0,
            widened: 0,
            held_back: 0,
            skipped: 0,
        };
        while let Some((timed, record)) = accesses.next()? {
            trace.records += 1;
            trace.reads += u64::from(timed.access.direction == Direction::Read);
            trace.bytes += u64::from(timed.access.sectors) * 512;
            trace.last_arrival_ns = record.arrival_ns;
            if devices.len() <= DEVICES_LISTED {
                devices.insert(record.device);
            }
            if trace.records.is_multiple_of(RECORDS_PER_LOOK)
                && !progress(accesses.reader.bytes_read(), file_length)
            {
                return Err(LoadError::new("stopped while the trace was read", "nothing was run"));
            }
        }
        let skipped = accesses.reader.skipped();
        trace.skipped = skipped.all();
        if trace.records == 0 {
            if let Some(device) = options.device {
                let all = devices_of(path, options, file_bytes)?;
                return Err(LoadError::new(
                    format!("{shown} has no reads or writes of device {device}"),
                    format!(
                        "give --trace-device one of the devices that are there: {all}; none of its records is of that device"
                    ),
                ));
            }
            let help = match (options.device, trace.format) {
                (None, TraceFormat::Blkparse) => {
                    "its lines of action D, requests given to the device, are what is replayed"
                }
                _ => "give a trace with reads or writes",
            };
            return Err(LoadError::new(format!("{shown} has no reads or writes"), help));
        }
        if devices.len() > 1 {
            return Err(LoadError::new(
                format!("{shown} is of several devices: {}", listed_devices(&devices)),
                "a scenario has one LUN: choose one with --trace-device N",
            ));
        }
        (trace.wrapped, trace.widened) = (accesses.wrapped, accesses.widened);
        trace.held_back = match options.replay {
            TraceLoop::Open(_) => accesses.reader.held_back(),
            TraceLoop::Closed => 0,
        };
        Ok(trace)
    }

    pub(super) fn replays_by_the_clock(&self) -> bool {
        self.options.replay != TraceLoop::Closed
    }

    pub(super) fn about_ns(&self) -> Option<u64> {
        self.replays_by_the_clock().then_some(self.last_arrival_ns)
    }

    /// Returns the worker that replays the trace; it reads the file again.
    pub(super) fn worker(&self, file_bytes: u64, outstanding: u32) -> Result<Worker, LoadError> {
        let accesses = TraceAccesses::open(&self.path, &self.options, file_bytes)?;
        let mut worker = Worker::closed_loop(Box::new(accesses), outstanding);
        if self.replays_by_the_clock() {
            worker.outstanding = Outstanding::Open { most: MOST_OUTSTANDING };
        }
        Ok(worker)
    }

    pub(super) fn described(&self) -> TraceReplay {
        let (replay, speed_up) = match self.options.replay {
            TraceLoop::Open(speed_up) => ("open", speed_up.factor()),
            TraceLoop::Closed => ("closed", 1.0),
        };
        TraceReplay {
            format: self.format.name().to_owned(),
            replay: replay.to_owned(),
            speed_up,
            records: self.records,
            reads: self.reads,
            bytes: self.bytes,
            seconds: rounded(self.last_arrival_ns as f64 / 1e9, SIGNIFICANT_DIGITS),
            wrapped: self.wrapped,
            widened: self.widened,
            held_back: self.held_back,
            skipped: self.skipped,
        }
    }
}
