//! How far predictions move when what they rest on does: constants that nobody published, rows that were fitted, seeds.

use std::path::Path;

use strewn_results::{ArraySensitivity, RowOutcome, Sensitivity, SensitivityRow, VariedKind};
use strewn_scenario::{Disk, Scenario};

use crate::observer::Observer;
use crate::refit::{self, Refit, RefitError, RefitOptions, Variation};

/// Other seeds that are tried.
const OTHER_SEEDS: u64 = 2;

/// What a row is called, and what it varies.
struct Named {
    name: String,
    constant: String,
    kind: VariedKind,
}

/// Measures how far the predictions of a scenario's text move. Its fitted parameters are fitted again for each row: as
/// it is, with other seeds, with each fitted segment off by the scatter that the scenario declares, one standard
/// deviation, and with each other value of each constant that the scenario says is unknown. `name` is the path of its
/// file. `on_done` is told how many of how many predictions are done.
///
/// # Errors
/// See [`RefitError`]. It is no error if a row reaches no fit: the table says so.
pub fn sensitivity(
    text: &str,
    name: &Path,
    options: RefitOptions,
    observer: &dyn Observer,
    on_done: &(dyn Fn(usize, usize) + Sync),
) -> Result<Sensitivity, RefitError> {
    let scenario = Scenario::parse_with_files(text, name, &Disk)?;
    let (names, variations) = rows(&scenario)?;
    let refits = refit::refit(text, name, &variations, options, observer, on_done)?;
    let mut arrays = Vec::new();
    for (index, array) in scenario.arrays.iter().enumerate() {
        let mut of_array = refits.iter().filter(|refit| refit.array == index);
        let Some(baseline) = of_array.next() else { continue };
        let baseline = baseline.outcome.clone().map_err(|no_fit| RefitError::NoBaseline {
            array: array.name.clone(),
            off_percent: no_fit.off_percent,
        })?;
        arrays.push(ArraySensitivity {
            name: array.name.clone(),
            settings: scenario.digest_of(array),
            fitted: baseline.fitted,
            iops: baseline.iops,
            rows: of_array.map(|refit| row(&names[refit.variation], refit)).collect(),
        });
    }
    Ok(Sensitivity {
        scenario: scenario.name.clone(),
        strewn: env!("CARGO_PKG_VERSION").to_owned(),
        scale_down: options.scale_down.max(1),
        arrays,
    })
}

/// All rows, the baseline first.
fn rows(scenario: &Scenario) -> Result<(Vec<Named>, Vec<Variation>), RefitError> {
    let all: Vec<usize> = (0..scenario.arrays.len()).collect();
    let named =
        |name: String, constant: &str, kind| Named { name, constant: constant.to_owned(), kind };
    let mut rows = vec![(
        named("as it is".to_owned(), "", VariedKind::Unknown),
        Variation { arrays: all.clone(), ..Variation::default() },
    )];
    for seed in (1..=OTHER_SEEDS).map(|more| scenario.seed.wrapping_add(more)) {
        let variation = Variation { seed: Some(seed), arrays: all.clone(), ..Variation::default() };
        rows.push((named(format!("seed {seed}"), "seed", VariedKind::Seed), variation));
    }
    for (index, array) in scenario.arrays.iter().enumerate() {
        let Some(fitted) = &array.fitted else { continue };
        let scatter = fitted.row_scatter_percent;
        for segment in fitted.segments.iter().copied().filter(|_| scatter > 0.0) {
            for percent in [-scatter, scatter] {
                let name = format!("published segment {segment} {percent:+} %");
                let row = Some((segment, 1.0 + percent / 100.0));
                let variation = Variation { row, arrays: vec![index], ..Variation::default() };
                let constant = format!("published segment {segment}");
                rows.push((named(name, &constant, VariedKind::FittedRow), variation));
            }
        }
    }
    for unknown in &scenario.unknowns {
        let constant = &unknown.constant;
        let arrays = scenario
            .arrays_of_setting(constant)
            .map_err(|source| RefitError::Setting { setting: constant.clone(), source })?;
        for value in &unknown.values {
            let settings = vec![(constant.clone(), value.clone())];
            let variation = Variation { settings, arrays: arrays.clone(), ..Variation::default() };
            let name = format!("{constant} = {value}");
            rows.push((named(name, constant, VariedKind::Unknown), variation));
        }
    }
    Ok(rows.into_iter().unzip())
}

fn row(named: &Named, refit: &Refit) -> SensitivityRow {
    SensitivityRow {
        name: named.name.clone(),
        constant: named.constant.clone(),
        kind: named.kind,
        outcome: match refit.outcome.clone() {
            Ok(prediction) => RowOutcome::Fit { fitted: prediction.fitted, iops: prediction.iops },
            Err(no_fit) => RowOutcome::NoFit { errors_percent: no_fit.off_percent },
        },
    }
}
