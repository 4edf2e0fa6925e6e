//! The results that `strewn-results` is tested with, and what only some results have.

#[path = "../../../results/tests/results/fixture.rs"]
mod of_results;

pub use of_results::*;
use strewn_results::*;

/// The figures of two workloads in a segment.
pub fn two_workloads() -> Vec<WorkloadFigures> {
    let workload = |name: &str, mean| WorkloadFigures {
        name: name.to_owned(),
        iops: 100.0,
        response_ms: ResponseTime { mean, ..ResponseTime::default() },
        writes: OperationFigures { ops: 120_000, ..OperationFigures::default() },
        ..WorkloadFigures::default()
    };
    vec![workload("mail", 12.0), workload("log", 2.5)]
}

/// The figures of two controllers and a link in a segment.
pub fn machine() -> MachineFigures {
    let controller = ControllerFigures { utilization: 0.62, ..ControllerFigures::default() };
    MachineFigures {
        time_in_ms: TimeIn {
            host: 0.1,
            wire: 0.23,
            front_end: 0.01,
            controller: 21.5,
            spindles: 9.2,
            outage: 0.5,
        },
        controllers: vec![controller; 2],
        links: vec![LinkFigures {
            name: "gigabit".to_owned(),
            utilization_to_host: 0.36,
            ..LinkFigures::default()
        }],
        ..MachineFigures::default()
    }
}

/// Gives an array a second parity group like its first, added when segment `from` begins.
pub fn add_group(array: &mut ArrayResults, from: u32) {
    let (data, parity) = (array.spindles.data as u16, array.spindles.parity as u16);
    array.spindles.data *= 2;
    array.spindles.parity *= 2;
    array.parity_groups = [(0, 0.0), (data + parity, 1200.0 * f64::from(from - 1))]
        .map(|(first_spindle, added_at_seconds)| ParityGroup {
            first_spindle,
            data,
            parity,
            added_at_seconds,
            class: None,
        })
        .to_vec();
    for segment in &mut array.segments {
        let both = segment.index >= from;
        let busy = |share| GroupFigures {
            spindles: Some(share),
            parity_spindles: Some(share / 10.0),
            reads: 1_000 + u64::from(segment.index),
            writes: if both { 17 } else { 400 },
            free_percent: Some(12.5),
        };
        let second = if both { busy(0.5) } else { GroupFigures::default() };
        segment.groups = vec![busy(0.8), second];
    }
}

/// Returns the description of a run on files, three segments long.
pub fn real_spindles() -> RealSpindles {
    let log =
        |segment| LogFigures { segment, ios: 1_000, written_mib_per_s: 12.5, utilization: 0.25 };
    RealSpindles {
        devices: "files".to_owned(),
        direct_io: true,
        io: "io_uring".to_owned(),
        system: "Linux 6.18 x86_64".to_owned(),
        fill: None,
        log: (1..=3).map(log).collect(),
    }
}
