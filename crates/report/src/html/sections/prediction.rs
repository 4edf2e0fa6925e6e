//! Simulated figures beside published ones.

use crate::band_words::band_sentences;
use crate::columns::segment_list;
use crate::html::block::Block;
use crate::html::table::{Cell, Table};
use strewn_results::{ArrayResults, FigureRange, PublishedComparison, Ratio, Results};

pub(super) fn prediction(results: &Results) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !results.published.is_empty() {
        let row = |(position, compared): (usize, &PublishedComparison)| {
            let path = |field: &str| format!("published/{position}/{field}");
            let predicted = compared.segments.iter().filter(|segment| !segment.fitted).count();
            vec![
                Cell::words(&compared.array),
                Cell::words(compared.metric.unit()),
                Cell::words(segment_list(&compared.fitted_segments)),
                Cell::number(predicted.to_string()),
                Cell::optional(
                    compared.predicted_rms_error_percent,
                    2,
                    path("predicted_rms_error_percent"),
                ),
                Cell::figure(compared.worst_error_percent, 2, path("worst_error_percent")),
                Cell::number(compared.worst_segment.to_string()),
                over_seeds(compared.over_seeds.and_then(|of| of.predicted_rms_error_percent)),
                over_seeds(compared.over_seeds.map(|of| of.worst_error_percent)),
            ]
        };
        blocks.push(
            Table {
                caption: "Simulated beside published",
                headers: &[
                    "array",
                    "metric",
                    "fitted to segments",
                    "segments predicted",
                    "RMS error of predicted, %",
                    "worst error of all, %",
                    "in segment",
                    "RMS error over seeds, %",
                    "worst error over seeds, %",
                ],
                rows: results.published.iter().enumerate().map(row).collect(),
                has_total: false,
            }
            .block(),
        );
    }
    if !results.ratios.is_empty() {
        let row = |(position, ratio): (usize, &Ratio)| {
            let path = |field: &str| format!("ratios/{position}/{field}");
            vec![
                Cell::words(format!("{} over {}, {}", ratio.of, ratio.over, ratio.name)),
                Cell::number(ratio.segment.to_string()),
                Cell::figure(ratio.published_percent, 1, path("published_percent")),
                Cell::figure(ratio.simulated_percent, 1, path("simulated_percent")),
                ratio.band.map_or(Cell::number(""), |band| Cell::range(band.low, band.high, 1)),
                Cell::words(if ratio.fitted { "fitted" } else { "predicted" }),
            ]
        };
        blocks.push(
            Table {
                caption: "Ratios of IOPS",
                headers: &["ratio", "segment", "published %", "simulated %", "band %", ""],
                rows: results.ratios.iter().enumerate().map(row).collect(),
                has_total: false,
            }
            .block(),
        );
    }
    blocks.extend(bands(results));
    if !results.published.is_empty() || !results.ratios.is_empty() {
        blocks.push(Block::note("A segment is fitted if a parameter of the array was fitted to its published figure; all others are predicted. In charts, fitted figures are hollow, predicted ones filled, and published ones level dashes."));
    }
    blocks
}

/// Returns what the bands of each array contain; nothing without bands.
fn bands(results: &Results) -> Vec<Block> {
    let of_array = |array: &ArrayResults| {
        let sentences = band_sentences(results, array).join(" ");
        (!sentences.is_empty()).then(|| {
            // A text for terminals is ASCII; a page has the true signs.
            let sentences = sentences.replace(" -", " \u{2212}").replace('\'', "\u{2019}");
            Block::paragraph(format!("{}. {sentences}", array.name))
        })
    };
    results.arrays.iter().filter_map(of_array).collect()
}

fn over_seeds(range: Option<FigureRange>) -> Cell {
    range.map_or(Cell::number(""), |range| Cell::range(range.low, range.high, 2))
}
