//! Charts of a figure by segment: all arrays in one picture, with published figures.
//!
//! A figure is a marker on its array's line: filled if it was predicted or measured, hollow if a parameter was fitted
//! to that segment. A published figure is a horizontal dash under the marker, and a step a vertical line between
//! segments. Both axes start at the quantity's own start, so heights compare as the numbers do.

use crate::axis::Axis;
use crate::bands::Band;
use crate::beside::Beside;
use crate::canvas::{Canvas, PIXEL, VPos, text, to_px, width_px};
use crate::chart::{ChartError, ChartStyle};
use crate::legend::{self, Sample};
use crate::marker::Appearance;
use crate::plot::{Labelled, Plot};
use crate::sheet::{Margins, Sheet};
use crate::value_mark::ValueMark;
use strewn_results::{
    ArrayResults, FigureBand, Finding, Metric, Origin, Results, Segment, rounded,
};

/// Draws host operations per second by segment, for all arrays.
///
/// # Errors
///
/// If there is no segment to draw, a figure cannot be drawn, or the size is out of bounds.
pub fn iops_chart(results: &Results, style: impl Into<ChartStyle>) -> Result<String, ChartError> {
    by_segment(results, Metric::Iops, &Beside::default(), style.into())
}

/// Draws the mean response time by segment, for all arrays.
///
/// # Errors
///
/// If there is no segment to draw, a figure cannot be drawn, or the size is out of bounds.
pub fn response_chart(
    results: &Results,
    style: impl Into<ChartStyle>,
) -> Result<String, ChartError> {
    by_segment(results, Metric::ResponseMs, &Beside::default(), style.into())
}

/// Draws a metric of all arrays by segment.
pub(crate) fn by_segment(
    results: &Results,
    metric: Metric,
    beside: &Beside<'_>,
    style: ChartStyle,
) -> Result<String, ChartError> {
    segment_chart(&every_array(results), metric, subtitles(results), beside, style)
}

/// An array to draw.
pub(crate) struct Shown<'a> {
    /// The results that it belongs to.
    pub(crate) results: &'a Results,
    pub(crate) array: &'a ArrayResults,
    /// Its name in the picture.
    pub(crate) name: String,
    /// Whether its published figures are drawn.
    pub(crate) shows_published: bool,
}

fn every_array(results: &Results) -> Vec<Shown<'_>> {
    let arrays = results.arrays.iter();
    let shown = arrays.map(|array| Shown {
        results,
        array,
        name: array.name.clone(),
        shows_published: true,
    });
    shown.collect()
}

/// Draws a metric of these arrays by segment.
pub(crate) fn segment_chart(
    shown: &[Shown<'_>],
    metric: Metric,
    subtitles: Vec<String>,
    beside: &Beside<'_>,
    style: ChartStyle,
) -> Result<String, ChartError> {
    let (title, axis) = match metric {
        Metric::Iops => ("Throughput by segment", "host operations per second (IOPS)"),
        Metric::MibPerS => ("Throughput by segment", "host data (MiB/s)"),
        Metric::ResponseMs => ("Response time by segment", "mean response time (ms)"),
    };
    Picture { title, axis, metric, beside }.draw(shown, subtitles, style)
}

struct Picture<'a> {
    title: &'static str,
    axis: &'static str,
    metric: Metric,
    beside: &'a Beside<'a>,
}

/// The figures of one array, by segment.
struct Series<'a> {
    name: &'a str,
    appearance: Appearance,
    /// Where its line is cut: its own, also where the arrays of a chart have other ones.
    bands: Vec<Band>,
    /// Segment, figure, and its origin.
    own: Vec<(u32, f64, Origin)>,
    published: Vec<(u32, f64)>,
    /// Segment, and the ends of the figure's band.
    band: Vec<(u32, [f64; 2])>,
    /// The segments that begin with a step, and what is said of it.
    steps: Vec<(u32, &'a str)>,
    /// The number of an earlier run that has the array, and its segments and figures.
    earlier: Vec<(usize, Vec<(u32, f64)>)>,
}

impl Picture<'_> {
    fn draw(
        &self,
        shown: &[Shown<'_>],
        subtitles: Vec<String>,
        style: ChartStyle,
    ) -> Result<String, ChartError> {
        style.size.check()?;
        // The legend is laid out with it.
        let series = shown.iter().enumerate();
        let series = series.map(|(position, shown)| self.series(shown, position));
        let series = series.collect::<Result<Vec<_>, _>>()?;
        let segment_axis = segment_axis(shown.iter().map(|shown| shown.array));
        let bands = Band::all_of(shown.iter().map(|shown| shown.array));
        let sheet = Sheet::new(style, self.title, subtitles, series.len())?;
        sheet.draw(|canvas, margins| {
            let marks = self.plot(canvas, &series, &segment_axis, &bands, margins)?;
            legend(canvas, &series, to_px(style.size.height_px as usize) - margins.legend_px)?;
            Ok(marks)
        })
    }

    fn series<'s>(&self, shown: &'s Shown<'_>, position: usize) -> Result<Series<'s>, ChartError> {
        let Shown { results, array, .. } = *shown;
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
        let own =
            array.warm_up.as_deref().into_iter().chain(array.rated_segments()).map(|segment| {
                let index = segment.index;
                let own = figure(index, self.metric.of(segment))?;
                Ok((index, own, results.origin(array, index)))
            });
        let published = comparison
            .iter()
            .filter(|_| shown.shows_published)
            .flat_map(|found| found.segments.iter())
            .map(|segment| Ok((segment.index, figure(segment.index, segment.published)?)));
        let reached = array.segments.last().map_or(0, |segment| segment.index);
        let of_array = self.beside.published.and_then(|published| published.array(&array.name));
        let to_come = (reached + 1..=self.beside.segments)
            .filter_map(|index| Some((index, of_array?.figure(self.metric, index)?)))
            .map(|(index, published)| Ok((index, figure(index, published)?)));
        let earlier = self.beside.earlier.iter().enumerate().filter_map(|(number, curves)| {
            let curve = curves.iter().find(|curve| curve.array == array.name)?;
            Some((number, curve.points(self.metric)))
        });
        let band = array.rated_segments().iter().filter_map(|segment| {
            let band = self.band_of(segment)?;
            let index = segment.index;
            let ends = figure(index, band.low).and_then(|low| Ok([low, figure(index, band.high)?]));
            Some(ends.map(|ends| (index, ends)))
        });
        let of_array = |finding: &&Finding| finding.array.as_ref() == Some(&array.name);
        let steps = results.findings_of_kind("step").filter(of_array);
        Ok(Series {
            steps: steps.filter_map(|step| Some((step.segment?, step.text.as_str()))).collect(),
            bands: Band::of_array(array),
            band: band.collect::<Result<_, _>>()?,
            name: &shown.name,
            appearance: Appearance::of(position),
            own: own.collect::<Result<_, _>>()?,
            published: published.chain(to_come).collect::<Result<_, _>>()?,
            earlier: earlier.collect(),
        })
    }

    /// Returns the band of the figure in a segment; none of a metric that has no bands.
    fn band_of(&self, segment: &Segment) -> Option<FigureBand> {
        let band = segment.band.as_ref()?;
        match self.metric {
            Metric::Iops => Some(band.iops),
            Metric::MibPerS => None,
            Metric::ResponseMs => band.response_ms,
        }
    }

    /// Returns the description of a figure, shown under the pointer.
    fn words(&self, series: &Series<'_>, segment: u32, figure: f64, origin: Origin) -> String {
        let unit = self.metric.unit();
        let kind = origin.as_str();
        let published = series.published.iter().find(|published| published.0 == segment);
        let beside = match published {
            Some((_, figure)) => format!(", {kind}; published {} {unit}", Axis::format(*figure)),
            None => String::new(),
        };
        let band = series.band.iter().find(|band| band.0 == segment).map(|(_, ends)| {
            let [low, high] = ends.map(|end| Axis::format(rounded(end, 4)));
            format!(", band {low} to {high}")
        });
        let band = band.unwrap_or_default();
        let figure = Axis::format(figure);
        let step = series.steps.iter().find(|step| step.0 == segment);
        let step = step.map(|(_, text)| format!(". {text}")).unwrap_or_default();
        format!("{}, segment {segment}: {figure} {unit}{band}{beside}{step}", series.name)
    }

    fn plot(
        &self,
        canvas: &mut Canvas<'_>,
        series: &[Series<'_>],
        segment_axis: &str,
        bands: &[Band],
        margins: &Margins,
    ) -> Result<Vec<ValueMark>, ChartError> {
        let all = || series.iter().flat_map(|series| &series.own);
        let first = all().map(|point| point.0).min().ok_or(ChartError::NothingToDraw)?;
        let last = all().map(|point| point.0).max().ok_or(ChartError::NothingToDraw)?;
        let last = last.max(self.beside.segments);
        let published = series.iter().flat_map(|series| &series.published).map(|point| point.1);
        let bands_end = series.iter().flat_map(|series| &series.band).map(|band| band.1[1]);
        let earlier = || series.iter().flat_map(|series| &series.earlier);
        let of_earlier =
            earlier().flat_map(|run| &run.1).filter(|point| (first..=last).contains(&point.0));
        let figures = all().map(|point| point.1).chain(published).chain(bands_end);
        let figures = figures.chain(of_earlier.map(|point| point.1));
        let highest = figures.fold(0.0, f64::max);
        let across = Labelled {
            axis: Axis::of_segments(first, last),
            label: &Axis::format,
            words: segment_axis,
        };
        let up =
            Labelled { axis: Axis::from_zero_to(highest), label: &Axis::format, words: self.axis };
        let plot = Plot::begin(canvas, canvas.area(), margins, across, up, bands)?;
        let place = |segment: u32, figure: f64| plot.place((f64::from(segment), figure));
        for Series { appearance, bands, band, .. } in series {
            for corners in shaded(bands, band) {
                let places = corners.iter().map(|point| plot.place(*point)).collect();
                appearance.shade(canvas, places)?;
            }
        }
        let ends = plot.up_range();
        for Series { appearance, steps, .. } in series {
            for (segment, _) in steps {
                let at = f64::from(*segment) - 0.5;
                let line = vec![plot.place((at, ends.start)), plot.place((at, ends.end))];
                appearance.thin_line(canvas, line, PIXEL)?;
            }
        }
        for Series { appearance, earlier, .. } in series {
            for (number, points) in earlier {
                let points = points.iter().filter(|point| (first..=last).contains(&point.0));
                let points: Vec<_> = points.map(|point| (f64::from(point.0), point.1)).collect();
                for piece in Band::cut(bands, &points) {
                    let places = piece.iter().map(|point| plot.place(*point)).collect();
                    appearance.of_figure(*number).faint_line(canvas, places, PIXEL)?;
                }
            }
        }
        for Series { appearance, bands, own, .. } in series {
            let points: Vec<_> = own.iter().map(|point| (f64::from(point.0), point.1)).collect();
            for piece in Band::cut(bands, &points) {
                let places = piece.iter().map(|point| plot.place(*point)).collect();
                appearance.line(canvas, places, PIXEL)?;
            }
        }
        for Series { appearance, published, .. } in series {
            for (segment, figure) in published {
                appearance.published(canvas, place(*segment, *figure), PIXEL)?;
            }
        }
        for Series { appearance, own, .. } in series {
            for (segment, figure, origin) in own {
                let is_hollow = *origin == Origin::Fitted;
                if own.len() > MOST_MARKERS && !is_hollow {
                    continue;
                }
                appearance.simulated(canvas, place(*segment, *figure), is_hollow, PIXEL)?;
            }
        }
        let marks = series.iter().flat_map(|series| {
            series.own.iter().map(|(segment, figure, origin)| ValueMark {
                place: place(*segment, *figure),
                words: self.words(series, *segment, *figure, *origin),
            })
        });
        Ok(marks.collect())
    }
}

/// A line of more segments than these has no markers but hollow ones: they would cover it.
const MOST_MARKERS: usize = 120;

/// Half the width of a band that is alone in its phase, in segments.
const ALONE: f64 = 0.35;

/// A segment and a figure.
type Corner = (f64, f64);

/// Returns the corners of the areas between the ends of a series' band, one for each phase.
fn shaded(phases: &[Band], band: &[(u32, [f64; 2])]) -> Vec<Vec<Corner>> {
    let ends = |end: usize| -> Vec<Vec<Corner>> {
        let points = band.iter().map(|(segment, ends)| (f64::from(*segment), ends[end]));
        Band::cut(phases, &points.collect::<Vec<_>>())
    };
    let area = |(low, high): (Vec<Corner>, Vec<Corner>)| match (&low[..], &high[..]) {
        ([(at, low)], [(_, high)]) => {
            let (left, right) = (at - ALONE, at + ALONE);
            vec![(left, *low), (right, *low), (right, *high), (left, *high)]
        }
        _ => low.into_iter().chain(high.into_iter().rev()).collect(),
    };
    ends(0).into_iter().zip(ends(1)).filter(|(low, _)| !low.is_empty()).map(area).collect()
}

/// The meaning of a mark.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Own(Origin),
    Published,
    Band,
    Step,
    Earlier,
}

impl Kind {
    const fn words(self) -> &'static str {
        match self {
            Self::Own(Origin::Measured) => "measured",
            Self::Own(Origin::Predicted) => "simulated, predicted",
            Self::Own(Origin::Fitted) => "simulated, fitted",
            Self::Published => "published",
            Self::Band => "band",
            Self::Step => "step",
            Self::Earlier => "earlier runs",
        }
    }

    const fn sample(self) -> Sample {
        match self {
            Self::Own(Origin::Measured | Origin::Predicted) => Sample::Filled,
            Self::Own(Origin::Fitted) => Sample::Hollow,
            Self::Published => Sample::Published,
            Self::Band => Sample::Band,
            Self::Step => Sample::Step,
            Self::Earlier => Sample::Faint,
        }
    }

    fn is_in(self, series: &Series<'_>) -> bool {
        match self {
            Self::Own(origin) => series.own.iter().any(|point| point.2 == origin),
            Self::Published => !series.published.is_empty(),
            Self::Band => !series.band.is_empty(),
            Self::Step => !series.steps.is_empty(),
            Self::Earlier => !series.earlier.is_empty(),
        }
    }
}

/// Draws a legend below the plot, one row per array: the meaning of each kind of mark.
fn legend(canvas: &mut Canvas<'_>, series: &[Series<'_>], top_px: i32) -> Result<(), ChartError> {
    let name_px =
        series.iter().map(|series| width_px(series.name, 12)).collect::<Result<Vec<_>, _>>()?;
    let first_px = legend::LEFT_PX + name_px.into_iter().max().unwrap_or_default() + 24;
    // A kind has the same column in every row, unless no array has it.
    let own = [Origin::Measured, Origin::Predicted, Origin::Fitted].map(Kind::Own);
    let mut kinds = [&own[..], &[Kind::Published, Kind::Band, Kind::Step, Kind::Earlier]].concat();
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

/// Returns a line that identifies the run, and one for each reason why it is not a whole run.
pub(crate) fn subtitles(results: &Results) -> Vec<String> {
    let Results { scenario, seed, strewn, .. } = results;
    let mut lines = vec![format!("{scenario}, seed {seed}, strewn {strewn}")];
    lines.extend(results.chart_caveats());
    lines
}

/// Segments whose lengths differ by no more than this share are labelled as of one length: a last one lasts until
/// everything is answered.
const LENGTH_TOLERANCE: f64 = 0.01;

/// Returns the label of the segment axis, with the length of a segment if all have the same.
pub(crate) fn segment_axis<'a>(arrays: impl IntoIterator<Item = &'a ArrayResults>) -> String {
    let mut lengths =
        arrays.into_iter().flat_map(ArrayResults::rated_segments).map(|segment| segment.seconds);
    let Some(first) = lengths.next() else { return "segment".to_owned() };
    if lengths.any(|seconds| (seconds - first).abs() > LENGTH_TOLERANCE * first) {
        return "segment".to_owned();
    }
    if first >= 60.0 && first % 60.0 == 0.0 {
        format!("segment ({} min each)", first / 60.0)
    } else {
        format!("segment ({first} s each)")
    }
}
