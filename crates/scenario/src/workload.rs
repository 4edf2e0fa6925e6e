//! The workloads: the operations that hosts send to the arrays.

use strewn_base::SECTOR_BYTES;
use strewn_workload::{AccessLine, AccessSpecification, WorkloadError};
use toml::Spanned;

use crate::array::{Lun, MOST_OUTSTANDING};
use crate::catalog;
use crate::quantity::Bytes;
use crate::section::Section;
use crate::value;

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
#[derive(Debug, Clone, PartialEq, Eq)]
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
const MOST_THREADS: u32 = 1024;

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

    /// Reads `[workload]`, or each `[[workload]]`. Returns `None` if one of them has a problem.
    pub(crate) fn read_all(section: &mut Section<'_>) -> Option<Vec<Self>> {
        if !section.is_list("workload") {
            let only = section.section("workload")?;
            return Self::read(only, |_| Some(None)).map(|only| vec![only]);
        }
        let mut names: Vec<String> = Vec::new();
        let mut workloads = Vec::new();
        for table in section.sections("workload")? {
            if let Some(name) = table.peek("name") {
                if names.contains(&name) {
                    table.problem(
                        "name",
                        format!("there is another workload `{name}`"),
                        "results tell workloads apart by name: give each its own",
                    );
                }
                names.push(name);
            }
            // Every workload is read before the first failure is returned, so that each reports its problems.
            workloads.push(Self::read(table, |section| NamedWorkload::read(section).map(Some)));
        }
        let workloads: Vec<Self> = workloads.into_iter().collect::<Option<_>>()?;
        if workloads.len() > MOST_WORKLOADS {
            section.problem(
                "workload",
                format!("there are {} workloads", workloads.len()),
                format!(
                    "{MOST_WORKLOADS} are the most that are measured by themselves: give fewer"
                ),
            );
            return None;
        }
        let outstanding = workloads.iter().filter_map(|one| one.named.as_ref());
        let outstanding: u64 = outstanding.map(|named| u64::from(named.all_outstanding())).sum();
        if outstanding > MOST_OUTSTANDING.into() {
            section.problem(
                "workload",
                format!("{outstanding} operations are to be outstanding"),
                format!("{MOST_OUTSTANDING} are the most, of all workloads together"),
            );
            return None;
        }
        Some(workloads)
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

    fn read(
        mut section: Section<'_>,
        read_name: impl FnOnce(&mut Section<'_>) -> Option<Option<NamedWorkload>>,
    ) -> Option<Self> {
        let named = read_name(&mut section);
        if let Some(Some(NamedWorkload { name, .. })) = &named {
            section.rename(format!("workload[{name}]"));
        }
        let shipped = section.optional("access_specification", value::text);
        let lines = section.sections("access");
        section.require_one_of(
            &["access_specification", "access"],
            "add a line such as access_specification = \"file-server\", or [[workload.access]] lines",
        );
        let choice = match (section.has("access_specification"), section.has("access")) {
            (true, true) => {
                section.problem(
                    "access_specification",
                    "is given beside [[workload.access]] lines",
                    "keep the name of a shipped specification or the lines, not both",
                );
                None
            }
            (true, false) => shipped
                .filter(|name| is_known(&section, name))
                .map(AccessSpecificationChoice::Shipped),
            (false, true) => lines
                .and_then(|lines| read_lines(&section, lines))
                .map(AccessSpecificationChoice::Inline),
            (false, false) => None,
        };
        let alignment = section.optional_or("alignment", SECTOR_BYTES as u32, value::whole_sectors);
        let file = section.required("file", "\"100 GiB\"", value::positive_bytes);
        let offset = section.optional_or("offset", 0, value::whole_sectors);
        let total = section.optional("total", value::positive_bytes);
        let total_is_good = section.has("total") == total.is_some();
        if let (Some(file), Some(choice), Some(offset)) = (file, &choice, offset) {
            let threads = named.as_ref().and_then(Option::as_ref).map_or(1, |named| named.threads);
            check_longest(&section, file, choice, threads, offset.into());
        }
        section.finish();
        Some(Self {
            named: named?,
            access_specification: choice?,
            alignment_bytes: alignment?,
            file_bytes: file?,
            offset_bytes: offset?.into(),
            total_bytes: if total_is_good { total } else { return None },
        })
    }
}

impl NamedWorkload {
    /// Returns the operations that all of its threads keep outstanding.
    #[must_use]
    pub fn all_outstanding(&self) -> u32 {
        self.outstanding.saturating_mul(self.threads)
    }

    fn read(section: &mut Section<'_>) -> Option<Self> {
        let name = section.required("name", "\"database\"", value::name);
        let lun = section.required("lun", "\"database\"", value::name);
        let arrays_are_given = section.has("arrays");
        let arrays = match arrays_are_given {
            true => section.list("arrays", "[\"FAS2050\"]", value::name),
            false => {
                section.get("arrays");
                Some(Vec::new())
            }
        };
        let host_is_given = section.has("host");
        let host = section.optional("host", value::name);
        let outstanding = section.required("outstanding", "32", value::outstanding);
        let limited = section.has("operations_per_second");
        let per_second = section.optional("operations_per_second", value::positive_count);
        let threads = section.optional_or("threads", 1, value::positive_count);
        if let (Some(threads), true) = (threads, limited)
            && threads > 1
        {
            section.problem(
                "threads",
                "is given beside operations_per_second, which is one limit",
                "leave one of them out, or write a [[workload]] for each thread",
            );
        }
        if let Some(threads) = threads.filter(|threads| *threads > MOST_THREADS) {
            section.problem(
                "threads",
                format!("{threads} are too many"),
                format!("give at most {MOST_THREADS}"),
            );
        }
        Some(Self {
            name: name?,
            lun: lun?,
            arrays: arrays?.into_iter().map(Spanned::into_inner).collect(),
            host: if host_is_given { Some(host?) } else { None },
            outstanding: outstanding?,
            operations_per_second: if limited { Some(per_second?) } else { None },
            threads: threads?,
        })
    }
}

fn is_known(section: &Section<'_>, name: &str) -> bool {
    let known = catalog::access_specifications();
    if !known.contains(&name) {
        section.unknown_name("access_specification", "access specification", name, known);
        return false;
    }
    true
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

/// Reads `[[workload.access]]`, whose percentages must sum to 100.
fn read_lines(section: &Section<'_>, lines: Vec<Section<'_>>) -> Option<Vec<AccessLine>> {
    // Every line is read before the first failure is returned, so that each reports its problems.
    let read: Vec<Option<AccessLine>> = lines.into_iter().map(read_line).collect();
    let lines: Vec<AccessLine> = read.into_iter().collect::<Option<_>>()?;
    let sum: u64 = lines.iter().map(|line| u64::from(line.percent_of_accesses)).sum();
    if sum != 100 {
        let amount = if sum > 100 { "much" } else { "little" };
        section.problem(
            "access",
            format!("the percentages of the sizes sum to {sum} %"),
            format!("they must sum to 100 %: this is {} % too {amount}", sum.abs_diff(100)),
        );
        return None;
    }
    Some(lines)
}

fn read_line(mut section: Section<'_>) -> Option<AccessLine> {
    let bytes = section.required("bytes", "\"4 KiB\"", value::whole_sectors);
    let percent = section.required("percent", "60", value::whole_percent);
    let read_percent = section.required("read_percent", "80", value::whole_percent);
    let random_percent = section.required("random_percent", "100", value::whole_percent);
    section.finish();
    Some(AccessLine {
        bytes: bytes?,
        percent_of_accesses: percent?,
        read_percent: read_percent?,
        random_percent: random_percent?,
    })
}
