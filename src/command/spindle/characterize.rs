//! `strewn spindle PROFILE [PROFILE2]`.

use strewn::characterization::{CharacterizationError, CharacterizationOptions, characterize};
use strewn::report::{self, ChartSize, DRIVE_CHARTS};
use strewn::results;
use strewn::spindle::Profile;
use strewn::terminal::{self, DriveTerminal, Ending, Failure};

use super::NO_CACHE_HELP;
use crate::command::arguments::SpindleArguments;
use crate::command::out_directory::OutDirectory;

/// Name of the figures' file in the directory of `--out`, beside the charts.
const FIGURES_FILE: &str = "drives.json";

/// Characterizes the drives; prints tables or JSON, and draws charts.
pub(crate) fn run(profiles: &[Profile], arguments: &SpindleArguments) -> Result<Ending, Failure> {
    let out = arguments.out.as_deref();
    let charts = DRIVE_CHARTS.iter().map(|chart| chart.file_name().to_owned());
    let names = || std::iter::once(FIGURES_FILE.to_owned()).chain(charts).collect();
    let out = out.map(|path| OutDirectory::check(path, arguments.force, names())).transpose()?;
    let failed = |error: &dyn std::fmt::Display| Failure::failed(error.to_string());
    let options =
        CharacterizationOptions { seed: arguments.seed(), cache: arguments.cache_is_on() };
    let terminal = DriveTerminal::watch();
    let characterized = characterize(profiles, &options, &terminal);
    drop(terminal);
    let drives = characterized.map_err(|error| match error {
        CharacterizationError::Profile(error) => error.into(),
        CharacterizationError::TooSmall { .. } => Failure::bad_input(
            error.to_string(),
            "give --closed-loop with a --range and --sectors that fit, or a larger drive",
        ),
        CharacterizationError::NoCache { .. } => {
            Failure::bad_input(error.to_string(), NO_CACHE_HELP)
        }
        CharacterizationError::Stopped => Failure::stopped(error.to_string()),
        _ => failed(&error),
    })?;
    let json = results::figures_json(&drives).map_err(|error| failed(&error))?;
    // Print first, whether or not there is room for the files.
    let text = arguments.format.tables_or(|| Ok(json.clone()), || report::drive_tables(&drives))?;
    terminal::print(&text)?;
    if let Some(out) = out {
        let mut files = vec![(FIGURES_FILE.to_owned(), json.into_bytes())];
        for chart in DRIVE_CHARTS {
            let svg = chart.draw(&drives, ChartSize::default()).map_err(|error| failed(&error))?;
            files.push((chart.file_name().to_owned(), svg.into_bytes()));
        }
        out.write(&files, |_| "make room, and repeat the command".to_owned())?;
    }
    Ok(Ending::Complete)
}
