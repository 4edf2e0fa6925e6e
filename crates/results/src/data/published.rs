//! Published figures, read from the TOML file beside a scenario.
//!
//! Only the comparison and the calibration read these; a run never does.
//!
//! ```toml
//! title = "Making Sense of WAFL Part 4"
//! author = "Karl Dohm, HP"
//! year = 2008
//!
//! [[array]]
//! name = "FAS2050"
//! iops = [4864, 4494]            # one figure a segment, from segment 1
//! mib_per_s = [52.7, 48.6]
//! response_ms = [30.8, 33.4]
//!
//! [[array]]
//! name = "EVA4400"
//! steady_iops = 5983             # the same in every segment
//! steady_iops_range = [5968, 5998]
//!
//! [[ratio]]
//! name = "unfragmented"
//! of = "FAS2050"
//! over = "EVA4400"
//! segment = 1
//! percent = 81.0
//!
//! [[row]]                        # a row of a table, for scenarios whose arrays have a figure or two each
//! name = "iSCSI, read"
//! array = "iSCSI"                # `phase`, `workload` or `link` narrow it down
//! metric = "mb_per_s"            # `statistic`: over all of it ("mean") unless given
//! figure = 224.47                # or `range`, or neither
//! peak = 239.23                  # shown, never scored
//! ```

use crate::data::comparison::Metric;
use crate::data::published_reader::Reader;
use crate::data::published_row::{self, PublishedRow, RawRow};
use crate::data::toml_text::TomlError;
use serde::Deserialize;
use std::path::Path;
use toml::Spanned;

/// The figures of one published source.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// Title of the source.
    pub title: String,
    /// Who wrote it.
    pub author: String,
    /// Year of publication.
    pub year: u16,
    /// Figures by array.
    pub arrays: Vec<PublishedArray>,
    /// Ratios that the source states.
    pub ratios: Vec<PublishedRatio>,
    /// Rows of tables, in the order of the file.
    pub rows: Vec<PublishedRow>,
}

/// The published figures of one array. A metric has a figure per segment, one for all segments, or
/// none.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedArray {
    /// Name of the array, as in the scenario.
    pub name: String,
    /// Host operations per second, by segment.
    pub iops: Vec<f64>,
    /// MiB per second, by segment.
    pub mib_per_s: Vec<f64>,
    /// Mean response time by segment, milliseconds.
    pub response_ms: Vec<f64>,
    /// Host operations per second in every segment.
    pub steady_iops: Option<f64>,
    /// Lowest and highest value of `steady_iops` that the source allows.
    pub steady_iops_range: Option<[f64; 2]>,
    /// MiB per second in every segment.
    pub steady_mib_per_s: Option<f64>,
    /// Mean response time in every segment, milliseconds.
    pub steady_response_ms: Option<f64>,
}

/// A ratio of the IOPS of two arrays, as the source states it.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedRatio {
    /// Its name in the source.
    pub name: String,
    /// Array in the numerator.
    pub of: String,
    /// Array in the denominator.
    pub over: String,
    /// Segment that both are taken from.
    pub segment: u32,
    /// The ratio, percent.
    pub percent: f64,
}

impl Published {
    /// Reads the text of a file of published figures. `path` is used in messages only.
    ///
    /// # Errors
    ///
    /// If the text is not TOML, has an unknown field or lacks a required one; if a figure is not a
    /// positive number; if two arrays or two rows share a name, or a ratio names an unknown array; if the
    /// metrics of an array have different numbers of segments, or one is given both by segment and
    /// as steady; if a row has both a figure and a range, or a link has another metric than a rate.
    pub fn from_toml(text: &str, path: impl AsRef<Path>) -> Result<Self, TomlError> {
        Self::read(&Reader::new(text, path.as_ref()))
    }

    /// Not generic, so that it is compiled here and not again by each caller.
    fn read(reader: &Reader) -> Result<Self, TomlError> {
        let raw: RawPublished = reader.parse()?;
        let mut arrays: Vec<PublishedArray> = Vec::with_capacity(raw.array.len());
        for array in raw.array {
            if arrays.iter().any(|other| other.name == *array.name.get_ref()) {
                let message = format!("{:?} is already there", array.name.get_ref());
                return Err(reader.error(array.name.span(), "array.name", message));
            }
            arrays.push(reader.array(array)?);
        }
        let ratios = raw.ratio.into_iter().map(|ratio| reader.ratio(ratio, &arrays));
        Ok(Self {
            title: raw.title,
            author: raw.author,
            year: raw.year,
            ratios: ratios.collect::<Result<_, _>>()?,
            rows: published_row::read(reader, raw.row)?,
            arrays,
        })
    }

    /// Returns the published figures of the array called `name`.
    #[must_use]
    pub fn array(&self, name: &str) -> Option<&PublishedArray> {
        self.arrays.iter().find(|array| array.name == name)
    }
}

impl PublishedArray {
    /// Returns the published figure of `metric` in the segment numbered `segment` (the first is 1),
    /// in the metric's unit; none if there is none.
    #[must_use]
    pub fn figure(&self, metric: Metric, segment: u32) -> Option<f64> {
        let (by_segment, steady) = match metric {
            Metric::Iops => (&self.iops, self.steady_iops),
            Metric::MibPerS => (&self.mib_per_s, self.steady_mib_per_s),
            Metric::ResponseMs => (&self.response_ms, self.steady_response_ms),
        };
        let position = usize::try_from(segment.checked_sub(1)?).ok()?;
        by_segment.get(position).copied().or(steady)
    }

    /// Returns whether a fit to the IOPS of `fitted_segments` used the published figure of
    /// `segment`. A figure that is the same in every segment was used if any was: a run that
    /// repeats it predicts that it stays, not what it is.
    #[must_use]
    pub fn was_fitted(&self, segment: u32, fitted_segments: &[u32]) -> bool {
        let is_steady = self.iops.is_empty() && self.steady_iops.is_some();
        fitted_segments.contains(&segment) || (is_steady && !fitted_segments.is_empty())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPublished {
    title: String,
    author: String,
    year: u16,
    #[serde(default)]
    array: Vec<RawArray>,
    #[serde(default)]
    ratio: Vec<RawRatio>,
    #[serde(default)]
    row: Vec<RawRow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawArray {
    name: Spanned<String>,
    iops: Option<Spanned<Vec<f64>>>,
    mib_per_s: Option<Spanned<Vec<f64>>>,
    response_ms: Option<Spanned<Vec<f64>>>,
    steady_iops: Option<Spanned<f64>>,
    steady_iops_range: Option<Spanned<[f64; 2]>>,
    steady_mib_per_s: Option<Spanned<f64>>,
    steady_response_ms: Option<Spanned<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRatio {
    name: String,
    of: Spanned<String>,
    over: Spanned<String>,
    segment: Spanned<u32>,
    percent: Spanned<f64>,
}

impl Reader<'_> {
    fn array(&self, raw: RawArray) -> Result<PublishedArray, TomlError> {
        let segments = [&raw.iops, &raw.mib_per_s, &raw.response_ms];
        let steady = [&raw.steady_iops, &raw.steady_mib_per_s, &raw.steady_response_ms];
        let mut count: Option<(Metric, usize)> = None;
        for ((metric, by_segment), steady) in Metric::ALL.into_iter().zip(segments).zip(steady) {
            let field = metric.as_str();
            if let Some(figure) = steady {
                self.positive(figure, &[*figure.get_ref()], &format!("array.steady_{field}"))?;
            }
            let Some(figures) = by_segment else { continue };
            let field = format!("array.{field}");
            self.positive(figures, figures.get_ref(), &field)?;
            if steady.is_some() {
                let message = "given both by segment and as steady".to_owned();
                return Err(self.error(figures.span(), &field, message));
            }
            let found = figures.get_ref().len();
            match count {
                Some((other, expected)) if expected != found => {
                    let other = other.as_str();
                    let message = format!("{found} segments, but {other} has {expected}");
                    return Err(self.error(figures.span(), &field, message));
                }
                _ => count = Some((metric, found)),
            }
        }
        if let Some(range) = &raw.steady_iops_range {
            self.steady_range(range, raw.steady_iops.as_ref())?;
        }
        Ok(PublishedArray {
            name: raw.name.into_inner(),
            iops: raw.iops.map(Spanned::into_inner).unwrap_or_default(),
            mib_per_s: raw.mib_per_s.map(Spanned::into_inner).unwrap_or_default(),
            response_ms: raw.response_ms.map(Spanned::into_inner).unwrap_or_default(),
            steady_iops: raw.steady_iops.map(Spanned::into_inner),
            steady_iops_range: raw.steady_iops_range.map(Spanned::into_inner),
            steady_mib_per_s: raw.steady_mib_per_s.map(Spanned::into_inner),
            steady_response_ms: raw.steady_response_ms.map(Spanned::into_inner),
        })
    }

    fn steady_range(
        &self,
        range: &Spanned<[f64; 2]>,
        steady: Option<&Spanned<f64>>,
    ) -> Result<(), TomlError> {
        const FIELD: &str = "array.steady_iops_range";
        let [lowest, highest] = *range.get_ref();
        self.positive(range, range.get_ref(), FIELD)?;
        let message = match steady.map(|steady| *steady.get_ref()) {
            None => "a range of steady_iops, which is missing".to_owned(),
            Some(steady) if !(lowest..=highest).contains(&steady) => {
                format!("steady_iops, {steady}, is not from {lowest} to {highest}")
            }
            Some(_) => return Ok(()),
        };
        Err(self.error(range.span(), FIELD, message))
    }

    fn ratio(&self, raw: RawRatio, arrays: &[PublishedArray]) -> Result<PublishedRatio, TomlError> {
        for (field, name) in [("ratio.of", &raw.of), ("ratio.over", &raw.over)] {
            if !arrays.iter().any(|array| array.name == *name.get_ref()) {
                let message = format!("there is no array {:?}", name.get_ref());
                return Err(self.error(name.span(), field, message));
            }
        }
        if *raw.segment.get_ref() == 0 {
            let message = "segments are numbered from 1".to_owned();
            return Err(self.error(raw.segment.span(), "ratio.segment", message));
        }
        self.positive(&raw.percent, &[*raw.percent.get_ref()], "ratio.percent")?;
        Ok(PublishedRatio {
            name: raw.name,
            of: raw.of.into_inner(),
            over: raw.over.into_inner(),
            segment: raw.segment.into_inner(),
            percent: raw.percent.into_inner(),
        })
    }
}
