//! The map on paper: of a run, a row for each time the file had moved, with the spindles of an array superimposed; of
//! real files, a row for each device.

use crate::canvas::{Canvas, HPos, PIXEL, TextStyle, VPos, text, to_px, width_px};
use crate::chart::{ChartError, ChartStyle};
use crate::legend::LEFT_PX;
use crate::sheet::{Overlay, Sheet};
use crate::shown::shown_path;
use crate::theme::{GRID, INK, MAP_COLOURS, hex};
use crate::value_mark::ValueMark;
use std::fmt::Write;
use strewn_results::words::about;
use strewn_results::{ArrayMap, FileMap, LayoutMap, MAP_LEVELS, Phase, Snapshot, Strip};

/// Height of a row, and the gap between two.
const ROW_PX: i32 = 20;
const GAP_PX: i32 = 4;
const HEADING_PX: i32 = 30;
const AXIS_PX: i32 = 26;
/// Below the last axis: its label, and the scale of colours.
const SCALE_PX: i32 = 66;
/// Width of a colour of the scale, its description, and the height of that description if it goes below the scale.
const BOX_PX: i32 = 30;
const SCALE_WORDS: &str = "distance from the block before in the file, geometric mean";
const SCALE_WORDS_PX: i32 = 20;
/// To the left of the rows, for the number of the segment; to the right of them.
const WORDS_PX: i32 = 64;
const RIGHT_PX: i32 = 32;
/// Between those words and the rows.
const WORDS_APART_PX: i32 = 16;

/// Doublings of distance per colour.
pub(crate) const DOUBLINGS_PER_COLOUR: f64 = 1.0;

/// The distance of the last colour.
pub(crate) const FARTHEST: &str = "16 MiB";

/// Returns the colour of a level of distance, by its position in [`MAP_COLOURS`].
pub(crate) fn colour_of(distance_level: f64) -> usize {
    ((distance_level / 2.0 / DOUBLINGS_PER_COLOUR) as usize).min(MAP_COLOURS.len() - 1)
}

/// A row of columns.
struct Row {
    /// To its left.
    words: String,
    /// Under the pointer.
    mark: String,
    /// For each column: the share of it that holds the file, 0 to 1, and the mean level of distance.
    cells: Vec<(f64, f64)>,
}

/// Rows with a heading and an axis of their own.
struct Part {
    heading: String,
    rows: Vec<Row>,
    /// Places on the axis, as parts of the whole, and their labels.
    ticks: Vec<(f64, String)>,
}

/// Returns the picture, of the style's width and as high as its rows need. Rows name the phase that they are in, if the
/// run has phases.
pub(crate) fn by_segment(
    map: &LayoutMap,
    phases: &[Phase],
    mut subtitles: Vec<String>,
    style: ChartStyle,
) -> Result<String, ChartError> {
    let drawn = || map.arrays.iter().filter(|array| !array.snapshots.is_empty());
    let end = shown(drawn().map(ArrayMap::span).fold(0.0, f64::max));
    let parts = drawn().map(|array| Part {
        heading: format!("{}, after segment", array.name),
        rows: array.snapshots.iter().map(|at| row(array, phases, at)).collect(),
        ticks: percent_ticks(end),
    });
    subtitles.push(
        "Height: the share of the spindles there that holds the file, all data spindles together. Colour: how far blocks lie \
         from their predecessors."
            .to_owned(),
    );
    let axis = match end {
        1.0 => "address on the spindle (% of the stroke)".to_owned(),
        _ => format!(
            "address on the spindle (% of the stroke; all of the file lies in the first {} %)",
            strewn_results::rounded(end * 100.0, 3)
        ),
    };
    let title = "The map: where the file lies, segment by segment";
    draw(&parts.collect::<Vec<_>>(), !phases.is_empty(), end, &axis, (title, subtitles), style)
}

/// Returns the picture of real files: for each a row per device, from the file's lowest address to its highest.
pub(crate) fn of_files(maps: &[FileMap], style: ChartStyle) -> Result<String, ChartError> {
    let part = |of: &FileMap| {
        let from = of.first_byte as f64;
        let bytes = of.map.blocks_per_spindle as f64 * BLOCK_BYTES;
        let strips = of.map.snapshots.iter().flat_map(|at| &at.spindles).zip(&of.devices);
        let row = |(strip, device): (&Strip, &String)| {
            let cells = cells(&[strip], of.map.columns);
            let mark =
                format!("{} on {device}: {}", shown_path(&of.map.name), distance_words(&cells));
            Row { words: device.clone(), mark, cells }
        };
        let of_whole = match of.device_bytes {
            Some(whole) => format!(" of {}", about(whole as f64)),
            None => String::new(),
        };
        let (low, high) = (about(from), about(from + bytes));
        Part {
            heading: format!("{}: {low} to {high}{of_whole}", shown_path(&of.map.name)),
            rows: strips.map(row).collect(),
            ticks: byte_ticks(from, bytes),
        }
    };
    let parts: Vec<Part> = maps.iter().map(part).collect();
    let words = "Height: the share of the device there that holds the file. Colour: how far blocks lie from their predecessors. \
                 Each picture begins at the lowest address of its file and ends at the highest.";
    let title = "The map: where the files lie";
    draw(&parts, true, 1.0, "address on the device", (title, vec![words.to_owned()]), style)
}

const BLOCK_BYTES: f64 = 4096.0;

fn draw(
    parts: &[Part],
    words_vary: bool,
    end: f64,
    axis: &str,
    (title, subtitles): (&'static str, Vec<String>),
    style: ChartStyle,
) -> Result<String, ChartError> {
    if parts.iter().all(|part| part.rows.is_empty()) {
        return Err(ChartError::NothingToDraw);
    }
    let rows =
        parts.iter().map(|part| HEADING_PX + AXIS_PX + (ROW_PX + GAP_PX) * to_px(part.rows.len()));
    let mut words_px = WORDS_PX;
    if words_vary {
        for row in parts.iter().flat_map(|part| &part.rows) {
            words_px = words_px.max(width_px(&row.words, 12)? + WORDS_APART_PX);
        }
    }
    let frame = Frame {
        left_px: LEFT_PX + words_px,
        right_px: to_px(style.size.width_px as usize) - RIGHT_PX,
        end,
    };
    let words_px = if frame.scale_words_px()?.is_some() { 0 } else { SCALE_WORDS_PX };
    let plot_px = rows.sum::<i32>() + SCALE_PX + words_px + 12;
    let sheet = Sheet::around(style, title, subtitles, plot_px)?;
    sheet.draw(|canvas, margins| {
        let mut overlay = Overlay::default();
        let mut top_px = margins.top_px;
        for part in parts {
            top_px = frame.part(canvas, part, top_px, &mut overlay)?;
        }
        frame.scale(canvas, axis, top_px, &mut overlay)?;
        Ok(overlay)
    })
}

/// Returns ticks at round percentages of the stroke, up to the part of it that is shown.
fn percent_ticks(end: f64) -> Vec<(f64, String)> {
    let percent = end * 100.0;
    let step = [0.2, 0.5, 1.0, 2.0, 5.0, 10.0].into_iter().find(|step| percent / step <= 10.0);
    let step = step.unwrap_or(20.0);
    let count = (percent / step + 1e-9) as u32;
    (0..=count)
        .map(|tick| f64::from(tick) * step)
        .map(|percent| (percent / 100.0, format!("{} %", strewn_results::rounded(percent, 3))))
        .collect()
}

/// Returns four to eight ticks at round addresses within `bytes` from `from` on.
fn byte_ticks(from: f64, bytes: f64) -> Vec<(f64, String)> {
    let step = (bytes / 8.0).log2().ceil().exp2().max(BLOCK_BYTES);
    let first = (from / step).ceil();
    // All in the unit of the largest.
    let (unit, words) = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")]
        .into_iter()
        .map(|(shift, words)| (f64::from(shift).exp2(), words))
        .find(|(unit, _)| from + bytes >= *unit)
        .unwrap_or((1.0, "B"));
    let in_unit = |at: f64| format!("{} {words}", strewn_results::rounded(at / unit, 6));
    (0..9)
        .map(|count| (first + f64::from(count)) * step)
        .take_while(|at| *at <= from + bytes)
        .map(|at| ((at - from) / bytes, in_unit(at)))
        .collect()
}

/// Returns the part of the stroke to show if the file spans `span` of it, rounded up.
pub(crate) fn shown(span: f64) -> f64 {
    let round = [0.01, 0.02, 0.03, 0.05, 0.08, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.8];
    round.into_iter().find(|part| *part >= span).unwrap_or(1.0)
}

fn row(array: &ArrayMap, phases: &[Phase], snapshot: &Snapshot) -> Row {
    let moments = moments(&snapshot.after_segments);
    // A row that stands for several phases is of none. Segment 0 is the beginning.
    let mut after = snapshot.after_segments.iter().filter(|segment| **segment > 0);
    let first = after.clone().next();
    let phase = phases.iter().find(|of| first.is_some_and(|first| of.has(*first)));
    let phase = phase.filter(|phase| after.all(|segment| phase.has(*segment)));
    let spindles: Vec<_> = (0..)
        .zip(&snapshot.spindles)
        .filter(|(spindle, _)| !array.is_parity(*spindle))
        .map(|(_, strip)| strip)
        .collect();
    let words = match phase {
        Some(phase) => format!("{moments}, {}", phase.name),
        None => moments,
    };
    let cells = cells(&spindles, array.columns);
    let end = cells.iter().rposition(|cell| cell.0 > 0.0).map_or(0, |last| last + 1);
    let percent = 100.0 * end as f64 / cells.len().max(1) as f64;
    let mark = format!(
        "{}, after segment {words}: the file lies in the first {} % of the stroke; {}",
        array.name,
        strewn_results::rounded(percent, 3),
        distance_words(&cells),
    );
    Row { words, mark, cells }
}

/// Returns for each column the share of all strips that holds the file, and the mean level of distance there.
fn cells(strips: &[&Strip], columns: u32) -> Vec<(f64, f64)> {
    let highest = f64::from(MAP_LEVELS - 1);
    let cell = |column: usize| {
        let (mut file, mut distance) = (0.0, 0.0);
        for strip in strips {
            let level = f64::from(strip.file.level(column));
            file += level;
            distance += level * f64::from(strip.distance.level(column));
        }
        let share = file / highest / strips.len().max(1) as f64;
        (share, if file > 0.0 { distance / file } else { 0.0 })
    };
    (0..columns as usize).map(cell).collect()
}

fn distance_words(cells: &[(f64, f64)]) -> String {
    let (mut share, mut doublings) = (0.0, 0.0);
    for cell in cells.iter().filter(|cell| cell.0 > 0.0) {
        share += cell.0;
        doublings += cell.0 * cell.1 / 2.0;
    }
    let doublings = if share > 0.0 { doublings / share } else { 0.0 };
    let doublings = strewn_results::words::fixed(doublings, 1);
    format!("mean distance of a block from its predecessor 2^{doublings} blocks")
}

/// Formats as "3" or "0 to 14".
fn moments(segments: &[u32]) -> String {
    match segments {
        [] => String::new(),
        [only] => only.to_string(),
        [first, .., last] => format!("{first} to {last}"),
    }
}

struct Frame {
    left_px: i32,
    right_px: i32,
    /// The part of the stroke that is shown, 0 to 1.
    end: f64,
}

impl Frame {
    /// Returns the horizontal position of a part of the stroke, in drawn units.
    fn x(&self, part: f64) -> i32 {
        let width = f64::from((self.right_px - self.left_px) * PIXEL);
        self.left_px * PIXEL + (width * (part / self.end).min(1.0)).round() as i32
    }

    /// Draws rows and their axis. Returns where the next part may begin.
    fn part(
        &self,
        canvas: &mut Canvas<'_>,
        part: &Part,
        top_px: i32,
        overlay: &mut Overlay,
    ) -> Result<i32, ChartError> {
        text(canvas, &part.heading, (LEFT_PX, top_px + 14), 13, VPos::Center)?;
        let mut bottom_px = top_px + HEADING_PX;
        for row in &part.rows {
            bottom_px += ROW_PX + GAP_PX;
            let line = [self.left_px, self.right_px].map(|x_px| (x_px * PIXEL, bottom_px * PIXEL));
            canvas.polyline(&line, GRID.stroke(PIXEL))?;
            let middle_px = bottom_px - ROW_PX / 2;
            self.words(canvas, &row.words, (self.left_px - 8, middle_px), HPos::Right)?;
            overlay.svg.push_str(&self.paths(row, bottom_px));
            overlay.marks.push(ValueMark {
                place: ((self.left_px + self.right_px) / 2 * PIXEL, middle_px * PIXEL),
                words: row.mark.clone(),
            });
        }
        for (place, words) in &part.ticks {
            let x = self.x(*place);
            let tick = [(x, bottom_px * PIXEL), (x, (bottom_px + 5) * PIXEL)];
            canvas.polyline(&tick, INK.stroke(PIXEL))?;
            self.words(canvas, words, (x / PIXEL, bottom_px + 14), HPos::Center)?;
        }
        Ok(bottom_px + AXIS_PX)
    }

    /// Returns a path for each colour of a row: a box per column, as high as its share. Equal neighbours share a box.
    fn paths(&self, row: &Row, bottom_px: i32) -> String {
        let columns = row.cells.len() as f64;
        let full = f64::from(ROW_PX * PIXEL);
        let mut by_colour = vec![String::new(); MAP_COLOURS.len()];
        let mut column = 0;
        while column < row.cells.len() {
            let drawn_as = |cell: &(f64, f64)| ((cell.0 * full).ceil() as i32, colour_of(cell.1));
            let (height, colour) = drawn_as(&row.cells[column]);
            let alike = |cell: &&(f64, f64)| drawn_as(cell) == (height, colour);
            let next = column + row.cells[column..].iter().take_while(alike).count();
            let (left, right) = (self.x(column as f64 / columns), self.x(next as f64 / columns));
            if height > 0 && right > left {
                let (top, width) = (bottom_px * PIXEL - height, right - left);
                // Writing to a string cannot fail.
                let _ = write!(by_colour[colour], "M{left} {top}h{width}v{height}h-{width}z");
            }
            column = next;
        }
        let paths = by_colour.iter().zip(MAP_COLOURS).filter(|(path, _)| !path.is_empty());
        paths
            .map(|(path, colour)| format!("<path fill=\"{}\" d=\"{path}\"/>\n", hex(colour)))
            .collect()
    }

    /// Draws the axis label and the scale of colours.
    fn scale(
        &self,
        canvas: &mut Canvas<'_>,
        axis: &str,
        top_px: i32,
        overlay: &mut Overlay,
    ) -> Result<(), ChartError> {
        let middle_px = (self.left_px + self.right_px) / 2;
        self.words(canvas, axis, (middle_px, top_px + 6), HPos::Center)?;
        let (left_px, scale_top_px, box_px) = (self.left_px, top_px + 24, BOX_PX);
        for (position, colour) in MAP_COLOURS.iter().enumerate() {
            let x = (left_px + box_px * to_px(position)) * PIXEL;
            let (y, width, height) = (scale_top_px * PIXEL, box_px * PIXEL, 12 * PIXEL);
            let _ = writeln!(
                overlay.svg,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{}\"/>",
                hex(*colour)
            );
        }
        let farthest = format!("{FARTHEST} and more");
        let end_px = left_px + box_px * to_px(MAP_COLOURS.len());
        for (x_px, words, side) in [
            (left_px, "right behind", HPos::Left),
            (left_px + box_px * 4, "64 KiB", HPos::Center),
            (left_px + box_px * 8, "1 MiB", HPos::Center),
            (end_px, &farthest, HPos::Right),
        ] {
            self.words(canvas, words, (x_px, scale_top_px + 22), side)?;
        }
        let place = match self.scale_words_px()? {
            Some(beside_px) => (beside_px, scale_top_px + 6),
            None => (left_px, scale_top_px + 22 + SCALE_WORDS_PX),
        };
        self.words(canvas, SCALE_WORDS, place, HPos::Left)
    }

    /// Returns the position of the scale's description beside the scale; none if there is no room, and it goes below.
    fn scale_words_px(&self) -> Result<Option<i32>, ChartError> {
        let beside_px = self.left_px + BOX_PX * to_px(MAP_COLOURS.len()) + 24;
        Ok((beside_px + width_px(SCALE_WORDS, 12)? <= self.right_px).then_some(beside_px))
    }

    fn words(
        &self,
        canvas: &mut Canvas<'_>,
        words: &str,
        place_px: (i32, i32),
        side: HPos,
    ) -> Result<(), ChartError> {
        canvas.text_px(words, place_px, TextStyle::new(12, side, VPos::Center))
    }
}
