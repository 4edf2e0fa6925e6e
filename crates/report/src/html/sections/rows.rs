//! Rows of published tables beside simulated figures.

use crate::html::block::Block;
use crate::html::table::{Cell, Table};
use crate::rows_table::{ROWS_HEADING, decimals, row_sentences, unit};
use strewn_results::{ComparedRow, Results};

pub(super) fn rows(results: &Results) -> Vec<Block> {
    if results.published_rows.is_empty() {
        return Vec::new();
    }
    let row = |(position, row): (usize, &ComparedRow)| {
        let path = |field: &str| format!("published_rows/{position}/{field}");
        let figure = |value: Option<f64>, field: &str| match value {
            Some(value) => Cell::figure(value, decimals(value), path(field)),
            None => Cell::number(""),
        };
        let published = match (row.published, row.range) {
            (None, Some([low, high])) => Cell::range(low, high, decimals(high)),
            (published, _) => figure(published, "published"),
        };
        vec![
            Cell::words(&row.name),
            Cell::words(unit(row)),
            published,
            figure(row.simulated, "simulated"),
            Cell::optional(row.error_percent, 1, path("error_percent")),
            Cell::words(row.status.as_str()),
            match row.over_seeds {
                Some([low, high]) => Cell::range(low, high, decimals(high)),
                None => Cell::number(""),
            },
            figure(row.published_peak, "published_peak"),
            figure(row.simulated_peak, "simulated_peak"),
        ]
    };
    let table = Table {
        caption: ROWS_HEADING,
        headers: &[
            "row",
            "unit",
            "published",
            "simulated",
            "error %",
            "",
            "over seeds",
            "peak published",
            "peak simulated",
        ],
        rows: results.published_rows.iter().enumerate().map(row).collect(),
        has_total: false,
    };
    let mut blocks = vec![table.block()];
    blocks.extend(row_sentences(results).into_iter().map(Block::note));
    blocks
}
