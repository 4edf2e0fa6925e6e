//! Which lane a train takes.

use strewn_transport::{Connection, Hop, LaneRule, LinkId, Network, Toward, Transport};

use super::{send, shipped, tcp, train};

/// Four lanes of gigabit Ethernet, and connections with flows from 0.
fn four_lanes(rule: LaneRule, flows: u64) -> (Network, Vec<Connection>, [LinkId; 4]) {
    let mut network = Network::new();
    let links = [0; 4].map(|_| network.add_link(shipped("ethernet-1g")).unwrap());
    let lanes = network.add_lanes(&links, rule, 0).unwrap();
    let path = network.add_path(&[Hop::Lanes(lanes)]).unwrap();
    let connections = (0..flows)
        .map(|flow| network.connect(path, flow, Transport::Tcp(tcp())).unwrap())
        .collect();
    (network, connections, links)
}

fn frames(network: &Network, links: [LinkId; 4]) -> [u64; 4] {
    links.map(|link| network.link(link).frames(Toward::Target))
}

#[test]
fn a_flow_stays_on_its_lane() {
    let (mut network, mut connections, links) = four_lanes(LaneRule::FlowHash, 100);
    for turn in 0..50 {
        for connection in &mut connections {
            let before = frames(&network, links);
            send(&mut network, turn * 10_000_000, connection, &train(1_000));
            let lane = (connection.flow() % 4) as usize;
            assert_eq!(frames(&network, links)[lane], before[lane] + 1);
        }
    }
    // Flows take lanes in turn.
    assert_eq!(frames(&network, links), [25 * 50; 4]);
}

#[test]
fn bytes_are_on_the_wire_when_their_time_has_come() {
    let (mut network, mut connections, links) = four_lanes(LaneRule::FlowHash, 1);
    // 1,000 full frames of 1,538 bytes, 12.304 us each, in one train.
    send(&mut network, 0, &mut connections[0], &train(1_460_000));
    let link = network.link(links[0]);
    assert_eq!(link.wire_bytes(Toward::Target), 1_538_000);
    for (until_ns, expected) in [(0, 0), (6_152_000, 769_000), (12_304_000, 1_538_000)] {
        let carried = link.wire_bytes_until(Toward::Target, until_ns);
        assert!(carried.abs_diff(expected) <= 1, "{carried} by {until_ns} ns");
    }
    assert_eq!(link.wire_bytes_until(Toward::Host, 12_304_000), 0);
}

#[test]
fn one_flow_is_as_fast_as_one_lane_and_round_robin_as_all() {
    let time = |rule| {
        let (mut network, mut connections, _) = four_lanes(rule, 1);
        let mut last_ns = 0;
        for _ in 0..40 {
            last_ns = send(&mut network, 0, &mut connections[0], &train(1_460_000)).last_ns;
        }
        last_ns
    };
    let train_ns = 1_000 * 12_304;
    assert_eq!(time(LaneRule::FlowHash), 40 * train_ns + 50);
    assert_eq!(time(LaneRule::RoundRobin), 10 * train_ns + 50);
    assert_eq!(time(LaneRule::LeastQueue), 10 * train_ns + 50);
}

#[test]
fn round_robin_takes_turns_and_least_queue_evens_out() {
    let (mut network, mut connections, links) = four_lanes(LaneRule::RoundRobin, 1);
    for _ in 0..10 {
        send(&mut network, 0, &mut connections[0], &train(1_000));
    }
    assert_eq!(frames(&network, links), [3, 3, 2, 2]);

    // A large train on the first lane, and small ones on the others until they are as far.
    let (mut network, mut connections, links) = four_lanes(LaneRule::LeastQueue, 1);
    send(&mut network, 0, &mut connections[0], &train(14_600));
    for _ in 0..30 {
        send(&mut network, 0, &mut connections[0], &train(1_460));
    }
    assert_eq!(frames(&network, links), [10; 4]);
}
