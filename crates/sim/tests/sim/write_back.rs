//! Write-back beside the host: its share of the processor, and where it puts a file.

use std::ops::ControlFlow;
use std::sync::Arc;

use strewn_alloc::Chunks;
use strewn_array::write_anywhere::{VolumeConfig, WriteAnywhere, WriteAnywhereConfig};
use strewn_array::{LogSize, ProcessorCosts};
use strewn_raid::{Parity, ParityGroup};
use strewn_sim::{Segment, Simulation, Spindles};
use strewn_spindle::{Drive, Profile, Scheduler};
use strewn_workload::{AccessLine, AccessSpecification, AccessStream};

const SECOND_NS: u64 = 1_000_000_000;
const FILE_BLOCKS: u32 = 1 << 18;

/// A group of 18 data spindles behind a processor that 64 KiB operations keep busy.
fn array(write_back_percent: u8, chunks: Chunks) -> WriteAnywhere<()> {
    WriteAnywhere::new(WriteAnywhereConfig {
        protected_blocks: 1 << 16,
        dirty_limit_blocks: 1 << 15,
        delayed_free_blocks: 1 << 16,
        chunks,
        processor: ProcessorCosts {
            host_operation_ns: 66_000,
            spindle_command_ns: 109_000,
            per_sector_ps: 250_000,
            write_back_percent,
            write_back: strewn_array::WriteBackCosts::NONE,
            interrupt_ns: 0,
        },
        ..WriteAnywhereConfig::new(
            vec![ParityGroup::new(Parity::RaidDp, 18, 1 << 20).unwrap()],
            vec![VolumeConfig::of_one_lun(1 << 20, FILE_BLOCKS)],
            LogSize { half_bytes: 64 << 20, record_header_bytes: 160 },
            1 << 17,
        )
    })
    .unwrap()
}

/// One segment of aligned 64 KiB accesses to the whole file.
fn run(array: WriteAnywhere<()>, line: AccessLine, outstanding: u32, seconds: u64) -> Segment {
    let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc").unwrap();
    let spindles = Spindles::new(Arc::new(Drive::new(&profile).unwrap()), Scheduler::Sptf, 8);
    let specification = AccessSpecification::new("64 KiB", vec![line], line.bytes).unwrap();
    let stream = AccessStream::new(&specification, 0, u64::from(FILE_BLOCKS) * 8, 1).unwrap();
    let mut simulation = Simulation::new(array, &spindles, stream, outstanding).unwrap();
    let length_ns = seconds * SECOND_NS;
    let segment = simulation.run_segment(length_ns, &mut |_| ControlFlow::Continue(())).unwrap();
    assert!(segment.laws.hold(), "{:?}", segment.laws);
    segment
}

const SEQUENTIAL_WRITES: AccessLine =
    AccessLine { bytes: 65_536, percent_of_accesses: 100, read_percent: 0, random_percent: 0 };
const RANDOM_READS: AccessLine =
    AccessLine { bytes: 65_536, percent_of_accesses: 100, read_percent: 100, random_percent: 100 };

/// With many operations outstanding, a consistency point's commands wait behind all of them in a processor that serves
/// in order; the log fills meanwhile, and writes wait. With its share, more outstanding operations cost no throughput.
#[test]
fn more_outstanding_writes_cost_no_throughput_if_write_back_has_its_share() {
    let operations = |write_back_percent, outstanding| {
        let array = array(write_back_percent, Chunks::Aligned);
        run(array, SEQUENTIAL_WRITES, outstanding, 20).operations as f64
    };
    let (shallow, deep) = (operations(50, 16), operations(50, 150));
    assert!(deep > 0.98 * shallow, "{shallow} operations 16 deep, {deep} 150 deep");
    let in_order = operations(0, 150);
    assert!(in_order < 0.95 * shallow, "{in_order} operations in order of arrival");
}

/// A chunk of a fresh file begins at a multiple of a chunk in the file, so an aligned 64 KiB read is one command.
/// Directly behind the superblock, chunks are out of step, and one aligned read in four is two commands.
#[test]
fn an_aligned_read_of_a_fresh_file_is_one_command() {
    let commands_per_operation = |chunks| {
        let segment = run(array(50, chunks), RANDOM_READS, 16, 20);
        segment.counters.data_reads as f64 / segment.operations as f64
    };
    let (aligned, packed) =
        (commands_per_operation(Chunks::Aligned), commands_per_operation(Chunks::Packed));
    // Less those that hit the cache, which are the same reads in both.
    assert!(aligned <= 1.0, "{aligned} commands a read");
    assert!((packed / aligned - 1.25).abs() < 0.02, "{packed} and {aligned} commands a read");
}
