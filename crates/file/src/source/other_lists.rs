//! Lists of extents of other programs, which are not read: named for what they are, with the command whose output is.

use super::text::Line;
use crate::error::FileError;

/// A list that is not read.
struct OtherList {
    /// Whether a line, without its indentation, is the first that its program prints, or the first after a path.
    begins: fn(&str) -> bool,
    program: &'static str,
    remedy: &'static str,
}

const FILEFRAG: &str = "give that of `filefrag -v` for the file";
const IMAGE: &str =
    "give the image itself, for which qemu-img is run, or the output of `filefrag -v` for its file";

const OTHER_LISTS: [OtherList; 11] = [
    OtherList {
        begins: |text| text.starts_with("Offset") && text.contains("Mapped to"),
        program: "`qemu-img map`",
        remedy: IMAGE,
    },
    OtherList {
        begins: |text| text.starts_with('[') && text[1..].trim_start().starts_with("{ \"start\":"),
        program: "`qemu-img map --output=json`",
        remedy: IMAGE,
    },
    OtherList {
        begins: |text| text.starts_with("filesystem blocksize "),
        program: "`hdparm --fibmap`",
        remedy: FILEFRAG,
    },
    OtherList {
        begins: |text| {
            ["debugfs:", "debugfs ", "Level Entries ", "Inode: ", "EXTENTS:", "BLOCKS:"]
                .iter()
                .any(|start| text.starts_with(start))
        },
        program: "`debugfs`",
        remedy: FILEFRAG,
    },
    OtherList {
        begins: |text| {
            let found = text.strip_suffix(" extents found").or(text.strip_suffix(" extent found"));
            found.is_some_and(|found| found.contains(": "))
        },
        program: "`filefrag` without -v",
        remedy: FILEFRAG,
    },
    OtherList {
        begins: |text| text.starts_with("data offset ") && text.contains(" startblock "),
        program: "`xfs_db`",
        remedy: "give that of `xfs_bmap -vp` for the file",
    },
    OtherList {
        begins: |text| text.starts_with("FILE OFFSET") && text.contains("PHYSICAL OFFSET"),
        program: "`btrfs-map-physical`",
        remedy: FILEFRAG,
    },
    OtherList {
        begins: |text| text.starts_with("btrfs-progs v") || text.starts_with("fs tree key "),
        program: "`btrfs inspect-internal dump-tree`",
        remedy: FILEFRAG,
    },
    OtherList {
        begins: |text| text == "Indirect blocks:",
        program: "`zdb` without its first lines",
        remedy: "give that of `zdb -ddddd DATASET OBJECT` from the line `Dataset …` on",
    },
    OtherList {
        begins: |text| {
            text == "Metaslabs:" || text.starts_with("vdev ") && text.contains("metaslabs")
        },
        program: "`zdb -m` of a pool",
        remedy: "give it to --pool-from, or that of `zdb -ddddd DATASET OBJECT` for a file",
    },
    OtherList {
        begins: |text| text.starts_with("<File>") || text.starts_with("<extents/histogram>"),
        program: "`e4defrag -c`",
        remedy: FILEFRAG,
    },
];

/// Returns whether a line begins the list of a program that is not read.
pub(super) fn begins(text: &str) -> bool {
    OTHER_LISTS.iter().any(|other| (other.begins)(text.trim()))
}

/// Returns the error about a line that begins the list of a program that is not read.
pub(super) fn refusal(line: &Line<'_>) -> Option<FileError> {
    let text = line.text.trim();
    let other = OTHER_LISTS.iter().find(|other| (other.begins)(text))?;
    let message = format!("this is the output of {}, which is not read", other.program);
    Some(line.error(message, other.remedy))
}
