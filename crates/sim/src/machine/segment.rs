//! The measurements of a machine's segment.

use strewn_array::ScanProgress;
use strewn_array::{AnyArray, Counters, LayoutMeasures, SnapshotMeasures};
use strewn_base::state::SavedValue;
use strewn_transport::{Link, LinkId, Network, Toward};

use crate::driven_array::ProcessorMeasures;
use crate::host::Host;
use crate::processor::CoresSegment;
use crate::segment::{Laws, Segment, SpindleGroup, ratio};

use super::{Machine, TimeIn};

/// What a [`Machine`] measures in a segment besides what any [`Segment`] has. There, counters, spindles and groups are
/// those of all arrays, spindles and LUNs are numbered through, controller by controller, and the processor's time is
/// that of the busiest controller.
#[derive(Debug, Clone, SavedValue)]
pub struct MachineMeasures {
    /// Where the time of the operations answered went.
    pub time_in: TimeIn,
    /// What each controller did, in their order.
    pub controllers: Vec<ControllerSegment>,
    /// The links, in the order in which they were added to the network.
    pub links: Vec<LinkSegment>,
    /// Time that the processor of each router was busy, in nanoseconds, in the order in which they were added to the
    /// network.
    pub routers_busy_ns: Vec<u64>,
    /// Time that the processor of each host was busy, in nanoseconds, summed over its cores.
    pub hosts_busy_ns: Vec<u64>,
    /// Requests and answers that were lost on their way, except those that TCP sent again.
    pub lost: u64,
}

/// A controller over a segment.
#[derive(Debug, Clone, Default, PartialEq, Eq, SavedValue)]
pub struct ControllerSegment {
    /// Time that the processor was busy, in nanoseconds. Of several cores it is their mean, or that of the serial
    /// domain that was occupied longest, if that is more.
    pub processor_busy_ns: u64,
    /// Its cores, if there are several.
    pub cores: Option<CoresSegment>,
    /// Bytes copied to the partner's log.
    pub copied_bytes: u64,
}

/// A link over a segment, by direction: towards the array, and towards the host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, SavedValue)]
pub struct LinkSegment {
    /// Time that it carried something, in nanoseconds.
    pub busy_ns: [u64; 2],
    /// Bytes on the wire, with everything that protocols and frames add.
    pub wire_bytes: [u64; 2],
}

impl LinkSegment {
    fn since(&self, before: &Self) -> Self {
        let difference = |now: [u64; 2], before: [u64; 2]| {
            std::array::from_fn(|toward| now[toward].saturating_sub(before[toward]))
        };
        Self {
            busy_ns: difference(self.busy_ns, before.busy_ns),
            wire_bytes: difference(self.wire_bytes, before.wire_bytes),
        }
    }
}

impl<A: AnyArray<()>, H: Host> Machine<A, H> {
    /// Measures and closes the segment that ends at `end_ns`.
    pub(super) fn measure(&mut self, end_ns: u64) -> Segment {
        let start_ns = std::mem::replace(&mut self.segment_start_ns, end_ns);
        let length_ns = end_ns - start_ns;
        let mut host = self.host.end_segment(start_ns, end_ns);
        host.close();
        let mut counters = Counters::default();
        let mut processor = ProcessorMeasures::default();
        let [mut data_spindles, mut parity_spindles] = [SpindleGroup::default(); 2];
        let (mut groups, mut volumes) = (Vec::new(), Vec::new());
        let (mut law_error, mut law_unexplained) = (0.0_f64, 0.0_f64);
        let (mut layout, mut snapshots): (Option<LayoutMeasures>, Option<SnapshotMeasures>) =
            (None, None);
        let mut scan: Option<ScanProgress> = None;
        let mut controllers = Vec::new();
        for controller in &mut self.controllers {
            let driven = &mut controller.driven;
            let measured = driven.measure(start_ns, end_ns, controller.given);
            counters = counters.plus(&measured.counters);
            processor.served_ns +=
                measured.processor.served_ns + std::mem::take(&mut controller.other_work_ns) as f64;
            processor.busy_ns += measured.processor.busy_ns;
            processor.rounding_ns += measured.processor.rounding_ns;
            data_spindles.add(measured.data_spindles);
            parity_spindles.add(measured.parity_spindles);
            groups.extend(measured.groups);
            law_error = law_error.max(measured.utilization_law_error);
            law_unexplained = law_unexplained.max(measured.utilization_law_unexplained);
            volumes.extend(driven.array.volume_measures());
            let of_array = driven.array.layout();
            layout = Some(match layout {
                Some(before) => before.with(of_array),
                None => of_array,
            });
            snapshots = match (snapshots, driven.array.snapshot_measures()) {
                (Some(one), Some(other)) => Some(one.with(&other)),
                (one, other) => one.or(other),
            };
            scan = match (scan, driven.array.scan_progress()) {
                (Some(one), Some(other)) => Some(one.with(&other)),
                (one, other) => one.or(other),
            };
            let copied_bytes =
                driven.driver.mirror.as_mut().map_or(0, |mirror| std::mem::take(&mut mirror.bytes));
            let controllers_processor = &mut driven.driver.processor;
            let mean_ns =
                measured.processor.busy_ns / controllers_processor.several_cores().unwrap_or(1);
            let cores = controllers_processor.end_segment(end_ns);
            let domains = cores.iter().flat_map(|cores| &cores.serial_domains_ns).copied();
            controllers.push(ControllerSegment {
                processor_busy_ns: domains.fold(mean_ns, u64::max),
                cores,
                copied_bytes,
            });
        }
        let processor_error = processor.law_error();
        let laws = Laws {
            utilization_law_error: law_error.max(processor_error),
            utilization_law_unexplained: law_unexplained.max(processor_error),
            ..host.littles_law()
        };
        // A mean would hide the limit: after a takeover one controller does all the work.
        let processor_busy_ns =
            controllers.iter().map(|one| one.processor_busy_ns).max().unwrap_or_default();
        self.segment += 1;
        self.operations_before += host.operations;
        let machine = MachineMeasures {
            time_in: std::mem::take(&mut self.time_in),
            links: links_since(&self.network, &mut self.links_before, end_ns),
            routers_busy_ns: self.measure_routers(end_ns),
            hosts_busy_ns: self
                .host_cores
                .iter_mut()
                .map(|cores| cores.end_segment(end_ns))
                .collect(),
            lost: std::mem::take(&mut self.lost),
            controllers,
        };
        Segment {
            index: self.segment,
            length_ns,
            operations: host.operations,
            refused: host.refused,
            bytes: host.sectors * strewn_base::SECTOR_BYTES,
            mean_outstanding: ratio(host.outstanding_ns, length_ns as f64),
            response: host.response_times(),
            counters,
            processor_busy_ns,
            data_spindles,
            parity_spindles,
            groups,
            layout: layout.unwrap_or_else(LayoutMeasures::nothing),
            snapshots,
            scan,
            volumes,
            failures: self.failures(),
            by_direction: host.by_direction,
            by_workload: host.by_workload,
            page_cache: host.page_cache,
            client_raid: host.client_raid,
            remote: host.remote,
            machine: Some(Box::new(machine)),
            laws,
        }
    }

    fn measure_routers(&mut self, end_ns: u64) -> Vec<u64> {
        let network = &self.network;
        let now: Vec<u64> =
            network.routers().map(|router| network.router_busy_ns(router, end_ns)).collect();
        self.routers_before.resize(now.len(), 0);
        let before = std::mem::replace(&mut self.routers_before, now.clone());
        now.iter().zip(&before).map(|(now, before)| now - before).collect()
    }
}

/// What the links of a network carried until `end_ns`, since they had carried what is in `before`, which is brought up
/// to date.
pub(crate) fn links_since(
    network: &Network,
    before: &mut Vec<LinkSegment>,
    end_ns: u64,
) -> Vec<LinkSegment> {
    let measure = |(_, link): (LinkId, &Link)| LinkSegment {
        busy_ns: Toward::BOTH.map(|toward| link.busy_ns(toward, end_ns)),
        wire_bytes: Toward::BOTH.map(|toward| link.wire_bytes_until(toward, end_ns)),
    };
    let now: Vec<LinkSegment> = network.links().map(measure).collect();
    before.resize(now.len(), LinkSegment::default());
    let before = std::mem::replace(before, now.clone());
    now.iter().zip(&before).map(|(now, before)| now.since(before)).collect()
}
