//! How hosts reach an array.

use strewn_transport::{Forwarding, LinkProfile, Protocol, RouterSettings, Transport};

use crate::host::Host;
use crate::machine::{self, Link};
use crate::protocol;
use crate::section::Section;
use crate::value;

/// How hosts reach an array. Without one they share memory with it, and nothing crosses a wire.
#[derive(Debug, Clone, PartialEq)]
pub struct FrontEnd {
    /// The protocol and its settings; not [`Protocol::Direct`], which needs no front end.
    pub protocol: Protocol,
    /// What carries it from the host on: Fibre Channel for FCP, TCP for all others.
    pub transport: Transport,
    /// The links from the host to the array, by name. There is a switch between two of them, or the router. None if
    /// each blade of an array has a link of its own.
    pub path: Vec<String>,
    /// What a switch adds to a frame, in nanoseconds.
    pub switch_latency_ns: u64,
    /// When a switch passes a frame on.
    pub switch_forwarding: Forwarding,
    /// A router where the path changes to Fibre Channel.
    pub router: Option<RouterSettings>,
    /// Connections that operations use in turn.
    pub connections: u32,
    /// Cores of the host for what the protocol costs it, if the scenario names no hosts.
    pub host_cores: u32,
    /// Cost of a PDU for the host's processor, in nanoseconds.
    pub host_pdu_ns: f64,
    /// Cost of a KiB of data for the host's processor.
    pub host_per_kib: PerKib,
    /// Cost of a PDU for the controller's processor, in nanoseconds.
    pub controller_pdu_ns: f64,
    /// Cost of a KiB of data for the controller's processor.
    pub controller_per_kib: PerKib,
    /// For how long the host's adapter collects frames of an answer before it interrupts the host, in nanoseconds.
    pub host_interrupt_delay_ns: u64,
    /// When a host begins with an answer.
    pub host_receives: HostReceives,
}

/// What a KiB of data costs a processor.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PerKib {
    /// In nanoseconds, whatever the direction.
    pub both_ns: f64,
    /// In nanoseconds for reads, if that is another cost.
    pub read_ns: Option<f64>,
    /// In nanoseconds for writes, if that is another cost.
    pub write_ns: Option<f64>,
}

impl PerKib {
    /// Returns the cost of a KiB that is read.
    #[must_use]
    pub fn read_ns(&self) -> f64 {
        self.read_ns.unwrap_or(self.both_ns)
    }

    /// Returns the cost of a KiB that is written.
    #[must_use]
    pub fn write_ns(&self) -> f64 {
        self.write_ns.unwrap_or(self.both_ns)
    }

    /// Reads the keys `<of>_per_kib`, `<of>_read_per_kib` and `<of>_write_per_kib`.
    fn read(section: &mut Section<'_>, [both, read, write]: [&'static str; 3]) -> Option<Self> {
        let both_ns = section.optional_or(both, 0, value::at_most_a_second);
        let mut own = |key| {
            let ns = section.optional(key, value::at_most_a_second);
            let is_good = section.has(key) == ns.is_some();
            is_good.then(|| ns.map(|ns| ns as f64))
        };
        let (read_ns, write_ns) = (own(read), own(write));
        Some(Self { both_ns: both_ns? as f64, read_ns: read_ns?, write_ns: write_ns? })
    }
}

/// The keys of what a KiB costs a host.
pub(crate) const HOST_PER_KIB: [&str; 3] =
    ["host_per_kib", "host_read_per_kib", "host_write_per_kib"];
/// The keys of what a KiB costs a controller.
pub(crate) const CONTROLLER_PER_KIB: [&str; 3] =
    ["controller_per_kib", "controller_read_per_kib", "controller_write_per_kib"];

/// When a host begins with an answer that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostReceives {
    /// When all of it is there.
    WhenComplete,
    /// With its first frames, and works while the rest arrives.
    AsItArrives,
}

/// The words for when a host begins with an answer.
pub(crate) const HOST_RECEIVES: [(&str, HostReceives); 2] =
    [("when-complete", HostReceives::WhenComplete), ("as-it-arrives", HostReceives::AsItArrives)];

/// The words for how switches pass frames on.
pub(crate) const FORWARDINGS: [(&str, Forwarding); 2] =
    [("store-and-forward", Forwarding::StoreAndForward), ("cut-through", Forwarding::CutThrough)];

/// What a switch of the machine room adds unless a scenario says: a store-and-forward gigabit switch's data sheets say
/// 2 to 6 us.
const SWITCH_LATENCY_NS: u64 = 4_000;

impl FrontEnd {
    /// The key of the table.
    pub(crate) const KEY: &str = "front_end";

    /// Reads `[array.front_end]`.
    pub(crate) fn read(
        mut section: Section<'_>,
        links: Option<&[Link]>,
        hosts: Option<&[Host]>,
        blade_link: Option<&str>,
    ) -> Option<Self> {
        let s = &mut section;
        let protocol =
            s.required("protocol", "\"iscsi\"", |v| value::choice(v, &protocol::protocols()));
        let path = match blade_link.is_some() && !s.has("path") {
            true => {
                s.get("path");
                Some(Vec::new())
            }
            false => s.list("path", "[\"gigabit\"]", value::name),
        };
        let path: Option<Vec<String>> =
            path.map(|path| path.into_iter().map(|name| name.into_inner()).collect());
        let switch_latency_ns =
            s.optional_or("switch_latency", SWITCH_LATENCY_NS, value::at_most_a_second);
        let forwarding = s.optional_or("switch_forwarding", Forwarding::StoreAndForward, |v| {
            value::choice(v, &FORWARDINGS)
        });
        let connections = s.optional_or("connections", 1, value::positive_count);
        let host_cores = s.optional_or("host_cores", 1, value::positive_count);
        let mut cost = |key| {
            let ns = s.optional_or(key, 0, value::at_most_a_second);
            ns.map(|ns| ns as f64)
        };
        let host_pdu_ns = cost("host_pdu");
        let controller_pdu_ns = cost("controller_pdu");
        let host_per_kib = PerKib::read(s, HOST_PER_KIB);
        let controller_per_kib = PerKib::read(s, CONTROLLER_PER_KIB);
        let host_interrupt_delay_ns =
            s.optional_or("host_interrupt_delay", 0, value::at_most_a_second);
        let host_receives = s.optional_or("host_receives", HostReceives::WhenComplete, |v| {
            value::choice(v, &HOST_RECEIVES)
        });
        let settings = protocol::read(s, protocol.unwrap_or(Protocol::Direct));
        let router = protocol::read_router(s);
        if let (Some(path), Some(links), Some(hosts), Some(protocol)) =
            (&path, links, hosts, protocol)
        {
            check_path(s, path, blade_link, links, hosts, &protocol);
        }
        if hosts.is_some_and(|hosts| !hosts.is_empty()) && s.gives("host_cores") {
            s.problem(
                "host_cores",
                "is given beside [[host]], each of which has its own",
                "leave it out here, and give `cores` there",
            );
        }
        section.finish();
        protocol?;
        let (protocol, transport) = settings?;
        Some(Self {
            protocol,
            transport,
            path: path?,
            switch_latency_ns: switch_latency_ns?,
            switch_forwarding: forwarding?,
            router: router?,
            connections: connections?,
            host_cores: host_cores?,
            host_pdu_ns: host_pdu_ns?,
            host_per_kib: host_per_kib?,
            controller_pdu_ns: controller_pdu_ns?,
            controller_per_kib: controller_per_kib?,
            host_interrupt_delay_ns: host_interrupt_delay_ns?,
            host_receives: host_receives?,
        })
    }
}

/// Checks that the links exist, that frames pass from one to the next, and that they carry the protocol, from every
/// host.
fn check_path(
    section: &Section<'_>,
    path: &[String],
    blade_link: Option<&str>,
    links: &[Link],
    hosts: &[Host],
    protocol: &Protocol,
) {
    if !Link::check_named(section, path, links) {
        return;
    }
    if let Some(blade_link) = blade_link
        && !check_blade_link(section, path, blade_link, links, hosts)
    {
        return;
    }
    let path = &[path, blade_link.map(str::to_owned).as_slice()].concat()[..];
    let kind_of = |name: &String| links.iter().find(|link| link.name == *name);
    let kinds = |path: &[String]| -> Vec<&str> {
        path.iter().filter_map(kind_of).map(|link| link.kind.as_str()).collect()
    };
    if hosts.is_empty() {
        check_kinds(section, &kinds(path), protocol, "");
    }
    for host in hosts {
        if let Some(twice) = path.iter().find(|name| host.path.contains(name)) {
            section.problem(
                "path",
                format!("the link `{twice}` is in the path of host `{}` already", host.name),
                "leave it out here or there: an array's path begins where the hosts' own ends",
            );
            return;
        }
        let whole = [host.path.as_slice(), path].concat();
        if !check_kinds(section, &kinds(&whole), protocol, &format!(" from host `{}`", host.name)) {
            return;
        }
    }
}

/// Checks that the link that each blade has one like exists and is in no path. Returns whether that is so.
fn check_blade_link(
    section: &Section<'_>,
    path: &[String],
    blade_link: &str,
    links: &[Link],
    hosts: &[Host],
) -> bool {
    // The table names the link; that there is none is its problem.
    if !links.iter().any(|link| link.name == blade_link) {
        return false;
    }
    let in_path = |path: &[String]| path.iter().any(|name| name == blade_link);
    if in_path(path) || hosts.iter().any(|host| in_path(&host.path)) {
        section.problem(
            "path",
            format!(
                "the link `{blade_link}` is in it or in a host's, and each blade has one like it"
            ),
            "leave it out of paths: it comes behind them",
        );
        return false;
    }
    true
}

/// Checks that links of these kinds pass frames on and carry the protocol. Returns whether they do.
fn check_kinds(section: &Section<'_>, kinds: &[&str], protocol: &Protocol, from: &str) -> bool {
    if section.has(protocol::ROUTER) {
        return check_routed_path(section, kinds, protocol);
    }
    let wants_fibre_channel = matches!(protocol, Protocol::Fcp(_));
    let wrong = kinds.iter().find(|kind| machine::is_fibre_channel(kind) != wants_fibre_channel);
    if let Some(kind) = wrong {
        let message = format!("a link of kind {kind}{from} does not carry this protocol");
        let help = match protocol {
            Protocol::Fcp(_) => {
                "fcp goes over links of kind fc-1g to fc-8g: give such links, or protocol = \"iscsi\""
            }
            Protocol::Iscsi(_) if !machine::is_fibre_channel(kinds[0]) => {
                "it goes over Ethernet or InfiniBand: give such links, or add [array.front_end.router], \
                 behind which Fibre Channel begins"
            }
            _ => "it goes over Ethernet or InfiniBand: give such links, or protocol = \"fcp\"",
        };
        section.problem("path", message, help);
        return false;
    }
    check_frames(section, kinds, from)
}

/// Checks a path with a router: Ethernet or InfiniBand, and then Fibre Channel.
fn check_routed_path(section: &Section<'_>, kinds: &[&str], protocol: &Protocol) -> bool {
    if !matches!(protocol, Protocol::Iscsi(_)) {
        section.problem(
            protocol::ROUTER,
            "a router has iSCSI in front",
            "give protocol = \"iscsi\", or leave the table out",
        );
        return false;
    }
    let in_front = kinds.iter().take_while(|kind| !machine::is_fibre_channel(kind)).count();
    let (front, behind) = kinds.split_at(in_front);
    if front.is_empty()
        || behind.is_empty()
        || !behind.iter().all(|kind| machine::is_fibre_channel(kind))
    {
        section.problem(
            "path",
            "with a router it begins on Ethernet or InfiniBand and ends on Fibre Channel",
            "give links such as one of kind ethernet-1g and one of kind fc-2g, in this order, or leave the router out",
        );
        return false;
    }
    check_frames(section, front, "")
}

/// Checks that switches can pass frames from each link to the next.
fn check_frames(section: &Section<'_>, kinds: &[&str], from: &str) -> bool {
    let payload = |kind: &str| LinkProfile::shipped(kind).map(|link| link.frame_payload_bytes);
    let differ = kinds.windows(2).any(|two| payload(two[0]) != payload(two[1]));
    if differ {
        section.problem(
            "path",
            format!("its links{from} have frames of different sizes"),
            "give links of one MTU: a switch passes frames on as they are",
        );
    }
    !differ
}
