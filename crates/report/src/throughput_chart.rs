//! Throughput over time, a panel for each array: steady streams, bursts and pauses.

use crate::axis::Axis;
use crate::canvas::{Area, Canvas, PIXEL, VPos, text, to_px};
use crate::chart::{ChartError, ChartStyle};
use crate::marker::Appearance;
use crate::plot::{Labelled, Plot};
use crate::segment_chart::subtitles;
use crate::sheet::{Margins, Sheet};
use crate::value_mark::ValueMark;
use strewn_results::{ArrayResults, MB_PER_MIB, Results, Segment, mib_per_s_on};

/// Fewer samples of an array are no course of time.
const LEAST_SAMPLES: usize = 20;
/// Longer segments are averages of what this chart is to show.
const LONGEST_SEGMENT_S: f64 = 10.0;
/// With more arrays than this, those that are steady are left out.
const MOST_PANELS: usize = 12;
/// An array is steady whose lowest sample is above this share of the highest.
const STEADY_SHARE: f64 = 0.5;
/// Height of a panel, with its heading; and what the last one's axis adds.
const PANEL_PX: i32 = 150;
const HEADING_PX: i32 = 18;

/// One array over time.
struct Panel<'a> {
    array: &'a ArrayResults,
    position: usize,
    /// The link on which it is watched, if the published figures are of one.
    link: Option<&'a str>,
    /// End of a segment in seconds, and MB/s in it.
    samples: Vec<(f64, f64)>,
}

impl<'a> Panel<'a> {
    fn of(results: &'a Results, position: usize) -> Option<Self> {
        let array = &results.arrays[position];
        let is_short = |segment: &Segment| segment.seconds <= LONGEST_SEGMENT_S;
        if array.segments.len() < LEAST_SAMPLES || !array.segments.iter().all(is_short) {
            return None;
        }
        let of_array = results.published_rows.iter().filter(|row| row.of.array == array.name);
        let link = of_array.filter_map(|row| row.of.link.as_deref()).next();
        let mut seconds = 0.0;
        let samples = array.rated_segments().iter().map(|segment| {
            seconds += segment.seconds;
            let mib_per_s = match link {
                None => segment.mib_per_s,
                Some(link) => mib_per_s_on(segment, link).unwrap_or_default(),
            };
            (seconds, mib_per_s * MB_PER_MIB)
        });
        Some(Self { array, position, link, samples: samples.collect() })
    }

    fn highest(&self) -> f64 {
        self.samples.iter().map(|sample| sample.1).fold(0.0, f64::max)
    }

    /// The last segment may be short, the first one begins with empty caches.
    fn is_steady(&self) -> bool {
        let inner = &self.samples[1..self.samples.len() - 1];
        inner.iter().all(|sample| sample.1 > STEADY_SHARE * self.highest())
    }

    fn heading(&self) -> String {
        match self.link {
            None => format!("{}: what hosts moved", self.array.name),
            Some(link) => format!("{}: on the link {link}, toward the array", self.array.name),
        }
    }
}

/// Draws the throughput of the arrays of a run in short segments; none if no array has enough of them, or no published
/// rows are compared.
pub(crate) fn throughput_chart(
    results: &Results,
    style: ChartStyle,
) -> Result<Option<String>, ChartError> {
    if results.published_rows.is_empty() {
        return Ok(None);
    }
    let all = 0..results.arrays.len();
    let mut panels: Vec<Panel<'_>> =
        all.filter_map(|position| Panel::of(results, position)).collect();
    if panels.len() > MOST_PANELS {
        panels.retain(|panel| !panel.is_steady());
        panels.truncate(MOST_PANELS);
    }
    if panels.is_empty() {
        return Ok(None);
    }
    let plot_px = PANEL_PX * to_px(panels.len()) + 24;
    let title = "Throughput over time";
    let sheet = Sheet::around(style, title, subtitles(results), plot_px)?;
    let longest = panels.iter().filter_map(|panel| panel.samples.last()).map(|last| last.0);
    let longest = longest.fold(0.0, f64::max);
    let highest = panels.iter().map(Panel::highest).fold(0.0, f64::max);
    let svg = sheet.draw(|canvas, margins| {
        let mut marks = Vec::new();
        let mut top_px = margins.top_px;
        for panel in &panels {
            marks.extend(draw_panel(canvas, panel, top_px, longest, highest)?);
            top_px += PANEL_PX;
        }
        Ok(marks)
    })?;
    Ok(Some(svg))
}

fn draw_panel(
    canvas: &mut Canvas<'_>,
    panel: &Panel<'_>,
    top_px: i32,
    longest: f64,
    highest: f64,
) -> Result<Vec<ValueMark>, ChartError> {
    text(canvas, &panel.heading(), (16, top_px + 2), 13, VPos::Top)?;
    let area =
        Area { top_px: top_px + HEADING_PX, height_px: PANEL_PX - HEADING_PX, ..canvas.area() };
    let across =
        Labelled { axis: Axis::from_zero_to(longest), label: &Axis::format, words: "seconds" };
    let up =
        Labelled { axis: Axis::few_from_zero_to(highest), label: &Axis::format, words: "MB/s" };
    let margins = Margins { top_px: 4, legend_px: -14 };
    let plot = Plot::begin(canvas, area, &margins, across, up, &[])?;
    let appearance = Appearance::of(panel.position);
    let places = panel.samples.iter().map(|sample| plot.place(*sample)).collect();
    appearance.line(canvas, places, PIXEL)?;
    let marks = panel.samples.iter().map(|sample| ValueMark {
        place: plot.place(*sample),
        words: format!(
            "{}, {} s: {} MB/s",
            panel.array.name,
            Axis::format(sample.0),
            Axis::format(strewn_results::rounded(sample.1, 4))
        ),
    });
    Ok(marks.collect())
}
