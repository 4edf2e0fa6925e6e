//! What calibration may fit for an array.

use std::collections::BTreeSet;

use crate::fields::{Around, Fields, Section, Table, Text, count, list_of, percent, text};
use crate::kinds::Kind;
use crate::setting_value::SettingValue;
use crate::value;

/// The most that a fitted row may be said to scatter by, in percent.
const MOST_SCATTER_PERCENT: f64 = 10.0;

/// The parameters that calibration may set, and the segments that it may fit them to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fitted {
    /// Names of parameters, as [`Scenario::set_parameter`](crate::Scenario::set_parameter) takes
    /// them: at most two for a write-anywhere array, one for an in-place array.
    pub parameters: Vec<String>,
    /// The segments, counted from 1, whose published figures calibration may use.
    pub segments: Vec<u32>,
    /// What a published row scatters by: its standard deviation, in percent of it. 0 if that is not known.
    pub row_scatter_percent: f64,
}

impl Table for Fitted {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            list_of(text(
                "parameters",
                "Names of parameters, such as processor.host_operation: at most two for a write-anywhere array, one for an \
                 in-place array.",
            ))
            .required("[\"processor.host_operation\", \"processor.spindle_command\"]")
.unique(),
            &mut self.parameters,
        );
        f.value(
            list_of(count(
                "segments",
                "The segments, counted from 1, whose published figures calibration may use.",
            ))
            .required("[1, 2]")
            .unique(),
            &mut self.segments,
        );
        f.value(
            percent(
                "row_scatter_percent",
                "What a published row scatters by: its standard deviation, in percent of it. 0, the default, if that is \
                 not known.",
            )
            .default("0", "not known")
            .refusing(refuse_scatter)
            .unless_default(),
            &mut self.row_scatter_percent,
        );
    }

    fn check(&self, s: &Section<'_>, around: &Around) {
        if let Some(segments) = around.segments.filter(|_| s.is_right("segments")) {
            check_segments(s, &self.segments, segments);
        }
    }
}

fn refuse_scatter(value: &SettingValue) -> Option<(String, String)> {
    let SettingValue::Number(percent) = value else { return None };
    (*percent > MOST_SCATTER_PERCENT).then(|| {
        (
            format!("rows that may be off by {percent} % say nothing"),
            format!("give at most {MOST_SCATTER_PERCENT} %"),
        )
    })
}

/// Checks that the parameters are `known`, those of an array of the kind.
pub(crate) fn check_parameters(
    section: &Section<'_>,
    parameters: &[String],
    kind: &dyn Kind,
    known: &[String],
) {
    let limit = kind.most_fitted();
    if parameters.len() > limit {
        section.problem(
            "parameters",
            format!("{} parameters are fitted", parameters.len()),
            format!(
                "few fitted numbers keep the rest a prediction: list at most {limit} for {} \
                 array",
                kind.noun()
            ),
        );
    }
    let mut seen = BTreeSet::new();
    for (index, name) in parameters.iter().enumerate() {
        let at = section.element("parameters", index);
        if !known.contains(name) {
            let message = format!("there is no parameter `{name}`");
            let help = value::one_of(name, known);
            section.problem_at(at, "parameters", message, help);
        } else if !seen.insert(name) {
            let message = format!("`{name}` is listed twice");
            section.problem_at(at, "parameters", message, "list it once");
        }
    }
}

fn check_segments(section: &Section<'_>, used: &[u32], segments: u32) {
    let mut seen = BTreeSet::new();
    for (position, index) in used.iter().enumerate() {
        let at = section.element("segments", position);
        if *index > segments {
            section.problem_at(
                at,
                "segments",
                format!("there is no segment {index}"),
                format!("the scenario has segments 1 to {segments}"),
            );
        } else if !seen.insert(index) {
            let message = format!("segment {index} is listed twice");
            section.problem_at(at, "segments", message, "list it once");
        }
    }
}
