//! Charts of horizontal bars, one row each with its words to the left. Their height depends on the
//! number of rows.

use crate::axis::Axis;
use crate::canvas::{Canvas, HPos, PIXEL, TextStyle, VPos, to_px, width_px};
use crate::chart::{ChartError, ChartStyle};
use crate::legend::LEFT_PX;
use crate::sheet::Sheet;
use crate::theme::{Colour, GRID, INK, PAPER};
use crate::value_mark::ValueMark;

/// Height of a row of one bar; then what each further bar adds.
const ROW_PX: i32 = 24;
const BAR_PX: i32 = 13;
/// Height of a row of stacked bars.
const STACK_PX: i32 = 18;
/// A sample of a colour, and the room between its words and the next one.
const SAMPLE_PX: i32 = 14;
const APART_PX: i32 = 18;
/// Below the bars: ticks, and the axis label.
const AXIS_PX: i32 = 46;
/// Right of the plot, for the figure of the longest bar.
const RIGHT_PX: i32 = 80;

/// A chart of bars.
pub(crate) struct BarChart {
    pub(crate) title: &'static str,
    pub(crate) subtitles: Vec<String>,
    /// Words below the axis.
    pub(crate) axis: &'static str,
    pub(crate) rows: Vec<Row>,
}

/// A row: bars, or a heading over the rows below it.
pub(crate) enum Row {
    Heading(String),
    Bars {
        words: String,
        bars: Vec<Bar>,
    },
    /// Bars that begin where the one before ends, in one line.
    Stack {
        words: String,
        bars: Vec<Bar>,
    },
    /// What the colours of stacks mean.
    Key(Vec<(Colour, &'static str)>),
}

/// A bar from one figure to another.
pub(crate) struct Bar {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) colour: Colour,
    /// Drawn as an outline only.
    pub(crate) hollow: bool,
    /// The text beside its end.
    pub(crate) figure: String,
    /// Description, shown under the pointer.
    pub(crate) words: String,
}

impl Row {
    const fn is_heading(&self) -> bool {
        matches!(self, Self::Heading(_) | Self::Key(_))
    }

    /// Its words and bars, if it has any.
    const fn bars(&self) -> Option<(&String, &Vec<Bar>)> {
        match self {
            Self::Bars { words, bars } | Self::Stack { words, bars } => Some((words, bars)),
            Self::Heading(_) | Self::Key(_) => None,
        }
    }

    fn height_px(&self) -> i32 {
        match self {
            Self::Heading(_) | Self::Key(_) => ROW_PX + 4,
            Self::Stack { .. } => STACK_PX,
            Self::Bars { bars, .. } => ROW_PX + BAR_PX * (to_px(bars.len()) - 1).max(0),
        }
    }
}

impl BarChart {
    /// Returns the SVG, of the style's width.
    pub(crate) fn draw(&self, style: ChartStyle) -> Result<String, ChartError> {
        let rows_px: i32 = self.rows.iter().map(Row::height_px).sum();
        let plot_px = rows_px + AXIS_PX + 24;
        let sheet = Sheet::around(style, self.title, self.subtitles.clone(), plot_px)?;
        let mut words_px = 0;
        let (mut highest, mut any) = (0.0_f64, false);
        for row in &self.rows {
            let Some((words, bars)) = row.bars() else { continue };
            words_px = words_px.max(width_px(words, 12)?);
            for bar in bars {
                if !(bar.from.is_finite() && bar.to.is_finite()) {
                    return Err(ChartError::NoFigures { title: self.title });
                }
                highest = highest.max(bar.from).max(bar.to);
                any = true;
            }
        }
        if !any {
            return Err(ChartError::NoFigures { title: self.title });
        }
        let left_px = LEFT_PX + words_px + 12;
        let frame = Frame {
            left_px,
            right_px: (to_px(style.size.width_px as usize) - RIGHT_PX).max(left_px + 120),
            axis: Axis::from_zero_to(highest),
        };
        sheet.draw(|canvas, margins| self.plot(canvas, &frame, margins.top_px))
    }

    fn plot(
        &self,
        canvas: &mut Canvas<'_>,
        frame: &Frame,
        top_px: i32,
    ) -> Result<Vec<ValueMark>, ChartError> {
        let bottom_px = top_px + self.rows.iter().map(Row::height_px).sum::<i32>();
        frame.axis(canvas, bottom_px, self.axis)?;
        let mut at_px = top_px;
        for rows in self.rows.chunk_by(|one, next| one.is_heading() == next.is_heading()) {
            let end_px = at_px + rows.iter().map(Row::height_px).sum::<i32>();
            if !rows[0].is_heading() {
                frame.mesh(canvas, at_px, end_px)?;
            }
            at_px = end_px;
        }
        let mut marks = Vec::new();
        let mut row_px = top_px;
        for row in &self.rows {
            let next_px = row_px + row.height_px();
            match row {
                Row::Heading(words) => {
                    frame.words(canvas, words, (LEFT_PX, next_px - 9), 13, HPos::Left)?;
                }
                Row::Key(entries) => frame.key(canvas, entries, next_px - 9)?,
                Row::Bars { words, bars } | Row::Stack { words, bars } => {
                    let middle_px = (row_px + next_px) / 2;
                    frame.words(canvas, words, (frame.left_px - 8, middle_px), 12, HPos::Right)?;
                    let (lines, line_px) = match row {
                        Row::Stack { .. } => (1, 0),
                        _ => (to_px(bars.len()), BAR_PX),
                    };
                    let first_px = middle_px - BAR_PX * lines / 2;
                    for (position, bar) in bars.iter().enumerate() {
                        let bar_px = first_px + line_px * to_px(position);
                        marks.push(frame.bar(canvas, bar, bar_px)?);
                    }
                }
            }
            row_px = next_px;
        }
        Ok(marks)
    }
}

/// The horizontal extent of bars, and their axis.
struct Frame {
    left_px: i32,
    right_px: i32,
    axis: Axis,
}

impl Frame {
    /// Returns the position of a figure. One beyond the axis is placed at its end.
    fn x(&self, figure: f64) -> i32 {
        let (left, right) = (self.left_px * PIXEL, self.right_px * PIXEL);
        self.axis.place(figure, (left, right)).clamp(left, right)
    }

    /// Draws the lines behind the bars, and the line where they begin.
    fn mesh(&self, canvas: &mut Canvas<'_>, top_px: i32, bottom_px: i32) -> Result<(), ChartError> {
        let mut line = |figure: f64, colour: Colour| {
            let x = self.x(figure);
            canvas.polyline(&[(x, top_px * PIXEL), (x, bottom_px * PIXEL)], colour.stroke(PIXEL))
        };
        for tick in self.axis.ticks() {
            line(*tick, GRID)?;
        }
        line(0.0, INK)
    }

    /// Draws the tick labels and the axis label.
    fn axis(&self, canvas: &mut Canvas<'_>, bottom_px: i32, words: &str) -> Result<(), ChartError> {
        for tick in self.axis.ticks() {
            let place = (self.x(*tick) / PIXEL, bottom_px + 12);
            self.words(canvas, &Axis::format(*tick), place, 12, HPos::Center)?;
        }
        let middle_px = (self.left_px + self.right_px) / 2;
        self.words(canvas, words, (middle_px, bottom_px + 33), 13, HPos::Center)
    }

    fn words(
        &self,
        canvas: &mut Canvas<'_>,
        words: &str,
        place_px: (i32, i32),
        size_px: i32,
        side: HPos,
    ) -> Result<(), ChartError> {
        canvas.text_px(words, place_px, TextStyle::new(size_px, side, VPos::Center))
    }

    /// Draws samples of colours with their words.
    fn key(
        &self,
        canvas: &mut Canvas<'_>,
        entries: &[(Colour, &'static str)],
        middle_px: i32,
    ) -> Result<(), ChartError> {
        let mut at_px = self.left_px;
        for (colour, words) in entries {
            let half_px = SAMPLE_PX / 2 - 2;
            let corners = [
                (at_px * PIXEL, (middle_px - half_px) * PIXEL),
                ((at_px + SAMPLE_PX) * PIXEL, (middle_px + half_px) * PIXEL),
            ];
            canvas.fill_rectangle(corners, *colour)?;
            self.words(canvas, words, (at_px + SAMPLE_PX + 6, middle_px), 12, HPos::Left)?;
            at_px += SAMPLE_PX + 6 + width_px(words, 12)? + APART_PX;
        }
        Ok(())
    }

    fn bar(
        &self,
        canvas: &mut Canvas<'_>,
        bar: &Bar,
        top_px: i32,
    ) -> Result<ValueMark, ChartError> {
        let (low, high) = (bar.from.min(bar.to), bar.from.max(bar.to));
        // A figure that is not zero must be visible.
        let (left, right) = (self.x(low), self.x(high).max(self.x(low) + PIXEL));
        let (top, bottom) = ((top_px + 1) * PIXEL, (top_px + BAR_PX - 1) * PIXEL);
        let fill = if bar.hollow { PAPER } else { bar.colour };
        canvas.fill_rectangle([(left, top), (right, bottom)], fill)?;
        // The SVG backend cannot set the width of a rectangle's outline.
        let around =
            [(left, top), (right, top), (right, bottom), (left, bottom), (left, top), (right, top)];
        canvas.polyline(&around, bar.colour.stroke(PIXEL * 3 / 2))?;
        let middle_px = top_px + BAR_PX / 2;
        self.words(canvas, &bar.figure, (right / PIXEL + 6, middle_px), 12, HPos::Left)?;
        Ok(ValueMark { place: ((left + right) / 2, (top + bottom) / 2), words: bar.words.clone() })
    }
}
