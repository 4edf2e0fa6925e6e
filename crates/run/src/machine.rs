//! Builds the machine that a scenario describes around an array: links, front end, a second controller.

use strewn_array::{Array, LunId, VolumeId};
use strewn_raid::SpindleIndex;
use strewn_scenario as scenario;
use strewn_scenario::{Link, Scenario};
use strewn_sim::{
    ControllerId, Host, Interconnect, Machine, PairSettings, Port, PortId, SimulationError,
    Spindles,
};
use strewn_transport::{
    Framing, FrontEnd, Hop, LinkProfile, Network, NetworkError, ProcessorCosts, Protocol, Switch,
};

use crate::build::{self, BuildError};

/// Whether an array of a scenario needs a [`Machine`]: there is more than an array and a host that shares its memory.
pub(crate) fn is_needed(array: &scenario::Array) -> bool {
    array.front_end.is_some() || array.pair.is_some()
}

/// The parts of an array that each controller owns: one, or those of a pair.
pub(crate) fn parts(array: &scenario::Array) -> Vec<scenario::Array> {
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

/// Sets up a machine of arrays that were built of the [`parts`], under `host`.
pub(crate) fn build<A: Array<()>, H: Host>(
    scenario: &Scenario,
    array: &scenario::Array,
    built: Vec<A>,
    spindles: &Spindles,
    host: H,
) -> Result<Machine<A, H>, MachineError> {
    let front_end = array.front_end.as_ref();
    let host_cores = front_end.map_or(0, |front_end| front_end.host_cores);
    let network_cores = front_end.map_or(0, |front_end| front_end.network_cores);
    let mut machine = Machine::new(host).with_host_cores(host_cores);
    let port = add_port(&mut machine, scenario, front_end)?;
    for array in built {
        machine.add_controller(array, spindles, network_cores)?;
    }
    let parts = parts(array);
    for lun in build::luns(array) {
        let controller = lun.controller.saturating_sub(1);
        let of_controller = parts.get(usize::from(controller)).map(build::luns);
        let own = of_controller.and_then(|luns| luns.iter().position(|own| own.name == lun.name));
        machine.add_lun(ControllerId(controller), LunId(own.unwrap_or(0) as u16), port);
    }
    if let Some(pair) = &array.pair {
        machine.pair(PairSettings {
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

/// Schedules what the scenario has happen to arrays.
fn schedule<A: Array<()>, H: Host>(
    machine: &mut Machine<A, H>,
    array: &scenario::Array,
    parts: &[scenario::Array],
) {
    for (controller, part) in (0..).map(ControllerId).zip(parts) {
        // A spindle may fail at the time at which its group is added.
        let layout = part.layout.write_anywhere();
        let groups = layout.into_iter().flat_map(|layout| &layout.further_groups);
        for at_ns in groups.filter_map(|group| group.at_ns) {
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

/// Why a machine cannot be set up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MachineError {
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    Simulation(#[from] SimulationError),
}

impl From<NetworkError> for MachineError {
    fn from(error: NetworkError) -> Self {
        Self::Build(BuildError::Network(error))
    }
}

fn add_port<A: Array<()>, H: Host>(
    machine: &mut Machine<A, H>,
    scenario: &Scenario,
    front_end: Option<&scenario::FrontEnd>,
) -> Result<PortId, MachineError> {
    let Some(front_end) = front_end else {
        let direct = FrontEnd::from(Protocol::Direct);
        return Ok(machine.add_port(Port { front_end: direct, connections: Vec::new() }));
    };
    let switch = Hop::Switch(Switch {
        latency_ns: front_end.switch_latency_ns,
        forwarding: front_end.switch_forwarding,
    });
    let network = machine.network_mut();
    let router = front_end.router.map(|settings| Hop::Router(network.add_router(settings)));
    let mut hops = Vec::new();
    let mut framing_before = None;
    for name in &front_end.path {
        let link = scenario.links.iter().find(|link| link.name == *name);
        let link = link.ok_or_else(|| BuildError::NoLink(name.clone()))?;
        let profile = profile_of(link)?;
        let framing = profile.framing;
        match (framing_before.replace(framing), router) {
            (None, _) => {}
            (Some(Framing::Segments), Some(router)) if framing == Framing::Sequences => {
                hops.push(router);
            }
            _ => hops.push(switch),
        }
        hops.push(add_link(network, link, &profile)?);
    }
    let path = machine.network_mut().add_path(&hops)?;
    let connections = (1..=u64::from(front_end.connections))
        .map(|flow| machine.network().connect(path, flow, front_end.transport))
        .collect::<Result<Vec<_>, _>>()?;
    let costs = |pdu_ns: f64, kib_ns: f64| ProcessorCosts {
        pdu_ns: pdu_ns.round() as u64,
        kib_ns: kib_ns.round() as u64,
    };
    let front_end = FrontEnd {
        protocol: front_end.protocol,
        host_costs: costs(front_end.host_pdu_ns, front_end.host_per_kib_ns),
        target_costs: costs(front_end.controller_pdu_ns, front_end.controller_per_kib_ns),
    };
    Ok(machine.add_port(Port { front_end, connections }))
}

/// The kind of a link, with what the scenario says of this one.
fn profile_of(link: &Link) -> Result<LinkProfile, BuildError> {
    let shipped = LinkProfile::shipped(&link.kind);
    let shipped = shipped.ok_or_else(|| BuildError::NoLink(link.kind.clone()))?;
    Ok(LinkProfile {
        propagation_ns: link.propagation_ns.unwrap_or(shipped.propagation_ns),
        buffer_credits: link.buffer_credits.or(shipped.buffer_credits),
        ..shipped
    })
}

/// Adds a link, or its lanes.
fn add_link(
    network: &mut Network,
    link: &Link,
    profile: &LinkProfile,
) -> Result<Hop, MachineError> {
    let lanes = (0..link.lanes.max(1))
        .map(|_| network.add_link(profile.clone()))
        .collect::<Result<Vec<_>, _>>()?;
    if let Some(at_ns) = link.down_ns {
        network.fail(lanes[0], at_ns);
    }
    if let Some(at_ns) = link.up_ns {
        network.restore(lanes[0], at_ns);
    }
    Ok(match lanes.as_slice() {
        [only] => Hop::Link(*only),
        several => Hop::Lanes(network.add_lanes(several, link.lane_rule, link.detection_ns)?),
    })
}

/// The names of an array's links, in the order in which its machine has them: lanes have numbers.
pub(crate) fn link_names(scenario: &Scenario, array: &scenario::Array) -> Vec<String> {
    let path = array.front_end.iter().flat_map(|front_end| &front_end.path);
    let links = path.filter_map(|name| scenario.links.iter().find(|link| link.name == *name));
    let names = links.flat_map(|link| {
        (1..=link.lanes).map(|lane| match link.lanes {
            1 => link.name.clone(),
            _ => format!("{}, lane {lane}", link.name),
        })
    });
    names.collect()
}
