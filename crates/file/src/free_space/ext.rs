//! Free space of ext2, ext3 and ext4, as `dumpe2fs` lists it.

use std::fs::File;
use std::io::BufRead;

use strewn_alloc::{FreeRunCounter, FreeSpace};

use super::FreeSpaceReport;
use super::tool::{Tool, lines, not_understood};
use crate::error::FileError;
use crate::space::{Mount, System, device_error};

const DUMPE2FS: Tool = Tool { name: "dumpe2fs", package: "e2fsprogs" };

pub(super) fn free_space(system: &System, mount: &Mount) -> Result<FreeSpaceReport, FileError> {
    let device = system.device_path(mount.device_number)?;
    // What dumpe2fs says of a lack of permission is about many things that could be wrong.
    File::open(&device).map_err(|error| device_error(&device, "its bitmaps", error))?;
    let found = DUMPE2FS.run(&[&device.to_string_lossy()], |output| parse_dumpe2fs(output))?;
    let caveats = [
        "bitmaps on the device: what the file system has not written out yet is not in them",
        "blocks reserved for root count as free",
    ];
    Ok(FreeSpaceReport::new("dumpe2fs", &caveats, found.block_bytes, &found.space))
}

/// What `dumpe2fs` says of free space.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExtFreeSpace {
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Runs over all groups; one that goes on in the next group is one.
    pub space: FreeSpace,
}

/// Parses what `dumpe2fs` prints: `Block size:` and, for every group, `  Free blocks: 7988-8192, 9000`.
///
/// # Errors
/// If a line is not understood, runs are not in order, or nothing is said of free blocks; the message names the line.
pub fn parse_dumpe2fs(output: &mut dyn BufRead) -> Result<ExtFreeSpace, FileError> {
    let mut block_bytes = None;
    let mut cluster_bytes = None;
    let mut counter = FreeRunCounter::default();
    let mut open: Option<(u64, u64)> = None;
    let mut groups = 0u64;
    let mut last_line = 0;
    for line in lines(output, DUMPE2FS.name) {
        let (number, line) = line?;
        last_line = number;
        let wrong = |what: &str| not_understood(DUMPE2FS.name, number, what);
        let figure = |text: &str| {
            let figure = text.trim().parse().ok().filter(|bytes: &u64| *bytes > 0);
            figure.ok_or_else(|| wrong("not a size in bytes"))
        };
        if let Some(size) = line.strip_prefix("Block size:") {
            block_bytes = Some(figure(size)?);
        } else if let Some(size) = line.strip_prefix("Cluster size:") {
            cluster_bytes = Some(figure(size)?);
        } else if let Some(runs) = line.strip_prefix("  Free blocks:") {
            groups += 1;
            // With clusters (bigalloc), a run is told by the first blocks of its first and of its last cluster.
            let cluster = match (cluster_bytes, block_bytes) {
                (Some(cluster), Some(block)) => (cluster / block).max(1),
                _ => 1,
            };
            for run in runs.split(',').map(str::trim).filter(|run| !run.is_empty()) {
                let (first, last) =
                    parse_run(run).ok_or_else(|| wrong(&format!("`{run}` is no run of blocks")))?;
                let end = last.checked_add(cluster).ok_or_else(|| wrong("a block beyond all"))?;
                open = match open {
                    Some((start, before)) if before == first => Some((start, end)),
                    Some((_, before)) if before > first => {
                        return Err(wrong("runs are not in order"));
                    }
                    Some((start, before)) => {
                        counter.add(before - start);
                        Some((first, end))
                    }
                    None => Some((first, end)),
                };
            }
        }
    }
    let (Some(block_bytes), true) = (block_bytes, groups > 0) else {
        let what = "no block size or no groups: the bitmaps could not be read";
        return Err(not_understood(DUMPE2FS.name, last_line, what));
    };
    if let Some((start, end)) = open {
        counter.add(end - start);
    }
    Ok(ExtFreeSpace { block_bytes, space: counter.free_space() })
}

/// First and last block of `7-9` or `7`.
fn parse_run(text: &str) -> Option<(u64, u64)> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last).then_some((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "Filesystem state:         clean
Free blocks:              373344
Block size:               1024
Group 0: (Blocks 1-8192) csum 0x12b2 [ITABLE_ZEROED]
  Block bitmap at 259 (+258)
  Free blocks: 7988-8192
  Free inodes: 12-1964
Group 1: (Blocks 8193-16384)
  Free blocks: 8193-9000, 9002, 15289-16384
Group 2: (Blocks 16385-24576)
  Free blocks: 
";

    #[test]
    fn runs_go_on_in_the_next_group() {
        let found = parse_dumpe2fs(&mut SAMPLE.as_bytes()).unwrap();
        let runs = [9000 - 7988 + 1, 1, 16384 - 15289 + 1];
        assert_eq!(found.space, FreeSpace::of_runs(runs));
        assert_eq!((found.block_bytes, found.space.largest_run_blocks), (1024, 1096));
    }

    #[test]
    fn clusters_are_whole() {
        let text = "Block size: 1024\nCluster size: 16384\n  Free blocks: 0-32, 64\n";
        let found = parse_dumpe2fs(&mut text.as_bytes()).unwrap();
        assert_eq!(found.space, FreeSpace::of_runs([48, 16]));
    }

    #[test]
    fn what_is_not_understood_is_named_by_its_line() {
        for (change, line) in [
            ("7988-8192", "9-8"),
            ("9002", "x"),
            ("9002", "8999"),
            ("15289-16384", "15289-18446744073709551615"),
        ]
        .map(|(from, to)| (SAMPLE.replace(from, to), if from == "7988-8192" { 6 } else { 9 }))
        {
            let error = parse_dumpe2fs(&mut change.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(&format!("line {line}")), "{error}");
        }
        assert!(parse_dumpe2fs(&mut "".as_bytes()).is_err());
        assert!(parse_dumpe2fs(&mut "Block size: 0\n".as_bytes()).is_err());
    }
}
