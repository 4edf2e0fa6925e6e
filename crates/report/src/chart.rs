//! What all charts have in common: size and theme, font, the sheet that plot and legend are drawn on, errors.
//!
//! The same figures give the same bytes.

use crate::legend;
use crate::marker::{Canvas, Place};
use crate::theme::{INK, PAPER, Theme};
use crate::value_mark::{self, ValueMark, escaped};
use plotters::drawing::IntoDrawingArea;
use plotters::prelude::{SVGBackend, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontStyle, IntoFont, TextStyle, register_font};

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

/// How a chart looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChartStyle {
    /// How large it is.
    pub size: ChartSize,
    /// Its colours.
    pub theme: Theme,
}

impl From<ChartSize> for ChartStyle {
    /// That size, light.
    fn from(size: ChartSize) -> Self {
        Self { size, theme: Theme::Light }
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
    /// Legend and subtitles leave no room for the plot.
    #[error(
        "chart: {height_px} pixels of height are too few for the plot beside {arrays} rows of legend and the lines below the \
         title; {least_px} would do"
    )]
    Crowded {
        /// Height asked for.
        height_px: u32,
        /// Rows in the legend, of arrays one each.
        arrays: usize,
        /// The least height that leaves room.
        least_px: u32,
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
pub(crate) const FONT_FAMILY: &str = "DejaVu Sans, Helvetica, Arial, sans-serif";
pub(crate) static FONT: &[u8] = include_bytes!("../font/DejaVuSans-subset.ttf");

impl ChartSize {
    /// Whether a chart can have the size.
    ///
    /// # Errors
    ///
    /// [`ChartError::Size`] if it is out of bounds.
    pub fn check(self) -> Result<(), ChartError> {
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
pub(crate) struct Sheet {
    style: ChartStyle,
    title: &'static str,
    /// What stands below the title, as it was given.
    subtitles: Vec<String>,
    /// The same in lines that the sheet is wide enough for.
    lines: Vec<String>,
    legend_rows: usize,
    least_plot_px: i32,
}

/// What a sheet leaves to the plot.
pub(crate) struct Margins {
    /// Above the plot.
    pub(crate) top_px: i32,
    /// Below the plot and its axis.
    pub(crate) legend_px: i32,
}

/// What a drawing has beside what is on its canvas.
#[derive(Default)]
pub(crate) struct Drawn {
    pub(crate) marks: Vec<ValueMark>,
    /// Elements of SVG in drawn units, for what the drawing library would take an element each.
    pub(crate) svg: String,
}

impl From<Vec<ValueMark>> for Drawn {
    fn from(marks: Vec<ValueMark>) -> Self {
        Self { marks, svg: String::new() }
    }
}

/// A plot of less height than this shows nothing.
const LEAST_PLOT_PX: i32 = 200;
/// A sheet that is as high as what is on it has this height at least, pixels.
const LEAST_SHEET_PX: u32 = 320;
/// Left and right of the words below the title.
const SIDE_PX: i32 = 16;

impl Sheet {
    /// A sheet of the style's size.
    ///
    /// # Errors
    /// If the size is out of bounds.
    pub(crate) fn new(
        style: ChartStyle,
        title: &'static str,
        subtitles: Vec<String>,
        legend_rows: usize,
    ) -> Result<Self, ChartError> {
        style.size.check()?;
        register_the_font()?;
        let room_px = i32::try_from(style.size.width_px).unwrap_or(i32::MAX) - 2 * SIDE_PX;
        let mut lines = Vec::new();
        for words in &subtitles {
            lines.extend(wrapped(words, room_px)?);
        }
        Ok(Self { style, title, subtitles, lines, legend_rows, least_plot_px: LEAST_PLOT_PX })
    }

    /// A sheet of the style's width without a legend, as high as a plot of `plot_px` needs.
    ///
    /// # Errors
    /// If the size is out of bounds.
    pub(crate) fn around(
        style: ChartStyle,
        title: &'static str,
        subtitles: Vec<String>,
        plot_px: i32,
    ) -> Result<Self, ChartError> {
        let mut sheet = Self { least_plot_px: plot_px, ..Self::new(style, title, subtitles, 0)? };
        sheet.style.size.height_px = sheet.least_px().max(LEAST_SHEET_PX);
        Ok(sheet)
    }

    fn margins(&self) -> Margins {
        Margins {
            top_px: 32 + SUBTITLE_PX * to_px(self.lines.len()) + 16,
            legend_px: legend::ROW_PX * to_px(self.legend_rows) + 12,
        }
    }

    /// The least height that leaves room for the plot.
    fn least_px(&self) -> u32 {
        let Margins { top_px, legend_px } = self.margins();
        (top_px + self.least_plot_px + legend_px).unsigned_abs()
    }

    /// The SVG, with what `draw` puts on it and the marks that it returns.
    ///
    /// # Errors
    /// If the size leaves no room, or `draw` fails.
    pub(crate) fn draw<D: Into<Drawn>>(
        &self,
        draw: impl FnOnce(&Canvas<'_>, &Margins) -> Result<D, ChartError>,
    ) -> Result<String, ChartError> {
        let ChartStyle { size, theme } = self.style;
        let ChartSize { width_px, height_px } = size;
        let least_px = self.least_px();
        if height_px < least_px {
            return Err(ChartError::Crowded { height_px, arrays: self.legend_rows, least_px });
        }
        let mut svg = String::new();
        let drawn: Drawn = {
            let units = (width_px * PIXEL.unsigned_abs(), height_px * PIXEL.unsigned_abs());
            let canvas = SVGBackend::with_string(&mut svg, units).into_drawing_area();
            canvas.fill(&PAPER).map_err(ChartError::drawing)?;
            text(&canvas, self.title, (SIDE_PX, 14), 18, VPos::Top)?;
            for (row, words) in self.lines.iter().enumerate() {
                text(&canvas, words, (SIDE_PX, 40 + SUBTITLE_PX * to_px(row)), 12, VPos::Top)?;
            }
            let drawn = draw(&canvas, &self.margins())?;
            canvas.present().map_err(ChartError::drawing)?;
            drawn.into()
        };
        let description = format!("{}. {}", self.title, self.subtitles.join(". "));
        Ok(theme.recolour(finished(&svg, size, &description, &drawn)))
    }
}

pub(crate) const SUBTITLE_PX: i32 = 18;

/// The words in lines of at most `room_px`; a word that is longer by itself has a line to itself.
fn wrapped(words: &str, room_px: i32) -> Result<Vec<String>, ChartError> {
    let mut lines: Vec<String> = Vec::new();
    for word in words.split_whitespace() {
        if let Some(line) = lines.last_mut() {
            let longer = format!("{line} {word}");
            if width_px(&longer, 12)? <= room_px {
                *line = longer;
                continue;
            }
        }
        lines.push(word.to_owned());
    }
    Ok(lines)
}

/// The chart that `draw` makes in this style, higher than asked for where legend and subtitles would leave no room.
pub(crate) fn high_enough<T>(
    style: ChartStyle,
    draw: impl Fn(ChartStyle) -> Result<T, ChartError>,
) -> Result<T, ChartError> {
    match draw(style) {
        Err(ChartError::Crowded { arrays, height_px, least_px }) => {
            let legend_px = u32::try_from(legend::ROW_PX * to_px(arrays)).unwrap_or_default();
            let height_px = least_px.max(height_px + legend_px);
            draw(ChartStyle { size: ChartSize { height_px, ..style.size }, ..style })
        }
        drawn => drawn,
    }
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

/// Puts a header in place of the drawing library's, the size in pixels over the finer units that the drawing is in and
/// a title for readers who cannot see it, and adds the marks.
fn finished(svg: &str, size: ChartSize, description: &str, drawn: &Drawn) -> String {
    let ChartSize { width_px, height_px } = size;
    let units = PIXEL.unsigned_abs();
    let body = svg.split_once('\n').map_or(svg, |(_, body)| body);
    let body = body.trim_end().strip_suffix("</svg>").unwrap_or(body);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width_px}\" height=\"{height_px}\" \
         viewBox=\"0 0 {} {}\" role=\"img\">\n<title>{}</title>\n{body}{}{}</svg>\n",
        width_px * units,
        height_px * units,
        escaped(description),
        drawn.svg,
        value_mark::group(&drawn.marks),
    )
}
