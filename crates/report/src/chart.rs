//! The appearance of a chart, and why it could not be drawn.
//!
//! The same figures give the same bytes.

use crate::theme::Theme;

/// The narrowest that a chart is drawn.
const LEAST_WIDTH_PX: u32 = 480;

/// Size of a chart in pixels of 1/96 inch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChartSize {
    /// Width, at least 480.
    pub width_px: u32,
    /// Height, at least 320.
    pub height_px: u32,
}

impl Default for ChartSize {
    /// Returns 960 by 560, which fits a page and a screen.
    fn default() -> Self {
        Self { width_px: 960, height_px: 560 }
    }
}

/// The appearance of a chart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChartStyle {
    /// Its size.
    pub size: ChartSize,
    /// Its colours.
    pub theme: Theme,
    /// How wide it is shown, if that is another width than it is drawn with: it is enlarged as a whole.
    pub shown_width_px: Option<u32>,
}

impl From<ChartSize> for ChartStyle {
    /// Returns that size with the light theme.
    fn from(size: ChartSize) -> Self {
        Self { size, ..Self::default() }
    }
}

/// The size of the smallest type.
pub(crate) const LEAST_TYPE_PX: u32 = 12;

/// A narrower chart is drawn so wide, and shown smaller: its words would cover each other.
const LEAST_DRAWN_PX: u32 = 800;

/// The least part of a chart's height that type has, so that those in the last row can read a slide.
const TYPE_PER_HEIGHT: u32 = 45;

impl ChartStyle {
    /// Returns a style whose drawing fills `size`, with type that can be read from afar: a large one is enlarged, not
    /// drawn with more room between its parts.
    #[must_use]
    pub fn filling(size: ChartSize, theme: Theme) -> Self {
        let ChartSize { width_px, height_px } = size;
        let plain = Self { size, theme, shown_width_px: None };
        let most_px = LEAST_TYPE_PX * TYPE_PER_HEIGHT;
        // Drawn lower, and not narrower than legends are wide.
        let by_height = u64::from(width_px) * u64::from(most_px) / u64::from(height_px.max(1));
        let drawn_width_px = by_height.min(width_px.into()).max(LEAST_DRAWN_PX.into());
        let is_small = height_px <= ChartSize::default().height_px && width_px >= LEAST_DRAWN_PX;
        if is_small || drawn_width_px == u64::from(width_px) {
            return plain;
        }
        let drawn_height_px = u64::from(height_px) * drawn_width_px / u64::from(width_px);
        let drawn = [drawn_width_px, drawn_height_px].map(|px| px as u32);
        let drawn = ChartSize { width_px: drawn[0], height_px: drawn[1] };
        Self { size: drawn, shown_width_px: Some(width_px), ..plain }
    }
}

/// Why a chart could not be drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChartError {
    /// No array has a segment.
    #[error("chart: the results have no segments")]
    NothingToDraw,
    /// A figure is negative, infinite or not a number.
    #[error("chart: segment {segment} of array {array:?} has no drawable figure")]
    Figure {
        /// Name of the array.
        array: String,
        /// Number of the segment.
        segment: u32,
    },
    /// The picture is too small, or absurdly large.
    #[error(
        "chart: {width_px} by {height_px} pixels: from 480 by 320 to 8000 by 8000 are possible"
    )]
    Size {
        /// Width asked for.
        width_px: u32,
        /// Height asked for.
        height_px: u32,
    },
    /// Legend and subtitles leave no room for the plot.
    #[error(
        "chart: {height_px} pixels of height are too few for the plot beside {arrays} rows of legend and the lines below the \
         title; {least_px} would do"
    )]
    Crowded {
        /// Height asked for.
        height_px: u32,
        /// Rows in the legend, one per array.
        arrays: usize,
        /// The least height that leaves room.
        least_px: u32,
    },
    /// There is no figure to draw.
    #[error("chart: {title} has no drawable figures")]
    NoFigures {
        /// Title of the chart.
        title: &'static str,
    },
    /// The SVG backend refused.
    #[error("chart: {0}")]
    Drawing(String),
}

impl ChartError {
    pub(crate) fn drawing(error: impl std::fmt::Display) -> Self {
        Self::Drawing(error.to_string())
    }
}

impl ChartSize {
    /// Checks that a chart can have this size.
    ///
    /// # Errors
    ///
    /// [`ChartError::Size`] if it is out of bounds.
    pub fn check(self) -> Result<(), ChartError> {
        let Self { width_px, height_px } = self;
        if !(LEAST_WIDTH_PX..=8000).contains(&width_px) || !(320..=8000).contains(&height_px) {
            return Err(ChartError::Size { width_px, height_px });
        }
        Ok(())
    }
}
