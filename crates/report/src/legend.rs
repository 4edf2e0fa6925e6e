//! Legends: samples of the marks in the plot, each with words beside it.

use crate::canvas::{Canvas, PIXEL, VPos, text, width_px};
use crate::chart::ChartError;
use crate::marker::Appearance;

/// Height of a row.
pub(crate) const ROW_PX: i32 = 22;

/// Room to the left of a legend, and of all other words below the plot.
pub(crate) const LEFT_PX: i32 = 16;

/// Length of a sample's line; the start of the words; the room between their end and the next sample.
const SAMPLE_PX: i32 = 42;
const WORDS_PX: i32 = 50;
const APART_PX: i32 = 24;
/// Height of a sample of a band.
const BAND_PX: i32 = 12;

/// The mark that a sample shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sample {
    /// A line without markers.
    Line,
    /// The line of an earlier run.
    Faint,
    /// A line and a filled marker.
    Filled,
    /// A line and a hollow marker.
    Hollow,
    /// A filled marker without a line.
    Dot,
    /// The dash of a published figure.
    Published,
    /// The shade of a band.
    Band,
    /// The vertical line of a step.
    Step,
}

/// Draws a sample and its words, beginning at `x_px` from the left, around `middle_px` from the top.
pub(crate) fn entry(
    canvas: &mut Canvas<'_>,
    appearance: Appearance,
    sample: Sample,
    words: &str,
    (x_px, middle_px): (i32, i32),
) -> Result<(), ChartError> {
    let at = |x_px: i32| (x_px * PIXEL, middle_px * PIXEL);
    let mark = at(x_px + SAMPLE_PX / 2);
    match sample {
        Sample::Published => appearance.published(canvas, mark, PIXEL)?,
        Sample::Step => {
            let ends = [-1, 1].map(|end| at(x_px + SAMPLE_PX / 2).1 + end * ROW_PX * PIXEL / 2);
            appearance.thin_line(canvas, vec![(mark.0, ends[0]), (mark.0, ends[1])], PIXEL)?;
        }
        Sample::Band => {
            let [(left, middle), (right, _)] = [at(x_px), at(x_px + SAMPLE_PX)];
            let (top, bottom) = (middle - BAND_PX * PIXEL / 2, middle + BAND_PX * PIXEL / 2);
            let corners = vec![(left, top), (right, top), (right, bottom), (left, bottom)];
            appearance.shade(canvas, corners)?;
        }
        Sample::Line | Sample::Filled | Sample::Hollow => {
            appearance.line(canvas, vec![at(x_px), at(x_px + SAMPLE_PX)], PIXEL)?;
        }
        Sample::Faint => {
            appearance.faint_line(canvas, vec![at(x_px), at(x_px + SAMPLE_PX)], PIXEL)?;
        }
        Sample::Dot => {}
    }
    if matches!(sample, Sample::Filled | Sample::Hollow | Sample::Dot) {
        appearance.simulated(canvas, mark, sample == Sample::Hollow, PIXEL)?;
    }
    text(canvas, words, (x_px + WORDS_PX, middle_px), 12, VPos::Center)
}

/// Returns the width of a sample with its words and the room to the next.
pub(crate) fn entry_px(words: &str) -> Result<i32, ChartError> {
    Ok(WORDS_PX + width_px(words, 12)? + APART_PX)
}
