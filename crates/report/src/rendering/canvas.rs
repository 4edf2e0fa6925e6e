//! The drawing on which charts are made: its units, its font, and text.

use crate::rendering::chart::ChartError;
use crate::rendering::embedded_font::{self, LINE_HEIGHT_PER_EM};
use crate::rendering::svg_backend::SvgBackend;
use crate::rendering::theme::INK;
use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{IntoFont, TextStyle};

/// A point of the drawing, in its units ([`PIXEL`] to a pixel), from the top left.
pub(crate) type Point = (i32, i32);

/// The whole drawing.
pub(crate) type Canvas<'a> = DrawingArea<SvgBackend<'a>, Shift>;

/// Drawn units per pixel. The drawing library rounds to whole units, and a hundredth of a chart's
/// height is only four pixels.
pub(crate) const PIXEL: i32 = 8;

/// The fonts that the SVG names. Text is laid out with the first, which is embedded in this
/// library; the others come near it.
pub(crate) const FONT_FAMILY: &str = "DejaVu Sans, Helvetica, Arial, sans-serif";

pub(crate) fn style(size_px: i32) -> TextStyle<'static> {
    (FONT_FAMILY, line_height(size_px)).into_font().color(&INK)
}

pub(crate) fn width_px(words: &str, size_px: i32) -> Result<i32, ChartError> {
    Ok(embedded_font::width(words, line_height(size_px))? / PIXEL)
}

/// Returns what the drawing library calls the size of a font.
fn line_height(size_px: i32) -> f64 {
    f64::from(size_px * PIXEL) * LINE_HEIGHT_PER_EM
}

pub(crate) fn text(
    canvas: &Canvas<'_>,
    words: &str,
    (x_px, y_px): (i32, i32),
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
