//! The workload: the operations that hosts send to the arrays.

use strewn_base::SECTOR_BYTES;
use strewn_workload::{AccessLine, AccessSpecification, SpecificationError};

use crate::catalog;
use crate::quantity::Bytes;
use crate::section::Section;
use crate::value;

/// The load on every array of a scenario, in a closed loop of each array's outstanding operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// The mix of operation sizes, reads and seeks.
    pub access_specification: AccessSpecificationChoice,
    /// Offsets of random operations are multiples of this, in bytes. 512 unless the file says
    /// otherwise.
    pub alignment_bytes: u32,
    /// Length of the file under load, which lies in the lowest addresses of the LUN, in bytes.
    pub file_bytes: u64,
}

/// Where an access specification comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AccessSpecificationChoice {
    /// One that ships with `strewn-workload`, by name.
    Shipped(String),
    /// The lines written in the scenario; their percentages sum to 100.
    Inline(Vec<AccessLine>),
}

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
    pub fn specification(&self) -> Result<AccessSpecification, SpecificationError> {
        let choice = &self.access_specification;
        AccessSpecification::new(choice.name(), choice.lines(), self.alignment_bytes)
    }

    /// Reads `[workload]`.
    pub(crate) fn read(mut section: Section<'_>) -> Option<Self> {
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
        if let (Some(file), Some(choice)) = (file, &choice) {
            check_longest(&section, file, choice);
        }
        section.finish();
        Some(Self { access_specification: choice?, alignment_bytes: alignment?, file_bytes: file? })
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

/// Checks that every operation fits into the file.
fn check_longest(section: &Section<'_>, file_bytes: u64, choice: &AccessSpecificationChoice) {
    let longest = choice.lines().iter().map(|line| u64::from(line.bytes)).max();
    if let Some(longest) = longest.filter(|longest| *longest > file_bytes) {
        let longest = Bytes(longest);
        section.problem(
            "file",
            format!("is shorter than an operation of {longest}"),
            format!("give {longest} or more"),
        );
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
