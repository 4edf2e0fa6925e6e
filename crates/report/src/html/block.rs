//! The blocks of a section of the report, which the template writes as HTML.

use crate::beside::Beside;
use crate::chart::{ChartError, ChartSize, ChartStyle};
use crate::html::table::LaidOutTable;
use crate::results_chart::ResultsChart;
use crate::theme::Theme;
use serde::Serialize;
use strewn_results::{LayoutMap, Results};

/// A part of the page with a title.
#[derive(Serialize)]
pub(super) struct Section {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) blocks: Vec<Block>,
}

/// The contents of a section, from top to bottom. Texts are plain: the template escapes them.
#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(super) enum Block {
    Paragraph {
        text: String,
    },
    /// A paragraph in small print.
    Note {
        text: String,
    },
    /// Sentences, each by itself.
    List {
        items: Vec<String>,
    },
    /// An SVG that this crate drew.
    Chart {
        id: &'static str,
        svg: String,
        /// Whether its figures are arranged in rows, for the keyboard.
        has_rows: bool,
    },
    Table(LaidOutTable),
    /// What a quick run scaled down.
    Scale {
        divisor: u32,
        changes: Vec<String>,
    },
    /// The map by spindle, which the script draws.
    Map(SpindleMap),
    /// A text shown verbatim, folded away.
    Source {
        summary: &'static str,
        text: String,
    },
}

#[derive(Serialize)]
pub(super) struct SpindleMap {
    pub(super) last_segment: u32,
    /// The part of the stroke that is shown, 0 to 1, as text.
    pub(super) shown: String,
    pub(super) shows_whole_stroke: bool,
    pub(super) doublings_per_colour: String,
    pub(super) colours: usize,
    pub(super) farthest: &'static str,
    pub(super) arrays: Vec<MapOfArray>,
}

#[derive(Serialize)]
pub(super) struct MapOfArray {
    pub(super) name: String,
    /// Whether its free space is known.
    pub(super) has_free_space: bool,
    /// Whether one picture represents all segments.
    pub(super) never_moves: bool,
}

impl From<LaidOutTable> for Block {
    fn from(table: LaidOutTable) -> Self {
        Self::Table(table)
    }
}

impl Block {
    pub(super) fn paragraph(text: impl Into<String>) -> Self {
        Self::Paragraph { text: text.into() }
    }

    pub(super) fn note(text: impl Into<String>) -> Self {
        Self::Note { text: text.into() }
    }

    /// Returns a chart in the page's colours; none if the results have nothing for it.
    pub(super) fn chart(
        results: &Results,
        map: Option<&LayoutMap>,
        beside: &Beside<'_>,
        chart: ResultsChart,
        has_rows: bool,
    ) -> Result<Option<Self>, ChartError> {
        // Keeps the plot at the same height, however many rows its legend has.
        let more_px =
            22 * u32::try_from(results.arrays.len().saturating_sub(2)).unwrap_or_default();
        let size = ChartSize { width_px: 960, height_px: (480 + more_px).min(4000) };
        let style = ChartStyle { theme: Theme::Page, ..size.into() };
        match chart.draw_beside(results, map, beside, style) {
            Ok(Some(svg)) => Ok(Some(Self::Chart { id: chart.file_stem(), svg, has_rows })),
            Ok(None) | Err(ChartError::NothingToDraw) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
