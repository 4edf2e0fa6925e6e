//! Lines with bands, or points with error bars, over an axis of numbers or words.

use crate::axis::Axis;
use crate::canvas::{self, Area, Canvas, PIXEL, to_px, width_px};
use crate::chart::{ChartError, ChartStyle};
use crate::legend::Sample;
use crate::marker::Appearance;
use crate::plot::{ACROSS_LABELS_PX, Labelled, Plot, RIGHT_PX, SIDE_PX, UP_LABELS_PX};
use crate::sheet::Margins;
use crate::sweep_chart::content::{Content, Panel, Point};
use crate::sweep_chart::scale::{FigureAxis, XAxis};
use crate::sweep_chart::{Names, below_heading, chart_px, columns, grid, sheet};
use crate::value_mark::ValueMark;

/// Heights of a panel: of one, of two to four, of more.
pub(super) const HEIGHTS_PX: [i32; 3] = [400, 280, 230];
/// A series with more points than this has no markers, since they would cover it.
const MOST_MARKERS: usize = 24;

pub(super) fn draw(content: &Content<'_>, style: ChartStyle) -> Result<String, ChartError> {
    let count = content.panels.len();
    let columns = columns(count);
    let height_px = HEIGHTS_PX[columns - 1];
    let names = Names::of(content, style)?;
    let rows = to_px(count.div_ceil(columns));
    let figures = FigureAxis::of(content);
    let sheet = sheet(content, style, figures.note(), height_px * rows + names.height_px())?;
    sheet.draw(|canvas, margins| {
        let areas = grid(count, columns, chart_px(style), height_px, margins.top_px);
        let mut marks = Vec::new();
        for (panel, area) in content.panels.iter().zip(areas) {
            let one = OnePanel { content, panel, figures: &figures, is_alone: count == 1 };
            marks.extend(one.draw(canvas, area)?);
        }
        let sample = if content.plan.joined { Sample::Filled } else { Sample::Dot };
        names.draw(canvas, margins.top_px + height_px * rows, sample)?;
        Ok(marks)
    })
}

struct OnePanel<'a> {
    content: &'a Content<'a>,
    panel: &'a Panel<'a>,
    figures: &'a FigureAxis,
    is_alone: bool,
}

impl OnePanel<'_> {
    fn draw(&self, canvas: &mut Canvas<'_>, area: Area) -> Result<Vec<ValueMark>, ChartError> {
        let below = below_heading(canvas, area, &self.panel.heading)?;
        let plot_px = area.width_px - SIDE_PX - UP_LABELS_PX - RIGHT_PX;
        let x = XAxis::of(&self.panel.x, plot_px)?;
        let label = self.content.label();
        let up_px = area.height_px - ACROSS_LABELS_PX - SIDE_PX - 30;
        let fits = width_px(&label, 13)? <= up_px;
        let ticks = if self.is_alone { 11 } else { 6 };
        let across = Labelled {
            axis: x.axis.clone(),
            label: &|position| x.label(position),
            words: &x.words,
        };
        let up = Labelled {
            axis: self.figures.with_ticks(ticks),
            label: &Axis::format,
            words: if fits { &label } else { &self.content.unit },
        };
        let plot =
            Plot::begin(canvas, below, &Margins { top_px: 8, legend_px: -8 }, across, up, &[])?;
        let place = |point: &Point<'_>, figure: f64| {
            plot.place((x.position(point.place), self.figures.within(figure)))
        };
        let mut marks = Vec::new();
        for (number, points) in self.panel.series.iter().enumerate() {
            let appearance = Appearance::of(number);
            if self.content.plan.joined {
                self.lines(canvas, appearance, points, &place)?;
            } else {
                bars(canvas, appearance, points, &place)?;
            }
        }
        for (number, points) in self.panel.series.iter().enumerate() {
            for point in points {
                let at = place(point, point.mean);
                self.marker(canvas, number, points.len(), at)?;
                let words = self.content.words(self.panel, number, point);
                marks.push(ValueMark { place: at, words });
            }
        }
        Ok(marks)
    }

    fn marker(
        &self,
        canvas: &mut Canvas<'_>,
        series: usize,
        points: usize,
        at: canvas::Point,
    ) -> Result<(), ChartError> {
        let appearance = Appearance::of(series);
        if points <= MOST_MARKERS {
            return appearance.simulated(canvas, at, false, PIXEL);
        }
        if self.content.plan.joined {
            return Ok(());
        }
        canvas.fill_circle(at, 3 * PIXEL, appearance.colour)
    }

    /// Draws bands and lines, which end where a figure is missing.
    fn lines(
        &self,
        canvas: &mut Canvas<'_>,
        appearance: Appearance,
        points: &[Point<'_>],
        place: &impl Fn(&Point<'_>, f64) -> canvas::Point,
    ) -> Result<(), ChartError> {
        for piece in points.chunk_by(|one, next| next.place == one.place + 1) {
            let with_interval = |one: &Point<'_>| one.row.interval.is_some();
            for shaded in piece.chunk_by(|one, next| with_interval(one) == with_interval(next)) {
                let ends = |end: usize| {
                    let of = move |point: &Point<'_>| {
                        let interval = point.row.interval?;
                        Some(place(point, interval[end]))
                    };
                    shaded.iter().filter_map(of)
                };
                let corners: Vec<canvas::Point> = ends(0).chain(ends(1).rev()).collect();
                if shaded.len() > 1 && corners.len() == 2 * shaded.len() {
                    appearance.shade(canvas, corners)?;
                } else {
                    bars(canvas, appearance, shaded, place)?;
                }
            }
            if piece.len() > 1 {
                let line = piece.iter().map(|point| place(point, point.mean)).collect();
                appearance.line(canvas, line, PIXEL)?;
            }
        }
        Ok(())
    }
}

/// Draws the intervals as vertical bars.
fn bars(
    canvas: &mut Canvas<'_>,
    appearance: Appearance,
    points: &[Point<'_>],
    place: &impl Fn(&Point<'_>, f64) -> canvas::Point,
) -> Result<(), ChartError> {
    for point in points {
        let Some(interval) = point.row.interval else { continue };
        let bar = interval.map(|end| place(point, end));
        canvas.polyline(&bar, appearance.colour.stroke(PIXEL))?;
    }
    Ok(())
}
