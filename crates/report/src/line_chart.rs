//! Charts of lines as SVG: any figure by any other.

use crate::axis::Axis;
use crate::bands::Band;
use crate::canvas::{Canvas, PIXEL, to_px};
use crate::chart::{ChartError, ChartStyle};
use crate::legend::{self, Sample};
use crate::marker::Appearance;
use crate::plot::{Labelled, Plot};
use crate::sheet::{Margins, Sheet};
use crate::value_mark::ValueMark;

/// A line with more points than this has no markers, since they would cover it.
const MOST_MARKERS: usize = 24;

/// A chart of lines.
pub(crate) struct LineChart {
    pub(crate) title: &'static str,
    pub(crate) subtitles: Vec<String>,
    pub(crate) across: Across,
    pub(crate) up: Up,
    pub(crate) lines: Vec<Line>,
    /// Columns of the legend, which is filled row by row. Fewer are used if there is no room for them.
    pub(crate) legend_columns: usize,
}

/// The horizontal axis.
pub(crate) enum Across {
    /// From zero.
    FromZero(&'static str),
    /// Logarithmic, with a labelled tick at each of these.
    Doubling(&'static str, Vec<(f64, String)>),
    /// Segments, by number, and the phases that they are in.
    Segments(String, Vec<Band>),
}

/// The vertical axis.
pub(crate) enum Up {
    /// From zero.
    FromZero(&'static str),
    /// From zero to a figure that no value exceeds.
    FromZeroTo(&'static str, f64),
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
    pub(crate) fn draw(&self, style: ChartStyle) -> Result<String, ChartError> {
        style.size.check()?;
        // The legend is laid out with it.
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let drawable = |point: &(f64, f64)| {
            let (x, y) = self.scaled(*point);
            // The logarithm of zero is not finite.
            x.is_finite() && y.is_finite() && point.0 >= 0.0 && point.1 >= 0.0
        };
        if points().next().is_none() || !points().all(drawable) {
            return Err(ChartError::NoFigures { title: self.title });
        }
        let legend = self.legend(to_px(style.size.width_px as usize))?;
        let sheet = Sheet::new(style, self.title, self.subtitles.clone(), legend.rows())?;
        sheet.draw(|canvas, margins| {
            let marks = self.plot(canvas, margins)?;
            legend.draw(canvas, to_px(style.size.height_px as usize) - margins.legend_px)?;
            Ok(marks)
        })
    }

    /// Returns the position of a value on the horizontal axis, and on the vertical axis.
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
            Across::Segments(..) => {
                let segments = || points().map(|point| point.0 as u32);
                let first = segments().min().unwrap_or_default();
                Axis::of_segments(first, segments().max().unwrap_or_default())
            }
        };
        let top = highest(&mut points().map(|point| point.1));
        let up = match self.up {
            Up::FromZero(_) => Axis::from_zero_to(top),
            Up::FromZeroTo(_, highest) => Axis::from_zero_to(highest),
            Up::Logarithmic(_) => {
                let bottom = points().map(|point| point.1).fold(top, f64::min);
                Axis::logarithms_around(bottom, top)
            }
        };
        (across, up)
    }

    fn plot(
        &self,
        canvas: &mut Canvas<'_>,
        margins: &Margins,
    ) -> Result<Vec<ValueMark>, ChartError> {
        let (across, up) = self.axes();
        let across = Labelled {
            axis: across,
            label: &|value| match &self.across {
                Across::FromZero(_) | Across::Segments(..) => Axis::format(value),
                Across::Doubling(_, ticks) => {
                    let near = |tick: &&(f64, String)| (tick.0.log2() - value).abs() < 1e-9;
                    ticks.iter().find(near).map(|(_, label)| label.clone()).unwrap_or_default()
                }
            },
            words: match &self.across {
                Across::FromZero(words) | Across::Doubling(words, _) => words,
                Across::Segments(words, _) => words,
            },
        };
        let up = Labelled {
            axis: up,
            label: &|value| match self.up {
                Up::FromZero(_) | Up::FromZeroTo(..) => Axis::format(value),
                Up::Logarithmic(_) => Axis::format(10_f64.powf(value)),
            },
            words: match self.up {
                Up::FromZero(words) | Up::FromZeroTo(words, _) | Up::Logarithmic(words) => words,
            },
        };
        let bands = self.bands();
        let plot = Plot::begin(canvas, canvas.area(), margins, across, up, bands)?;
        for line in &self.lines {
            for piece in Band::cut(bands, &line.points) {
                let places = piece.iter().map(|point| plot.place(self.scaled(*point)));
                line.appearance.line(canvas, places.collect(), PIXEL)?;
            }
        }
        let by_figure = self.marks_by_figure();
        let mut marks = Vec::new();
        for line in &self.lines {
            let marked = if line.has_markers() { line.points.clone() } else { self.alone(line) };
            for point in &marked {
                let place = plot.place(self.scaled(*point));
                let appearance = line.marked(by_figure);
                appearance.simulated(canvas, place, line.hollow, PIXEL)?;
                marks.push(ValueMark { place, words: self.words(line, *point) });
            }
        }
        Ok(marks)
    }

    fn bands(&self) -> &[Band] {
        match &self.across {
            Across::Segments(_, bands) => bands,
            Across::FromZero(_) | Across::Doubling(..) => &[],
        }
    }

    /// Returns the points of a line that are alone in their phase: nothing but a marker shows them.
    fn alone(&self, line: &Line) -> Vec<(f64, f64)> {
        let pieces = Band::cut(self.bands(), &line.points).into_iter();
        pieces.filter(|piece| piece.len() == 1).flatten().collect()
    }

    /// Returns whether markers have to tell the figures of an array apart, since some have no line with dashes.
    fn marks_by_figure(&self) -> bool {
        self.lines.iter().any(|line| line.appearance.is_further_figure())
            && self.lines.iter().any(|line| !self.alone(line).is_empty())
    }

    /// Returns the description of a point, shown under the pointer.
    fn words(&self, line: &Line, (x, y): (f64, f64)) -> String {
        let across = match &self.across {
            Across::FromZero(_) => Axis::format(x),
            Across::Segments(..) => format!("segment {}", Axis::format(x)),
            Across::Doubling(_, ticks) => {
                let tick = ticks.iter().find(|tick| tick.0 == x);
                tick.map_or_else(|| Axis::format(x), |(_, label)| label.clone())
            }
        };
        format!("{}, {across}: {}", line.name, Axis::format(y))
    }

    /// Returns the lines' names, in as many columns as are wanted and fit. A drive's single line needs no name: the
    /// subtitle gives it.
    fn legend(&self, chart_px: i32) -> Result<Legend<'_>, ChartError> {
        let named = self.lines.len() > 1 || matches!(self.across, Across::Segments(..));
        let lines = if named { &self.lines[..] } else { &[] };
        let widths = lines.iter().map(|line| legend::entry_px(&line.name));
        let widths = widths.collect::<Result<Vec<i32>, _>>()?;
        // Columns need not be equal: each is as wide as its widest name.
        let in_columns = |columns: usize| -> Vec<i32> {
            let of = |column| widths.iter().skip(column).step_by(columns).copied().max();
            (0..columns).filter_map(of).collect()
        };
        let fits = |columns: &usize| {
            legend::LEFT_PX + in_columns(*columns).into_iter().sum::<i32>() <= chart_px
        };
        let most = (1..=self.legend_columns).rev().find(fits).unwrap_or(1);
        // Avoids a row with a single name where the names would spread evenly.
        let rows = lines.len().div_ceil(most).max(1);
        let columns = lines.len().div_ceil(rows).max(1);
        let columns = if fits(&columns) { columns } else { most };
        let by_figure = self.marks_by_figure();
        let entry = |line| {
            let has_marks = Line::has_markers(line) || !self.alone(line).is_empty();
            let sample = match has_marks {
                true if line.hollow => Sample::Hollow,
                true => Sample::Filled,
                false => Sample::Line,
            };
            (line, line.marked(by_figure), sample)
        };
        let entries = lines.iter().map(entry).collect();
        Ok(Legend { entries, columns_px: in_columns(columns), columns })
    }
}

/// The names below the plot, row by row.
struct Legend<'a> {
    entries: Vec<(&'a Line, Appearance, Sample)>,
    columns: usize,
    /// Width of each column.
    columns_px: Vec<i32>,
}

impl Legend<'_> {
    fn rows(&self) -> usize {
        self.entries.len().div_ceil(self.columns)
    }

    fn draw(&self, canvas: &mut Canvas<'_>, top_px: i32) -> Result<(), ChartError> {
        for (position, (line, appearance, sample)) in self.entries.iter().enumerate() {
            let (row, column) = (position / self.columns, position % self.columns);
            let x_px = legend::LEFT_PX + self.columns_px.iter().take(column).sum::<i32>();
            let middle_px = top_px + legend::ROW_PX * to_px(row) + legend::ROW_PX / 2;
            legend::entry(canvas, *appearance, *sample, &line.name, (x_px, middle_px))?;
        }
        Ok(())
    }
}

impl Line {
    fn has_markers(&self) -> bool {
        self.points.len() <= MOST_MARKERS
    }

    /// Returns its appearance, with markers that tell figures and not arrays apart if `by_figure`.
    fn marked(&self, by_figure: bool) -> Appearance {
        if by_figure { self.appearance.marked_by_figure() } else { self.appearance }
    }
}
