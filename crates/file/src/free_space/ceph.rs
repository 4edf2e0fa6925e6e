//! Free space of a Ceph OSD, as `ceph-bluestore-tool free-dump` and `bluestore allocator dump` of its socket list it.

use serde::Deserialize;

use super::pool::{PoolFreeSpace, REMEDY};
use crate::error::FileError;

const SOURCE: &str = "ceph-bluestore-tool free-dump";

#[derive(Deserialize)]
struct Dump {
    /// Bytes that are allocated at once; versions before Pacific leave it out.
    alloc_unit: Option<u64>,
    alloc_name: Option<String>,
    extents: Option<Vec<Extent>>,
    /// What `free-score` prints instead.
    fragmentation_rating: Option<f64>,
}

#[derive(Deserialize)]
struct Extent {
    offset: String,
    length: String,
}

/// What BlueStore allocates at once on devices since Pacific, where a dump does not say.
const USUAL_UNIT_BYTES: u64 = 4096;

/// Parses a dump. The line with the allocator's name that the tool prints before it is left out.
pub(super) fn parse_free_dump(name: &str, text: &str) -> Result<PoolFreeSpace, FileError> {
    let begins = |line: &str| line.trim_start().starts_with('{');
    let skipped = text.lines().take_while(|line| !begins(line)).count();
    let json: String = text.split_inclusive('\n').skip(skipped).collect();
    // A file may hold several allocators: the first is that of the data.
    let mut dumps = serde_json::Deserializer::from_str(&json).into_iter::<Dump>();
    let dump = match dumps.next() {
        Some(Ok(dump)) => dump,
        Some(Err(error)) if error.is_eof() => {
            return Err(FileError::input(
                format!("{name}: the list breaks off"),
                "save it again, whole",
            ));
        }
        Some(Err(error)) => {
            let line = skipped + error.line();
            return Err(FileError::input(format!("{name}, line {line}: {error}"), REMEDY));
        }
        None => return Err(FileError::input(format!("{name}: no list in it"), REMEDY)),
    };
    let Some(extents) = dump.extents else {
        let what = match dump.fragmentation_rating {
            Some(rating) => format!("a score of {rating} and no runs: this is of `free-score`"),
            None => "no `extents`".to_owned(),
        };
        return Err(FileError::input(format!("{name}: {what}"), REMEDY));
    };
    let mut runs = Vec::with_capacity(extents.len());
    for (number, extent) in extents.iter().enumerate() {
        let wrong = |key: &str, value: &str| {
            FileError::input(
                format!("{name}, extent {number}: {key} {value:?} is no number such as 0x1000"),
                "save the list again, whole",
            )
        };
        number_of(&extent.offset).ok_or_else(|| wrong("offset", &extent.offset))?;
        let length = number_of(&extent.length).filter(|length| *length > 0);
        runs.push((length.ok_or_else(|| wrong("length", &extent.length))?, 1));
    }
    if runs.is_empty() {
        return Err(FileError::input(
            format!("{name}: no byte is free"),
            "nothing can be written there",
        ));
    }
    let unit_bytes = dump.alloc_unit.filter(|unit| *unit > 0).unwrap_or(USUAL_UNIT_BYTES);
    let mut caveats = Vec::new();
    if dump.alloc_unit.is_none() {
        caveats
            .push("the list does not say what is allocated at once: taken to be 4 KiB".to_owned());
    }
    Ok(PoolFreeSpace {
        name: dump.alloc_name,
        ceph_score: Some(score(&runs, unit_bytes)),
        caveats,
        ..PoolFreeSpace::of_runs(SOURCE, unit_bytes, &runs)
    })
}

/// Reads a number as Ceph prints it: hexadecimal with 0x, or decimal.
fn number_of(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// What twice the bytes in one run are worth, against two runs of half the length (`get_fragmentation_score` of
/// `Allocator.cc`).
const WORTH_OF_DOUBLE: f64 = 1.1;

/// Returns the worth of a run. Between powers of two it is interpolated.
fn worth(bytes: u64) -> f64 {
    let log = bytes.max(1).ilog2();
    let power = (log as f64).exp2();
    let above = (bytes as f64 - power) / power;
    let scale = |log: u32| WORTH_OF_DOUBLE.powi(log as i32);
    power * scale(log) * (1.0 - above) + 2.0 * power * scale(log + 1) * above
}

/// Returns Ceph's fragmentation score: how far the worth of the runs is from that of one run, as a share of how far
/// that of single blocks is.
fn score(runs: &[(u64, u64)], unit_bytes: u64) -> f64 {
    let free: u64 = runs.iter().map(|(bytes, count)| bytes * count).sum();
    let sum: f64 = runs.iter().map(|(bytes, count)| worth(*bytes) * *count as f64).sum();
    let ideal = worth(free);
    let terrible = (free / unit_bytes) as f64 * worth(unit_bytes);
    if ideal <= terrible { 0.0 } else { (ideal - sum) / (ideal - terrible) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_run_scores_0_and_single_blocks_score_1() {
        assert_eq!(score(&[(1 << 30, 1)], 4096), 0.0);
        assert!((score(&[(4096, 1000)], 4096) - 1.0).abs() < 1e-12);
        // Worked out by hand: 8 KiB in two runs of 4 KiB beside one of 8 KiB.
        let (single, double, whole) = (4096.0, 8192.0 * 1.1, 16384.0 * 1.21);
        let expected = (whole - (2.0 * single + double)) / (whole - 4.0 * single);
        assert!((score(&[(4096, 2), (8192, 1)], 4096) - expected).abs() < 1e-12);
    }
}
