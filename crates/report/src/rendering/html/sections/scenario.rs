//! The numbers that the run was configured with.

use crate::data::quantity::in_words;
use crate::data::results::{Parameter, Results};
use crate::rendering::columns::segment_list;
use crate::rendering::html::block::Block;
use crate::rendering::html::table::{Cell, Table};

pub(super) fn scenario(results: &Results, text: Option<&str>) -> Vec<Block> {
    let mut blocks = vec![Block::paragraph(match &results.real_spindles {
        None => format!(
            "Scenario {}, seed {}. A fitted number names the published segments it was fitted to; every other number was set \
             before the run, from a source or by choice.",
            results.scenario, results.seed
        ),
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
                Cell::words(match parameter.fitted {
                    true => format!(
                        "fitted to segments {}",
                        segment_list(&parameter.fitted_to_segments)
                    ),
                    false => parameter.source.clone(),
                }),
            ]
        };
        let table = Table {
            caption: &format!("{}: parameters", array.name),
            headers: &["parameter", "value", "unit", "where from"],
            rows: array.parameters.iter().enumerate().map(row).collect(),
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
