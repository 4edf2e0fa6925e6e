//! What `filefrag -v` and `filefrag -e` of e2fsprogs print.
//!
//! ```text
//! Filesystem type is: ef53
//! File size of disk.raw is 3145728 (768 blocks of 4096 bytes)
//!  ext:     logical_offset:        physical_offset: length:   expected: flags:
//!    0:        0..     767:   40747520..  40748287:    768:             last,eof
//! disk.raw: 1 extent found
//! ```

use super::list::{Events, LineParser, ListedFile};
use super::text::{Line, shortened};
use crate::error::FileError;
use crate::extent::{Address, Extent, Place};

#[derive(Debug, Default)]
pub(crate) struct FilefragParser {
    block_bytes: Option<u64>,
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
        if text.trim_start().starts_with(|first: char| first.is_ascii_digit())
            && text.starts_with(' ')
            || is_numbered(text)
        {
            return self.extent(line, events);
        }
        let is_known = text.starts_with("Filesystem ")
            || text.trim_start().starts_with("ext:")
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

/// Whether a line begins with the number of an extent; the first thousand are indented.
fn is_numbered(text: &str) -> bool {
    text.split_once(':').is_some_and(|(number, rest)| {
        !number.is_empty()
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && rest.contains("..")
    })
}

/// Reads `PATH is BYTES (N blocks of BYTES bytes)`; a path may contain all of these words.
fn description_of(line: &Line<'_>, description: &str) -> Result<ListedFile, FileError> {
    let remedy = "give the output of `filefrag -v` unchanged";
    let wrong = || line.error_at(description, "the sizes of the file are not there", remedy);
    let (file, blocks) = description.trim_end().rsplit_once(" (").ok_or_else(wrong)?;
    let (path, file_bytes) = file.rsplit_once(" is ").ok_or_else(wrong)?;
    let (_, block_bytes) = blocks.rsplit_once(" of ").ok_or_else(wrong)?;
    let block_bytes = block_bytes.strip_suffix(" bytes)").or(block_bytes.strip_suffix(" byte)"));
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
        let mut columns = line.text.splitn(6, ':').map(str::trim).skip(1);
        let mut column = || columns.next().unwrap_or_default();
        let (logical, physical, length, rest) = (column(), column(), column(), column());
        // The column `expected` is left out of the line if the extents before have none.
        let flags = columns.next().unwrap_or(rest);
        let has = |name: &str| flags.split(',').any(|flag| flag.trim() == name);
        // The offsets of inline data are in bytes.
        let unit = if has("inline") { 1 } else { block_bytes };
        let (first, last) = range(line, logical)?;
        let (address, _) = range(line, physical)?;
        let blocks = line.decimal(length, "the length")?;
        if last.checked_sub(first).and_then(|steps| steps.checked_add(1)) != Some(blocks) {
            let message = format!("{first}..{last} is not {blocks} blocks long");
            return Err(line.error_at(
                logical,
                message,
                "give the output of `filefrag -v` without -X",
            ));
        }
        let bytes_at = |part, blocks| line.bytes(part, blocks, unit);
        let at = Address::new(bytes_at(physical, address)?);
        let place = if has("inline") || has("tail_packed") {
            Place::Inline
        } else if has("unknown_loc") || has("unknown") || has("delalloc") {
            Place::Unknown
        } else if has("encoded") || has("encrypted") {
            Place::Encoded { at, stored_bytes: None }
        } else if has("unwritten") {
            Place::Unwritten(at)
        } else {
            Place::At(at)
        };
        let (offset, bytes) = (bytes_at(logical, first)?, bytes_at(length, blocks)?);
        events.extent(line, logical, Extent { offset, bytes, place, shared: has("shared") })
    }
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
