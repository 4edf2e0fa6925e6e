//! What a study measures of each run.

use serde::Deserialize;
use strewn_results::{FigureMetric, FigureOf, SegmentChoice, Statistic, SweepFigure};
use toml::Spanned;

use super::reader::Reader;
use crate::error::StudyError;

/// A figure of one array, or of each.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) quantity: String,
    pub(crate) array: Option<String>,
    pub(crate) of: FigureOf,
    by_segment: bool,
    pub(crate) line: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawFigure {
    name: Option<String>,
    array: Option<String>,
    phase: Option<String>,
    segment: Option<SegmentChoice>,
    workload: Option<String>,
    link: Option<String>,
    metric: FigureMetric,
    #[serde(default)]
    statistic: Statistic,
    over: Option<String>,
    over_segment: Option<SegmentChoice>,
    #[serde(default)]
    by_segment: bool,
}

/// Reads the figures of a study, or returns those that are measured where it names none.
pub(super) fn read(
    reader: &Reader<'_>,
    raw: Vec<Spanned<RawFigure>>,
) -> Result<Vec<Measured>, StudyError> {
    if raw.is_empty() {
        return Ok(usual());
    }
    let mut figures: Vec<Measured> = Vec::with_capacity(raw.len());
    for raw in raw {
        let span = raw.span();
        let figure = read_one(reader, raw)?;
        let is_same =
            |other: &Measured| other.quantity == figure.quantity && other.array == figure.array;
        if figures.iter().any(is_same) {
            let message = format!("\"{}\" is there twice", figure.quantity);
            return Err(reader.wrong(
                span,
                "figure.name",
                message,
                "give each figure another name",
            ));
        }
        figures.push(figure);
    }
    Ok(figures)
}

fn read_one(reader: &Reader<'_>, raw: Spanned<RawFigure>) -> Result<Measured, StudyError> {
    let span = raw.span();
    let line = reader.line(span.clone());
    let raw = raw.into_inner();
    if raw.by_segment && raw.segment.is_some() {
        let help = "leave one of the two out";
        return Err(reader.wrong(span, "figure.segment", "is given beside `by_segment`", help));
    }
    let of = FigureOf {
        array: String::new(),
        phase: raw.phase,
        segment: raw.segment,
        workload: raw.workload,
        link: raw.link,
        metric: raw.metric,
        statistic: raw.statistic,
        over: raw.over,
        over_segment: raw.over_segment,
    };
    let quantity = raw.name.unwrap_or_else(|| described(&of));
    Ok(Measured { quantity, array: raw.array, of, by_segment: raw.by_segment, line })
}

/// What is measured of a study that does not say.
fn usual() -> Vec<Measured> {
    let last = Some(SegmentChoice::Last(strewn_results::Last::Last));
    let of = |metric, segment, over_segment| FigureOf {
        array: String::new(),
        phase: None,
        segment,
        workload: None,
        link: None,
        metric,
        statistic: Statistic::MEAN,
        over: None,
        over_segment,
    };
    let measured = |quantity: &str, of, by_segment| Measured {
        quantity: quantity.to_owned(),
        array: None,
        of,
        by_segment,
        line: 1,
    };
    vec![
        measured("IOPS, last segment", of(FigureMetric::IOPS, last, None), false),
        measured("response, last segment", of(FigureMetric::RESPONSE_MS, last, None), false),
        measured(
            "IOPS kept of the first segment",
            of(FigureMetric::IOPS, last, Some(SegmentChoice::Number(1))),
            false,
        ),
        measured("IOPS by segment", of(FigureMetric::IOPS, None, None), true),
    ]
}

/// A name for a figure that has none.
fn described(of: &FigureOf) -> String {
    let mut name = of.metric.as_str().replace('_', " ");
    if let Some(workload) = &of.workload {
        name += &format!(" of {workload}");
    }
    if let Some(phase) = &of.phase {
        name += &format!(", {phase}");
    }
    if let Some(segment) = of.segment {
        name += &format!(", segment {segment}");
    }
    name
}

impl Measured {
    /// Returns the figures of these arrays, of which the study may name one.
    pub(crate) fn of_arrays(&self, arrays: &[String]) -> Vec<SweepFigure> {
        let is_meant = |name: &&String| self.array.as_ref().is_none_or(|array| array == *name);
        let figure = |array: &String| {
            let of = FigureOf { array: array.clone(), ..self.of.clone() };
            SweepFigure {
                name: format!("{array}: {}", self.quantity),
                quantity: self.quantity.clone(),
                unit: of.unit().to_owned(),
                of,
                by_segment: self.by_segment,
            }
        };
        arrays.iter().filter(is_meant).map(figure).collect()
    }
}
