//! Colours and shapes that tell the arrays of a chart apart, in colour and in grey.

use crate::chart::ChartError;
use plotters::coord::Shift;
use plotters::prelude::{Circle, DrawingArea, PathElement, Polygon, RGBColor, SVGBackend, WHITE};
use plotters::style::{Color, ShapeStyle};

/// A place in the drawing, in its units, from the top left.
pub(crate) type Place = (i32, i32);

/// The whole drawing.
pub(crate) type Canvas<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// Okabe and Ito, "Color Universal Design" (2008): distinct for all kinds of colour vision. In an
/// order that alternates dark and light; yellow is left out, too faint for lines on white.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(0, 0, 0),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
];

#[derive(Clone, Copy)]
enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
    TriangleDown,
}

/// As many shapes as share no factor with the number of colours, so that 35 pairs differ.
const SHAPES: [Shape; 5] =
    [Shape::Circle, Shape::Square, Shape::Triangle, Shape::Diamond, Shape::TriangleDown];

/// What the figures of one array are drawn with.
#[derive(Clone, Copy)]
pub(crate) struct Appearance {
    /// For lines and markers.
    pub(crate) colour: RGBColor,
    shape: Shape,
    /// Parallel strokes of a published figure.
    strokes: i32,
}

impl Appearance {
    /// The appearance of the array at `position` among those of the results.
    pub(crate) fn of(position: usize) -> Self {
        Self {
            colour: COLOURS[position % COLOURS.len()],
            shape: SHAPES[position % SHAPES.len()],
            strokes: if position.is_multiple_of(2) { 1 } else { 2 },
        }
    }

    /// Draws a simulated figure: a filled marker, or a hollow one if it was `fitted`.
    pub(crate) fn simulated(
        self,
        canvas: &Canvas<'_>,
        (x, y): Place,
        fitted: bool,
        pixel: i32,
    ) -> Result<(), ChartError> {
        // Radii that give the shapes the same weight for the eye.
        let radius = match self.shape {
            Shape::Circle => pixel * 9 / 2,
            Shape::Square => pixel * 4,
            Shape::Triangle | Shape::Diamond | Shape::TriangleDown => pixel * 11 / 2,
        };
        let fill = if fitted { WHITE } else { self.colour };
        let outline = self.colour.stroke_width((2 * pixel).unsigned_abs());
        let at = |across: i32, down: i32| (x + across * radius / 8, y + down * radius / 8);
        let corners = match self.shape {
            Shape::Circle => {
                let filled = Circle::new((x, y), radius, fill.filled());
                canvas.draw(&filled).map_err(ChartError::drawing)?;
                let ring = Circle::new((x, y), radius, outline);
                return canvas.draw(&ring).map_err(ChartError::drawing);
            }
            Shape::Square => vec![at(-8, -8), at(8, -8), at(8, 8), at(-8, 8)],
            Shape::Triangle => vec![at(0, -8), at(8, 6), at(-8, 6)],
            Shape::Diamond => vec![at(0, -8), at(8, 0), at(0, 8), at(-8, 0)],
            Shape::TriangleDown => vec![at(0, 8), at(8, -6), at(-8, -6)],
        };
        let filled = Polygon::new(corners.clone(), ShapeStyle::from(fill).filled());
        canvas.draw(&filled).map_err(ChartError::drawing)?;
        // Ends at the second corner, so that the first has a join and not two ends.
        let path: Vec<Place> = corners.iter().cycle().take(corners.len() + 2).copied().collect();
        canvas.draw(&PathElement::new(path, outline)).map_err(ChartError::drawing)
    }

    /// Draws a published figure: a level dash, one stroke or two by array, that shows on both sides
    /// of the simulated marker on top of it.
    pub(crate) fn published(
        self,
        canvas: &Canvas<'_>,
        (x, y): Place,
        pixel: i32,
    ) -> Result<(), ChartError> {
        let half_length = 11 * pixel;
        let dark = RGBColor(40, 40, 40).stroke_width((2 * pixel).unsigned_abs());
        let apart = 4 * pixel;
        for stroke in 0..self.strokes {
            let level = y + stroke * apart - (self.strokes - 1) * apart / 2;
            let dash = PathElement::new([(x - half_length, level), (x + half_length, level)], dark);
            canvas.draw(&dash).map_err(ChartError::drawing)?;
        }
        Ok(())
    }

    /// Draws a stretch of the line that joins simulated figures.
    pub(crate) fn line(
        self,
        canvas: &Canvas<'_>,
        places: Vec<Place>,
        pixel: i32,
    ) -> Result<(), ChartError> {
        let style = self.colour.stroke_width((2 * pixel).unsigned_abs());
        canvas.draw(&PathElement::new(places, style)).map_err(ChartError::drawing)
    }
}
