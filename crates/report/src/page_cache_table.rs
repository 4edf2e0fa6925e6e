//! What hosts' page caches did, as text.

use crate::columns::Columns;
use strewn_results::words::fixed;
use strewn_results::{PageCacheFigures, Results};

/// The title of the table.
pub(crate) const PAGE_CACHE_HEADING: &str = "Page caches of the hosts";

/// An array's hosts in a segment.
struct PageCacheRow {
    array: String,
    segment: u32,
    figures: PageCacheFigures,
}

/// Returns what hosts' page caches did in each segment. Empty if there are none.
#[must_use]
pub fn page_cache_table(results: &Results) -> String {
    let mut rows = Vec::new();
    for array in &results.arrays {
        for segment in &array.segments {
            rows.extend(segment.page_cache.map(|figures| PageCacheRow {
                array: array.name.clone(),
                segment: segment.index,
                figures,
            }));
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let maybe = |figure: Option<f64>| figure.map_or_else(|| "-".to_owned(), |it| fixed(it, 1));
    Columns::<PageCacheRow>::new()
        .words("array", |row| row.array.clone())
        .number("segment", |row| row.segment.to_string())
        .number("hits\n%", move |row| maybe(row.figures.hit_percent))
        .number("read\nMiB/s", |row| fixed(row.figures.filled_mib_per_s, 1))
        .number("written\nMiB/s", |row| fixed(row.figures.written_mib_per_s, 1))
        .number("each\nwrite\nKiB", move |row| maybe(row.figures.write_request_kib))
        .number("throttled\nms", |row| fixed(row.figures.throttled_ms, 2))
        .number("dirty\nMiB", |row| fixed(row.figures.dirty_mib, 1))
        .render(&rows)
}
