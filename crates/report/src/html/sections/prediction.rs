//! Simulated figures beside published ones.

use crate::band_words::band_sentences;
use crate::html::block::Block;
use crate::published_tables::{ComparisonAt, RatioAt, comparison_columns, ratio_columns};
use strewn_results::{ArrayResults, Results};

pub(super) fn prediction(results: &Results) -> Vec<Block> {
    let compared: Vec<ComparisonAt<'_>> = results.published.iter().enumerate().collect();
    let ratios: Vec<RatioAt<'_>> = results.ratios.iter().enumerate().collect();
    let compared =
        comparison_columns(results, false).block("Simulated beside published", &compared);
    let ratios = ratio_columns(results, false).block("Ratios of IOPS", &ratios);
    let mut blocks: Vec<Block> = compared.into_iter().chain(ratios).collect();
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
