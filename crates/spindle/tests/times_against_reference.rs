//! Response times and throughput against DiskSim 4.0, caches off.
#![allow(clippy::unwrap_used, dead_code)]

mod reference;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use reference::{ClosedLoopRow, TraceRow, cheetah, closed_loop, trace};
use strewn_spindle::{Command, MAX_DEPTH, Operation, Scheduler, SimulatedSpindle};

/// Response times in milliseconds of a trace, in its order.
fn replay_ms(rows: &[TraceRow], scheduler: Scheduler) -> Vec<f64> {
    let mut spindle = SimulatedSpindle::new(cheetah(), scheduler, MAX_DEPTH).unwrap();
    let mut response_ms = vec![0.0; rows.len()];
    let mut record = |done: strewn_spindle::Completion<usize>| {
        response_ms[done.tag] = (done.at_ns - done.arrived_ns) as f64 / 1e6;
    };
    for (tag, row) in rows.iter().enumerate() {
        while spindle.next_completion_ns() <= row.arrival_ns {
            record(spindle.complete().unwrap());
        }
        spindle.submit(row.arrival_ns, row.command, tag).unwrap();
    }
    while let Some(done) = spindle.complete() {
        record(done);
    }
    response_ms
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The share of requests that end at the same angle as in the reference, within 1/100 revolution.
///
/// Angles are compared because a request that waited for another is late by whole turns. The
/// reference's platter slips against its own clock, by 2 to 50 µs in a thousand requests, more for
/// long ones; what the requests near by share is taken off as that slip.
fn same_instant(ours_ms: &[f64], reference_ms: &[f64]) -> f64 {
    const NEAR: usize = 50;
    let revolution_ms = cheetah().rotation().revolution_ms();
    let wrap = |turns: f64| turns - turns.round();
    let off_rev: Vec<f64> = ours_ms
        .iter()
        .zip(reference_ms)
        .map(|(ours, reference)| wrap((ours - reference) / revolution_ms))
        .collect();
    let same = |(index, off): (usize, &f64)| {
        let near = index.saturating_sub(NEAR)..(index + NEAR).min(off_rev.len());
        let mut near = off_rev[near].to_vec();
        near.sort_by(f64::total_cmp);
        wrap(off - near[near.len() / 2]).abs() < 0.01
    };
    let count = off_rev.iter().enumerate().filter(|&item| same(item)).count();
    count as f64 / off_rev.len() as f64
}

#[test]
fn traces_take_the_time_they_take_in_the_reference() {
    println!("trace                        rule  reference ms   ours ms  off %  same instant %");
    for (name, scheduler, bound) in [
        ("rand4k_read_100ps", Scheduler::Fcfs, Some(0.01)),
        ("rand4k_read_100ps", Scheduler::Sptf, Some(0.01)),
        ("mixed_80r20w_100ps", Scheduler::Fcfs, Some(0.01)),
        ("mixed_80r20w_100ps", Scheduler::Sptf, None),
        ("burst32_rand4k_read", Scheduler::Fcfs, Some(0.01)),
        ("burst32_rand4k_read", Scheduler::Sptf, Some(0.01)),
        ("seqstreams_3r1w_64k_100ps", Scheduler::Fcfs, None),
        ("seqstreams_3r1w_64k_100ps", Scheduler::Sptf, None),
    ] {
        let Some(rows) = trace(name) else { return };
        let reference_ms: Vec<f64> = rows
            .iter()
            .map(|row| if scheduler == Scheduler::Fcfs { row.fcfs_ms } else { row.sptf_ms })
            .collect();
        let ours_ms = replay_ms(&rows, scheduler);
        let off = mean(&ours_ms) / mean(&reference_ms) - 1.0;
        let same = same_instant(&ours_ms, &reference_ms);
        println!(
            "{name:28} {:4} {:13.4} {:9.4} {:6.2} {:14.1}",
            scheduler.to_string(),
            mean(&reference_ms),
            mean(&ours_ms),
            100.0 * off,
            100.0 * same
        );
        if let Some(bound) = bound {
            assert!(off.abs() < bound, "{name} {scheduler} is off by {:.2} %", 100.0 * off);
        }
    }
}

/// Commands a second with `outstanding` 4 KiB commands at random in the first `sectors`.
fn closed_loop_per_second(
    scheduler: Scheduler,
    operation: Operation,
    outstanding: u32,
    sectors: u64,
) -> f64 {
    const WARM_UP: u32 = 1000;
    const MEASURED: u32 = 100_000;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(0x5eed);
    let mut spindle = SimulatedSpindle::new(cheetah(), scheduler, MAX_DEPTH).unwrap();
    let mut command =
        || Command { lba: random.next_u64() % (sectors / 8) * 8, sectors: 8, operation };
    for _ in 0..outstanding {
        spindle.submit(0, command(), ()).unwrap();
    }
    let mut from_ns = 0;
    for done in 0..WARM_UP + MEASURED {
        let completion = spindle.complete().unwrap();
        if done + 1 == WARM_UP {
            from_ns = completion.at_ns;
        }
        spindle.submit(completion.at_ns, command(), ()).unwrap();
    }
    let last_ns = spindle.complete().unwrap().at_ns;
    f64::from(MEASURED + 1) * 1e9 / (last_ns - from_ns) as f64
}

fn bound(row: &ClosedLoopRow) -> Option<f64> {
    // Write SPTF in the reference misses the rotation it planned, which is no target.
    let blind = row.operation == Operation::Write && row.scheduler == "SPTF_OPT";
    (!blind).then_some(0.02)
}

#[test]
fn closed_loops_reach_the_throughput_of_the_reference() {
    let Some(rows) = closed_loop() else { return };
    let capacity_sectors = cheetah().capacity_sectors();
    println!("region  op     rule  outstanding  reference/s    ours/s  off %");
    let mut misses = Vec::new();
    for row in &rows {
        let scheduler = match row.scheduler.as_str() {
            "FCFS" => Scheduler::Fcfs,
            "SPTF_OPT" => Scheduler::Sptf,
            _ => continue,
        };
        let sectors = if row.region == "low5" { capacity_sectors / 20 } else { capacity_sectors };
        let ours = closed_loop_per_second(scheduler, row.operation, row.outstanding, sectors);
        let off = ours / row.per_second - 1.0;
        let line = format!(
            "{:7} {:5} {:5} {:12} {:12.2} {:9.2} {:6.2}",
            row.region,
            format!("{:?}", row.operation),
            scheduler.to_string(),
            row.outstanding,
            row.per_second,
            ours,
            100.0 * off
        );
        println!("{line}");
        if bound(row).is_some_and(|bound| off.abs() > bound) {
            misses.push(line);
        }
    }
    assert!(misses.is_empty(), "more than 2 % off:\n{}", misses.join("\n"));
}
