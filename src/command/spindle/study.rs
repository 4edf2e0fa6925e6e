//! `strewn spindle PROFILE [PROFILE2]`.

use strewn::report::{self, ChartSize, DRIVE_CHARTS};
use strewn::results;
use strewn::spindle::Profile;
use strewn::study::{DriveStudyError, StudyOptions, study};
use strewn::terminal::{self, Ending, Failure, StudyTerminal};

use super::NO_CACHE_HELP;
use crate::command::arguments::SpindleArguments;
use crate::command::out_directory::OutDirectory;

/// Name of the study's file in the directory of `--out`, beside the charts.
const STUDY_FILE: &str = "drives.json";

/// Studies the drives; prints tables or JSON, and draws charts.
pub(crate) fn run(profiles: &[Profile], arguments: &SpindleArguments) -> Result<Ending, Failure> {
    let out = arguments.out.as_deref();
    let charts = DRIVE_CHARTS.iter().map(|chart| chart.file_name().to_owned());
    let names = || std::iter::once(STUDY_FILE.to_owned()).chain(charts).collect();
    let out = out.map(|path| OutDirectory::check(path, arguments.force, names())).transpose()?;
    let failed = |error: &dyn std::fmt::Display| Failure::failed(error.to_string());
    let options = StudyOptions { seed: arguments.seed(), cache: arguments.cache_is_on() };
    let terminal = StudyTerminal::watch();
    let studied = study(profiles, &options, &terminal);
    drop(terminal);
    let study = studied.map_err(|error| match error {
        DriveStudyError::Profile(error) => error.into(),
        DriveStudyError::TooSmall { .. } => Failure::bad_input(
            error.to_string(),
            "give --closed-loop with a --range and --sectors that fit, or a larger drive",
        ),
        DriveStudyError::NoCache { .. } => Failure::bad_input(error.to_string(), NO_CACHE_HELP),
        DriveStudyError::Stopped => Failure::stopped(error.to_string()),
        _ => failed(&error),
    })?;
    let json = results::figures_json(&study).map_err(|error| failed(&error))?;
    // Print first, whether or not there is room for the files.
    terminal::print(&if arguments.json { json.clone() } else { report::drive_tables(&study) })?;
    if let Some(out) = out {
        let mut files = vec![(STUDY_FILE.to_owned(), json.into_bytes())];
        for chart in DRIVE_CHARTS {
            let svg = chart.draw(&study, ChartSize::default()).map_err(|error| failed(&error))?;
            files.push((chart.file_name().to_owned(), svg.into_bytes()));
        }
        out.write(&files, |_| "make room, and repeat the command".to_owned())?;
    }
    Ok(Ending::Complete)
}
