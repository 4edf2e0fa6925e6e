//! Workers that follow each other: those of one phase stop when those of the next begin.

use std::ops::ControlFlow;

use strewn_sim::{Segment, Simulation, Spindles, Worker, Workers};
use strewn_spindle::Scheduler;

use crate::failures::drive;
use crate::luns::{in_place, worker};

const SECOND_NS: u64 = 1_000_000_000;
const LENGTH_NS: u64 = 2 * SECOND_NS;

/// Two segments: writes in the first, reads in the second.
fn run(measures_late: bool) -> Vec<Segment> {
    let spindles = Spindles::new(drive(), Scheduler::Sptf, 8);
    let phase = |start_delay_ns, worker| Worker {
        start_delay_ns,
        runtime_ns: Some(LENGTH_NS),
        measures_late,
        ..worker
    };
    let workers =
        vec![phase(0, worker(1, "writes", 0, 100)), phase(LENGTH_NS, worker(0, "reads", 100, 100))];
    let mut simulation =
        Simulation::with_host(in_place(), &spindles, Workers::new(workers)).unwrap();
    let mut look = |_| ControlFlow::Continue(());
    let segments: Vec<Segment> =
        (0..2).map(|_| simulation.run_segment(LENGTH_NS, &mut look).unwrap()).collect();
    assert!(segments.iter().all(|segment| segment.laws.hold()), "{segments:?}");
    // No time is left for anything but the answers to what is under way.
    simulation.run_segment(LENGTH_NS, &mut look).unwrap();
    assert!(simulation.is_done());
    segments
}

/// Answered reads and writes.
fn answered(segment: &Segment) -> [u64; 2] {
    let [reads, writes] = &**segment.by_direction.as_ref().unwrap();
    [reads.answered.count, writes.answered.count]
}

#[test]
fn what_a_phase_leaves_outstanding_is_not_measured_in_the_next() {
    let segments = run(false);
    let [reads, writes] = answered(&segments[0]);
    assert!(reads == 0 && writes > 1_000, "{reads} {writes}");
    let [reads, writes] = answered(&segments[1]);
    assert!(reads > 100 && writes == 0, "{reads} {writes}");
    assert_eq!(segments[1].operations, reads);
}

#[test]
fn a_job_whose_time_is_over_is_measured_to_its_last_answer() {
    let segments = run(true);
    let [_, late] = answered(&segments[1]);
    assert!((1..=4).contains(&late), "{late} of the four operations outstanding");
    assert_eq!(answered(&segments[0]), answered(&run(false)[0]));
}
