//! `strewn spindle PROFILE --closed-loop DEPTH`.

use std::sync::Arc;

use strewn::characterization::{RandomLoad, warm_up_commands};
use strewn::results::ClosedLoopFigures;
use strewn::spindle::{Drive, Profile, closed_loop};
use strewn::terminal::{self, Ending, Failure};

use super::{idle_spindle, on_or_off};
use crate::command::arguments::SpindleArguments;

/// Keeps `outstanding` commands at the drive, and prints its throughput and response times.
pub(crate) fn run(
    profile: &Profile,
    outstanding: u32,
    arguments: &SpindleArguments,
) -> Result<Ending, Failure> {
    let drive = Arc::new(Drive::new(profile)?);
    let sectors = arguments.sectors();
    let range = arguments.range();
    let lbas = range.lbas(drive.capacity_sectors());
    let capacity_sectors = drive.capacity_sectors();
    if lbas.end > capacity_sectors {
        return Err(Failure::bad_input(
            format!(
                "--range {range}: the last sector of {} is {}",
                drive.name(),
                capacity_sectors - 1
            ),
            format!("end the range at {capacity_sectors} or 100%"),
        ));
    }
    let mut load = RandomLoad::new(&lbas, sectors, arguments.reads(), arguments.seed());
    let load = load.as_mut().ok_or_else(|| {
        Failure::bad_input(
            format!(
                "--range {range}: {} sectors cannot hold a command of {sectors}",
                lbas.end.saturating_sub(lbas.start)
            ),
            "give a wider range, or fewer --sectors",
        )
    })?;
    let mut spindle = idle_spindle(&drive, arguments)?;
    let commands = arguments.commands();
    let warm_up = warm_up_commands(outstanding);
    let measured =
        closed_loop(&mut spindle, outstanding, warm_up, commands, &mut || load.command())
            .map_err(|error| Failure::failed(error.to_string()))?;
    let figures = ClosedLoopFigures {
        profile: profile.name.clone(),
        scheduler: arguments.scheduler().to_string(),
        cache: on_or_off(arguments).to_owned(),
        outstanding,
        depth: arguments.depth(),
        sectors,
        first_lba: lbas.start,
        end_lba: lbas.end,
        reads_percent: arguments.reads(),
        commands,
        seed: arguments.seed(),
        iops: measured.commands_per_second,
        response_ms: measured.response_ms,
    };
    let text = || strewn::report::closed_loop_text(&figures);
    terminal::print(
        &arguments.format.tables_or(|| strewn::results::figures_json(&figures), text)?,
    )?;
    Ok(Ending::Complete)
}
