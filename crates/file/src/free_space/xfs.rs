//! Free space of XFS, as `xfs_spaceman` lists it.

use std::io::BufRead;

use strewn_alloc::{FreeRunCounter, FreeSpace};

use super::FreeSpaceReport;
use super::tool::{Tool, lines, not_understood};
use crate::error::FileError;
use crate::space::Mount;

const XFS_SPACEMAN: Tool = Tool { name: "xfs_spaceman", package: "xfsprogs" };

pub(super) fn free_space(mount: &Mount) -> Result<FreeSpaceReport, FileError> {
    // `freesp -s` has a histogram by powers of two; `-d` has every run, of which its own histogram and sum follow.
    let arguments = ["-c", "freesp -d", &mount.mount_point];
    let space = XFS_SPACEMAN.run(&arguments, |output| parse_xfs_free_extents(output))?;
    let caveats = [
        "the data device only: a real-time device is left out",
        "blocks held back for metadata, and the free lists of allocation groups, are not told apart",
    ];
    let block_bytes = block_bytes(mount)?;
    Ok(FreeSpaceReport::new("xfs_spaceman", &caveats, block_bytes, &space))
}

#[cfg(target_os = "linux")]
fn block_bytes(mount: &Mount) -> Result<u64, FileError> {
    let failed = |error: rustix::io::Errno| {
        FileError::io(format!("asking for the block size of {}", mount.mount_point), error.into())
    };
    // XFS has the size of its blocks here.
    Ok(rustix::fs::statvfs(mount.mount_point.as_str()).map_err(failed)?.f_frsize)
}

#[cfg(not(target_os = "linux"))]
fn block_bytes(_mount: &Mount) -> Result<u64, FileError> {
    Ok(4096)
}

/// Parses what `xfs_spaceman -c "freesp -d"` prints: allocation group, first block and blocks of every free run, before
/// a histogram. Runs that touch within a group are one; the next group is not touched, because allocation does not
/// cross.
///
/// # Errors
/// If a line is not understood, or runs are not in order; the message names it.
pub fn parse_xfs_free_extents(output: &mut dyn BufRead) -> Result<FreeSpace, FileError> {
    let mut counter = FreeRunCounter::default();
    // Group, beginning and end.
    let mut open: Option<(u64, u64, u64)> = None;
    let mut in_histogram = false;
    for line in lines(output, XFS_SPACEMAN.name) {
        let (number, line) = line?;
        let wrong = |what: &str| not_understood(XFS_SPACEMAN.name, number, what);
        let fields: Vec<&str> = line.split_whitespace().take(6).collect();
        let (group, first, blocks) = match fields.as_slice() {
            ["from", "to", ..] => {
                // The rest is read too: a program whose output nobody reads ends with an error.
                in_histogram = true;
                continue;
            }
            [] | ["agno" | "AG", ..] => continue,
            _ if in_histogram => continue,
            [group, first, blocks] => match (group.parse(), first.parse(), blocks.parse()) {
                (Ok(group), Ok(first), Ok(blocks)) => (group, first, blocks),
                _ => return Err(wrong("not the three numbers of a run")),
            },
            _ => return Err(wrong("not a run: group, first block, blocks")),
        };
        let end = u64::checked_add(first, blocks).ok_or_else(|| wrong("a block beyond all"))?;
        open = match open {
            Some((other, start, before)) if other == group && before == first => {
                Some((group, start, end))
            }
            Some((other, _, before)) if (other, before) > (group, first) => {
                return Err(wrong("runs are not in order"));
            }
            other => {
                counter.add(other.map_or(0, |(_, start, end)| end - start));
                Some((group, first, end))
            }
        };
    }
    counter.add(open.map_or(0, |(_, start, end)| end - start));
    Ok(counter.free_space())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = "       0       10        6
       0       16        4
       0    10524    15076
       1        0    25590
   from      to extents  blocks    pct
      4       7       1       6   0.01
";

    #[test]
    fn runs_that_touch_within_a_group_are_one() {
        let found = parse_xfs_free_extents(&mut SAMPLE.as_bytes()).unwrap();
        assert_eq!(found, FreeSpace::of_runs([10, 15076, 25590]));
        let full = "   from      to extents  blocks    pct\n";
        assert_eq!(parse_xfs_free_extents(&mut full.as_bytes()).unwrap().free_blocks, 0);
    }

    #[test]
    fn what_is_not_understood_is_named_by_its_line() {
        for wrong in ["0 16", "0 x 4", "0 9 4", "0 18446744073709551615 4", "0 16 4 1 1 1 1"] {
            let text = SAMPLE.replace("       0       16        4", wrong);
            let error = parse_xfs_free_extents(&mut text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains("line 2"), "{error}");
        }
    }
}
