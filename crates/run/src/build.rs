//! Builds the arrays and spindles that a scenario describes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use strewn_array::{ArrayConfigError, Format, LunId, ProcessorCosts, WriteBackCosts};
use strewn_base::{BLOCK_BYTES, SECTOR_BYTES};
use strewn_raid::LayoutError;
use strewn_scenario::{Array, CacheWrites, Lun, Processor, Scenario, SpindleChoice, Workload};
use strewn_sim::{
    AnyHost, CachedHost, ClosedLoop, HostError, PageCacheSettings, Rate, Spindles, WakeUps, Worker,
    Workers, WriteBehind, WritePolicy,
};
use strewn_spindle::{Drive, Profile, ProfileError};
use strewn_workload::{AccessStream, Pattern, PatternStream, WorkloadError};
use thiserror::Error;

use crate::client_raid;
use crate::load::seed_of_worker;

/// Why a scenario's array cannot be set up, although the file itself is valid.
#[derive(Debug, Error)]
pub enum BuildError {
    /// The layout over spindles or blades is invalid.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// There can be no such hosts: their page cache, or how they are clients of blades, is invalid.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The array rejects its sizes.
    #[error(transparent)]
    Array(#[from] ArrayConfigError),
    /// No drive profile of this name is shipped.
    #[error("no drive profile named \"{0}\" is shipped")]
    UnknownProfile(String),
    /// A drive profile is invalid.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// A workload is invalid, or its file is too small for its accesses.
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    /// There is no such link, or kind of link.
    #[error("there is no link \"{0}\"")]
    NoLink(String),
    /// The network cannot be built.
    #[error("its network: {0}")]
    Network(#[from] strewn_transport::NetworkError),
    /// The file is larger than the block map can address.
    #[error("a file of {0} bytes: a write-anywhere array maps at most 16 TiB of 4 KiB blocks")]
    FileTooLarge(u64),
}

/// Returns the LUNs of an array in the order of their ids.
pub(crate) fn luns(array: &Array) -> Vec<&Lun> {
    array.luns_by_volume().into_iter().flat_map(|volume| volume.luns).collect()
}

/// Returns the format of an array.
pub(crate) fn on_disk_format(format: strewn_scenario::Format) -> Format {
    match format {
        strewn_scenario::Format::Modelled => Format::Modelled,
        strewn_scenario::Format::Durable => Format::Durable,
    }
}

/// Returns the spindles that an array runs on.
pub(crate) fn spindles(scenario: &Scenario, array: &Array) -> Result<Spindles, BuildError> {
    Ok(Spindles {
        drive: drive(&array.spindle)?,
        scheduler: array.scheduler,
        commands_per_spindle: array.commands_per_spindle,
        stretch: scenario.spindle_stretch,
    })
}

/// Returns the seed of the host of array number `index`. Every array has its own random stream.
pub(crate) fn seed(scenario: &Scenario, index: usize) -> u64 {
    scenario.seed.wrapping_add((index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

/// Returns the host of array number `index`: the plain closed loop of an only workload, or one with a worker for each
/// of several, in each phase that the workload runs in.
pub(crate) fn host(scenario: &Scenario, index: usize) -> Result<AnyHost, BuildError> {
    let (array, seed) = (&scenario.arrays[index], seed(scenario, index));
    if let [only] = scenario.workloads.as_slice()
        && only.named.is_none()
        && only.total_bytes.is_none()
    {
        let (first, sectors) = sectors_of(only);
        let accesses = AccessStream::new(&only.specification()?, first, sectors, seed)?;
        return Ok(AnyHost::ClosedLoop(Box::new(ClosedLoop::new(accesses, array.outstanding))));
    }
    let here = |workload: &Workload| workload.runs_on(&array.name);
    let workloads = || scenario.workloads.iter().enumerate();
    let mut workers = Vec::new();
    if scenario.phases.is_empty() {
        for (number, workload) in workloads().filter(|(_, workload)| here(workload)) {
            workers.extend(threads(scenario, array, workload, seed_of_worker(seed, number))?);
        }
    }
    let mut start_ns = 0;
    for (position, phase) in scenario.phases.iter().enumerate() {
        let length_ns = u64::from(phase.segments).saturating_mul(scenario.segment_ns);
        let running = workloads().filter(|(_, workload)| here(workload) && phase.runs(workload));
        for (number, workload) in running {
            // Another phase of the same workload draws other places, or the second would undo what the first did.
            let number = position * scenario.workloads.len() + number;
            let threads = threads(scenario, array, workload, seed_of_worker(seed, number))?;
            workers.extend(threads.into_iter().map(|thread| Worker {
                start_delay_ns: start_ns,
                runtime_ns: Some(length_ns),
                measures_late: false,
                ..thread
            }));
        }
        start_ns += length_ns;
    }
    Ok(Workers::new(workers).into())
}

/// Puts the page cache under `host` that the hosts of `array` have.
pub(crate) fn with_page_cache(
    scenario: &Scenario,
    host: AnyHost,
    array: &Array,
) -> Result<AnyHost, BuildError> {
    let Some(cache) = array.page_cache else { return Ok(host) };
    let settings = PageCacheSettings {
        bytes: cache.bytes,
        writes: match cache.writes {
            CacheWrites::Through => WritePolicy::Through,
            CacheWrites::Behind {
                dirty_percent,
                background_percent,
                wake_up_ns,
                expiry_ns,
                wake_ups,
            } => WritePolicy::Behind(WriteBehind {
                dirty_percent: dirty_percent.into(),
                background_percent: background_percent.into(),
                wake_up_ns,
                wake_ups: match wake_ups {
                    strewn_scenario::WakeUps::Periodic => WakeUps::Periodic,
                    strewn_scenario::WakeUps::AfterFirstWrite => WakeUps::AfterFirstWrite,
                },
                expiry_ns,
            }),
        },
        largest_request_bytes: cache.largest_request_bytes,
        stripe_bytes: client_raid::stripe_bytes(array).unwrap_or(BLOCK_BYTES),
        write_requests: cache.write_requests,
        copy_kib_ns: cache.copy_kib_ns,
    };
    let lun_sectors = luns(array).iter().map(|lun| lun.bytes / SECTOR_BYTES).collect();
    let hosts = scenario.hosts_of(&array.name).len().max(1) as u16;
    Ok(CachedHost::of_hosts(hosts, host.boxed(), settings, lun_sectors)?.into())
}

/// Returns the first sector that a workload works on, and how many there are.
fn sectors_of(workload: &Workload) -> (u64, u64) {
    let first = workload.offset_bytes / SECTOR_BYTES;
    (first, (workload.file_bytes / SECTOR_BYTES).saturating_sub(first))
}

/// Separates the seeds of a workload's threads.
const SEED_OF_THREAD: u64 = 0xA076_1D64_78BD_642F;

/// Returns the threads of a workload, each of which works from the start of the run to its end on a part of the file:
/// as many operations of the longest kind as fit, so that parts begin where operations do.
fn threads(
    scenario: &Scenario,
    array: &Array,
    workload: &Workload,
    seed: u64,
) -> Result<Vec<Worker>, BuildError> {
    let threads = workload.threads().max(1);
    let (first, sectors) = sectors_of(workload);
    let mut part = sectors / u64::from(threads);
    if threads > 1 {
        let longest = (workload.longest_bytes() / SECTOR_BYTES).max(1);
        part = (part / longest).max(1) * longest;
    }
    (0..u64::from(threads))
        .map(|thread| {
            let seed = seed.wrapping_add(thread.wrapping_mul(SEED_OF_THREAD));
            let begin = first + thread * part;
            worker(scenario, array, workload, begin..begin + part, seed)
        })
        .collect()
}

/// Returns a worker that does a workload on `sectors` of its LUN from the start of the run to its end.
fn worker(
    scenario: &Scenario,
    array: &Array,
    workload: &Workload,
    sectors: Range<u64>,
    seed: u64,
) -> Result<Worker, BuildError> {
    let luns = luns(array);
    let lun = luns.iter().position(|lun| workload.is_on(&array.name, lun)).unwrap_or(0);
    // Each host has numbers of its own for the LUNs.
    let lun = scenario.host_of(&array.name, workload) * luns.len() + lun;
    let specification = workload.specification()?;
    let (first, length) = (sectors.start, sectors.end - sectors.start);
    let accesses = PatternStream::new(&Pattern::from(&specification), first, length, seed)?;
    let named = workload.named.as_ref();
    let outstanding = named.map_or(array.outstanding, |named| named.outstanding);
    let per_second = named.and_then(|named| named.operations_per_second);
    Ok(Worker {
        lun: LunId(lun as u16),
        rate: per_second.map(|per_second| Rate::Operations(per_second.into())),
        workload: named.map(|named| named.name.as_str().into()),
        most_bytes: workload.total_bytes,
        ..Worker::closed_loop(Box::new(accesses), outstanding)
    })
}

/// Returns the capacity of one spindle of an array, in bytes, or 0 if its profile cannot be read.
pub(crate) fn capacity_bytes(array: &Array) -> u64 {
    drive(&array.spindle).map_or(0, |drive| drive.capacity_sectors() * SECTOR_BYTES)
}

/// Returns the tables of a drive. Those of a shipped one are made once: a sweep has thousands of short runs, and making
/// them takes as long as the tenth part of one.
pub(crate) fn drive(choice: &SpindleChoice) -> Result<Arc<Drive>, BuildError> {
    static SHIPPED: Mutex<BTreeMap<String, Arc<Drive>>> = Mutex::new(BTreeMap::new());
    match choice {
        SpindleChoice::Shipped(name) => {
            // Whatever a thread left that panicked is whole: entries are added when they are made.
            let mut shipped = SHIPPED.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(made) = shipped.get(name) {
                return Ok(Arc::clone(made));
            }
            let profile =
                Profile::shipped(name).ok_or_else(|| BuildError::UnknownProfile(name.clone()))?;
            let made = Arc::new(Drive::new(&profile)?);
            shipped.insert(name.clone(), Arc::clone(&made));
            Ok(made)
        }
        SpindleChoice::File(file) => Ok(Arc::new(Drive::new(file.profile())?)),
    }
}

/// Returns what work costs the processor of a controller.
pub(crate) fn processor_costs(processor: &Processor) -> ProcessorCosts {
    let whole = |ns: f64| ns.round() as u64;
    let interrupt_ns = whole(processor.interrupt_ns);
    ProcessorCosts {
        host_operation_ns: processor.host_operation_ns.round() as u64,
        // A fit may try a command that costs less than its interrupt.
        spindle_command_ns: whole(processor.spindle_command_ns).saturating_sub(interrupt_ns),
        // A KiB has two sectors, and a nanosecond a thousand picoseconds.
        per_sector_ps: (processor.per_kib_ns * 500.0).round() as u64,
        write_back_percent: processor.write_back_percent,
        write_back: WriteBackCosts {
            allocated_block_ns: whole(processor.allocated_block_ns),
            freed_block_ns: whole(processor.freed_block_ns),
            metadata_block_ns: whole(processor.metadata_block_ns),
            parity_sector_ps: (processor.parity_per_kib_ns * 500.0).round() as u64,
        },
        interrupt_ns,
    }
}
