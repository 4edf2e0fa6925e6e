//! What `xfs_bmap` prints with any of -v, -p and -l, and `fiemap` and `fiemap -v` of `xfs_io`.
//!
//! ```text
//! /srv/disk.raw:
//!  EXT: FILE-OFFSET      BLOCK-RANGE      AG AG-OFFSET        TOTAL FLAGS
//!    0: [0..79]:         hole                                    80
//!    1: [80..103]:       80..103           0 (80..103)           24 000000
//! ```

use super::other_lists;
use super::parser::{Dialect, Events, LineParser, ListedFile};
use super::text::{Line, shortened};
use crate::error::FileError;
use crate::extent::{Address, Extent, Place};

/// The list.
pub(super) static DIALECT: Dialect = Dialect {
    name: "xfs_bmap",
    // The path of a file, which could be anything.
    begins: |text| {
        (text.ends_with(':') || text.ends_with(": no extents")) && !other_lists::begins(text)
    },
    parser: || Box::new(XfsBmapParser::default()),
    file_system: Some("xfs"),
    is_copy_on_write: false,
    is_of_kernel: true,
    counts_in_units: false,
};

/// xfs_bmap(8): "units of 512-byte blocks".
const SECTOR_BYTES: u64 = 512;

/// Flags of `xfs_bmap -v` (`xfs_bmap -vv` lists them): octal digits, printed as they are.
const SHARED: u64 = 0o100_000;
const UNWRITTEN: u64 = 0o010_000;

/// Flags of FIEMAP, in linux/fiemap.h.
const FIEMAP_UNKNOWN: u64 = 0x2 | 0x4;
const FIEMAP_ENCODED: u64 = 0x8 | 0x80;
const FIEMAP_INLINE: u64 = 0x200 | 0x400;
const FIEMAP_UNWRITTEN: u64 = 0x800;
const FIEMAP_SHARED: u64 = 0x2000;

#[derive(Debug, Default)]
pub(crate) struct XfsBmapParser {
    has_file: bool,
    /// The columns of an extent behind its offsets, without the flags: as many as the title names.
    columns: Option<usize>,
}

/// What flags say.
#[derive(Debug, Clone, Copy, Default)]
struct Flags {
    unwritten: bool,
    shared: bool,
    encoded: bool,
    inline: bool,
    unknown: bool,
}

impl LineParser for XfsBmapParser {
    fn line(&mut self, line: &Line<'_>, events: &mut Events) -> Result<(), FileError> {
        let text = line.text.trim_end();
        if !text.starts_with([' ', '\t']) {
            let path = text.strip_suffix(": no extents").or(text.strip_suffix(':'));
            let Some(path) = path else {
                let message = format!("`{}` is neither a path nor an extent", shortened(text));
                let remedy = "give the output of `xfs_bmap -vp` unchanged";
                return Err(line.error_at(text, message, remedy));
            };
            (self.has_file, self.columns) = (true, None);
            // XFS keeps files in blocks of its own size, which is not printed.
            events.file(ListedFile { path: Some(path.to_owned()), ..ListedFile::default() });
            return Ok(());
        }
        if text.trim_start().starts_with("EXT:") {
            // Without -p, no title stands above the flags, and only extents with a flag have any.
            let titles = text.split_whitespace().skip(2).filter(|title| *title != "FLAGS");
            self.columns = Some(titles.count());
            return Ok(());
        }
        if let Some(refusal) = other_lists::refusal(line) {
            return Err(refusal);
        }
        if text.trim_start().starts_with("FLAG Values:") || is_legend(text) {
            return Ok(());
        }
        self.extent(line, text, events)
    }
}

/// Whether a line explains a flag, as `xfs_bmap -vv` does below the extents.
fn is_legend(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    first.len() >= 6 && first.bytes().all(|byte| byte.is_ascii_digit())
}

impl XfsBmapParser {
    fn extent(&self, line: &Line<'_>, text: &str, events: &mut Events) -> Result<(), FileError> {
        let remedy = "give the output of `xfs_bmap -vp` unchanged";
        let wrong = || line.error_at(text.trim_start(), "there is no `[FIRST..LAST]:`", remedy);
        let (_, rest) = text.split_once('[').ok_or_else(wrong)?;
        let (logical, rest) = rest.split_once("]:").ok_or_else(wrong)?;
        let (first, last) = range(line, logical)?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let Some(&place) = words.first() else {
            return Err(line.error("the extent has no block range", remedy));
        };
        if place == "hole" {
            return Ok(());
        }
        if !self.has_file {
            return Err(line.error("an extent comes before its file", remedy));
        }
        let has_flags = self.columns.is_some_and(|columns| words.len() > columns);
        let flags = match words.last() {
            Some(word) if has_flags || word.starts_with("0x") => flags(line, word)?,
            _ => Flags::default(),
        };
        let sectors = last.checked_sub(first).and_then(|steps| steps.checked_add(1));
        let sectors = sectors
            .ok_or_else(|| line.error_at(logical, "the extent ends before it begins", remedy))?;
        let place = if place == "delalloc" || flags.unknown {
            Place::Unknown
        } else if flags.inline {
            Place::Inline
        } else {
            let (sector, _) = range(line, place)?;
            let at = Address::new(line.bytes(place, sector, SECTOR_BYTES)?);
            match flags {
                Flags { encoded: true, .. } => Place::Encoded { at, stored_bytes: None },
                Flags { unwritten: true, .. } => Place::Unwritten(at),
                _ => Place::At(at),
            }
        };
        let offset = line.bytes(logical, first, SECTOR_BYTES)?;
        let bytes = line.bytes(logical, sectors, SECTOR_BYTES)?;
        events.extent(line, logical, Extent { offset, bytes, place, shared: flags.shared })
    }
}

fn flags(line: &Line<'_>, word: &str) -> Result<Flags, FileError> {
    if let Some(digits) = word.strip_prefix("0x") {
        let bits = line.hexadecimal(digits, "the flags")?;
        return Ok(Flags {
            unwritten: bits & FIEMAP_UNWRITTEN != 0,
            shared: bits & FIEMAP_SHARED != 0,
            encoded: bits & FIEMAP_ENCODED != 0,
            inline: bits & FIEMAP_INLINE != 0,
            unknown: bits & FIEMAP_UNKNOWN != 0,
        });
    }
    let bits = u64::from_str_radix(word, 8).map_err(|_| {
        let message = format!("the flags are `{}`", shortened(word));
        line.error_at(word, message, "give the output of `xfs_bmap -vp` unchanged")
    })?;
    let (unwritten, shared) = (bits & UNWRITTEN != 0, bits & SHARED != 0);
    Ok(Flags { unwritten, shared, ..Flags::default() })
}

/// Reads `FIRST..LAST`.
fn range(line: &Line<'_>, part: &str) -> Result<(u64, u64), FileError> {
    let remedy = "give the output of `xfs_bmap -vp` unchanged";
    let (first, last) = part
        .split_once("..")
        .ok_or_else(|| line.error_at(part, "there is no range FIRST..LAST", remedy))?;
    Ok((line.decimal(first, "a block")?, line.decimal(last, "a block")?))
}
