//! Charts as SVG: a figure by segment, all arrays in one picture, published figures beside.
//!
//! A simulated figure is a marker on its array's line: filled if it was predicted, hollow if a
//! parameter was fitted to that segment. A published figure is a level dash under the marker. Both
//! axes start where the quantity does, so that heights compare as the numbers do.
//!
//! The same results give the same bytes.

use crate::axis::Axis;
use crate::comparison::Metric;
use crate::legend::{self, Sample};
use crate::marker::{Appearance, Canvas, Place};
use crate::results::{ArrayResults, Results};
use plotters::chart::ChartBuilder;
use plotters::drawing::IntoDrawingArea;
use plotters::prelude::{RGBColor, SVGBackend, Text, WHITE};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontStyle, IntoFont, TextStyle, register_font};

/// Size of a chart in pixels of 1/96 inch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChartSize {
    /// Width, at least 480.
    pub width_px: u32,
    /// Height, at least 320.
    pub height_px: u32,
}

impl Default for ChartSize {
    /// 960 by 560: fits a page and a screen.
    fn default() -> Self {
        Self { width_px: 960, height_px: 560 }
    }
}

/// Why a chart could not be drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChartError {
    /// No array has a segment.
    #[error("chart: the results have no segments")]
    NothingToDraw,
    /// A figure is negative, infinite or not a number.
    #[error("chart: segment {segment} of array {array:?} has no drawable figure")]
    Figure {
        /// Name of the array.
        array: String,
        /// Number of the segment.
        segment: u32,
    },
    /// The picture is too small, or absurdly large.
    #[error(
        "chart: {width_px} by {height_px} pixels: from 480 by 320 to 8000 by 8000 are possible"
    )]
    Size {
        /// Width asked for.
        width_px: u32,
        /// Height asked for.
        height_px: u32,
    },
    /// The legend leaves no room for the plot.
    #[error("chart: {height_px} pixels of height are too few for {arrays} rows of legend")]
    Crowded {
        /// Height asked for.
        height_px: u32,
        /// Rows in the legend, of arrays one each.
        arrays: usize,
    },
    /// There is no figure to draw.
    #[error("chart: {title} has no drawable figures")]
    NoFigures {
        /// Title of the chart.
        title: &'static str,
    },
    /// The drawing library refused.
    #[error("chart: {0}")]
    Drawing(String),
}

impl ChartError {
    pub(crate) fn drawing(error: impl std::fmt::Display) -> Self {
        Self::Drawing(error.to_string())
    }
}

/// Drawn units per pixel. The drawing library rounds to whole units, and one in a hundred of a
/// chart's height is only four pixels.
pub(crate) const PIXEL: i32 = 8;

/// What the SVG asks for. Text is laid out with the first, which is embedded in this library, and
/// the others come near.
const FONT_FAMILY: &str = "DejaVu Sans, Helvetica, Arial, sans-serif";
static FONT: &[u8] = include_bytes!("../font/DejaVuSans-subset.ttf");

pub(crate) const INK: RGBColor = RGBColor(40, 40, 40);
pub(crate) const GRID: RGBColor = RGBColor(225, 225, 225);

/// Host operations per second by segment, of all arrays.
///
/// # Errors
///
/// If there is no segment to draw, a figure cannot be drawn, or the size is out of bounds.
pub fn iops_chart(results: &Results, size: &ChartSize) -> Result<String, ChartError> {
    let picture = Picture {
        title: "Throughput by segment",
        axis: "host operations per second (IOPS)",
        metric: Metric::Iops,
    };
    picture.draw(results, *size)
}

/// Mean response time by segment, of all arrays.
///
/// # Errors
///
/// If there is no segment to draw, a figure cannot be drawn, or the size is out of bounds.
pub fn response_chart(results: &Results, size: &ChartSize) -> Result<String, ChartError> {
    let picture = Picture {
        title: "Response time by segment",
        axis: "mean response time (ms)",
        metric: Metric::ResponseMs,
    };
    picture.draw(results, *size)
}

impl ChartSize {
    pub(crate) fn check(self) -> Result<(), ChartError> {
        let Self { width_px, height_px } = self;
        if !(480..=8000).contains(&width_px) || !(320..=8000).contains(&height_px) {
            return Err(ChartError::Size { width_px, height_px });
        }
        Ok(())
    }
}

/// What text is measured with; to be called before any is.
pub(crate) fn register_the_font() -> Result<(), ChartError> {
    register_font(FONT_FAMILY, FontStyle::Normal, FONT)
        .map_err(|_| ChartError::Drawing("the embedded font is unreadable".to_owned()))
}

/// A chart but for its plot and legend.
pub(crate) struct Sheet<'a> {
    /// Checked.
    pub(crate) size: ChartSize,
    pub(crate) title: &'a str,
    /// A line each, below the title.
    pub(crate) subtitles: Vec<String>,
    pub(crate) legend_rows: usize,
}

/// What a sheet leaves to the plot.
pub(crate) struct Margins {
    /// Above the plot.
    pub(crate) top_px: i32,
    /// Below the plot and its axis.
    pub(crate) legend_px: i32,
}

impl Sheet<'_> {
    /// The SVG, with what `draw` puts on it.
    pub(crate) fn draw(
        &self,
        draw: impl FnOnce(&Canvas<'_>, &Margins) -> Result<(), ChartError>,
    ) -> Result<String, ChartError> {
        let ChartSize { width_px, height_px } = self.size;
        let top_px = 32 + SUBTITLE_PX * to_px(self.subtitles.len()) + 16;
        let legend_px = legend::ROW_PX * to_px(self.legend_rows) + 12;
        if to_px(height_px as usize) - top_px - legend_px < 200 {
            return Err(ChartError::Crowded { height_px, arrays: self.legend_rows });
        }
        let mut svg = String::new();
        {
            let units = (width_px * PIXEL.unsigned_abs(), height_px * PIXEL.unsigned_abs());
            let canvas = SVGBackend::with_string(&mut svg, units).into_drawing_area();
            canvas.fill(&WHITE).map_err(ChartError::drawing)?;
            text(&canvas, self.title, (16, 14), 18, VPos::Top)?;
            for (row, words) in self.subtitles.iter().enumerate() {
                text(&canvas, words, (16, 40 + SUBTITLE_PX * to_px(row)), 12, VPos::Top)?;
            }
            draw(&canvas, &Margins { top_px, legend_px })?;
            canvas.present().map_err(ChartError::drawing)?;
        }
        let description = format!("{}. {}", self.title, self.subtitles.join(". "));
        Ok(with_own_header(&svg, self.size, &description))
    }
}

struct Picture {
    title: &'static str,
    axis: &'static str,
    metric: Metric,
}

/// The figures of one array, by segment.
struct Series<'a> {
    name: &'a str,
    appearance: Appearance,
    /// Segment, figure, and whether it was fitted.
    simulated: Vec<(u32, f64, bool)>,
    published: Vec<(u32, f64)>,
}

impl Picture {
    fn draw(&self, results: &Results, size: ChartSize) -> Result<String, ChartError> {
        size.check()?;
        register_the_font()?;
        let mut series = Vec::with_capacity(results.arrays.len());
        for (position, array) in results.arrays.iter().enumerate() {
            series.push(self.series(results, position, array)?);
        }
        let subtitles = subtitles(results);
        let sheet = Sheet { size, title: self.title, subtitles, legend_rows: series.len() };
        sheet.draw(|canvas, margins| {
            self.plot(canvas, &series, segment_axis(results), margins.top_px, margins.legend_px)?;
            legend(canvas, &series, to_px(size.height_px as usize) - margins.legend_px)
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
            .flat_map(|found| found.segments.iter())
            .map(|segment| Ok((segment.index, figure(segment.index, segment.published)?)));
        Ok(Series {
            name: &array.name,
            appearance: Appearance::of(position),
            simulated: simulated.collect::<Result<_, _>>()?,
            published: published.collect::<Result<_, _>>()?,
        })
    }

    fn plot(
        &self,
        canvas: &Canvas<'_>,
        series: &[Series<'_>],
        segment_axis: String,
        top_px: i32,
        legend_px: i32,
    ) -> Result<(), ChartError> {
        let all = || series.iter().flat_map(|series| &series.simulated);
        let first = all().map(|point| point.0).min().ok_or(ChartError::NothingToDraw)?;
        let last = all().map(|point| point.0).max().ok_or(ChartError::NothingToDraw)?;
        let published = series.iter().flat_map(|series| &series.published).map(|point| point.1);
        let highest = all().map(|point| point.1).chain(published).fold(0.0, f64::max);
        let mut chart = ChartBuilder::on(canvas)
            .margin_top(top_px * PIXEL)
            .margin_bottom((legend_px + 14) * PIXEL)
            .margin_left(14 * PIXEL)
            .margin_right(24 * PIXEL)
            .x_label_area_size(42 * PIXEL)
            .y_label_area_size(68 * PIXEL)
            .build_cartesian_2d(Axis::of_segments(first, last), Axis::from_zero_to(highest))
            .map_err(ChartError::drawing)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(GRID.stroke_width(0))
            .max_light_lines(0)
            .bold_line_style(GRID.stroke_width(PIXEL.unsigned_abs()))
            .axis_style(INK.stroke_width(PIXEL.unsigned_abs()))
            .set_all_tick_mark_size(5 * PIXEL)
            .label_style(style(12))
            .axis_desc_style(style(13))
            .x_desc(segment_axis)
            .y_desc(self.axis)
            .draw()
            .map_err(ChartError::drawing)?;

        let place = |segment: u32, figure: f64| chart.backend_coord(&(f64::from(segment), figure));
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
        Ok(())
    }
}

pub(crate) const SUBTITLE_PX: i32 = 18;

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

pub(crate) fn style(size_px: i32) -> TextStyle<'static> {
    // The drawing library takes a font's line height, 1.24 of its size.
    (FONT_FAMILY, f64::from(size_px * PIXEL) * 1.24).into_font().color(&INK)
}

pub(crate) fn width_px(words: &str, size_px: i32) -> Result<i32, ChartError> {
    let font = (FONT_FAMILY, f64::from(size_px * PIXEL) * 1.24).into_font();
    let (width, _) = font.box_size(words).map_err(ChartError::drawing)?;
    Ok(i32::try_from(width).unwrap_or(i32::MAX) / PIXEL)
}

pub(crate) fn text(
    canvas: &Canvas<'_>,
    words: &str,
    (x_px, y_px): Place,
    size_px: i32,
    vertical: VPos,
) -> Result<(), ChartError> {
    let style = style(size_px).pos(Pos::new(HPos::Left, vertical));
    let words = Text::new(words.to_owned(), (x_px * PIXEL, y_px * PIXEL), style);
    canvas.draw(&words).map_err(ChartError::drawing)
}

pub(crate) fn to_px(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// Which run it is, and then what keeps it from being a whole one, a line each.
fn subtitles(results: &Results) -> Vec<String> {
    let Results { scenario, seed, strewn, .. } = results;
    let mut lines = vec![format!("{scenario}, seed {seed}, strewn {strewn}")];
    lines.extend(results.caveats());
    lines
}

/// The label of the segment axis, with the length of a segment if all have the same.
fn segment_axis(results: &Results) -> String {
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

/// Puts a header in place of the drawing library's: the size in pixels over the finer units that
/// the drawing is in, and a title for readers who cannot see it.
fn with_own_header(svg: &str, size: ChartSize, description: &str) -> String {
    let ChartSize { width_px, height_px } = size;
    let units = PIXEL.unsigned_abs();
    let body = svg.split_once('\n').map_or(svg, |(_, body)| body);
    let description = description.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width_px}\" height=\"{height_px}\" \
         viewBox=\"0 0 {} {}\" role=\"img\">\n<title>{description}</title>\n{body}",
        width_px * units,
        height_px * units
    )
}
