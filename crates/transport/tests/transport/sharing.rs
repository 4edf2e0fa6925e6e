//! Several hosts on one array's link.

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
    // Nine hosts send at the full rate of their own links, and none delays another by more than a train on the fast link.
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
