//! The agreement tables: a row for each figure that the reference has, and its bound.

use std::fmt::Write;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use strewn_spindle::{
    Arrival, Command, Direction, MAX_DEPTH, Scheduler, SimulatedSpindle, closed_loop,
    one_at_a_time, replay,
};

use crate::reference::{self, TraceRow, cheetah};

/// What is said of a row.
#[derive(Clone, Copy, PartialEq)]
enum Verdict {
    Holds,
    /// Only when the slip of the reference's platter is taken out.
    HoldsSlipOut,
    Misses,
    /// The reference is wrong here by its own account, or has another rule.
    NoTarget,
}

impl Verdict {
    fn of(holds: bool) -> Self {
        if holds { Self::Holds } else { Self::Misses }
    }

    fn of_target(target: bool, holds: bool) -> Self {
        if target { Self::of(holds) } else { Self::NoTarget }
    }
}

/// A table as printed, and the rows of it that miss their bound.
pub struct Table {
    header: &'static str,
    columns: usize,
    rows: Vec<String>,
    pub misses: Vec<String>,
}

impl Table {
    fn new(header: &'static str) -> Self {
        let columns = header.matches('|').count() - 1;
        Self { header, columns, rows: Vec::new(), misses: Vec::new() }
    }

    fn push(&mut self, mut row: String, verdict: Verdict) {
        let text = match verdict {
            Verdict::Holds => "holds",
            Verdict::HoldsSlipOut => "**misses**; slip out, holds",
            Verdict::Misses => "**misses**",
            Verdict::NoTarget => "no target",
        };
        write!(row, " {text} |").unwrap();
        if verdict == Verdict::Misses {
            self.misses.push(row.clone());
        }
        self.rows.push(row);
    }

    pub fn markdown(&self) -> String {
        let rule = "|---".repeat(self.columns);
        format!("{}\n{rule}|\n{}", self.header, self.rows.join("\n"))
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn rms_difference(ones: &[f64], others: &[f64]) -> f64 {
    let squares: Vec<f64> =
        ones.iter().zip(others).map(|(one, other)| (one - other).powi(2)).collect();
    mean(&squares).sqrt()
}

/// Response times in milliseconds of a trace, in its order.
///
/// `slip_ns` is how far the reference's platter lies behind its own clock when each request
/// arrives. The trace is replayed on a clock that falls behind as much, so that our platter, which
/// never slips, is where the reference's is.
fn replay_ms(
    rows: &[TraceRow],
    scheduler: Scheduler,
    cached: bool,
    slip_ns: impl Fn(f64) -> f64,
) -> Vec<f64> {
    let spindle = if cached { SimulatedSpindle::with_cache } else { SimulatedSpindle::new };
    let mut spindle = spindle(cheetah(), scheduler, MAX_DEPTH).unwrap();
    let arrivals: Vec<Arrival> = rows
        .iter()
        .map(|row| {
            let at_ns = row.arrival_ns as f64;
            Arrival { at_ns: (at_ns - slip_ns(at_ns)).max(0.0) as u64, command: row.command }
        })
        .collect();
    let response_ns = replay(&mut spindle, &arrivals).unwrap();
    response_ns.iter().map(|&ns| ns as f64 / 1e6).collect()
}

/// Requests whose angles are compared for one point of the slip.
const NEAR: usize = 250;

/// Times nearer than this are those of commands answered from the cache, and say nothing of where
/// the platter is.
const SAME_MS: f64 = 1e-5;

/// How far the reference's platter lies behind its clock, found from where requests that take a
/// time of their own end in both: points of (time, slip), in nanoseconds.
///
/// Such ends are compared as angles, because a request that waited for another is late by whole
/// turns.
fn slip(rows: &[TraceRow], ours_ms: &[f64], reference_ms: &[f64]) -> Vec<(f64, f64)> {
    let revolution_ms = cheetah().rotation().revolution_ms();
    let wrap = |turns: f64| turns - turns.round();
    let mut points = vec![(0.0, 0.0)];
    let mut slip_rev = 0.0;
    for near in (0..rows.len()).collect::<Vec<_>>().chunks(NEAR) {
        let mut off_rev: Vec<f64> = near
            .iter()
            .map(|&index| reference_ms[index] - ours_ms[index])
            .filter(|off_ms| off_ms.abs() > SAME_MS)
            .map(|off_ms| wrap(off_ms / revolution_ms - slip_rev))
            .collect();
        if off_rev.is_empty() {
            continue;
        }
        off_rev.sort_by(f64::total_cmp);
        slip_rev += off_rev[off_rev.len() / 2];
        let at_ns = rows[near[near.len() / 2]].arrival_ns as f64;
        points.push((at_ns, slip_rev * revolution_ms * 1e6));
    }
    points
}

/// Linear between points, and on with the last slope.
fn interpolate(points: &[(f64, f64)], at: f64) -> f64 {
    let above = points.partition_point(|&(x, _)| x <= at).clamp(1, points.len() - 1);
    let ((x0, y0), (x1, y1)) = (points[above - 1], points[above]);
    y0 + (y1 - y0) * (at - x0) / (x1 - x0)
}

/// Every trace under FCFS and SPTF, cache off and on.
pub fn traces() -> Option<Table> {
    let mut table = Table::new(
        "| trace | cache | scheduler | reference mean ms | ours ms | off % | demerit % | slip ms \
         | off %, slip out | demerit %, slip out | bound | |",
    );
    for cached in [false, true] {
        for name in [
            "rand4k_read_100ps",
            "burst32_rand4k_read",
            "mixed_80r20w_100ps",
            "seqstreams_3r1w_64k_100ps",
        ] {
            let rows = reference::trace(name)?;
            let reads_only = rows.iter().all(|row| row.command.direction == Direction::Read);
            // The slip is the platter's, whatever is asked of it; it is seen best under FCFS.
            for scheduler in [Scheduler::Fcfs, Scheduler::Sptf] {
                let fcfs = scheduler == Scheduler::Fcfs;
                let reference_ms: Vec<f64> = rows
                    .iter()
                    .map(|row| match (cached, fcfs) {
                        (false, true) => row.fcfs_ms,
                        (false, false) => row.sptf_ms,
                        (true, true) => row.cached_fcfs_ms,
                        (true, false) => row.cached_sptf_ms,
                    })
                    .collect();
                let reference_mean = mean(&reference_ms);
                let raw_ms = replay_ms(&rows, scheduler, cached, |_| 0.0);
                let mut points = slip(&rows, &raw_ms, &reference_ms);
                let mut even_ms = raw_ms.clone();
                // With the slip roughly out, what is left of it is seen better.
                for _ in 0..2 {
                    even_ms = replay_ms(&rows, scheduler, cached, |at| interpolate(&points, at));
                    let left = slip(&rows, &even_ms, &reference_ms);
                    for (point, more) in points.iter_mut().zip(left) {
                        point.1 += more.1;
                    }
                }
                let [off, even_off] = [&raw_ms, &even_ms].map(|ms| mean(ms) / reference_mean - 1.0);
                let [demerit, even_demerit] = [&raw_ms, &even_ms]
                    .map(|ms| rms_difference(ms, &reference_ms) / reference_mean);
                let (bound, verdict) = match (cached, fcfs) {
                    (true, _) => ("mean 5 %", Verdict::of(off.abs() < 0.05)),
                    (false, true) => {
                        let verdict = match (off.abs() < 0.005, demerit < 0.02, even_demerit < 0.02)
                        {
                            (true, true, _) => Verdict::Holds,
                            (true, false, true) => Verdict::HoldsSlipOut,
                            _ => Verdict::Misses,
                        };
                        ("mean 0.5 %, demerit 2 %", verdict)
                    }
                    (false, false) => {
                        ("mean 2 %, reads", Verdict::of_target(reads_only, off.abs() < 0.02))
                    }
                };
                let slip_ms = points.last().map_or(0.0, |point| point.1 / 1e6);
                table.push(
                    format!(
                        "| {name} | {} | {scheduler} | {reference_mean:.3} | {:.3} | {:+.2} | {:.2} \
                         | {slip_ms:.3} | {:+.2} | {:.2} | {bound} |",
                        if cached { "on" } else { "off" },
                        mean(&raw_ms),
                        100.0 * off,
                        100.0 * demerit,
                        100.0 * even_off,
                        100.0 * even_demerit,
                    ),
                    verdict,
                );
            }
        }
    }
    Some(table)
}

/// 4 KiB commands at random, a fixed number always outstanding, cache off.
pub fn closed_loops() -> Option<Table> {
    const WARM_UP: u32 = 1000;
    const MEASURED: u32 = 100_000;
    let mut table = Table::new(
        "| span | commands | scheduler | outstanding | reference per second | ours | off % | |",
    );
    for row in reference::closed_loop()? {
        let scheduler = match row.scheduler.as_str() {
            "FCFS" => Scheduler::Fcfs,
            "SPTF_OPT" => Scheduler::Sptf,
            "SSTF_CYL" => Scheduler::Sstf,
            _ => continue,
        };
        let capacity_sectors = cheetah().capacity_sectors();
        let sectors = if row.region == "low5" { capacity_sectors / 20 } else { capacity_sectors };
        let mut random = Xoshiro256PlusPlus::seed_from_u64(0x5eed);
        let mut spindle = SimulatedSpindle::new(cheetah(), scheduler, MAX_DEPTH).unwrap();
        let direction = row.direction;
        let command =
            || Command { lba: random.next_u64() % (sectors / 8) * 8, sectors: 8, direction };
        let ours = closed_loop(&mut spindle, row.outstanding, WARM_UP, MEASURED, command).unwrap();
        let off = ours.commands_per_second / row.per_second - 1.0;
        // Write SPTF in the reference misses the rotation it planned, which is no target; its SSTF
        // breaks ties by a rule of its own.
        let reads = direction == Direction::Read && row.scheduler != "SSTF_CYL";
        let target = reads || row.scheduler == "FCFS";
        table.push(
            format!(
                "| {} | {} | {scheduler} | {} | {:.2} | {:.2} | {:+.2} |",
                if row.region == "low5" { "lowest 5 %" } else { "whole" },
                if direction == Direction::Read { "reads" } else { "writes" },
                row.outstanding,
                row.per_second,
                ours.commands_per_second,
                100.0 * off,
            ),
            Verdict::of_target(target, off.abs() < 0.02),
        );
    }
    Some(table)
}

/// Service times of a real drive, sorted, against ours, sorted.
pub fn real_drive() -> Option<Table> {
    let rows = reference::measured()?;
    let mut spindle = SimulatedSpindle::new(cheetah(), Scheduler::Fcfs, 1).unwrap();
    let commands = rows.iter().map(|row| (row.command, row.pause_ns));
    let ours_ns = one_at_a_time(&mut spindle, commands).unwrap();
    let mut table = Table::new(
        "| commands | measured mean ms | ours ms | RMS of sorted times ms | the reference's | |",
    );
    let kinds = [
        ("all", None, 0.296),
        ("reads", Some(Direction::Read), 0.337),
        ("writes", Some(Direction::Write), 0.244),
    ];
    for (name, kind, reference_ms) in kinds {
        let (mut measured_ms, mut ours_ms): (Vec<f64>, Vec<f64>) = rows
            .iter()
            .zip(&ours_ns)
            .filter(|(row, _)| kind.is_none_or(|kind| row.command.direction == kind))
            .map(|(row, &ns)| (row.measured_ms, ns as f64 / 1e6))
            .unzip();
        measured_ms.sort_by(f64::total_cmp);
        ours_ms.sort_by(f64::total_cmp);
        let rms_ms = rms_difference(&measured_ms, &ours_ms);
        table.push(
            format!(
                "| {name} | {:.4} | {:.4} | {rms_ms:.4} | {reference_ms} |",
                mean(&measured_ms),
                mean(&ours_ms)
            ),
            Verdict::of(rms_ms < reference_ms + 0.0005),
        );
    }
    Some(table)
}
