//! How far an array reads ahead of sequential streams, and what of the reads it keeps.

use strewn_base::BLOCK_BYTES;

use crate::quantity::Bytes;
use crate::section::Section;
use crate::value;

pub(crate) const READ_AHEAD: &str = "read_ahead";
pub(crate) const READ_CACHE: &str = "read_cache";

/// Most bytes that a stream is ahead: twice the longest that HP's MSA 2000 arrays of 2008 could be set to.
const MOST_READ_AHEAD_BYTES: u64 = 64 << 20;

/// Reads how far a stream is ahead at most, in bytes; 0 for no read-ahead.
pub(crate) fn read_ahead(section: &mut Section<'_>) -> Option<u64> {
    let bytes = section.required(READ_AHEAD, "\"512 KiB\"", value::bytes)?;
    // A window is divided in two, each of whole blocks.
    if bytes > 0 && bytes < 2 * BLOCK_BYTES {
        let least = Bytes(2 * BLOCK_BYTES);
        section.problem(
            READ_AHEAD,
            format!("{} is less than two blocks", Bytes(bytes)),
            format!("give at least {least}, or \"0 B\" for no read-ahead"),
        );
    } else if bytes > MOST_READ_AHEAD_BYTES {
        let most = Bytes(MOST_READ_AHEAD_BYTES);
        section.problem(
            READ_AHEAD,
            format!("{} is more than an array reads ahead", Bytes(bytes)),
            format!("give at most {most}"),
        );
    } else {
        return Some(bytes);
    }
    None
}

/// Reads the size of a read cache, in bytes; 0 for none.
pub(crate) fn read_cache(section: &mut Section<'_>) -> Option<u64> {
    let bytes = section.required(READ_CACHE, "\"0 B\"", value::bytes)?;
    if bytes > 0 && bytes < BLOCK_BYTES {
        section.problem(
            READ_CACHE,
            "does not hold one block",
            format!("give at least {}, or \"0 B\" for none", Bytes(BLOCK_BYTES)),
        );
        return None;
    }
    Some(bytes)
}
