//! Measurements of one segment of real time.

use rustix::time::{ClockId, clock_gettime};
use strewn_array::{Counters, GroupMeasures};
use strewn_live::device::DeviceMeasures;
use strewn_live::measured_array::MeasuredArray;
use strewn_raid::SpindleIndex;
use strewn_results::LogFigures;
use strewn_sim::{GroupSegment, HostMeasures, Laws, Segment, SpindleGroup};

use super::Counted;

/// Integrates the array's outstanding operations over time, independently of the host's response times.
#[derive(Default)]
pub(super) struct Outstanding {
    now: u64,
    counted_to_ns: u64,
    over_time_ns: u128,
}

impl Outstanding {
    pub(super) fn given(&mut self, now_ns: u64) {
        self.count_to(now_ns);
        self.now += 1;
    }

    pub(super) fn answered(&mut self, now_ns: u64) {
        self.count_to(now_ns);
        self.now -= 1;
    }

    pub(super) fn is_none(&self) -> bool {
        self.now == 0
    }

    fn count_to(&mut self, now_ns: u64) {
        let passed_ns = now_ns - std::mem::replace(&mut self.counted_to_ns, now_ns);
        self.over_time_ns += u128::from(self.now) * u128::from(passed_ns);
    }

    fn take(&mut self, now_ns: u64) -> f64 {
        self.count_to(now_ns);
        std::mem::take(&mut self.over_time_ns) as f64
    }
}

/// State carried from one segment to the next.
pub(super) struct Meter {
    pub(super) outstanding: Outstanding,
    counted: Counted,
    processor_ns: u64,
    segments: u32,
    pub(super) log: Vec<LogFigures>,
}

/// The measurements of a segment.
pub(super) struct ProbedDevice {
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    pub(super) host: HostMeasures,
    /// The spindles by number, then the devices of the log.
    pub(super) devices: Vec<DeviceMeasures>,
}

impl Meter {
    /// Measures the calling thread and the array from now on.
    pub(super) fn new(counters: &Counters) -> Self {
        let mut counted = Counted::default();
        counted.since(counters);
        Self {
            outstanding: Outstanding::default(),
            counted,
            processor_ns: thread_processor_ns(),
            segments: 0,
            log: Vec::new(),
        }
    }

    pub(super) fn segment(&mut self, array: &dyn MeasuredArray, seen: ProbedDevice) -> Segment {
        let ProbedDevice { start_ns, end_ns, mut host, devices } = seen;
        let spindles = usize::from(array.spindles());
        let length_ns = end_ns - start_ns;
        host.outstanding_ns = self.outstanding.take(end_ns);
        host.close();
        self.segments += 1;
        let processor_ns = thread_processor_ns();
        let processor_busy_ns = processor_ns - self.processor_ns;
        self.processor_ns = processor_ns;

        let mut groups = [SpindleGroup::default(); 2];
        for (spindle, measures) in (0..).zip(&devices[..spindles]) {
            add(
                &mut groups[usize::from(array.is_parity(SpindleIndex(spindle)))],
                measures,
                length_ns,
            );
        }
        let [data_spindles, parity_spindles] = groups;
        let groups =
            array.groups().into_iter().map(|group| of_group(array, &group, &devices, length_ns));
        // Both devices of a mirrored log do the same; one may have failed.
        let log = devices[spindles..].iter().max_by_key(|log| log.ios);
        let log = log.copied().unwrap_or_default();
        let seconds = length_ns.max(1) as f64 / 1e9;
        self.log.push(LogFigures {
            segment: self.segments,
            ios: log.ios,
            written_mib_per_s: log.written_bytes as f64 / f64::from(1 << 20) / seconds,
            utilization: log.busy_ns.min(length_ns) as f64 / length_ns.max(1) as f64,
        });

        // This error takes the place of the utilization law's: see `spindles_law`.
        let law = spindles_law(&devices);
        let laws = Laws {
            utilization_law_error: law,
            utilization_law_unexplained: law,
            ..host.littles_law()
        };
        Segment {
            index: self.segments,
            length_ns,
            operations: host.operations,
            refused: host.refused,
            bytes: host.sectors * 512,
            mean_outstanding: host.outstanding_ns / length_ns.max(1) as f64,
            response: host.response_times(),
            counters: self.counted.since(array.counters()),
            processor_busy_ns,
            data_spindles,
            parity_spindles,
            groups: groups.collect(),
            layout: array.layout(),
            snapshots: array.snapshot_measures(),
            scan: array.scan_progress(),
            volumes: Vec::new(),
            failures: array.failures().to_vec(),
            by_direction: host.by_direction,
            by_workload: host.by_workload,
            page_cache: host.page_cache,
            client_raid: host.client_raid,
            remote: host.remote,
            machine: None,
            laws,
        }
    }
}

/// Returns the largest error of Little's law over the devices. A real spindle does not report when it starts a
/// command, so its service time is its busy time divided by its commands, and the utilization law is trivially true.
/// What can be compared is the residence time of the single I/Os with the number outstanding over time.
fn spindles_law(devices: &[DeviceMeasures]) -> f64 {
    devices.iter().map(DeviceMeasures::littles_law_error).fold(0.0, f64::max)
}

/// Adds one device to a group. Devices are probed some microseconds after a segment's end, so busy time is capped at
/// the segment's length.
fn add(group: &mut SpindleGroup, one: &DeviceMeasures, length_ns: u64) {
    let busy_ns = one.busy_ns.min(length_ns);
    group.spindles += 1;
    group.commands += one.ios;
    group.busy_ns += busy_ns;
    group.service_ns += busy_ns;
    group.residence_ns += one.residence_ns;
}

/// Returns what the spindles of a parity group did.
fn of_group(
    array: &dyn MeasuredArray,
    GroupMeasures { spindles, blocks, free_blocks }: &GroupMeasures,
    devices: &[DeviceMeasures],
    length_ns: u64,
) -> GroupSegment {
    let (blocks, free_blocks) = (*blocks, *free_blocks);
    let mut group = GroupSegment { blocks, free_blocks, ..GroupSegment::default() };
    for spindle in spindles.clone() {
        let measures = &devices[usize::from(spindle)];
        let half = match array.is_parity(SpindleIndex(spindle)) {
            true => &mut group.parity_spindles,
            false => &mut group.data_spindles,
        };
        add(half, measures, length_ns);
        group.reads += measures.reads;
        group.writes += measures.writes;
    }
    group
}

/// Returns the processor time of the calling thread since it started, including the kernel's.
fn thread_processor_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
