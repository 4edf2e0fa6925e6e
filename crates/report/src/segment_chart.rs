//! Charts of a figure by segment, all arrays in one picture, published figures beside.
//!
//! A simulated figure is a marker on its array's line: filled if it was predicted, hollow if a
//! parameter was fitted to that segment. A published figure is a level dash under the marker. Both
//! axes start where the quantity does, so that heights compare as the numbers do.

use crate::axis::Axis;
use crate::chart::{
    ChartError, ChartStyle, Margins, PIXEL, Sheet, register_the_font, text, to_px, width_px,
};
use crate::comparison::Metric;
use crate::legend::{self, Sample};
use crate::marker::{Appearance, Canvas};
use crate::plot::{Labelled, Plot};
use crate::results::{ArrayResults, Results};
use crate::value_mark::ValueMark;
use plotters::coord::ranged1d::ValueFormatter;
use plotters::style::text_anchor::VPos;

/// Host operations per second by segment, of all arrays.
///
/// # Errors
///
/// If there is no segment to draw, a figure cannot be drawn, or the size is out of bounds.
pub fn iops_chart(results: &Results, style: impl Into<ChartStyle>) -> Result<String, ChartError> {
    segment_chart(results, Metric::Iops, subtitles(results), &|_| true, style.into())
}

/// Mean response time by segment, of all arrays.
///
/// # Errors
///
/// If there is no segment to draw, a figure cannot be drawn, or the size is out of bounds.
pub fn response_chart(
    results: &Results,
    style: impl Into<ChartStyle>,
) -> Result<String, ChartError> {
    segment_chart(results, Metric::ResponseMs, subtitles(results), &|_| true, style.into())
}

/// A metric by segment, of all arrays; `shows_published` says by an array's name whether what is published of it is drawn.
pub(crate) fn segment_chart(
    results: &Results,
    metric: Metric,
    subtitles: Vec<String>,
    shows_published: &dyn Fn(&str) -> bool,
    style: ChartStyle,
) -> Result<String, ChartError> {
    let (title, axis) = match metric {
        Metric::Iops => ("Throughput by segment", "host operations per second (IOPS)"),
        Metric::MibPerS => ("Throughput by segment", "host data (MiB/s)"),
        Metric::ResponseMs => ("Response time by segment", "mean response time (ms)"),
    };
    Picture { title, axis, metric, shows_published }.draw(results, subtitles, style)
}

struct Picture<'a> {
    title: &'static str,
    axis: &'static str,
    metric: Metric,
    shows_published: &'a dyn Fn(&str) -> bool,
}

/// The figures of one array, by segment.
struct Series<'a> {
    name: &'a str,
    appearance: Appearance,
    /// Segment, figure, and whether it was fitted.
    simulated: Vec<(u32, f64, bool)>,
    published: Vec<(u32, f64)>,
}

impl Picture<'_> {
    fn draw(
        &self,
        results: &Results,
        subtitles: Vec<String>,
        style: ChartStyle,
    ) -> Result<String, ChartError> {
        style.size.check()?;
        // What the legend is laid out with.
        register_the_font()?;
        let mut series = Vec::with_capacity(results.arrays.len());
        for (position, array) in results.arrays.iter().enumerate() {
            series.push(self.series(results, position, array)?);
        }
        let sheet = Sheet::new(style, self.title, subtitles, series.len())?;
        sheet.draw(|canvas, margins| {
            let marks = self.plot(canvas, &series, &segment_axis(results), margins)?;
            legend(canvas, &series, to_px(style.size.height_px as usize) - margins.legend_px)?;
            Ok(marks)
        })
    }

    fn series<'a>(
        &self,
        results: &Results,
        position: usize,
        array: &'a ArrayResults,
    ) -> Result<Series<'a>, ChartError> {
        let comparison = results
            .published
            .iter()
            .find(|found| found.array == array.name && found.metric == self.metric);
        let figure = |segment: u32, figure: f64| {
            if figure.is_finite() && figure >= 0.0 {
                return Ok(figure);
            }
            Err(ChartError::Figure { array: array.name.clone(), segment })
        };
        let simulated = array.segments.iter().map(|segment| {
            let index = segment.index;
            let simulated = figure(index, self.metric.of(segment))?;
            Ok((index, simulated, results.was_fitted(array, index)))
        });
        let published = comparison
            .iter()
            .filter(|_| (self.shows_published)(&array.name))
            .flat_map(|found| found.segments.iter())
            .map(|segment| Ok((segment.index, figure(segment.index, segment.published)?)));
        Ok(Series {
            name: &array.name,
            appearance: Appearance::of(position),
            simulated: simulated.collect::<Result<_, _>>()?,
            published: published.collect::<Result<_, _>>()?,
        })
    }

    /// What a figure is, for somebody who points at it.
    fn words(&self, series: &Series<'_>, segment: u32, figure: f64, fitted: bool) -> String {
        let unit = self.metric.unit();
        let kind = if fitted { "fitted" } else { "predicted" };
        let published = series.published.iter().find(|published| published.0 == segment);
        let beside = match published {
            Some((_, figure)) => format!(", {kind}; published {} {unit}", Axis::format(figure)),
            None => String::new(),
        };
        let figure = Axis::format(&figure);
        format!("{}, segment {segment}: {figure} {unit}{beside}", series.name)
    }

    fn plot(
        &self,
        canvas: &Canvas<'_>,
        series: &[Series<'_>],
        segment_axis: &str,
        margins: &Margins,
    ) -> Result<Vec<ValueMark>, ChartError> {
        let all = || series.iter().flat_map(|series| &series.simulated);
        let first = all().map(|point| point.0).min().ok_or(ChartError::NothingToDraw)?;
        let last = all().map(|point| point.0).max().ok_or(ChartError::NothingToDraw)?;
        let published = series.iter().flat_map(|series| &series.published).map(|point| point.1);
        let highest = all().map(|point| point.1).chain(published).fold(0.0, f64::max);
        let across = Labelled {
            axis: Axis::of_segments(first, last),
            label: &Axis::format,
            words: segment_axis,
        };
        let up =
            Labelled { axis: Axis::from_zero_to(highest), label: &Axis::format, words: self.axis };
        let plot = Plot::begin(canvas, margins, across, up)?;
        let place = |segment: u32, figure: f64| plot.place((f64::from(segment), figure));
        for Series { appearance, simulated, .. } in series {
            let places = simulated.iter().map(|point| place(point.0, point.1)).collect();
            appearance.line(canvas, places, PIXEL)?;
        }
        for Series { appearance, published, .. } in series {
            for (segment, figure) in published {
                appearance.published(canvas, place(*segment, *figure), PIXEL)?;
            }
        }
        for Series { appearance, simulated, .. } in series {
            for (segment, figure, fitted) in simulated {
                appearance.simulated(canvas, place(*segment, *figure), *fitted, PIXEL)?;
            }
        }
        let marks = series.iter().flat_map(|series| {
            series.simulated.iter().map(|(segment, figure, fitted)| ValueMark {
                place: place(*segment, *figure),
                words: self.words(series, *segment, *figure, *fitted),
            })
        });
        Ok(marks.collect())
    }
}

/// What a mark stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Predicted,
    Fitted,
    Published,
}

impl Kind {
    const fn words(self) -> &'static str {
        match self {
            Self::Predicted => "simulated, predicted",
            Self::Fitted => "simulated, fitted",
            Self::Published => "published",
        }
    }

    const fn sample(self) -> Sample {
        match self {
            Self::Predicted => Sample::Filled,
            Self::Fitted => Sample::Hollow,
            Self::Published => Sample::Published,
        }
    }

    fn is_in(self, series: &Series<'_>) -> bool {
        match self {
            Self::Predicted => series.simulated.iter().any(|point| !point.2),
            Self::Fitted => series.simulated.iter().any(|point| point.2),
            Self::Published => !series.published.is_empty(),
        }
    }
}

/// One row per array below the plot: what each kind of mark stands for.
fn legend(canvas: &Canvas<'_>, series: &[Series<'_>], top_px: i32) -> Result<(), ChartError> {
    let name_px =
        series.iter().map(|series| width_px(series.name, 12)).collect::<Result<Vec<_>, _>>()?;
    let first_px = legend::LEFT_PX + name_px.into_iter().max().unwrap_or_default() + 24;
    // A kind has its column in every row, unless no array has it.
    let mut kinds = vec![Kind::Predicted, Kind::Fitted, Kind::Published];
    kinds.retain(|kind| series.iter().any(|series| kind.is_in(series)));
    for (row, series) in series.iter().enumerate() {
        let middle_px = top_px + legend::ROW_PX * to_px(row) + legend::ROW_PX / 2;
        text(canvas, series.name, (legend::LEFT_PX, middle_px), 12, VPos::Center)?;
        let mut x_px = first_px;
        for kind in &kinds {
            if kind.is_in(series) {
                let place = (x_px, middle_px);
                legend::entry(canvas, series.appearance, kind.sample(), kind.words(), place)?;
            }
            x_px += legend::entry_px(kind.words())?;
        }
    }
    Ok(())
}

/// Which run it is, and then what keeps it from being a whole one, a line each.
pub(crate) fn subtitles(results: &Results) -> Vec<String> {
    let Results { scenario, seed, strewn, .. } = results;
    let mut lines = vec![format!("{scenario}, seed {seed}, strewn {strewn}")];
    lines.extend(results.caveats());
    lines
}

/// The label of the segment axis, with the length of a segment if all have the same.
pub(crate) fn segment_axis(results: &Results) -> String {
    let mut lengths =
        results.arrays.iter().flat_map(|array| &array.segments).map(|segment| segment.seconds);
    let Some(first) = lengths.next() else { return "segment".to_owned() };
    if lengths.any(|seconds| seconds != first) {
        return "segment".to_owned();
    }
    if first >= 60.0 && first % 60.0 == 0.0 {
        format!("segment ({} min each)", first / 60.0)
    } else {
        format!("segment ({first} s each)")
    }
}
