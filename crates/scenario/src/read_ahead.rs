//! How far an array reads ahead of sequential streams, and what of the reads it keeps.

use strewn_base::BLOCK_BYTES;

use crate::fields::{Field, size};
use crate::quantity::Bytes;
use crate::setting_value::SettingValue;

/// Most bytes that a stream is ahead: twice the longest that HP's MSA 2000 arrays of 2008 could be set to.
const MOST_READ_AHEAD_BYTES: u64 = 64 << 20;

/// How far a stream is ahead at most; 0 for no read-ahead.
pub(crate) fn read_ahead(source: &'static str) -> Field {
    size(
        "read_ahead",
        "The most that a sequential stream of reads is read ahead of its host: 0 B for no read-ahead, otherwise 8 KiB to \
         64 MiB.",
    )
    .default("\"512 KiB\"", source)
    .refusing(refuse_read_ahead)
}

fn refuse_read_ahead(value: &SettingValue) -> Option<(String, String)> {
    let SettingValue::Count(bytes) = *value else { return None };
    // A window is divided in two, each of whole blocks.
    if bytes > 0 && bytes < 2 * BLOCK_BYTES {
        let least = Bytes(2 * BLOCK_BYTES);
        Some((
            format!("{} is less than two blocks", Bytes(bytes)),
            format!("give at least {least}, or \"0 B\" for no read-ahead"),
        ))
    } else if bytes > MOST_READ_AHEAD_BYTES {
        let most = Bytes(MOST_READ_AHEAD_BYTES);
        Some((
            format!("{} is more than an array reads ahead", Bytes(bytes)),
            format!("give at most {most}"),
        ))
    } else {
        None
    }
}

/// The size of a read cache; 0 for none.
pub(crate) fn read_cache() -> Field {
    size(
        "read_cache",
        "Memory for blocks that hosts have read: 0 B for none. Disk groups have equal shares.",
    )
    .default("\"0 B\"", "chosen: random access over 100 GiB would hit 1 %")
    .refusing(refuse_read_cache)
}

fn refuse_read_cache(value: &SettingValue) -> Option<(String, String)> {
    let SettingValue::Count(bytes) = *value else { return None };
    (bytes > 0 && bytes < BLOCK_BYTES).then(|| {
        (
            "does not hold one block".to_owned(),
            format!("give at least {}, or \"0 B\" for none", Bytes(BLOCK_BYTES)),
        )
    })
}
