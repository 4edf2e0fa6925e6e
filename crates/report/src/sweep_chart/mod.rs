//! Charts of a sweep as SVG, chosen by what its axes are.
//!
//! - One numeric axis: lines with bands, a line for each array. With a second axis, lines differ by that; with two
//!   numeric axes of many values, a heat map.
//! - Axes of words: dots with error bars.
//! - A further axis: a panel for each of its values.
//! - A Latin hypercube, or each value beside the first ones of all other axes: a panel for each axis.
//! - Figures by segment: segments along x.
//! - An axis of load: response time against throughput too.

mod against;
mod content;
mod dots;
mod heat;
mod lines;
mod plan;
mod scale;

use crate::canvas::{Area, Canvas, VPos, text, to_px, width_px};
use crate::chart::{ChartError, ChartStyle};
use crate::legend::{self, Sample};
use crate::marker::Appearance;
use crate::sheet::Sheet;
use crate::sweep_design::SweepDesign;
use content::Content;
use plan::plans;
use strewn_results::{Sweep, SweepChartKind, SweepChartSpec};

/// Room for the heading of a panel.
const HEADING_PX: i32 = 20;
/// Room to the left of words.
const SIDE_PX: i32 = 16;

/// A chart of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepChart {
    /// A name for its file, without an ending; another for each chart of a sweep.
    pub file_stem: String,
    /// Its title.
    pub title: String,
    /// The drawing.
    pub svg: String,
}

/// Draws the charts of a sweep: those that `specs` ask for or, if there are none, one or more for each quantity, as its
/// axes have it. Charts without a figure are left out. The height follows from the contents.
///
/// # Errors
///
/// If the width is out of bounds, or more has to be drawn than fits.
pub fn sweep_charts(
    sweep: &Sweep,
    specs: &[SweepChartSpec],
    style: ChartStyle,
) -> Result<Vec<SweepChart>, ChartError> {
    style.size.check()?;
    // Words are measured with it.
    let design = SweepDesign::of(sweep);
    let mut charts: Vec<SweepChart> = Vec::new();
    for plan in plans(sweep, &design, specs) {
        let Some(content) = Content::of(sweep, &design, &plan) else { continue };
        let svg = match plan.kind {
            _ if content.across.is_some() => against::draw(&content, style)?,
            SweepChartKind::Lines => lines::draw(&content, style)?,
            SweepChartKind::Dots => dots::draw(&content, style)?,
            SweepChartKind::HeatMap => heat::draw(&content, style)?,
        };
        let stem = file_stem(&plan.name);
        let is_taken = |stem: &str| charts.iter().any(|chart| chart.file_stem == stem);
        let numbered = (2..).map(|number| format!("{stem}-{number}"));
        let file_stem = std::iter::once(stem.clone()).chain(numbered).find(|stem| !is_taken(stem));
        charts.push(SweepChart {
            file_stem: file_stem.unwrap_or(stem),
            title: plan.title.clone(),
            svg,
        });
    }
    Ok(charts)
}

/// Returns a name for a file: letters and digits in lower case, joined by hyphens.
fn file_stem(name: &str) -> String {
    let mut stem = String::new();
    for letter in name.chars().flat_map(char::to_lowercase) {
        match letter {
            'a'..='z' | '0'..='9' => stem.push(letter),
            '\'' => {}
            _ if stem.is_empty() || stem.ends_with('-') => {}
            _ => stem.push('-'),
        }
    }
    // File systems allow 255 bytes, and people read fewer.
    stem.truncate(80);
    let stem = stem.trim_end_matches('-');
    if stem.is_empty() { "chart".to_owned() } else { stem.to_owned() }
}

/// Lays panels out in rows of up to this many, below `top_px`.
fn grid(count: usize, columns: usize, width_px: i32, height_px: i32, top_px: i32) -> Vec<Area> {
    let width_px = width_px / to_px(columns);
    let area = |position: usize| Area {
        left_px: width_px * to_px(position % columns),
        top_px: top_px + height_px * to_px(position / columns),
        width_px,
        height_px,
    };
    (0..count).map(area).collect()
}

/// Writes the heading of a panel, and returns the area below it.
fn below_heading(canvas: &mut Canvas<'_>, area: Area, heading: &str) -> Result<Area, ChartError> {
    if heading.is_empty() {
        return Ok(area);
    }
    let words = cut(heading, area.width_px - 2 * SIDE_PX, 13)?;
    text(canvas, &words, (area.left_px + SIDE_PX, area.top_px + 2), 13, VPos::Top)?;
    Ok(Area { top_px: area.top_px + HEADING_PX, height_px: area.height_px - HEADING_PX, ..area })
}

/// Returns how many panels are side by side.
const fn columns(panels: usize) -> usize {
    match panels {
        0 | 1 => 1,
        2..=4 => 2,
        _ => 3,
    }
}

/// Cuts words to a width.
fn cut(words: &str, room_px: i32, size_px: i32) -> Result<String, ChartError> {
    if width_px(words, size_px)? <= room_px {
        return Ok(words.to_owned());
    }
    let mut letters: Vec<char> = words.chars().collect();
    while letters.pop().is_some() {
        let shorter: String = letters.iter().chain(['…'].iter()).collect();
        if width_px(&shorter, size_px)? <= room_px {
            return Ok(shorter);
        }
    }
    Ok(String::new())
}

/// A sheet around panels, with its title cut to the width.
fn sheet(
    content: &Content<'_>,
    style: ChartStyle,
    note: Option<String>,
    plot_px: i32,
) -> Result<Sheet, ChartError> {
    let room_px = chart_px(style) - 2 * SIDE_PX;
    let title = cut(&content.plan.title, room_px, 18)?;
    let mut subtitles = content.subtitles.clone();
    match (subtitles.last_mut(), note) {
        (Some(last), Some(note)) => *last = format!("{last} {note}"),
        (None, Some(note)) => subtitles.push(note),
        (_, None) => {}
    }
    Sheet::around(style, title, subtitles, plot_px)
}

fn chart_px(style: ChartStyle) -> i32 {
    i32::try_from(style.size.width_px).unwrap_or(i32::MAX)
}

/// The names of the series below the panels, in rows.
struct Names {
    /// What they are values of; empty for figures.
    axis: String,
    /// Each with its series, its left, and its row.
    entries: Vec<(usize, String, i32, usize)>,
}

impl Names {
    fn of(content: &Content<'_>, style: ChartStyle) -> Result<Self, ChartError> {
        let room_px = chart_px(style);
        let axis = cut(&content.lines_name, room_px / 3, 12)?;
        let first_px =
            legend::LEFT_PX + if axis.is_empty() { 0 } else { width_px(&axis, 12)? + 18 };
        let (mut left_px, mut row) = (first_px, 0);
        let mut entries = Vec::new();
        for (number, name) in content.series.iter().enumerate() {
            if name.is_empty() {
                continue;
            }
            let name = cut(name, room_px - first_px - 90, 12)?;
            let wide_px = legend::entry_px(&name)?;
            if left_px > first_px && left_px + wide_px > room_px {
                (left_px, row) = (first_px, row + 1);
            }
            entries.push((number, name, left_px, row));
            left_px += wide_px;
        }
        Ok(Self { axis, entries })
    }

    fn height_px(&self) -> i32 {
        let rows = self.entries.last().map_or(0, |(.., row)| row + 1);
        legend::ROW_PX * to_px(rows) + 6
    }

    fn draw(&self, canvas: &mut Canvas<'_>, top_px: i32, sample: Sample) -> Result<(), ChartError> {
        let first_px = top_px + legend::ROW_PX / 2;
        text(canvas, &self.axis, (legend::LEFT_PX, first_px), 12, VPos::Center)?;
        for (series, name, left_px, row) in &self.entries {
            let middle_px = top_px + legend::ROW_PX * to_px(*row) + legend::ROW_PX / 2;
            legend::entry(canvas, Appearance::of(*series), sample, name, (*left_px, middle_px))?;
        }
        Ok(())
    }
}
