//! What lay between hosts and an array in a segment. The results of an array on a wire that costs nothing have none of
//! this.

use serde::{Deserialize, Serialize};

/// What a machine of several parts did in a segment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineFigures {
    /// Where the time of host operations went, milliseconds.
    pub time_in_ms: TimeIn,
    /// Each controller, in order.
    pub controllers: Vec<ControllerFigures>,
    /// Each link, in the order of the path from host to array; a link of several lanes has one entry for each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<LinkFigures>,
    /// Share of the time that the processor of a block router was busy, 0 to 1; none without a router.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub router_utilization: Option<f64>,
    /// Mean number of cores of hosts that the front end kept busy, of all hosts together.
    pub host_cores: f64,
    /// Each host that has a name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostProcessor>,
    /// Requests and answers that were lost on their way, except those that TCP sent again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
    /// What went out of service or came back in the segment, in the order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<MachineEvent>,
    /// The links and controllers that were out of service for all of the segment or for a part of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub out_of_service: Vec<String>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Parts of a response time, milliseconds. They add up to its mean, unless the requests are those of a page cache or of
/// clients that compute parity ([`Segment::time_is_of_requests`](crate::Segment::time_is_of_requests)). An operation
/// that a front end divides has requests that overlap; its time is divided in proportion to theirs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeIn {
    /// Waiting for the host's processor, and on it.
    pub host: f64,
    /// On links, in switches and routers, waits for them included.
    pub wire: f64,
    /// The controller's network processing.
    pub front_end: f64,
    /// Waiting for the controller's processor, and on it; copying a write to the partner's log.
    pub controller: f64,
    /// Spindles, and waiting for room in the log.
    pub spindles: f64,
    /// Waiting for a controller that had stopped.
    pub outage: f64,
}

impl TimeIn {
    /// The parts with their names, from the host inwards.
    #[must_use]
    pub fn parts(&self) -> [(&'static str, f64); 6] {
        let Self { host, wire, front_end, controller, spindles, outage } = *self;
        [
            ("host", host),
            ("wire", wire),
            ("front end", front_end),
            ("controller", controller),
            ("spindles", spindles),
            ("outage", outage),
        ]
    }
}

/// Something that went out of service, or came back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineEvent {
    /// When, seconds from the start of the run.
    pub at_seconds: f64,
    /// What happened.
    pub what: String,
}

/// A host's processor in a segment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostProcessor {
    /// The name of the host.
    pub name: String,
    /// Mean number of its cores that the front end kept busy.
    pub cores: f64,
}

/// A controller in a segment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ControllerFigures {
    /// Share of the time that the processor was busy, 0 to 1. Of several cores it is their mean, or the share of the
    /// busiest serial domain if that is more.
    pub utilization: f64,
    /// Its cores; none if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<CoresFigures>,
    /// MiB a second copied to the partner's log; none without a partner.
    pub copied_mib_per_s: Option<f64>,
}

/// The cores of a controller in a segment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CoresFigures {
    /// Mean number of cores that were busy.
    pub busy: f64,
    /// Network processing in it, as a number of cores.
    pub network: f64,
    /// Share of the time that each serial domain was occupied, 0 to 1, in the order of the scenario.
    pub serial_domains: Vec<f64>,
}

/// A link in a segment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkFigures {
    /// Its name.
    pub name: String,
    /// Share of the time that it was busy towards the array, 0 to 1.
    pub utilization_to_array: f64,
    /// The same towards the host.
    pub utilization_to_host: f64,
    /// MiB a second on the wire towards the array, everything included that protocols and frames add.
    pub mib_per_s_to_array: f64,
    /// The same towards the host.
    pub mib_per_s_to_host: f64,
}

/// The link that is busier than the others in a segment, and the direction.
pub struct BusiestLink<'a> {
    /// Its place among the links.
    pub position: usize,
    /// Its name.
    pub name: &'a str,
    /// The field of [`LinkFigures`] that has its utilization.
    pub field: &'static str,
    /// Share of the time, 0 to 1.
    pub utilization: f64,
}

impl MachineFigures {
    /// Returns the busiest link; none if there is no link.
    pub fn busiest_link(&self) -> Option<BusiestLink<'_>> {
        let both = |(position, link): (usize, &'_ LinkFigures)| {
            [
                (position, "utilization_to_array", link.utilization_to_array),
                (position, "utilization_to_host", link.utilization_to_host),
            ]
        };
        let all = self.links.iter().enumerate().flat_map(both);
        let (position, field, utilization) =
            all.reduce(|one, other| if other.2 > one.2 { other } else { one })?;
        Some(BusiestLink { position, name: &self.links[position].name, field, utilization })
    }

    /// Returns whether something went out of service or came back in the segment, or operations felt it.
    pub fn has_outage(&self) -> bool {
        self.lost > 0 || self.time_in_ms.outage > 0.0 || !self.events.is_empty()
    }
}
