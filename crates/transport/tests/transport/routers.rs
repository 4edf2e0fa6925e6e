//! iSCSI in front, Fibre Channel behind.

use strewn_transport::front_end::Iscsi;
use strewn_transport::{
    Connection, Direction, FrontEnd, Hop, LinkId, Network, Protocol, RouterId, RouterOptions,
    RouterStorage, Toward, Transport,
};

use super::{shipped, tcp};

fn routed(router: RouterOptions) -> (Network, Connection, RouterId, LinkId) {
    let mut network = Network::new();
    let ethernet = network.add_link(shipped("ethernet-1g")).unwrap();
    let fibre = network.add_link(shipped("fc-1g")).unwrap();
    let router = network.add_router(router);
    let hops = [Hop::Link(ethernet), Hop::Router(router), Hop::Link(fibre)];
    let path = network.add_path(&hops).unwrap();
    let connection = network.connect(path, 1, Transport::Tcp(tcp())).unwrap();
    (network, connection, router, fibre)
}

fn front_end(iscsi: Iscsi) -> FrontEnd {
    FrontEnd::from(Protocol::Iscsi(iscsi))
}

/// Nanoseconds on 1 Gb Fibre Channel.
fn fibre_ns(wire_bytes: u64) -> u64 {
    (wire_bytes as f64 * 8.0 / 0.85).round() as u64
}

#[test]
fn a_pdu_crosses_one_link_after_the_other() {
    let settings = RouterOptions {
        latency_ns: 7_000,
        command_ns: 100_000,
        pdu_ns: 20_000,
        kib_ns: 100,
        storage: RouterStorage::Pdu,
    };
    let (mut network, mut connection, router, fibre) = routed(settings);
    let read = front_end(Iscsi::open_iscsi()).exchange(Direction::Read, 65_536);
    let round = read.round(0, 0).unwrap();
    let command = network.send(0, &mut connection, Toward::Target, &round.to_target.train).unwrap();
    // 126 bytes of Ethernet; the router; FCP_CMND in a frame of 92 bytes.
    assert_eq!(command.last_ns, 126 * 8 + 50 + 100_000 + 20_000 + 7_000 + fibre_ns(92) + 50);

    let start_ns = 1_000_000;
    let reply =
        network.send(start_ns, &mut connection, Toward::Host, &round.to_host.train).unwrap();
    // 32 frames of data and FCP_RSP, all of it stored, then 69,094 bytes of Ethernet.
    let expected_ns =
        start_ns + fibre_ns(32 * 2_108 + 84) + 50 + 20_000 + 6_400 + 7_000 + 69_094 * 8 + 50;
    assert!(reply.last_ns.abs_diff(expected_ns) <= 2, "{} {expected_ns}", reply.last_ns);
    assert_eq!(network.link(fibre).frames(Toward::Host), 33);
    assert_eq!(network.router_busy_ns(router, 10_000_000), 120_000 + 26_400);
}

#[test]
fn small_pdus_overlap_on_the_two_links() {
    // The same 64 KiB in eight PDUs of 8 KiB: while one crosses Ethernet, the next one crosses Fibre Channel.
    let read = |iscsi| {
        let (mut network, mut connection, ..) = routed(RouterOptions::default());
        let round = front_end(iscsi).exchange(Direction::Read, 65_536).round(0, 0).unwrap();
        network.send(0, &mut connection, Toward::Host, &round.to_host.train).unwrap().last_ns
    };
    let whole_ns = read(Iscsi::open_iscsi());
    let overlapped_ns = read(Iscsi::default());
    // Fibre Channel is the slower one: all of it, and then one PDU of 5 frames and a part on Ethernet.
    let expected_ns = fibre_ns(32 * 2_108 + 84) + 50 + (8_240 + 6 * 78) * 8 + 50;
    assert!(overlapped_ns.abs_diff(expected_ns) < 2_000, "{overlapped_ns} {expected_ns}");
    assert!(whole_ns > overlapped_ns + 450_000);
}

#[test]
fn frames_that_a_router_passes_on_overlap_within_a_pdu() {
    // 64 KiB in one PDU and in eight: with frames passed on, how the target cuts them decides the last frame's size
    // alone.
    let read = |iscsi, storage| {
        let settings = RouterOptions { storage, ..Default::default() };
        let (mut network, mut connection, ..) = routed(settings);
        let round = front_end(iscsi).exchange(Direction::Read, 65_536).round(0, 0).unwrap();
        network.send(0, &mut connection, Toward::Host, &round.to_host.train).unwrap().last_ns
    };
    let frame_ns = read(Iscsi::open_iscsi(), RouterStorage::Frame);
    // All of Fibre Channel, and then one frame of Ethernet: less than one of 1,538 bytes.
    let fibre_channel_ns = fibre_ns(32 * 2_108 + 84) + 50;
    assert!(frame_ns > fibre_channel_ns, "{frame_ns}");
    assert!(frame_ns - fibre_channel_ns < 2 * 1_538 * 8 + 50, "{frame_ns} {fibre_channel_ns}");
    assert!(frame_ns + 500_000 < read(Iscsi::open_iscsi(), RouterStorage::Pdu));
    let of_small_ns = read(Iscsi::default(), RouterStorage::Frame);
    assert!(of_small_ns.abs_diff(frame_ns) < 1_538 * 8, "{of_small_ns} {frame_ns}");
}

#[test]
fn a_router_that_passes_frames_on_works_as_long_and_waits_for_its_processor() {
    let settings = |storage| RouterOptions {
        command_ns: 100_000,
        pdu_ns: 20_000,
        kib_ns: 50_000,
        storage,
        ..Default::default()
    };
    let [pdus, frames] = [RouterStorage::Pdu, RouterStorage::Frame].map(|storage| {
        let (mut network, mut connection, router, _) = routed(settings(storage));
        let round = front_end(Iscsi::default()).exchange(Direction::Read, 65_536);
        let reply = round.round(0, 0).unwrap().to_host.train;
        let last_ns = network.send(0, &mut connection, Toward::Host, &reply).unwrap().last_ns;
        (last_ns, network.router_busy_ns(router, 100_000_000))
    });
    // 8 PDUs and 64 KiB of 50 us take 3.36 ms, longer than any wire: the processor decides.
    assert_eq!((pdus.1, frames.1), (3_360_000, 3_360_000));
    assert!(frames.0 < pdus.0 && frames.0 > 3_360_000, "{frames:?} {pdus:?}");
}

#[test]
fn commands_queue_for_the_processor_of_the_router() {
    let (mut network, _, router, _) =
        routed(RouterOptions { command_ns: 500_000, ..Default::default() });
    let _ = router;
    let path = {
        let ethernet = network.add_link(shipped("ethernet-1g")).unwrap();
        let fibre = network.add_link(shipped("fc-1g")).unwrap();
        network.add_path(&[Hop::Link(ethernet), Hop::Router(router), Hop::Link(fibre)]).unwrap()
    };
    let command = front_end(Iscsi::default()).exchange(Direction::Read, 512).round(0, 0).unwrap();
    let mut last_ns = 0;
    for flow in 0..20 {
        let mut connection = network.connect(path, flow, Transport::Tcp(tcp())).unwrap();
        last_ns = network
            .send(0, &mut connection, Toward::Target, &command.to_target.train)
            .unwrap()
            .last_ns;
    }
    assert!((10_000_000..10_010_000).contains(&last_ns), "{last_ns}");
}
