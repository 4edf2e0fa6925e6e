//! Builds the machine that a scenario describes around an array: links, front end, a second controller, blades.

use std::borrow::Cow;

use strewn_array::{AnyArray, LunId, ProcessorWork, VolumeId};
use strewn_raid::SpindleIndex;
use strewn_results::LinkFigures;
use strewn_sim::{
    ControllerId, Host, HostId, Interconnect, LinkSegment, Machine, PairConfig, Port, PortId,
    ProcessorCores, Receiving, SimulationError,
};
use strewn_transport::{
    Framing, FrontEnd, Hop, LinkProfile, Network, NetworkError, ProcessorCosts, Protocol, Switch,
};

use crate::array::Array;
use crate::build::{self, BuildError};
use crate::front_end::{self, HostReceives, PerKib};
use crate::machine::Link;
use crate::processor;
use crate::scenario::Scenario;

/// Whether an array of a scenario needs a [`Machine`]: there is more than an array and a host that shares its memory.
pub fn is_needed(array: &Array) -> bool {
    array.front_end.is_some()
        || array.pair.is_some()
        || array.client_raid.is_some()
        || array.gateway.is_some()
        || array.processor.cores > 1
}

/// The parts of an array that each controller owns: one, those of a pair, or blades, all alike.
pub fn parts(array: &Array) -> Vec<Array> {
    if let Some(raid) = &array.client_raid {
        let mut blade = array.clone();
        blade.luns.iter_mut().for_each(|lun| lun.bytes = raid.object_bytes(lun.bytes));
        return vec![blade; raid.blades.into()];
    }
    if array.pair.is_none() {
        return vec![array.clone()];
    }
    let of_controller = |controller| {
        let mut part = array.clone();
        part.luns.retain(|lun| lun.controller == controller);
        if part.luns.is_empty() {
            // Its partner's LUNs as they are, and nobody works on them.
            part.luns.clone_from(&array.luns);
        }
        part
    };
    vec![of_controller(1), of_controller(2)]
}

/// The scenario as each of the [`parts`] sees it: workloads' files are objects on a blade, each a share of its file.
pub fn of_parts<'s>(scenario: &'s Scenario, array: &Array) -> Cow<'s, Scenario> {
    let Some(raid) = &array.client_raid else { return Cow::Borrowed(scenario) };
    let mut of_blade = scenario.clone();
    for workload in &mut of_blade.workloads {
        workload.file_bytes = raid.object_bytes(workload.file_bytes);
    }
    Cow::Owned(of_blade)
}

/// Sets up a machine of arrays that were built of the [`parts`], under `host`.
pub fn build<A: AnyArray<()>, H: Host>(
    scenario: &Scenario,
    array: &Array,
    built: Vec<A>,
    host: H,
) -> Result<Machine<A, H>, SetUpError> {
    let cores = host_cores(scenario, array);
    let mut machine = Machine::new(host).with_host_cores(cores[0]);
    for cores in cores.into_iter().skip(1) {
        machine.add_host(cores);
    }
    let ports = add_ports(&mut machine, scenario, array)?;
    let processor_cores = processor_cores(&array.processor);
    let spindles = build::spindles(scenario, array)?;
    for built in built {
        machine.add_controller(built, &spindles, &processor_cores)?;
    }
    let parts = parts(array);
    // Each host has numbers of its own for the LUNs.
    for ports in ports {
        for (number, lun) in (0..).map(LunId).zip(build::luns(array)) {
            if array.client_raid.is_some() {
                // The objects of a file, blade by blade, as `ClientRaid` numbers them.
                for (blade, port) in (0..).map(ControllerId).zip(&ports) {
                    machine.add_lun(blade, number, *port);
                }
                continue;
            }
            let controller = lun.controller.saturating_sub(1);
            let of_controller = parts.get(usize::from(controller)).map(build::luns);
            let own =
                of_controller.and_then(|luns| luns.iter().position(|own| own.name == lun.name));
            machine.add_lun(ControllerId(controller), LunId(own.unwrap_or(0) as u16), ports[0]);
        }
    }
    if let Some(pair) = &array.pair {
        machine.pair(PairConfig {
            interconnect: Interconnect {
                bytes_per_second: pair.interconnect_bytes_per_second,
                latency_ns: pair.interconnect_latency_ns,
            },
            detection_ns: pair.detection_ns,
            giveback_ns: pair.giveback_pause_ns,
        });
        let failing = ControllerId(pair.failing.saturating_sub(1));
        if let Some(at_ns) = pair.takeover_ns {
            machine.fail_controller_at(at_ns, failing);
        }
        if let Some(at_ns) = pair.giveback_ns {
            machine.give_back_at(at_ns, failing);
        }
    }
    schedule(&mut machine, array, &parts);
    Ok(machine)
}

/// The cores of each host.
pub fn host_cores(scenario: &Scenario, array: &Array) -> Vec<u32> {
    match scenario.hosts_of(&array.name).as_slice() {
        [] => vec![array.front_end.as_ref().map_or(0, |front_end| front_end.host_cores)],
        several => several.iter().map(|host| host.cores).collect(),
    }
}

/// Schedules what the scenario has happen to arrays.
fn schedule<A: AnyArray<()>, H: Host>(machine: &mut Machine<A, H>, array: &Array, parts: &[Array]) {
    for (controller, part) in (0..).map(ControllerId).zip(parts) {
        // A spindle may fail at the time at which its group is added.
        for at_ns in part.layout.groups_added_ns() {
            machine.add_group_at(at_ns, controller);
        }
        for (schedule, volumes) in part.snapshot_schedules() {
            let volumes = volumes.into_iter().map(|volume| VolumeId(volume as u32)).collect();
            let (every_ns, keep) = (schedule.every_ns, schedule.keep.into());
            machine.snapshot_volumes_every(controller, volumes, every_ns, keep);
        }
    }
    for failure in &array.failures {
        let spindles = machine.array(ControllerId(0)).spindles();
        let (controller, spindle) = (failure.spindle / spindles, failure.spindle % spindles);
        machine.fail_at(failure.at_ns, ControllerId(controller), SpindleIndex(spindle));
    }
}

/// Why a simulation cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum SetUpError {
    /// An array, a host or the network between them.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// What runs them.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
}

impl From<NetworkError> for SetUpError {
    fn from(error: NetworkError) -> Self {
        Self::Build(BuildError::Network(error))
    }
}

fn processor_cores(processor: &processor::Processor) -> ProcessorCores {
    let work = |work: &processor::ProcessorWork| match work {
        processor::ProcessorWork::Operations => ProcessorWork::Operation,
        processor::ProcessorWork::Commands => ProcessorWork::Command,
        processor::ProcessorWork::Network => ProcessorWork::Network,
        processor::ProcessorWork::Allocation => ProcessorWork::Allocation,
        processor::ProcessorWork::Frees => ProcessorWork::Frees,
        processor::ProcessorWork::Parity => ProcessorWork::Parity,
        processor::ProcessorWork::Scans => ProcessorWork::Scans,
    };
    let domain = |domain: &Vec<_>| domain.iter().map(work).collect();
    ProcessorCores {
        cores: processor.cores,
        serial_domains: processor.serial_domains.iter().map(domain).collect(),
    }
}

/// Adds the links, and each host's ports: one, or one for each blade.
fn add_ports<A: AnyArray<()>, H: Host>(
    machine: &mut Machine<A, H>,
    scenario: &Scenario,
    array: &Array,
) -> Result<Vec<Vec<PortId>>, SetUpError> {
    let Some(front_end) = &array.front_end else {
        let direct = FrontEnd::from(Protocol::Direct);
        let port = Port { host: HostId(0), front_end: direct, connections: Vec::new() };
        return Ok(vec![vec![machine.add_port(port)]]);
    };
    let switch = Hop::Switch(Switch {
        latency_ns: front_end.switch_latency_ns,
        forwarding: front_end.switch_forwarding,
    });
    let network = machine.network_mut();
    let router = front_end.router.map(|settings| Hop::Router(network.add_router(settings)));
    let mut links = Vec::new();
    for link in links_of(scenario, array) {
        let profile = profile_of(link)?;
        links.push((link.name.as_str(), profile.framing, add_link(network, link, &profile)?));
    }
    // What is behind the path: a link of each blade, or nothing.
    let mut behind = Vec::new();
    match (&array.client_raid, blade_link(scenario, array)) {
        (Some(raid), Some(link)) => {
            let profile = profile_of(link)?;
            for _ in 0..raid.blades {
                behind.push(Some((profile.framing, add_link(network, link, &profile)?)));
            }
        }
        (Some(raid), None) => behind.resize(raid.blades.into(), None),
        (None, _) => behind.push(None),
    }
    let protocol = protocol_of(front_end);
    let receiving = Receiving {
        interrupt_delay_ns: front_end.host_interrupt_delay_ns,
        as_it_arrives: front_end.host_receives == HostReceives::AsItArrives,
    };
    let own_paths = match scenario.hosts_of(&array.name).as_slice() {
        [] => vec![&[][..]],
        several => several.iter().map(|host| host.path.as_slice()).collect(),
    };
    // Connections take the lanes of a link in turn, the first one the first lane.
    let mut flows = 0..;
    let mut ports = Vec::new();
    for (host, own_path) in (0..).map(HostId).zip(own_paths) {
        let mut in_front = Vec::new();
        for name in own_path.iter().chain(&front_end.path) {
            let link = links.iter().find(|link| link.0 == name);
            let (_, framing, hop) = *link.ok_or_else(|| BuildError::NoLink(name.clone()))?;
            in_front.push((framing, hop));
        }
        let mut of_host = Vec::new();
        for behind in &behind {
            let mut hops = Vec::new();
            let mut framing_before = None;
            for (framing, hop) in in_front.iter().chain(behind).copied() {
                match (framing_before.replace(framing), router) {
                    (None, _) => {}
                    (Some(Framing::Segments), Some(router)) if framing == Framing::Sequences => {
                        hops.push(router);
                    }
                    _ => hops.push(switch),
                }
                hops.push(hop);
            }
            let path = machine.network_mut().add_path(&hops)?;
            let connections = (flows.by_ref().take(front_end.connections as usize))
                .map(|flow| machine.network().connect(path, flow, front_end.transport))
                .collect::<Result<Vec<_>, _>>()?;
            let port = machine.add_port(Port { host, front_end: protocol, connections });
            machine.receive(port, receiving);
            of_host.push(port);
        }
        ports.push(of_host);
    }
    Ok(ports)
}

/// The protocol of a front end, and what it costs.
pub fn protocol_of(front_end: &front_end::FrontEnd) -> FrontEnd {
    let costs = |pdu_ns: f64, kib_ns: PerKib| ProcessorCosts {
        pdu_ns: pdu_ns.round() as u64,
        read_kib_ns: kib_ns.read_ns().round() as u64,
        write_kib_ns: kib_ns.write_ns().round() as u64,
    };
    FrontEnd {
        protocol: front_end.protocol,
        host_costs: costs(front_end.host_pdu_ns, front_end.host_per_kib),
        target_costs: costs(front_end.controller_pdu_ns, front_end.controller_per_kib),
    }
}

/// The link of which each blade of an array has one like it.
pub fn blade_link<'s>(scenario: &'s Scenario, array: &Array) -> Option<&'s Link> {
    let name = array.client_raid.as_ref()?.blade_link.as_ref()?;
    scenario.links.iter().find(|link| link.name == *name)
}

/// The links between hosts and an array, each once, from the hosts inwards. Hosts may share them.
pub fn links_of<'s>(scenario: &'s Scenario, array: &Array) -> Vec<&'s Link> {
    let Some(front_end) = &array.front_end else { return Vec::new() };
    let mut links: Vec<&Link> = Vec::new();
    let hosts = scenario.hosts_of(&array.name);
    for name in hosts.into_iter().flat_map(|host| &host.path).chain(&front_end.path) {
        if !links.iter().any(|link| link.name == *name) {
            links.extend(scenario.links.iter().find(|link| link.name == *name));
        }
    }
    links
}

/// The kind of a link, with what the scenario says of this one.
pub fn profile_of(link: &Link) -> Result<LinkProfile, BuildError> {
    let shipped = LinkProfile::shipped(&link.kind);
    let shipped = shipped.ok_or_else(|| BuildError::NoLink(link.kind.clone()))?;
    let bits_per_second = link.bytes_per_second.map(|bytes| bytes.saturating_mul(8));
    Ok(LinkProfile {
        bits_per_second: bits_per_second.unwrap_or(shipped.bits_per_second),
        propagation_ns: link.propagation_ns.unwrap_or(shipped.propagation_ns),
        buffer_credits: link.buffer_credits.or(shipped.buffer_credits),
        ..shipped
    })
}

/// Adds a link, or its lanes.
pub fn add_link(
    network: &mut Network,
    link: &Link,
    profile: &LinkProfile,
) -> Result<Hop, NetworkError> {
    let lanes = (0..link.lanes.max(1))
        .map(|_| network.add_link(profile.clone()))
        .collect::<Result<Vec<_>, _>>()?;
    for lane in lanes.iter().take(link.down_lanes as usize) {
        if let Some(at_ns) = link.down_ns {
            network.fail(*lane, at_ns);
        }
        if let Some(at_ns) = link.up_ns {
            network.restore(*lane, at_ns);
        }
    }
    Ok(match lanes.as_slice() {
        [only] => Hop::Link(*only),
        several => Hop::Lanes(network.add_lanes(several, link.lane_rule, link.detection_ns)?),
    })
}

/// The names of an array's links, in the order in which its machine has them: lanes have numbers.
pub fn link_names(scenario: &Scenario, array: &Array) -> Vec<String> {
    let links = links_of(scenario, array).into_iter().map(|link| (link, link.name.clone()));
    let blades = array.client_raid.as_ref().map_or(0, |raid| raid.blades);
    let of_blades = blade_link(scenario, array).into_iter().flat_map(|link| {
        (1..=blades).map(move |blade| (link, format!("{}, blade {blade}", link.name)))
    });
    links.chain(of_blades).flat_map(|(link, name)| lane_names(link, &name)).collect()
}

/// The names of the lanes of a link of this name.
pub fn lane_names(link: &Link, name: &str) -> Vec<String> {
    let numbered = (1..=link.lanes).map(|lane| match link.lanes {
        1 => name.to_owned(),
        _ => format!("{name}, lane {lane}"),
    });
    numbered.collect()
}

/// What links of these names carried in a segment of so many nanoseconds.
pub fn link_figures(
    names: impl IntoIterator<Item = String>,
    links: &[LinkSegment],
    length_ns: u64,
) -> Vec<LinkFigures> {
    let length_ns = length_ns.max(1) as f64;
    let busy = |busy_ns: u64| busy_ns as f64 / length_ns;
    let mib_per_s = |bytes: u64| bytes as f64 / f64::from(1 << 20) * 1e9 / length_ns;
    let figures = names.into_iter().zip(links).map(|(name, link)| LinkFigures {
        name,
        utilization_to_array: busy(link.busy_ns[0]),
        utilization_to_host: busy(link.busy_ns[1]),
        mib_per_s_to_array: mib_per_s(link.wire_bytes[0]),
        mib_per_s_to_host: mib_per_s(link.wire_bytes[1]),
    });
    figures.collect()
}
