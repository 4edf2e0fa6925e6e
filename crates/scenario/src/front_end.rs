//! How hosts reach an array.

use strewn_transport::{Forwarding, LinkProfile, Protocol, RouterOptions, Transport};

use crate::fields::{
    Fields, Section, Table, Text, Words, choice, cost, count, list_of, name, table,
};
use crate::host::Host;
use crate::machine::{self, Link};
use crate::processor::MOST_CORES;
use crate::protocol::{self, ProtocolName};

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
    pub router: Option<RouterOptions>,
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

    /// Goes over the cost of a side: of either direction, and of reads and writes if these are others.
    fn fields(
        &mut self,
        f: &mut Fields<'_>,
        [both, read, write]: [&'static str; 3],
        help: &'static str,
    ) {
        f.value(cost(both, help).default("\"0 s\"", FREE), &mut self.both_ns);
        f.value(
            cost(read, "The same of data that is read, if that costs something else."),
            &mut self.read_ns,
        );
        f.value(
            cost(write, "The same of data that is written, if that costs something else."),
            &mut self.write_ns,
        );
    }
}

/// Where the costs of a protocol come from that a scenario does not give.
const FREE: &str = "nothing, unless it is measured";

/// When a host begins with an answer that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HostReceives {
    /// When all of it is there.
    WhenComplete,
    /// With its first frames, and works while the rest arrives.
    AsItArrives,
}

impl Words for HostReceives {
    const WORDS: &'static [(&'static str, Self)] =
        &[("when-complete", Self::WhenComplete), ("as-it-arrives", Self::AsItArrives)];
}

impl Words for Forwarding {
    const WORDS: &'static [(&'static str, Self)] =
        &[("store-and-forward", Self::StoreAndForward), ("cut-through", Self::CutThrough)];
}

impl Default for FrontEnd {
    fn default() -> Self {
        Self {
            protocol: ProtocolName::Iscsi.protocol(),
            transport: ProtocolName::Iscsi.transport(),
            path: Vec::new(),
            switch_latency_ns: 0,
            switch_forwarding: Forwarding::StoreAndForward,
            router: None,
            connections: 1,
            host_cores: 1,
            host_pdu_ns: 0.0,
            host_per_kib: PerKib::default(),
            controller_pdu_ns: 0.0,
            controller_per_kib: PerKib::default(),
            host_interrupt_delay_ns: 0,
            host_receives: HostReceives::WhenComplete,
        }
    }
}

/// Connections of a front end: more than any initiator opens, and each takes memory.
const MOST_CONNECTIONS: u64 = 65_535;

/// What the settings of a front end mean on either side of a gateway.
pub(crate) struct Sides {
    pub(crate) host_cores: &'static str,
    pub(crate) host_pdu: &'static str,
    pub(crate) host_per_kib: &'static str,
    pub(crate) controller_pdu: &'static str,
    pub(crate) controller_per_kib: &'static str,
}

const HOST_AND_CONTROLLER: Sides = Sides {
    host_cores: "Cores of the host for what the protocol costs it.",
    host_pdu: "What a PDU costs the host's processor, at most 1 s.",
    host_per_kib: "What a KiB of data costs the host's processor, at most 1 s.",
    controller_pdu: "What a PDU costs the controller's processor, at most 1 s.",
    controller_per_kib: "What a KiB of data costs the controller's processor, at most 1 s.",
};

impl FrontEnd {
    /// The key of the table.
    pub(crate) const KEY: &str = "front_end";

    /// Takes the defaults of a protocol, if a text is read.
    pub(crate) fn begin(&mut self, f: &mut Fields<'_>, name: ProtocolName) {
        if f.reads() {
            self.protocol = name.protocol();
            self.transport = name.transport();
        }
    }

    /// Goes over what a front end has in front of a gateway and behind it.
    pub(crate) fn common(&mut self, f: &mut Fields<'_>, sides: &Sides) {
        f.value(
            cost("switch_latency", "What a switch adds to a frame, at most 1 s.").default(
                "\"4 us\"",
                "a store-and-forward gigabit switch's data sheets say 2 to 6 us",
            ),
            &mut self.switch_latency_ns,
        );
        f.value(
            choice::<Forwarding>(
                "switch_forwarding",
                "When a switch passes a frame on: when all of it has arrived, or its header.",
            )
            .default("\"store-and-forward\"", "switches of the time"),
            &mut self.switch_forwarding,
        );
        f.value(
            count("connections", "Connections that operations use in turn.")
                .at_most(MOST_CONNECTIONS)
                .chosen("1"),
            &mut self.connections,
        );
        let host_cores = count("host_cores", sides.host_cores).at_most(MOST_CORES).chosen("1");
        f.value(host_cores.listed(!f.context.hosts_are_named), &mut self.host_cores);
        f.value(cost("host_pdu", sides.host_pdu).default("\"0 s\"", FREE), &mut self.host_pdu_ns);
        let host = ["host_per_kib", "host_read_per_kib", "host_write_per_kib"];
        self.host_per_kib.fields(f, host, sides.host_per_kib);
        f.value(
            cost("controller_pdu", sides.controller_pdu).default("\"0 s\"", FREE),
            &mut self.controller_pdu_ns,
        );
        let controller =
            ["controller_per_kib", "controller_read_per_kib", "controller_write_per_kib"];
        self.controller_per_kib.fields(f, controller, sides.controller_per_kib);
    }
}

impl Table for FrontEnd {
    fn fields(&mut self, f: &mut Fields<'_>) {
        let mut protocol = ProtocolName::of(&self.protocol);
        f.value(
            choice::<ProtocolName>("protocol", "The protocol.").required("\"iscsi\""),
            &mut protocol,
        );
        self.begin(f, protocol);
        let path = list_of(name(
            "path",
            "The links from the host to the array, by name, with a switch between two of them, or the router. Required \
             unless each blade of client_raid has a link.",
        ));
        let path = match f.context.has_blade_link {
            true => path,
            false => path.required_unless("[\"gigabit\"]"),
        };
        f.value(path.each("[\"gigabit\"]"), &mut self.path);
        self.common(f, &HOST_AND_CONTROLLER);
        // Where they are as they always were, results list what they always did.
        f.value(
            cost(
                "host_interrupt_delay",
                "How long the host's adapter collects frames of an answer before it interrupts the host, at most 1 s; 0 s \
                 without moderation.",
            )
            .chosen("\"0 s\"")
            .unless_default(),
            &mut self.host_interrupt_delay_ns,
        );
        f.value(
            choice::<HostReceives>(
                "host_receives",
                "When the host begins with an answer: when all of it is there, or with its first frames.",
            )
            .chosen("\"when-complete\"")
            .unless_default(),
            &mut self.host_receives,
        );
        protocol::of_protocols(f, &mut self.protocol, &mut self.transport, ProtocolName::ALL);
        f.table(
            table(
                protocol::ROUTER,
                "A block router where the path changes from Ethernet or InfiniBand to Fibre Channel; the protocol is \
                 iscsi. Each time is at most 1 s.",
            )
            .apart(),
            &mut self.router,
        );
    }
}

impl FrontEnd {
    /// Checks the way from hosts to what is behind it, with the link that each blade has one like.
    pub(crate) fn check_way(
        &self,
        s: &Section<'_>,
        links: Option<&[Link]>,
        hosts: Option<&[Host]>,
        blade_link: Option<&str>,
    ) {
        if let (Some(links), Some(hosts)) = (links, hosts)
            && s.are_right(&["path", "protocol"])
        {
            check_path(s, &self.path, blade_link, links, hosts, &self.protocol);
        }
        if hosts.is_some_and(|hosts| !hosts.is_empty()) && s.gives("host_cores") {
            s.problem(
                "host_cores",
                "is given beside [[host]], each of which has its own",
                "leave it out here, and give `cores` there",
            );
        }
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
