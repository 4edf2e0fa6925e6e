//! `strewn array status`.

use std::fmt::Write;
use std::path::Path;

use clap::Args;
use strewn::scenario::Bytes;
use strewn::terminal::{self, Ending, Failure};
use strewn_live::Configuration;
use strewn_live::administration::Inventory;
use strewn_live::assembly::{Condition, Status, look};
use strewn_live::format::{DeviceRole, MemberState};

use super::inventory::Kind;
use super::{ArrayDirectory, administered, inventory, status_json};

/// `strewn array status`.
#[derive(Debug, Args)]
pub(super) struct StatusArguments {
    #[command(flatten)]
    array: ArrayDirectory,
    /// Print JSON instead of lines
    #[arg(long)]
    json: bool,
}

/// Shows the condition of an array.
pub(super) fn status(arguments: &StatusArguments) -> Result<Ending, Failure> {
    let status = look(&arguments.array.place()).map_err(|error| super::not_assembled(&error))?;
    let inventory = administered::inventory_of_status(&arguments.array, &status);
    let text = match arguments.json {
        true => status_json::json(&status, &inventory),
        false => lines(&status, &inventory),
    };
    terminal::print(&text)?;
    Ok(Ending::Complete)
}

/// Returns the word for a spindle's state.
pub(super) fn state(state: MemberState, is_there: bool) -> &'static str {
    match (state, is_there) {
        (MemberState::Failed, _) => "failed",
        (_, false) => "lost",
        (MemberState::Present, true) => "present",
        (MemberState::Rebuilding, true) => "rebuilding",
    }
}

/// Returns the word for an array's condition.
pub(super) fn condition(condition: Condition) -> &'static str {
    match condition {
        Condition::Whole => "whole",
        Condition::Degraded => "degraded",
        Condition::Unusable => "unusable",
    }
}

/// Returns the layouts of all groups, each once.
fn layouts(configuration: &Configuration) -> String {
    let mut names: Vec<&str> =
        configuration.groups().iter().map(|group| group.layout.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.reverse();
    names.join(" and ")
}

fn lines(status: &Status, inventory: &Inventory) -> String {
    let configuration = &status.configuration;
    let in_use = match &status.in_use {
        None => "no".to_owned(),
        Some((_, Some(process))) => format!("yes, by process {process}"),
        Some((_, None)) => "yes".to_owned(),
    };
    let superblock = match &status.superblock {
        None => "none: no spindle has a superblock that is whole".to_owned(),
        Some(superblock) => {
            let end = if superblock.clean { "shut down with it" } else { "not shut down" };
            format!("{}, {end}", superblock.consistency_point)
        }
    };
    let path = |path: Option<&Path>| path.map_or("-".to_owned(), |path| path.display().to_string());
    let mut text = format!(
        "array              {}\n\
         format             {}\n\
         layout             {}, {} spindles\n\
         condition          {}\n\
         in use             {in_use}\n\
         consistency point  {superblock}\n",
        status.label.array,
        status.label.version,
        layouts(configuration),
        configuration.spindles(),
        condition(status.condition),
    );
    let groups = configuration.groups();
    for (number, group) in (1..).zip(&groups).filter(|_| groups.len() > 1) {
        let (first, last) = (group.spindles.start, group.spindles.end - 1);
        let size = Bytes(group.device_bytes());
        let lost = group.spindles.clone().filter(|position| {
            let spindle = &status.spindles[usize::from(*position)];
            spindle.path.is_none() || spindle.state != MemberState::Present
        });
        let lost = match lost.count() {
            0 => String::new(),
            lost => format!("; {lost} lost of {} that parity covers", group.redundancy()),
        };
        let _ = writeln!(
            text,
            "parity group {number:<5} {}, spindles {first} to {last} of {}{lost}",
            group.layout,
            size.approximately()
        );
    }
    for (role, log) in status.label.log_roles().zip(&status.logs) {
        let shown = path(log.path.as_deref());
        let _ = match role {
            DeviceRole::Log => writeln!(text, "log                {shown}"),
            role => {
                let state = state(log.state, log.path.is_some());
                writeln!(text, "{:<18} {state:<10} {shown}", role.to_string())
            }
        };
    }
    for (position, spindle) in status.spindles.iter().enumerate() {
        let state = state(spindle.state, spindle.path.is_some());
        let shown = path(spindle.path.as_deref());
        let _ = writeln!(text, "spindle {position:<10} {state:<10} {shown}");
    }
    for kind in [Kind::Volumes, Kind::Luns, Kind::Snapshots] {
        text += &inventory::lines(inventory, kind);
    }
    if let Some(free_bytes) = inventory.free_bytes {
        let _ = writeln!(text, "free               {}", Bytes(free_bytes));
    }
    if let Some(claimed_bytes) = inventory.claimed_bytes.filter(|bytes| *bytes > 0) {
        let _ = writeln!(text, "of it claimed      {}", Bytes(claimed_bytes));
    }
    if !status.has_initialization_map {
        text += "no spindle has an initialization map that is whole\n";
    }
    for problem in &status.problems {
        let _ = writeln!(text, "{problem}\n  help: {}", problem.remedy());
    }
    text
}
