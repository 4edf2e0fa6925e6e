//! Whether a list of metaslabs is all that zdb prints, so that no figure is of a part of a pool.
//!
//! A list that was cut anywhere is found, except between two vdevs of a pool without the feature log_spacemap (OpenZFS
//! 2.0): nothing says there how many there are.

use super::zdb_list::{MetaslabList, Printed, Vdev, not_whole};
use crate::error::FileError;

/// Checks that nothing is missing from a list.
pub(super) fn check(name: &str, list: &MetaslabList) -> Result<(), FileError> {
    let metaslabs = || list.vdevs.iter().flat_map(|vdev| &vdev.metaslabs);
    // What a pool prints of one metaslab it prints of all, except that those never written have only the last.
    let parts = [
        ("histogram", metaslabs().any(|one| one.printed.is_some())),
        ("space map", metaslabs().any(|one| one.has_space_map)),
        ("flush data", metaslabs().any(|one| one.has_flush)),
    ];
    for (number, vdev) in (0..).zip(&list.vdevs) {
        if vdev.number != number {
            return Err(not_whole(name, vdev.line, &format!("vdev {number} is not before it")));
        }
        let listed = vdev.metaslabs.len();
        if vdev.announced != Some(listed) {
            let announced =
                vdev.announced.map_or("an unknown number of".to_owned(), |of| of.to_string());
            let what = format!("vdev {number} lists {listed} of {announced} metaslabs");
            return Err(breaks_off(name, vdev.line, &what));
        }
        for (position, metaslab) in vdev.metaslabs.iter().enumerate() {
            // Of free bytes three digits are told.
            if let Some(bytes) = vdev.metaslab_bytes()
                && metaslab.free_bytes / 101 > bytes / 100
            {
                let what = format!(
                    "metaslab {position} of vdev {number} has more free bytes than its {bytes}"
                );
                return Err(not_whole(name, metaslab.line, &what));
            }
            let written = !metaslab.is_untouched;
            let has = [
                metaslab.printed.is_some() || !written,
                metaslab.has_space_map || !written,
                metaslab.has_flush,
            ];
            if let Some(((part, _), _)) = parts.iter().zip(has).find(|((_, all), has)| *all && !has)
            {
                let what = format!("metaslab {position} of vdev {number} has no {part}");
                return Err(breaks_off(name, metaslab.line, &what));
            }
        }
    }
    let (_, has_flushes) = parts[2];
    if let Some(vdev) = list.vdevs.last()
        && let Some(last) = vdev.metaslabs.last()
    {
        if has_flushes && !list.has_log {
            return Err(breaks_off(name, last.line, "no log of space maps follows this metaslab"));
        }
        if !has_flushes && is_short(vdev) {
            return Err(breaks_off(
                name,
                last.line,
                "this metaslab has free bytes that are not listed",
            ));
        }
    }
    check_groups(name, list)
}

fn breaks_off(name: &str, line: usize, what: &str) -> FileError {
    not_whole(name, line, &format!("the list breaks off: {what}"))
}

/// Returns whether the last metaslab of a vdev has free bytes that the lines after it do not tell of, in a list in
/// which nothing else follows them.
fn is_short(vdev: &Vdev) -> bool {
    let Some(last) = vdev.metaslabs.last() else { return false };
    match &last.printed {
        // Never written, it is free: else a unit or digits are missing.
        _ if last.is_untouched => {
            vdev.metaslab_bytes().is_some_and(|bytes| last.free_bytes < bytes / 2)
        }
        // A segment is shorter than twice the least of its class; of free bytes three digits are told.
        Some(printed) if printed.frag_percent.is_some() => {
            let most = printed.runs.iter().map(|(log, count)| u128::from(*count) << (log + 1));
            most.sum::<u128>() < u128::from(last.free_bytes) / 100 * 99
        }
        _ => false,
    }
}

/// Checks histograms of vdevs and that of the pool, which is their sum. OpenZFS 2.2 and later list special vdevs too,
/// which are not marked, and not in the sum.
fn check_groups(name: &str, list: &MetaslabList) -> Result<(), FileError> {
    let Some((vdev, last)) = list.groups.last() else { return Ok(()) };
    let Some(pool) = &list.pool else {
        let what = format!("no histogram of the pool follows that of vdev {vdev}");
        return Err(breaks_off(name, last.line, &what));
    };
    let segments = |printed: &Printed, log: u32| {
        let rows = printed.runs.iter().filter(|row| row.0 == log);
        rows.fold(0u64, |sum, row| sum.saturating_add(row.1))
    };
    let of_vdevs = |log: u32| {
        let groups = list.groups.iter().map(|(_, printed)| segments(printed, log));
        groups.fold(0, u64::saturating_add)
    };
    if let Some((log, _)) = pool.runs.iter().find(|(log, count)| *count > of_vdevs(*log)) {
        let what = format!("the pool has more segments of 2^{log} bytes than its vdevs");
        return Err(not_whole(name, pool.line, &what));
    }
    // Equal to the sum as far as it goes, while a vdev that has begun goes on.
    let end = pool.runs.last().map_or(0, |row| row.0 + 1);
    let goes_on = list.groups.iter().any(|(_, printed)| {
        let has = |of: fn(u32, u32) -> bool| {
            printed.runs.iter().any(|(log, count)| of(*log, end) && *count > 0)
        };
        (end == 0 || has(|log, end| log < end)) && has(|log, end| log >= end)
    });
    if goes_on && (0..end).all(|log| segments(pool, log) == of_vdevs(log)) {
        let what = "the histogram of the pool ends before those of its vdevs";
        return Err(breaks_off(name, pool.line, what));
    }
    Ok(())
}
