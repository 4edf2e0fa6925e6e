//! Times and rates that can be derived by hand.

use strewn_transport::front_end::{Fcp, Iscsi};
use strewn_transport::{
    Direction, Forwarding, FrontEnd, Hop, LinkProfile, Network, Protocol, Switch, Toward, Transport,
};

use super::{fibre_channel, one_link, send, shipped, store_and_forward, tcp, train};

#[test]
fn a_read_of_64_kib_by_iscsi_takes_554_microseconds_on_gigabit_ethernet() {
    // The command: 48 bytes, and 40 of TCP and IP, 38 of Ethernet: 126 bytes at 8 ns.
    // The data: 65,536 + 48 bytes are 44 segments of 1,460 and one of 1,344, so 44 x 1,538 + 1,344 + 78 = 69,094 bytes.
    // And 10 m of cable, twice.
    let expected_ns = 126 * 8 + 69_094 * 8 + 2 * 50;

    let read =
        FrontEnd::from(Protocol::Iscsi(Iscsi::open_iscsi())).exchange(Direction::Read, 65_536);
    assert_eq!(read.sub_requests(), 1);
    let round = read.round(0, 0).unwrap();
    let (mut network, mut connection, _) = one_link(shipped("ethernet-1g"), Transport::Tcp(tcp()));
    let command = network.send(0, &mut connection, Toward::Target, &round.to_target.train).unwrap();
    let reply =
        network.send(command.last_ns, &mut connection, Toward::Host, &round.to_host.train).unwrap();

    assert_eq!(reply.last_ns, expected_ns);
    assert_eq!(expected_ns, 553_860);
}

#[test]
fn a_switch_adds_a_frame_its_latency_and_a_cable() {
    let (mut network, mut connection, _) = one_link(shipped("ethernet-1g"), Transport::Tcp(tcp()));
    let direct = send(&mut network, 0, &mut connection, &train(65_536));

    let through = |forwarding| {
        let mut network = Network::new();
        let host = network.add_link(shipped("ethernet-1g")).unwrap();
        let array = network.add_link(shipped("ethernet-1g")).unwrap();
        let switch = Hop::Switch(Switch { latency_ns: 3_000, forwarding });
        let path = network.add_path(&[Hop::Link(host), switch, Hop::Link(array)]).unwrap();
        let mut connection = network.connect(path, 1, Transport::Tcp(tcp())).unwrap();
        send(&mut network, 0, &mut connection, &train(65_536))
    };

    let frame_ns = 1_538 * 8;
    let stored = through(Forwarding::StoreAndForward);
    assert_eq!(stored.last_ns, direct.last_ns + frame_ns + 3_000 + 50);
    assert_eq!(stored.first_ns, direct.first_ns + frame_ns + 3_000 + 50);
    let cut_through = through(Forwarding::CutThrough);
    assert_eq!(cut_through.last_ns, direct.last_ns + 3_000 + 50);
}

#[test]
fn ethernet_carries_94_9_percent_and_99_1_with_jumbo_frames() {
    for (name, percent) in
        [("ethernet-1g", 94.93), ("ethernet-1g-jumbo", 99.14), ("ethernet-10g", 94.93)]
    {
        let (mut network, mut connection, link) = one_link(shipped(name), Transport::Tcp(tcp()));
        let mut last_ns = 0;
        for _ in 0..1_000 {
            last_ns = send(&mut network, 0, &mut connection, &train(1 << 20)).last_ns;
        }
        let bytes_per_second = 1_000.0 * f64::from(1 << 20) / (last_ns as f64 / 1e9);
        let wire = network.link(link).profile().bits_per_second as f64 / 8.0;
        let measured = 100.0 * bytes_per_second / wire;
        assert!((measured - percent).abs() < 0.02, "{name} carries {measured} %");
    }
}

#[test]
fn fibre_channel_of_2_gb_carries_206_5_mb_per_second() {
    // 1,700 Mb/s x 2,048 / 2,108.
    let (mut network, mut connection, _) = one_link(shipped("fc-2g"), fibre_channel());
    let last_ns = send(&mut network, 0, &mut connection, &train(100 << 20)).last_ns;
    let bytes_per_second = f64::from(100 << 20) / (last_ns as f64 / 1e9);
    assert!((bytes_per_second / 1e6 - 206.45).abs() < 0.01, "{bytes_per_second}");
}

#[test]
fn a_read_by_fcp_is_a_frame_of_92_bytes_and_then_data_and_a_response() {
    // 1 Gb: 80 ns for 8.5 bytes. The command: 32 + 60 bytes. 8 KiB: four frames of 2,108. The response: 24 + 60 bytes.
    let wire_bytes = 92 + 4 * 2_108 + 84;
    let expected_ns = wire_bytes as f64 * 8.0 / 0.85 + 2.0 * 50.0;

    let read = FrontEnd::from(Protocol::Fcp(Fcp::default())).exchange(Direction::Read, 8_192);
    let round = read.round(0, 0).unwrap();
    let (mut network, mut connection, link) = one_link(shipped("fc-1g"), fibre_channel());
    let command = network.send(0, &mut connection, Toward::Target, &round.to_target.train).unwrap();
    let reply =
        network.send(command.last_ns, &mut connection, Toward::Host, &round.to_host.train).unwrap();
    assert!((reply.last_ns as f64 - expected_ns).abs() < 3.0, "{} {expected_ns}", reply.last_ns);
    assert_eq!(network.link(link).frames(Toward::Host), 5);
}

#[test]
fn utilization_is_the_share_of_time_on_the_wire() {
    let (mut network, mut connection, link) =
        one_link(shipped("ethernet-1g"), Transport::Tcp(tcp()));
    // 14,600 bytes are ten frames, 123,040 ns, every 246,080 ns.
    for turn in 0..100 {
        send(&mut network, turn * 246_080, &mut connection, &train(14_600));
    }
    let link = network.link(link);
    assert_eq!(link.busy_ns(Toward::Target, 100 * 246_080), 100 * 123_040);
    // In the middle of the last train, and before it.
    assert_eq!(link.busy_ns(Toward::Target, 99 * 246_080 + 1_000), 99 * 123_040 + 1_000);
    assert_eq!(link.busy_ns(Toward::Target, 99 * 246_080 - 1_000), 99 * 123_040);
    assert_eq!(link.busy_ns(Toward::Host, 100 * 246_080), 0);
}

#[test]
fn every_shipped_link_carries_what_the_table_says() {
    // Megabytes per second: of the payload of full frames, with 40 bytes of TCP and IP but for Fibre Channel.
    let table = [
        ("fc-1g", 103.2),
        ("fc-2g", 206.5),
        ("fc-4g", 412.9),
        ("fc-8g", 825.8),
        ("ethernet-100m", 11.9),
        ("ethernet-100m-jumbo", 12.4),
        ("ethernet-1g", 118.7),
        ("ethernet-1g-jumbo", 123.9),
        ("ethernet-10g", 1_186.6),
        ("ethernet-10g-jumbo", 1_239.2),
        ("infiniband-ddr", 1_925.1),
    ];
    let names: Vec<&str> = LinkProfile::shipped_names().collect();
    assert_eq!(names, table.map(|row| row.0));
    for (name, megabytes) in table {
        let profile = shipped(name);
        let header_bytes = if name.starts_with("fc") { 0 } else { 40 };
        let rate = profile.payload_bytes_per_second(header_bytes) as f64 / 1e6;
        assert!((rate - megabytes).abs() < 0.06, "{name}: {rate}");
    }
    assert_eq!(LinkProfile::shipped("token-ring"), None);
}

#[test]
fn a_path_that_cannot_be_is_refused_with_the_hop() {
    let mut network = Network::new();
    let ethernet = network.add_link(shipped("ethernet-1g")).unwrap();
    let jumbo = network.add_link(shipped("ethernet-1g-jumbo")).unwrap();
    let fibre = network.add_link(shipped("fc-2g")).unwrap();
    let mut refused = |hops: &[Hop]| network.add_path(hops).unwrap_err().to_string();
    let switch = store_and_forward(0);
    let link = Hop::Link;
    assert_eq!(refused(&[]), "there are no links: name at least one");
    let alternate =
        "hop 1 breaks the path: links and switches must alternate, with a link at both ends";
    assert_eq!(refused(&[link(ethernet), switch]), alternate);
    assert_eq!(refused(&[link(ethernet), link(ethernet)]), alternate);
    assert_eq!(
        refused(&[link(ethernet), switch, link(jumbo)]),
        "the frames of hop 2 differ from those before it: only a router can join the two"
    );
    let path = network.add_path(&[link(fibre)]).unwrap();
    assert_eq!(
        network.connect(path, 1, Transport::Tcp(tcp())).unwrap_err().to_string(),
        "the path cannot carry TCP: its first link is \"fc-2g\""
    );
}
