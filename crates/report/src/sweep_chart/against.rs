//! One figure against another, as response time against throughput: a point for each value of an axis, joined in order.

use std::ops::Range;

use crate::axis::Axis;
use crate::canvas::{self, Area, Canvas, HPos, PIXEL, TextStyle, VPos, to_px, width_px};
use crate::chart::{ChartError, ChartStyle};
use crate::legend::Sample;
use crate::marker::Appearance;
use crate::plot::{Labelled, Plot};
use crate::sheet::Margins;
use crate::sweep_chart::content::{Content, Panel, Point};
use crate::sweep_chart::lines::HEIGHTS_PX;
use crate::sweep_chart::scale::FigureAxis;
use crate::sweep_chart::{Names, below_heading, chart_px, columns, grid, sheet};
use crate::value_mark::ValueMark;

/// Size of the words beside points, and the room that a point takes to each side.
const WORDS_PX: i32 = 12;
const POINT_PX: i32 = 6;

pub(super) fn draw(content: &Content<'_>, style: ChartStyle) -> Result<String, ChartError> {
    let count = content.panels.len();
    let columns = columns(count);
    let height_px = HEIGHTS_PX[columns - 1];
    let names = Names::of(content, style)?;
    let plot_px = height_px * to_px(count.div_ceil(columns));
    let axes = Axes { across: FigureAxis::across(content), up: FigureAxis::of(content) };
    let sheet = sheet(content, style, axes.note(), plot_px + names.height_px())?;
    sheet.draw(|canvas, margins| {
        let areas = grid(count, columns, chart_px(style), height_px, margins.top_px);
        let mut marks = Vec::new();
        for (panel, area) in content.panels.iter().zip(areas) {
            let one = OnePanel { content, panel, axes: &axes, is_alone: count == 1 };
            marks.extend(one.draw(canvas, area)?);
        }
        names.draw(canvas, margins.top_px + plot_px, Sample::Filled)?;
        Ok(marks)
    })
}

/// The axes, the same in all panels.
struct Axes {
    across: FigureAxis,
    up: FigureAxis,
}

impl Axes {
    fn note(&self) -> Option<String> {
        let notes = [self.across.note(), self.up.note()];
        let mut notes: Vec<String> = notes.into_iter().flatten().collect();
        notes.dedup();
        (!notes.is_empty()).then(|| notes.join(" "))
    }
}

struct OnePanel<'a> {
    content: &'a Content<'a>,
    panel: &'a Panel<'a>,
    axes: &'a Axes,
    is_alone: bool,
}

impl OnePanel<'_> {
    fn draw(&self, canvas: &mut Canvas<'_>, area: Area) -> Result<Vec<ValueMark>, ChartError> {
        let below = below_heading(canvas, area, &self.panel.heading)?;
        let ticks = if self.is_alone { 11 } else { 6 };
        let label = |axis: &FigureAxis| axis.with_ticks(ticks);
        let words = self.content.across.as_ref().map_or_else(String::new, |across| across.words());
        let across =
            Labelled { axis: label(&self.axes.across), label: &Axis::format, words: &words };
        let up_words = self.content.label();
        let up = Labelled { axis: label(&self.axes.up), label: &Axis::format, words: &up_words };
        let margins = Margins { top_px: 8, legend_px: -8 };
        let plot = Plot::begin(canvas, below, &margins, across, up, &[])?;
        let place =
            |(x, y): (f64, f64)| plot.place((self.axes.across.within(x), self.axes.up.within(y)));
        let mut marks = Vec::new();
        let mut labels = Labels { panel: self.panel, taken: Vec::new() };
        for (number, points) in self.panel.series.iter().enumerate() {
            let appearance = Appearance::of(number);
            let placed: Vec<canvas::Point> = points
                .iter()
                .filter_map(|point| Some(place((point.across?.mean, point.mean))))
                .collect();
            bars(canvas, appearance, points, &place)?;
            if placed.len() > 1 {
                appearance.line(canvas, placed.clone(), PIXEL)?;
            }
            labels.taken.extend(placed.iter().map(|at| around(*at, POINT_PX * PIXEL)));
            marks.extend(points.iter().zip(&placed).map(|(point, at)| ValueMark {
                place: *at,
                words: self.content.words(self.panel, number, point),
            }));
        }
        for (number, points) in self.panel.series.iter().enumerate() {
            for point in points {
                let Some(across) = point.across else { continue };
                let at = place((across.mean, point.mean));
                Appearance::of(number).simulated(canvas, at, false, PIXEL)?;
                labels.beside(canvas, point, at)?;
            }
        }
        Ok(marks)
    }
}

/// Draws the intervals of both figures.
fn bars(
    canvas: &mut Canvas<'_>,
    appearance: Appearance,
    points: &[Point<'_>],
    place: &impl Fn((f64, f64)) -> canvas::Point,
) -> Result<(), ChartError> {
    let stroke = appearance.colour.stroke(PIXEL);
    for point in points {
        let Some(across) = point.across else { continue };
        if let Some(ends) = point.row.interval {
            canvas.polyline(&ends.map(|end| place((across.mean, end))), stroke)?;
        }
        if let Some(ends) = across.row.interval {
            canvas.polyline(&ends.map(|end| place((end, point.mean))), stroke)?;
        }
    }
    Ok(())
}

/// A rectangle, in drawn units.
type Room = [Range<i32>; 2];

fn around((x, y): canvas::Point, half: i32) -> Room {
    [x - half..x + half, y - half..y + half]
}

/// What the points are of, beside those that leave room for it.
struct Labels<'a> {
    panel: &'a Panel<'a>,
    taken: Vec<Room>,
}

impl Labels<'_> {
    fn beside(
        &mut self,
        canvas: &mut Canvas<'_>,
        point: &Point<'_>,
        (x, y): canvas::Point,
    ) -> Result<(), ChartError> {
        let Some(words) = self.panel.x.labels.get(point.place) else { return Ok(()) };
        let (half, height) = (width_px(words, WORDS_PX)? * PIXEL / 2, WORDS_PX * PIXEL);
        let (across, up) = (half + (POINT_PX + 1) * PIXEL, height / 2 + (POINT_PX + 1) * PIXEL);
        // To the left above, where a rising line leaves room, or to the right below.
        let places = [(x - across, y - up), (x + across, y + up)];
        let room_at = |(x, y): canvas::Point| [x - half..x + half, y - height / 2..y + height / 2];
        let is_free = |place: &canvas::Point| {
            let room = room_at(*place);
            let meets = |other: &Room| {
                room.iter().zip(other).all(|(one, it)| one.start < it.end && it.start < one.end)
            };
            !self.taken.iter().any(meets)
        };
        let Some(place) = places.into_iter().find(is_free) else { return Ok(()) };
        self.taken.push(room_at(place));
        canvas.text(words, place, TextStyle::new(WORDS_PX, HPos::Center, VPos::Center))
    }
}
