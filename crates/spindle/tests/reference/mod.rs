//! Reads the reference data: what DiskSim 4.0 says of the same drive. The data is not part of the
//! repository; a test that needs it passes, saying so, where it is absent.

use std::io::Read;
use std::path::PathBuf;
use std::process::Command as Process;
use std::sync::Arc;

use strewn_spindle::{Command, Direction, Drive, Profile};

/// The folder of the reference: `STREWN_REFERENCE`, or beside the repository.
pub fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("STREWN_REFERENCE").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/reference")),
        PathBuf::from,
    );
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no reference data at {}", folder.display());
    None
}

/// The drive of which the reference speaks.
pub fn cheetah() -> Arc<Drive> {
    let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc").unwrap();
    Arc::new(Drive::new(&profile).unwrap())
}

/// A row of the track list.
pub struct TrackRow {
    pub first_lba: u64,
    pub cylinder: u32,
    pub head: u32,
    pub angle_rev: f64,
}

/// Every track, or none where the data or the `xz` command is missing.
pub fn tracks() -> Option<Vec<TrackRow>> {
    let file = folder()?.join("tracks.csv.xz");
    let Ok(output) = Process::new("xz").arg("-dc").arg(&file).output() else {
        eprintln!("skipped: no xz command");
        return None;
    };
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().skip(1).map(|line| track_row(&fields(line))).collect())
}

fn track_row(fields: &[&str]) -> TrackRow {
    TrackRow {
        first_lba: fields[0].parse().unwrap(),
        cylinder: fields[1].parse().unwrap(),
        head: fields[2].parse().unwrap(),
        angle_rev: fields[5].parse().unwrap(),
    }
}

/// A request of a trace, with the response times found for it, caches off and on.
pub struct TraceRow {
    pub arrival_ns: u64,
    pub command: Command,
    pub cylinder: u32,
    pub head: u32,
    pub angle_rev: f64,
    pub fcfs_ms: f64,
    pub sptf_ms: f64,
    pub cached_fcfs_ms: f64,
    pub cached_sptf_ms: f64,
}

/// The requests of one trace.
pub fn trace(name: &str) -> Option<Vec<TraceRow>> {
    let text = trace_text(name)?;
    Some(text.lines().skip(1).map(|line| trace_row(&fields(line))).collect())
}

fn trace_text(name: &str) -> Option<String> {
    let file = std::fs::File::open(folder()?.join(format!("traces/{name}.csv.gz"))).unwrap();
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    Some(text)
}

/// A request made of a real drive.
pub struct MeasuredRow {
    pub command: Command,
    pub measured_ms: f64,
    /// From its completion to the next request.
    pub pause_ns: u64,
}

/// The requests made of a real drive, one at a time.
pub fn measured() -> Option<Vec<MeasuredRow>> {
    let text = trace_text("real_st3146855fc_random")?;
    let row = |line: &str| {
        let fields = fields(line);
        MeasuredRow {
            command: Command {
                lba: fields[1].parse().unwrap(),
                sectors: fields[2].parse().unwrap(),
                direction: direction(fields[3]),
            },
            measured_ms: fields[4].parse().unwrap(),
            pause_ns: (fields[5].parse::<f64>().unwrap() * 1e6).round() as u64,
        }
    };
    Some(text.lines().skip(1).map(row).collect())
}

fn trace_row(fields: &[&str]) -> TraceRow {
    let arrival_ms: f64 = fields[1].parse().unwrap();
    TraceRow {
        arrival_ns: (arrival_ms * 1e6).round() as u64,
        command: Command {
            lba: fields[3].parse().unwrap(),
            sectors: fields[4].parse().unwrap(),
            direction: direction(fields[5]),
        },
        cylinder: fields[6].parse().unwrap(),
        head: fields[7].parse().unwrap(),
        angle_rev: fields[9].parse().unwrap(),
        fcfs_ms: fields[10].parse().unwrap(),
        sptf_ms: fields[11].parse().unwrap(),
        cached_fcfs_ms: fields[12].parse().unwrap(),
        cached_sptf_ms: fields[13].parse().unwrap(),
    }
}

/// A row of the closed-loop table.
pub struct ClosedLoopRow {
    pub region: String,
    pub direction: Direction,
    pub scheduler: String,
    pub outstanding: u32,
    pub per_second: f64,
}

/// 4 KiB at random, a fixed number always outstanding.
pub fn closed_loop() -> Option<Vec<ClosedLoopRow>> {
    let text = std::fs::read_to_string(folder()?.join("closed_loop_4k.tsv")).unwrap();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        ClosedLoopRow {
            region: fields[0].to_owned(),
            direction: direction(fields[1]),
            scheduler: fields[2].to_owned(),
            outstanding: fields[3].parse().unwrap(),
            per_second: fields[5].parse().unwrap(),
        }
    };
    Some(text.lines().skip(1).map(row).collect())
}

fn direction(letter: &str) -> Direction {
    if letter == "R" { Direction::Read } else { Direction::Write }
}

fn fields(line: &str) -> Vec<&str> {
    line.split(',').collect()
}

/// Distance between two angles, in revolutions, the short way round.
pub fn angle_distance_rev(one: f64, other: f64) -> f64 {
    let difference = (one - other).rem_euclid(1.0);
    difference.min(1.0 - difference)
}
