//! Hosts that take in an answer while it arrives, and adapters that hold interrupts back.

use strewn_sim::{ClosedLoop, Receiving, Segment};
use strewn_transport::front_end::Iscsi;
use strewn_transport::{FrontEnd, ProcessorCosts, Protocol};
use strewn_workload::{AccessLine, AccessSpecification, AccessStream};

use super::machine::{over_iscsi_port, segment};

/// Means of reads of `bytes`, one at a time, by a host to which they cost `host_costs`.
fn reads(bytes: u32, host_costs: ProcessorCosts, receiving: Option<Receiving>) -> (Segment, f64) {
    let line =
        AccessLine { bytes, percent_of_accesses: 100, read_percent: 100, random_percent: 100 };
    let reads = AccessSpecification::new("reads", vec![line], bytes).unwrap();
    let host = ClosedLoop::new(AccessStream::new(&reads, 0, 1 << 17, 5).unwrap(), 1);
    let free = FrontEnd::from(Protocol::Iscsi(Iscsi::default()));
    let (mut machine, port) = over_iscsi_port(host, "ethernet-1g", FrontEnd { host_costs, ..free });
    if let Some(receiving) = receiving {
        machine.receive(port, receiving);
    }
    let measured = segment(&mut machine, 20);
    let host_ns = measured.machine.as_ref().unwrap().time_in.host_ns;
    let mean_ns = host_ns as f64 / measured.operations as f64;
    (measured, mean_ns)
}

const COSTS: ProcessorCosts = ProcessorCosts::of_both(10_000, 5_000);

#[test]
fn receiving_by_default_changes_nothing() {
    let (plain, plain_ns) = reads(65_536, COSTS, None);
    let (said, said_ns) = reads(65_536, COSTS, Some(Receiving::default()));
    assert_eq!((plain.operations, plain_ns), (said.operations, said_ns));
}

#[test]
fn an_interrupt_that_is_held_back_delays_each_answer() {
    let (_, at_once_ns) = reads(1_024, COSTS, None);
    let delay = Receiving { interrupt_delay_ns: 120_000, ..Receiving::default() };
    let (measured, held_back_ns) = reads(1_024, COSTS, Some(delay));
    assert!((held_back_ns - at_once_ns - 120_000.0).abs() < 20.0, "{held_back_ns} {at_once_ns}");
    assert!(measured.laws.hold());
}

#[test]
fn work_on_an_answer_that_arrives_overlaps_with_the_wire() {
    let as_it_arrives = Receiving { as_it_arrives: true, ..Receiving::default() };
    // A command, and 64 KiB in eight PDUs: 400 us. The wire takes 566 us, so only the last frame's part is left when
    // all is there.
    let (measured, mean_ns) = reads(65_536, COSTS, Some(as_it_arrives));
    assert!((mean_ns - 10_000.0 - 400_000.0 / 46.0).abs() < 20.0, "{mean_ns}");
    assert!(measured.laws.hold());
    let (whole, whole_ns) = reads(65_536, COSTS, None);
    assert!((whole_ns - 10_000.0 - 400_000.0).abs() < 20.0, "{whole_ns}");
    // It costs the host as much as before.
    let busy_ns = |measured: &Segment| {
        let machine = measured.machine.as_ref().unwrap();
        machine.hosts_busy_ns.iter().sum::<u64>() as f64 / measured.operations as f64
    };
    assert!((busy_ns(&measured) - busy_ns(&whole)).abs() < 500.0);
    // What takes longer than the wire waits for the processor: 1.28 ms after the first frame.
    let slow = ProcessorCosts::of_both(0, 20_000);
    let (_, slow_ns) = reads(65_536, slow, Some(as_it_arrives));
    assert!((1_280_000.0 - 560_000.0..1_280_000.0 - 540_000.0).contains(&slow_ns), "{slow_ns}");
}

#[test]
fn interrupts_come_at_intervals_while_an_answer_arrives() {
    // 64 KiB arrive within 554 us of the first frame, so the fifth interrupt, after 600 us, brings the last of them.
    let delay = Receiving { interrupt_delay_ns: 120_000, as_it_arrives: true };
    let free = ProcessorCosts::default();
    let (_, mean_ns) = reads(65_536, free, Some(delay));
    assert!((40_000.0..56_000.0).contains(&mean_ns), "{mean_ns}");
    // What came since the fourth is all that is left to do.
    let costs = ProcessorCosts::of_both(0, 5_000);
    let (_, with_costs_ns) = reads(65_536, costs, Some(delay));
    let last_work_ns = 320_000.0 * (120_000.0 - mean_ns) / 554_000.0;
    let expected_ns = mean_ns + last_work_ns;
    assert!((with_costs_ns - expected_ns).abs() < 2_000.0, "{with_costs_ns} {expected_ns}");
}
