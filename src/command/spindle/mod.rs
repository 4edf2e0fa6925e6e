//! `strewn spindle`: characterizes and measures drives.

mod characterize;
mod closed_loop;
mod data_sheet;
mod lba_range;
mod profile;
mod replay;
mod responses_file;
mod shipped;
mod trace;

use std::sync::Arc;

use strewn::spindle::{Drive, SimulatedSpindle, SpindleError};
use strewn::terminal::{Ending, Failure};

use super::arguments::SpindleArguments;
use super::spindle_fit;
pub(crate) use lba_range::LbaRange;
pub(crate) use profile::load as load_profile;

const NO_CACHE_HELP: &str = "leave --cache on out, or add a [cache] table to the profile";

/// Lists or prints profiles, fits a drive, replays a trace, runs a closed loop, or characterizes one or two drives.
pub(crate) fn spindle(arguments: &SpindleArguments) -> Result<Ending, Failure> {
    if let Some((flag, needs)) = arguments.stray_flag() {
        return Err(Failure::bad_input(
            format!("{flag} needs {needs}"),
            format!("give {needs} too, or leave {flag} out"),
        ));
    }
    if arguments.list {
        return shipped::list(&arguments.format);
    }
    if let Some(name) = &arguments.print {
        return shipped::print(name);
    }
    if let Some(figures) = &arguments.from_datasheet {
        return data_sheet::run(figures, arguments.out.as_deref(), arguments.force);
    }
    if let (Some(device), Some(out)) = (&arguments.fit, &arguments.out) {
        return spindle_fit::fit(device, out, arguments.force);
    }
    // The parser allows no profile only with the flags above.
    let profile = profile::load(arguments.profile.as_deref().unwrap_or_default())?;
    if let Some(trace) = &arguments.replay {
        replay::run(&profile, trace, arguments)
    } else if let Some(outstanding) = arguments.closed_loop {
        closed_loop::run(&profile, outstanding, arguments)
    } else {
        let second = arguments.beside.as_deref().map(profile::load).transpose()?;
        let profiles: Vec<_> = [Some(profile), second].into_iter().flatten().collect();
        characterize::run(&profiles, arguments)
    }
}

/// Returns an idle spindle configured by the flags.
fn idle_spindle<T: Copy>(
    drive: &Arc<Drive>,
    arguments: &SpindleArguments,
) -> Result<SimulatedSpindle<T>, Failure> {
    let (scheduler, depth) = (arguments.scheduler(), arguments.depth());
    let made = if arguments.cache_is_on() {
        SimulatedSpindle::with_cache(Arc::clone(drive), scheduler, depth)
    } else {
        SimulatedSpindle::new(Arc::clone(drive), scheduler, depth)
    };
    made.map_err(|error| {
        let help = match error {
            SpindleError::NoCache => NO_CACHE_HELP,
            _ => "give a --depth that is",
        };
        Failure::bad_input(format!("{}: {error}", drive.name()), help)
    })
}

fn on_or_off(arguments: &SpindleArguments) -> &'static str {
    if arguments.cache_is_on() { "on" } else { "off" }
}
