//! Text of a chart's SVG as outlines of the embedded font, for a renderer that has no text layout.
//!
//! Charts hold single lines of Latin text in one font, laid out with that font's advances (see
//! [`chart`](crate::chart)). Placing each glyph by the same advances gives the width the layout assumed and needs no
//! shaping library.

use crate::chart::ChartError;
use crate::embedded_font::embedded_font;
use crate::value_mark::escaped;
use ab_glyph::{Font, FontRef, OutlineCurve, Point};
use resvg::usvg::roxmltree::{Document, Node};
use std::fmt::Write;

/// Attributes that place text or choose its font. Every other attribute (fill, opacity, transform) moves to the path.
const LAYOUT_ATTRIBUTES: [&str; 7] =
    ["x", "y", "dy", "text-anchor", "font-family", "font-size", "font-style"];

/// Returns the SVG with a `<path>` in place of every `<text>`. Understands what charts write: `x`, `y`, `dy`,
/// `text-anchor` and `font-size`, all in user units, `em` or `ex`.
///
/// # Errors
///
/// If the text is not XML, or a `<text>` has child elements or a length that cannot be read.
pub(crate) fn outlined(svg: &str) -> Result<String, ChartError> {
    let document = Document::parse(svg).map_err(ChartError::drawing)?;
    let outlines = GlyphOutlines::of_embedded_font()?;
    let mut result = String::with_capacity(svg.len() * 4);
    let mut copied_to = 0;
    for text in document.descendants().filter(|node| node.has_tag_name("text")) {
        let range = text.range();
        result.push_str(&svg[copied_to..range.start]);
        result.push_str(&outlines.path_element(text)?);
        copied_to = range.end;
    }
    result.push_str(&svg[copied_to..]);
    Ok(result)
}

struct GlyphOutlines {
    font: &'static FontRef<'static>,
    units_per_em: f32,
}

impl GlyphOutlines {
    fn of_embedded_font() -> Result<Self, ChartError> {
        let font = embedded_font()?;
        let units_per_em = font.units_per_em().filter(|units| *units > 0.0).ok_or_else(|| {
            ChartError::Drawing("the embedded font has no units per em".to_owned())
        })?;
        Ok(Self { font, units_per_em })
    }

    /// Returns a `<path>` that looks like the `<text>`; empty if there is nothing to draw.
    fn path_element(&self, text: Node<'_, '_>) -> Result<String, ChartError> {
        if text.children().any(|child| child.is_element()) {
            return Err(ChartError::Drawing("<text> with child elements".to_owned()));
        }
        let words: Vec<&str> = text.text().unwrap_or_default().split_whitespace().collect();
        let words = words.join(" ");
        let size = length(text, "font-size", 1.0)?;
        let width = self.width(&words, size);
        let start = match text.attribute("text-anchor") {
            Some("middle") => -width / 2.0,
            Some("end") => -width,
            _ => 0.0,
        };
        let left = length(text, "x", size)? + start;
        let baseline = length(text, "y", size)? + length(text, "dy", size)?;
        let path = self.path(&words, size, left, baseline);
        if path.is_empty() {
            return Ok(path);
        }
        let mut element = "<path".to_owned();
        let attributes = text.attributes().filter(|attribute| attribute.namespace().is_none());
        for attribute in attributes.filter(|found| !LAYOUT_ATTRIBUTES.contains(&found.name())) {
            // Writing to a string cannot fail.
            let _ = write!(element, " {}=\"{}\"", attribute.name(), escaped(attribute.value()));
        }
        let _ = write!(element, " d=\"{path}\"/>");
        Ok(element)
    }

    /// Returns each character with the distance from the text's start to its glyph, in units of the font, and then the
    /// total width.
    fn placed(&self, words: &str) -> (Vec<(ab_glyph::GlyphId, f32)>, f32) {
        let mut glyphs = Vec::with_capacity(words.len());
        let mut right = 0.0;
        let mut previous = None;
        for character in words.chars() {
            let glyph = self.font.glyph_id(character);
            if let Some(previous) = previous {
                right += self.font.kern_unscaled(previous, glyph);
            }
            glyphs.push((glyph, right));
            right += self.font.h_advance_unscaled(glyph);
            previous = Some(glyph);
        }
        (glyphs, right)
    }

    fn width(&self, words: &str, size: f32) -> f32 {
        self.placed(words).1 * size / self.units_per_em
    }

    /// Returns the outlines of all glyphs as the data of one path.
    fn path(&self, words: &str, size: f32, left: f32, baseline: f32) -> String {
        let scale = size / self.units_per_em;
        let mut path = String::new();
        for (glyph, offset) in self.placed(words).0 {
            let Some(outline) = self.font.outline(glyph) else { continue };
            // Up is positive in a font, down is in an SVG.
            let on_page = |at: Point| {
                format!("{:.2} {:.2}", left + (offset + at.x) * scale, baseline - at.y * scale)
            };
            let mut pen = None;
            for curve in &outline.curves {
                let (start, end) = ends(curve);
                // Nothing separates contours: a new one begins where the pen is not.
                if pen != Some(start) {
                    let _ = write!(path, "M{}", on_page(start));
                }
                let _ = match curve {
                    OutlineCurve::Line(_, end) => write!(path, "L{}", on_page(*end)),
                    OutlineCurve::Quad(_, control, end) => {
                        write!(path, "Q{} {}", on_page(*control), on_page(*end))
                    }
                    OutlineCurve::Cubic(_, first, second, end) => {
                        write!(path, "C{} {} {}", on_page(*first), on_page(*second), on_page(*end))
                    }
                };
                pen = Some(end);
            }
        }
        path
    }
}

fn ends(curve: &OutlineCurve) -> (Point, Point) {
    match *curve {
        OutlineCurve::Line(start, end)
        | OutlineCurve::Quad(start, _, end)
        | OutlineCurve::Cubic(start, _, _, end) => (start, end),
    }
}

/// Reads a length in user units; zero if the attribute is missing.
fn length(text: Node<'_, '_>, attribute: &str, font_size: f32) -> Result<f32, ChartError> {
    let Some(written) = text.attribute(attribute) else { return Ok(0.0) };
    // Browsers and resvg both use an x-height of half an em.
    let units = [("em", font_size), ("ex", font_size / 2.0), ("px", 1.0)];
    let (number, unit) = units
        .into_iter()
        .find_map(|(name, unit)| Some((written.strip_suffix(name)?, unit)))
        .unwrap_or((written, 1.0));
    let number: f32 = number.trim().parse().map_err(|_| {
        ChartError::Drawing(format!("<text> has {attribute}={written:?}, which is not a length"))
    })?;
    Ok(number * unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedded_font::{LINE_HEIGHT_PER_EM, width};
    use resvg::tiny_skia::{Pixmap, Transform};
    use resvg::usvg::{Options, Tree};

    /// Returns left, top, right and bottom of the inked area, in pixels.
    fn inked(svg: &str) -> Option<(u32, u32, u32, u32)> {
        let tree = Tree::from_str(&outlined(svg).unwrap(), &Options::default()).unwrap();
        let size = tree.size().to_int_size();
        let mut pixels = Pixmap::new(size.width(), size.height()).unwrap();
        resvg::render(&tree, Transform::identity(), &mut pixels.as_mut());
        let mut bounds: Option<(u32, u32, u32, u32)> = None;
        for (at, pixel) in (0..).zip(pixels.pixels()) {
            if pixel.alpha() > 0 {
                let (x, y) = (at % size.width(), at / size.width());
                let (left, top, right, bottom) = bounds.unwrap_or((x, y, x, y));
                bounds = Some((left.min(x), top.min(y), right.max(x + 1), bottom.max(y + 1)));
            }
        }
        bounds
    }

    fn svg(attributes: &str, words: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"900\" height=\"900\"><title>t</title>\
             <text x=\"450\" y=\"450\" {attributes} font-size=\"32\" fill=\"#282828\">\n{words}\n</text></svg>"
        )
    }

    #[test]
    fn ink_is_as_wide_as_the_layout_measured() {
        let outlines = GlyphOutlines::of_embedded_font().unwrap();
        // The layout scales a font by its line height, 1.24 em wherever text is measured. This font's own is a little
        // less, so measured text leaves some room.
        let room =
            LINE_HEIGHT_PER_EM as f32 / (outlines.font.height_unscaled() / outlines.units_per_em);
        assert!((1.0..1.1).contains(&room), "{room}");
        for words in ["HH", "HIIH", "IOPS", "after segment 14 (predicted)", "H&lt;HAVAToH"] {
            let measured = width(&words.replace("&lt;", "<"), 32.0 * LINE_HEIGHT_PER_EM).unwrap()
                as f32
                / room;
            let (left, _, right, _) = inked(&svg("text-anchor=\"middle\"", words)).unwrap();
            // The side bearings of the two outer glyphs: under a fifth of an em together.
            let bearings = 32.0 / 5.0;
            let width = (right - left) as f32;
            let fits = (measured - bearings..=measured + 1.0).contains(&width);
            assert!(fits, "{words}: {width}, measured {measured}");
        }
    }

    #[test]
    fn text_is_anchored_aligned_and_turned() {
        let around = |low: u32, high: u32| (low + high).abs_diff(900) <= 3;
        let (left, top, right, bottom) =
            inked(&svg("dy=\"0.5ex\" text-anchor=\"middle\"", "HOOH")).unwrap();
        assert!(around(left, right), "{left} to {right}");
        // Half of an x-height below: capitals, 0.73 em high, end at 450 + 8.
        assert!(bottom.abs_diff(458) <= 1 && top.abs_diff(458 - 23) <= 2, "{top} to {bottom}");
        let (left, _, right, bottom) = inked(&svg("text-anchor=\"end\"", "HOOH")).unwrap();
        assert!(left < 400 && (445..=450).contains(&right) && bottom.abs_diff(450) <= 1);
        let turned = svg("text-anchor=\"middle\" transform=\"rotate(270, 450, 450)\"", "HOOH");
        let (left, top, right, bottom) = inked(&turned).unwrap();
        assert!(around(top, bottom) && right.abs_diff(450) <= 1 && bottom - top > right - left);
    }

    #[test]
    fn attributes_that_are_not_layout_stay() {
        let path = outlined(&svg("opacity=\"0.5\" class=\"a&amp;b\"", "I")).unwrap();
        assert!(path.contains("<title>t</title><path opacity=\"0.5\" class=\"a&amp;b\" fill="));
        assert!(!path.contains("font-size") && !path.contains("<text"));
        assert_eq!(inked(&svg("", "")), None);
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        for refused in [svg("", "<tspan>I</tspan>"), svg("dy=\"wide\"", "I"), "<svg".to_owned()] {
            assert!(matches!(outlined(&refused), Err(ChartError::Drawing(_))), "{refused}");
        }
    }
}
