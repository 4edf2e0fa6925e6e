//! An in-place array of two disk groups: what they share, and what each has to itself.

use strewn_alloc::GroupIndex;
use strewn_array::in_place::{DiskGroupConfig, InPlace, InPlaceConfig, LunConfig};
use strewn_array::{LunId, ProcessorCosts, Rebuild};
use strewn_raid::{SpindleIndex, VraidConfig, VraidLayout};
use strewn_sim::{Segment, Simulation, Spindles, Worker, Workers};
use strewn_spindle::Scheduler;
use strewn_workload::{AccessLine, AccessSpecification, Pattern, PatternStream};

use crate::failures::{SECOND_NS, drive, segment};

const FILES_SECTORS: u64 = 1 << 22;
const LOG_SECTORS: u64 = 1 << 19;

/// Six spindles, and six more; the files lie on the first, the log in `group_of_log`.
fn array(group_of_log: u16) -> InPlace<()> {
    let spindle_sectors = drive().capacity_sectors();
    let rebuild = Rebuild { spares: 1, steps_in_flight: 4 };
    let group = |spindles| {
        let layout = VraidLayout::new(VraidConfig::new(vec![spindles]), spindle_sectors * 512);
        DiskGroupConfig::new(layout.unwrap(), 8).with_rebuild(rebuild)
    };
    let log = LunConfig { group: GroupIndex(group_of_log), ..LunConfig::whole(LOG_SECTORS) };
    InPlace::new(InPlaceConfig {
        destage_low_sectors: 1_024,
        processor: ProcessorCosts { host_operation_ns: 20_000, ..ProcessorCosts::default() },
        ..InPlaceConfig::new(
            vec![group(6), group(6)],
            vec![LunConfig::whole(FILES_SECTORS), log],
            spindle_sectors,
            1 << 19,
        )
    })
    .unwrap()
}

/// Accesses of one size, 80 % of them reads, to a whole LUN.
fn worker(lun: u16, name: &str, bytes: u32, random_percent: u8, outstanding: u32) -> Worker {
    let line = AccessLine { bytes, percent_of_accesses: 100, read_percent: 80, random_percent };
    let accesses = AccessSpecification::new(name, vec![line], 4_096).unwrap();
    let sectors = [FILES_SECTORS, LOG_SECTORS][usize::from(lun)];
    let stream = PatternStream::new(&Pattern::from(&accesses), 0, sectors, lun.into()).unwrap();
    let workload = Some(name.into());
    Worker { lun: LunId(lun), workload, ..Worker::closed_loop(Box::new(stream), outstanding) }
}

fn simulation(array: InPlace<()>, with_files: bool) -> Simulation<InPlace<()>, Workers> {
    let spindles = Spindles::new(drive(), Scheduler::Sptf, 8);
    let mut workers = vec![worker(1, "log", 65_536, 0, 1)];
    if with_files {
        workers.push(worker(0, "files", 4_096, 100, 64));
    }
    Simulation::with_host(array, &spindles, Workers::new(workers)).unwrap()
}

/// The log's mean response time. An only workload is not measured by itself.
fn log_ms(segment: &Segment) -> f64 {
    let log = segment.by_workload.iter().find(|workload| &*workload.name == "log");
    log.map_or(segment.response.mean_ns, |log| log.response.mean_ns) / 1e6
}

#[test]
fn a_log_on_a_disk_group_of_its_own_is_not_slowed_by_the_load_on_another() {
    let ms = |group_of_log, with_files| {
        let mut simulation = simulation(array(group_of_log), with_files);
        let segment = segment(&mut simulation, 20).unwrap();
        assert_eq!(segment.counters.stalled_writes, 0, "the cache has room");
        log_ms(&segment)
    };
    let (alone, beside, among) = (ms(1, false), ms(1, true), ms(0, true));
    println!("alone {alone} ms, beside {beside} ms, among {among} ms");
    assert!(beside < alone * 1.1, "beside: {beside} ms, alone: {alone} ms");
    assert!(among > alone * 3.0, "among: {among} ms, alone: {alone} ms");
}

#[test]
fn figures_by_group_are_those_of_its_spindles() {
    let mut simulation = simulation(array(1), true);
    let segment = segment(&mut simulation, 10).unwrap();
    let [first, second] = segment.groups[..] else { panic!("{:?}", segment.groups) };
    assert_eq!((first.data_spindles.spindles, first.parity_spindles.spindles), (6, 0));
    let commands = first.data_spindles.commands + second.data_spindles.commands;
    assert_eq!(commands, segment.data_spindles.commands);
    let busy =
        |group: &strewn_sim::GroupSegment| group.data_spindles.utilization(segment.length_ns);
    assert!(busy(&first) > 0.9 && busy(&second) < 0.6, "{} {}", busy(&first), busy(&second));
    assert_eq!(second.blocks - second.free_blocks.unwrap(), LOG_SECTORS / 8);
}

#[test]
fn each_group_rebuilds_its_own_spindle() {
    let mut simulation = simulation(array(1), true);
    simulation.fail_at(SECOND_NS, SpindleIndex(8));
    simulation.fail_at(SECOND_NS, SpindleIndex(2));
    let last = segment(&mut simulation, 120).unwrap();
    let failed: Vec<_> = last.failures.iter().map(|one| one.spindle.0).collect();
    assert_eq!(failed, [8, 2]);
    let [of_log, of_files] = &last.failures[..] else { panic!() };
    let log_ns = of_log.rebuilt_ns.unwrap();
    // The log is an eighth as large, and its spindles have little else to do.
    assert!(
        of_files.rebuilt_ns.is_none_or(|files_ns| files_ns > 2 * log_ns),
        "{:?}",
        last.failures
    );
    assert!(last.counters.degraded_reads > 0);
}

#[test]
fn two_spindles_of_one_group_are_one_too_many() {
    let mut simulation = simulation(array(1), true);
    for spindle in [1, 7, 9] {
        simulation.fail_at(SECOND_NS, SpindleIndex(spindle));
    }
    let lost = segment(&mut simulation, 5).unwrap_err();
    assert!(lost.to_string().contains("spindles 7 and 9 are lost together"), "{lost}");
}
