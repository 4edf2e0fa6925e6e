//! What `filefrag -v` and `filefrag -e` of e2fsprogs print.
//!
//! ```text
//! Filesystem type is: ef53
//! File size of disk.raw is 3145728 (768 blocks of 4096 bytes)
//!  ext:     logical_offset:        physical_offset: length:   expected: flags:
//!    0:        0..     767:   40747520..  40748287:    768:             last,eof
//! disk.raw: 1 extent found
//! ```
//!
//! e2fsprogs before 1.42 has other columns, of which `expected` is empty for an extent that follows the one before:
//!
//! ```text
//! File size of /swapfile is 16777216 (4096 blocks, blocksize 4096)
//!  ext logical physical expected length flags
//!    0       0    24576              12 merged
//!    1      12    24589    24587   4084 merged,eof
//! ```

use super::parser::{Dialect, Events, LineParser, ListedFile};
use super::text::{Line, shortened};
use crate::error::FileError;
use crate::extent::{Address, Extent, Place};

/// The list.
pub(super) static DIALECT: Dialect = Dialect {
    name: "filefrag",
    begins: |text| text.starts_with("Filesystem type is:") || text.starts_with("File size of "),
    parser: || Box::new(FilefragParser::default()),
    file_system: None,
    is_copy_on_write: false,
    is_of_kernel: true,
    counts_in_units: true,
};

#[derive(Debug, Default)]
pub(crate) struct FilefragParser {
    block_bytes: Option<u64>,
    /// The columns are those of e2fsprogs before 1.42.
    has_old_columns: bool,
}

/// An extent as it is printed.
struct Row<'a> {
    first: u64,
    blocks: u64,
    /// The first block on the device.
    address: u64,
    flags: &'a str,
    /// Where the offset, the address and the length stand in the line.
    parts: [&'a str; 3],
}

impl LineParser for FilefragParser {
    fn line(&mut self, line: &Line<'_>, events: &mut Events) -> Result<(), FileError> {
        let text = line.text;
        if let Some(description) = text.strip_prefix("File size of ") {
            let file = description_of(line, description)?;
            self.block_bytes = file.block_bytes;
            events.file(file);
            return Ok(());
        }
        if is_title(text) {
            self.has_old_columns = !text.contains(':');
            return Ok(());
        }
        if text.trim_start().starts_with(|first: char| first.is_ascii_digit())
            && text.starts_with(' ')
            || is_numbered(text)
            || self.has_old_columns && text.starts_with(|first: char| first.is_ascii_digit())
        {
            return self.extent(line, events);
        }
        let is_known = text.starts_with("Filesystem ")
            || text.ends_with(" extent found")
            || text.ends_with(" extents found")
            // With blocks mapped one at a time (FIBMAP), the count comes with what would be ideal.
            || text.contains(" extents found, ");
        if is_known {
            return Ok(());
        }
        let message = format!("`{}` is not a line of `filefrag -v`", shortened(text));
        Err(line.error_at(text, message, "give its output unchanged, without its error messages"))
    }
}

/// Whether a line has the titles of the columns.
fn is_title(text: &str) -> bool {
    let mut words = text.split_whitespace();
    matches!(words.next(), Some("ext:" | "ext")) && text.contains("logical")
}

/// Whether a line begins with the number of an extent; the first thousand are indented.
fn is_numbered(text: &str) -> bool {
    text.split_once(':').is_some_and(|(number, rest)| {
        !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && rest.contains("..")
    })
}

/// Reads `PATH is BYTES (N blocks of BYTES bytes)`, or `(N blocks, blocksize BYTES)` as before e2fsprogs 1.42; a path
/// may contain all of these words.
fn description_of(line: &Line<'_>, description: &str) -> Result<ListedFile, FileError> {
    let remedy = "give the output of `filefrag -v` unchanged";
    let wrong = || line.error_at(description, "the sizes of the file are not there", remedy);
    let (file, blocks) = description.trim_end().rsplit_once(" (").ok_or_else(wrong)?;
    let (path, file_bytes) = file.rsplit_once(" is ").ok_or_else(wrong)?;
    let block_bytes = match blocks.rsplit_once(", blocksize ") {
        Some((_, block_bytes)) => block_bytes.strip_suffix(')'),
        None => {
            let (_, block_bytes) = blocks.rsplit_once(" of ").ok_or_else(wrong)?;
            block_bytes.strip_suffix(" bytes)").or(block_bytes.strip_suffix(" byte)"))
        }
    };
    let block_part = block_bytes.ok_or_else(wrong)?;
    let block_bytes = line.decimal(block_part, "the block size")?;
    if block_bytes == 0 {
        return Err(line.error_at(block_part, "a block has 0 bytes", remedy));
    }
    Ok(ListedFile {
        path: Some(path.to_owned()),
        file_bytes: Some(line.decimal(file_bytes, "the file size")?),
        block_bytes: Some(block_bytes),
        device_bytes: None,
    })
}

impl FilefragParser {
    fn extent(&self, line: &Line<'_>, events: &mut Events) -> Result<(), FileError> {
        let Some(block_bytes) = self.block_bytes else {
            let remedy = "give the output from `File size of …` on, which has the block size";
            return Err(line.error("an extent comes before its file", remedy));
        };
        let row = if self.has_old_columns { old_row(line)? } else { row(line)? };
        let has = |name: &str| row.flags.split(',').any(|flag| flag.trim() == name);
        // The offsets of inline data are in bytes.
        let unit = if has("inline") && !self.has_old_columns { 1 } else { block_bytes };
        let [logical, physical, length] = row.parts;
        let bytes_at = |part, blocks| line.bytes(part, blocks, unit);
        let at = Address::new(bytes_at(physical, row.address)?);
        let place = if has("inline") || has("tail_packed") {
            Place::Inline
        } else if is_unknown(row.flags) {
            Place::Unknown
        } else if has("encoded") || has("encrypted") {
            Place::Encoded { at, stored_bytes: None }
        } else if has("unwritten") {
            Place::Unwritten(at)
        } else {
            Place::At(at)
        };
        let (offset, bytes) = (bytes_at(logical, row.first)?, bytes_at(length, row.blocks)?);
        events.extent(line, logical, Extent { offset, bytes, place, shared: has("shared") })
    }
}

/// Whether the extent has no place yet.
fn is_unknown(flags: &str) -> bool {
    let is_one = |flag: &str| ["unknown_loc", "unknown", "delalloc"].contains(&flag.trim());
    flags.split(',').any(is_one)
}

/// Reads `EXT: FIRST.. LAST: FIRST.. LAST: LENGTH: EXPECTED: FLAGS`.
fn row<'a>(line: &Line<'a>) -> Result<Row<'a>, FileError> {
    let mut columns = line.text.splitn(6, ':').map(str::trim).skip(1);
    let mut column = || columns.next().unwrap_or_default();
    let (logical, physical, length, rest) = (column(), column(), column(), column());
    // The column `expected` is left out of the line if the extents before have none.
    let flags = columns.next().unwrap_or(rest);
    let (first, last) = range(line, logical)?;
    let (address, _) = range(line, physical)?;
    let blocks = line.decimal(length, "the length")?;
    let in_range = last.checked_sub(first).and_then(|steps| steps.checked_add(1));
    // e2fsprogs 1.47 prints the length that an extent without a place has on the device, which is 0.
    let has_length = in_range == Some(blocks) || (blocks == 0 && is_unknown(flags));
    let Some(blocks) = in_range.filter(|_| has_length) else {
        let message = format!("{first}..{last} is not {blocks} blocks long");
        let remedy = "give the output of `filefrag -v` without -X";
        return Err(line.error_at(logical, message, remedy));
    };
    Ok(Row { first, blocks, address, flags, parts: [logical, physical, length] })
}

/// Reads `EXT LOGICAL PHYSICAL [EXPECTED] LENGTH FLAGS`. Flags are words, so the numbers before them tell whether
/// `expected` is there.
fn old_row<'a>(line: &Line<'a>) -> Result<Row<'a>, FileError> {
    let words: Vec<&str> = line.text.split_whitespace().collect();
    let is_number = |word: &&&str| word.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = words.iter().take_while(is_number).count();
    let (logical, physical, length) = match &words[..numbers] {
        [_, logical, physical, length] | [_, logical, physical, _, length] => {
            (*logical, *physical, *length)
        }
        _ => {
            let message = format!("an extent has 4 or 5 numbers, and this one {numbers}");
            return Err(line.error(message, "give the output of `filefrag -v` unchanged"));
        }
    };
    Ok(Row {
        first: line.decimal(logical, "a block")?,
        blocks: line.decimal(length, "the length")?,
        address: line.decimal(physical, "a block")?,
        flags: words.get(numbers).copied().unwrap_or_default(),
        parts: [logical, physical, length],
    })
}

/// Reads `FIRST.. LAST`.
fn range(line: &Line<'_>, part: &str) -> Result<(u64, u64), FileError> {
    let remedy = "give the output of `filefrag -v` unchanged, without -X";
    let (first, last) = part
        .split_once("..")
        .ok_or_else(|| line.error_at(part, "there is no range FIRST..LAST", remedy))?;
    let number = |part: &str| {
        let digits = part.trim();
        line.decimal(digits, "a block").map_err(|_| {
            line.error_at(digits, format!("a block is `{}`", shortened(digits)), remedy)
        })
    };
    Ok((number(first)?, number(last)?))
}
