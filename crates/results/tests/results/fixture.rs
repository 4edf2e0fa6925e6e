//! Results of the kind that a run of the first scenario gives. The published figures are real, the
//! simulated ones are invented.

use strewn_raid::ProtectionLevel;
use strewn_results::*;

/// The published figures, in the form of a scenario's `.published.toml`.
pub const PUBLISHED: &str = r#"# Published figures of "Making Sense of WAFL Part 4".
title = "Making Sense of WAFL Part 4"
author = "Karl Dohm, HP"
year = 2008

[[array]]
name = "FAS2050"
# 14 segments of 20 minutes
iops = [4864, 4494, 4296, 4141, 4014, 3896, 3812, 3714, 3676, 3616, 3576, 3533, 3499, 3449]
mib_per_s = [52.7, 48.6, 46.5, 44.8, 43.4, 42.2, 41.2, 40.2, 39.8, 39.1, 38.7, 38.2, 37.9, 37.3]
response_ms = [30.8, 33.4, 34.9, 36.2, 37.3, 38.5, 39.3, 40.4, 40.8, 41.5, 41.9, 42.4, 42.9, 43.5]

[[array]]
name = "EVA4400"
steady_iops = 5983
steady_iops_range = [5968, 5998]
steady_mib_per_s = 64.0
steady_response_ms = 30.0

[[ratio]]
name = "unfragmented"
of = "FAS2050"
over = "EVA4400"
segment = 1
percent = 81.0

[[ratio]]
name = "after 14 segments"
of = "FAS2050"
over = "EVA4400"
segment = 14
percent = 58.0
"#;

const FAS_IOPS: [u32; 14] =
    [4940, 4556, 4298, 4116, 3979, 3873, 3790, 3720, 3667, 3622, 3584, 3553, 3529, 3507];
const EVA_IOPS: [u32; 14] =
    [5987, 5991, 5985, 5990, 5988, 5993, 5986, 5984, 5992, 5989, 5987, 5991, 5986, 5988];

/// Mean bytes of an operation of the file server mix, in MiB.
const MIB_PER_OP: f64 = 11_345.92 / 1_048_576.0;

fn segment(index: u32, iops: u32, outstanding: u32, commands_per_op: f64) -> Segment {
    let iops_exact = f64::from(iops);
    let mean_ms = 1000.0 * f64::from(outstanding) / iops_exact;
    let ops = u64::from(iops) * 1200;
    Segment {
        index,
        phase: None,
        refused: None,
        seconds: 1200.0,
        ops,
        iops: iops_exact,
        mib_per_s: iops_exact * MIB_PER_OP,
        response_ms: ResponseTime {
            mean: mean_ms,
            p50: mean_ms * 0.9,
            p95: mean_ms * 2.1,
            p99: mean_ms * 2.9,
            max: mean_ms * 7.0,
        },
        utilization: Utilization { controller: 0.987, spindles: 0.812, parity_spindles: None },
        spindle_commands: SpindleCommands {
            read: (ops as f64 * commands_per_op).round() as u64,
            write: ops / 10,
            reads_per_host_op: commands_per_op,
            mean_queue_depth: 9.4,
            mean_service_ms: 2.71,
            ..SpindleCommands::default()
        },
        cache: Cache { hit_percent: 24.4, ..Cache::default() },
        layout: SegmentLayout { score: 1.0, span_percent: 4.6, ..SegmentLayout::default() },
        free_space: None,
        consistency_points: None,
        stripe_destages: None,
        checks: Checks { littles_law_error_percent: 0.01, utilization_law_error_percent: -0.02 },
        groups: Vec::new(),
        redundancy: None,
        housekeeping: None,
        snapshots: None,
        volumes: Vec::new(),
        machine: None,
        page_cache: None,
        client_raid: None,
        gateway: None,
        host: None,
        by_workload: Vec::new(),
        band: None,
        relocation: None,
        pool: None,
    }
    .rounded(SIGNIFICANT_DIGITS)
}

fn parameter(name: &str, unit: &str, value: f64, fitted_to: &[u32]) -> Parameter {
    Parameter {
        name: name.to_owned(),
        unit: unit.to_owned(),
        value,
        fitted: !fitted_to.is_empty(),
        fitted_to_segments: fitted_to.to_vec(),
        source: "docs/model.md".to_owned(),
    }
}

fn write_anywhere() -> ArrayResults {
    let segments = (1..).zip(FAS_IOPS).map(|(index, iops)| {
        let age = f64::from(index - 1) / 13.0;
        let mut segment = segment(index, iops, 150, 1.14 + 0.74 * age);
        segment.utilization.parity_spindles = Some(0.051);
        segment.layout = SegmentLayout {
            score: 0.974 - 0.45 * age,
            extents_per_gib: 4096.0 + 90_000.0 * age,
            span_percent: 4.9 + 10.0 * age,
            rewritten_percent: Some(15.0 + 69.0 * age),
        };
        segment.free_space =
            Some(FreeSpace { score: 0.99, largest_run_blocks: 31_000_000, frag_percent: None });
        segment.consistency_points = Some(ConsistencyPoints {
            count: 190,
            back_to_back: 0,
            blocks_per_cp: 28_400.5,
            full_stripe_percent: Some(100.0),
        });
        segment.rounded(SIGNIFICANT_DIGITS)
    });
    ArrayResults {
        warm_up: None,
        name: "FAS2050".to_owned(),
        layout: LayoutKind::WRITE_ANYWHERE,
        outstanding: 150,
        load: None,
        lun_bytes: None,
        spindles: Spindles { data: 18, parity: 2, spare: 2, root: 3, purchased: 25 },
        parameters: vec![
            parameter("processor.host_operation", "us", 76.0, &[1, 2]),
            parameter("processor.spindle_command", "us", 110.0, &[1, 2]),
            parameter("processor.per_kib", "us", 0.5, &[]),
        ],
        segments: segments.collect(),
        ended: false,
        parity_groups: Vec::new(),
        phases: Vec::new(),
        failures: Vec::new(),
        data_loss: None,
    }
}

fn in_place() -> ArrayResults {
    ArrayResults {
        warm_up: None,
        name: "EVA4400".to_owned(),
        layout: LayoutKind::IN_PLACE,
        outstanding: 170,
        load: None,
        lun_bytes: None,
        spindles: Spindles { data: 20, parity: 0, spare: 0, root: 0, purchased: 20 },
        parameters: vec![parameter("in_place.destages_per_spindle", "", 4.0, &[1])],
        segments: (1..)
            .zip(EVA_IOPS)
            .map(|(index, iops)| segment(index, iops, 170, 1.53))
            .collect(),
        ended: false,
        parity_groups: Vec::new(),
        phases: Vec::new(),
        failures: Vec::new(),
        data_loss: None,
    }
}

/// Returns the arrays as the overhead rules see them, with the IOPS that the source printed.
pub fn overhead_arrays() -> [OverheadArray; 2] {
    // 286,749,488 sectors of 512 bytes: 146.8 GB, 136.7 GiB.
    let capacity_per_spindle_bytes = 286_749_488 * 512;
    [
        OverheadArray {
            name: "FAS2050".to_owned(),
            layout: LayoutKind::WRITE_ANYWHERE,
            data_spindles: 18,
            parity_spindles: 2,
            iops_fresh: 4864.0,
            iops_end: 3449.0,
            capacity_per_spindle_bytes,
            capacity: CapacityRule::WriteAnywhere {
                right_sized_bytes: 136_000 * 1_048_576,
                reserve_percent: 10.0,
            },
        },
        OverheadArray {
            name: "EVA4400".to_owned(),
            layout: LayoutKind::IN_PLACE,
            data_spindles: 20,
            parity_spindles: 0,
            iops_fresh: 5983.0,
            iops_end: 5983.0,
            capacity_per_spindle_bytes,
            capacity: CapacityRule::InPlace(vec![DiskGroupCapacity::Vraid5 { spindles: 20 }]),
        },
    ]
}

/// Returns the configurations that the source and its comments discuss.
pub fn overhead_configurations() -> Vec<OverheadConfiguration> {
    let fas = |name: &str, source: &str, spare, root| OverheadConfiguration {
        array: "FAS2050".to_owned(),
        name: name.to_owned(),
        source: source.to_owned(),
        spare,
        root,
        protection_level: None,
        used_by_results: spare + root == 5,
    };
    let eva = |name: &str, level| OverheadConfiguration {
        array: "EVA4400".to_owned(),
        name: name.to_owned(),
        source: "reserve rule".to_owned(),
        spare: 0,
        root: 0,
        protection_level: Some(level),
        used_by_results: level == ProtectionLevel::Single,
    };
    vec![
        fas("20: working spindles alone", "lower bound", 0, 0),
        fas("21: root in the data aggregate, one global spare", "comment of 2008-12-08", 1, 0),
        fas("22: root in the data aggregate, a spare a side", "comment of 2008-12-18", 2, 0),
        fas(
            "23: RAID-4 root of 2, one global spare",
            "comments of 2008-12-08 and 2009-07-28",
            1,
            2,
        ),
        fas("25: RAID-DP root of 3 for the b side, a spare a side", "the source", 2, 3),
        fas(
            "28: what the test used, a RAID-DP root of 3 a side",
            "the source, comment of 2008-12-19",
            2,
            6,
        ),
        eva("20: protection level none", ProtectionLevel::None),
        eva("20: protection level single", ProtectionLevel::Single),
        eva("20: protection level double", ProtectionLevel::Double),
    ]
}

/// Returns the published figures, parsed.
pub fn published() -> Published {
    Published::from_toml(PUBLISHED, "wafl-4.published.toml").unwrap()
}

/// Returns a whole run of two arrays and 14 segments, compared with the published figures.
pub fn results() -> Results {
    let arrays = vec![write_anywhere(), in_place()];
    let fitted = fitted_segments_by_array(&arrays);
    let mut overhead_arrays = overhead_arrays();
    for (overhead_array, array) in overhead_arrays.iter_mut().zip(&arrays) {
        overhead_array.iops_fresh = array.segments.first().unwrap().iops;
        overhead_array.iops_end = array.segments.last().unwrap().iops;
    }
    Results {
        real_spindles: None,
        title: None,
        settings: Default::default(),
        setting_sources: Default::default(),
        schema: SCHEMA,
        scenario: "making-sense-of-wafl-4".to_owned(),
        seed: 1,
        strewn: "0.1.0".to_owned(),
        wall_seconds: 41.2,
        host_ops: arrays.iter().flat_map(|array| &array.segments).map(|segment| segment.ops).sum(),
        partial: false,
        scaled: None,
        load: None,
        workload: None,
        published: compare(&published(), &arrays, &fitted),
        ratios: ratios(&published(), &arrays, &fitted),
        published_rows: Vec::new(),
        fitted_settings: Vec::new(),
        overhead: overhead(&overhead_arrays, &overhead_configurations(), 1000.0).unwrap(),
        losses: vec![],
        findings: Vec::new(),
        bands: None,
        arrays,
    }
}
