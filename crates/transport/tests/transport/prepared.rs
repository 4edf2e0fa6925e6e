//! Trains that are prepared once, and plain paths: neither changes when anything arrives.

use proptest::prelude::*;
use strewn_transport::{
    Connection, Hop, LaneRule, Network, PduKind, Toward, Train, TrainPart, Transport,
};

use super::{fibre_channel, shipped, store_and_forward, tcp};

/// Connections of three kinds over two links each: a plain path; the same, of which one link is a group of one lane,
/// which is not plain; and a faster plain one.
fn network(over_fibre_channel: bool) -> (Network, Vec<Connection>) {
    let (slow, fast, transport) = match over_fibre_channel {
        true => ("fc-1g", "fc-4g", fibre_channel()),
        false => ("ethernet-1g", "ethernet-10g-jumbo", Transport::Tcp(tcp())),
    };
    let mut network = Network::new();
    let connections = [(slow, false), (slow, true), (fast, false)]
        .map(|(kind, has_lanes)| {
            let [near, far] = [0; 2].map(|_| network.add_link(shipped(kind)).unwrap());
            let far = match has_lanes {
                true => Hop::Lanes(network.add_lanes(&[far], LaneRule::RoundRobin, 0).unwrap()),
                false => Hop::Link(far),
            };
            let hops = [Hop::Link(near), store_and_forward(4_000), far];
            let path = network.add_path(&hops).unwrap();
            network.connect(path, 1, transport).unwrap()
        })
        .to_vec();
    (network, connections)
}

proptest! {
    #[test]
    fn trains_arrive_when_they_would_on_other_paths_and_unprepared(
        over_fibre_channel: bool,
        sends in prop::collection::vec((0..200_000_u64, 0..100_000_u64, 1..5_u32, 0..3_usize, any::<bool>()), 1..60),
    ) {
        let (mut prepared, mut of_prepared) = network(over_fibre_channel);
        let (mut plain, mut of_plain) = network(over_fibre_channel);
        let mut now_ns = 0;
        for (later_ns, bytes, pdus, prepared_for, to_host) in sends {
            now_ns += later_ns;
            let toward = if to_host { Toward::Host } else { Toward::Target };
            let train = Train::of(TrainPart::new(PduKind::Other, pdus, 48, bytes))
                .then(TrainPart::new(PduKind::Other, 1, 24, 0));
            let once = prepared.prepare(&of_prepared[prepared_for], toward, &train);
            for (one, other) in of_prepared.iter_mut().zip(&mut of_plain) {
                prop_assert_eq!(
                    prepared.send_prepared(now_ns, one, toward, &once),
                    plain.send(now_ns, other, toward, &train)
                );
            }
            // A lane alone is a link.
            let arrivals = [0, 1].map(|index| {
                let mut network = plain.clone();
                network.send(now_ns, &mut of_plain[index].clone(), toward, &train)
            });
            prop_assert_eq!(arrivals[0], arrivals[1]);
        }
    }
}
