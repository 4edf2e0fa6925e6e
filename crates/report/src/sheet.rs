//! A chart without its plot: title, the words below it, and room for a legend.

use crate::canvas::{Canvas, PIXEL, VPos, text, to_px, width_px};
use crate::chart::{ChartError, ChartSize, ChartStyle};
use crate::legend;
use crate::theme::PAPER;
use crate::value_mark::{self, ValueMark, escaped};

/// A chart without its plot and legend.
pub(crate) struct Sheet {
    style: ChartStyle,
    title: String,
    /// The subtitles as given.
    subtitles: Vec<String>,
    /// The subtitles in lines that fit the width of the sheet.
    lines: Vec<String>,
    legend_rows: usize,
    least_plot_px: i32,
}

/// The margins around the plot.
pub(crate) struct Margins {
    /// Above the plot.
    pub(crate) top_px: i32,
    /// Below the plot and its axis.
    pub(crate) legend_px: i32,
}

/// Additions to a drawing after its canvas is finished.
#[derive(Default)]
pub(crate) struct Overlay {
    pub(crate) marks: Vec<ValueMark>,
    /// SVG elements in drawn units, where the SVG backend would write many.
    pub(crate) svg: String,
}

impl From<Vec<ValueMark>> for Overlay {
    fn from(marks: Vec<ValueMark>) -> Self {
        Self { marks, svg: String::new() }
    }
}

/// A lower plot than this shows nothing.
const LEAST_PLOT_PX: i32 = 240;
/// The least height of a sheet that grows with its contents, pixels.
const LEAST_SHEET_PX: u32 = 320;
/// Room to the left and right of the words below the title.
const SIDE_PX: i32 = 16;

impl Sheet {
    /// Creates a sheet of the style's size.
    ///
    /// # Errors
    /// If the size is out of bounds.
    pub(crate) fn new(
        style: ChartStyle,
        title: impl Into<String>,
        subtitles: Vec<String>,
        legend_rows: usize,
    ) -> Result<Self, ChartError> {
        style.size.check()?;
        let room_px = i32::try_from(style.size.width_px).unwrap_or(i32::MAX) - 2 * SIDE_PX;
        let mut lines = Vec::new();
        for words in &subtitles {
            lines.extend(wrapped(words, room_px)?);
        }
        Ok(Self {
            style,
            title: title.into(),
            subtitles,
            lines,
            legend_rows,
            least_plot_px: LEAST_PLOT_PX,
        })
    }

    /// Creates a sheet of the style's width without a legend, as high as a plot of `plot_px` needs.
    ///
    /// # Errors
    /// If the size is out of bounds.
    pub(crate) fn around(
        style: ChartStyle,
        title: impl Into<String>,
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

    /// Returns the least height that leaves room for the plot.
    fn least_px(&self) -> u32 {
        let Margins { top_px, legend_px } = self.margins();
        (top_px + self.least_plot_px + legend_px).unsigned_abs()
    }

    /// Returns the SVG, with what `draw` puts on it and the marks that it returns.
    ///
    /// # Errors
    /// If the size leaves no room, or `draw` fails.
    pub(crate) fn draw<D: Into<Overlay>>(
        &self,
        draw: impl FnOnce(&mut Canvas<'_>, &Margins) -> Result<D, ChartError>,
    ) -> Result<String, ChartError> {
        let ChartStyle { size, theme, shown_width_px } = self.style;
        let ChartSize { width_px, height_px } = size;
        let least_px = self.least_px();
        if height_px < least_px {
            return Err(ChartError::Crowded { height_px, arrays: self.legend_rows, least_px });
        }
        let mut svg = String::new();
        let drawn: Overlay = {
            let units = (width_px * PIXEL.unsigned_abs(), height_px * PIXEL.unsigned_abs());
            let mut canvas = Canvas::new(&mut svg, units);
            canvas
                .fill_rectangle([(0, 0), (units.0.cast_signed(), units.1.cast_signed())], PAPER)?;
            text(&mut canvas, &self.title, (SIDE_PX, 14), 18, VPos::Top)?;
            for (row, words) in self.lines.iter().enumerate() {
                text(&mut canvas, words, (SIDE_PX, 40 + SUBTITLE_PX * to_px(row)), 12, VPos::Top)?;
            }
            let drawn = draw(&mut canvas, &self.margins())?;
            canvas.finish()?;
            drawn.into()
        };
        let mut description = self.title.clone();
        for words in &self.subtitles {
            // Some are sentences, with their full stop.
            description.push_str(if description.ends_with('.') { " " } else { ". " });
            description.push_str(words);
        }
        let shown = match shown_width_px {
            None => size,
            Some(width_px) => {
                let height_px = u64::from(size.height_px) * u64::from(width_px);
                let height_px = height_px.div_ceil(u64::from(size.width_px));
                ChartSize { width_px, height_px: u32::try_from(height_px).unwrap_or(u32::MAX) }
            }
        };
        Ok(theme.recolour(finished(&svg, [shown, size], &description, &drawn)))
    }
}

pub(crate) const SUBTITLE_PX: i32 = 18;

/// Breaks words into lines of at most `room_px`. A word longer than that gets a line of its own.
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

/// Returns the chart that `draw` makes in this style, higher than requested if legend and subtitles would leave no
/// room.
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

/// Replaces the SVG backend's header by one with the size in pixels, the finer drawing units, and a title for
/// readers who cannot see the chart; then adds the marks.
fn finished(
    svg: &str,
    [shown, size]: [ChartSize; 2],
    description: &str,
    drawn: &Overlay,
) -> String {
    let ChartSize { width_px, height_px } = shown;
    let units = PIXEL.unsigned_abs();
    let body = svg.split_once('\n').map_or(svg, |(_, body)| body);
    let body = body.trim_end().strip_suffix("</svg>").unwrap_or(body);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width_px}\" height=\"{height_px}\" \
         viewBox=\"0 0 {} {}\" role=\"img\">\n<title>{}</title>\n{body}{}{}</svg>\n",
        size.width_px * units,
        size.height_px * units,
        escaped(description),
        drawn.svg,
        value_mark::group(&drawn.marks),
    )
}
