//! What consistency points, parity, frees, scans and interrupts cost a processor, and that the laws count all of it.

use std::ops::ControlFlow;

use strewn_array::in_place::{
    DiskGroupConfig, InPlace, InPlaceConfig, LunConfig, LunLayout, Raid5Layout,
};
use strewn_array::write_anywhere::{
    BackgroundScan, BackgroundWork, WriteAnywhere, WriteAnywhereConfig,
};
use strewn_array::{AnyArray, LunId, ProcessorCosts, ProcessorWork, WriteBackCosts};
use strewn_raid::{Parity, ParityGroup};
use strewn_sim::{ClosedLoop, Machine, ProcessorCores, Segment, Simulation, Spindles};
use strewn_spindle::Scheduler;
use strewn_workload::{AccessLine, AccessSpecification, AccessStream};

use crate::failures::{SECOND_NS, config, drive};
use crate::machine::{direct, of_machine, segment};

const FILE_SECTORS: u64 = 16_384 * 8;
const COSTS: ProcessorCosts = ProcessorCosts {
    host_operation_ns: 300_000,
    spindle_command_ns: 400_000,
    per_sector_ps: 250_000,
    write_back_percent: 50,
    write_back: WriteBackCosts::NONE,
    interrupt_ns: 0,
};
const WRITE_BACK: WriteBackCosts = WriteBackCosts {
    allocated_block_ns: 11_000,
    freed_block_ns: 13_000,
    metadata_block_ns: 4_000,
    parity_sector_ps: 1_250_777,
};

fn accesses(read_percent: u8) -> AccessStream {
    let line =
        AccessLine { bytes: 4_096, percent_of_accesses: 100, read_percent, random_percent: 100 };
    let mix = AccessSpecification::new("4 KiB", vec![line], 4_096).unwrap();
    AccessStream::new(&mix, 0, FILE_SECTORS, 5).unwrap()
}

fn spindles() -> Spindles {
    Spindles::new(drive(), Scheduler::Sptf, 4)
}

/// Runs `segments` segments of 5 s; each must obey the laws. Returns the last.
fn run(array: impl AnyArray<()>, read_percent: u8, outstanding: u32, segments: u32) -> Segment {
    let stream = accesses(read_percent);
    let mut simulation = Simulation::new(array, &spindles(), stream, outstanding).unwrap();
    let mut last = None;
    for _ in 0..segments {
        let go_on = &mut |_| ControlFlow::Continue(());
        let segment = simulation.run_segment(5 * SECOND_NS, go_on).unwrap();
        assert!(segment.laws.hold(), "{:?}", segment.laws);
        last = Some(segment);
    }
    last.unwrap()
}

fn write_anywhere(processor: ProcessorCosts) -> WriteAnywhere<()> {
    let group = ParityGroup::new(Parity::RaidDp, 6, 16_384).unwrap();
    WriteAnywhere::new(WriteAnywhereConfig { processor, ..config(group) }).unwrap()
}

fn raid5(processor: ProcessorCosts) -> InPlace<()> {
    let layout = Raid5Layout::new(5, 64 << 10, 1 << 20, 64 << 20).unwrap();
    InPlace::new(InPlaceConfig {
        destage_low_sectors: 400,
        processor,
        ..InPlaceConfig::new(
            vec![DiskGroupConfig::new(LunLayout::from(layout), 16)],
            vec![LunConfig::whole(FILE_SECTORS)],
            1 << 17,
            4_096,
        )
    })
    .unwrap()
}

#[test]
fn all_that_write_back_costs_is_counted_and_slows_a_busy_processor() {
    let free = run(write_anywhere(COSTS), 50, 32, 3);
    let costs = ProcessorCosts { write_back: WRITE_BACK, ..COSTS };
    let costly = run(write_anywhere(costs), 50, 32, 3);
    let counters = costly.counters;
    assert_eq!(free.counters.allocated_blocks, 0);
    assert!(counters.allocated_blocks >= counters.consistency_point_blocks * 9 / 10);
    assert!(counters.changed_metadata_blocks > 0 && counters.freed_blocks > 0);
    // Of six data blocks in a stripe, five are XORed into each of two parities.
    let full_stripes = counters.full_stripes as f64 * 10.0 * 8.0;
    assert!(counters.parity_sectors as f64 >= full_stripes, "{counters:?}");
    assert!(costly.operations < free.operations, "{} {}", costly.operations, free.operations);
}

#[test]
fn parity_costs_an_array_in_place_two_passes_over_what_it_writes_back() {
    let free = run(raid5(COSTS), 0, 32, 2);
    let costs = ProcessorCosts { write_back: WRITE_BACK, ..COSTS };
    let costly = run(raid5(costs), 0, 32, 2);
    assert_eq!(free.counters.parity_sectors, 0);
    let counters = costly.counters;
    let per_destage = counters.parity_sectors as f64 / counters.destages as f64;
    assert!(per_destage > 15.5 && per_destage < 20.0, "{per_destage} sectors");
    assert_eq!(counters.allocated_blocks + counters.freed_blocks, 0);
}

/// Full stripes read nothing, and their parity still has to be computed: of four data units, three are XORed into the
/// fourth.
#[test]
fn parity_of_full_stripes_costs_what_is_xored_into_it() {
    let line = AccessLine {
        bytes: 256 << 10,
        percent_of_accesses: 100,
        read_percent: 0,
        random_percent: 0,
    };
    let mix = AccessSpecification::new("256 KiB", vec![line], 4_096).unwrap();
    let stream = AccessStream::new(&mix, 0, FILE_SECTORS, 5).unwrap();
    let costs = ProcessorCosts { write_back: WRITE_BACK, ..COSTS };
    let mut simulation = Simulation::new(raid5(costs), &spindles(), stream, 4).unwrap();
    let mut counters = None;
    for _ in 0..3 {
        let go_on = &mut |_| ControlFlow::Continue(());
        let segment = simulation.run_segment(5 * SECOND_NS, go_on).unwrap();
        assert!(segment.laws.hold(), "{:?}", segment.laws);
        counters = Some(segment.counters);
    }
    let counters = counters.unwrap();
    assert!(counters.full_stripe_destages > 10, "{counters:?}");
    let unit_sectors = 128;
    assert_eq!(counters.parity_sectors, counters.full_stripe_destages * 3 * unit_sectors);
}

#[test]
fn scans_and_paced_frees_obey_the_laws() {
    let scan = BackgroundScan {
        blocks_per_second: 500,
        begins_ns: 0,
        ends_ns: 7 * SECOND_NS,
        ..BackgroundScan::default()
    };
    let work = BackgroundWork { reclaim_interval_ns: SECOND_NS, scan: Some(scan) };
    let array = write_anywhere(ProcessorCosts { write_back: WRITE_BACK, ..COSTS });
    let array = array.with_background(work).with_read_gap_aggregation(8);
    let stream = accesses(50);
    let mut simulation = Simulation::new(array, &spindles(), stream, 32).unwrap();
    let mut scanned = Vec::new();
    for _ in 0..3 {
        let go_on = &mut |_| ControlFlow::Continue(());
        let segment = simulation.run_segment(5 * SECOND_NS, go_on).unwrap();
        assert!(segment.laws.hold(), "{:?}", segment.laws);
        assert!(segment.counters.paced_regions > 0);
        scanned.push(segment.counters.map_scan_hits + segment.counters.map_scan_reads);
    }
    // Turns that are skipped because reads are out look at nothing.
    assert!(scanned[0] > 1_000 && scanned[0] <= 2_500, "{scanned:?}");
    assert!(scanned[1] > 400 && scanned[1] <= 1_001 && scanned[2] == 0, "{scanned:?}");
}

#[test]
fn an_interrupt_is_shared_by_commands_that_complete_together() {
    let with = |interrupt_ns, outstanding| {
        let rest_ns = COSTS.spindle_command_ns - interrupt_ns;
        let costs = ProcessorCosts { spindle_command_ns: rest_ns, interrupt_ns, ..COSTS };
        run(write_anywhere(costs), 100, outstanding, 2)
    };
    // One operation at a time: nothing completes together with anything, and the cost is what it was.
    let (whole, divided) = (with(0, 1), with(200_000, 1));
    let busy_ns = |segment: &Segment| segment.processor_busy_ns as f64 / segment.operations as f64;
    assert!((busy_ns(&divided) / busy_ns(&whole) - 1.0).abs() < 0.01);
    // Many: the processor takes several at once.
    let (whole, divided) = (with(0, 64), with(200_000, 64));
    assert!(
        busy_ns(&divided) < 0.97 * busy_ns(&whole),
        "{} {}",
        busy_ns(&divided),
        busy_ns(&whole)
    );
    // But it does no less than all commands without their interrupts.
    assert!(busy_ns(&divided) > 0.5 * busy_ns(&whole));
}

#[test]
fn parity_may_have_a_domain_of_its_own_and_is_otherwise_where_commands_are() {
    use ProcessorWork::{Command, Operation, Parity as Xor};
    let write_back = WriteBackCosts { parity_sector_ps: 10_000_000, ..WriteBackCosts::NONE };
    let measured = |serial_domains: Vec<Vec<ProcessorWork>>| {
        let array = write_anywhere(ProcessorCosts { write_back, ..COSTS });
        let mut machine = Machine::new(ClosedLoop::new(accesses(20), 32));
        let cores = ProcessorCores { cores: 2, serial_domains };
        machine.add_controller(array, &spindles(), &cores).unwrap();
        let port = machine.add_port(direct());
        machine.add_lun(machine.controllers().next().unwrap(), LunId(0), port);
        segment(&mut machine, 5);
        segment(&mut machine, 5)
    };
    let together = measured(vec![vec![Operation, Command]]);
    let apart = measured(vec![vec![Operation, Command], vec![Xor]]);
    let cores = of_machine(&apart).controllers[0].cores.clone().unwrap();
    assert!(cores.serial_domains_ns[1] > SECOND_NS / 10, "{cores:?}");
    assert!(apart.operations > together.operations * 11 / 10);
}
