//! `strewn calibrate`.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use strewn::scenario::{Bytes, Disk, ParameterUnit, Scenario, record_fitted, with_settings};
use strewn::terminal::{self, Ending, Failure, Terminal};
use strewn::{Calibration, FittedParameter, RowCalibration};

use super::arguments::CalibrateArguments;
use super::scenario_file;
use strewn::Replacement;

/// Fits the parameters, prints the fit, and writes it into the scenario's file.
pub(crate) fn calibrate(arguments: &CalibrateArguments) -> Result<Ending, Failure> {
    let path = &arguments.scenario;
    if path == Path::new("-") && !arguments.dry_run {
        return Err(Failure::bad_input(
            "what fits cannot be written into standard input",
            "give the path of the scenario's file, or --dry-run",
        ));
    }
    let (scenario, scenario_text) = scenario_file::load_with_text(path)?;
    let jobs = arguments.jobs.unwrap_or_default();
    let terminal = Terminal::of_calibration(&scenario);
    let by_segment = scenario.arrays.iter().any(|array| array.fitted.is_some());
    let calibrations = match by_segment || scenario.fitted.is_empty() {
        true => strewn::calibrate(&scenario, jobs, &terminal),
        false => Ok(Vec::new()),
    };
    let of_rows = match scenario.fitted.is_empty() {
        true => Ok(Vec::new()),
        false => strewn::calibrate_rows(&scenario_text, path, jobs, &terminal),
    };
    // Clear the progress bars before anything is printed.
    drop(terminal);
    let (calibrations, of_rows) = (calibrations?, of_rows?);

    let mut text = String::new();
    for calibration in &calibrations {
        text.push_str(&described(calibration));
    }
    for calibration in &of_rows {
        text.push_str(&described_rows(calibration));
    }
    // Print first: the fit must not be lost if the file cannot be written.
    terminal::print(&text)?;
    if arguments.dry_run {
        terminal::print(&format!("{} is unchanged.\n", path.display()))?;
    } else {
        record(path, &calibrations, &of_rows)?;
        terminal::print(&format!("Written to {}.\n", path.display()))?;
    }
    Ok(Ending::Complete)
}

/// Writes every fitted number into the scenario's file. The file is read again first, because it may have been edited
/// meanwhile.
fn record(
    path: &Path,
    calibrations: &[Calibration],
    of_rows: &[RowCalibration],
) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::failed(format!("cannot write what was fitted into {}: {error}", path.display()))
            .with_help("the numbers above can be entered by hand")
    };
    // Resolve a symbolic link, so that the file is replaced and not the link.
    let file = path.canonicalize().map_err(|error| failed(&error))?;
    let mut text = fs::read_to_string(&file).map_err(|error| failed(&error))?;
    for calibration in calibrations {
        for parameter in &calibration.parameters {
            text = record_fitted(&text, &calibration.array, &parameter.name, parameter.after)
                .map_err(|error| failed(&error))?;
        }
    }
    for calibration in of_rows {
        let again = Scenario::parse_with_files(&text, path, &Disk)?;
        let names = again.fitted_values(&calibration.parameter)?;
        let names: Vec<String> = names.into_iter().map(|(name, _)| name).collect();
        text = with_settings(&text, &names, &calibration.written())
            .ok_or_else(|| failed(&"the file no longer gives the setting"))?;
    }
    Scenario::parse_with_files(&text, path, &Disk)?;
    let replacement = Replacement::write(&file, text.as_bytes());
    replacement.and_then(Replacement::put_in_place).map_err(|error| failed(&error))
}

/// Formats the fit of one array.
fn described(calibration: &Calibration) -> String {
    let mut text = format!("{}, {} simulations\n\n", calibration.array, calibration.simulations);
    let rows: Vec<[String; 3]> = calibration.parameters.iter().map(row).collect();
    let [name, before, after] =
        [0, 1, 2].map(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or_default());
    for row in &rows {
        let _ = writeln!(text, "  {:name$}  {:>before$} -> {:>after$}", row[0], row[1], row[2]);
    }
    text.push_str("\n  segment  published IOPS  simulated IOPS  error %\n");
    for segment in &calibration.segments {
        let error_percent = 100.0 * (segment.simulated / segment.published - 1.0);
        let _ = writeln!(
            text,
            "  {:>7}  {:>14.0}  {:>14.0}  {error_percent:>+7.2}",
            segment.index, segment.published, segment.simulated
        );
    }
    text.push('\n');
    text
}

/// Formats the fit of a setting to rows.
fn described_rows(calibration: &RowCalibration) -> String {
    let RowCalibration { parameter, before, after, rows, simulations } = calibration;
    let mut text = format!("{parameter}: {before} -> {after}, {simulations} simulations\n\n");
    for (name, published, simulated) in rows {
        let error_percent = 100.0 * (simulated / published - 1.0);
        let _ = writeln!(
            text,
            "  {name}: published {published}, simulated {simulated:.2}, error {error_percent:+.2} %"
        );
    }
    text.push('\n');
    text
}

fn row(parameter: &FittedParameter) -> [String; 3] {
    let shown = |value| quantity(value, parameter.unit);
    [parameter.name.clone(), shown(parameter.before), shown(parameter.after)]
}

/// Formats a value with its unit.
pub(super) fn quantity(value: f64, unit: ParameterUnit) -> String {
    match unit {
        // Nanoseconds are costs of a controller, some tens of microseconds.
        ParameterUnit::Nanoseconds => format!("{} us", value.round() / 1e3),
        ParameterUnit::Bytes => Bytes(value.round() as u64).to_string(),
        ParameterUnit::Percent => format!("{value:.2} %"),
        ParameterUnit::Count => format!("{value:.0}"),
        ParameterUnit::Number => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_in_units_a_person_would_use() {
        for (value, unit, shown) in [
            (57_000.0, ParameterUnit::Nanoseconds, "57 us"),
            (57_123.4, ParameterUnit::Nanoseconds, "57.123 us"),
            (1_048_576.0, ParameterUnit::Bytes, "1 MiB"),
            (12.5, ParameterUnit::Percent, "12.50 %"),
            (16.0, ParameterUnit::Count, "16"),
        ] {
            assert_eq!(quantity(value, unit), shown);
        }
    }
}
