//! What requests are simulated on: a drive, or an array of a scenario.

use std::path::Path;

use strewn::file::{
    CostOptions, FileCommands, FileCost, FileError, LayoutCost, LunRequest, SimulatedFigures,
    SpindleModel,
};
use strewn::scenario::Scenario;
use strewn::sim::RequestGroup;
use strewn::terminal::Failure;
use strewn::{laid_out_lun_bytes, run_lun_requests};

use crate::command::load::file_and_name;
use crate::command::{scenario_file, spindle};

/// The drive that files are simulated on unless another is named.
const DEFAULT_DRIVE: &str = "nearline-7200-16tb";

/// Bytes of the longest profile or scenario that is read; the longest that ships has some kilobytes.
const LONGEST_BYTES: u64 = 16 << 20;

/// What requests are simulated on.
pub(super) enum Target {
    /// A drive for each device of the file system.
    Drive(SpindleModel),
    /// An array, one LUN of which is the device of the file system.
    Array { scenario: Box<Scenario>, index: usize },
}

impl Target {
    /// Returns what `--on` names.
    pub(super) fn of(on: Option<&str>) -> Result<Self, Failure> {
        let named = on.unwrap_or(DEFAULT_DRIVE);
        let (path, array) = file_and_name(named);
        if let Ok(metadata) = std::fs::metadata(&path)
            && (!metadata.is_file() || metadata.len() > LONGEST_BYTES)
        {
            return Err(Failure::bad_input(
                format!("--on {}: it is no drive profile and no scenario", path.display()),
                "give the name of a profile that ships, a profile's TOML file, or SCENARIO[:ARRAY]",
            ));
        }
        if array.is_none() && !is_scenario(&path) {
            let profile = spindle::load_profile(named)?;
            return SpindleModel::new(&profile).map(Self::Drive).map_err(super::bad_input);
        }
        let scenario = scenario_file::load(&path)?;
        let names: Vec<&str> = scenario.arrays.iter().map(|array| array.name.as_str()).collect();
        let index = match (array, names.as_slice()) {
            (Some(name), names) => names.iter().position(|known| *known == name),
            (None, [_]) => Some(0),
            (None, _) => None,
        };
        let index = index.ok_or_else(|| {
            let what = match array {
                Some(name) => format!("--on {}: there is no array {name}", path.display()),
                None => format!("--on {} has {} arrays", path.display(), names.len()),
            };
            let first = names.first().copied().unwrap_or_default();
            let all: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
            let path = path.display();
            Failure::bad_input(
                what,
                format!("say which: {}; as in --on '{path}:{first}'", all.join(", ")),
            )
        })?;
        Ok(Self::Array { scenario: Box::new(scenario), index })
    }

    /// Simulates requests to a file as it lies, and to the same file laid out contiguously.
    pub(super) fn simulate(
        &self,
        commands: &FileCommands,
        options: CostOptions,
    ) -> Result<FileCost, FileError> {
        match self {
            Self::Drive(model) => commands.simulate(model),
            Self::Array { scenario, index } => on_array(commands, options, scenario, *index),
        }
    }
}

/// Whether a file is a scenario: it names arrays, which a drive profile does not.
fn is_scenario(path: &Path) -> bool {
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    if !is_toml {
        return false;
    }
    // A drive profile is an error of its own kind, and so is what cannot be read.
    let text = super::output::read_bounded(path).unwrap_or_default();
    text.lines().any(|line| line.trim_start().starts_with("[[array"))
}

fn on_array(
    commands: &FileCommands,
    options: CostOptions,
    scenario: &Scenario,
    index: usize,
) -> Result<FileCost, FileError> {
    let lun_bytes = laid_out_lun_bytes(scenario, index);
    let requests = commands.lun_requests(lun_bytes, options.max_command_bytes)?;
    let run = |requests: Vec<LunRequest>, outstanding| {
        let group =
            |one: LunRequest| RequestGroup { direction: one.direction, extents: one.extents };
        let groups = requests.into_iter().map(group).collect();
        let figures = run_lun_requests(scenario, index, groups, outstanding).map_err(|error| {
            FileError::input(error.to_string(), "run the scenario by itself, or name a drive")
        })?;
        Ok::<_, FileError>(figures.map(|of| SimulatedFigures {
            iops: of.iops,
            response_ms: of.response_ms,
            response_95_ms: of.response_95_ms,
            mb_per_s: of.mb_per_s,
            measured_requests: of.measured_requests,
            drive_commands_per_request: of.spindle_commands_per_request,
        }))
    };
    let simulated_requests = requests.as_it_lies.len() as u64;
    let now = run(requests.as_it_lies, requests.outstanding)?;
    let contiguous = run(requests.contiguous, requests.outstanding)?;
    let plan = commands.plan();
    Ok(FileCost {
        workload: plan.workload().to_owned(),
        sequential: plan.is_sequential(),
        outstanding: plan.outstanding(),
        requests: plan.requests().len() as u64,
        unknown_requests: commands.unknown_requests(),
        as_it_lies: LayoutCost { counts: commands.as_it_lies(), simulated: now },
        contiguous: LayoutCost { counts: commands.contiguous(), simulated: contiguous },
        contiguous_at: commands.contiguous_at(),
        drive: format!("array {} of {}", scenario.arrays[index].name, scenario.name),
        simulated_requests,
        shifts: Vec::new(),
    })
}
