//! Rows of published tables: single figures, each of its own array, phase or workload.

use crate::data::columns::Unit;
use crate::data::figure::{FigureMetric, FigureOf};
use crate::data::published_reader::Reader;
use crate::data::statistic::Statistic;
use crate::data::toml_text::TomlError;
use serde::Deserialize;
use toml::Spanned;

/// A row of a published table.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedRow {
    /// Its name, unique in the file.
    pub name: String,
    /// What it is of.
    pub of: FigureOf,
    /// The published figure, in the unit of the metric; none where there is none, or only a range.
    pub figure: Option<f64>,
    /// What the words of the source allow, if they give no figure.
    pub range: Option<[f64; 2]>,
    /// The published peak, which is shown and never scored.
    pub peak: Option<f64>,
    /// Why the row is shown and not scored, if it is not.
    pub not_scored: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRow {
    name: Spanned<String>,
    array: String,
    phase: Option<String>,
    workload: Option<Spanned<String>>,
    link: Option<Spanned<String>>,
    metric: FigureMetric,
    #[serde(default)]
    statistic: Statistic,
    over: Option<String>,
    figure: Option<Spanned<f64>>,
    range: Option<Spanned<[f64; 2]>>,
    peak: Option<Spanned<f64>>,
    not_scored: Option<Spanned<String>>,
}

/// Reads the rows of a file.
pub(super) fn read(reader: &Reader<'_>, raw: Vec<RawRow>) -> Result<Vec<PublishedRow>, TomlError> {
    let mut rows: Vec<PublishedRow> = Vec::with_capacity(raw.len());
    for row in raw {
        if rows.iter().any(|other| other.name == *row.name.get_ref()) {
            let message = format!("{:?} is already there", row.name.get_ref());
            return Err(reader.error(row.name.span(), "row.name", message));
        }
        rows.push(read_row(reader, row)?);
    }
    Ok(rows)
}

fn read_row(reader: &Reader<'_>, raw: RawRow) -> Result<PublishedRow, TomlError> {
    for (figure, field) in [(&raw.figure, "row.figure"), (&raw.peak, "row.peak")] {
        if let Some(figure) = figure {
            reader.positive(figure, &[*figure.get_ref()], field)?;
        }
    }
    if let Some(range) = &raw.range {
        let [low, high] = *range.get_ref();
        if !(low.is_finite() && high.is_finite() && low >= 0.0 && low < high) {
            let message =
                format!("{low} to {high} is no range of figures: the lower end comes first");
            return Err(reader.error(range.span(), "row.range", message));
        }
        if raw.figure.is_some() {
            let message = "given beside a figure: give one of them".to_owned();
            return Err(reader.error(range.span(), "row.range", message));
        }
    }
    let is_rate = matches!(raw.metric.unit(), Unit::MbPerS | Unit::MibPerS);
    if let Some(link) = raw.link.as_ref().filter(|_| !is_rate) {
        let message = "a link has `mb_per_s` and `mib_per_s` alone".to_owned();
        return Err(reader.error(link.span(), "row.link", message));
    }
    let of_workloads = raw.metric.is_of_workloads();
    if let Some(workload) = raw.workload.as_ref().filter(|_| !of_workloads) {
        let message = "this metric is of the array, not of a workload".to_owned();
        return Err(reader.error(workload.span(), "row.workload", message));
    }
    if let Some(why) = raw.not_scored.as_ref().filter(|why| why.get_ref().trim().is_empty()) {
        let message = "does not say why".to_owned();
        return Err(reader.error(why.span(), "row.not_scored", message));
    }
    Ok(PublishedRow {
        name: raw.name.into_inner(),
        of: FigureOf {
            array: raw.array,
            phase: raw.phase,
            segment: None,
            workload: raw.workload.map(Spanned::into_inner),
            link: raw.link.map(Spanned::into_inner),
            metric: raw.metric,
            statistic: raw.statistic,
            over: raw.over,
            over_segment: None,
        },
        figure: raw.figure.map(Spanned::into_inner),
        range: raw.range.map(Spanned::into_inner),
        peak: raw.peak.map(Spanned::into_inner),
        not_scored: raw.not_scored.map(Spanned::into_inner),
    })
}
