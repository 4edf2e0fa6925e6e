//! `strewn spindle PROFILE [PROFILE2]`.

use strewn::report::{self, ChartSize, DRIVE_CHARTS};
use strewn::spindle::Profile;
use strewn::study::{StudyError, StudyOptions, study};
use strewn::terminal::{self, Ending, Failure, StudyTerminal};

use super::NO_CACHE_HELP;
use crate::command::arguments::SpindleArguments;
use crate::command::out_directory::OutDirectory;

/// The files of `--out`: the study as JSON, and then a chart for each of [`DRIVE_CHARTS`].
const NAMES: [&str; 1 + DRIVE_CHARTS.len()] = {
    let mut names = ["drives.json"; 1 + DRIVE_CHARTS.len()];
    let mut chart = 0;
    while chart < DRIVE_CHARTS.len() {
        names[1 + chart] = DRIVE_CHARTS[chart].file_name();
        chart += 1;
    }
    names
};

/// Studies the drives; prints tables or JSON, and draws charts.
pub(crate) fn run(profiles: &[Profile], arguments: &SpindleArguments) -> Result<Ending, Failure> {
    let out = arguments.out.as_deref();
    let out = out.map(|path| OutDirectory::check(path, arguments.force, &NAMES)).transpose()?;
    let failed = |error: &dyn std::fmt::Display| Failure::failed(error.to_string());
    let options = StudyOptions { seed: arguments.seed(), cache: arguments.cache_is_on() };
    let terminal = StudyTerminal::watch();
    let studied = study(profiles, &options, &terminal);
    drop(terminal);
    let study = studied.map_err(|error| match error {
        StudyError::Profile(error) => error.into(),
        StudyError::TooSmall { .. } => Failure::bad_input(
            error.to_string(),
            "give --closed-loop with a --range and --sectors that fit, or a larger drive",
        ),
        StudyError::NoCache { .. } => Failure::bad_input(error.to_string(), NO_CACHE_HELP),
        StudyError::Stopped => Failure::stopped(error.to_string()),
        _ => failed(&error),
    })?;
    let json = report::figures_json(&study).map_err(|error| failed(&error))?;
    if let Some(out) = out {
        let mut contents = vec![json.clone().into_bytes()];
        for chart in DRIVE_CHARTS {
            let svg = chart.draw(&study, ChartSize::default()).map_err(|error| failed(&error))?;
            contents.push(svg.into_bytes());
        }
        out.write(&contents)?;
    }
    terminal::print(&if arguments.json { json } else { report::drive_tables(&study) })?;
    Ok(Ending::Complete)
}
