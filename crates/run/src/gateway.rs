//! A gateway and the network in front of it: built from a scenario, and what they did as figures.

use strewn_results::{GatewayFigures, LinkFigures};
use strewn_scenario::{Array, Link, Scenario};
use strewn_sim::{AnyHost, RemoteClients, RemoteClientsConfig, Segment};
use strewn_transport::{Hop, Network, Switch};

use strewn_scenario::build::BuildError;
use strewn_scenario::build::machine;

/// Makes `host` the client of an array's gateway, if it has one.
pub(crate) fn with_gateway(
    scenario: &Scenario,
    host: AnyHost,
    array: &Array,
) -> Result<AnyHost, BuildError> {
    let Some(settings) = settings(scenario, array)? else { return Ok(host) };
    Ok(RemoteClients::new(host.boxed(), settings).into())
}

fn settings(scenario: &Scenario, array: &Array) -> Result<Option<RemoteClientsConfig>, BuildError> {
    let Some(gateway) = &array.gateway else { return Ok(None) };
    let front_end = &gateway.front_end;
    let switch = Hop::Switch(Switch {
        latency_ns: front_end.switch_latency_ns,
        forwarding: front_end.switch_forwarding,
    });
    let mut network = Network::new();
    let mut hops = Vec::new();
    for link in links_of(scenario, array) {
        let profile = machine::profile_of(link)?;
        if !hops.is_empty() {
            hops.push(switch);
        }
        hops.push(machine::add_link(&mut network, link, &profile)?);
    }
    let path = network.add_path(&hops)?;
    let connections = (0..u64::from(front_end.connections))
        .map(|flow| network.connect(path, flow, front_end.transport))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Some(RemoteClientsConfig {
        network,
        front_end: machine::protocol_of(front_end),
        connections,
        client_cores: front_end.host_cores,
        gateway_cores: gateway.cores,
    }))
}

/// The links between a gateway's client and the gateway, in the order of the path.
fn links_of<'s>(scenario: &'s Scenario, array: &Array) -> Vec<&'s Link> {
    let path = array.gateway.iter().flat_map(|gateway| &gateway.front_end.path);
    path.filter_map(|name| scenario.links.iter().find(|link| link.name == *name)).collect()
}

/// Returns what the links in front of a gateway carried; none without one.
pub(crate) fn link_figures(
    scenario: &Scenario,
    array: &Array,
    segment: &Segment,
) -> Vec<LinkFigures> {
    let Some(measured) = &segment.remote else { return Vec::new() };
    let links = links_of(scenario, array).into_iter();
    let names = links.flat_map(|link| machine::lane_names(link, &link.name));
    machine::link_figures(names, &measured.links, segment.length_ns)
}

/// Returns what lay between a gateway and its client.
pub(crate) fn figures(segment: &Segment) -> Option<GatewayFigures> {
    let measured = segment.remote.as_ref()?;
    let length_ns = segment.length_ns.max(1) as f64;
    // Requests of one operation overlap, and some began before the segment.
    let part_ms = |part_ns: u64| match measured.time_in.total_ns() {
        0 => 0.0,
        all_ns => part_ns as f64 / all_ns as f64 * segment.response.mean_ns / 1e6,
    };
    Some(GatewayFigures {
        client_ms: part_ms(measured.time_in.host_ns),
        wire_ms: part_ms(measured.time_in.wire_ns),
        gateway_ms: part_ms(measured.time_in.front_end_ns),
        storage_ms: part_ms(measured.time_in.controller_ns),
        client_cores: measured.clients_busy_ns as f64 / length_ns,
        gateway_cores: measured.gateway_busy_ns as f64 / length_ns,
        lost: measured.lost,
    })
}
