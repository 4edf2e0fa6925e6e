//! `strewn sensitivity`.

use std::fmt::Write;
use std::path::Path;

use strewn::report::{ArraySensitivity, Published, RowOutcome, Sensitivity};
use strewn::scenario::{Array, ParameterUnit, Scenario};
use strewn::terminal::{self, Ending, Failure, StudyTerminal};
use strewn::{RefitOptions, Replacement};

use super::arguments::SensitivityArguments;
use super::calibrate::quantity;
use super::run::QUICK_SCALE_DOWN;
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
    let file = scenario_file::sensitivity_of(path);
    let unwritable = |error: std::io::Error| {
        Failure::failed(format!("cannot write {}: {error}", file.display()))
            .with_help("make room beside the scenario and give yourself the right to write there, or give --dry-run")
    };
    if !arguments.dry_run {
        // Before minutes of work, not after: what is written here disappears again.
        Replacement::write(&file, &[]).map_err(unwritable)?;
    }
    let options = RefitOptions {
        jobs: arguments.jobs.unwrap_or_default(),
        scale_down: if arguments.quick { QUICK_SCALE_DOWN } else { 1 },
    };
    let progress = StudyTerminal::of_predictions();
    let on_done = |done, of| progress.done(done, of);
    let name = scenario_file::name(path);
    let measured = strewn::sensitivity(&text, name, options, &progress, &on_done);
    // Clear the bar before anything is printed.
    drop(progress);
    let measured = measured?;
    // Print first: minutes of work must not be lost if the file cannot be written.
    terminal::print(&tables(&scenario, &measured)?)?;
    if !arguments.dry_run {
        let written = Replacement::write(&file, measured.to_toml().as_bytes());
        written.and_then(Replacement::put_in_place).map_err(unwritable)?;
        terminal::print(&format!("Written to {}.\n", file.display()))?;
    }
    Ok(Ending::Complete)
}

fn tables(scenario: &Scenario, measured: &Sensitivity) -> Result<String, Failure> {
    let published = match &scenario.published {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|error| {
                Failure::failed(format!("cannot read {}: {error}", path.display()))
            })?;
            let read = Published::from_toml(&text, path);
            Some(read.map_err(|error| Failure::failed(error.to_string()))?)
        }
        None => None,
    };
    let mut text = String::new();
    for of_array in &measured.arrays {
        if let Some(array) = scenario.array(&of_array.name) {
            let figures = published.as_ref().and_then(|all| all.array(&of_array.name));
            let published_iops = |segment: usize| {
                let figures = figures?;
                figures.iops.get(segment).copied().or(figures.steady_iops)
            };
            text.push_str(&table(scenario, array, of_array, published_iops));
        }
    }
    Ok(text)
}

/// Formats the rows of one array: fitted parameters, errors against what is published, and how far the last segment moves.
fn table(
    scenario: &Scenario,
    array: &Array,
    measured: &ArraySensitivity,
    published: impl Fn(usize) -> Option<f64>,
) -> String {
    let fitted = array.fitted.iter().flat_map(|fitted| &fitted.parameters);
    let parameters: Vec<(&String, ParameterUnit)> = fitted
        .map(|name| {
            let unit =
                scenario.parameter(&array.name, name).map_or(ParameterUnit::Number, |of| of.1);
            (name, unit)
        })
        .collect();
    let fitted_to: Vec<u32> =
        array.fitted.iter().flat_map(|fitted| fitted.segments.iter().copied()).collect();
    let baseline = &measured.iops;
    let mut rows = vec![vec!["changed".to_owned()]];
    rows[0].extend(parameters.iter().map(|(name, _)| (*name).clone()));
    rows[0].extend(["RMS %", "worst %", "last IOPS", "change %"].map(str::to_owned));
    let columns = rows[0].len();
    let mut add = |name: &str, fitted: Option<&[f64]>, iops: &[f64]| {
        let mut row = vec![name.to_owned()];
        row.extend(parameters.iter().enumerate().map(|(number, (_, unit))| {
            let value = fitted.and_then(|fitted| fitted.get(number));
            value.map_or_else(String::new, |value| quantity(*value, *unit))
        }));
        let errors: Vec<(u32, f64)> = (1..)
            .zip(iops.iter().enumerate())
            .filter_map(|(segment, (at, ours))| {
                Some((segment, 100.0 * (ours / published(at)? - 1.0)))
            })
            .collect();
        let predicted: Vec<f64> = { errors.iter() }
            .filter(|(segment, _)| !fitted_to.contains(segment))
            .map(|(_, error)| *error)
            .collect();
        let squares: f64 = predicted.iter().map(|error| error * error).sum();
        let rms = (squares / predicted.len() as f64).sqrt();
        let worst = errors.iter().map(|(_, error)| *error);
        let worst = worst.max_by(|one, other| one.abs().total_cmp(&other.abs()));
        let shown = |value: Option<f64>, signed: bool| match value {
            Some(value) if value.is_finite() && signed => format!("{value:+.2}"),
            Some(value) if value.is_finite() => format!("{value:.2}"),
            _ => String::new(),
        };
        row.extend([shown(Some(rms), false), shown(worst, true)]);
        let last = iops.last().zip(baseline.last());
        row.push(last.map_or_else(String::new, |(last, _)| format!("{last:.0}")));
        row.push(shown(last.map(|(last, first)| 100.0 * (last / first - 1.0)), true));
        rows.push(row);
    };
    add("nothing", Some(&measured.fitted), baseline);
    let mut excluded = String::new();
    for row in &measured.rows {
        match &row.outcome {
            RowOutcome::Fit { fitted, iops } => add(&row.name, Some(fitted), iops),
            RowOutcome::NoFit { errors_percent } => {
                let off = errors_percent.iter().map(|off| format!("{off:+.1} %"));
                let off = off.collect::<Vec<_>>().join(" and ");
                let _ = writeln!(
                    excluded,
                    "excluded: {} reaches no fit; its fitted segments are off by {off}",
                    row.name
                );
            }
        }
    }
    let widths: Vec<usize> = (0..columns)
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default())
        .collect();
    let mut text = format!("{}\n\n", measured.name);
    for row in &rows {
        let first = format!("{:width$}", row[0], width = widths[0]);
        let rest = row[1..].iter().zip(&widths[1..]);
        let rest = rest.map(|(cell, width)| format!("  {cell:>width$}")).collect::<String>();
        let _ = writeln!(text, "{first}{rest}");
    }
    if !excluded.is_empty() {
        let _ = write!(text, "\n{excluded}");
    }
    text.push('\n');
    text
}
