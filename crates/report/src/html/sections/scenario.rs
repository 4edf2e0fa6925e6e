//! The numbers that the run was configured with.

use crate::columns::segment_list;
use crate::html::block::Block;
use crate::html::table::{Cell, Table};
use strewn_results::words::in_words;
use strewn_results::{Parameter, Results};

pub(super) fn scenario(results: &Results, text: Option<&str>) -> Vec<Block> {
    let mut blocks = vec![Block::paragraph(match &results.real_spindles {
        None => {
            format!("Scenario {}, seed {}. {}", results.scenario, results.seed, where_from(results))
        }
        Some(_) => format!(
            "Array {}, seed {} of the host\u{2019}s operations. Its numbers come from its labels.",
            results.scenario, results.seed
        ),
    })];
    if let Some(scaled) = &results.scaled {
        let changes = scaled.what.clone();
        blocks.push(Block::Scale { divisor: scaled.by, changes });
    }
    for (position, array) in results.arrays.iter().enumerate() {
        let row = |(number, parameter): (usize, &Parameter)| {
            let path = format!("arrays/{position}/parameters/{number}/value");
            let (value, unit) = in_words(parameter.value, &parameter.unit);
            vec![
                Cell::words(&parameter.name),
                Cell::figure_in_words(parameter.value, &value, path),
                Cell::words(unit),
                Cell::words(match parameter.fitted_to_segments.is_empty() {
                    false => format!(
                        "fitted to segments {}",
                        segment_list(&parameter.fitted_to_segments)
                    ),
                    true => parameter.source.clone(),
                }),
            ]
        };
        let rows = array.parameters.iter().enumerate().map(row);
        let table = Table {
            caption: &format!("{}: parameters", array.name),
            headers: &["parameter", "value", "unit", "where from"],
            rows: rows.chain(mechanisms(results, &array.name)).collect(),
            has_total: false,
        };
        blocks.push(table.block());
    }
    if let Some(text) = text {
        let summary = match &results.real_spindles {
            None => {
                "The scenario with what --set changed; the seed, the segments, the scale and the workload may be from the command line"
            }
            Some(_) => "The array\u{2019}s labels",
        };
        blocks.push(Block::Source { summary, text: text.to_owned() });
    }
    blocks
}

/// Says what the words in the column "where from" mean.
fn where_from(results: &Results) -> &'static str {
    match results.setting_sources.is_empty() {
        false => {
            "A fitted number was fitted to published figures, to those of the segments named if there are any. \
             \u{201c}scenario\u{201d}: the scenario gives it. \u{201c}controller\u{201d}: a constant of the controller \
             that the scenario names; some of these were fitted when that controller was modelled. \
             \u{201c}default\u{201d}: neither gives it. docs/model.md has the sources of constants and defaults."
        }
        // Results of older versions, and of a scenario that gives everything.
        true => {
            "A fitted number names the published segments it was fitted to; every other number was set before the run, \
             from a source or by choice."
        }
    }
}

/// The beginnings of the names of settings, below their array, that decide what a controller does and are no
/// parameters: switches, and what is listed only where a switch is on.
const MECHANISMS: [&str; 5] = [
    "in_place.full_stripe_destage",
    "write_anywhere.read_reallocation",
    "write_anywhere.relocation_reads_in_flight",
    "write_anywhere.reallocation_scan.",
    "write_anywhere.cleaning.",
];

/// Returns a row for each setting of an array's mechanisms.
fn mechanisms(results: &Results, array: &str) -> Vec<Vec<Cell>> {
    let prefix = format!("array.{array}.");
    let own = results.settings.iter().filter_map(|(full, setting)| {
        let name = full.strip_prefix(&prefix)?;
        MECHANISMS.iter().any(|one| name.starts_with(one)).then(|| {
            let value = Cell::number(setting.to_string());
            let source = results.setting_sources.get(full);
            let source = source.map_or("scenario", String::as_str);
            vec![Cell::words(name), value, Cell::words(""), Cell::words(source)]
        })
    });
    own.collect()
}
