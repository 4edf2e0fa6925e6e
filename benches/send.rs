//! What it costs to send a train, and to read an exchange.

#![allow(missing_docs)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use strewn_transport::front_end::Iscsi;
use strewn_transport::{
    Connection, Direction, Forwarding, FrontEnd, Hop, LinkProfile, Network, Protocol, Switch,
    TcpOptions, Toward, Train, Transport,
};

/// Two links and a switch, and a connection over them.
fn network(link: &str, transport: Transport) -> (Network, Connection) {
    let mut network = Network::new();
    let profile = LinkProfile::shipped(link).expect("it is shipped");
    let host = network.add_link(profile.clone()).expect("it has a rate");
    let array = network.add_link(profile).expect("it has a rate");
    let switch = Switch { latency_ns: 3_000, forwarding: Forwarding::StoreAndForward };
    let hops = [Hop::Link(host), Hop::Switch(switch), Hop::Link(array)];
    let path = network.add_path(&hops).expect("links and switches alternate");
    let connection = network.connect(path, 1, transport).expect("it fits the links");
    (network, connection)
}

fn read_of_64_kib() -> Train {
    let front_end = FrontEnd::from(Protocol::Iscsi(Iscsi::default()));
    let exchange = front_end.exchange(Direction::Read, 65_536);
    exchange.round(0, 0).expect("a read has a round").to_host.train
}

fn send(criterion: &mut Criterion) {
    let train = read_of_64_kib();
    // A train takes 554 µs: at this pace the links are idle in between, and at the other one busy.
    for (name, interval_ns) in [("send_64_kib_idle", 1_000_000), ("send_64_kib_busy", 554_000)] {
        criterion.bench_function(name, |bencher| {
            let (mut network, mut connection) =
                network("ethernet-1g", Transport::Tcp(TcpOptions::default()));
            let mut now_ns = 0;
            bencher.iter(|| {
                now_ns += interval_ns;
                network.send(now_ns, &mut connection, Toward::Host, black_box(&train))
            });
        });
    }
}

fn exchange(criterion: &mut Criterion) {
    let front_end = FrontEnd::from(Protocol::Iscsi(Iscsi::default()));
    criterion.bench_function("round_of_a_64_kib_write", |bencher| {
        bencher.iter(|| {
            black_box(&front_end).exchange(Direction::Write, black_box(65_536)).round(0, 1)
        });
    });
}

criterion_group!(benches, send, exchange);
criterion_main!(benches);
