//! The first 128 requests of each trace, one by one: before the slip of the reference's platter has grown enough to
//! cost a revolution, every response is the reference's.

use strewn_spindle::{Arrival, Scheduler, SimulatedSpindle, replay};

use crate::reference::{TraceRow, cheetah, trace};

const REQUESTS: usize = 128;

/// A response agrees within this: the slip of a sample's 128 requests is up to 8 µs.
const SAME_MS: f64 = 0.02;

const TRACES: [&str; 4] =
    ["rand4k_read_100ps", "burst32_rand4k_read", "mixed_80r20w_100ps", "seqstreams_3r1w_64k_100ps"];

/// Replays the first requests of `name` and checks each response against `reference_ms`.
#[track_caller]
fn check(name: &str, scheduler: Scheduler, cached: bool, reference_ms: impl Fn(&TraceRow) -> f64) {
    let rows = trace(name);
    let rows = &rows[..REQUESTS];
    let new = if cached { SimulatedSpindle::with_cache } else { SimulatedSpindle::new };
    let mut spindle = new(cheetah(), scheduler, 256).unwrap();
    let arrivals: Vec<Arrival> =
        rows.iter().map(|row| Arrival { at_ns: row.arrival_ns, command: row.command }).collect();
    let response_ns = replay(&mut spindle, &arrivals).unwrap();
    for (number, (row, ns)) in rows.iter().zip(response_ns).enumerate() {
        let (ours_ms, reference_ms) = (ns as f64 / 1e6, reference_ms(row));
        assert!(
            (ours_ms - reference_ms).abs() < SAME_MS,
            "{name}, request {number}: {ours_ms} ms, not {reference_ms} ms"
        );
    }
}

#[test]
fn fcfs_answers_each_request_when_the_reference_does() {
    for name in TRACES {
        check(name, Scheduler::Fcfs, false, |row| row.uncached_fcfs_ms);
    }
}

#[test]
fn sptf_makes_the_choices_of_the_reference() {
    for name in ["rand4k_read_100ps", "burst32_rand4k_read"] {
        check(name, Scheduler::Sptf, false, |row| row.uncached_sptf_ms);
    }
}

#[test]
fn the_cache_finds_what_the_reference_finds() {
    for name in TRACES {
        check(name, Scheduler::Fcfs, true, |row| row.cached_fcfs_ms);
    }
}
