//! One array: its controller, its spindles, and how it lays out what it is given.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::{Path, PathBuf};

use strewn_spindle::{Profile, ProfileError, Scheduler};
use toml::Spanned;

use crate::catalog;
use crate::failure::SpindleFailure;
use crate::in_place::InPlace;
use crate::parameter;
use crate::quantity::Bytes;
use crate::section::Section;
use crate::value;
use crate::write_anywhere::WriteAnywhere;

/// Steps of a rebuild under way at once where a scenario does not say.
const DEFAULT_REBUILD_STEPS: u32 = 2;

/// An array under test.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// Its name in results and charts; no two arrays of a scenario share one.
    pub name: String,
    /// Host operations kept outstanding against it.
    pub outstanding: u32,
    /// Length of the LUN the workload's file is in, in bytes.
    pub lun_bytes: u64,
    /// What its spindles are.
    pub spindle: SpindleChoice,
    /// Commands that a drive chooses among when it has served one, up to
    /// [`strewn_spindle::MAX_DEPTH`]; one more is in service, the rest wait in the controller.
    pub commands_per_spindle: u32,
    /// How a spindle orders its commands: the name of one of `strewn-spindle`'s schedulers.
    pub scheduler: String,
    /// What the controller's processor spends.
    pub processor: Processor,
    /// What calibration may set, if anything.
    pub fitted: Option<Fitted>,
    /// How blocks are laid out.
    pub layout: Layout,
    /// Spindles that fail in the course of the run, in the order of the file.
    pub failures: Vec<SpindleFailure>,
    /// Steps of a rebuild under way at once: its priority over the host.
    pub rebuild_steps_in_flight: u32,
}

/// Which drive an array's spindles are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpindleChoice {
    /// A profile that ships with `strewn-spindle`, by name.
    Shipped(String),
    /// A profile in a file, whose path is already resolved against the scenario's.
    File(PathBuf),
}

/// The controller's processor, as one server with three costs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Processor {
    /// For a host operation, in nanoseconds.
    pub host_operation_ns: f64,
    /// For a command to a spindle, in nanoseconds.
    pub spindle_command_ns: f64,
    /// For each KiB moved between host and memory or memory and spindle, in nanoseconds.
    pub per_kib_ns: f64,
}

/// What calibration may set, and what it may look at to do so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitted {
    /// Names of parameters, as [`Scenario::set_parameter`](crate::Scenario::set_parameter) takes
    /// them: at most two for a write-anywhere array, one for an in-place array.
    pub parameters: Vec<String>,
    /// The segments, counted from 1, whose published figures may be looked at.
    pub segments: Vec<u32>,
}

/// Where an array puts a block that is written again.
#[derive(Debug, Clone, PartialEq)]
pub enum Layout {
    /// Somewhere else: a copy-on-write layout over one parity group.
    WriteAnywhere(WriteAnywhere),
    /// Where it was: VRAID over redundancy sets.
    InPlace(InPlace),
}

impl Layout {
    /// The most parameters that calibration may fit for such an array: the rule that keeps a
    /// comparison with published figures a prediction.
    #[must_use]
    pub fn fitted_parameters_limit(&self) -> usize {
        match self {
            Self::WriteAnywhere(_) => 2,
            Self::InPlace(_) => 1,
        }
    }
}

impl Array {
    /// Why a file of so many bytes and the array's other data do not go together, and what would; nothing if they do.
    pub(crate) fn other_data_problem(&self, file_bytes: u64) -> Option<(String, String)> {
        let Layout::WriteAnywhere(layout) = &self.layout else { return None };
        let other = layout.other_data?;
        // Of metadata an indirect block to 510 blocks is most; a hundredth is five times that.
        let metadata_bytes = file_bytes as f64 / 100.0;
        let usable = layout.usable().0 as f64;
        let filled_percent = 100.0 * (file_bytes as f64 + metadata_bytes) / usable;
        if other.full_percent < filled_percent {
            return Some((
                format!(
                    "with its metadata the file alone may fill {filled_percent:.1} % of `{}`, which other data is to \
                     make {} % full",
                    self.name, other.full_percent
                ),
                "give a smaller file, or a larger full_percent".to_owned(),
            ));
        }
        let raw = u64::from(layout.data_spindles).saturating_mul(layout.right_sized_bytes) as f64;
        let held_back = self.lun_bytes as f64 * layout.delayed_free_percent / 100.0;
        let needed = metadata_bytes + 2.0 * layout.buffer_cache_bytes as f64 + held_back;
        let most_percent = 100.0 * (raw - needed) / usable;
        (other.full_percent > most_percent).then(|| {
            (
                format!(
                    "other data that makes `{}` {} % full leaves too little room for what is overwritten and freed",
                    self.name, other.full_percent
                ),
                format!("give a full_percent of at most {:.1}", most_percent.max(0.0)),
            )
        })
    }
}

/// What reading one array needs to know of the rest.
pub(crate) struct Context<'c> {
    /// The folder that paths in the scenario start from.
    pub(crate) folder: &'c Path,
    /// The scenario's segments, if they are known.
    pub(crate) segments: Option<u32>,
    /// The length of the run in nanoseconds, if it is known.
    pub(crate) length_ns: Option<u64>,
}

impl Array {
    /// Reads one `[[array]]`.
    pub(crate) fn read(mut section: Section<'_>, context: &Context<'_>) -> Option<Self> {
        let name = section.required("name", "\"FAS2050\"", value::name);
        if let Some(name) = &name {
            section.rename(format!("array[{name}]"));
        }
        let outstanding = section.required("outstanding", "150", value::positive_count);
        let lun_bytes = section.required("lun", "\"1000 GB\"", value::positive_bytes);
        let spindle = SpindleChoice::read(&mut section, context.folder);
        let commands = section.required("commands_per_spindle", "8", value::queue_depth);
        let scheduler = read_scheduler(&mut section);
        section.require_one_of(&["processor"], "add [array.processor] and its keys");
        let processor = section.section("processor").and_then(Processor::read);
        let (spindle, drive_bytes) = spindle.unzip();
        let layout = Layout::read(&mut section, drive_bytes);
        let failures = SpindleFailure::read_all(&mut section, layout.as_ref(), context.length_ns);
        let steps = section.optional_or(
            "rebuild_steps_in_flight",
            DEFAULT_REBUILD_STEPS,
            value::positive_count,
        );
        let fitted_is_given = section.has("fitted");
        let fitted = section
            .section("fitted")
            .and_then(|fitted| Fitted::read(fitted, layout.as_ref(), context.segments));
        if let (Some(lun), Some(layout)) = (lun_bytes, &layout) {
            layout.check_lun(&section, lun, drive_bytes);
        }
        section.finish();
        Some(Self {
            name: name?,
            outstanding: outstanding?,
            lun_bytes: lun_bytes?,
            spindle: spindle?,
            commands_per_spindle: commands?,
            scheduler: scheduler?,
            processor: processor?,
            fitted: if fitted_is_given { Some(fitted?) } else { None },
            layout: layout?,
            failures: failures?,
            rebuild_steps_in_flight: steps?,
        })
    }
}

fn read_scheduler(section: &mut Section<'_>) -> Option<String> {
    let scheduler = section.required("scheduler", "\"sptf\"", value::text)?;
    if scheduler.parse::<Scheduler>().is_ok() {
        return Some(scheduler);
    }
    section.unknown_name("scheduler", "scheduler", &scheduler, &catalog::SCHEDULERS);
    None
}

impl SpindleChoice {
    /// The profile chosen, read and checked.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is no valid profile; if no profile of the name ships. A
    /// scenario that was checked just now has neither.
    pub fn profile(&self) -> Result<Profile, ProfileError> {
        match self {
            Self::Shipped(name) => Profile::shipped(name).ok_or_else(|| ProfileError::Read {
                path: name.clone(),
                source: std::io::ErrorKind::NotFound.into(),
            }),
            Self::File(path) => Profile::from_path(path),
        }
    }

    /// Reads the choice, and what a drive of the profile chosen holds, in bytes.
    fn read(section: &mut Section<'_>, folder: &Path) -> Option<(Self, u64)> {
        let example = "\"seagate-cheetah-15k5-st3146855fc\"";
        let name = section.required("spindle", example, value::text)?;
        let choice = if name.ends_with(".toml") {
            Self::File(folder.join(name))
        } else {
            let known = catalog::spindle_profiles();
            if !known.contains(&name.as_str()) {
                section.unknown_name("spindle", "spindle profile", &name, &known);
                return None;
            }
            Self::Shipped(name)
        };
        match choice.profile() {
            Ok(profile) => Some((choice, catalog::drive_bytes(&profile))),
            Err(error) => {
                section.problem(
                    "spindle",
                    with_causes(&error),
                    "give a profile's file, as a path from the scenario's folder, or the name of \
                     a profile that ships",
                );
                None
            }
        }
    }
}

/// An error and what it came of, on one line.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {}", error.to_string().trim());
        cause = error.source();
    }
    text
}

impl Processor {
    fn read(mut section: Section<'_>) -> Option<Self> {
        let host = section.required("host_operation", "\"76 us\"", value::cost_nanoseconds);
        let spindle = section.required("spindle_command", "\"110 us\"", value::cost_nanoseconds);
        let per_kib = section.required("per_kib", "\"0.5 us\"", value::cost_nanoseconds);
        section.finish();
        Some(Self { host_operation_ns: host?, spindle_command_ns: spindle?, per_kib_ns: per_kib? })
    }
}

impl Layout {
    /// Reads the one of `[array.write_anywhere]` and `[array.in_place]` that there must be.
    fn read(section: &mut Section<'_>, drive_bytes: Option<u64>) -> Option<Self> {
        if section.has("write_anywhere") && section.has("in_place") {
            // Which of the two is meant is not known, so neither is looked into.
            section.get("write_anywhere");
            section.get("in_place");
            section.problem(
                "in_place",
                "the array has both a write_anywhere and an in_place layout",
                "keep one of [array.write_anywhere] and [array.in_place]",
            );
            return None;
        }
        section.require_one_of(
            &["write_anywhere", "in_place"],
            "add [array.write_anywhere] or [array.in_place] and its keys",
        );
        let write_anywhere = section
            .section("write_anywhere")
            .and_then(|section| WriteAnywhere::read(section, drive_bytes))
            .map(Self::WriteAnywhere);
        let in_place = section.section("in_place").and_then(InPlace::read).map(Self::InPlace);
        write_anywhere.or(in_place)
    }

    fn check_lun(&self, section: &Section<'_>, lun_bytes: u64, drive_bytes: Option<u64>) {
        let drive_bytes = drive_bytes.unwrap_or(catalog::USUAL_DRIVE_BYTES);
        let (usable, how) = match self {
            Self::WriteAnywhere(layout) => layout.usable(),
            Self::InPlace(layout) => layout.usable(drive_bytes),
        };
        if lun_bytes > usable {
            let (lun, about) = (Bytes(lun_bytes), Bytes(usable).approximately());
            // Whole GiB, down, so that what is advised does fit.
            let most = Bytes(usable >> 30 << 30);
            section.problem(
                "lun",
                format!("a LUN of {lun} is larger than the array's usable {about}"),
                format!("give at most {most}, or a larger array: it has {how}"),
            );
        }
    }
}

impl Fitted {
    fn read(
        mut section: Section<'_>,
        layout: Option<&Layout>,
        segments: Option<u32>,
    ) -> Option<Self> {
        let example = "[\"processor.host_operation\", \"processor.spindle_command\"]";
        let parameters = section.list("parameters", example, value::text);
        let looked_at = section.list("segments", "[1, 2]", value::positive_count);
        if let (Some(parameters), Some(layout)) = (&parameters, layout) {
            check_parameters(&section, parameters, layout);
        }
        if let (Some(looked_at), Some(segments)) = (&looked_at, segments) {
            check_segments(&section, looked_at, segments);
        }
        section.finish();
        Some(Self {
            parameters: parameters?.into_iter().map(Spanned::into_inner).collect(),
            segments: looked_at?.into_iter().map(Spanned::into_inner).collect(),
        })
    }
}

fn check_parameters(section: &Section<'_>, parameters: &[Spanned<String>], layout: &Layout) {
    let limit = layout.fitted_parameters_limit();
    if parameters.len() > limit {
        let kind = match layout {
            Layout::WriteAnywhere(_) => "a write-anywhere",
            Layout::InPlace(_) => "an in-place",
        };
        section.problem(
            "parameters",
            format!("{} parameters are fitted", parameters.len()),
            format!(
                "few fitted numbers keep the rest a prediction: list at most {limit} for {kind} \
                 array"
            ),
        );
    }
    let mut seen = BTreeSet::new();
    for parameter in parameters {
        let name = parameter.get_ref();
        let known = parameter::names(layout);
        if !known.contains(&name.as_str()) {
            let message = format!("there is no parameter `{name}`");
            let help = value::one_of(name, &known);
            section.problem_at(parameter.span(), "parameters", message, help);
        } else if !seen.insert(name) {
            let message = format!("`{name}` is listed twice");
            section.problem_at(parameter.span(), "parameters", message, "list it once");
        }
    }
}

fn check_segments(section: &Section<'_>, looked_at: &[Spanned<u32>], segments: u32) {
    let mut seen = BTreeSet::new();
    for segment in looked_at {
        let index = *segment.get_ref();
        if index > segments {
            section.problem_at(
                segment.span(),
                "segments",
                format!("there is no segment {index}"),
                format!("the scenario has segments 1 to {segments}"),
            );
        } else if !seen.insert(index) {
            let message = format!("segment {index} is listed twice");
            section.problem_at(segment.span(), "segments", message, "list it once");
        }
    }
}
