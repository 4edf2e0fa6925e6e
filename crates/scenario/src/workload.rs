//! The workloads: the operations that hosts send to the arrays.

use strewn_workload::{AccessLine, AccessSpecification, WorkloadError};

use crate::catalog;
use crate::fields::{
    Around, Field, Fields, Own, Section, Table, Text, count, list_of, name, own, size, table,
    whole_percent,
};
use crate::lun::Lun;
use crate::quantity::Bytes;
use crate::setting_value::SettingValue;
use crate::value;

/// Most host operations that may be outstanding at an array. A spindle command's tag has room for no more than twice as
/// many.
pub const MOST_OUTSTANDING: u32 = 500_000;

/// A load on every array of a scenario, in a closed loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// What makes it one of several; `None` for the only one, `[workload]`, which works on the only LUN and keeps each
    /// array's outstanding operations under way.
    pub named: Option<NamedWorkload>,
    /// The mix of operation sizes, reads and seeks.
    pub access_specification: AccessSpecificationChoice,
    /// Offsets of random operations are multiples of this, in bytes. 512 unless the file says
    /// otherwise.
    pub alignment_bytes: u32,
    /// Length of the file under load, which lies in the lowest addresses of the LUN, in bytes.
    pub file_bytes: u64,
    /// Where in the file its operations begin, in bytes: whole sectors. Alignment counts from there. 0 unless the file
    /// says otherwise.
    pub offset_bytes: u64,
    /// Bytes after which it has ended; `None` if it goes on to the end of the run. In each phase that it runs in, if
    /// there are phases.
    pub total_bytes: Option<u64>,
}

/// What makes a workload one of several, each `[[workload]]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedWorkload {
    /// Its name in results; no two workloads share one.
    pub name: String,
    /// The name of its LUN, which every array that it runs on has.
    pub lun: String,
    /// The names of the arrays that it runs on; empty for all.
    pub arrays: Vec<String>,
    /// The name of the host that has it, if hosts have names.
    pub host: Option<String>,
    /// Operations kept outstanding, by each thread.
    pub outstanding: u32,
    /// Most operations issued a second; `None` for as many as are answered.
    pub operations_per_second: Option<u32>,
    /// Threads, each in a loop of its own over an equal part of the file. 1 unless the file says otherwise.
    pub threads: u32,
}

/// Where an access specification comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessSpecificationChoice {
    /// One that ships with `strewn-workload`, by name.
    Shipped(String),
    /// The lines written in the scenario; their percentages sum to 100.
    Inline(Vec<AccessLine>),
}

/// Most workloads of a scenario: the simulation measures no more by themselves.
const MOST_WORKLOADS: usize = 64;

/// Most threads of a workload. Chosen: more than any benchmark of a file system runs on a client.
const MOST_THREADS: u64 = 1024;

/// The name of a specification written in a scenario.
const INLINE_NAME: &str = "inline";

impl AccessSpecificationChoice {
    /// Returns the name of a shipped specification, or `inline`.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Shipped(name) => name,
            Self::Inline(_) => INLINE_NAME,
        }
    }

    /// Returns the length of its longest operation, in bytes; 0 if it has none.
    fn longest_bytes(&self) -> u64 {
        self.lines().iter().map(|line| u64::from(line.bytes)).max().unwrap_or(0)
    }

    /// Returns the lines chosen; none if no specification of this name ships.
    fn lines(&self) -> Vec<AccessLine> {
        match self {
            Self::Shipped(name) => AccessSpecification::shipped(name)
                .map(|shipped| shipped.lines().to_vec())
                .unwrap_or_default(),
            Self::Inline(lines) => lines.clone(),
        }
    }
}

impl Workload {
    /// Returns the chosen access specification, at this workload's alignment.
    ///
    /// # Errors
    ///
    /// None for the workload of a checked scenario. For one made or changed in code, whatever
    /// [`AccessSpecification::new`] refuses; an unknown shipped name has no lines, which do not sum
    /// to 100 %.
    pub fn specification(&self) -> Result<AccessSpecification, WorkloadError> {
        let choice = &self.access_specification;
        AccessSpecification::new(choice.name(), choice.lines(), self.alignment_bytes)
    }

    /// Returns whether it runs on the array of this name.
    #[must_use]
    pub fn runs_on(&self, array: &str) -> bool {
        let only = self.named.as_ref().map_or(&[][..], |named| &named.arrays);
        only.is_empty() || only.iter().any(|name| name == array)
    }

    /// Returns the length of its longest operation, in bytes.
    #[must_use]
    pub fn longest_bytes(&self) -> u64 {
        self.access_specification.longest_bytes()
    }

    /// Returns its threads: loops of their own, each over an equal part of the file.
    #[must_use]
    pub fn threads(&self) -> u32 {
        self.named.as_ref().map_or(1, |named| named.threads)
    }

    /// Returns whether the host of this name has it.
    #[must_use]
    pub fn is_of_host(&self, host: &str) -> bool {
        self.named.as_ref().is_some_and(|named| named.host.as_deref() == Some(host))
    }

    /// Returns whether it works on this LUN of the array of that name, or on the only one.
    #[must_use]
    pub fn is_on(&self, array: &str, lun: &Lun) -> bool {
        let is_its_lun = |named: &NamedWorkload| lun.name.as_ref() == Some(&named.lun);
        self.runs_on(array) && self.named.as_ref().is_none_or(is_its_lun)
    }
}

impl Default for Workload {
    fn default() -> Self {
        Self {
            named: None,
            access_specification: AccessSpecificationChoice::Shipped(String::new()),
            alignment_bytes: 0,
            file_bytes: 0,
            offset_bytes: 0,
            total_bytes: None,
        }
    }
}

impl Table for Workload {
    fn fields(&mut self, f: &mut Fields<'_>) {
        if let Some(named) = &mut self.named {
            named.fields(f);
        }
        self.access_specification.fields(f);
        f.value(
            size(
                "alignment",
                "Offsets of random operations are multiples of this; 512 B unless given.",
            )
            .of_sectors()
            .default("\"512 B\"", "published: Iometer's")
            .page(4, "Alignment"),
            &mut self.alignment_bytes,
        );
        f.value(
            size("file", "Length of the file under load, at the lowest addresses of the LUN.")
                .positive()
                .required("\"100 GiB\"")
                .page(6, "File under load"),
            &mut self.file_bytes,
        );
        f.value(
            size(
                "offset",
                "Where in the file its operations begin, whole sectors, as in a partition; alignment counts from there. \
                 0 B unless given.",
            )
            .of_sectors()
            .or_zero()
            .default("\"0 B\"", "no partition")
            .unless_default()
            .page(5, "Offset of the partition"),
            &mut self.offset_bytes,
        );
        f.value(
            size(
                "total",
                "Bytes after which it has ended; without it, it goes on to the end of the run. A run whose workloads have \
                 all ended is over.",
            )
            .positive(),
            &mut self.total_bytes,
        );
    }

    fn check(&self, s: &Section<'_>, _: &Around) {
        self.access_specification.check(s);
        if s.are_right(&["file", "offset", "threads", "access", "access_specification"]) {
            let (file, offset) = (self.file_bytes, self.offset_bytes);
            check_longest(s, file, &self.access_specification, self.threads(), offset);
        }
        if s.are_right(&["threads", "operations_per_second"])
            && self.threads() > 1
            && s.has("operations_per_second")
        {
            s.problem(
                "threads",
                "is given beside operations_per_second, which is one limit",
                "leave one of them out, or write a [[workload]] for each thread",
            );
        }
    }

    fn rules(&self) -> String {
        r#""oneOf": [{ "required": ["access_specification"] }, { "required": ["access"] }]"#
            .to_owned()
    }
}

/// Checks the workloads of a scenario together.
pub(crate) fn check_all(section: &Section<'_>, workloads: &[Workload]) {
    section.check_names("workload", |name| {
        (
            format!("there is another workload `{name}`"),
            "results tell workloads apart by name: give each its own",
        )
    });
    if workloads.len() > MOST_WORKLOADS {
        section.problem(
            "workload",
            format!("there are {} workloads", workloads.len()),
            format!("{MOST_WORKLOADS} are the most that are measured by themselves: give fewer"),
        );
    }
    let outstanding = workloads.iter().filter_map(|one| one.named.as_ref());
    let outstanding: u64 = outstanding.map(|named| u64::from(named.all_outstanding())).sum();
    if outstanding > MOST_OUTSTANDING.into() {
        section.problem(
            "workload",
            format!("{outstanding} operations are to be outstanding"),
            format!("{MOST_OUTSTANDING} are the most, of all workloads together"),
        );
    }
}

impl AccessSpecificationChoice {
    fn fields(&mut self, f: &mut Fields<'_>) {
        let mut shipped = match self {
            Self::Shipped(name) => Some(name.clone()).filter(|name| !name.is_empty()),
            Self::Inline(_) => None,
        };
        let mut lines = match self {
            Self::Shipped(_) => Vec::new(),
            Self::Inline(lines) => lines.clone(),
        };
        f.value(
            own(
                "access_specification",
                "An access specification that ships, such as file-server. Use either this or [[workload.access]] lines.",
                &SHIPPED,
            )
            .page(0, "Mix of operations"),
            &mut shipped,
        );
        f.tables(
            table("access", "Lines of an access specification of your own.")
                .each("A size of operation and its share. The shares of all lines sum to 100."),
            &mut lines,
        );
        f.requires_one_of(
            &["access_specification", "access"],
            "add a line such as access_specification = \"file-server\", or [[workload.access]] lines",
        );
        *self = match (shipped, lines) {
            (Some(name), _) => Self::Shipped(name),
            (None, lines) if lines.is_empty() => Self::Shipped(String::new()),
            (None, lines) => Self::Inline(lines),
        };
    }

    fn check(&self, s: &Section<'_>) {
        if s.has("access_specification") && s.has("access") {
            s.problem(
                "access_specification",
                "is given beside [[workload.access]] lines",
                "keep the name of a shipped specification or the lines, not both",
            );
        } else if let Self::Inline(lines) = self
            && s.is_right("access")
        {
            check_lines(s, lines);
        }
    }
}

static SHIPPED: Own = Own {
    read: |value| {
        let name = value::text(value)?;
        let known = catalog::access_specifications();
        match known.contains(&name.as_str()) {
            true => Ok(name.into()),
            false => value::refuse(
                format!("there is no access specification `{name}`"),
                value::one_of(&name, known),
            ),
        }
    },
    schema: r#""type": "string", "minLength": 1"#,
    takes: "text",
};

impl Table for AccessLine {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            size("bytes", "Size of the operation: a whole number of 512-byte sectors.")
                .of_sectors()
                .required("\"4 KiB\"")
                .page(1, "Size of an operation"),
            &mut self.bytes,
        );
        f.value(
            whole_percent("percent", "Percentage of all operations that have this size.")
                .required("60"),
            &mut self.percent_of_accesses,
        );
        f.value(
            whole_percent(
                "read_percent",
                "Percentage of these that are reads; the others are writes.",
            )
            .required("80")
            .page(2, "Reads")
            .in_unit("%"),
            &mut self.read_percent,
        );
        f.value(
            whole_percent(
                "random_percent",
                "Percentage of these that go to a random place; the others start where the previous operation ended.",
            )
            .required("100")
            .page(3, "Random")
            .in_unit("%"),
            &mut self.random_percent,
        );
    }
}

/// What the page says of outstanding operations.
pub(crate) const OUTSTANDING_ABOUT: &str =
    "Operations that hosts keep in flight: each answer brings the next one.";

/// Operations that a workload, or an array, keeps outstanding.
pub(crate) fn outstanding(help: &'static str) -> Field {
    count("outstanding", help).at_most(MOST_OUTSTANDING.into()).refusing(|value| {
        let SettingValue::Count(outstanding) = *value else { return None };
        (outstanding > MOST_OUTSTANDING.into()).then(|| {
            (
                format!("is {outstanding}"),
                format!("give at most {MOST_OUTSTANDING}; hosts have some hundreds outstanding"),
            )
        })
    })
}

impl NamedWorkload {
    /// Returns the operations that all of its threads keep outstanding.
    #[must_use]
    pub fn all_outstanding(&self) -> u32 {
        self.outstanding.saturating_mul(self.threads)
    }

    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(name("name", "Its name in results.").required("\"database\""), &mut self.name);
        f.value(
            name("lun", "The LUN that it works on, by name. Every array that it runs on has it.")
                .required("\"database\""),
            &mut self.lun,
        );
        f.value(
            list_of(name(
                "arrays",
                "The names of the arrays that it runs on; all arrays unless given.",
            ))
            .each("[\"FAS2050\"]"),
            &mut self.arrays,
        );
        f.value(
            name("host", "The host that has it, by name. Required if there are hosts."),
            &mut self.host,
        );
        f.value(
            outstanding("Host operations that it keeps outstanding, by each thread.")
                .required("32")
                .page(7, "Outstanding operations")
                .about(OUTSTANDING_ABOUT),
            &mut self.outstanding,
        );
        f.value(
            count(
                "operations_per_second",
                "Most operations that it issues a second in the long run: what was delayed is caught up with; without \
                 it, as many as are answered.",
            )
            .page(8, "Most operations a second"),
            &mut self.operations_per_second,
        );
        f.value(
            count(
                "threads",
                "Threads of the application. Each is a loop of its own over an equal part of the file.",
            )
            .at_most(MOST_THREADS)
            .chosen("1")
            .unless_default(),
            &mut self.threads,
        );
    }
}

/// Checks that every operation fits into the file behind the offset, or into each thread's part of it.
fn check_longest(
    section: &Section<'_>,
    file_bytes: u64,
    choice: &AccessSpecificationChoice,
    threads: u32,
    offset_bytes: u64,
) {
    let longest = choice.longest_bytes();
    let least = longest.saturating_mul(threads.into()).saturating_add(offset_bytes);
    if least > file_bytes {
        let mut of = match threads {
            1 => format!("an operation of {}", Bytes(longest)),
            _ => format!("an operation of {} for each of {threads} threads", Bytes(longest)),
        };
        if offset_bytes > 0 {
            of = format!("the offset of {} and {of}", Bytes(offset_bytes));
        }
        let help = format!("give {} or more", Bytes(least));
        section.problem("file", format!("is shorter than {of}"), help);
    }
}

/// Checks `[[workload.access]]`, whose percentages must sum to 100.
fn check_lines(section: &Section<'_>, lines: &[AccessLine]) {
    let sum: u64 = lines.iter().map(|line| u64::from(line.percent_of_accesses)).sum();
    if sum != 100 {
        let amount = if sum > 100 { "much" } else { "little" };
        section.problem(
            "access",
            format!("the percentages of the sizes sum to {sum} %"),
            format!("they must sum to 100 %: this is {} % too {amount}", sum.abs_diff(100)),
        );
    }
}
