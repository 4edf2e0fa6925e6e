//! Nothing is lost, doubled or reordered.

use proptest::prelude::*;
use strewn_transport::front_end::{Fcp, Iscsi, Nfs, Smb1, Smb2, Smb2Dialect, WriteStability};
use strewn_transport::{
    Direction, FrontEnd, Hop, LaneRule, Network, PduKind, Protocol, SubRequestKind, Toward, Train,
    TrainPart, Transport,
};

use super::{shipped, store_and_forward, tcp};

fn any_protocol() -> impl Strategy<Value = Protocol> {
    let iscsi = (any::<[bool; 5]>(), 0..8_u32, 0..8_u32, 0..12_u32, 1..4_u32).prop_map(
        |(flags, host, target, burst, r2ts)| {
            Protocol::Iscsi(Iscsi {
                header_digest: flags[0],
                data_digest: flags[1],
                immediate_data: flags[2],
                initial_r2t: flags[3],
                status_in_data: flags[4],
                host_data_segment_bytes: 512 << host,
                target_data_segment_bytes: 512 << target,
                max_burst_bytes: 512 << burst,
                first_burst_bytes: 512 << burst.saturating_sub(1),
                max_outstanding_r2t: r2ts,
                largest_command_bytes: 262_144,
                ..Iscsi::default()
            })
        },
    );
    let nfs = (9..20_u32, 9..20_u32, 0..3_usize).prop_map(|(read, write, stability)| {
        let stabilities =
            [WriteStability::CommitOnClose, WriteStability::Commit, WriteStability::FileSync];
        Protocol::Nfs(Nfs {
            read_bytes: 1 << read,
            write_bytes: 1 << write,
            stability: stabilities[stability],
            ..Nfs::default()
        })
    });
    prop_oneof![
        Just(Protocol::Direct),
        (9..24_u32).prop_map(|burst| Protocol::Fcp(Fcp {
            largest_burst_bytes: 1 << burst,
            ..Fcp::default()
        })),
        iscsi,
        nfs,
        (1..200_000_u32, 1..200_000_u32).prop_map(|(read_bytes, write_bytes)| Protocol::Smb1(
            Smb1 { read_bytes, write_bytes, ..Smb1::default() }
        )),
        (1..2_000_000_u32, any::<bool>()).prop_map(|(bytes, old)| Protocol::Smb2(Smb2 {
            dialect: if old { Smb2Dialect::Smb202 } else { Smb2Dialect::Smb210 },
            read_bytes: bytes,
            write_bytes: bytes,
            ..Smb2::default()
        })),
    ]
}

proptest! {
    // A failure prints its inputs and the seed that repeats them.
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn an_exchange_moves_every_byte_once(
        protocol in any_protocol(),
        write: bool,
        bytes in prop_oneof![0..2_000_u64, 0..2_000_000_u64],
    ) {
        let direction = if write { Direction::Write } else { Direction::Read };
        let exchange = FrontEnd::from(protocol).exchange(direction, bytes);
        prop_assert!(exchange.in_flight() >= 1);
        let mut next_byte = 0;
        let mut counts = strewn_transport::WireCounts::default();
        for index in 0..exchange.sub_requests() {
            let request = exchange.sub_request(index).unwrap();
            if request.kind == SubRequestKind::Transfer {
                prop_assert_eq!(request.offset_bytes, next_byte);
                next_byte += request.bytes;
            }
            let rounds: Vec<_> = exchange.rounds(index).collect();
            let worked: Vec<bool> = rounds.iter().map(|round| round.array_works).collect();
            let mut expected = vec![false; rounds.len()];
            expected[rounds.len() - 1] = true;
            prop_assert_eq!(worked, expected);
            let mut payload_bytes = 0;
            for round in rounds {
                for (leg, toward) in [(round.to_target, Toward::Target), (round.to_host, Toward::Host)] {
                    for part in leg.train.parts.iter().filter(|part| part.pdus > 0) {
                        prop_assert_eq!(part.kind.toward(), toward);
                    }
                    counts.add_train(&leg.train);
                    payload_bytes += leg.train.payload_bytes();
                }
            }
            if protocol != Protocol::Direct {
                prop_assert_eq!(payload_bytes, request.bytes);
            }
        }
        prop_assert_eq!(next_byte, bytes);
        prop_assert!(exchange.sub_request(exchange.sub_requests()).is_none());
        prop_assert_eq!(exchange.wire_counts(), counts);
    }

    #[test]
    fn links_carry_each_byte_once_and_in_order(
        rule in prop_oneof![
            Just(LaneRule::FlowHash), Just(LaneRule::RoundRobin), Just(LaneRule::LeastQueue)
        ],
        sends in prop::collection::vec(
            (0..4_usize, 0..300_000_u64, 1..40_u32, 0..200_000_u64), 1..200),
    ) {
        let mut network = Network::new();
        let array = [0; 2].map(|_| network.add_link(shipped("ethernet-1g")).unwrap());
        let lanes = network.add_lanes(&array, rule, 0).unwrap();
        let hosts = [0; 4].map(|_| network.add_link(shipped("ethernet-1g")).unwrap());
        let mut connections: Vec<_> = hosts
            .iter()
            .enumerate()
            .map(|(flow, &host)| {
                let hops = [Hop::Link(host), store_and_forward(3_000), Hop::Lanes(lanes)];
                let path = network.add_path(&hops).unwrap();
                network.connect(path, flow as u64, Transport::Tcp(tcp())).unwrap()
            })
            .collect();

        let mut now_ns = 0;
        let mut sent_bytes = 0;
        let mut arrived_ns = [0; 4];
        for (host, gap_ns, pdus, payload_bytes) in sends {
            now_ns += gap_ns;
            let train = Train::of(TrainPart::new(PduKind::Other, pdus, 48, payload_bytes));
            let arrival =
                network.send(now_ns, &mut connections[host], Toward::Target, &train).unwrap();
            prop_assert!(arrival.first_ns <= arrival.last_ns);
            prop_assert!(arrival.first_ns >= arrived_ns[host], "a train overtakes another one");
            arrived_ns[host] = arrival.last_ns;
            sent_bytes += train.bytes();
        }
        let sum = |links: &[_]| -> (u64, u64) {
            links.iter().fold((0, 0), |(bytes, frames), &link| {
                let link = network.link(link);
                (bytes + link.wire_bytes(Toward::Target), frames + link.frames(Toward::Target))
            })
        };
        let (host_bytes, host_frames) = sum(&hosts);
        prop_assert_eq!(sum(&array), (host_bytes, host_frames));
        prop_assert_eq!(host_bytes - 78 * host_frames, sent_bytes);
        let end_ns = arrived_ns.into_iter().max().unwrap_or(0);
        for &link in hosts.iter().chain(&array) {
            let link = network.link(link);
            let busy_ns = link.busy_ns(Toward::Target, end_ns);
            prop_assert_eq!(busy_ns, 8 * link.wire_bytes(Toward::Target));
            prop_assert!(busy_ns <= end_ns);
        }
    }
}
