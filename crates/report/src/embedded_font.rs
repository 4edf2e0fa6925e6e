//! The font that charts are laid out with.

use crate::chart::ChartError;
use ab_glyph::{Font, FontRef, ScaleFont};
use std::sync::LazyLock;

/// What the SVG backend calls the size of a font is its line height, which in this one is so many times its em.
pub(crate) const LINE_HEIGHT_PER_EM: f64 = 1.24;

static FILE: &[u8] = include_bytes!("../font/DejaVuSans-subset.ttf");

/// Parsed once: a chart measures hundreds of words.
static FONT: LazyLock<Result<FontRef<'static>, String>> =
    LazyLock::new(|| FontRef::try_from_slice(FILE).map_err(|error| error.to_string()));

/// Returns the font.
///
/// # Errors
/// If the embedded file is unreadable.
pub(crate) fn embedded_font() -> Result<&'static FontRef<'static>, ChartError> {
    FONT.as_ref().map_err(|error| ChartError::Drawing(format!("the embedded font: {error}")))
}

/// Returns the width of a line of text in a font of this line height, in whole units of it.
pub(crate) fn width(words: &str, line_height: f64) -> Result<i32, ChartError> {
    let font = embedded_font()?.as_scaled(line_height as f32);
    let (mut right, mut previous) = (0.0, None);
    for character in words.chars() {
        let glyph = font.glyph_id(character);
        right += font.h_advance(glyph);
        if let Some(previous) = previous {
            right += font.kern(previous, glyph);
        }
        previous = Some(glyph);
    }
    Ok(right as i32)
}
