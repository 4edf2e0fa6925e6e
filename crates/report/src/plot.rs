//! The parts of every plot with two axes: its frame, its mesh, and the position of a pair of
//! figures.

use std::ops::Range;

use crate::axis::Axis;
use crate::bands::{Band, LaidOutBands};
use crate::canvas::{Area, Canvas, HPos, PIXEL, Point, TextStyle, VPos, width_px};
use crate::chart::ChartError;
use crate::sheet::Margins;
use crate::theme::{GRID, INK};

/// Around the plot: to its left and below its labels, to its right, and its labels.
pub(crate) const SIDE_PX: i32 = 14;
pub(crate) const RIGHT_PX: i32 = 32;
pub(crate) const ACROSS_LABELS_PX: i32 = 42;
pub(crate) const UP_LABELS_PX: i32 = 68;

/// Length of a tick, and the distance of its label from the axis.
const TICK: i32 = 5 * PIXEL;
const LABEL: i32 = 2 * TICK;

/// One axis: its values, their labels, and its own label.
pub(crate) struct Labelled<'a> {
    pub(crate) axis: Axis,
    pub(crate) label: &'a dyn Fn(f64) -> String,
    pub(crate) words: &'a str,
}

/// A plot whose axes are drawn.
pub(crate) struct Plot {
    across: Axis,
    up: Axis,
    frame: Frame,
}

/// The rectangle of the figures, in drawn units. Its right and its bottom are the first units beyond it.
struct Frame {
    left: i32,
    top: i32,
    right: i32,
    bottom: i32,
}

impl Plot {
    /// Draws both axes, horizontal lines at the ticks of the vertical one, and behind these the bands.
    pub(crate) fn begin(
        canvas: &mut Canvas<'_>,
        area: Area,
        margins: &Margins,
        across: Labelled<'_>,
        up: Labelled<'_>,
        bands: &[Band],
    ) -> Result<Self, ChartError> {
        Self::begin_beside(canvas, area, margins, across, up, bands, UP_LABELS_PX)
    }

    /// Does the same with another width for the labels of the vertical axis.
    pub(crate) fn begin_beside(
        canvas: &mut Canvas<'_>,
        area: Area,
        margins: &Margins,
        across: Labelled<'_>,
        up: Labelled<'_>,
        bands: &[Band],
        up_labels_px: i32,
    ) -> Result<Self, ChartError> {
        let top_px = area.top_px + margins.top_px;
        let right_px = area.left_px + area.width_px - RIGHT_PX;
        // A narrow area has all its room for labels.
        let left_px = (area.left_px + SIDE_PX + up_labels_px).min(right_px);
        let across_words_px = area.top_px + area.height_px - margins.legend_px - SIDE_PX;
        let bottom_px = across_words_px - ACROSS_LABELS_PX;
        let bands = LaidOutBands::new(bands, &across.axis.range(), left_px..right_px)?;
        bands.draw(canvas, top_px, bottom_px)?;
        let frame = Frame {
            left: left_px * PIXEL,
            top: (top_px + bands.names_px()) * PIXEL,
            right: right_px * PIXEL,
            bottom: bottom_px * PIXEL,
        };
        // An axis without room has neither a line nor words.
        let (has_up, has_across) = (up_labels_px > 0, frame.right > frame.left);
        // Lines without a width show nothing. They are drawn so that charts keep the bytes that they have had.
        frame.mesh(canvas, &up.axis, 0)?;
        if has_up {
            // Words that are longer than the axis end where it does, below the title.
            let half = width_px(up.words, 13)? * PIXEL / 2;
            let middle = i32::midpoint(frame.top, frame.bottom).max(frame.top + half);
            let style = TextStyle::new(13, HPos::Center, VPos::Top).upward();
            canvas.text(up.words, ((area.left_px + SIDE_PX) * PIXEL, middle), style)?;
        }
        if has_across {
            let middle = i32::midpoint(frame.left, frame.right);
            let style = TextStyle::new(13, HPos::Center, VPos::Bottom);
            canvas.text(across.words, (middle, across_words_px * PIXEL), style)?;
        }
        frame.mesh(canvas, &up.axis, PIXEL)?;
        if has_up {
            frame.up_axis(canvas, &up)?;
        }
        if has_across {
            frame.across_axis(canvas, &across)?;
        }
        Ok(Self { across: across.axis, up: up.axis, frame })
    }

    /// Returns the lowest and the highest value of the vertical axis.
    pub(crate) fn up_range(&self) -> Range<f64> {
        self.up.range()
    }

    /// Returns the position of a pair of figures.
    pub(crate) fn place(&self, (x, y): (f64, f64)) -> Point {
        (self.frame.x(&self.across, x), self.frame.y(&self.up, y))
    }
}

impl Frame {
    fn x(&self, axis: &Axis, value: f64) -> i32 {
        axis.place(value, (self.left, self.right - 1))
    }

    fn y(&self, axis: &Axis, value: f64) -> i32 {
        axis.place(value, (self.bottom - 1, self.top))
    }

    /// Draws horizontal lines of this width at the ticks of the vertical axis.
    fn mesh(&self, canvas: &mut Canvas<'_>, axis: &Axis, width: i32) -> Result<(), ChartError> {
        for tick in axis.ticks() {
            let y = self.y(axis, *tick);
            canvas.line([(self.left, y), (self.right - 1, y)], GRID.stroke(width))?;
        }
        Ok(())
    }

    /// Draws the vertical axis, left of the frame, with its ticks and their labels.
    fn up_axis(&self, canvas: &mut Canvas<'_>, up: &Labelled<'_>) -> Result<(), ChartError> {
        let (x, [top, bottom]) = (self.left - 1, [self.top, self.bottom - 1]);
        canvas.polyline(&[(x, top), (x, bottom)], INK.stroke(PIXEL))?;
        for tick in up.axis.ticks() {
            let y = self.y(&up.axis, *tick);
            if (top..=bottom).contains(&y) {
                let style = TextStyle::new(12, HPos::Right, VPos::Center);
                canvas.text(&(up.label)(*tick), (self.left - LABEL, y), style)?;
                canvas.polyline(&[(x - TICK, y), (x, y)], INK.stroke(PIXEL))?;
            }
        }
        Ok(())
    }

    /// Draws the horizontal axis, below the frame, with its ticks and their labels.
    fn across_axis(
        &self,
        canvas: &mut Canvas<'_>,
        across: &Labelled<'_>,
    ) -> Result<(), ChartError> {
        let (y, [left, right]) = (self.bottom, [self.left, self.right - 1]);
        canvas.polyline(&[(left, y), (right, y)], INK.stroke(PIXEL))?;
        for tick in across.axis.ticks() {
            let x = self.x(&across.axis, *tick);
            if (left..=right).contains(&x) {
                let style = TextStyle::new(12, HPos::Center, VPos::Top);
                canvas.text(&(across.label)(*tick), (x, y + LABEL), style)?;
                canvas.polyline(&[(x, y), (x, y + TICK)], INK.stroke(PIXEL))?;
            }
        }
        Ok(())
    }
}
