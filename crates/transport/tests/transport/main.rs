//! What a user of the crate relies on.

#![allow(missing_docs, clippy::unwrap_used)]

mod captures;
mod closed_forms;
mod conservation;
mod credits;
mod exchanges;
mod failures;
mod lanes;
mod prepared;
mod reference;
mod routers;
mod sharing;
mod windows;

use strewn_transport::{
    Arrival, Connection, FibreChannelOptions, Forwarding, Hop, LinkId, LinkProfile, Network,
    PduKind, Switch, TcpOptions, Toward, Train, TrainPart, Transport,
};

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

/// TCP without timestamps: 1,460 bytes in a segment of Ethernet.
fn tcp() -> TcpOptions {
    TcpOptions { timestamps: false, ..TcpOptions::default() }
}

fn fibre_channel() -> Transport {
    Transport::FibreChannel(FibreChannelOptions::default())
}

fn shipped(name: &str) -> LinkProfile {
    LinkProfile::shipped(name).unwrap()
}

fn store_and_forward(latency_ns: u64) -> Hop {
    Hop::Switch(Switch { latency_ns, forwarding: Forwarding::StoreAndForward })
}

/// A train of one PDU with `bytes` in all.
fn train(bytes: u64) -> Train {
    Train::of(TrainPart::new(PduKind::Other, 1, 0, bytes))
}

/// A path over a single link, and the link.
fn one_link(profile: LinkProfile, transport: Transport) -> (Network, Connection, LinkId) {
    let mut network = Network::new();
    let link = network.add_link(profile).unwrap();
    let path = network.add_path(&[Hop::Link(link)]).unwrap();
    let connection = network.connect(path, 1, transport).unwrap();
    (network, connection, link)
}

/// Sends to the target, and nothing is lost.
fn send(network: &mut Network, now_ns: u64, connection: &mut Connection, train: &Train) -> Arrival {
    network.send(now_ns, connection, Toward::Target, train).unwrap()
}
