//! Charts as PNG: the SVG, drawn with the embedded font only, so that every machine draws the same.

use crate::chart::ChartError;
use crate::text_outlines::outlined;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

/// Pixels of a PNG per pixel of the chart's size, each way: sharp on paper too.
pub const PNG_SCALE: u32 = 2;

/// Draws a chart's SVG as PNG, [`PNG_SCALE`] times its size each way. The SVG must have its own colours, which one in
/// [`Theme::Page`](crate::Theme) lacks. Text must be as charts write it: one line per element.
///
/// # Errors
///
/// [`ChartError::Drawing`] if the SVG cannot be parsed or drawn.
pub fn png(svg: &str) -> Result<Vec<u8>, ChartError> {
    let tree = Tree::from_str(&outlined(svg)?, &Options::default()).map_err(ChartError::drawing)?;
    let size = tree.size().to_int_size();
    let (width, height) = (size.width() * PNG_SCALE, size.height() * PNG_SCALE);
    let mut pixels = Pixmap::new(width, height)
        .ok_or_else(|| ChartError::Drawing(format!("a PNG of {width} by {height} pixels")))?;
    let scale = PNG_SCALE as f32;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(ChartError::drawing)
}
