//! Dots with error bars: a row for each value of an axis, figures from left to right.

use crate::axis::Axis;
use crate::canvas::{Area, Canvas, PIXEL, to_px, width_px};
use crate::chart::{ChartError, ChartStyle};
use crate::legend::Sample;
use crate::marker::Appearance;
use crate::plot::{ACROSS_LABELS_PX, Labelled, Plot, SIDE_PX};
use crate::sheet::Margins;
use crate::sweep_chart::content::{Content, Panel};
use crate::sweep_chart::scale::FigureAxis;
use crate::sweep_chart::{HEADING_PX, Names, below_heading, chart_px, cut, sheet};
use crate::value_mark::ValueMark;

/// Widest labels of rows.
const MOST_LABEL_PX: i32 = 300;
/// Distance between the dots of one row, and least height of a row.
const DOT_PX: i32 = 13;
const ROW_PX: i32 = 26;

pub(super) fn draw(content: &Content<'_>, style: ChartStyle) -> Result<String, ChartError> {
    let names = Names::of(content, style)?;
    let figures = FigureAxis::of(content);
    let row_px = ROW_PX.max(DOT_PX * to_px(content.series.len()) + 8);
    let rows = |panel: &Panel<'_>| panel.x.labels.len().max(1);
    let height_px = |panel: &Panel<'_>| {
        let heading_px = if panel.heading.is_empty() { 0 } else { HEADING_PX };
        heading_px + row_px * to_px(rows(panel)) + ACROSS_LABELS_PX + SIDE_PX + 12
    };
    let all_px: i32 = content.panels.iter().map(height_px).sum();
    let mut label_px = 0;
    for label in content.panels.iter().flat_map(|panel| &panel.x.labels) {
        label_px = label_px.max(width_px(label, 12)? + 14);
    }
    let label_px = label_px.min(MOST_LABEL_PX);
    let sheet = sheet(content, style, figures.note(), all_px + names.height_px())?;
    sheet.draw(|canvas, margins| {
        let mut top_px = margins.top_px;
        let mut marks = Vec::new();
        for panel in &content.panels {
            let (width_px, height_px) = (chart_px(style), height_px(panel));
            let area = Area { left_px: 0, top_px, width_px, height_px };
            top_px += height_px;
            let area = below_heading(canvas, area, &panel.heading)?;
            let labels = panel.x.labels.iter().map(|label| cut(label, label_px - 12, 12));
            let labels = labels.collect::<Result<Vec<String>, _>>()?;
            marks.extend(rows_of(canvas, area, content, panel, &figures, &labels, label_px)?);
        }
        names.draw(canvas, top_px, Sample::Dot)?;
        Ok(marks)
    })
}

fn rows_of(
    canvas: &mut Canvas<'_>,
    area: Area,
    content: &Content<'_>,
    panel: &Panel<'_>,
    figures: &FigureAxis,
    labels: &[String],
    label_px: i32,
) -> Result<Vec<ValueMark>, ChartError> {
    // The first row is at the top.
    let last = labels.len().saturating_sub(1) as f64;
    let label = content.label();
    let across = Labelled { axis: figures.axis.clone(), label: &Axis::format, words: &label };
    let up = Labelled {
        axis: Axis::of_range(-0.5..last + 0.5, (0..labels.len()).map(|at| at as f64).collect()),
        label: &|position| labels.get((last - position) as usize).cloned().unwrap_or_default(),
        words: "",
    };
    let margins = Margins { top_px: 4, legend_px: 8 - SIDE_PX };
    let plot = Plot::begin_beside(canvas, area, &margins, across, up, &[], label_px)?;
    let mut marks = Vec::new();
    for (number, points) in panel.series.iter().enumerate() {
        let appearance = Appearance::of(number);
        let below_px = DOT_PX * (2 * to_px(number) - to_px(panel.series.len()) + 1) / 2;
        for point in points {
            let place = |figure: f64| {
                let (x, y) = plot.place((figures.within(figure), last - point.place as f64));
                (x, y + below_px * PIXEL)
            };
            if let Some(interval) = point.row.interval {
                canvas.polyline(&interval.map(place), appearance.colour.stroke(2 * PIXEL))?;
            }
            appearance.simulated(canvas, place(point.mean), false, PIXEL)?;
            let words = content.words(panel, number, point);
            marks.push(ValueMark { place: place(point.mean), words });
        }
    }
    Ok(marks)
}
