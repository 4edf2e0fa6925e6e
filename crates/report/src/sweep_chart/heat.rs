//! A field of colours by two axes.

use crate::axis::Axis;
use crate::canvas::{Area, Canvas, HPos, PIXEL, TextStyle, VPos, text, to_px, width_px};
use crate::chart::{ChartError, ChartStyle};
use crate::plot::{ACROSS_LABELS_PX, Labelled, Plot, RIGHT_PX, SIDE_PX};
use crate::sheet::Margins;
use crate::sweep_chart::content::{Content, Panel, Point};
use crate::sweep_chart::scale::labelled;
use crate::sweep_chart::{HEADING_PX, below_heading, chart_px, columns, cut, grid, sheet};
use crate::theme::{Colour, DIVERGING_COLOURS, INK, MAP_COLOURS, PAPER};
use crate::value_mark::ValueMark;
use strewn_results::words::fixed;

/// Heights of a row of cells, by how many rows there are.
const ROW_PX: [i32; 3] = [34, 26, 16];
/// Widest labels to the left, with the words of their axis.
const MOST_LABEL_PX: i32 = 150;
/// Size of figures in cells.
const FIGURE_PX: i32 = 12;
/// A scale about 100 % reaches at least to this factor, so that noise has no strong colour.
const LEAST_FACTOR: f64 = 1.05;
/// A share that differs from 100 % by less is written as 100.0.
const EQUAL: f64 = 0.05;
/// The scale below the panels: its boxes, and the room for it.
const BOX_PX: i32 = 34;
const SCALE_PX: i32 = 52;

/// Which figure has which colour.
struct Scale {
    low: f64,
    high: f64,
    /// Whether 100 is in the middle, and factors count.
    is_about_100: bool,
}

impl Scale {
    fn of(content: &Content<'_>) -> Self {
        let means = || content.points().map(|point| point.mean);
        let low = means().fold(f64::INFINITY, f64::min);
        let high = means().fold(f64::NEG_INFINITY, f64::max);
        if content.is_share && low > 0.0 {
            let factor = (high / 100.0).max(100.0 / low).max(LEAST_FACTOR);
            return Self { low: 100.0 / factor, high: 100.0 * factor, is_about_100: true };
        }
        Self { low, high, is_about_100: false }
    }

    fn colours(&self) -> &'static [Colour] {
        if self.is_about_100 { &DIVERGING_COLOURS } else { &MAP_COLOURS }
    }

    /// Returns the number of the colour of a figure. About 100 %, the colour in the middle is that of 100.0 % alone, so
    /// that every other one says which side is ahead.
    fn colour(&self, figure: f64) -> usize {
        let last = self.colours().len() - 1;
        if self.is_about_100 {
            let middle = last / 2;
            if (figure - 100.0).abs() < EQUAL {
                return middle;
            }
            let share = (figure / 100.0).ln().abs() / (self.high / 100.0).ln();
            let step = ((share.clamp(0.0, 1.0) * middle as f64) as usize + 1).min(middle);
            return if figure > 100.0 { middle + step } else { middle - step };
        }
        let share =
            if self.high > self.low { (figure - self.low) / (self.high - self.low) } else { 0.0 };
        ((share.clamp(0.0, 1.0) * last as f64).round() as usize).min(last)
    }

    /// Returns the colour of words on a colour: the same choice is legible in the light theme and in the dark one.
    fn ink(&self, colour: usize) -> Colour {
        let dark_on_light = if self.is_about_100 { 2..=7 } else { 0..=4 };
        if dark_on_light.contains(&colour) { INK } else { PAPER }
    }

    /// Returns the figure in the middle of a share of the scale.
    fn figure(&self, share: f64) -> f64 {
        if self.is_about_100 {
            self.low * (self.high / self.low).powf(share)
        } else {
            self.low + share * (self.high - self.low)
        }
    }
}

pub(super) fn draw(content: &Content<'_>, chart: ChartStyle) -> Result<String, ChartError> {
    let scale = Scale::of(content);
    let count = content.panels.len();
    let rows = content.series.len();
    let across = content.panels.iter().map(|panel| panel.x.labels.len()).max().unwrap_or(1);
    // Figures in the cells of two panels side by side need room.
    let columns = if across > 8 { columns(count).min(2) } else { columns(count) };
    let columns = if across > 16 { 1 } else { columns };
    let row_px = match rows {
        ..=8 => ROW_PX[0],
        9..=16 => ROW_PX[1],
        _ => ROW_PX[2],
    };
    let has_headings = content.panels.iter().any(|panel| !panel.heading.is_empty());
    let heading_px = if has_headings { HEADING_PX } else { 0 };
    let height_px = heading_px + row_px * to_px(rows) + ACROSS_LABELS_PX + SIDE_PX + 10;
    let panel_rows = to_px(count.div_ceil(columns));
    let mut note = Vec::new();
    if scale.is_about_100 && content.points().any(|point| holds_100(point)) {
        note.push("~: the interval of the mean holds 100 %.");
    }
    let note = (!note.is_empty()).then(|| note.join(" "));
    let mut label_px = 0;
    for label in &content.series {
        label_px = label_px.max(width_px(label, 12)?);
    }
    let label_px = label_px.min(MOST_LABEL_PX) + 34;
    let sheet = sheet(content, chart, note, height_px * panel_rows + SCALE_PX)?;
    sheet.draw(|canvas, margins| {
        let areas = grid(count, columns, chart_px(chart), height_px, margins.top_px);
        let mut marks = Vec::new();
        for (panel, area) in content.panels.iter().zip(areas) {
            let one = Field { content, panel, scale: &scale, label_px };
            marks.extend(one.draw(canvas, area)?);
        }
        draw_scale(canvas, content, &scale, margins.top_px + height_px * panel_rows + 4)?;
        Ok(marks)
    })
}

fn holds_100(point: &Point<'_>) -> bool {
    point.row.interval.is_some_and(|[low, high]| low <= 100.0 && 100.0 <= high)
}

struct Field<'a> {
    content: &'a Content<'a>,
    panel: &'a Panel<'a>,
    scale: &'a Scale,
    label_px: i32,
}

impl Field<'_> {
    fn draw(&self, canvas: &mut Canvas<'_>, area: Area) -> Result<Vec<ValueMark>, ChartError> {
        let area = below_heading(canvas, area, &self.panel.heading)?;
        let (across, rows) = (self.panel.x.labels.len(), self.content.series.len());
        let plot_px = area.width_px - SIDE_PX - self.label_px - RIGHT_PX;
        let range = |count: usize| -0.5..count as f64 - 0.5;
        let positions = |count: usize| (0..count).map(|at| at as f64).collect::<Vec<f64>>();
        let labels: Result<Vec<String>, ChartError> =
            self.content.series.iter().map(|label| cut(label, self.label_px - 30, 12)).collect();
        let labels = labels?;
        let (ticks, x_labels, x_words) =
            labelled(&positions(across), &self.panel.x, &range(across), plot_px)?;
        let x = Labelled {
            axis: Axis::of_range(range(across), ticks),
            label: &|position| x_labels.get(position as usize).cloned().unwrap_or_default(),
            words: &x_words,
        };
        // Numbers ascend from the bottom, as on any axis; words are read from the top, in the order of the study.
        let up = |row: usize| if self.content.lines_ascend { row } else { rows - 1 - row };
        let y = Labelled {
            axis: Axis::of_range(range(rows), positions(rows)),
            label: &|position| labels.get(up(position as usize)).cloned().unwrap_or_default(),
            words: &self.content.lines_name,
        };
        let margins = Margins { top_px: 4, legend_px: -SIDE_PX + 6 };
        let plot = Plot::begin_beside(canvas, area, &margins, x, y, &[], self.label_px)?;
        let mut marks = Vec::new();
        for (row, points) in self.panel.series.iter().enumerate() {
            for point in points {
                let corner =
                    |side: f64| plot.place((point.place as f64 + side, up(row) as f64 + side));
                let (from, to) = (corner(-0.5), corner(0.5));
                self.cell(canvas, point, from, to)?;
                let middle = (i32::midpoint(from.0, to.0), i32::midpoint(from.1, to.1));
                let words = self.content.words(self.panel, row, point);
                marks.push(ValueMark { place: middle, words });
            }
        }
        Ok(marks)
    }

    fn cell(
        &self,
        canvas: &mut Canvas<'_>,
        point: &Point<'_>,
        from: (i32, i32),
        to: (i32, i32),
    ) -> Result<(), ChartError> {
        let colour = self.scale.colour(point.mean);
        // A line of paper between cells.
        let gap = PIXEL / 2;
        let corners = [(from.0 + gap, to.1 + gap), (to.0 - gap, from.1 - gap)];
        canvas.fill_rectangle(corners, self.scale.colours()[colour])?;
        let unsure = if self.scale.is_about_100 && holds_100(point) { "~" } else { "" };
        let figure = format!("{unsure}{}", fixed(point.mean, self.content.decimals.min(1)));
        let has_room = width_px(&figure, FIGURE_PX)? + 4 <= (to.0 - from.0) / PIXEL
            && (from.1 - to.1) / PIXEL >= FIGURE_PX + 3;
        if has_room {
            let middle = (i32::midpoint(from.0, to.0), i32::midpoint(from.1, to.1));
            let style = TextStyle::new(FIGURE_PX, HPos::Center, VPos::Center);
            canvas.text(&figure, middle, style.coloured(self.scale.ink(colour)))?;
        }
        Ok(())
    }
}

/// Draws the colours in a row, with the figures at its ends and in the middle.
fn draw_scale(
    canvas: &mut Canvas<'_>,
    content: &Content<'_>,
    scale: &Scale,
    top_px: i32,
) -> Result<(), ChartError> {
    let colours = scale.colours();
    let left_px = SIDE_PX + 2;
    for (number, colour) in colours.iter().enumerate() {
        let from_px = left_px + BOX_PX * to_px(number);
        let corners = [(from_px, top_px), (from_px + BOX_PX, top_px + 14)];
        let corners = corners.map(|(x, y)| (x * PIXEL, y * PIXEL));
        canvas.fill_rectangle(corners, *colour)?;
    }
    for share in [0.0, 0.5, 1.0] {
        let words = fixed(scale.figure(share), content.decimals.min(1));
        let wide_px = width_px(&words, 12)?;
        let along_px = (f64::from(BOX_PX * to_px(colours.len())) * share) as i32;
        let x_px = left_px + along_px - (f64::from(wide_px) * share) as i32;
        text(canvas, &words, (x_px, top_px + 19), 12, VPos::Top)?;
    }
    let right_px = left_px + BOX_PX * to_px(colours.len()) + 14;
    // The ends of the other scale are the lowest and the highest figure.
    let mirrored = if scale.is_about_100 { "; the scale is mirrored about 100 %" } else { "" };
    let words = format!("{}{mirrored}", content.label());
    text(canvas, &words, (right_px, top_px + 7), 12, VPos::Center)
}
