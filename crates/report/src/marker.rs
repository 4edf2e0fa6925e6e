//! Colours and shapes that tell the arrays of a chart apart, in colour and in grey.

use crate::canvas::{Canvas, Point, Stroke};
use crate::chart::ChartError;
use crate::theme::{COLOURS, Colour, INK, PAPER};

#[derive(Clone, Copy)]
enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
    TriangleDown,
}

/// The number of shapes shares no factor with the number of colours, so 35 pairs differ.
const SHAPES: [Shape; 5] =
    [Shape::Circle, Shape::Square, Shape::Triangle, Shape::Diamond, Shape::TriangleDown];

/// Faint enough for markers and other areas to show, on light paper and on dark.
const SHADE_OPACITY: f64 = 0.3;

/// Faint enough for the run that is looked at to stand out.
const FAINT_OPACITY: f64 = 0.45;

/// The appearance of one array's figures.
#[derive(Clone, Copy)]
pub(crate) struct Appearance {
    /// For lines and markers.
    pub(crate) colour: Colour,
    shape: Shape,
    /// Parallel strokes of a published figure.
    strokes: i32,
    dash: Dash,
    /// The number of the figure among those of the array.
    figure: usize,
    /// Whether markers are hollow even where nothing was fitted.
    hollow: bool,
    is_of_odd_array: bool,
}

/// The dashes of a line, which tell figures of one array apart without their colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Dash {
    #[default]
    Solid,
    Dashed,
    Dotted,
    Mixed,
}

impl Dash {
    /// Returns the dash of the figure at `position` among those of an array.
    const fn of(position: usize) -> Self {
        [Self::Solid, Self::Dashed, Self::Dotted, Self::Mixed][position % 4]
    }

    /// Returns the alternating lengths drawn and left out, pixels; none for a solid line.
    const fn lengths_px(self) -> &'static [i32] {
        match self {
            Self::Solid => &[],
            Self::Dashed => &[9, 5],
            Self::Dotted => &[2, 4],
            Self::Mixed => &[10, 4, 2, 4],
        }
    }

    /// Returns the pieces of a line that are drawn.
    fn pieces(self, places: Vec<Point>, pixel: i32) -> Vec<Vec<Point>> {
        let lengths = self.lengths_px();
        if lengths.is_empty() {
            return vec![places];
        }
        let (mut pieces, mut piece, mut turn) = (Vec::new(), Vec::new(), 0);
        let mut left = f64::from(lengths[0] * pixel);
        for pair in places.windows(2) {
            let ((x, y), (to_x, to_y)) = (pair[0], pair[1]);
            let (across, down) = (f64::from(to_x - x), f64::from(to_y - y));
            // `hypot` may differ between machines in the last bit; a square root may not.
            let length = (across * across + down * down).sqrt();
            let at = |gone: f64| {
                let share = if length > 0.0 { gone / length } else { 0.0 };
                (x + (across * share).round() as i32, y + (down * share).round() as i32)
            };
            let mut gone = 0.0;
            if turn % 2 == 0 {
                piece.push((x, y));
            }
            while length - gone > left {
                gone += left;
                piece.push(at(gone));
                if turn % 2 == 0 {
                    pieces.push(std::mem::take(&mut piece));
                }
                turn += 1;
                left = f64::from(lengths[turn % lengths.len()] * pixel);
            }
            left -= length - gone;
            if turn % 2 == 0 {
                piece.push((to_x, to_y));
            }
        }
        pieces.push(piece);
        pieces.retain(|piece| piece.len() > 1);
        pieces
    }
}

impl Appearance {
    /// Returns the appearance of the array at `position` among those of the results.
    pub(crate) fn of(position: usize) -> Self {
        Self {
            colour: COLOURS[position % COLOURS.len()],
            shape: SHAPES[position % SHAPES.len()],
            strokes: if position.is_multiple_of(2) { 1 } else { 2 },
            dash: Dash::Solid,
            figure: 0,
            hollow: false,
            is_of_odd_array: !position.is_multiple_of(2),
        }
    }

    /// Returns the appearance of the figure of this number among those of the array: its lines have dashes of their
    /// own.
    pub(crate) fn of_figure(self, figure: usize) -> Self {
        Self { dash: Dash::of(figure), figure, ..self }
    }

    /// Returns whether it is another figure than the first of its array.
    pub(crate) const fn is_further_figure(self) -> bool {
        self.figure > 0
    }

    /// Returns the same appearance with markers that tell the array's figures apart, as dashes do, for points without a
    /// line. The colour then tells arrays apart and, in grey, hollow markers do so for two.
    pub(crate) fn marked_by_figure(self) -> Self {
        let is_beyond_shapes = self.figure / SHAPES.len() % 2 == 1;
        Self {
            shape: SHAPES[self.figure % SHAPES.len()],
            hollow: self.is_of_odd_array != is_beyond_shapes,
            ..self
        }
    }

    /// Draws a simulated figure: a filled marker, or a hollow one if it was `fitted`, or tells arrays apart.
    pub(crate) fn simulated(
        self,
        canvas: &mut Canvas<'_>,
        (x, y): Point,
        fitted: bool,
        pixel: i32,
    ) -> Result<(), ChartError> {
        // These radii give the shapes the same visual weight.
        let radius = match self.shape {
            Shape::Circle => pixel * 9 / 2,
            Shape::Square => pixel * 4,
            Shape::Triangle | Shape::Diamond | Shape::TriangleDown => pixel * 11 / 2,
        };
        let fill = if fitted || self.hollow { PAPER } else { self.colour };
        let outline = self.colour.stroke(2 * pixel);
        let at = |across: i32, down: i32| (x + across * radius / 8, y + down * radius / 8);
        let corners = match self.shape {
            Shape::Circle => {
                canvas.fill_circle((x, y), radius, fill)?;
                return canvas.circle((x, y), radius, outline);
            }
            Shape::Square => vec![at(-8, -8), at(8, -8), at(8, 8), at(-8, 8)],
            Shape::Triangle => vec![at(0, -8), at(8, 6), at(-8, 6)],
            Shape::Diamond => vec![at(0, -8), at(8, 0), at(0, 8), at(-8, 0)],
            Shape::TriangleDown => vec![at(0, 8), at(8, -6), at(-8, -6)],
        };
        canvas.fill_polygon(&corners, fill)?;
        // Ends at the second corner, so that the first corner has a join and not two ends.
        let path: Vec<Point> = corners.iter().cycle().take(corners.len() + 2).copied().collect();
        canvas.polyline(&path, outline)
    }

    /// Draws a published figure: a horizontal dash of one stroke or two, by array, that shows on
    /// both sides of the simulated marker on top of it.
    pub(crate) fn published(
        self,
        canvas: &mut Canvas<'_>,
        (x, y): Point,
        pixel: i32,
    ) -> Result<(), ChartError> {
        let half_length = 11 * pixel;
        let dark = INK.stroke(2 * pixel);
        let apart = 4 * pixel;
        for stroke in 0..self.strokes {
            let level = y + stroke * apart - (self.strokes - 1) * apart / 2;
            canvas.polyline(&[(x - half_length, level), (x + half_length, level)], dark)?;
        }
        Ok(())
    }

    /// Shades an area behind lines and markers.
    pub(crate) fn shade(
        self,
        canvas: &mut Canvas<'_>,
        corners: Vec<Point>,
    ) -> Result<(), ChartError> {
        canvas.fill_polygon(&corners, self.colour.with_opacity(SHADE_OPACITY))
    }

    /// Draws a section of the line that joins simulated figures.
    pub(crate) fn line(
        self,
        canvas: &mut Canvas<'_>,
        places: Vec<Point>,
        pixel: i32,
    ) -> Result<(), ChartError> {
        self.line_of(canvas, places, pixel, self.colour.stroke(2 * pixel))
    }

    /// Draws a section of the line of an earlier run.
    pub(crate) fn faint_line(
        self,
        canvas: &mut Canvas<'_>,
        places: Vec<Point>,
        pixel: i32,
    ) -> Result<(), ChartError> {
        let stroke = self.colour.stroke(2 * pixel).with_opacity(FAINT_OPACITY);
        self.line_of(canvas, places, pixel, stroke)
    }

    /// Draws a thin dashed line.
    pub(crate) fn thin_line(
        self,
        canvas: &mut Canvas<'_>,
        places: Vec<Point>,
        pixel: i32,
    ) -> Result<(), ChartError> {
        let dashed = Self { dash: Dash::Dashed, ..self };
        dashed.line_of(canvas, places, pixel, self.colour.stroke(pixel))
    }

    fn line_of(
        self,
        canvas: &mut Canvas<'_>,
        places: Vec<Point>,
        pixel: i32,
        stroke: Stroke,
    ) -> Result<(), ChartError> {
        for piece in self.dash.pieces(places, pixel) {
            canvas.polyline(&piece, stroke)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_go_on_around_corners() {
        let line = vec![(0, 0), (10, 0), (10, 20)];
        assert_eq!(Dash::Solid.pieces(line.clone(), 1), std::slice::from_ref(&line));
        let pieces = Dash::Dashed.pieces(line, 1);
        assert_eq!(
            pieces,
            [vec![(0, 0), (9, 0)], vec![(10, 4), (10, 13)], vec![(10, 18), (10, 20)]]
        );
    }
}
