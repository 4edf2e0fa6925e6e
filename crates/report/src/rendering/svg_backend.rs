//! The drawing library's SVG, with text measured by the embedded font.
//!
//! The library measures text by a registry of fonts that belongs to the process, or in a browser by the page's document.
//! A chart must be the same bytes in both, and a browser's worker has no document.

use crate::rendering::embedded_font::{LINE_HEIGHT_PER_EM, width};
use plotters::prelude::SVGBackend;
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
};
use std::io::Error;

type Drawn = Result<(), DrawingErrorKind<Error>>;

/// An SVG that is being drawn.
pub(crate) struct SvgBackend<'a>(SVGBackend<'a>);

impl<'a> SvgBackend<'a> {
    /// Returns an empty one of this size in drawn units, which is written into `text`.
    pub(crate) fn new(text: &'a mut String, size: (u32, u32)) -> Self {
        Self(SVGBackend::with_string(text, size))
    }
}

impl DrawingBackend for SvgBackend<'_> {
    type ErrorType = Error;

    fn estimate_text_size<S: BackendTextStyle>(
        &self,
        text: &str,
        style: &S,
    ) -> Result<(u32, u32), DrawingErrorKind<Error>> {
        let width = width(text, style.size())
            .map_err(|error| DrawingErrorKind::FontError(Box::new(error)))?;
        Ok((width.unsigned_abs(), (style.size() / LINE_HEIGHT_PER_EM) as u32))
    }

    fn get_size(&self) -> (u32, u32) {
        self.0.get_size()
    }

    fn ensure_prepared(&mut self) -> Drawn {
        self.0.ensure_prepared()
    }

    fn present(&mut self) -> Drawn {
        self.0.present()
    }

    fn draw_pixel(&mut self, point: BackendCoord, color: BackendColor) -> Drawn {
        self.0.draw_pixel(point, color)
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Drawn {
        self.0.draw_line(from, to, style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        upper_left: BackendCoord,
        bottom_right: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Drawn {
        self.0.draw_rect(upper_left, bottom_right, style, fill)
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        self.0.draw_path(path, style)
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        center: BackendCoord,
        radius: u32,
        style: &S,
        fill: bool,
    ) -> Drawn {
        self.0.draw_circle(center, radius, style, fill)
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        vert: I,
        style: &S,
    ) -> Drawn {
        self.0.fill_polygon(vert, style)
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        pos: BackendCoord,
    ) -> Drawn {
        self.0.draw_text(text, style, pos)
    }
}
