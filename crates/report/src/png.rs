//! Charts as PNG: the SVG, drawn with the embedded font alone, so that every machine draws the same.

use crate::chart::{ChartError, FONT};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use std::sync::Arc;

/// Pixels of a PNG to one of the chart's size, each way: sharp on paper too.
pub const PNG_SCALE: u32 = 2;

/// A chart's SVG as PNG, [`PNG_SCALE`] times its size each way. Colours must be in it: [`Theme::Page`](crate::Theme) has
/// none.
///
/// # Errors
///
/// If the text is not an SVG that can be drawn.
pub fn png(svg: &str) -> Result<Vec<u8>, ChartError> {
    let mut options = Options { font_family: "DejaVu Sans".to_owned(), ..Options::default() };
    Arc::make_mut(&mut options.fontdb).load_font_data(FONT.to_vec());
    let tree = Tree::from_str(svg, &options).map_err(ChartError::drawing)?;
    let size = tree.size().to_int_size();
    let (width, height) = (size.width() * PNG_SCALE, size.height() * PNG_SCALE);
    let mut pixels = Pixmap::new(width, height)
        .ok_or_else(|| ChartError::Drawing(format!("a PNG of {width} by {height} pixels")))?;
    let scale = PNG_SCALE as f32;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(ChartError::drawing)
}
