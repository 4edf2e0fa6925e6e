//! Which program a saved list of a pool's free space is from.

use super::pool::{PoolFreeSpace, REMEDY};
use super::{ceph, zdb_list, zdb_metaslabs};
use crate::error::FileError;

/// Reads a saved list of a pool's free space, which errors call `name`. The kind of list is told by what is in it.
///
/// # Errors
/// If the text is of another program, is not whole, or a line of it is not understood; the message names the line and
/// what to do.
pub fn parse_pool_list(name: &str, text: &str) -> Result<PoolFreeSpace, FileError> {
    // PowerShell and some editors put it there.
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Err(FileError::input(format!("{name}: the list is empty"), REMEDY));
    }
    if text.lines().any(|line| line.trim_start().starts_with('{')) {
        return ceph::parse_free_dump(name, text);
    }
    if zdb_list::is_metaslab_list(text) {
        return zdb_metaslabs::parse_metaslab_list(name, text);
    }
    let mut words = text.split_whitespace();
    let is_zpool_list = words.next() == Some("NAME") && text.contains("FRAG");
    let what = match is_zpool_list {
        true => "this is a list of `zpool list`, which has FRAG and no runs",
        false => "this is no list of a pool's free space",
    };
    Err(FileError::input(format!("{name}, line 1: {what}"), REMEDY))
}
