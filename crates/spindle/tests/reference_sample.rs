//! A few hundred response times of the reference simulator, which come with the crate.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use strewn_spindle::{
    Arrival, Command, Direction, Drive, Profile, Scheduler, SimulatedSpindle, replay,
};

struct Row {
    arrival: Arrival,
    off_fcfs_ms: f64,
    off_sptf_ms: f64,
    on_fcfs_ms: f64,
}

fn rows(trace: &str) -> Vec<Row> {
    let lines = include_str!("reference_sample.csv").lines();
    let fields = lines.map(|line| line.split(',').collect::<Vec<_>>());
    fields
        .filter(|fields| fields[0] == trace)
        .map(|fields| Row {
            arrival: Arrival {
                at_ns: (fields[1].parse::<f64>().unwrap() * 1e6).round() as u64,
                command: Command {
                    lba: fields[2].parse().unwrap(),
                    sectors: fields[3].parse().unwrap(),
                    direction: if fields[4] == "R" { Direction::Read } else { Direction::Write },
                },
            },
            off_fcfs_ms: fields[5].parse().unwrap(),
            off_sptf_ms: fields[6].parse().unwrap(),
            on_fcfs_ms: fields[7].parse().unwrap(),
        })
        .collect()
}

fn replayed_ms(rows: &[Row], scheduler: Scheduler, cached: bool) -> Vec<f64> {
    let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc").unwrap();
    let drive = Arc::new(Drive::new(&profile).unwrap());
    let new = if cached { SimulatedSpindle::with_cache } else { SimulatedSpindle::new };
    let mut spindle = new(drive, scheduler, 256).unwrap();
    let arrivals: Vec<Arrival> = rows.iter().map(|row| row.arrival).collect();
    replay(&mut spindle, &arrivals).unwrap().iter().map(|&ns| ns as f64 / 1e6).collect()
}

/// Requests whose response is within `ms` of the reference's.
fn close(ours_ms: &[f64], reference_ms: &[f64], ms: f64) -> usize {
    ours_ms.iter().zip(reference_ms).filter(|(ours, other)| (*ours - *other).abs() < ms).count()
}

/// The reference's platter slips by up to 60 ns a request, 8 µs in a sample.
const SLIP_MS: f64 = 0.02;

#[test]
fn fcfs_answers_each_request_when_the_reference_does() {
    for (trace, at_least) in [
        ("rand4k_read_100ps", 128),
        ("burst32_rand4k_read", 128),
        ("mixed_80r20w_100ps", 128),
        ("seqstreams_3r1w_64k_100ps", 128),
    ] {
        let rows = rows(trace);
        let reference_ms: Vec<f64> = rows.iter().map(|row| row.off_fcfs_ms).collect();
        let close = close(&replayed_ms(&rows, Scheduler::Fcfs, false), &reference_ms, SLIP_MS);
        println!("{trace} fcfs: {close} of {} within {SLIP_MS} ms", rows.len());
        assert!(close >= at_least, "{trace}: {close} of {}", rows.len());
    }
}

#[test]
fn sptf_makes_the_choices_of_the_reference() {
    for (trace, at_least) in [("rand4k_read_100ps", 128), ("burst32_rand4k_read", 128)] {
        let rows = rows(trace);
        let reference_ms: Vec<f64> = rows.iter().map(|row| row.off_sptf_ms).collect();
        let close = close(&replayed_ms(&rows, Scheduler::Sptf, false), &reference_ms, SLIP_MS);
        println!("{trace} sptf: {close} of {} within {SLIP_MS} ms", rows.len());
        assert!(close >= at_least, "{trace}: {close} of {}", rows.len());
    }
}

#[test]
fn the_cache_finds_what_the_reference_finds() {
    for (trace, at_least) in [
        ("rand4k_read_100ps", 128),
        ("burst32_rand4k_read", 128),
        ("mixed_80r20w_100ps", 128),
        ("seqstreams_3r1w_64k_100ps", 128),
    ] {
        let rows = rows(trace);
        let reference_ms: Vec<f64> = rows.iter().map(|row| row.on_fcfs_ms).collect();
        let close = close(&replayed_ms(&rows, Scheduler::Fcfs, true), &reference_ms, SLIP_MS);
        println!("{trace} cached: {close} of {} within {SLIP_MS} ms", rows.len());
        assert!(close >= at_least, "{trace}: {close} of {}", rows.len());
    }
}
