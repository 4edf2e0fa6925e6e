//! Further parity groups of a write-anywhere array's aggregate.

use strewn_base::BLOCK_BYTES;
use strewn_raid::Parity;

use crate::fields::{Around, Fields, Section, Table, Text, choice, spindles, time};
use crate::kinds::{WriteAnywhere, check_count};
use crate::quantity::Nanoseconds;

/// Most blocks of an aggregate: an entry of the block map has 32 bits.
const MOST_BLOCKS: u64 = u32::MAX as u64;

/// A parity group besides the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FurtherGroup {
    /// How the group is protected.
    pub parity: Parity,
    /// Its spindles that hold data; parity spindles are beside them.
    pub data_spindles: u16,
    /// When it is added, in nanoseconds from the start of the run; `None` if it is there from the start.
    pub at_ns: Option<u64>,
}

/// A parity group of an aggregate, with its place among the array's spindles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlacedGroup {
    /// How the group is protected.
    pub parity: Parity,
    /// Its spindles that hold data.
    pub data_spindles: u16,
    /// The array's number of its first spindle. The data spindles come first.
    pub first_spindle: u16,
    /// When it is added, in nanoseconds from the start of the run; 0 if it is there from the start.
    pub from_ns: u64,
}

impl PlacedGroup {
    /// Returns the number of its spindles.
    #[must_use]
    pub fn spindles(&self) -> u16 {
        self.data_spindles.saturating_add(self.parity.spindles())
    }

    /// Returns the array's number of the first spindle after it.
    #[must_use]
    pub fn end(&self) -> u16 {
        self.first_spindle.saturating_add(self.spindles())
    }
}

impl WriteAnywhere {
    /// Returns all parity groups in the order of their spindles, which is the order in which the aggregate gets them.
    #[must_use]
    pub fn groups(&self) -> Vec<PlacedGroup> {
        let first =
            FurtherGroup { parity: self.parity, data_spindles: self.data_spindles, at_ns: None };
        let mut next = 0;
        let all = [first].into_iter().chain(self.further_groups.iter().copied());
        let placed = all.map(|FurtherGroup { parity, data_spindles, at_ns }| {
            let from_ns = at_ns.unwrap_or(0);
            let group = PlacedGroup { parity, data_spindles, first_spindle: next, from_ns };
            next = group.end();
            group
        });
        placed.collect()
    }

    /// Returns the data spindles of the parity groups that are there from the start.
    #[must_use]
    pub fn data_spindles_at_start(&self) -> u32 {
        let at_start = self.further_groups.iter().filter(|group| group.at_ns.is_none());
        at_start.fold(self.data_spindles.into(), |sum, group| sum + u32::from(group.data_spindles))
    }
}

impl Table for FurtherGroup {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            choice::<Parity>(
                "parity",
                "The group's parity scheme; by default, that of the first group.",
            )
            .inherited(),
            &mut self.parity,
        );
        f.value(
            spindles("data_spindles", "Number of data spindles; the parity spindles are extra.")
                .required("18"),
            &mut self.data_spindles,
        );
        f.value(
            time(
                "at",
                "When the group is added, from the start of the run. Without it, the group is there from the start.",
            )
            .moment("addition of {}"),
            &mut self.at_ns,
        );
    }

    fn check(&self, s: &Section<'_>, around: &Around) {
        if s.are_right(&["parity", "data_spindles"]) {
            check_group(s, self.parity, self.data_spindles);
        }
        if let Some(at_ns) = self.at_ns.filter(|_| s.is_right("at")) {
            check_time(s, at_ns, around.length_ns);
        }
    }
}

impl FurtherGroup {
    /// Checks the further groups of `[array.write_anywhere]` against each other.
    pub(crate) fn check_all(section: &Section<'_>, groups: &[Self]) {
        check_count(section, groups.len(), "parity groups", "an aggregate");
        let tables = section.inner("group").iter();
        for (before, (group, table)) in groups.iter().zip(groups.iter().zip(tables).skip(1)) {
            if table.is_right("at") {
                check_order(table, before.at_ns, group.at_ns);
            }
        }
    }
}

fn check_time(section: &Section<'_>, at_ns: u64, length_ns: Option<u64>) {
    if at_ns == 0 {
        section.problem(
            "at",
            "is 0, when the run has not begun",
            "a group without `at` is there from the start: remove it",
        );
    } else if let Some(length_ns) = length_ns.filter(|length_ns| at_ns >= *length_ns) {
        let length = Nanoseconds(length_ns);
        section.problem(
            "at",
            format!("is {}, and the run ends at {length}", Nanoseconds(at_ns)),
            format!("give a time before {length}, or more segments"),
        );
    }
}

/// Spindles are numbered group after group, and groups are added in the order of their spindles.
fn check_order(section: &Section<'_>, before_ns: Option<u64>, at_ns: Option<u64>) {
    let Some(before_ns) = before_ns.filter(|before_ns| *before_ns > at_ns.unwrap_or(0)) else {
        return;
    };
    let here = match at_ns {
        Some(at_ns) => format!("is {}", Nanoseconds(at_ns)),
        None => "is missing".to_owned(),
    };
    section.problem(
        "at",
        format!("{here}, and the group before it is added at {}", Nanoseconds(before_ns)),
        "list the groups in the order in which they are added: those that are there from the start first",
    );
}

/// Notes a problem if a parity group has too many spindles for its kind of parity.
pub(crate) fn check_group(section: &Section<'_>, parity: Parity, data_spindles: u16) {
    let most = parity.most_spindles() - parity.spindles();
    if data_spindles <= most {
        return;
    }
    let all = u32::from(data_spindles) + u32::from(parity.spindles());
    section.problem(
        "data_spindles",
        format!("a {parity} group of {all} spindles is too many"),
        format!(
            "such a group has {} to {} spindles in all, {} of them parity: give 1 to {most} data \
             spindles",
            parity.spindles() + 1,
            parity.most_spindles(),
            parity.spindles(),
        ),
    );
}

/// Notes a problem if several groups together have more blocks than an aggregate can.
pub(crate) fn check_total(
    section: &Section<'_>,
    first_data_spindles: u16,
    further: &[FurtherGroup],
    right_sized_bytes: u64,
) {
    let of_further: u32 = further.iter().map(|group| u32::from(group.data_spindles)).sum();
    let data_spindles = u64::from(of_further) + u64::from(first_data_spindles);
    let of_spindle = right_sized_bytes / BLOCK_BYTES;
    if !further.is_empty() && data_spindles.saturating_mul(of_spindle) > MOST_BLOCKS {
        section.problem(
            "group",
            format!("{data_spindles} data spindles in all have more than 2^32 blocks of 4 KiB"),
            format!("give at most {} data spindles in all groups", MOST_BLOCKS / of_spindle),
        );
    }
}
