//! The drawing on which charts are made: its units, its shapes, and text.
//!
//! Shapes are written as SVG by `plotters-svg`, through the trait of the backends of `plotters`.

use crate::chart::{ChartError, LEAST_TYPE_PX};
use crate::embedded_font::{self, LINE_HEIGHT_PER_EM};
use crate::shown::is_harmful;
use crate::theme::{Colour, INK};
use plotters_backend::text_anchor::Pos;
pub(crate) use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendStyle, BackendTextStyle, DrawingBackend, FontFamily, FontTransform,
};
use plotters_svg::SVGBackend;

/// A point of the drawing, in its units ([`PIXEL`] to a pixel), from the top left.
pub(crate) type Point = (i32, i32);

/// Drawn units per pixel. The SVG backend takes whole units, and a hundredth of a chart's height is only four pixels.
pub(crate) const PIXEL: i32 = 8;

/// The fonts that the SVG names. Text is laid out with the first, which is embedded in this
/// library; the others come near it.
pub(crate) const FONT_FAMILY: &str = "DejaVu Sans, Helvetica, Arial, sans-serif";

/// The whole drawing. A point beyond it is drawn at its edge.
pub(crate) struct Canvas<'a> {
    svg: SVGBackend<'a>,
}

/// A rectangle of the drawing, pixels.
#[derive(Clone, Copy)]
pub(crate) struct Area {
    pub(crate) left_px: i32,
    pub(crate) top_px: i32,
    pub(crate) width_px: i32,
    pub(crate) height_px: i32,
}

/// The colour and width of a line.
#[derive(Clone, Copy)]
pub(crate) struct Stroke {
    colour: BackendColor,
    width: u32,
}

/// The size, colour, anchor and direction of a line of text.
#[derive(Clone, Copy)]
pub(crate) struct TextStyle {
    size_px: i32,
    colour: Colour,
    anchor: Pos,
    is_upward: bool,
}

impl From<Colour> for BackendColor {
    fn from(Colour(red, green, blue): Colour) -> Self {
        Self { alpha: 1.0, rgb: (red, green, blue) }
    }
}

impl Colour {
    /// Returns the colour with this opacity, 0 to 1.
    pub(crate) fn with_opacity(self, opacity: f64) -> BackendColor {
        BackendColor { alpha: opacity, ..self.into() }
    }

    /// Returns a line of this colour and of a width in drawn units.
    pub(crate) fn stroke(self, width: i32) -> Stroke {
        Stroke { colour: self.into(), width: width.unsigned_abs() }
    }
}

impl Stroke {
    /// Returns the same line with this opacity, 0 to 1.
    pub(crate) fn with_opacity(self, opacity: f64) -> Self {
        Self { colour: BackendColor { alpha: opacity, ..self.colour }, ..self }
    }
}

impl BackendStyle for Stroke {
    fn color(&self) -> BackendColor {
        self.colour
    }

    fn stroke_width(&self) -> u32 {
        self.width
    }
}

impl TextStyle {
    /// Returns text in ink, of a size in pixels, whose place is this part of it.
    pub(crate) fn new(size_px: i32, horizontal: HPos, vertical: VPos) -> Self {
        assert!(size_px >= LEAST_TYPE_PX.cast_signed());
        let anchor = Pos::new(horizontal, vertical);
        Self { size_px, colour: INK, anchor, is_upward: false }
    }

    /// Returns the same text in another colour.
    pub(crate) const fn coloured(self, colour: Colour) -> Self {
        Self { colour, ..self }
    }

    /// Returns the same text read from the bottom to the top.
    pub(crate) const fn upward(self) -> Self {
        Self { is_upward: true, ..self }
    }
}

impl BackendTextStyle for TextStyle {
    type FontError = ChartError;

    fn color(&self) -> BackendColor {
        self.colour.into()
    }

    fn size(&self) -> f64 {
        line_height(self.size_px)
    }

    fn transform(&self) -> FontTransform {
        if self.is_upward { FontTransform::Rotate270 } else { FontTransform::None }
    }

    fn anchor(&self) -> Pos {
        self.anchor
    }

    fn family(&self) -> FontFamily<'_> {
        FontFamily::Name(FONT_FAMILY)
    }

    fn layout_box(&self, words: &str) -> Result<(Point, Point), ChartError> {
        let width = embedded_font::width(words, self.size())?;
        Ok(((0, 0), (width, self.size_px * PIXEL)))
    }

    /// The SVG backend writes letters, and never asks for their pixels.
    fn draw<E, D: FnMut(i32, i32, BackendColor) -> Result<(), E>>(
        &self,
        _: &str,
        _: Point,
        _: D,
    ) -> Result<Result<(), E>, ChartError> {
        Err(ChartError::drawing("the embedded font draws no pixels"))
    }
}

impl<'a> Canvas<'a> {
    /// Begins an SVG of this size in drawn units, which is written into `svg`.
    pub(crate) fn new(svg: &'a mut String, size: (u32, u32)) -> Self {
        Self { svg: SVGBackend::with_string(svg, size) }
    }

    /// Returns the whole of it.
    pub(crate) fn area(&self) -> Area {
        let (width, height) = self.svg.get_size();
        let [width_px, height_px] = [width, height].map(|units| units.cast_signed() / PIXEL);
        Area { left_px: 0, top_px: 0, width_px, height_px }
    }

    /// Ends the SVG.
    pub(crate) fn finish(mut self) -> Result<(), ChartError> {
        self.svg.present().map_err(ChartError::drawing)
    }

    /// Returns the point of the drawing that is nearest to this one.
    fn within(&self, (x, y): Point) -> Point {
        let (width, height) = self.svg.get_size();
        (x.clamp(0, width.cast_signed()), y.clamp(0, height.cast_signed()))
    }

    /// Draws a line between two points.
    pub(crate) fn line(
        &mut self,
        [from, to]: [Point; 2],
        stroke: Stroke,
    ) -> Result<(), ChartError> {
        let (from, to) = (self.within(from), self.within(to));
        self.svg.draw_line(from, to, &stroke).map_err(ChartError::drawing)
    }

    /// Draws a line through points.
    pub(crate) fn polyline(&mut self, points: &[Point], stroke: Stroke) -> Result<(), ChartError> {
        let points: Vec<Point> = points.iter().map(|point| self.within(*point)).collect();
        self.svg.draw_path(points, &stroke).map_err(ChartError::drawing)
    }

    /// Fills the rectangle between two opposite corners.
    pub(crate) fn fill_rectangle(
        &mut self,
        corners: [Point; 2],
        colour: Colour,
    ) -> Result<(), ChartError> {
        let [(x, y), (to_x, to_y)] = corners.map(|corner| self.within(corner));
        let upper_left = (x.min(to_x), y.min(to_y));
        let lower_right = (x.max(to_x), y.max(to_y));
        let colour = BackendColor::from(colour);
        self.svg.draw_rect(upper_left, lower_right, &colour, true).map_err(ChartError::drawing)
    }

    /// Fills the polygon with these corners.
    pub(crate) fn fill_polygon(
        &mut self,
        corners: &[Point],
        colour: impl Into<BackendColor>,
    ) -> Result<(), ChartError> {
        let corners: Vec<Point> = corners.iter().map(|corner| self.within(*corner)).collect();
        self.svg.fill_polygon(corners, &colour.into()).map_err(ChartError::drawing)
    }

    /// Fills a circle.
    pub(crate) fn fill_circle(
        &mut self,
        centre: Point,
        radius: i32,
        colour: Colour,
    ) -> Result<(), ChartError> {
        let (centre, colour) = (self.within(centre), BackendColor::from(colour));
        let drawn = self.svg.draw_circle(centre, radius.unsigned_abs(), &colour, true);
        drawn.map_err(ChartError::drawing)
    }

    /// Draws the outline of a circle.
    pub(crate) fn circle(
        &mut self,
        centre: Point,
        radius: i32,
        stroke: Stroke,
    ) -> Result<(), ChartError> {
        let centre = self.within(centre);
        let drawn = self.svg.draw_circle(centre, radius.unsigned_abs(), &stroke, false);
        drawn.map_err(ChartError::drawing)
    }

    /// Writes a line of text.
    pub(crate) fn text(
        &mut self,
        words: &str,
        place: Point,
        style: TextStyle,
    ) -> Result<(), ChartError> {
        let place = self.within(place);
        let words = words.replace(is_harmful, " ");
        self.svg.draw_text(&words, &style, place).map_err(ChartError::drawing)
    }

    /// Writes a line of text at a place in pixels.
    pub(crate) fn text_px(
        &mut self,
        words: &str,
        (x_px, y_px): (i32, i32),
        style: TextStyle,
    ) -> Result<(), ChartError> {
        self.text(words, (x_px * PIXEL, y_px * PIXEL), style)
    }
}

/// Writes a line of text that begins at a place in pixels.
pub(crate) fn text(
    canvas: &mut Canvas<'_>,
    words: &str,
    place_px: (i32, i32),
    size_px: i32,
    vertical: VPos,
) -> Result<(), ChartError> {
    canvas.text_px(words, place_px, TextStyle::new(size_px, HPos::Left, vertical))
}

pub(crate) fn width_px(words: &str, size_px: i32) -> Result<i32, ChartError> {
    Ok(embedded_font::width(words, line_height(size_px))? / PIXEL)
}

/// Returns what the SVG backend calls the size of a font.
fn line_height(size_px: i32) -> f64 {
    f64::from(size_px * PIXEL) * LINE_HEIGHT_PER_EM
}

pub(crate) fn to_px(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_beyond_the_drawing_is_at_its_edge() {
        let mut svg = String::new();
        let mut canvas = Canvas::new(&mut svg, (80, 40));
        canvas.polyline(&[(-8, 8), (88, 48)], INK.stroke(PIXEL)).unwrap();
        canvas.fill_rectangle([(96, 16), (72, 8)], INK).unwrap();
        canvas.finish().unwrap();
        assert!(svg.contains("points=\"0,8 80,40 \""), "{svg}");
        assert!(svg.contains("x=\"72\" y=\"8\" width=\"8\" height=\"8\""), "{svg}");
    }
}
