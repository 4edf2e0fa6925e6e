//! Several hosts on one array's link.

use proptest::prelude::*;
use strewn_transport::{Connection, Hop, LinkId, Network, Toward, Transport};

use super::{MICROSECOND, send, shipped, store_and_forward, tcp, train};

/// Hosts with gigabit Ethernet, a switch, and an array with 10 GbE.
fn hosts(count: u64) -> (Network, Vec<Connection>, LinkId) {
    let mut network = Network::new();
    let array = network.add_link(shipped("ethernet-10g")).unwrap();
    let connections = (0..count)
        .map(|flow| {
            let host = network.add_link(shipped("ethernet-1g")).unwrap();
            let hops = [Hop::Link(host), store_and_forward(3_000), Hop::Link(array)];
            let path = network.add_path(&hops).unwrap();
            network.connect(path, flow, Transport::Tcp(tcp())).unwrap()
        })
        .collect();
    (network, connections, array)
}

#[test]
fn slow_links_fill_a_fast_one() {
    // Nine hosts send at the full rate of their own links, and none delays another by more than a train on the fast
    // link.
    let alone_ns = {
        let (mut network, mut connections, _) = hosts(1);
        (0..100).map(|_| send(&mut network, 0, &mut connections[0], &train(65_536)).last_ns).max()
    };
    let (mut network, mut connections, array) = hosts(9);
    let mut last_ns = 0;
    for _ in 0..100 {
        for connection in &mut connections {
            last_ns = last_ns.max(send(&mut network, 0, connection, &train(65_536)).last_ns);
        }
    }
    let alone_ns = alone_ns.unwrap();
    assert!(last_ns - alone_ns < 500 * MICROSECOND, "{last_ns} instead of {alone_ns}");
    let busy_ns = network.link(array).busy_ns(Toward::Target, last_ns);
    let utilization = busy_ns as f64 / last_ns as f64;
    assert!((0.88..0.91).contains(&utilization), "{utilization}");
}

#[test]
fn a_fast_link_shared_by_too_many_is_full() {
    let (mut network, mut connections, array) = hosts(20);
    let mut last_ns = 0;
    for _ in 0..50 {
        for connection in &mut connections {
            last_ns = last_ns.max(send(&mut network, 0, connection, &train(65_536)).last_ns);
        }
    }
    let link = network.link(array);
    let utilization = link.busy_ns(Toward::Target, last_ns) as f64 / last_ns as f64;
    assert!(utilization > 0.99, "{utilization}");
    let on_the_wire_ns = link.serialization_ns(link.wire_bytes(Toward::Target));
    assert!(last_ns >= on_the_wire_ns && last_ns - on_the_wire_ns < 600 * MICROSECOND);
}

#[test]
fn a_host_with_a_backlog_does_not_delay_another_one() {
    let (mut network, mut connections, _) = hosts(2);
    let [first, second] = &mut connections[..] else { unreachable!() };
    let alone_ns = hosts_own_time();
    // 50 MB of backlog on the first host's own link: 0.4 s.
    for _ in 0..800 {
        send(&mut network, 0, first, &train(65_536));
    }
    let arrival = send(&mut network, 1_000, second, &train(65_536));
    let delay_ns = arrival.last_ns - 1_000 - alone_ns;
    assert!(delay_ns < 60 * MICROSECOND, "{delay_ns}");
}

fn hosts_own_time() -> u64 {
    let (mut network, mut connections, _) = hosts(1);
    send(&mut network, 0, &mut connections[0], &train(65_536)).last_ns
}

/// A second model of the same machine: every frame by itself, first come, first served on the array's link. Trains are
/// host, time and bytes; returns when each has arrived, in nanoseconds.
fn frame_by_frame(trains: &[(usize, u64, u64)], array_bits_per_second: u64) -> Vec<u64> {
    let mut host_free_ns = [0; 16];
    let mut frames = Vec::new();
    for (train, &(host, ready_ns, bytes)) in trains.iter().enumerate() {
        let mut left = bytes;
        while left > 0 {
            let segment = left.min(1_460);
            let wire_bytes = segment + 78;
            host_free_ns[host] = ready_ns.max(host_free_ns[host]) + wire_bytes * 8;
            frames.push((host_free_ns[host] + 50 + 3_000, train, wire_bytes));
            left -= segment;
        }
    }
    frames.sort_unstable();
    let mut arrived_ns = vec![0; trains.len()];
    let mut array_free_ps = 0;
    for (ready_ns, train, wire_bytes) in frames {
        let frame_ps = wire_bytes * 8_000_000_000_000 / array_bits_per_second;
        array_free_ps = array_free_ps.max(ready_ns * 1_000) + frame_ps;
        arrived_ns[train] = array_free_ps / 1_000 + 50;
    }
    arrived_ns
}

proptest! {
    // A failure prints its inputs and the seed that repeats them.
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn shared_links_are_as_fast_as_frame_by_frame(
        hosts_used in 2..9_usize,
        sends in prop::collection::vec((0..9_usize, 0..200_000_u64, 1..131_072_u64), 50..300),
    ) {
        let mut now_ns = 0;
        let trains: Vec<_> = sends
            .into_iter()
            .map(|(host, gap_ns, bytes)| {
                now_ns += gap_ns;
                (host % hosts_used, now_ns, bytes)
            })
            .collect();
        let expected_ns = frame_by_frame(&trains, 10_000_000_000);
        let (mut network, mut connections, _) = hosts(hosts_used as u64);
        let mut sum_ns = 0;
        for (&(host, now_ns, bytes), &expected_ns) in trains.iter().zip(&expected_ns) {
            let arrived_ns =
                send(&mut network, now_ns, &mut connections[host], &train(bytes)).last_ns;
            let off_ns = arrived_ns.abs_diff(expected_ns);
            // A train of 128 KiB takes 111 µs of the array's link, and at most eight others are on their way.
            prop_assert!(off_ns < 8 * 111 * MICROSECOND, "{} instead of {}", arrived_ns, expected_ns);
            sum_ns += off_ns;
        }
        let mean_ns = sum_ns / trains.len() as u64;
        prop_assert!(mean_ns < 20 * MICROSECOND, "{} on average", mean_ns);
    }
}
