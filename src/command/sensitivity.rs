//! `strewn sensitivity`.

use std::fmt::Write;
use std::path::Path;

use strewn::report;
use strewn::results::{
    ArraySensitivity, Metric, Published, PublishedArray, RowOutcome, Sensitivity, SensitivityRow,
    root_mean_square,
};
use strewn::scenario::{Array, ParameterUnit, Scenario};
use strewn::terminal::{self, DriveTerminal, Ending, Failure};
use strewn::{QUICK_SCALE_DOWN, RefitOptions, Replacement};

use super::arguments::SensitivityArguments;
use super::calibrate::quantity;
use super::out_directory::check_replaceable;
use super::scenario_file;

/// Fits and predicts again under every change, prints the table, and writes it beside the scenario.
pub(crate) fn sensitivity(arguments: &SensitivityArguments) -> Result<Ending, Failure> {
    let path = &arguments.scenario;
    if path == Path::new("-") && !arguments.dry_run {
        return Err(Failure::bad_input(
            "the table cannot be written beside standard input",
            "give the path of the scenario's file, or --dry-run",
        ));
    }
    let (scenario, text) = scenario_file::load_with_text(path)?;
    let file = strewn::sensitivity_path(path);
    let unwritable = |error: std::io::Error| {
        Failure::failed(format!("cannot write {}: {error}", file.display()))
            .with_help("make room beside the scenario and give yourself the right to write there, or give --dry-run")
    };
    if !arguments.dry_run {
        check_replaceable(&file, "move it away, or give --dry-run")?;
        // Before minutes of work, not after: what is written here disappears again.
        Replacement::write(&file, &[]).map_err(unwritable)?;
    }
    let options = RefitOptions {
        jobs: arguments.jobs.unwrap_or_default(),
        scale_down: if arguments.quick { QUICK_SCALE_DOWN } else { 1 },
    };
    let progress = DriveTerminal::of_predictions();
    let on_done = |done, of| progress.done(done, of);
    let name = scenario_file::name(path);
    let measured = strewn::sensitivity(&text, name, options, &progress, &on_done);
    // Clear the bar before anything is printed.
    drop(progress);
    let measured = measured?;
    // Print first: minutes of work must not be lost if the file cannot be written.
    let published = strewn::published(&scenario)?;
    let tables = || tables(&scenario, &measured, published.as_ref());
    terminal::print(&arguments.format.draw(tables))?;
    if !arguments.dry_run {
        let written = Replacement::write(&file, measured.to_toml().as_bytes());
        written.and_then(Replacement::put_in_place).map_err(unwritable)?;
        let said = format!("Written to {}.", file.display());
        match arguments.format.is_for_programs() {
            true => terminal::say_to_person(&said),
            false => terminal::print(&format!("{said}\n"))?,
        }
    }
    Ok(Ending::Complete)
}

fn tables(scenario: &Scenario, measured: &Sensitivity, published: Option<&Published>) -> String {
    let mut text = String::new();
    for of_array in &measured.arrays {
        if let Some(array) = scenario.array(&of_array.name) {
            let figures = published.and_then(|all| all.array(&of_array.name));
            text.push_str(&table(scenario, array, of_array, figures));
        }
    }
    text
}

/// Formats the rows of one array: fitted parameters, errors against what is published, and how far the last segment
/// moves.
fn table(
    scenario: &Scenario,
    array: &Array,
    measured: &ArraySensitivity,
    published: Option<&PublishedArray>,
) -> String {
    let names: Vec<&String> = array.fitted.iter().flat_map(|fitted| &fitted.parameters).collect();
    let units: Vec<ParameterUnit> = names
        .iter()
        .map(|name| scenario.parameter(&array.name, name).map_or(ParameterUnit::Number, |of| of.1))
        .collect();
    let row =
        |name: &str, fitted: &[f64], iops: &[f64]| {
            let (rms, worst) = errors(array, iops, published);
            let last = iops.last().zip(measured.iops.last());
            let change_percent = last.map(|(last, baseline)| 100.0 * (last / baseline - 1.0));
            let mut row = vec![name.to_owned()];
            row.extend(units.iter().enumerate().map(|(number, unit)| {
                optional(fitted.get(number), |value| quantity(*value, *unit))
            }));
            row.push(optional(rms, |percent| format!("{percent:.2}")));
            row.push(optional(worst, |percent| format!("{percent:+.2}")));
            row.push(optional(last, |(last, _)| format!("{last:.0}")));
            row.push(optional(change_percent, |percent| format!("{percent:+.2}")));
            row
        };
    let mut header = vec!["changed".to_owned()];
    header.extend(names.iter().map(|name| (*name).clone()));
    header.extend(["RMS %", "worst %", "last IOPS", "change %"].map(str::to_owned));
    let mut rows = vec![row("nothing", &measured.fitted, &measured.iops)];
    let mut excluded = String::new();
    for SensitivityRow { name, outcome, .. } in &measured.rows {
        match outcome {
            RowOutcome::Fit { fitted, iops } => rows.push(row(name, fitted, iops)),
            RowOutcome::NoFit { errors_percent } => {
                let off = errors_percent.iter().map(|off| format!("{off:+.1} %"));
                let off = off.collect::<Vec<_>>().join(" and ");
                let _ = writeln!(
                    excluded,
                    "excluded: {name} reaches no fit; its fitted segments are off by {off}"
                );
            }
        }
    }
    let between = if excluded.is_empty() { "" } else { "\n" };
    format!("{}\n\n{}{between}{excluded}\n", measured.name, report::words_table(&header, &rows))
}

/// Returns the RMS error of the segments that nothing was fitted to, and the worst error of all, in percent.
fn errors(
    array: &Array,
    iops: &[f64],
    published: Option<&PublishedArray>,
) -> (Option<f64>, Option<f64>) {
    let is_fitted = |segment: &u32| {
        array.fitted.as_ref().is_some_and(|fitted| fitted.segments.contains(segment))
    };
    let errors: Vec<(u32, f64)> = (1..)
        .zip(iops)
        .filter_map(|(segment, ours)| {
            Some((segment, 100.0 * (ours / published?.figure(Metric::Iops, segment)? - 1.0)))
        })
        .collect();
    let predicted = errors.iter().filter(|(segment, _)| !is_fitted(segment));
    let worst = errors.iter().map(|(_, error)| *error);
    (
        root_mean_square(predicted.map(|(_, error)| *error)),
        worst.max_by(|one, other| one.abs().total_cmp(&other.abs())),
    )
}

fn optional<T>(value: Option<T>, shown: impl Fn(T) -> String) -> String {
    value.map_or_else(String::new, shown)
}
