//! Replays traces.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use strewn_array::LunId;
use strewn_formats::trace::{
    Beyond, BlkparseAction, Lun, OutOfOrder, SpeedUp, TraceFormat, TraceReader, TraceRecord,
};
use strewn_results::{SIGNIFICANT_DIGITS, TraceRecorded, TraceReplay, TraceVolume, rounded};
use strewn_scenario::{Bytes, MOST_OUTSTANDING, NamedWorkload, Scenario};
use strewn_sim::{Accesses, AccessesError, Destination, Outstanding, TimedAccess, Worker};
use strewn_workload::{Access, Direction};

use super::contents::{
    self, RECORDS_PER_LOOK, RecordedBySegment, TraceView, TraceVolumes, Volumes, size_of_devices,
};
use super::error::LoadError;

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
    /// Replays these volumes at once, each on a LUN of its own ([`Load::with_volumes`](super::Load::with_volumes)); a
    /// single one on the scenario's LUN if `None`.
    pub volumes: Option<TraceVolumes>,
    /// A list of the volumes' sizes, such as Alibaba's `device_size.csv`; without it, a LUN ends at the highest address
    /// that an operation of its volume touches.
    pub sizes: Option<PathBuf>,
    /// The moment at which operations of blktrace and blkparse arrive.
    pub action: BlkparseAction,
    /// Whether operations of a Tencent trace, whose times are whole seconds, all arrive at the second; otherwise those
    /// of a second are spread over it.
    pub at_whole_seconds: bool,
}

/// When the operations of a trace are issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceLoop {
    /// By their timestamps, sped up by this factor, whether or not earlier ones were answered: an open loop.
    Open(SpeedUp),
    /// In order, with as many outstanding as the scenario says; timestamps are ignored.
    Closed,
}

impl TraceOptions {
    /// Returns the trace as it is looked at before it is replayed.
    fn view(&self) -> TraceView {
        TraceView {
            format: self.format,
            action: self.action,
            volumes: None,
            at_whole_seconds: self.at_whole_seconds,
        }
    }
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
    /// Segments before its end in which nothing arrives.
    empty_segments: u64,
    wrapped: u64,
    widened: u64,
    held_back: u64,
    skipped: strewn_formats::trace::Skipped,
    /// The volumes, ascending, if each has a LUN; none if there is one LUN.
    volumes: Vec<VolumeLun>,
    recorded: Option<TraceRecorded>,
}

/// A volume of a trace that has a LUN of its own.
#[derive(Debug, Clone)]
struct VolumeLun {
    figures: TraceVolume,
    lun_bytes: u64,
}

impl VolumeLun {
    /// Returns the name of its LUN and its workload.
    fn name(&self) -> String {
        format!("volume {}", self.figures.volume)
    }
}

/// LUNs are as many whole MiB as hold their volume. Chosen; all arrays take such sizes.
const LUN_UNIT_BYTES: u64 = 1 << 20;

/// The records of a file as accesses to a LUN, or to one for each volume.
struct TraceAccesses {
    reader: TraceReader<BufReader<File>>,
    name: String,
    /// The only LUN, or one for each of the volumes.
    luns: Vec<Lun>,
    /// The volumes, ascending; none if there is one LUN.
    volumes: Vec<u32>,
    /// The LUN of the last record.
    destination: usize,
    replay: TraceLoop,
    wrapped: u64,
    widened: u64,
}

impl TraceAccesses {
    /// Opens the trace. With several LUNs, they are those of `volumes`.
    fn open(
        path: &Path,
        options: &TraceOptions,
        lun_bytes: &[u64],
        volumes: &[u32],
    ) -> Result<Self, LoadError> {
        let devices = options.device.into_iter().chain(volumes.iter().copied());
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
                devices: devices.collect(),
                blkparse_action: options.action,
                at_whole_seconds: options.at_whole_seconds,
                ..Default::default()
            },
        )?;
        let beyond = if options.wrap { Beyond::Wrap } else { Beyond::Refuse };
        Ok(Self {
            reader,
            name: path.display().to_string(),
            // Round down to whole sectors, so that a record at the end can be widened.
            luns: lun_bytes.iter().map(|bytes| Lun { bytes: bytes / 512 * 512, beyond }).collect(),
            volumes: volumes.to_vec(),
            destination: 0,
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
        if !self.volumes.is_empty() {
            // The reader returns no record of another.
            self.destination = self.volumes.binary_search(&record.device).unwrap_or_default();
        }
        let lun = self.luns[self.destination];
        let mapped = lun.map(record).map_err(|beyond| {
            let place = format!("{}:{}", self.name, self.reader.line());
            if !self.volumes.is_empty() {
                let message = format!(
                    "{place}: {} bytes from byte {} lie beyond volume {}, which has {} bytes in the list of sizes",
                    beyond.length_bytes, beyond.offset_bytes, record.device, beyond.lun_bytes
                );
                let help = "leave --trace-sizes out, so that each volume ends at its highest address, or give --wrap";
                return LoadError::new(message, help);
            }
            let message = format!(
                "{place}: {} bytes from byte {} lie beyond the file under load of {} bytes",
                beyond.length_bytes, beyond.offset_bytes, beyond.lun_bytes
            );
            let help = if record.length_bytes > lun.bytes {
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

    fn destination(&self) -> usize {
        self.destination
    }
}

/// Returns the first devices of a trace that has none of the chosen one.
fn devices_of(path: &Path, options: &TraceOptions, file_bytes: u64) -> Result<String, LoadError> {
    let any = TraceOptions { device: None, wrap: true, hold_back: true, ..options.clone() };
    let mut accesses = TraceAccesses::open(path, &any, &[file_bytes], &[])?;
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
        scenario: &Scenario,
        progress: &mut dyn FnMut(u64, u64) -> bool,
    ) -> Result<Self, LoadError> {
        let shown = path.display().to_string();
        let file_length = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        let view = options.view();
        let numbers = match &options.volumes {
            None => Vec::new(),
            Some(_) if scenario.workloads.len() > 1 => {
                return Err(super::several_workloads(&shown, scenario));
            }
            Some(volumes) => volumes.chosen(path, &view, progress)?,
        };
        if let (Some(list), None) = (&options.sizes, &options.volumes) {
            return Err(LoadError::new(
                format!("{} gives sizes of volumes, and none are chosen", list.display()),
                "choose volumes with --trace-volumes, or leave --trace-sizes out: a single one is replayed on the \
                 scenario's LUN",
            ));
        }
        let listed = options.sizes.as_deref().map(size_of_devices).transpose()?;
        let size = |number: &u32| match (&listed, &options.sizes) {
            (Some(listed), Some(list)) => listed.get(number).copied().ok_or_else(|| {
                LoadError::new(
                    format!("{} has no size of volume {number}", list.display()),
                    "add a line `device_id,bytes` for it, or leave --trace-sizes out",
                )
            }),
            // Whatever ends where a record can end.
            _ => Ok(u64::MAX),
        };
        let mut lun_bytes: Vec<u64> = numbers.iter().map(size).collect::<Result<_, _>>()?;
        if numbers.is_empty() {
            lun_bytes.push(super::replaced(scenario).file_bytes);
        }
        let mut accesses = TraceAccesses::open(path, options, &lun_bytes, &numbers)?;
        accesses.reader.keep_responses();
        let mut devices = BTreeSet::new();
        let mut volumes = Volumes::default();
        let mut recorded = RecordedBySegment::of(scenario);
        let mut trace = Self {
            path: path.to_owned(),
            options: options.clone(),
            format: accesses.reader.format(),
            records: 0,
            reads: 0,
            bytes: 0,
            last_arrival_ns: 0,
            empty_segments: 0,
            wrapped: 0,
            widened: 0,
            held_back: 0,
            skipped: Default::default(),
            volumes: Vec::new(),
            recorded: None,
        };
        while let Some((timed, record)) = accesses.next()? {
            trace.records += 1;
            trace.reads += u64::from(timed.access.direction == Direction::Read);
            trace.bytes += u64::from(timed.access.sectors) * 512;
            let segment = |at_ns: u64| at_ns / scenario.segment_ns.max(1);
            let behind = segment(record.arrival_ns) - segment(trace.last_arrival_ns);
            trace.empty_segments += behind.saturating_sub(1);
            trace.last_arrival_ns = record.arrival_ns;
            if !numbers.is_empty() {
                volumes.add(&record)?;
            } else if devices.len() <= DEVICES_LISTED {
                devices.insert(record.device);
            }
            while let Some(response) = accesses.reader.next_response() {
                recorded.add(&response);
            }
            if trace.records.is_multiple_of(RECORDS_PER_LOOK)
                && !progress(accesses.reader.bytes_read(), file_length)
            {
                return Err(LoadError::new("stopped while the trace was read", "nothing was run"));
            }
        }
        while let Some(response) = accesses.reader.next_response() {
            recorded.add(&response);
        }
        trace.skipped = accesses.reader.skipped();
        if let Some(missing) = numbers.iter().find(|number| volumes.of(**number).is_none()) {
            return Err(contents::not_there(path, &shown, &view, *missing, progress));
        }
        if trace.records == 0 {
            if let Some(device) = options.device {
                let all = devices_of(path, options, lun_bytes[0])?;
                return Err(LoadError::new(
                    format!("{shown} has no reads or writes of device {device}"),
                    format!(
                        "give --trace-device one of the devices that are there: {all}; none of its records is of that device"
                    ),
                ));
            }
            let skipped = trace.skipped.all();
            return Err(contents::no_operations(&shown, options.action, trace.format, skipped));
        }
        if devices.len() > 1 {
            return Err(LoadError::new(
                format!("{shown} is of several devices: {}", listed_devices(&devices)),
                "a scenario has one LUN: choose one with --trace-device N, or several with --trace-volumes, each of \
                 which gets a LUN",
            ));
        }
        trace.volumes = numbers
            .iter()
            .zip(lun_bytes)
            .filter_map(|(number, listed_bytes)| {
                let figures = *volumes.of(*number)?;
                let bytes = if listed.is_some() { listed_bytes } else { figures.end_bytes };
                let lun_bytes = bytes.div_ceil(LUN_UNIT_BYTES).saturating_mul(LUN_UNIT_BYTES);
                Some(VolumeLun { figures, lun_bytes })
            })
            .collect();
        (trace.wrapped, trace.widened) = (accesses.wrapped, accesses.widened);
        trace.held_back = match options.replay {
            TraceLoop::Open(_) => accesses.reader.held_back(),
            TraceLoop::Closed => 0,
        };
        trace.recorded = recorded.figures(options.replay != TraceLoop::Closed);
        Ok(trace)
    }

    /// Returns the scenario with a LUN and a workload for each volume in place of its own; none if there is one LUN.
    pub(super) fn with_volumes(&self, scenario: &Scenario) -> Option<Scenario> {
        if self.volumes.is_empty() {
            return None;
        }
        let mut scenario = scenario.clone();
        let workload = super::replaced(&scenario).clone();
        let like = workload.named.clone().unwrap_or_default();
        let named = |volume: &VolumeLun| NamedWorkload {
            name: volume.name(),
            lun: volume.name(),
            outstanding: 1,
            threads: 1,
            operations_per_second: None,
            ..like.clone()
        };
        // What is unknown of the scenario's own workload is not of these.
        scenario.unknowns.retain(|unknown| !unknown.constant.starts_with("workload."));
        scenario.workloads = self
            .volumes
            .iter()
            .map(|volume| strewn_scenario::Workload {
                named: Some(named(volume)),
                file_bytes: volume.lun_bytes,
                offset_bytes: 0,
                total_bytes: None,
                ..workload.clone()
            })
            .collect();
        for array in &mut scenario.arrays {
            let like = array.luns.first().cloned().unwrap_or_default();
            let lun = |volume: &VolumeLun| strewn_scenario::Lun {
                name: Some(volume.name()),
                bytes: volume.lun_bytes,
                laid_out_bytes: None,
                ..like.clone()
            };
            array.luns = self.volumes.iter().map(lun).collect();
        }
        Some(scenario)
    }

    /// Checks that a scenario has the LUNs of the volumes.
    pub(super) fn check_volumes(&self, scenario: &Scenario) -> Result<(), LoadError> {
        let has_luns = |array: &strewn_scenario::Array| {
            array.luns.len() == self.volumes.len()
                && array.luns.iter().zip(&self.volumes).all(|(lun, volume)| {
                    lun.name == Some(volume.name()) && lun.bytes >= volume.lun_bytes
                })
        };
        if self.volumes.is_empty() || scenario.arrays.iter().all(has_luns) {
            return Ok(());
        }
        let all: u64 = self.volumes.iter().map(|volume| volume.lun_bytes).sum();
        Err(LoadError::new(
            format!(
                "the arrays do not have LUNs of {} volumes, {}",
                self.volumes.len(),
                Bytes(all)
            ),
            "run the scenario that Load::with_volumes returns",
        ))
    }

    /// Returns whether each volume has a LUN of its own.
    pub(super) fn has_volumes(&self) -> bool {
        !self.volumes.is_empty()
    }

    pub(super) fn replays_by_the_clock(&self) -> bool {
        self.options.replay != TraceLoop::Closed
    }

    pub(super) fn empty_segments(&self) -> u64 {
        if self.replays_by_the_clock() { self.empty_segments } else { 0 }
    }

    pub(super) fn about_ns(&self) -> Option<u64> {
        self.replays_by_the_clock().then_some(self.last_arrival_ns)
    }

    /// Returns the worker that replays the trace; it reads the file again.
    pub(super) fn worker(&self, file_bytes: u64, outstanding: u32) -> Result<Worker, LoadError> {
        let numbers: Vec<u32> = self.volumes.iter().map(|volume| volume.figures.volume).collect();
        let mut lun_bytes: Vec<u64> = self.volumes.iter().map(|volume| volume.lun_bytes).collect();
        if numbers.is_empty() {
            lun_bytes.push(file_bytes);
        }
        let accesses = TraceAccesses::open(&self.path, &self.options, &lun_bytes, &numbers)?;
        let mut worker = Worker::closed_loop(Box::new(accesses), outstanding);
        worker.destinations = self
            .volumes
            .iter()
            .enumerate()
            .map(|(lun, volume)| {
                let workload: Arc<str> = volume.name().into();
                Destination { lun: LunId(lun as u16), workload }
            })
            .collect();
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
            skipped: self.skipped.all(),
            skipped_trims: self.skipped.trims,
            skipped_empty: self.skipped.empty,
            volumes: self.volumes.iter().map(|volume| volume.figures).collect(),
            recorded: self.recorded.clone(),
        }
    }
}
