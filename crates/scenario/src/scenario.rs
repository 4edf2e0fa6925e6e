//! A whole scenario: reading its file, and the checks that concern more than one part.

use std::path::{Path, PathBuf};

use toml::de::DeTable;

use crate::array::Array;
use crate::between_parts::{
    check_array_names, check_duplicates, check_files, check_hosts, check_phase_count, check_phases,
    file_bytes_of, laid_out_bytes_of,
};
use crate::fields::{
    self, Around, Context, Fields, Naming, Own, Problems, Scales, Section, Slot, Table, Text,
    count, name, own, table, time, whole,
};
use crate::files::{Disk, Files, NoFiles, Profiles};
use crate::fitted_rows::{FittedRows, MOST_FITTED};
use crate::host::{Host, MOST_HOSTS};
use crate::lun::Lun;
use crate::machine::Link;
use crate::overhead::Overhead;
use crate::phase::{self, MOST_PHASES, Phase};
use crate::problem::{Problem, ProblemKind, ScenarioError};
use crate::setting_value::SettingValue;
use crate::source_text::SourceText;
use crate::unknown::Unknown;
use crate::until::{UNTIL, Until};
use crate::value;
use crate::workload::{self, NamedWorkload, Workload};

/// An experiment that has passed every check, so that it can be run.
///
/// Plain data in base units: bytes and nanoseconds. The fields are public, so that code can vary an
/// experiment; [`check`](Self::check) checks what it made of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Its name in results.
    pub name: String,
    /// Its title in reports.
    pub title: String,
    /// Seed of every random choice of a run.
    pub seed: u64,
    /// Number of segments of the run, of all phases together. Each segment is measured on its own.
    pub segments: u32,
    /// What ends the run before its last segment, if anything does.
    pub until: Option<Until>,
    /// Length of a segment in nanoseconds.
    pub segment_ns: u64,
    /// How long the arrays run before the first segment, in nanoseconds; none if they are measured from the start on.
    pub warm_up_ns: Option<u64>,
    /// Distance between adjacent blocks of a spindle, in blocks. More than 1 in a scenario that is
    /// scaled down, so that seeks keep their lengths. 1 at full scale.
    pub spindle_stretch: u32,
    /// The file of published figures, resolved against the scenario's own folder. The comparison
    /// and calibration use it.
    pub published: Option<PathBuf>,
    /// The operations of the hosts: one workload, or several with names.
    pub workloads: Vec<Workload>,
    /// The parts of the run, in order; none if all workloads run from its start to its end.
    pub phases: Vec<Phase>,
    /// The hosts, to which workloads refer by name; none if there is one without a name.
    pub hosts: Vec<Host>,
    /// Links, to which hosts and arrays refer by name.
    pub links: Vec<Link>,
    /// The arrays under test, in the order of the file; at least one.
    pub arrays: Vec<Array>,
    /// The cost of spindles that hold no data.
    pub overhead: Option<Overhead>,
    /// Constants that nobody published, and what else they might have been. No run depends on them.
    pub unknowns: Vec<Unknown>,
    /// Settings that are fitted to rows of the published tables.
    pub fitted: Vec<FittedRows>,
    /// The text that it was read from, for [`origins`](Self::origins).
    pub text: SourceText,
}

/// The version of the format that this crate reads.
pub(crate) const SCHEMA: u64 = 1;

impl Scenario {
    /// Reads and checks a scenario's file, and the drive profiles that it names.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, with every problem found in it, or if there is no file of
    /// published figures where it says.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ScenarioError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path)
            .map_err(|error| ScenarioError::unreadable(path, error))?;
        let scenario = Self::parse_with_files(&text, path, &Disk)?;
        match &scenario.published {
            Some(published) if !published.is_file() => {
                Err(ScenarioError::problems_in(path, &text, vec![no_published(&text, published)]))
            }
            _ => Ok(scenario),
        }
    }

    /// Checks a scenario's text. `name` is the path of its file: errors give it, and relative paths
    /// in the text start from its folder. No file is read, so that a drive profile's file is refused:
    /// see [`parse_with_files`](Self::parse_with_files).
    ///
    /// # Errors
    ///
    /// With every problem found in the text.
    pub fn parse(text: &str, name: impl AsRef<Path>) -> Result<Self, ScenarioError> {
        Self::parse_with_files(text, name, &NoFiles)
    }

    /// Checks a scenario's text as [`parse`](Self::parse) does, and reads the drive profiles that it
    /// names from `files`: [`Disk`], or texts that the program has. The scenario keeps them.
    ///
    /// # Errors
    ///
    /// With every problem found in the text, or in a profile that it names.
    pub fn parse_with_files(
        text: &str,
        name: impl AsRef<Path>,
        files: &dyn Files,
    ) -> Result<Self, ScenarioError> {
        Self::parse_at(text, name.as_ref(), &Profiles::from(files))
    }

    /// Not generic, so that it is compiled here and not again by each caller.
    pub(crate) fn parse_at(
        text: &str,
        path: &Path,
        profiles: &Profiles<'_>,
    ) -> Result<Self, ScenarioError> {
        let problems = Problems::new(text);
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in &errors {
            problems.add(
                ProblemKind::Syntax,
                error.span().unwrap_or_default(),
                String::new(),
                error.message().trim(),
                syntax_remedy(text, error.span().unwrap_or_default().start, error.message()),
            );
        }
        // After a syntax error, tables may be cut short: a missing key would be a false report.
        let scenario = errors.is_empty().then(|| {
            let folder = path.parent().unwrap_or(Path::new(""));
            Self::read(text, &mut Section::root(&table, &problems), folder, profiles)
        });
        let problems = problems.into_found();
        match scenario {
            Some(scenario) if problems.is_empty() => Ok(scenario),
            _ => Err(ScenarioError::problems_in(path, text, problems)),
        }
    }

    /// Returns a scenario without anything, which takes what a text has.
    pub(crate) fn blank() -> Self {
        Self {
            name: String::new(),
            title: String::new(),
            seed: 0,
            segments: 0,
            segment_ns: 0,
            until: None,
            warm_up_ns: None,
            spindle_stretch: 1,
            published: None,
            workloads: Vec::new(),
            phases: Vec::new(),
            hosts: Vec::new(),
            links: Vec::new(),
            arrays: Vec::new(),
            overhead: None,
            unknowns: Vec::new(),
            fitted: Vec::new(),
            text: "".into(),
        }
    }

    fn read(text: &str, section: &mut Section<'_>, folder: &Path, profiles: &Profiles<'_>) -> Self {
        let mut scenario = Self { text: text.into(), ..Self::blank() };
        fields::read(section, &mut scenario, Naming::Numbers, Context::default());
        scenario.published = scenario.published.map(|path| folder.join(path));
        for (array, table) in scenario.arrays.iter_mut().zip(section.inner_mut("array")) {
            array.spindle.read_file(table, folder, profiles);
        }
        if section.inner("array").iter().any(|table| !table.is_good()) {
            section.spoil("array");
        }
        if scenario.phases.is_empty() {
            // Phases have the segments.
        } else if let Some(segments) = total_segments(section, &scenario.phases) {
            scenario.segments = segments;
        }
        scenario.count_outstanding();
        scenario.check_read(section);
        scenario
    }

    /// Sets the operations that each array has outstanding to those of its workloads, if these have names.
    fn count_outstanding(&mut self) {
        if !self.is_named() {
            return;
        }
        let (workloads, phases) = (&self.workloads, &self.phases);
        for array in &mut self.arrays {
            let together = |runs: &dyn Fn(&Workload) -> bool| -> u32 {
                let here = workloads.iter().filter(|one| one.runs_on(&array.name) && runs(one));
                here.filter_map(|one| one.named.as_ref()).map(NamedWorkload::all_outstanding).sum()
            };
            let of_phases = phases.iter().map(|phase| together(&|one| phase.runs(one)));
            array.outstanding = of_phases.max().unwrap_or_else(|| together(&|_| true));
        }
    }

    /// Checks a scenario that was read.
    fn check_read(&mut self, s: &Section<'_>) {
        // None, as one may set it where a file has one.
        self.warm_up_ns.take_if(|ns| *ns == 0);
        let length_ns = u64::from(self.segments)
            .checked_mul(self.segment_ns)
            .and_then(|segments_ns| segments_ns.checked_add(self.warm_up_ns.unwrap_or(0)));
        let has_length = s.are_right(&["segments", "segment", "warm_up", "phase"]);
        let around = Around {
            segments: s.are_right(&["segments", "phase"]).then_some(self.segments),
            length_ns: length_ns.filter(|_| has_length),
        };
        fields::check(s, self, &around);
        self.check_parts(s);
    }

    /// Checks what parts of the scenario say of each other.
    fn check_parts(&self, s: &Section<'_>) {
        let tables = s.inner("array");
        let names: Vec<String> = tables.iter().filter_map(|table| table.peek("name")).collect();
        let good = self.arrays.iter().zip(tables).filter(|(_, table)| table.is_good());
        let arrays: Vec<&Array> = good.map(|(array, _)| array).collect();
        let workloads = s.is_right("workload").then_some(self.workloads.as_slice());
        let links = s.is_right("link").then_some(self.links.as_slice());
        let hosts = s.is_right("host").then_some(self.hosts.as_slice());
        if let Some(workloads) = workloads {
            workload::check_all(s, workloads);
        }
        if s.is_right("phase") {
            check_phase_count(s, &self.phases);
            if let Some(workloads) = workloads.filter(|_| !self.phases.is_empty()) {
                phase::check_workloads(s, &self.phases, workloads);
            }
        }
        if let Some(links) = links {
            for (host, table) in self.hosts.iter().zip(s.inner(Host::KEY)) {
                if table.is_right("path") {
                    Link::check_named(table, &host.path, links);
                }
            }
        }
        for (array, table) in self.arrays.iter().zip(tables) {
            let of_array = hosts.map(|hosts| match workloads {
                Some(workloads) if table.is_right("name") && self.is_named() => {
                    Host::of_array(hosts, workloads, &array.name).into_iter().cloned().collect()
                }
                _ => hosts.to_vec(),
            });
            array.check_among(table, links, of_array.as_deref());
        }
        if let (Some(overhead), [table]) = (&self.overhead, s.inner("overhead")) {
            overhead.check_arrays(table, &names, &arrays);
        }
        check_hosts(s, workloads, hosts);
        check_files(s, workloads, &arrays);
        check_array_names(s, workloads, &names);
        let phases = if s.is_right("phase") { self.phases.as_slice() } else { &[] };
        check_phases(s, phases, workloads, &arrays);
    }

    /// Returns the array of a name.
    #[must_use]
    pub fn array(&self, name: &str) -> Option<&Array> {
        self.arrays.iter().find(|array| array.name == name)
    }

    /// Returns the hosts of an array, in the order of the file: those with a workload that runs on it. None if hosts
    /// have no names.
    #[must_use]
    pub fn hosts_of(&self, array: &str) -> Vec<&Host> {
        Host::of_array(&self.hosts, &self.workloads, array)
    }

    /// Returns the number of the host that has a workload of an array: its place in [`hosts_of`](Self::hosts_of), or 0
    /// if hosts have no names.
    #[must_use]
    pub fn host_of(&self, array: &str, workload: &Workload) -> usize {
        let place = self.hosts_of(array).iter().position(|host| workload.is_of_host(&host.name));
        place.unwrap_or(0)
    }

    /// Returns the phase that a segment is in, counted from 1; `None` in a scenario without phases.
    #[must_use]
    pub fn phase_of(&self, segment: u32) -> Option<&Phase> {
        let mut end = 0_u64;
        self.phases.iter().find(|phase| {
            end += u64::from(phase.segments);
            u64::from(segment) <= end
        })
    }

    /// Returns the length of the part of a LUN of `array` that workloads work on, in bytes.
    #[must_use]
    pub fn file_bytes_of(&self, array: &Array, lun: &Lun) -> u64 {
        file_bytes_of(&self.workloads, array, lun)
    }

    /// Returns the length of what is laid out of a LUN of `array` before the run, in bytes.
    #[must_use]
    pub fn laid_out_bytes_of(&self, array: &Array, lun: &Lun) -> u64 {
        laid_out_bytes_of(&self.workloads, array, lun)
    }

    /// Returns the sum of these parts over the LUNs of `array`.
    #[must_use]
    pub fn file_bytes(&self, array: &Array) -> u64 {
        array.luns.iter().map(|lun| self.file_bytes_of(array, lun)).sum()
    }

    /// Returns whether a workload writes to a LUN of `array`.
    #[must_use]
    pub fn writes_to(&self, array: &Array, lun: &Lun) -> bool {
        let mut on_it = self.workloads.iter().filter(|workload| workload.is_on(&array.name, lun));
        // What is not known may write.
        on_it.any(|workload| workload.specification().map_or(true, |of| of.read_fraction() < 1.0))
    }

    /// Returns the sum of the parts under load over the LUNs of `array` that workloads write to: what ages. If they
    /// write to none, that of all LUNs.
    #[must_use]
    pub fn written_file_bytes(&self, array: &Array) -> u64 {
        let written = array.luns.iter().filter(|lun| self.writes_to(array, lun));
        match written.map(|lun| self.file_bytes_of(array, lun)).sum() {
            0 => self.file_bytes(array),
            bytes => bytes,
        }
    }
}

/// Settings that are not of the experiment, or of how long it is.
const LABELS: [&str; 8] =
    ["name", "title", "seed", "segments", "until", "segment", "warm_up", "published"];

impl Table for Scenario {
    fn fields(&mut self, f: &mut Fields<'_>) {
        let mut schema = SCHEMA;
        f.value(
            own("schema", "Version of this format.", &VERSION).required("1").listed(false),
            &mut schema,
        );
        f.value(
            name("name", "A short name, for file names and results.").required("\"my-experiment\""),
            &mut self.name,
        );
        f.value(
            name("title", "What the experiment shows, in a sentence.")
                .required("\"What it shows\""),
            &mut self.title,
        );
        f.value(
            whole("seed", "Seed of every random choice.").required("1").page(2, "Seed"),
            &mut self.seed,
        );
        self.segments(f);
        f.value(
            time("segment", "Length of a segment.")
                .positive()
                .required("\"20 min\"")
                .scales(Scales::Whole, "segment")
                .page(1, "Length of a segment"),
            &mut self.segment_ns,
        );
        let has_phases = self.has_phases(f);
        let warm_up = time(
            "warm_up",
            "How long the arrays run before the first segment, under the same load. It is measured as segment 0, which no \
             rate, comparison or finding counts. Times of the scenario, such as a failure's, begin with it.",
        );
        if !has_phases || f.describes() {
            let warm_up = warm_up.scales(Scales::Whole, "warm-up");
            f.value(warm_up.page(4, "Warm-up"), &mut self.warm_up_ns);
        } else if f.reads() {
            f.passes_over("warm_up");
            f.refuses(
                "warm_up",
                "is given beside [[phase]]",
                "leave it out: a first phase can be the warm-up",
            );
        }
        if self.spindle_stretch > 1 && !f.reads() {
            let help = "How many times as far apart blocks of a spindle are, in a scenario that is scaled down.";
            f.value(count("spindle_stretch", help), &mut self.spindle_stretch);
        }
        f.value(
            name(
                "published",
                "Path of the file with published figures, relative to the scenario's folder.",
            ),
            &mut self.published,
        );
        self.workloads(f);
        f.tables(
            table(
                "phase",
                "Parts of the run, one after another on the same arrays; without them, all workloads run from its start \
                 to its end.",
            )
            .each("A part of the run with workloads of its own.")
            .at_most_tables(MOST_PHASES)
            .named(Naming::InProblems),
            &mut self.phases,
        );
        f.tables(
            table(
                "host",
                "The hosts, if there are several. Each reaches every LUN, and has a page cache of its own if the array's \
                 hosts have one.",
            )
            .each("A host, to which workloads refer by name.")
            .at_most_tables(MOST_HOSTS)
            .named(Naming::InProblems),
            &mut self.hosts,
        );
        f.context.hosts_are_named = !self.hosts.is_empty();
        f.tables(
            table(
                "link",
                "Links between hosts and arrays. An array's [array.front_end] names those that lead to it.",
            )
            .each("A link.")
            .named(Naming::InProblems)
            .owner("link {name}"),
            &mut self.links,
        );
        f.tables(
            table("array", "The arrays. Each is run on its own.")
                .each("An array under test.")
                .required("add [[array]] and its keys, once for each array")
                .named(Naming::Everywhere)
                .owner("{name}"),
            &mut self.arrays,
        );
        f.table(
            table("overhead", "The spindles to be bought in addition to the working ones.").apart(),
            &mut self.overhead,
        );
        f.tables(
            table(
                Unknown::KEY,
                "Constants that nobody published, and what else they might have been. `strewn sensitivity` changes each \
                 of them alone. No run depends on them.",
            )
            .each("A constant, with other values that it might have had."),
            &mut self.unknowns,
        );
        f.tables(
            table(
                FittedRows::KEY,
                "Settings that are fitted to rows of the published tables, as `strewn calibrate` does. Every other row is \
                 a prediction.",
            )
            .each("A setting, and the rows that it is fitted to.")
            .at_most_tables(MOST_FITTED),
            &mut self.fitted,
        );
    }

    fn check(&self, s: &Section<'_>, around: &Around) {
        self.check_segments(s, around);
        check_duplicates(s);
        if self.hosts.len() > MOST_HOSTS {
            s.problem(
                Host::KEY,
                format!("there are {} hosts", self.hosts.len()),
                format!("give at most {MOST_HOSTS}"),
            );
        }
        FittedRows::check_all(s, &self.fitted);
        // Names of settings of a scenario that could not be read would be false reports.
        if s.is_good() {
            check_unknowns(s, self);
            check_fitted(s, self);
        }
    }

    fn rules(&self) -> String {
        r#""oneOf": [{ "required": ["segments"] }, { "required": ["phase"] }]"#.to_owned()
    }
}

impl Scenario {
    /// Returns how long a run is that nothing ends early, in nanoseconds.
    #[must_use]
    pub fn length_ns(&self) -> u64 {
        let segments_ns = u64::from(self.segments).saturating_mul(self.segment_ns);
        segments_ns.saturating_add(self.warm_up_ns.unwrap_or(0))
    }

    /// Returns whether the run has phases, of a text too that is being read.
    fn has_phases(&self, f: &mut Fields<'_>) -> bool {
        if f.reads() { f.has("phase") } else { !self.phases.is_empty() && !f.describes() }
    }

    /// Goes over `segments`, which phases have themselves.
    fn segments(&mut self, f: &mut Fields<'_>) {
        const KEY: &str = "segments";
        let field = count(
            KEY,
            "Number of segments to run, one after another. Required unless each [[phase]] has its own.",
        );
        let field = field
            .required_unless("14")
            .page(0, "Segments")
            .about("Segments to run, one after another. Each is measured by itself.");
        let has_phases = self.has_phases(f);
        if has_phases {
            f.passes_over(KEY);
            f.refuses(
                KEY,
                "is given beside [[phase]], each of which has its own",
                "leave it out here: the run is as long as its phases together",
            );
        } else {
            f.value(field, &mut self.segments);
        }
        let until = own(
            "until",
            "What ends the run before its last segment, for each array by itself: \"rewritten 100 %\", when hosts have \
             written as many bytes as the file has, also in multiples; or \"steady\", when the IOPS of the last eight \
             segments or more have no trend.",
            &UNTIL,
        );
        if !has_phases || f.describes() {
            f.value(until.page(3, "Run until"), &mut self.until);
        } else if f.reads() {
            f.passes_over("until");
            f.refuses(
                "until",
                "is given beside [[phase]], and phases have their own lengths",
                "leave it out, or the phases",
            );
        }
    }

    /// Goes over `[workload]`, or each `[[workload]]`.
    fn workloads(&mut self, f: &mut Fields<'_>) {
        const KEY: &str = "workload";
        let is_list = f.is_list(KEY).unwrap_or_else(|| self.is_named());
        if !is_list || f.describes() {
            let mut only = self.workloads.pop().unwrap_or_default();
            let help = "The workload of every array, in a closed loop of the array's outstanding operations.";
            f.part(table(KEY, help).required("add [workload] and its keys"), &mut only);
            self.workloads = vec![only];
        }
        if is_list || f.describes() {
            let new = || Workload { named: Some(NamedWorkload::default()), ..Workload::default() };
            f.tables_like(
                table(KEY, "")
                    .each("One of several workloads, on the LUN that it names.")
                    .either("The load on every array: one [workload], or several [[workload]] with names.")
                    .named(Naming::InProblems),
                &mut self.workloads,
                &new,
            );
        }
        f.context.workloads_are_named = is_list;
    }

    fn check_segments(&self, s: &Section<'_>, around: &Around) {
        let is_known = s.are_right(&["segments", "segment", "warm_up", "phase"]);
        if is_known && around.length_ns.is_none() {
            s.problem(
                if s.has("phase") { "phase" } else { "segments" },
                format!("{} segments last longer than 64-bit nanoseconds can count", self.segments),
                format!("give at most {}", u64::MAX / self.segment_ns.max(1)),
            );
        }
    }
}

impl Slot for Option<PathBuf> {
    fn get(&self) -> Option<SettingValue> {
        self.as_ref().map(|path| path.display().to_string().into())
    }

    fn set(&mut self, value: SettingValue) {
        if let SettingValue::Text(path) = value {
            *self = Some(path.into());
        }
    }

    fn clear(&mut self) {
        *self = None;
    }
}

static VERSION: Own = Own {
    read: |value| match value::whole(value)? {
        SCHEMA => Ok(SCHEMA.into()),
        other => value::refuse(
            format!("is {other}, a format that this version cannot read"),
            format!("write schema = {SCHEMA}, or use the version that the file is for"),
        ),
    },
    schema: r#""const": 1"#,
    takes: "1",
};

/// Checks that the constants said to be unknown are settings.
fn check_unknowns(section: &Section<'_>, scenario: &Scenario) {
    if scenario.unknowns.is_empty() {
        return;
    }
    let names = scenario.setting_names();
    for (unknown, table) in scenario.unknowns.iter().zip(section.inner(Unknown::KEY)) {
        let constant = unknown.constant.as_str();
        if LABELS.contains(&constant) {
            table.problem(
                "constant",
                format!("`{constant}` is no constant of the experiment"),
                "give a setting of the workload or of an array; seeds are tried in any case",
            );
        } else if let Err(error) = scenario.named_among_all(constant, &names) {
            table.problem("constant", error.to_string(), error.help().unwrap_or_default());
        }
        let earlier = scenario.unknowns.iter().take_while(|other| !std::ptr::eq(*other, unknown));
        if earlier.into_iter().any(|other| other.constant == constant) {
            table.problem(
                "constant",
                format!("`{constant}` is given twice"),
                "put the values of both into one list",
            );
        }
    }
}

/// Checks that what is fitted to rows are settings, and that there are rows.
fn check_fitted(section: &Section<'_>, scenario: &Scenario) {
    for (fitted, table) in scenario.fitted.iter().zip(section.inner(FittedRows::KEY)) {
        if scenario.published.is_none() {
            let message = "there are no published figures to fit to";
            table.problem("parameter", message, "add `published` with the name of their file");
        } else if let Err(error) = scenario.fitted_values(&fitted.parameter) {
            table.problem("parameter", error.to_string(), error.help().unwrap_or_default());
        }
    }
}

/// Returns the segments of all phases together.
fn total_segments(section: &Section<'_>, phases: &[Phase]) -> Option<u32> {
    let total: u64 = phases.iter().map(|phase| u64::from(phase.segments)).sum();
    let segments = u32::try_from(total).ok();
    if segments.is_none() {
        section.problem(
            "phase",
            format!("the phases have {total} segments together"),
            format!("give at most {}", u32::MAX),
        );
    }
    segments
}

/// Returns the remedy for a text that is not TOML.
pub(crate) fn syntax_remedy(text: &str, at: usize, message: &str) -> &'static str {
    let before = text.get(..at).unwrap_or(text);
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = text[start..].lines().next().unwrap_or_default();
    let curly = ['\u{201c}', '\u{201d}', '\u{201e}', '\u{2018}', '\u{2019}', '\u{ab}', '\u{bb}'];
    if line.contains(curly) {
        "write straight quotes, as in \"100 GiB\": an editor has made them curly"
    } else if message.contains("duplicate") {
        "the text must be TOML, in which nothing is there twice: keep one, or put the keys of both into one table; only \
         [[array]] and other tables in double brackets may be repeated"
    } else {
        "the text must be TOML: keys with values, under tables in brackets"
    }
}

fn no_published(text: &str, path: &Path) -> Problem {
    let table = DeTable::parse(text).ok();
    let value = table.as_ref().and_then(|table| table.get_ref().get("published"));
    Problem::new(
        ProblemKind::Value,
        text,
        value.map(toml::Spanned::span).unwrap_or_default(),
        "published".to_owned(),
        format!("there is no file {}", path.display()),
        "give the file of published figures, as a path from the scenario's folder, or leave the \
         key out"
            .to_owned(),
    )
}
