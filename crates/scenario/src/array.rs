//! One array: its controller, its spindles and its layout.

use std::error::Error;
use std::io::ErrorKind;
use std::path::Path;

use strewn_spindle::{Profile, ProfileError, Scheduler};

use crate::catalog;
use crate::client_raid::{ClientRaid, Surroundings};
use crate::failure::SpindleFailure;
use crate::files::{ProfileFile, Profiles};
use crate::fitted::Fitted;
use crate::front_end::FrontEnd;
use crate::gateway::Gateway;
use crate::host::Host;
use crate::layout::ArrayLayout;
use crate::machine::{Link, Pair};
use crate::page_cache::PageCache;
use crate::phase::Phase;
use crate::presets::{self, CONTROLLER_WORDS, Controller};
use crate::processor::Processor;
use crate::section::Section;
use crate::value;
use crate::volume::{Volume, VolumeLuns};
use crate::workload::{NamedWorkload, Workload};

/// Most host operations that may be outstanding at an array. A spindle command's tag has room for no more than twice as
/// many.
pub const MOST_OUTSTANDING: u32 = 500_000;

/// Rebuild steps in flight if the scenario does not set them. Chosen: no source says how many a controller has.
const DEFAULT_REBUILD_STEPS: u32 = 2;

/// An array under test.
#[derive(Debug, Clone, PartialEq)]
pub struct Array {
    /// Its name in results and charts; no two arrays of a scenario share one.
    pub name: String,
    /// Host operations kept outstanding against it, of all workloads together; of a scenario with phases, in the phase
    /// that has most.
    pub outstanding: u32,
    /// Its LUNs, which hold the workloads' files.
    pub luns: Vec<Lun>,
    /// The volumes that the scenario describes; LUNs may name others.
    pub volumes: Vec<Volume>,
    /// The drive used for its spindles.
    pub spindle: SpindleChoice,
    /// Length of a drive's queue, from which it chooses the next command, up to
    /// [`strewn_spindle::MAX_DEPTH`]. One more command is in service; the rest wait in the
    /// controller.
    pub commands_per_spindle: u32,
    /// The order in which a spindle serves its commands.
    pub scheduler: Scheduler,
    /// The controller's processor.
    pub processor: Processor,
    /// What calibration may set, if anything.
    pub fitted: Option<Fitted>,
    /// Where blocks are written.
    pub layout: ArrayLayout,
    /// Spindles that fail during the run, in the order of the file.
    pub failures: Vec<SpindleFailure>,
    /// Rebuild steps in flight: more steps give the rebuild priority over the host. It is chosen, and the time of an
    /// idle array's rebuild follows from it.
    pub rebuild_steps_in_flight: u32,
    /// How hosts reach it; `None` for a wire that costs nothing.
    pub front_end: Option<FrontEnd>,
    /// A second controller; `None` for an array with one.
    pub pair: Option<Pair>,
    /// A page cache of its hosts; `None` for hosts that give every operation to the array.
    pub page_cache: Option<PageCache>,
    /// Hosts that compute parity over several such arrays; `None` for one array.
    pub client_raid: Option<ClientRaid>,
    /// A gateway that is its host, and has a client of its own; `None` for hosts on which the workload runs.
    pub gateway: Option<Gateway>,
}

/// A LUN of an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lun {
    /// The name by which workloads refer to it; `None` for the only one of an array, `lun = "1000 GB"`.
    pub name: Option<String>,
    /// Its length in bytes.
    pub bytes: u64,
    /// The volume that it is in, of a write-anywhere array. LUNs that name none share one.
    pub volume: Option<String>,
    /// How much of its file is laid out before the run, in bytes; `None` if all of it is.
    pub laid_out_bytes: Option<u64>,
    /// The disk group that it lies in, counted from 1, of an in-place array; 1 in any other.
    pub group: u16,
    /// The controller of a pair that owns it, 1 or 2; 1 in any other array.
    pub controller: u16,
}

impl Lun {
    /// Reads `lun = "1000 GB"`, or each `[[array.lun]]`. Returns `None` if one has a problem.
    fn read_all(section: &mut Section<'_>, workloads_are_named: bool) -> Option<Vec<Self>> {
        if workloads_are_named && !section.has("lun") {
            section.require_one_of(
                &["lun"],
                "add [[array.lun]] with the name and the size of each LUN that workloads work on",
            );
            return None;
        }
        if !section.is_list("lun") {
            let bytes = section.required("lun", "\"1000 GB\"", value::positive_bytes)?;
            return Some(vec![Self {
                name: None,
                bytes,
                volume: None,
                laid_out_bytes: None,
                group: 1,
                controller: 1,
            }]);
        }
        let mut luns: Vec<Option<Self>> = Vec::new();
        let in_place = section.has("in_place");
        let section_has_pair = section.has(Pair::KEY);
        for mut table in section.sections("lun")? {
            let name = table.required("name", "\"database\"", value::name);
            let bytes = table.required("size", "\"200 GB\"", value::positive_bytes);
            let volume_is_given = table.has("volume");
            let volume = table.optional("volume", value::name);
            let laid_out_is_given = table.has("laid_out");
            let laid_out_bytes = table.optional("laid_out", value::bytes);
            if laid_out_is_given && in_place {
                table.problem(
                    "laid_out",
                    "an array in place lays out nothing: each block has a fixed place",
                    "leave the key out",
                );
            }
            if volume_is_given && in_place {
                table.problem(
                    "volume",
                    "an array in place has no volumes",
                    "leave the key out: each LUN has chunks of its own",
                );
            }
            let group = table.optional_or("group", 1, value::group_number);
            if table.gives("group") && !in_place {
                table.problem(
                    "group",
                    "only an array in place has disk groups",
                    "leave the key out: the LUNs of a write-anywhere array lie on all of its parity groups",
                );
            }
            let controller = table.optional_or("controller", 1, value::controller_number);
            if table.gives("controller") && !section_has_pair {
                table.problem(
                    "controller",
                    "only a pair has several controllers",
                    "leave the key out, or add [array.pair]",
                );
            }
            let mut others = luns.iter().flatten().map(|lun| &lun.name);
            if name.is_some() && others.any(|other| *other == name) {
                table.problem(
                    "name",
                    "another LUN of this array has the same name",
                    "workloads refer to LUNs by name: give each its own",
                );
            }
            table.finish();
            let is_good = volume_is_given == volume.is_some()
                && laid_out_is_given == laid_out_bytes.is_some();
            luns.push(match (name, bytes, group, controller) {
                (Some(name), Some(bytes), Some(group), Some(controller)) if is_good => {
                    let name = Some(name);
                    Some(Self { name, bytes, volume, laid_out_bytes, group, controller })
                }
                _ => None,
            });
        }
        luns.into_iter().collect()
    }
}

/// The drive used for an array's spindles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpindleChoice {
    /// A profile that ships with `strewn-spindle`, by name.
    Shipped(String),
    /// A profile in a file, whose path is already resolved against the scenario's.
    File(ProfileFile),
}

impl Array {
    /// Returns the length of all LUNs together, in bytes.
    #[must_use]
    pub fn lun_bytes(&self) -> u64 {
        self.luns.iter().fold(0, |sum, lun| sum.saturating_add(lun.bytes))
    }

    /// Returns how much of all LUNs the array can have at most, in bytes: those of thin volumes may be larger than the
    /// array.
    #[must_use]
    pub fn stored_lun_bytes(&self) -> u64 {
        match self.layout.write_anywhere() {
            Some(layout) if !self.volumes.is_empty() => self.lun_bytes().min(layout.usable().0),
            _ => self.lun_bytes(),
        }
    }

    /// Returns why a file of `file_bytes` and the array's other data do not fit together, with a
    /// remedy; `None` if they do.
    pub(crate) fn other_data_problem(&self, file_bytes: u64) -> Option<(String, String)> {
        let layout = self.layout.write_anywhere()?;
        let other = layout.other_data?;
        // Most metadata is indirect blocks, one per 510 blocks. A hundredth is five times that.
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
        let most_percent = layout.full_percent_beside(metadata_bytes);
        (other.full_percent > most_percent).then(|| {
            (
                format!(
                    "other data that makes `{}` {} % full leaves no room for what is overwritten",
                    self.name, other.full_percent
                ),
                format!(
                    "give a full_percent of at most {:.1}",
                    (most_percent.max(0.0) * 10.0).floor() / 10.0
                ),
            )
        })
    }

    /// Returns how full other data may make the array's aggregate so that no write waits for room, if it makes it
    /// fuller.
    pub(crate) fn roomy_percent(&self, file_bytes: u64) -> Option<f64> {
        let layout = self.layout.write_anywhere()?;
        let held_back = self.stored_lun_bytes() as f64 * layout.delayed_free_percent / 100.0;
        let dirty = 2.0 * layout.buffer_cache_bytes as f64;
        let roomy = layout.full_percent_beside(file_bytes as f64 / 100.0 + dirty + held_back);
        (layout.other_data?.full_percent > roomy).then_some(roomy)
    }
}

impl Array {
    /// Returns the bytes that snapshots can come to hold and the bytes that the aggregate has left for them, if those
    /// are fewer: each snapshot, and one more that is being deleted, may hold a whole file that has been overwritten
    /// since.
    pub(crate) fn snapshots_may_exceed(
        &self,
        file_bytes_of: impl Fn(&Lun) -> u64,
    ) -> Option<(u64, u64)> {
        let layout = self.layout.write_anywhere()?;
        let held_by = |part: &VolumeLuns<'_>| {
            let kept = u64::from(self.snapshots_of(part)?.keep) + 1;
            let file_bytes: u64 = part.luns.iter().map(|lun| file_bytes_of(lun)).sum();
            // Most metadata is indirect blocks, one per 510 blocks.
            Some((file_bytes + file_bytes / 500).saturating_mul(kept))
        };
        let parts = self.luns_by_volume();
        let held_bytes =
            parts.iter().filter_map(held_by).reduce(|sum, held| sum.saturating_add(held))?;
        let file_bytes = self.luns.iter().map(&file_bytes_of).sum();
        let (usable, _) = layout.usable();
        let other =
            layout.other_data.map_or(0.0, |other| usable as f64 * other.full_percent / 100.0);
        let left_bytes = usable.saturating_sub((other as u64).max(file_bytes));
        (held_bytes > left_bytes).then_some((held_bytes, left_bytes))
    }
}

/// What reading an array must know about the rest of the scenario.
pub(crate) struct Context<'c> {
    /// The folder from which paths in the scenario start.
    pub(crate) folder: &'c Path,
    /// The drive profiles that are files.
    pub(crate) profiles: &'c Profiles<'c>,
    /// The scenario's segments, if they are known.
    pub(crate) segments: Option<u32>,
    /// The length of the run in nanoseconds, if it is known.
    pub(crate) length_ns: Option<u64>,
    /// The workloads, if they have names.
    pub(crate) named_workloads: Option<&'c [Workload]>,
    /// The phases, without those of a scenario in which one has a problem.
    pub(crate) phases: &'c [Phase],
    /// The links; `None` if one has a problem.
    pub(crate) links: Option<&'c [Link]>,
    /// The hosts, if they have names; `None` if one has a problem.
    pub(crate) hosts: Option<&'c [Host]>,
}

impl Context<'_> {
    /// Returns the operations that these workloads keep outstanding on the array of a name.
    fn outstanding(&self, workloads: &[Workload], array: &str) -> u32 {
        let together = |runs: &dyn Fn(&Workload) -> bool| -> u32 {
            let here = workloads.iter().filter(|one| one.runs_on(array) && runs(one));
            here.filter_map(|one| one.named.as_ref()).map(NamedWorkload::all_outstanding).sum()
        };
        let of_phases = self.phases.iter().map(|phase| together(&|one| phase.runs(one)));
        of_phases.max().unwrap_or_else(|| together(&|_| true))
    }

    /// Returns the hosts with a workload on the array of a name; all of them if the workloads are not known.
    fn hosts_of(&self, array: Option<&str>) -> Option<Vec<Host>> {
        let hosts = self.hosts?;
        match (self.named_workloads, array) {
            (Some(workloads), Some(array)) if !workloads.is_empty() => {
                Some(Host::of_array(hosts, workloads, array).into_iter().cloned().collect())
            }
            _ => Some(hosts.to_vec()),
        }
    }
}

impl Array {
    /// Reads one `[[array]]`.
    pub(crate) fn read(mut section: Section<'_>, context: &Context<'_>) -> Option<Self> {
        let name = section.required("name", "\"FAS2050\"", value::name);
        if let Some(name) = &name {
            section.rename(format!("array[{name}]"));
        }
        let outstanding = match context.named_workloads {
            None => section.required("outstanding", "150", value::outstanding),
            Some(workloads) => {
                if section.optional("outstanding", value::outstanding).is_some() {
                    section.problem(
                        "outstanding",
                        "is given beside the outstanding operations of each [[workload]]",
                        "leave it out here",
                    );
                }
                Some(name.as_ref().map_or(0, |name| context.outstanding(workloads, name)))
            }
        };
        let controller_is_given = section.has("controller");
        let controller = section.optional("controller", |v| value::choice(v, &CONTROLLER_WORDS));
        // One that is not known is named by itself. The array is not read, so that any defaults will do.
        let stand_in = match section.has("in_place") {
            true => Controller::Eva4400,
            false => Controller::Fas2050,
        };
        section.set_defaults(presets::of_array(
            controller.or(controller_is_given.then_some(stand_in)),
        ));
        let luns = Lun::read_all(&mut section, context.named_workloads.is_some());
        let volumes = Volume::read_all(&mut section, context.length_ns);
        let spindle = SpindleChoice::read(&mut section, context);
        let commands = section.required("commands_per_spindle", "8", value::queue_depth);
        let scheduler = read_scheduler(&mut section);
        section.require_one_of(&["processor"], "add [array.processor] and its keys");
        let is_in_place = section.has("in_place") && !section.has("write_anywhere");
        let processor = section.section("processor");
        let processor = processor.and_then(|table| Processor::read(table, is_in_place));
        let (spindle, drive_bytes) = spindle.unzip();
        let layout = ArrayLayout::read(&mut section, drive_bytes, context.length_ns);
        let failures = SpindleFailure::read_all(&mut section, layout.as_ref(), context.length_ns);
        let steps = section.optional_or(
            "rebuild_steps_in_flight",
            DEFAULT_REBUILD_STEPS,
            value::positive_count,
        );
        let hosts = context.hosts_of(name.as_deref());
        let hosts = hosts.as_deref();
        let front_end_is_given = section.has(FrontEnd::KEY);
        let front_end = section.section(FrontEnd::KEY);
        let blade_link = ClientRaid::peek_blade_link(&section);
        let blade_link = blade_link.as_deref();
        let front_end =
            front_end.and_then(|table| FrontEnd::read(table, context.links, hosts, blade_link));
        if !front_end_is_given && hosts.is_some_and(|hosts| !hosts.is_empty()) {
            section.problem(
                FrontEnd::KEY,
                "there are several hosts, and no way from them to the array",
                "add [array.front_end] with a protocol and a path, or leave [[host]] out",
            );
        }
        let pair_is_given = section.has(Pair::KEY);
        let pair = section.section(Pair::KEY);
        let pair = pair.and_then(|table| Pair::read(table, context.length_ns));
        if pair_is_given && section.has("in_place") {
            section.problem(
                Pair::KEY,
                "an array that updates in place is simulated behind one controller",
                "leave the table out: its write cache is mirrored in any case, and costs nothing",
            );
        }
        let page_cache_is_given = section.has(PageCache::KEY);
        let page_cache = section.section(PageCache::KEY).and_then(PageCache::read);
        let client_raid_is_given = section.has(ClientRaid::KEY);
        let around = Surroundings {
            links: context.links,
            hosts,
            luns: luns.as_deref(),
            layout: layout.as_ref(),
            front_end: front_end.as_ref(),
            drive_bytes: drive_bytes.unwrap_or(catalog::USUAL_DRIVE_BYTES),
            length_ns: context.length_ns,
        };
        let client_raid = section.section(ClientRaid::KEY);
        let client_raid = client_raid.and_then(|table| ClientRaid::read(table, &around));
        if let Some(raid) = &client_raid {
            raid.check(&section, &around);
        }
        let gateway_is_given = section.has(Gateway::KEY);
        let gateway = section.section(Gateway::KEY);
        let gateway = gateway.and_then(|table| Gateway::read(table, context.links));
        if let Some(gateway) = &gateway {
            let page_cache = page_cache.as_ref();
            gateway.check(&section, hosts, front_end.as_ref(), page_cache);
        }
        let fitted_is_given = section.has("fitted");
        let fitted = section
            .section("fitted")
            .and_then(|fitted| Fitted::read(fitted, layout.as_ref(), context.segments));
        // Each controller of a pair has an aggregate of its own.
        let of_controllers = [1, 2].map(|controller| -> Option<Vec<Lun>> {
            let luns = luns.as_ref()?.iter().filter(|lun| lun.controller == controller).cloned();
            Some(luns.collect()).filter(|luns: &Vec<Lun>| !luns.is_empty())
        });
        for luns in of_controllers.iter().flatten() {
            match (volumes.as_deref(), &layout) {
                // A blade has only a part of them.
                _ if client_raid_is_given => {}
                (Some([]), Some(layout)) => layout.check_luns(&section, luns, drive_bytes),
                (Some(volumes), Some(ArrayLayout::WriteAnywhere(layout))) => {
                    let mut volumes = volumes.to_vec();
                    if pair_is_given {
                        let is_named = |volume: &Volume| {
                            luns.iter().any(|lun| lun.volume.as_ref() == Some(&volume.name))
                        };
                        volumes.retain(is_named);
                    }
                    Volume::check_all(&section, &volumes, luns, layout);
                }
                _ => {}
            }
        }
        section.finish();
        Some(Self {
            name: name?,
            outstanding: outstanding?,
            luns: luns?,
            volumes: volumes?,
            spindle: spindle?,
            commands_per_spindle: commands?,
            scheduler: scheduler?,
            processor: processor?,
            fitted: if fitted_is_given { Some(fitted?) } else { None },
            layout: layout?,
            failures: failures?,
            rebuild_steps_in_flight: steps?,
            front_end: if front_end_is_given { Some(front_end?) } else { None },
            pair: if pair_is_given { Some(pair?) } else { None },
            page_cache: if page_cache_is_given { Some(page_cache?) } else { None },
            client_raid: if client_raid_is_given { Some(client_raid?) } else { None },
            gateway: if gateway_is_given { Some(gateway?) } else { None },
        })
        .filter(|_| !controller_is_given || controller.is_some())
    }
}

fn read_scheduler(section: &mut Section<'_>) -> Option<Scheduler> {
    let scheduler = section.required("scheduler", "\"sptf\"", value::text)?;
    if let Ok(scheduler) = scheduler.parse() {
        return Some(scheduler);
    }
    section.unknown_name("scheduler", "scheduler", &scheduler, &catalog::SCHEDULERS);
    None
}

impl SpindleChoice {
    /// Returns the chosen profile. No file is read: that of a file is kept since the scenario was read.
    ///
    /// # Errors
    ///
    /// If no profile of this name ships. A scenario that was just checked has no such problem.
    pub fn profile(&self) -> Result<Profile, ProfileError> {
        match self {
            Self::Shipped(name) => Profile::shipped(name).ok_or_else(|| ProfileError::Read {
                path: name.clone(),
                source: std::io::ErrorKind::NotFound.into(),
            }),
            Self::File(file) => Ok(file.profile().clone()),
        }
    }

    /// Reads the choice. Returns it with the capacity of that drive in bytes.
    fn read(section: &mut Section<'_>, context: &Context<'_>) -> Option<(Self, u64)> {
        let example = "\"seagate-cheetah-15k5-st3146855fc\"";
        let name = section.required("spindle", example, value::text)?;
        if name.ends_with(".toml") {
            return match context.profiles.profile(&context.folder.join(name)) {
                Ok(file) => {
                    let bytes = catalog::drive_bytes(file.profile());
                    Some((Self::File(file), bytes))
                }
                Err(error) => {
                    section.problem("spindle", with_causes(&error), profile_remedy(&error));
                    None
                }
            };
        }
        let Some(profile) = Profile::shipped(&name) else {
            let known = catalog::spindle_profiles();
            section.unknown_name("spindle", "spindle profile", &name, &known);
            return None;
        };
        Some((Self::Shipped(name), catalog::drive_bytes(&profile)))
    }
}

/// Returns the remedy for a profile's file that cannot be used.
fn profile_remedy(error: &ProfileError) -> &'static str {
    match error {
        ProfileError::Read { source, .. } if source.kind() == ErrorKind::Unsupported => {
            "give the name of a profile that ships: a profile's file is read only by a program that gives the files that \
             a scenario names"
        }
        _ => {
            "give a profile's file, as a path from the scenario's folder, or the name of a profile that ships"
        }
    }
}

/// Returns an error and its causes on one line.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {}", error.to_string().trim());
        cause = error.source();
    }
    text
}
