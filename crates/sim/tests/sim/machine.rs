//! Machines: what wires, protocols and a partner do to a host's operations.

use std::ops::ControlFlow;

use strewn_array::LunId;
use strewn_array::write_anywhere::{WriteAnywhere, WriteAnywhereConfig};
use strewn_raid::{Parity, ParityGroup};
use strewn_sim::{
    ClosedLoop, ControllerId, Host, HostId, Interconnect, Machine, MachineMeasures, PairConfig,
    Port, PortId, ProcessorCores, Rate, Segment, Spindles, TimeIn, Worker, Workers,
};
use strewn_spindle::Scheduler;
use strewn_transport::front_end::{Fcp, Iscsi};
use strewn_transport::{
    FibreChannelOptions, Forwarding, FrontEnd, Hop, LinkProfile, ProcessorCosts, Protocol,
    RouterOptions, Switch, TcpOptions, Transport,
};
use strewn_workload::{AccessLine, AccessSpecification, AccessStream, Pattern, PatternStream};

use crate::failures::{SECOND_NS, config, drive, simulation};

/// Sectors that hosts work on: as many as [`config`]'s LUN has.
const SECTORS: u64 = 1 << 17;

fn array() -> WriteAnywhere<()> {
    let group = ParityGroup::new(Parity::RaidDp, 6, 16_384).unwrap();
    WriteAnywhere::new(WriteAnywhereConfig { ..config(group) }).unwrap()
}

fn spindles() -> Spindles {
    Spindles::new(drive(), Scheduler::Sptf, 4)
}

fn file_server(outstanding: u32) -> ClosedLoop {
    let accesses = AccessSpecification::shipped("file-server").unwrap();
    ClosedLoop::new(AccessStream::new(&accesses, 0, SECTORS, 5).unwrap(), outstanding)
}

pub fn direct() -> Port {
    Port { host: HostId(0), front_end: FrontEnd::from(Protocol::Direct), connections: Vec::new() }
}

/// A machine with one array over iSCSI and a link.
fn over_iscsi<H: Host>(host: H, link: &str, front_end: FrontEnd) -> Machine<WriteAnywhere<()>, H> {
    over_iscsi_port(host, link, front_end).0
}

/// The same, and the port.
pub fn over_iscsi_port<H: Host>(
    host: H,
    link: &str,
    front_end: FrontEnd,
) -> (Machine<WriteAnywhere<()>, H>, PortId) {
    let mut machine = Machine::new(host).with_host_cores(1);
    let controller =
        machine.add_controller(array(), &spindles(), &ProcessorCores::default()).unwrap();
    let link = machine.network_mut().add_link(LinkProfile::shipped(link).unwrap()).unwrap();
    let path = machine.network_mut().add_path(&[Hop::Link(link)]).unwrap();
    let transport = Transport::Tcp(TcpOptions::default());
    let connection = machine.network().connect(path, 1, transport).unwrap();
    let port = machine.add_port(Port { host: HostId(0), front_end, connections: vec![connection] });
    machine.add_lun(controller, LunId(0), port);
    (machine, port)
}

pub fn segment<H: Host>(machine: &mut Machine<WriteAnywhere<()>, H>, seconds: u64) -> Segment {
    let measured =
        machine.run_segment(seconds * SECOND_NS, &mut |_| ControlFlow::Continue(())).unwrap();
    let laws = measured.laws;
    assert!(laws.littles_law_unexplained <= 0.001, "{laws:?}");
    assert!(laws.utilization_law_unexplained <= 0.001, "{laws:?}");
    measured
}

pub fn of_machine(measured: &Segment) -> &MachineMeasures {
    measured.machine.as_ref().unwrap()
}

/// Operations are accounted for in full, but for those in progress at either end.
fn time_is_accounted_for(measured: &Segment, outstanding: u32) {
    let responses_ns = measured.response.mean_ns * measured.operations as f64;
    let off_ns = (of_machine(measured).time_in.total_ns() as f64 - responses_ns).abs();
    let longest_ns = measured.response.max_ns as f64;
    assert!(off_ns <= f64::from(outstanding) * longest_ns, "{measured:?}");
}

/// Machines and what they measure can go to another thread.
#[test]
fn machines_are_sent_between_threads() {
    fn sent<T: Send>(_: &T) {}
    let mut machine = pair(1);
    sent(&machine);
    sent(&segment(&mut machine, 1));
}

#[test]
fn a_machine_without_wires_is_a_simulation() {
    let mut machine = Machine::new(file_server(24));
    let controller =
        machine.add_controller(array(), &spindles(), &ProcessorCores::default()).unwrap();
    let port = machine.add_port(direct());
    machine.add_lun(controller, LunId(0), port);
    let mut plain = simulation(array(), 24, 5);
    for _ in 0..3 {
        let measured = segment(&mut machine, 10);
        let plain = crate::failures::segment(&mut plain, 10).unwrap();
        assert_eq!(measured.operations, plain.operations);
        assert_eq!(measured.counters, plain.counters);
        assert_eq!(measured.response, plain.response);
        assert_eq!(measured.processor_busy_ns, plain.processor_busy_ns);
        assert_eq!(
            of_machine(&measured).time_in.wire_ns + of_machine(&measured).time_in.host_ns,
            0
        );
        time_is_accounted_for(&measured, 24);
    }
}

#[test]
fn a_wire_takes_its_time_and_no_more_than_it_can_carry() {
    let free = FrontEnd::from(Protocol::Iscsi(Iscsi::default()));
    let mut iops = Vec::new();
    for link in ["ethernet-10g", "ethernet-1g", "ethernet-100m"] {
        let mut machine = over_iscsi(file_server(24), link, free);
        segment(&mut machine, 5);
        let measured = segment(&mut machine, 20);
        time_is_accounted_for(&measured, 24);
        let rate = LinkProfile::shipped(link).unwrap().payload_bytes_per_second(40);
        // Four accesses in five are reads, whatever their size.
        let reads = measured.bytes * 4 / 5 / 20;
        assert!(reads < rate + rate / 25, "{link}: {reads} of {rate} B/s");
        let busy = of_machine(&measured).links[0].busy_ns;
        assert!(busy.iter().all(|busy_ns| *busy_ns <= 20 * SECOND_NS), "{busy:?}");
        iops.push(measured.operations);
    }
    assert!(iops[0] >= iops[1] && iops[1] > iops[2], "{iops:?}");
}

/// Two hosts, each with a link of its own and one that both share, that read 8 KiB at random from the same LUN.
fn two_hosts(own: [&str; 2], shared: &str, pdu_ns: u64) -> Segment {
    let line = AccessLine {
        bytes: 8_192,
        percent_of_accesses: 100,
        read_percent: 100,
        random_percent: 100,
    };
    let reads = AccessSpecification::new("8 KiB", vec![line], 8_192).unwrap();
    let worker = |host: u16| {
        // Within what the cache holds.
        let accesses = PatternStream::new(&Pattern::from(&reads), 0, 256, 5 + u64::from(host));
        Worker {
            lun: LunId(host),
            workload: Some(format!("host {host}").into()),
            ..Worker::closed_loop(Box::new(accesses.unwrap()), 16)
        }
    };
    let workers = Workers::new(vec![worker(0), worker(1)]);
    let mut machine = Machine::new(workers).with_host_cores(1);
    let hosts = [HostId(0), machine.add_host(1)];
    let controller =
        machine.add_controller(array(), &spindles(), &ProcessorCores::default()).unwrap();
    let mut link = |name: &str| {
        let profile = LinkProfile::shipped(name).unwrap();
        Hop::Link(machine.network_mut().add_link(profile).unwrap())
    };
    let own = own.map(&mut link);
    let shared = link(shared);
    let costs = ProcessorCosts::of_both(pdu_ns, 0);
    let free = FrontEnd::from(Protocol::Iscsi(Iscsi::default()));
    let front_end = FrontEnd { host_costs: costs, ..free };
    for (flow, (host, own)) in (1..).zip(hosts.into_iter().zip(own)) {
        let switch = Switch { latency_ns: 0, forwarding: Forwarding::StoreAndForward };
        let path = machine.network_mut().add_path(&[own, Hop::Switch(switch), shared]).unwrap();
        let transport = Transport::Tcp(TcpOptions::default());
        let connections = vec![machine.network().connect(path, flow, transport).unwrap()];
        let port = machine.add_port(Port { host, front_end, connections });
        assert_eq!(machine.add_lun(controller, LunId(0), port), LunId(host.0));
    }
    segment(&mut machine, 2);
    segment(&mut machine, 10)
}

/// Bytes that each host read a second.
fn of_hosts(measured: &Segment) -> [f64; 2] {
    let sectors = |host: usize| measured.by_workload[host].by_direction[0].answered.sectors;
    [0, 1].map(|host| sectors(host) as f64 * 512.0 / 10.0)
}

#[test]
fn hosts_have_links_of_their_own_and_share_others() {
    // What 8 KiB and their header, in six segments, take on the wire.
    let most = |bits_per_second: f64| bits_per_second / 8.0 * 8192.0 / (8192.0 + 48.0 + 6.0 * 90.0);
    // Each is held up by its own link.
    let [one, other] = of_hosts(&two_hosts(["ethernet-100m", "ethernet-1g"], "ethernet-1g", 0));
    assert!((one / most(100e6) - 1.0).abs() < 0.02, "{one} of {}", most(100e6));
    assert!(other > 4.0 * one, "{one} {other}");
    // Both by the one that they share, half each.
    let shared = two_hosts(["ethernet-1g", "ethernet-1g"], "ethernet-100m", 0);
    let [one, other] = of_hosts(&shared);
    assert!((one / other - 1.0).abs() < 0.02, "{one} {other}");
    assert!(((one + other) / most(100e6) - 1.0).abs() < 0.02, "{one} {other}");
    let links = &of_machine(&shared).links;
    assert_eq!(links.len(), 3);
    let on_wire = |link: usize| links[link].wire_bytes[1];
    let both = on_wire(0) + on_wire(1);
    assert!(both.abs_diff(on_wire(2)) < both / 100, "{both} {}", on_wire(2));
}

#[test]
fn hosts_have_processors_of_their_own() {
    let measured = two_hosts(["ethernet-100m", "ethernet-1g"], "ethernet-1g", 20_000);
    let busy_ns = &of_machine(&measured).hosts_busy_ns;
    for (host, bytes_per_second) in of_hosts(&measured).into_iter().enumerate() {
        // A command and an answer for each 8 KiB.
        let expected_ns = bytes_per_second * 10.0 / 8192.0 * 2.0 * 20_000.0;
        let off = busy_ns[host] as f64 / expected_ns - 1.0;
        assert!(off.abs() < 0.01, "{busy_ns:?} {expected_ns}");
    }
}

#[test]
fn a_router_is_as_busy_as_its_commands_and_answers_make_it() {
    let settings = RouterOptions {
        latency_ns: 30_000,
        command_ns: 100_000,
        pdu_ns: 20_000,
        kib_ns: 500,
        ..Default::default()
    };
    let line = AccessLine {
        bytes: 8_192,
        percent_of_accesses: 100,
        read_percent: 100,
        random_percent: 100,
    };
    let reads = AccessSpecification::new("8 KiB", vec![line], 8_192).unwrap();
    let routed = |router: Option<RouterOptions>| {
        let host = ClosedLoop::new(AccessStream::new(&reads, 0, SECTORS, 5).unwrap(), 1);
        let mut machine = Machine::new(host);
        let controller =
            machine.add_controller(array(), &spindles(), &ProcessorCores::default()).unwrap();
        let network = machine.network_mut();
        let link = |name| LinkProfile::shipped(name).unwrap();
        let ethernet = Hop::Link(network.add_link(link("ethernet-1g")).unwrap());
        let mut hops = vec![ethernet];
        if let Some(settings) = router {
            hops.push(Hop::Router(network.add_router(settings)));
            hops.push(Hop::Link(network.add_link(link("fc-1g")).unwrap()));
        }
        let path = network.add_path(&hops).unwrap();
        let transport = Transport::Tcp(TcpOptions::default());
        let connections = vec![network.connect(path, 1, transport).unwrap()];
        let front_end = FrontEnd::from(Protocol::Iscsi(Iscsi::default()));
        let port = machine.add_port(Port { host: HostId(0), front_end, connections });
        machine.add_lun(controller, LunId(0), port);
        segment(&mut machine, 20)
    };
    let (plain, measured) = (routed(None), routed(Some(settings)));
    assert!(of_machine(&plain).routers_busy_ns.is_empty());
    // A command, and 8 KiB of data with the status.
    let each_ns = 120_000 + 20_000 + 8 * 500;
    let busy_ns = of_machine(&measured).routers_busy_ns[0];
    let expected_ns = measured.operations * each_ns;
    assert!(busy_ns.abs_diff(expected_ns) <= each_ns, "{busy_ns} {expected_ns}");
    // Fibre Channel's frames beside: a command of 92 bytes, 8 KiB in four frames, a response of 84 bytes.
    let frames_ns = ((92 + 4 * 2_108 + 84) as f64 / 850e6 * 8e9) as u64;
    let added_ns = each_ns + 2 * settings.latency_ns + frames_ns + 2 * 50;
    let wire_ns = |measured: &Segment| of_machine(measured).time_in.wire_ns / measured.operations;
    let more_ns = wire_ns(&measured) - wire_ns(&plain);
    assert!(more_ns.abs_diff(added_ns) < 200, "{more_ns} {added_ns}");
}

#[test]
fn network_processing_costs_both_ends() {
    let costs = ProcessorCosts::of_both(20_000, 1_000);
    let free = FrontEnd::from(Protocol::Iscsi(Iscsi::default()));
    let mut cheap = over_iscsi(file_server(8), "ethernet-1g", free);
    let dear = FrontEnd { host_costs: costs, target_costs: costs, ..free };
    let mut dear = over_iscsi(file_server(8), "ethernet-1g", dear);
    let (cheap, dear) = (segment(&mut cheap, 20), segment(&mut dear, 20));
    assert_eq!(
        (of_machine(&cheap).hosts_busy_ns[0], of_machine(&cheap).time_in.front_end_ns),
        (0, 0)
    );
    assert!(of_machine(&dear).hosts_busy_ns[0] > 0 && of_machine(&dear).time_in.front_end_ns > 0);
    let of_each =
        |measured: &Segment| measured.processor_busy_ns as f64 / measured.operations as f64;
    assert!(of_each(&dear) > of_each(&cheap) + 40_000.0, "two PDUs an operation at least");
    assert!(dear.operations < cheap.operations);
}

#[test]
fn answers_alone_are_no_segment_of_a_machine() {
    let accesses = AccessSpecification::shipped("file-server").unwrap();
    let worker = |outstanding: u32, per_second: Option<u64>| {
        let stream = PatternStream::new(&Pattern::from(&accesses), 0, SECTORS, 5).unwrap();
        let mut worker = Worker::closed_loop(Box::new(stream), outstanding);
        worker.runtime_ns = Some(2 * SECOND_NS);
        worker.rate = per_second.map(Rate::Operations);
        worker
    };
    let free = FrontEnd::from(Protocol::Iscsi(Iscsi::default()));
    for per_second in [None, Some(20)] {
        let host = Workers::new(vec![worker(16, per_second)]);
        let (mut machine, _) = over_iscsi_port(host, "ethernet-1g", free);
        let [first, last] = [segment(&mut machine, 1), segment(&mut machine, 1)];
        assert!(machine.is_done());
        assert_eq!(first.length_ns, SECOND_NS);
        let over_ns = last.length_ns - SECOND_NS;
        match per_second {
            None => assert!((1..SECOND_NS / 5).contains(&over_ns), "{over_ns}"),
            Some(_) => assert_eq!((over_ns, first.operations + last.operations), (0, 40)),
        }
    }
}

fn pair(cores: u32) -> Machine<WriteAnywhere<()>, Workers> {
    pair_of(array, cores, 8, 15 * SECOND_NS, 10 * SECOND_NS)
}

fn pair_of(
    array: impl Fn() -> WriteAnywhere<()>,
    cores: u32,
    outstanding: u32,
    detection_ns: u64,
    giveback_ns: u64,
) -> Machine<WriteAnywhere<()>, Workers> {
    let line = AccessLine {
        bytes: 8_192,
        percent_of_accesses: 100,
        read_percent: 50,
        random_percent: 100,
    };
    let accesses = AccessSpecification::new("mixed", vec![line], 4_096).unwrap();
    let worker = |lun: u16| {
        let pattern = Pattern::from(&accesses);
        let stream = PatternStream::new(&pattern, 0, SECTORS, lun.into()).unwrap();
        let workload = Some(format!("{lun}").into());
        Worker { lun: LunId(lun), workload, ..Worker::closed_loop(Box::new(stream), outstanding) }
    };
    let mut machine = Machine::new(Workers::new(vec![worker(0), worker(1)]));
    let port = machine.add_port(direct());
    for _ in 0..2 {
        let controller =
            machine.add_controller(array(), &spindles(), &ProcessorCores::filer(cores)).unwrap();
        machine.add_lun(controller, LunId(0), port);
    }
    let interconnect = Interconnect { bytes_per_second: 1_000_000_000, latency_ns: 10_000 };
    machine.pair(PairConfig::new(interconnect, detection_ns, giveback_ns));
    machine
}

/// What a processor had queued for seconds ahead is gone with it: the one that takes over has less to do, and sends
/// commands earlier.
#[test]
fn regression_a_partner_takes_over_from_a_processor_with_a_long_queue() {
    let slow = || {
        let group = ParityGroup::new(Parity::RaidDp, 6, 16_384).unwrap();
        let processor = strewn_array::ProcessorCosts {
            host_operation_ns: 100_000,
            spindle_command_ns: 2_000_000,
            ..strewn_array::ProcessorCosts::default()
        };
        WriteAnywhere::new(WriteAnywhereConfig { processor, ..config(group) }).unwrap()
    };
    for cores in [1, 2] {
        let mut machine = pair_of(slow, cores, 300, SECOND_NS / 10, SECOND_NS / 100);
        machine.fail_controller_at(SECOND_NS / 2, ControllerId(0));
        machine.give_back_at(2 * SECOND_NS, ControllerId(0));
        for _ in 0..3 {
            machine.run_segment(SECOND_NS, &mut |_| ControlFlow::Continue(())).unwrap();
        }
    }
}

/// A write over Fibre Channel is four messages, each of which waits for the one processor: FCP_XFER_RDY too.
#[test]
fn what_the_array_has_no_part_in_waits_for_the_processor() {
    let line = AccessLine {
        bytes: 65_536,
        percent_of_accesses: 100,
        read_percent: 0,
        random_percent: 100,
    };
    let writes = AccessSpecification::new("64 KiB", vec![line], 65_536).unwrap();
    let mean_ns = |pdu_ns: u64| {
        // Within what the cache holds, and few enough for a log half.
        let host = ClosedLoop::new(AccessStream::new(&writes, 0, 2_048, 5).unwrap(), 1);
        let mut machine = Machine::new(host);
        let controller =
            machine.add_controller(array(), &spindles(), &ProcessorCores::default()).unwrap();
        let network = machine.network_mut();
        let link = network.add_link(LinkProfile::shipped("fc-8g").unwrap()).unwrap();
        let path = network.add_path(&[Hop::Link(link)]).unwrap();
        let transport = Transport::FibreChannel(FibreChannelOptions::default());
        let connections = vec![network.connect(path, 1, transport).unwrap()];
        let target_costs = ProcessorCosts::of_both(pdu_ns, 0);
        let free = FrontEnd::from(Protocol::Fcp(Fcp::default()));
        let front_end = FrontEnd { target_costs, ..free };
        let port = machine.add_port(Port { host: HostId(0), front_end, connections });
        machine.add_lun(controller, LunId(0), port);
        let measured = segment(&mut machine, 1);
        time_is_accounted_for(&measured, 1);
        measured.response.p50_ns as f64
    };
    let added_ns = mean_ns(30_000) - mean_ns(0);
    assert!((added_ns / 120_000.0 - 1.0).abs() < 0.02, "{added_ns} ns instead of 4 x 30 us");
}

/// Operations answered of each of the two workloads.
fn answered(measured: &Segment) -> [u64; 2] {
    let of = |index: usize| {
        let both = &measured.by_workload[index].by_direction;
        both.iter().map(|direction| direction.answered.count).sum()
    };
    [of(0), of(1)]
}

#[test]
fn a_partner_takes_over_and_gives_back() {
    for cores in [1, 2] {
        takes_over_and_gives_back(cores);
    }
}

fn takes_over_and_gives_back(cores: u32) {
    let mut machine = pair(cores);
    machine.fail_controller_at(40 * SECOND_NS, ControllerId(1));
    machine.give_back_at(100 * SECOND_NS, ControllerId(1));
    let before = segment(&mut machine, 40);
    assert_eq!(of_machine(&before).time_in.outage_ns, 0);
    assert!(of_machine(&before).controllers.iter().all(|controller| controller.copied_bytes > 0));

    // 40 to 55 s: nobody serves the second array, and nothing of it is answered.
    let outage = segment(&mut machine, 15);
    assert!(answered(&outage)[1] <= 16 && answered(&outage)[0] > 100, "{:?}", answered(&outage));
    assert!(of_machine(&outage).controllers[0].copied_bytes == 0, "there is no partner to copy to");

    // 55 to 100 s: one processor serves both.
    let taken_over = segment(&mut machine, 45);
    let [own, others] = answered(&taken_over);
    assert!(own > 0 && others > 0);
    assert!(taken_over.response.max_ns >= 15 * SECOND_NS, "somebody waited for all that time");
    let survivor_ns = of_machine(&taken_over).controllers[0].processor_busy_ns;
    assert_eq!(of_machine(&taken_over).controllers[1].processor_busy_ns, 0);
    assert_eq!(taken_over.processor_busy_ns, survivor_ns, "the busier controller, not the mean");
    let [own_before, others_before] = answered(&before).map(|count| count * 45 / 40);
    assert!(own + others < own_before + others_before, "one processor does less than two");

    // 100 to 110 s: giveback; then two processors again.
    segment(&mut machine, 20);
    let after = segment(&mut machine, 40);
    assert!(
        of_machine(&after)
            .controllers
            .iter()
            .all(|one| one.processor_busy_ns > 0 && one.copied_bytes > 0)
    );
    let all = |measured: &Segment| answered(measured).iter().sum::<u64>() as f64;
    assert!(all(&after) > 0.8 * all(&before), "{} after, {} before", all(&after), all(&before));
    let _: TimeIn = of_machine(&after).time_in;
}
