//! What calibration may fit for an array.

use std::collections::BTreeSet;

use toml::Spanned;

use crate::layout::ArrayLayout;
use crate::parameter;
use crate::section::Section;
use crate::value;

/// The most that a fitted row may be said to scatter by, in percent.
const MOST_SCATTER_PERCENT: f64 = 10.0;

/// The parameters that calibration may set, and the segments that it may fit them to.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// Names of parameters, as [`Scenario::set_parameter`](crate::Scenario::set_parameter) takes
    /// them: at most two for a write-anywhere array, one for an in-place array.
    pub parameters: Vec<String>,
    /// The segments, counted from 1, whose published figures calibration may use.
    pub segments: Vec<u32>,
    /// What a published row scatters by: its standard deviation, in percent of it. 0 if that is not known.
    pub row_scatter_percent: f64,
}

impl Fitted {
    /// Reads `[array.fitted]`.
    pub(crate) fn read(
        mut section: Section<'_>,
        layout: Option<&ArrayLayout>,
        segments: Option<u32>,
    ) -> Option<Self> {
        let example = "[\"processor.host_operation\", \"processor.spindle_command\"]";
        let parameters = section.list("parameters", example, value::text);
        let used = section.list("segments", "[1, 2]", value::positive_count);
        let scatter = section.optional_or("row_scatter_percent", 0.0, value::percent);
        if let Some(percent) = scatter.filter(|percent| *percent > MOST_SCATTER_PERCENT) {
            section.problem(
                "row_scatter_percent",
                format!("rows that may be off by {percent} % say nothing"),
                format!("give at most {MOST_SCATTER_PERCENT} %"),
            );
        }
        if let (Some(parameters), Some(layout)) = (&parameters, layout) {
            check_parameters(&section, parameters, layout);
        }
        if let (Some(used), Some(segments)) = (&used, segments) {
            check_segments(&section, used, segments);
        }
        section.finish();
        Some(Self {
            parameters: parameters?.into_iter().map(Spanned::into_inner).collect(),
            segments: used?.into_iter().map(Spanned::into_inner).collect(),
            row_scatter_percent: scatter?,
        })
    }
}

fn check_parameters(section: &Section<'_>, parameters: &[Spanned<String>], layout: &ArrayLayout) {
    let limit = layout.fitted_parameters_limit();
    if parameters.len() > limit {
        let kind = match layout {
            ArrayLayout::WriteAnywhere(_) => "a write-anywhere",
            ArrayLayout::InPlace(_) => "an in-place",
        };
        section.problem(
            "parameters",
            format!("{} parameters are fitted", parameters.len()),
            format!(
                "few fitted numbers keep the rest a prediction: list at most {limit} for {kind} \
                 array"
            ),
        );
    }
    let mut seen = BTreeSet::new();
    for parameter in parameters {
        let name = parameter.get_ref();
        let known = parameter::names(layout);
        if !known.contains(&name.as_str()) {
            let message = format!("there is no parameter `{name}`");
            let help = value::one_of(name, &known);
            section.problem_at(parameter.span(), "parameters", message, help);
        } else if !seen.insert(name) {
            let message = format!("`{name}` is listed twice");
            section.problem_at(parameter.span(), "parameters", message, "list it once");
        }
    }
}

fn check_segments(section: &Section<'_>, used: &[Spanned<u32>], segments: u32) {
    let mut seen = BTreeSet::new();
    for segment in used {
        let index = *segment.get_ref();
        if index > segments {
            section.problem_at(
                segment.span(),
                "segments",
                format!("there is no segment {index}"),
                format!("the scenario has segments 1 to {segments}"),
            );
        } else if !seen.insert(index) {
            let message = format!("segment {index} is listed twice");
            section.problem_at(segment.span(), "segments", message, "list it once");
        }
    }
}
