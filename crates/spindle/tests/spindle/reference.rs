//! Reads the reference in `tests/data/reference`: the times that DiskSim 4.0 and a real drive give for the Cheetah
//! 15K.5. The README there describes the files and their terms.

use std::io::Read;
use std::path::PathBuf;
use std::sync::Arc;

use flate2::read::GzDecoder;
use strewn_spindle::{Command, Direction, Drive, Profile};

/// The drive that the reference measures.
pub fn cheetah() -> Arc<Drive> {
    let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc").unwrap();
    Arc::new(Drive::new(&profile).unwrap())
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/reference")).join(name)
}

/// The rows of a compressed table, without its header.
fn rows(name: &str) -> Vec<Vec<String>> {
    let path = path(name);
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    text.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

/// A track of the drive.
pub struct TrackRow {
    pub first_lba: u64,
    pub cylinder: u32,
    pub head: u32,
    /// Angle at which the first sector starts, in revolutions from the start of LBA 0.
    pub angle_rev: f64,
}

/// Every track, in address order. Each row of the file is the difference from the row before.
pub fn tracks() -> Vec<TrackRow> {
    const ANGLE_STEPS: i64 = 100_000;
    let mut sums = [0_i64; 4];
    let track = |row: Vec<String>| {
        for (sum, step) in sums.iter_mut().zip(&row) {
            *sum += step.parse::<i64>().unwrap();
        }
        let [first_lba, cylinder, head, angle] = sums;
        TrackRow {
            first_lba: first_lba.try_into().unwrap(),
            cylinder: cylinder.try_into().unwrap(),
            head: head.try_into().unwrap(),
            angle_rev: angle.rem_euclid(ANGLE_STEPS) as f64 / ANGLE_STEPS as f64,
        }
    };
    rows("tracks.csv.gz").into_iter().map(track).collect()
}

/// A request of a trace with its response times in the simulator, in milliseconds from arrival to completion.
pub struct TraceRow {
    pub arrival_ns: u64,
    pub command: Command,
    pub uncached_fcfs_ms: f64,
    pub uncached_sptf_ms: f64,
    pub cached_fcfs_ms: f64,
    pub cached_sptf_ms: f64,
}

/// The 10,000 requests of a trace, in order of arrival.
pub fn trace(name: &str) -> Vec<TraceRow> {
    let row = |row: Vec<String>| TraceRow {
        arrival_ns: ns(&row[0]),
        command: command(&row[1..4]),
        uncached_fcfs_ms: row[4].parse().unwrap(),
        uncached_sptf_ms: row[5].parse().unwrap(),
        cached_fcfs_ms: row[6].parse().unwrap(),
        cached_sptf_ms: row[7].parse().unwrap(),
    };
    rows(&format!("traces/{name}.csv.gz")).into_iter().map(row).collect()
}

/// A request that the real drive served.
pub struct MeasuredRow {
    pub command: Command,
    pub measured_ms: f64,
    /// From its completion to the issue of the next.
    pub pause_ns: u64,
    /// The simulator's time for the same request.
    pub simulator_ms: f64,
}

/// The 10,000 requests that the real drive served, one at a time.
pub fn measured() -> Vec<MeasuredRow> {
    let row = |row: Vec<String>| MeasuredRow {
        command: command(&row[0..3]),
        measured_ms: row[3].parse().unwrap(),
        pause_ns: ns(&row[4]),
        simulator_ms: row[5].parse().unwrap(),
    };
    rows("traces/real_st3146855fc_random.csv.gz").into_iter().map(row).collect()
}

/// The simulator's throughput with a fixed number of 4 KiB requests outstanding at random addresses.
pub struct ClosedLoopRow {
    pub region: String,
    pub direction: Direction,
    pub scheduler: String,
    pub outstanding: u32,
    pub per_second: f64,
}

/// Every closed loop of the reference.
pub fn closed_loop() -> Vec<ClosedLoopRow> {
    let text = std::fs::read_to_string(path("closed_loop_4k.tsv")).unwrap();
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
    text.lines().skip(1).map(row).collect()
}

fn ns(ms: &str) -> u64 {
    (ms.parse::<f64>().unwrap() * 1e6).round() as u64
}

/// From address, sectors and direction.
fn command(fields: &[String]) -> Command {
    Command {
        lba: fields[0].parse().unwrap(),
        sectors: fields[1].parse().unwrap(),
        direction: direction(&fields[2]),
    }
}

fn direction(letter: &str) -> Direction {
    match letter {
        "R" => Direction::Read,
        "W" => Direction::Write,
        _ => panic!("{letter:?} is no direction"),
    }
}
