//! One array: its controller, its spindles and its layout.

use strewn_spindle::{MAX_DEPTH, Scheduler};

use crate::catalog;
use crate::client_raid::{ClientRaid, OfArray};
use crate::failure::SpindleFailure;
use crate::fields::{
    Fields, Naming, Own, Scales, Section, Slot, Table, Text, choice, count, name, numbers, own,
    size, table,
};
use crate::fitted::{self, Fitted};
use crate::front_end::FrontEnd;
use crate::gateway::Gateway;
use crate::host::Host;
use crate::kinds::{ArrayLayout, Kind, Part, WriteAnywhere};
use crate::lun::Lun;
use crate::machine::{Link, Pair};
use crate::page_cache::PageCache;
use crate::presets::{self, Controller};
use crate::processor::Processor;
use crate::setting_value::SettingValue;
use crate::snapshots::SnapshotSchedule;
use crate::spindle_choice::{SPINDLE, SpindleChoice};
use crate::value;
use crate::volume::{Volume, VolumeLuns, by_volume};
use crate::workload;

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

impl Array {
    /// Returns the length of all LUNs together, in bytes.
    #[must_use]
    pub fn lun_bytes(&self) -> u64 {
        self.luns.iter().fold(0, |sum, lun| sum.saturating_add(lun.bytes))
    }

    /// Returns the LUNs by volume, in the order of the first LUN of each: the order in which the array numbers both.
    /// All LUNs of an array in place are in one.
    #[must_use]
    pub fn luns_by_volume(&self) -> Vec<VolumeLuns<'_>> {
        by_volume(&self.luns, &self.volumes)
    }

    /// Returns the schedule of a volume's snapshots: its own, or that of the array.
    #[must_use]
    pub fn snapshots_of(&self, volume: &VolumeLuns<'_>) -> Option<SnapshotSchedule> {
        volume.described.and_then(|volume| volume.snapshots).or(self.layout.snapshots())
    }

    /// Returns the schedules, each with the volumes whose snapshots it takes together, numbered as in
    /// [`luns_by_volume`](Self::luns_by_volume): that of the array first.
    #[must_use]
    pub fn snapshot_schedules(&self) -> Vec<(SnapshotSchedule, Vec<usize>)> {
        let parts = self.luns_by_volume();
        let own = |part: &VolumeLuns<'_>| part.described.and_then(|volume| volume.snapshots);
        let others = || parts.iter().enumerate().filter(|(_, part)| own(part).is_none());
        let of_array =
            self.layout.snapshots().map(|one| (one, others().map(|(at, _)| at).collect()));
        let of_volumes = parts.iter().enumerate();
        let of_volumes = of_volumes.filter_map(|(at, part)| Some((own(part)?, vec![at])));
        of_array
            .filter(|(_, of): &(_, Vec<usize>)| !of.is_empty())
            .into_iter()
            .chain(of_volumes)
            .collect()
    }
}

/// An array without anything, which takes what a text has.
impl Default for Array {
    fn default() -> Self {
        Self {
            name: String::new(),
            outstanding: 0,
            luns: Vec::new(),
            volumes: Vec::new(),
            spindle: SpindleChoice::Shipped(String::new()),
            commands_per_spindle: 0,
            scheduler: Scheduler::default(),
            processor: Processor::default(),
            fitted: None,
            layout: WriteAnywhere::default().into(),
            failures: Vec::new(),
            rebuild_steps_in_flight: 0,
            front_end: None,
            pair: None,
            page_cache: None,
            client_raid: None,
            gateway: None,
        }
    }
}

impl Table for Array {
    fn fields(&mut self, f: &mut Fields<'_>) {
        self.begin(f);
        f.value(
            name("name", "Its name in results and charts; no two arrays share one.")
                .required("\"FAS2050\"")
                .listed(false),
            &mut self.name,
        );
        self.outstanding(f);
        self.controller(f);
        self.luns(f);
        f.tables(
            table(
                Volume::KEY,
                "Volumes of a write-anywhere array. One that only LUNs name is thick, and as large as they are.",
            )
            .each("A volume.")
            .named(Naming::InProblems)
            .owner("volume {name} of {}"),
            &mut self.volumes,
        );
        f.value(
            own(
                "spindle",
                "Its drives: the name of a profile that ships, or the path of a profile's TOML file, relative to the \
                 scenario's folder.",
                &SPINDLE,
            )
            .default(
                "\"seagate-cheetah-15k5-st3146855fc\"",
                "published: the drive of the test, measured by CMU PDL",
            )
            .page(16, "Drive")
            .about("The model of the drives."),
            &mut self.spindle,
        );
        f.value(
            count("commands_per_spindle", "Queued commands from which a drive chooses the next.")
                .at_most(MAX_DEPTH.into())
                .default("8", "chosen: unknown for the FAS2050")
                .refusing(refuse_depth)
                .fit(3)
                .page(18, "Queue of a drive")
                .in_unit("commands"),
            &mut self.commands_per_spindle,
        );
        f.value(
            own(
                "scheduler",
                "Scheduler of a drive: fcfs, sstf, c-look, sptf, aged-sptf or aged-sptf:N.",
                &SCHEDULER,
            )
            .chosen("\"sptf\"")
            .page(17, "Scheduler of a drive")
            .about("The order in which a drive serves what it has queued."),
            &mut self.scheduler,
        );
        f.value(
            count(
                "rebuild_steps_in_flight",
                "Rebuild steps in flight: more steps give the rebuild priority over the host. 2 unless given, a chosen \
                 number.",
            )
            .default("2", "chosen: no source says how many a controller has")
            .listed(self.layout.refusal(Part::RebuildSteps).is_none()),
            &mut self.rebuild_steps_in_flight,
        );
        f.part(
            table(
                "processor",
                "The processor of each controller: what work costs it, and its cores.",
            )
            .required_unless("add [array.processor] and its keys"),
            &mut self.processor,
        );
        f.table(
            table(
                FrontEnd::KEY,
                "How hosts reach the array. Without it, hosts and array share memory, and nothing crosses a wire.",
            )
            .apart(),
            &mut self.front_end,
        );
        f.table(
            table(
                Pair::KEY,
                "A second controller like the first, with an array of its own. The two mirror each other's log and take \
                 over from each other.",
            )
            .apart(),
            &mut self.pair,
        );
        f.table(
            table(
                PageCache::KEY,
                "A page cache of the hosts, between the workload and the array. Without it, every operation goes to the \
                 array.",
            )
            .apart(),
            &mut self.page_cache,
        );
        f.table(
            table(
                ClientRaid::KEY,
                "Hosts that are clients of a parallel file system: each LUN is a file over the objects of several blades, \
                 and clients compute its parity. The rest of the array describes one blade.",
            )
            .apart(),
            &mut self.client_raid,
        );
        f.table(
            table(
                Gateway::KEY,
                "A gateway: the host of the array, which serves its LUNs to a client over a network of their own. The \
                 page cache is then the gateway's, and front_end is the network behind it.",
            )
            .apart(),
            &mut self.gateway,
        );
        f.table(
            table("fitted", "What calibration may fit, and to which published figures.").apart(),
            &mut self.fitted,
        );
        self.layout.fields(f);
        f.tables(
            table("failure", "Spindles that fail during the run.").each("A spindle that fails."),
            &mut self.failures,
        );
    }

    fn rules(&self) -> String {
        let keys: Vec<String> =
            ArrayLayout::all().iter().map(|kind| format!("\"{}\"", kind.table().0)).collect();
        let complete = keys.iter().map(|key| format!("{{ \"required\": [\"processor\", {key}] }}"));
        format!(
            r#""anyOf": [{{ "required": ["controller"] }}, {}], "not": {{ "required": [{}] }}"#,
            complete.collect::<Vec<_>>().join(", "),
            keys.join(", ")
        )
    }
}

impl Array {
    /// Takes the form that the text has: its layout, and what decides which settings it has.
    fn begin(&mut self, f: &mut Fields<'_>) {
        if f.reads() {
            self.layout.begin(f);
            f.context.has_blade_link =
                f.peek_within(ClientRaid::KEY, ClientRaid::BLADE_LINK).is_some();
            return;
        }
        f.context.no_consistency_points = self.layout.refusal(Part::ConsistencyPoints);
        f.context.has_disk_groups =
            self.layout.in_place().is_some_and(|layout| layout.groups.len() > 1);
        f.context.is_pair = self.pair.is_some();
    }

    fn outstanding(&mut self, f: &mut Fields<'_>) {
        let outstanding = workload::outstanding(
            "Host operations kept outstanding against the array. Required unless each [[workload]] has its own.",
        );
        let outstanding =
            outstanding.page(0, "Outstanding operations").about(workload::OUTSTANDING_ABOUT);
        if !f.context.workloads_are_named {
            f.value(outstanding.required_unless("150"), &mut self.outstanding);
        } else if f.reads() {
            f.passes_over(outstanding.key);
            f.refuses(
                outstanding.key,
                "is given beside the outstanding operations of each [[workload]]",
                "leave it out here",
            );
        }
    }

    /// Goes over the controller that ships, whose constants are from here on those of the array.
    fn controller(&mut self, f: &mut Fields<'_>) {
        let mut controller = None;
        f.value(
            choice::<Controller>(
                "controller",
                "A controller that ships: its processor, spindle and layout are those of docs/model.md unless the array \
                 gives its own.",
            ),
            &mut controller,
        );
        if !f.reads() {
            return;
        }
        if f.has("controller") {
            // One that is not known is named by itself. The array is not read, so that any defaults will do.
            let stand_in = || presets::named(self.layout.stand_in()?);
            if let Some(constants) = controller.map(presets::of).or_else(stand_in) {
                f.set_defaults(constants);
            }
        }
        self.layout.begin(f);
        f.context.no_consistency_points = self.layout.refusal(Part::ConsistencyPoints);
    }

    /// Goes over `lun = "1000 GB"`, or each `[[array.lun]]`.
    fn luns(&mut self, f: &mut Fields<'_>) {
        const KEY: &str = "lun";
        let is_list = match f.is_list(KEY) {
            Some(is_list) => is_list,
            None => self.luns.iter().any(|lun| lun.name.is_some()),
        };
        if f.reads() && f.context.workloads_are_named && !f.has(KEY) {
            f.passes_over(KEY);
            f.requires_one_of(
                &[KEY],
                "add [[array.lun]] with the name and the size of each LUN that workloads work on",
            );
            return;
        }
        if !is_list || f.describes() {
            let mut bytes = self.luns.first().map_or(0, |lun| lun.bytes);
            f.value(
                size(KEY, "Length of the LUN that holds the file.")
                    .positive()
                    .required("\"1000 GB\"")
                    .scales(Scales::Whole, "LUN of {}")
                    .page(1, "LUN")
                    .about("Length of the LUN."),
                &mut bytes,
            );
            self.luns = vec![Lun { name: None, bytes, ..Lun::default() }];
        }
        if is_list || f.describes() {
            f.tables(
                table(KEY, "")
                    .each("A LUN.")
                    .either("The LUNs: the length of the only one, or [[array.lun]] with names.")
                    .owner("LUN {name} of {}"),
                &mut self.luns,
            );
        }
    }

    /// Checks the array as a whole, among the links and the hosts that reach it. Those that are not known are left out.
    pub(crate) fn check_among(
        &self,
        s: &Section<'_>,
        links: Option<&[Link]>,
        hosts: Option<&[Host]>,
    ) {
        let kinds = ArrayLayout::all();
        let is_right = kinds.iter().all(|kind| s.is_right(kind.table().0));
        let layout = is_right.then_some(&self.layout);
        let drive_bytes = s.is_right("spindle").then(|| self.spindle.drive_bytes()).flatten();
        check_luns(s, &*self.layout);
        s.check_names(Volume::KEY, |_| {
            (
                "another volume of this array has the same name".to_owned(),
                "LUNs refer to volumes by name: give each its own",
            )
        });
        self.check_form(s, hosts);
        SpindleFailure::check_all(s, &self.failures, layout);
        let kind = &*self.layout;
        if is_right && kind.spindles() == 0 && s.has(kind.table().0) {
            s.problem(kind.table().0, "has no spindles", "give it one at least");
        }
        if let (Some(drive_bytes), [table]) = (drive_bytes, s.inner(kind.table().0)) {
            kind.check_drive(table, drive_bytes);
        }
        let front_end = self.front_end.as_ref().filter(|_| s.is_right(FrontEnd::KEY));
        if let (Some(front_end), [table]) = (&self.front_end, s.inner(FrontEnd::KEY)) {
            let blade_link = s.peek_within(ClientRaid::KEY, ClientRaid::BLADE_LINK);
            front_end.check_way(table, links, hosts, blade_link.as_deref());
        }
        if let (Some(gateway), [table]) = (&self.gateway, s.inner(Gateway::KEY)) {
            gateway.front_end.check_way(table, links, Some(&[]), None);
            if table.is_good() {
                gateway.check_array(s, hosts, front_end, self.page_cache.as_ref());
            }
        }
        if let Some(raid) = self.client_raid.as_ref().filter(|_| s.is_right(ClientRaid::KEY)) {
            let of_array = OfArray {
                links,
                hosts,
                luns: s.is_right("lun").then_some(&self.luns),
                layout,
                front_end,
                drive_bytes: drive_bytes.unwrap_or(catalog::USUAL_DRIVE_BYTES),
            };
            raid.check_array(s, &of_array);
        }
        if let (Some(fitted), [table], Some(layout)) = (&self.fitted, s.inner("fitted"), layout)
            && table.is_right("parameters")
        {
            let like = &mut Self { layout: layout.clone(), ..Self::default() };
            let known = numbers(like, None).into_iter().map(|number| number.name);
            fitted::check_parameters(
                table,
                &fitted.parameters,
                &**layout,
                &known.collect::<Vec<_>>(),
            );
        }
        // A blade has only a part of its LUNs.
        if let Some(layout) = layout.filter(|_| self.client_raid.is_none() && s.is_right("lun")) {
            self.check_room(s, layout, drive_bytes);
        }
    }

    /// Checks which tables the array may have beside each other.
    fn check_form(&self, s: &Section<'_>, hosts: Option<&[Host]>) {
        const REBUILD_STEPS: &str = "rebuild_steps_in_flight";
        let refusal = self.layout.refusal(Part::RebuildSteps);
        if let Some((message, help)) = refusal.filter(|_| s.gives(REBUILD_STEPS)) {
            s.problem(REBUILD_STEPS, message, help);
        }
        if !s.has(FrontEnd::KEY) && hosts.is_some_and(|hosts| !hosts.is_empty()) {
            s.problem(
                FrontEnd::KEY,
                "there are several hosts, and no way from them to the array",
                "add [array.front_end] with a protocol and a path, or leave [[host]] out",
            );
        }
        for (key, part) in [(Pair::KEY, Part::Pair), (Volume::KEY, Part::Volumes)] {
            let refusal = self.layout.refusal(part);
            if let Some((message, help)) = refusal.filter(|_| s.has(key)) {
                s.problem(key, message, help);
            }
        }
    }

    /// Checks that the LUNs, and what volumes reserve, fit the array.
    fn check_room(&self, s: &Section<'_>, layout: &ArrayLayout, drive_bytes: Option<u64>) {
        // What LUNs fit is not known of drives that are not.
        let Some(drive_bytes) = drive_bytes else { return };
        // Each controller of a pair has an aggregate of its own.
        for controller in [1, 2] {
            let luns = self.luns.iter().filter(|lun| lun.controller == controller).cloned();
            let luns: Vec<Lun> = luns.collect();
            if !luns.is_empty() && s.is_right(Volume::KEY) {
                layout.check_room(s, &luns, &self.volumes, drive_bytes);
            }
        }
    }
}

/// Checks the LUNs of an array against what else the array has.
fn check_luns(section: &Section<'_>, kind: &dyn Kind) {
    section.check_names("lun", |_| {
        (
            "another LUN of this array has the same name".to_owned(),
            "workloads refer to LUNs by name: give each its own",
        )
    });
    for table in section.inner("lun") {
        for (key, part) in [
            ("laid_out", Part::LaidOut),
            ("volume", Part::VolumeOfLun),
            ("group", Part::DiskGroups),
        ] {
            if let Some((message, help)) = kind.refusal(part).filter(|_| table.gives(key)) {
                table.problem(key, message, help);
            }
        }
        if table.gives("controller") && !section.has(Pair::KEY) {
            table.problem(
                "controller",
                "only a pair has several controllers",
                "leave the key out, or add [array.pair]",
            );
        }
    }
}

/// Reads a scheduler.
static SCHEDULER: Own = Own {
    read: |value| {
        let name = value::text(value)?;
        match name.parse::<Scheduler>() {
            Ok(_) => Ok(name.into()),
            Err(_) => value::refuse(
                format!("there is no scheduler `{name}`"),
                value::one_of(&name, &catalog::SCHEDULERS),
            ),
        }
    },
    schema: r#""type": "string", "minLength": 1"#,
    takes: "a scheduler",
};

impl Slot for Scheduler {
    fn get(&self) -> Option<SettingValue> {
        Some(self.to_string().into())
    }

    fn set(&mut self, value: SettingValue) {
        if let SettingValue::Text(name) = value
            && let Ok(scheduler) = name.parse()
        {
            *self = scheduler;
        }
    }
}

fn refuse_depth(value: &SettingValue) -> Option<(String, String)> {
    let SettingValue::Count(depth) = *value else { return None };
    (depth > MAX_DEPTH.into())
        .then(|| (format!("is {depth}"), format!("a spindle's queue takes at most {MAX_DEPTH}")))
}
