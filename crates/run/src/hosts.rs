//! Builds the hosts that a scenario describes.

use std::ops::Range;

use strewn_array::LunId;
use strewn_base::{BLOCK_BYTES, SECTOR_BYTES};
use strewn_scenario::build::{BuildError, luns};
use strewn_scenario::{Array, CacheWrites, Scenario, Workload};
use strewn_sim::{
    AnyHost, CachedHost, ClosedLoop, PageCacheConfig, Rate, WakeUps, Worker, Workers, WriteBehind,
    WritePolicy,
};
use strewn_workload::{AccessStream, Pattern, PatternStream};

use crate::client_raid;
use crate::load::seed_of_worker;

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
    let settings = PageCacheConfig {
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
