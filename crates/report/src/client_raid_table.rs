//! What clients that compute parity did, as text.

use crate::columns::Columns;
use strewn_results::words::fixed;
use strewn_results::{ClientRaidFigures, Results};

/// The title of the table.
pub(crate) const CLIENT_RAID_HEADING: &str = "RAID of the clients over blades";

/// An array's clients in a segment.
struct ClientRaidRow {
    array: String,
    segment: u32,
    figures: ClientRaidFigures,
}

/// Returns what clients of blades did in each segment. Empty if there are none.
#[must_use]
pub fn client_raid_table(results: &Results) -> String {
    let mut rows = Vec::new();
    for array in &results.arrays {
        for segment in &array.segments {
            rows.extend(segment.client_raid.map(|figures| ClientRaidRow {
                array: array.name.clone(),
                segment: segment.index,
                figures,
            }));
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let percent = |figure: Option<f64>| figure.map_or_else(|| "-".to_owned(), |it| fixed(it, 1));
    Columns::<ClientRaidRow>::new()
        .words("array", |row| row.array.clone())
        .number("segment", |row| row.segment.to_string())
        .number("reads\nper op", |row| fixed(row.figures.reads_per_op, 2))
        .number("for\nparity", |row| fixed(row.figures.update_reads_per_op, 2))
        .number("writes\nper op", |row| fixed(row.figures.writes_per_op, 2))
        .number("read\nMiB/s", |row| fixed(row.figures.read_mib_per_s, 1))
        .number("for\nparity\nMiB/s", |row| fixed(row.figures.update_read_mib_per_s, 1))
        .number("written\nMiB/s", |row| fixed(row.figures.written_mib_per_s, 1))
        .number("of\nparity\nMiB/s", |row| fixed(row.figures.parity_mib_per_s, 1))
        .number("full\nstripes\n%", move |row| percent(row.figures.full_stripe_percent))
        .number("computed\nMiB/s", |row| fixed(row.figures.reconstructed_mib_per_s, 1))
        .number("stripe\nwait ms", |row| fixed(row.figures.stripe_wait_ms, 2))
        .number("cores for\nparity", |row| fixed(row.figures.parity_cores, 2))
        .render(&rows)
}
