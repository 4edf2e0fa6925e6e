//! Controllers with several cores: what is serialized bounds throughput, and what is not uses all cores.

use strewn_array::write_anywhere::{WriteAnywhere, WriteAnywhereConfig};
use strewn_array::{LunId, ProcessorCosts, ProcessorWork};
use strewn_raid::{Parity, ParityGroup};
use strewn_sim::{
    ClosedLoop, CoresSegment, HostId, Machine, Port, ProcessorCores, Segment, Spindles,
};
use strewn_spindle::Scheduler;
use strewn_transport::front_end::Iscsi;
use strewn_transport::{FrontEnd, Hop, LinkProfile, Protocol, TcpOptions, Transport};
use strewn_workload::{AccessLine, AccessSpecification, AccessStream};

use crate::failures::{SECOND_NS, config, drive};
use crate::machine::{direct, of_machine, segment};

const MS: u64 = 1_000_000;
const ALL: [ProcessorWork; 3] =
    [ProcessorWork::Operation, ProcessorWork::Command, ProcessorWork::Network];

/// Reads of 4 KiB at random within `sectors`, 64 outstanding, at an array whose cache holds `cache_blocks`.
fn machine(
    sectors: u64,
    cache_blocks: u32,
    operation_ns: u64,
    command_ns: u64,
    cores: &ProcessorCores,
) -> Machine<WriteAnywhere<()>, ClosedLoop> {
    let group = ParityGroup::new(Parity::RaidDp, 6, 16_384).unwrap();
    let processor = ProcessorCosts {
        host_operation_ns: operation_ns,
        spindle_command_ns: command_ns,
        per_sector_ps: 0,
        write_back_percent: 50,
        write_back: strewn_array::WriteBackCosts::NONE,
        interrupt_ns: 0,
    };
    let array =
        WriteAnywhere::new(WriteAnywhereConfig { processor, cache_blocks, ..config(group) });
    let line = AccessLine {
        bytes: 4_096,
        percent_of_accesses: 100,
        read_percent: 100,
        random_percent: 100,
    };
    let reads = AccessSpecification::new("4 KiB", vec![line], 4_096).unwrap();
    let host = ClosedLoop::new(AccessStream::new(&reads, 0, sectors, 5).unwrap(), 64);
    let spindles = Spindles::new(drive(), Scheduler::Sptf, 4);
    let mut machine = Machine::new(host);
    machine.add_controller(array.unwrap(), &spindles, cores).unwrap();
    machine
}

fn cores_of(measured: &Segment) -> &CoresSegment {
    of_machine(measured).controllers[0].cores.as_ref().unwrap()
}

fn is_near(value: f64, expected: f64, percent: f64) -> bool {
    (value / expected - 1.0).abs() <= percent / 100.0
}

/// Reads from the cache, which cost 100 us each and no command.
fn cached(cores: &ProcessorCores) -> Segment {
    let mut machine = machine(2_048, 1_000, 100_000, 0, cores);
    let port = machine.add_port(direct());
    machine.add_lun(machine.controllers().next().unwrap(), LunId(0), port);
    segment(&mut machine, 5);
    segment(&mut machine, 10)
}

#[test]
fn what_is_not_serialized_uses_all_cores() {
    for cores in [1, 2, 4, 8] {
        let measured = cached(&ProcessorCores { cores, serial_domains: Vec::new() });
        let iops = measured.operations as f64 / 10.0;
        assert!(is_near(iops, 10_000.0 * f64::from(cores), 0.1), "{cores} cores: {iops} IOPS");
        assert!(measured.processor_busy_ns >= 9_999 * MS, "{}", measured.processor_busy_ns);
    }
}

#[test]
fn a_serial_domain_is_no_faster_on_more_cores() {
    let one = cached(&ProcessorCores::filer(1));
    for cores in [2, 3, 8] {
        let measured = cached(&ProcessorCores::filer(cores));
        assert_eq!((measured.operations, measured.response), (one.operations, one.response));
        let used = cores_of(&measured);
        assert_eq!((used.busy_ns, used.network_ns), (one.processor_busy_ns, 0));
        // The controller is as busy as what bounds it, though most of its cores are idle.
        assert_eq!(used.serial_domains_ns, [one.processor_busy_ns]);
        assert_eq!(measured.processor_busy_ns, one.processor_busy_ns);
    }
}

#[test]
fn two_serial_domains_work_side_by_side() {
    // Reads of spindles, bound by the processor: 2 ms an operation, 3 ms a command, of which each needs one or more.
    let measured = |cores: u32, serial_domains: Vec<Vec<ProcessorWork>>| {
        let cores = ProcessorCores { cores, serial_domains };
        let mut machine = machine(1 << 17, 600, 2 * MS, 3 * MS, &cores);
        let port = machine.add_port(direct());
        machine.add_lun(machine.controllers().next().unwrap(), LunId(0), port);
        segment(&mut machine, 20);
        segment(&mut machine, 60)
    };
    let [operation, command, _] = ALL;
    let commands_each = |measured: &Segment| {
        let spindles = [measured.data_spindles, measured.parity_spindles];
        spindles.iter().map(|group| group.commands).sum::<u64>() as f64 / measured.operations as f64
    };
    let expect = |measured: &Segment, each_ms: f64| {
        let iops = measured.operations as f64 / 60.0;
        assert!(is_near(iops, 1_000.0 / each_ms, 1.0), "{iops} IOPS, {each_ms} ms each");
    };
    let one = measured(1, vec![]);
    let each = commands_each(&one);
    assert!(each > 0.9 && each < 1.1, "{each} commands an operation");
    expect(&one, 2.0 + 3.0 * each);
    expect(&measured(2, vec![vec![operation, command]]), 2.0 + 3.0 * each);
    // Apart, the domain with more to do is the limit, and is busy all the time.
    let apart = measured(2, vec![vec![operation], vec![command]]);
    expect(&apart, 3.0 * commands_each(&apart));
    let busy_ns = &cores_of(&apart).serial_domains_ns;
    assert!(is_near(busy_ns[1] as f64, 60e9, 0.5), "{busy_ns:?}");
    assert!(is_near(busy_ns[0] as f64, apart.operations as f64 * 2e6, 0.5), "{busy_ns:?}");
    // A single serial kind of work bounds nothing as long as the others have cores enough.
    let commands_anywhere = measured(4, vec![vec![operation]]);
    expect(&commands_anywhere, 2.0);
}

#[test]
fn networking_beside_a_serial_domain_costs_it_nothing() {
    // 100 us an operation, and 60 us of network processing for a command and for its answer.
    let measured = |cores: &ProcessorCores, pdu_ns: u64| {
        let mut machine = machine(2_048, 1_000, 100_000, 0, cores);
        let network = machine.network_mut();
        let link = network.add_link(LinkProfile::shipped("ethernet-10g").unwrap()).unwrap();
        let path = network.add_path(&[Hop::Link(link)]).unwrap();
        let transport = Transport::Tcp(TcpOptions::default());
        let connections = vec![network.connect(path, 1, transport).unwrap()];
        let free = FrontEnd::from(Protocol::Iscsi(Iscsi::default()));
        let target_costs = strewn_transport::ProcessorCosts::of_both(pdu_ns, 0);
        let front_end = FrontEnd { target_costs, ..free };
        let port = machine.add_port(Port { host: HostId(0), front_end, connections });
        machine.add_lun(machine.controllers().next().unwrap(), LunId(0), port);
        segment(&mut machine, 5);
        segment(&mut machine, 10)
    };
    let iops = |measured: &Segment| measured.operations as f64 / 10.0;
    let one = measured(&ProcessorCores::filer(1), 60_000);
    assert!(is_near(iops(&one), 1e9 / 220_000.0, 0.1), "{}", iops(&one));
    // Networking has more to do than the domain: 120 us an operation.
    let two = measured(&ProcessorCores::filer(2), 60_000);
    assert!(is_near(iops(&two), 2e9 / 220_000.0, 1.0), "{}", iops(&two));
    let three = measured(&ProcessorCores::filer(3), 60_000);
    assert!(is_near(iops(&three), 10_000.0, 0.5), "{}", iops(&three));
    let used = cores_of(&three);
    assert!(is_near(used.network_ns as f64, three.operations as f64 * 120_000.0, 0.1), "{used:?}");
    assert!(is_near(used.busy_ns as f64, three.operations as f64 * 220_000.0, 0.1), "{used:?}");
    // All in one domain, three cores are one.
    let serial = ProcessorCores { cores: 3, serial_domains: vec![ALL.to_vec()] };
    let serial = measured(&serial, 60_000);
    assert!(is_near(iops(&serial), 1e9 / 220_000.0, 0.1), "{}", iops(&serial));
}

#[test]
fn consistency_points_have_their_share_of_a_serial_domain() {
    let accesses = AccessSpecification::shipped("file-server").unwrap();
    let measured = |cores: &ProcessorCores| {
        let group = ParityGroup::new(Parity::RaidDp, 6, 16_384).unwrap();
        let processor = ProcessorCosts {
            host_operation_ns: 300_000,
            spindle_command_ns: 300_000,
            per_sector_ps: 0,
            write_back_percent: 50,
            write_back: strewn_array::WriteBackCosts::NONE,
            interrupt_ns: 0,
        };
        let array = WriteAnywhere::new(WriteAnywhereConfig { processor, ..config(group) }).unwrap();
        let host = ClosedLoop::new(AccessStream::new(&accesses, 0, 1 << 17, 5).unwrap(), 32);
        let spindles = Spindles::new(drive(), Scheduler::Sptf, 4);
        let mut machine = Machine::new(host);
        let controller = machine.add_controller(array, &spindles, cores).unwrap();
        let port = machine.add_port(direct());
        machine.add_lun(controller, LunId(0), port);
        segment(&mut machine, 20);
        segment(&mut machine, 60)
    };
    let (one, filer) = (measured(&ProcessorCores::filer(1)), measured(&ProcessorCores::filer(2)));
    assert!(one.processor_busy_ns >= 59 * SECOND_NS, "{}", one.processor_busy_ns);
    // One domain on two cores is one core, but for commands that overtake on another one.
    assert!(is_near(filer.operations as f64, one.operations as f64, 3.0), "{filer:?} {one:?}");
    let free = measured(&ProcessorCores { cores: 2, serial_domains: Vec::new() });
    assert!(free.operations as f64 > 1.3 * one.operations as f64, "{free:?} {one:?}");
}
