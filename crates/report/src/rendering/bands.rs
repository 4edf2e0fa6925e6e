//! Bands across a chart, one for each phase of the run, with its name.

use crate::data::results::ArrayResults;
use crate::rendering::canvas::{Canvas, PIXEL, Point, style, width_px};
use crate::rendering::chart::ChartError;
use crate::rendering::theme::BAND;
use plotters::prelude::{Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontTransform};
use std::ops::Range;

/// Size of the names.
const NAME_PX: i32 = 11;
/// Between a name and the edges of its band.
const ROOM_PX: i32 = 4;

/// A phase on the axis of segments.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Band {
    name: String,
    /// Half a segment before its first one to half a segment behind its last one.
    across: Range<f64>,
}

impl Band {
    /// Returns the phases that all these arrays have; none if they differ.
    pub(crate) fn all_of<'a>(arrays: impl IntoIterator<Item = &'a ArrayResults>) -> Vec<Self> {
        let mut arrays = arrays.into_iter().map(Self::of_array);
        let first = arrays.next().unwrap_or_default();
        if arrays.all(|other| other == first) { first } else { Vec::new() }
    }

    fn of_array(array: &ArrayResults) -> Vec<Self> {
        let phases = array.phases.iter().map(|phase| Self {
            name: phase.name.clone(),
            across: f64::from(phase.first_segment) - 0.5..f64::from(phase.last_segment()) + 0.5,
        });
        phases.collect()
    }

    /// Cuts the points of a line where one band ends and the next begins.
    pub(crate) fn cut(bands: &[Self], points: &[(f64, f64)]) -> Vec<Vec<(f64, f64)>> {
        let band = |point: &(f64, f64)| bands.iter().position(|of| of.across.contains(&point.0));
        points.chunk_by(|one, other| band(one) == band(other)).map(<[_]>::to_vec).collect()
    }

    /// Shades every second band of a plot, and writes each one's name at its top: along the band if it is too narrow.
    /// `place` returns the horizontal position of a segment; `left`, `right`, `top` and `bottom` bound the plot, in drawn
    /// units.
    pub(crate) fn draw(
        bands: &[Self],
        canvas: &Canvas<'_>,
        place: &dyn Fn(f64) -> i32,
        (left, top): Point,
        (right, bottom): Point,
    ) -> Result<(), ChartError> {
        for (number, band) in bands.iter().enumerate() {
            let from = place(band.across.start).clamp(left, right);
            let to = place(band.across.end).clamp(left, right);
            if from == to {
                continue;
            }
            if number % 2 == 0 {
                let shade = Rectangle::new([(from, top), (to, bottom)], BAND.filled());
                canvas.draw(&shade).map_err(ChartError::drawing)?;
            }
            let room = to - from - 2 * ROOM_PX * PIXEL;
            let room_along = bottom - top - 2 * ROOM_PX * PIXEL;
            let width = width_px(&band.name, NAME_PX)? * PIXEL;
            let middle = i32::midpoint(from, to);
            let under = top + ROOM_PX * PIXEL;
            let text = if width <= room {
                let style = style(NAME_PX).pos(Pos::new(HPos::Center, VPos::Top));
                Text::new(band.name.clone(), (middle, under), style)
            } else if width <= room_along && to - from >= NAME_PX * PIXEL {
                // Turned to the right about its middle, the text runs downwards.
                let style = style(NAME_PX).transform(FontTransform::Rotate90);
                let style = style.pos(Pos::new(HPos::Left, VPos::Center));
                Text::new(band.name.clone(), (middle, under), style)
            } else {
                continue;
            };
            canvas.draw(&text).map_err(ChartError::drawing)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_do_not_lead_from_one_phase_to_the_next() {
        let band = |name: &str, across: Range<f64>| Band { name: name.to_owned(), across };
        let bands = [band("age", 0.5..2.5), band("scan", 2.5..3.5)];
        let points = [(1.0, 5.0), (2.0, 4.0), (3.0, 9.0)];
        assert_eq!(Band::cut(&bands, &points), [points[..2].to_vec(), points[2..].to_vec()]);
        assert_eq!(Band::cut(&[], &points), [points.to_vec()]);
    }
}
