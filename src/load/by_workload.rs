//! Measures each of several workloads of a file apart: fio's jobs, or the access specifications of Iometer's workers.
//!
//! A host of several workers does not say which worker an operation is of. So each worker's accesses carry the number of
//! their workload in the upper bits of the first sector, which no LUN reaches, and [`ByWorkload`] takes it off again before
//! the array sees the operation.

use std::sync::{Arc, Mutex, PoisonError};

use hdrhistogram::Histogram;
use strewn_array::{Direction, HostOperation, OperationId};
use strewn_report::{OperationFigures, ResponseTime, SIGNIFICANT_DIGITS, WorkloadFigures, rounded};
use strewn_sim::{
    Accesses, AccessesError, Host, HostMeasures, Moved, TimedAccess, Worker, Workers,
};
use strewn_workload::Access;

use super::host::BuiltHost;

/// The first bit of a first sector that holds the number of the workload: a LUN has less than 2^48 sectors, 128 PiB.
const WORKLOAD_BIT: u32 = 48;
/// Most workloads that are measured apart; each takes half a megabyte.
const MOST_WORKLOADS: usize = 64;
/// Longest response time that is distinguished: half an hour.
const LONGEST_NS: u64 = 1_800_000_000_000;
const NS_PER_S: f64 = 1e9;
const NS_PER_MS: f64 = 1e6;
const MIB: f64 = (1 << 20) as f64;

/// The figures of each workload, segment by segment; an entry is added as each segment ends.
pub(crate) type MeasuredWorkloads = Arc<Mutex<Vec<Vec<WorkloadFigures>>>>;

/// The accesses of a worker, marked with the number of its workload.
struct Marked {
    accesses: Box<dyn Accesses>,
    workload: u64,
}

impl Accesses for Marked {
    fn next_access(&mut self) -> Result<Option<TimedAccess>, AccessesError> {
        let next = self.accesses.next_access()?;
        Ok(next.map(|mut next| {
            debug_assert_eq!(next.access.sector >> WORKLOAD_BIT, 0, "a LUN of more than 128 PiB");
            next.access.sector |= self.workload << WORKLOAD_BIT;
            next
        }))
    }
}

/// Returns a host of workers, each with the name of its workload, and what is measured of each workload if there are
/// several. `depths` are those of [`Workers::with_depths`].
pub(super) fn host(workers: Vec<(String, Worker)>, depths: Vec<u32>) -> MeasuredHost {
    let mut names: Vec<String> = Vec::new();
    for (name, _) in &workers {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    if !(2..=MOST_WORKLOADS).contains(&names.len()) {
        let workers = workers.into_iter().map(|(_, worker)| worker).collect();
        let host = Box::new(Workers::new(workers).with_depths(depths));
        return MeasuredHost { host: BuiltHost::Other(host), measured: None };
    }
    let marked = |(name, worker): (String, Worker)| {
        let workload = names.iter().position(|known| *known == name).unwrap_or_default() as u64;
        Worker { accesses: Box::new(Marked { accesses: worker.accesses, workload }), ..worker }
    };
    let host = Workers::new(workers.into_iter().map(marked).collect()).with_depths(depths);
    let host = ByWorkload::new(host, names);
    let measured = Some(Arc::clone(&host.measured));
    MeasuredHost { host: BuiltHost::Other(Box::new(host)), measured }
}

/// A host, and what it measures of each workload if there are several.
pub(crate) struct MeasuredHost {
    pub(crate) host: BuiltHost,
    pub(crate) measured: Option<MeasuredWorkloads>,
}

impl From<BuiltHost> for MeasuredHost {
    fn from(host: BuiltHost) -> Self {
        Self { host, measured: None }
    }
}

/// Reads or writes of one workload in a segment.
#[derive(Clone)]
struct Measures {
    moved: [Moved; 2],
    response_sum_ns: [u128; 2],
    response: [Histogram<u64>; 2],
}

impl Measures {
    fn new() -> Self {
        let histogram = || {
            let histogram = Histogram::new_with_bounds(1_000, LONGEST_NS, 3);
            // The bounds are constants that the histogram accepts.
            histogram.unwrap_or_else(|error| unreachable!("{error}"))
        };
        Self {
            moved: Default::default(),
            response_sum_ns: [0; 2],
            response: std::array::from_fn(|_| histogram()),
        }
    }

    fn answered(&mut self, direction: Direction, sectors: u32, response_ns: u64) {
        let moved = &mut self.moved[direction as usize];
        moved.count += 1;
        moved.sectors += u64::from(sectors);
        self.response_sum_ns[direction as usize] += u128::from(response_ns);
        self.response[direction as usize].saturating_record(response_ns);
    }

    fn figures(&self, name: &str, length_ns: u64) -> WorkloadFigures {
        let seconds = length_ns.max(1) as f64 / NS_PER_S;
        let short = |value: f64| rounded(value, SIGNIFICANT_DIGITS);
        let mean_ms = |sum_ns: u128, count: u64| match count {
            0 => 0.0,
            count => short(sum_ns as f64 / count as f64 / NS_PER_MS),
        };
        let ms = |ns: u64| short(ns as f64 / NS_PER_MS);
        let mib = |moved: &Moved| (moved.sectors * strewn_base::SECTOR_BYTES) as f64 / MIB;
        let [reads, writes] = [0, 1].map(|direction| OperationFigures {
            ops: self.moved[direction].count,
            mib: short(mib(&self.moved[direction])),
            mean_ms: mean_ms(self.response_sum_ns[direction], self.moved[direction].count),
            p95_ms: ms(self.response[direction].value_at_quantile(0.95)),
            max_ms: ms(self.response[direction].max()),
        });
        let mut both = self.response[0].clone();
        // Both histograms have the same bounds.
        let added = both.add(&self.response[1]);
        debug_assert!(added.is_ok(), "{added:?}");
        let at = |quantile: f64| ms(both.value_at_quantile(quantile));
        let ops = reads.ops + writes.ops;
        WorkloadFigures {
            name: name.to_owned(),
            iops: short(ops as f64 / seconds),
            mib_per_s: short(self.moved.iter().map(mib).sum::<f64>() / seconds),
            response_ms: ResponseTime {
                mean: mean_ms(self.response_sum_ns.iter().sum(), ops),
                p50: at(0.50),
                p95: at(0.95),
                p99: at(0.99),
                max: ms(both.max()),
            },
            reads,
            writes,
        }
    }
}

/// An outstanding operation.
#[derive(Clone, Copy)]
struct Issued {
    at_ns: u64,
    sectors: u32,
    direction: Direction,
    workload: usize,
}

/// A host whose operations are marked with their workloads. It takes the marks off and measures each workload, and changes
/// neither the operations nor their times.
struct ByWorkload<H> {
    host: H,
    names: Vec<String>,
    issued: Vec<Option<Issued>>,
    measures: Vec<Measures>,
    measured: MeasuredWorkloads,
}

impl<H: Host> ByWorkload<H> {
    /// Wraps a host whose workers are [`Marked`]; `names` are the workloads'.
    fn new(host: H, names: Vec<String>) -> Self {
        let measures = vec![Measures::new(); names.len()];
        Self { host, names, issued: Vec::new(), measures, measured: MeasuredWorkloads::default() }
    }

    fn unmarked(
        &mut self,
        now_ns: u64,
        operation: Option<HostOperation<()>>,
    ) -> Option<HostOperation<()>> {
        let mut operation = operation?;
        let workload = (operation.first_sector >> WORKLOAD_BIT) as usize;
        operation.first_sector &= (1 << WORKLOAD_BIT) - 1;
        let slot = operation.id.0 as usize;
        if slot >= self.issued.len() {
            self.issued.resize(slot + 1, None);
        }
        let HostOperation { direction, sectors, .. } = operation;
        self.issued[slot] = Some(Issued { at_ns: now_ns, sectors, direction, workload });
        Some(operation)
    }
}

impl<H: Host> Host for ByWorkload<H> {
    fn begin_segment(&mut self, now_ns: u64, index: u32) {
        self.host.begin_segment(now_ns, index);
    }

    fn first(&mut self) -> Option<HostOperation<()>> {
        let operation = self.host.first();
        self.unmarked(0, operation)
    }

    fn next_issue_ns(&self) -> u64 {
        self.host.next_issue_ns()
    }

    fn issue_due(&mut self, now_ns: u64) -> Result<Option<HostOperation<()>>, AccessesError> {
        let operation = self.host.issue_due(now_ns)?;
        Ok(self.unmarked(now_ns, operation))
    }

    fn answered(&mut self, now_ns: u64, id: OperationId) -> Option<HostOperation<()>> {
        if let Some(issued) = self.issued[id.0 as usize].take() {
            let Issued { at_ns, sectors, direction, workload } = issued;
            self.measures[workload].answered(direction, sectors, now_ns - at_ns);
        }
        let next = self.host.answered(now_ns, id);
        self.unmarked(now_ns, next)
    }

    fn prefetch_hint(&self) -> Option<Access> {
        let hint = self.host.prefetch_hint();
        hint.map(|access| Access { sector: access.sector & ((1 << WORKLOAD_BIT) - 1), ..access })
    }

    fn is_done(&self) -> bool {
        self.host.is_done()
    }

    fn issued(&self) -> Moved {
        self.host.issued()
    }

    fn answered_in_segment(&self) -> u64 {
        self.host.answered_in_segment()
    }

    fn end_segment(&mut self, start_ns: u64, end_ns: u64) -> HostMeasures {
        let fresh = vec![Measures::new(); self.names.len()];
        let measures = std::mem::replace(&mut self.measures, fresh);
        let figures = self.names.iter().zip(&measures);
        let figures = figures.map(|(name, measures)| measures.figures(name, end_ns - start_ns));
        let figures = figures.collect();
        self.measured.lock().unwrap_or_else(PoisonError::into_inner).push(figures);
        self.host.end_segment(start_ns, end_ns)
    }
}
