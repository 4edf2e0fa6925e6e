//! What page caches of hosts, clients that compute parity, and snapshots did, by segment.

use crate::columns::{Columns, SegmentRow, declared};
use strewn_results::{Group, Results};

/// The title of [`page_cache_table`].
pub(crate) const PAGE_CACHE_HEADING: &str = "Page caches of the hosts";
/// The title of [`client_raid_table`].
pub(crate) const CLIENT_RAID_HEADING: &str = "RAID of the clients over blades";

/// Returns what hosts' page caches did in each segment. Empty if there are none.
#[must_use]
pub fn page_cache_table(results: &Results) -> String {
    group_table(results, Group::PageCache)
}

/// Returns what clients of blades did in each segment. Empty if there are none.
#[must_use]
pub fn client_raid_table(results: &Results) -> String {
    group_table(results, Group::ClientRaid)
}

fn group_table(results: &Results, group: Group) -> String {
    group_columns(group).render_any(&group_rows(results, group))
}

/// Returns the columns of a group with a table for all arrays.
pub(crate) fn group_columns<'a>(group: Group) -> Columns<'a, SegmentRow<'a>> {
    Columns::new().all(declared!["array", "segment"]).of_group(group)
}

/// Returns the segments that have a group.
pub(crate) fn group_rows(results: &Results, group: Group) -> Vec<SegmentRow<'_>> {
    SegmentRow::all(results).filter(|row| group.is_of(row.segment)).collect()
}
