//! Simulations held against arithmetic that is written out here, and not taken from the code that they test.
//!
//! Runs are small, seconds in all. What a test expects follows from sizes, counts and the drive's measurements alone,
//! with the steps shown; where chance decides, a model of some lines draws for itself.

mod ageing;
mod commands;
mod drive;
mod laws;
mod streams;

use std::ops::ControlFlow;
use std::sync::Arc;

use strewn_alloc::AllocationShape;
use strewn_array::in_place::{DiskGroupConfig, InPlace, InPlaceConfig, LunConfig, LunLayout};
use strewn_array::write_anywhere::{VolumeConfig, WriteAnywhere, WriteAnywhereConfig};
use strewn_array::{AnyArray, LogSize, ProcessorCosts};
use strewn_base::BLOCK_SECTORS;
use strewn_raid::{Parity, ParityGroup, VraidConfig, VraidLayout};
use strewn_sim::{Segment, Simulation, Spindles};
use strewn_spindle::{Drive, Profile, Scheduler};
use strewn_workload::{AccessLine, AccessSpecification, AccessStream};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const SECTOR: u64 = 512;
const SECOND_NS: u64 = 1_000_000_000;
const DRIVE: &str = "seagate-cheetah-15k5-st3146855fc";
const DRIVE_BYTES: u64 = 286_749_487 * SECTOR;

/// What hosts do, all of one kind.
#[derive(Clone, Copy)]
struct Load {
    bytes: u64,
    read_percent: u8,
    random_percent: u8,
    alignment_bytes: u64,
    outstanding: u32,
}

const RANDOM_READS: Load = Load {
    bytes: 4 * KIB,
    read_percent: 100,
    random_percent: 100,
    alignment_bytes: 4 * KIB,
    outstanding: 16,
};
const RANDOM_WRITES: Load = Load { read_percent: 0, ..RANDOM_READS };
const STREAM: Load = Load { bytes: 512 * KIB, random_percent: 0, ..RANDOM_WRITES };

impl Load {
    fn line(&self, percent_of_accesses: u8) -> AccessLine {
        AccessLine {
            bytes: self.bytes as u32,
            percent_of_accesses,
            read_percent: self.read_percent,
            random_percent: self.random_percent,
        }
    }
}

/// Runs a load on all of a file of `file_bytes`, in segments of so many seconds each.
fn run<A: AnyArray<()>>(array: A, load: Load, file_bytes: u64, seconds: &[u64]) -> Vec<Segment> {
    run_lines(array, vec![load.line(100)], load, file_bytes, seconds)
}

fn run_lines<A: AnyArray<()>>(
    array: A,
    lines: Vec<AccessLine>,
    load: Load,
    file_bytes: u64,
    seconds: &[u64],
) -> Vec<Segment> {
    let profile = Profile::shipped(DRIVE).unwrap();
    let spindles = Spindles::new(Arc::new(Drive::new(&profile).unwrap()), Scheduler::Sptf, 8);
    let specification =
        AccessSpecification::new("load", lines, load.alignment_bytes as u32).unwrap();
    let stream = AccessStream::new(&specification, 0, file_bytes / SECTOR, 1).unwrap();
    let mut simulation = Simulation::new(array, &spindles, stream, load.outstanding).unwrap();
    let segments = seconds.iter().map(|seconds| {
        let length_ns = seconds * SECOND_NS;
        simulation.run_segment(length_ns, &mut |_| ControlFlow::Continue(())).unwrap()
    });
    segments.collect()
}

fn last(segments: Vec<Segment>) -> Segment {
    segments.into_iter().next_back().unwrap()
}

fn per_operation(count: u64, segment: &Segment) -> f64 {
    count as f64 / segment.operations as f64
}

fn per_second(count: u64, segment: &Segment) -> f64 {
    count as f64 * SECOND_NS as f64 / segment.length_ns as f64
}

#[track_caller]
fn assert_near(what: &str, measured: f64, expected: f64, tolerance: f64) {
    let error = measured / expected - 1.0;
    println!("{what}: {measured:.4}, expected {expected:.4}, {:+.2} %", 100.0 * error);
    assert!(
        error.abs() <= tolerance,
        "{what}: {measured}, and arithmetic gives {expected}: off by {:.2} %, more than {} %",
        100.0 * error,
        100.0 * tolerance
    );
}

/// VRAID-5 over one redundancy set, as an EVA lays it out.
fn vraid_5(spindles: u16) -> LunLayout {
    let config = VraidConfig {
        redundancy_sets: vec![spindles],
        chunk_bytes: 128 * KIB,
        segment_bytes: 2 * MIB,
    };
    VraidLayout::new(config, DRIVE_BYTES).unwrap().into()
}

/// A LUN of `bytes` behind a write cache of 16 MiB, a tenth of which stays dirty.
fn in_place(layout: LunLayout, bytes: u64, processor: ProcessorCosts) -> InPlaceConfig {
    let spindles = strewn_raid::StripedLayout::spindles(&layout);
    let write_cache_sectors = 16 * MIB / SECTOR;
    InPlaceConfig {
        destage_low_sectors: write_cache_sectors / 10,
        processor,
        ..InPlaceConfig::new(
            vec![DiskGroupConfig::new(layout, 8 * u32::from(spindles))],
            vec![LunConfig::whole(bytes / SECTOR)],
            DRIVE_BYTES / SECTOR,
            write_cache_sectors,
        )
    }
}

fn array_in_place(config: InPlaceConfig) -> InPlace<()> {
    InPlace::new(config).unwrap()
}

/// A LUN of `blocks` on a group of so many data spindles with so many blocks each.
fn write_anywhere(
    (parity, data_spindles): (Parity, u16),
    blocks_per_spindle: u64,
    blocks: u32,
    processor: ProcessorCosts,
) -> WriteAnywhereConfig {
    WriteAnywhereConfig {
        protected_blocks: 1 << 13,
        dirty_limit_blocks: 1 << 13,
        delayed_free_blocks: 0,
        processor,
        ..WriteAnywhereConfig::new(
            vec![ParityGroup::new(parity, data_spindles, blocks_per_spindle).unwrap()],
            vec![VolumeConfig::of_one_lun(u64::from(blocks) * 5 / 4, blocks)],
            LogSize { half_bytes: 8 * MIB, record_header_bytes: 160 },
            1 << 14,
        )
    }
}

fn array_anywhere(config: WriteAnywhereConfig) -> WriteAnywhere<()> {
    WriteAnywhere::new(config).unwrap()
}

/// A processor that costs nothing.
pub const FREE: ProcessorCosts = ProcessorCosts {
    host_operation_ns: 0,
    spindle_command_ns: 0,
    per_sector_ps: 0,
    write_back_percent: 50,
    write_back: strewn_array::WriteBackCosts::NONE,
    interrupt_ns: 0,
};

/// The costs that are fitted to the FAS2050: 66.179 us an operation, 108.606 us a command, 0.5 us a KiB.
pub const FAS2050: ProcessorCosts = ProcessorCosts {
    host_operation_ns: 66_179,
    spindle_command_ns: 108_606,
    per_sector_ps: 250_000,
    ..FREE
};

/// The blocks in so many bytes.
fn blocks(bytes: u64) -> u32 {
    (bytes / SECTOR / BLOCK_SECTORS) as u32
}
