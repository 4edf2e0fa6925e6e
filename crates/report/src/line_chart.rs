//! Charts of lines as SVG: any figure by any other.

use crate::axis::Axis;
use crate::chart::{
    ChartError, ChartSize, GRID, INK, Margins, PIXEL, Sheet, register_the_font, style, to_px,
};
use crate::legend::{self, Sample};
use crate::marker::{Appearance, Canvas};
use plotters::chart::ChartBuilder;
use plotters::coord::ranged1d::ValueFormatter;
use plotters::style::Color;

/// A line of more points than this has no markers: they would cover it.
const MOST_MARKERS: usize = 24;

/// A chart of lines.
pub(crate) struct LineChart {
    pub(crate) title: &'static str,
    pub(crate) subtitles: Vec<String>,
    pub(crate) across: Across,
    pub(crate) up: Up,
    pub(crate) lines: Vec<Line>,
    /// Columns of the legend, which goes row by row; fewer if there is no room for so many.
    pub(crate) legend_columns: usize,
}

/// The axis across.
pub(crate) enum Across {
    /// From zero.
    FromZero(&'static str),
    /// Logarithmic, with a tick and what it says at each of these.
    Doubling(&'static str, Vec<(f64, String)>),
}

/// The axis upward.
pub(crate) enum Up {
    /// From zero.
    FromZero(&'static str),
    /// Logarithmic.
    Logarithmic(&'static str),
}

/// A line and its name in the legend.
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) appearance: Appearance,
    /// Whether its markers are hollow.
    pub(crate) hollow: bool,
    pub(crate) points: Vec<(f64, f64)>,
}

impl LineChart {
    pub(crate) fn draw(&self, size: ChartSize) -> Result<String, ChartError> {
        size.check()?;
        register_the_font()?;
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let drawable = |point: &(f64, f64)| {
            let (x, y) = self.scaled(*point);
            // The logarithm of zero is not finite.
            x.is_finite() && y.is_finite() && point.0 >= 0.0 && point.1 >= 0.0
        };
        if points().next().is_none() || !points().all(drawable) {
            return Err(ChartError::NoFigures { title: self.title });
        }
        let legend = self.legend(to_px(size.width_px as usize))?;
        let sheet = Sheet {
            size,
            title: self.title,
            subtitles: self.subtitles.clone(),
            legend_rows: legend.rows(),
        };
        sheet.draw(|canvas, margins| {
            self.plot(canvas, margins)?;
            legend.draw(canvas, to_px(size.height_px as usize) - margins.legend_px)
        })
    }

    /// Where a value is on the axis across, and on the axis upward.
    fn scaled(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let x = if matches!(self.across, Across::Doubling(..)) { x.log2() } else { x };
        let y = if matches!(self.up, Up::Logarithmic(_)) { y.log10() } else { y };
        (x, y)
    }

    fn axes(&self) -> (Axis, Axis) {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let highest = |figures: &mut dyn Iterator<Item = f64>| figures.fold(0.0, f64::max);
        let across = match &self.across {
            Across::FromZero(_) => {
                Axis::from_zero_to_just(highest(&mut points().map(|point| point.0)))
            }
            Across::Doubling(_, ticks) => {
                Axis::of_ticks(ticks.iter().map(|(value, _)| value.log2()).collect())
            }
        };
        let top = highest(&mut points().map(|point| point.1));
        let up = match self.up {
            Up::FromZero(_) => Axis::from_zero_to(top),
            Up::Logarithmic(_) => {
                let bottom = points().map(|point| point.1).fold(top, f64::min);
                Axis::logarithms_around(bottom, top)
            }
        };
        (across, up)
    }

    fn plot(&self, canvas: &Canvas<'_>, margins: &Margins) -> Result<(), ChartError> {
        let (across, up) = self.axes();
        let mut chart = ChartBuilder::on(canvas)
            .margin_top(margins.top_px * PIXEL)
            .margin_bottom((margins.legend_px + 14) * PIXEL)
            .margin_left(14 * PIXEL)
            .margin_right(32 * PIXEL)
            .x_label_area_size(42 * PIXEL)
            .y_label_area_size(68 * PIXEL)
            .build_cartesian_2d(across, up)
            .map_err(ChartError::drawing)?;
        let (across_words, up_words) = (
            match self.across {
                Across::FromZero(words) | Across::Doubling(words, _) => words,
            },
            match self.up {
                Up::FromZero(words) | Up::Logarithmic(words) => words,
            },
        );
        let x_label = |value: &f64| match &self.across {
            Across::FromZero(_) => Axis::format(value),
            Across::Doubling(_, ticks) => {
                let near = |tick: &&(f64, String)| (tick.0.log2() - value).abs() < 1e-9;
                ticks.iter().find(near).map(|(_, label)| label.clone()).unwrap_or_default()
            }
        };
        let y_label = |value: &f64| match self.up {
            Up::FromZero(_) => Axis::format(value),
            Up::Logarithmic(_) => Axis::format(&10_f64.powf(*value)),
        };
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(GRID.stroke_width(0))
            .max_light_lines(0)
            .bold_line_style(GRID.stroke_width(PIXEL.unsigned_abs()))
            .axis_style(INK.stroke_width(PIXEL.unsigned_abs()))
            .set_all_tick_mark_size(5 * PIXEL)
            .label_style(style(12))
            .axis_desc_style(style(13))
            .x_label_formatter(&x_label)
            .y_label_formatter(&y_label)
            .x_desc(across_words)
            .y_desc(up_words)
            .draw()
            .map_err(ChartError::drawing)?;
        for line in &self.lines {
            let places = line.points.iter().map(|point| chart.backend_coord(&self.scaled(*point)));
            line.appearance.line(canvas, places.collect(), PIXEL)?;
        }
        for line in self.lines.iter().filter(|line| line.has_markers()) {
            for point in &line.points {
                let place = chart.backend_coord(&self.scaled(*point));
                line.appearance.simulated(canvas, place, line.hollow, PIXEL)?;
            }
        }
        Ok(())
    }

    /// The lines' names, in as many columns as are wanted and fit. A line alone needs none: the subtitle names it.
    fn legend(&self, chart_px: i32) -> Result<Legend<'_>, ChartError> {
        let lines = if self.lines.len() > 1 { &self.lines[..] } else { &[] };
        let widths = lines.iter().map(|line| legend::entry_px(&line.name));
        let widths = widths.collect::<Result<Vec<i32>, _>>()?;
        // What one column takes, another need not: each is as wide as its widest.
        let in_columns = |columns: usize| -> Vec<i32> {
            let of = |column| widths.iter().skip(column).step_by(columns).copied().max();
            (0..columns).filter_map(of).collect()
        };
        let fits = |columns: &usize| {
            legend::LEFT_PX + in_columns(*columns).into_iter().sum::<i32>() <= chart_px
        };
        let most = (1..=self.legend_columns).rev().find(fits).unwrap_or(1);
        // No row with a name by itself where the names would spread evenly.
        let rows = lines.len().div_ceil(most).max(1);
        let columns = lines.len().div_ceil(rows).max(1);
        let columns = if fits(&columns) { columns } else { most };
        Ok(Legend { lines, columns_px: in_columns(columns), columns })
    }
}

/// The names below the plot, row by row.
struct Legend<'a> {
    lines: &'a [Line],
    columns: usize,
    /// Width of each column.
    columns_px: Vec<i32>,
}

impl Legend<'_> {
    fn rows(&self) -> usize {
        self.lines.len().div_ceil(self.columns)
    }

    fn draw(&self, canvas: &Canvas<'_>, top_px: i32) -> Result<(), ChartError> {
        for (position, line) in self.lines.iter().enumerate() {
            let (row, column) = (position / self.columns, position % self.columns);
            let x_px = legend::LEFT_PX + self.columns_px.iter().take(column).sum::<i32>();
            let middle_px = top_px + legend::ROW_PX * to_px(row) + legend::ROW_PX / 2;
            let sample = match line.has_markers() {
                true if line.hollow => Sample::Hollow,
                true => Sample::Filled,
                false => Sample::Line,
            };
            legend::entry(canvas, line.appearance, sample, &line.name, (x_px, middle_px))?;
        }
        Ok(())
    }
}

impl Line {
    fn has_markers(&self) -> bool {
        self.points.len() <= MOST_MARKERS
    }
}
