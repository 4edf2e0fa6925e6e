//! The numbers that the run was configured with.

use crate::columns::{Cell, Columns, Figure, segment_list};
use crate::html::block::Block;
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
            let (words, unit) = in_words(parameter.value, &parameter.unit);
            let path = format!("arrays/{position}/parameters/{number}/value");
            NumberSet {
                name: parameter.name.clone(),
                figure: Some((parameter.value, path)),
                words,
                unit,
                source: match parameter.fitted_to_segments.as_slice() {
                    [] => parameter.source.clone(),
                    segments => format!("fitted to segments {}", segment_list(segments)),
                },
            }
        };
        let rows: Vec<NumberSet> = array.parameters.iter().enumerate().map(row).collect();
        let rows = [rows, mechanisms(results, &array.name)].concat();
        let columns = Columns::<NumberSet>::new()
            .words("parameter", |row| row.name.clone())
            .number("value", |row| match &row.figure {
                Some((value, path)) => Figure::said(*value, row.words.clone()).at(path).into(),
                None => Cell::Text(row.words.clone()),
            })
            .words("unit", |row| row.unit.clone())
            .words("where from", |row| row.source.clone());
        blocks.extend(columns.block(format!("{}: parameters", array.name), &rows));
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

/// A number that an array was configured with, or a setting of its mechanisms.
#[derive(Clone)]
struct NumberSet {
    name: String,
    /// Its value, and its place in `results.json`.
    figure: Option<(f64, String)>,
    words: String,
    unit: String,
    source: String,
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
fn mechanisms(results: &Results, array: &str) -> Vec<NumberSet> {
    let prefix = format!("array.{array}.");
    let own = results.settings.iter().filter_map(|(full, setting)| {
        let name = full.strip_prefix(&prefix)?;
        let source = results.setting_sources.get(full);
        MECHANISMS.iter().any(|one| name.starts_with(one)).then(|| NumberSet {
            name: name.to_owned(),
            figure: None,
            words: setting.to_string(),
            unit: String::new(),
            source: source.map_or("scenario", String::as_str).to_owned(),
        })
    });
    own.collect()
}
