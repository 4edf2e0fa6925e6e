//! Spindles that fail during a run.

use crate::fields::{Fields, Table, Text, spindles, time};
use crate::group::PlacedGroup;
use crate::layout::ArrayLayout;
use crate::machine::check_before_end;
use crate::quantity::Nanoseconds;
use crate::section::Section;
use crate::surroundings::Surroundings;

/// The failure of one spindle of an array.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SpindleFailure {
    /// Time of the failure, in nanoseconds from the start of the run.
    pub at_ns: u64,
    /// The spindle, counted from 0: group after group, in each parity group the data spindles first, then parity.
    pub spindle: u16,
}

impl Table for SpindleFailure {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            time("at", "Time of the failure, from the start of the run.")
                .required("\"2 h\"")
                .moment(format!("failure of spindle {} of {{}}", self.spindle)),
            &mut self.at_ns,
        );
        f.value(
            spindles(
                "spindle",
                "Number of the spindle, counted from 0: parity group after parity group, in each the data spindles first, \
                 then the parity spindles.",
            )
            .or_zero()
            .required("4"),
            &mut self.spindle,
        );
    }

    fn check(&self, s: &Section<'_>, around: &Surroundings<'_>) {
        if let Some(length_ns) = around.length_ns.filter(|_| s.is_right("at")) {
            check_before_end(s, "at", self.at_ns, length_ns);
        }
    }
}

impl SpindleFailure {
    /// Checks the failures of an array with this layout, if it is known.
    pub(crate) fn check_all(
        section: &Section<'_>,
        failures: &[Self],
        layout: Option<&ArrayLayout>,
    ) {
        let mut failed = Vec::new();
        for (failure, s) in failures.iter().zip(section.inner("failure")) {
            if !s.is_right("spindle") {
                continue;
            }
            let spindle = failure.spindle;
            if let Some(layout) = layout {
                check_spindle(s, spindle, layout);
                check_presence(s, spindle, s.is_right("at").then_some(failure.at_ns), layout);
            }
            if failed.contains(&spindle) {
                s.problem(
                    "spindle",
                    format!("spindle {spindle} fails twice"),
                    "a spindle fails once, and its spare does not fail: give another spindle",
                );
            }
            failed.push(spindle);
        }
    }
}

/// Notes a problem if a spindle fails before its parity group is added.
fn check_presence(section: &Section<'_>, spindle: u16, at_ns: Option<u64>, layout: &ArrayLayout) {
    let (Some(at_ns), ArrayLayout::WriteAnywhere(layout)) = (at_ns, layout) else { return };
    let groups = layout.groups();
    let of_spindle = groups.iter().position(|group| spindle < group.end());
    if let Some(position) = of_spindle
        && let group = &groups[position]
        && group.from_ns > at_ns
    {
        let from = Nanoseconds(group.from_ns);
        section.problem(
            "spindle",
            format!(
                "spindle {spindle} is not there yet: parity group {} is added at {from}",
                position + 1
            ),
            format!(
                "give a time from {from} on, or a spindle below {}",
                groups
                    .iter()
                    .find(|group| group.from_ns > at_ns)
                    .map_or(0, |group| group.first_spindle)
            ),
        );
    }
}

fn check_spindle(section: &Section<'_>, spindle: u16, layout: &ArrayLayout) {
    let (spindles, parts) = match layout {
        ArrayLayout::WriteAnywhere(layout) => {
            let groups = layout.groups();
            let parts = match &groups[..] {
                [only] => format!(", those from {} on for parity", only.data_spindles),
                several => format!(" in {} parity groups", several.len()),
            };
            (groups.last().map_or(0, PlacedGroup::end), parts)
        }
        ArrayLayout::InPlace(layout) => {
            let parts = match layout.groups.len() {
                1 => String::new(),
                several => format!(" in {several} disk groups"),
            };
            (layout.spindles(), parts)
        }
    };
    if spindle >= spindles {
        section.problem(
            "spindle",
            format!("there is no spindle {spindle}"),
            format!("the array has spindles 0 to {}{parts}", spindles.saturating_sub(1)),
        );
    }
}
