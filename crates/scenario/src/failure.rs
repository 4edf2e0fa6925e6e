//! Spindles that fail during a run.

use crate::group::PlacedGroup;
use crate::layout::ArrayLayout;
use crate::quantity::Nanoseconds;
use crate::section::Section;
use crate::value;

/// The failure of one spindle of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpindleFailure {
    /// Time of the failure, in nanoseconds from the start of the run.
    pub at_ns: u64,
    /// The spindle, counted from 0: group after group, in each parity group the data spindles first, then parity.
    pub spindle: u16,
}

impl SpindleFailure {
    /// Reads every `[[array.failure]]`; an array may have none. `length_ns` is the length of the
    /// run, if it is known.
    pub(crate) fn read_all(
        section: &mut Section<'_>,
        layout: Option<&ArrayLayout>,
        length_ns: Option<u64>,
    ) -> Option<Vec<Self>> {
        let is_given = section.has("failure");
        let sections = section.sections("failure");
        if !is_given {
            return Some(Vec::new());
        }
        let mut failures: Vec<Self> = Vec::new();
        let mut all_good = true;
        for mut section in sections? {
            let at_ns = section.required("at", "\"2 h\"", value::nanoseconds);
            let spindle = section.required("spindle", "4", value::spindle);
            if let (Some(at_ns), Some(length_ns)) = (at_ns, length_ns) {
                check_time(&section, at_ns, length_ns);
            }
            if let (Some(spindle), Some(layout)) = (spindle, layout) {
                check_spindle(&section, spindle, layout);
                check_presence(&section, spindle, at_ns, layout);
            }
            if let Some(spindle) = spindle
                && failures.iter().any(|failure| failure.spindle == spindle)
            {
                section.problem(
                    "spindle",
                    format!("spindle {spindle} fails twice"),
                    "a spindle fails once, and its spare does not fail: give another spindle",
                );
            }
            section.finish();
            match (at_ns, spindle) {
                (Some(at_ns), Some(spindle)) => failures.push(Self { at_ns, spindle }),
                _ => all_good = false,
            }
        }
        all_good.then_some(failures)
    }
}

fn check_time(section: &Section<'_>, at_ns: u64, length_ns: u64) {
    if at_ns >= length_ns {
        let length = Nanoseconds(length_ns);
        section.problem(
            "at",
            format!("is {}, and the run ends at {length}", Nanoseconds(at_ns)),
            format!("give a time before {length}, or more segments"),
        );
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
