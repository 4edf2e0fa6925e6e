//! Charts of published rows: each with a bar for what is published and one for what is simulated.

use crate::bar_chart::{Bar, BarChart, Row};
use crate::chart::{ChartError, ChartStyle};
use crate::rows_table::{published, shown};
use crate::segment_chart::subtitles;
use crate::theme::{COLOURS, INK};
use strewn_results::{ComparedRow, Results, RowStatus, Unit};

/// What the figures of a chart of rows count: rows of other units are in other charts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowUnit {
    Throughput,
    Iops,
    Milliseconds,
    Seconds,
    Percent,
}

impl RowUnit {
    fn of(row: &ComparedRow) -> Option<Self> {
        if row.of.is_percentage() {
            return Some(Self::Percent);
        }
        match row.of.metric.unit() {
            Unit::MbPerS | Unit::MibPerS => Some(Self::Throughput),
            Unit::Iops => Some(Self::Iops),
            Unit::ResponseMs => Some(Self::Milliseconds),
            Unit::Seconds => Some(Self::Seconds),
            Unit::Percent | Unit::Share => Some(Self::Percent),
            _ => None,
        }
    }

    const fn title(self) -> &'static str {
        match self {
            Self::Throughput => "Throughput, published and simulated",
            Self::Iops => "Operations per second, published and simulated",
            Self::Milliseconds => "Response time, published and simulated",
            Self::Seconds => "Time taken, published and simulated",
            Self::Percent => "Ratios and shares, published and simulated",
        }
    }

    const fn axis(self) -> &'static str {
        match self {
            Self::Throughput => "MB/s, or MiB/s where the row says so",
            Self::Iops => "operations per second (IOPS)",
            Self::Milliseconds => "response time (ms)",
            Self::Seconds => "seconds",
            Self::Percent => "percent",
        }
    }
}

/// Draws the rows whose figures count this; none if there are none.
pub(crate) fn rows_chart(
    results: &Results,
    unit: RowUnit,
    style: ChartStyle,
) -> Result<Option<String>, ChartError> {
    let rows: Vec<&ComparedRow> =
        results.published_rows.iter().filter(|row| RowUnit::of(row) == Some(unit)).collect();
    if !rows.iter().any(|row| row.simulated.is_some()) {
        return Ok(None);
    }
    let is_published = |row: &&ComparedRow| row.published.is_some() || row.range.is_some();
    let any = |status| rows.iter().any(|row| row.status == status && row.published.is_some());
    let simulated = match (any(RowStatus::Fitted), any(RowStatus::NotScored)) {
        (true, true) => "simulated; hollow: fitted; *: not scored",
        (true, false) => "simulated; hollow: fitted",
        (false, true) => "simulated; *: not scored",
        (false, false) => "simulated",
    };
    let mut key = vec![(COLOURS[0], simulated)];
    if rows.iter().any(is_published) {
        key.insert(0, (INK, "published; hollow: a range"));
    }
    let mut drawn = vec![Row::Key(key)];
    drawn.extend(rows.into_iter().map(row_of));
    let subtitles = subtitles(results);
    BarChart { title: unit.title(), subtitles, axis: unit.axis(), rows: drawn }
        .draw(style)
        .map(Some)
}

fn row_of(row: &ComparedRow) -> Row {
    let unit = row.of.unit();
    let of_published = match (row.published, row.range) {
        (Some(figure), _) => Some((0.0, figure)),
        (None, Some([low, high])) => Some((low, high)),
        (None, None) => None,
    };
    let words = |what: &str, figure: &str| format!("{}: {what} {figure} {unit}", row.name);
    let mut bars = Vec::new();
    if let Some((from, to)) = of_published {
        let figure = published(row);
        let words = words("published", &figure);
        bars.push(Bar { from, to, colour: INK, hollow: row.range.is_some(), figure, words });
    }
    if let Some(simulated) = row.simulated {
        let figure = shown(simulated);
        let hollow = row.status == RowStatus::Fitted;
        let said = words(row.status.as_str(), &figure);
        let figure = match row.status {
            RowStatus::NotScored if row.published.is_some() => format!("{figure} *"),
            _ => figure,
        };
        let colour = COLOURS[0];
        bars.push(Bar { from: 0.0, to: simulated, colour, hollow, figure, words: said });
    }
    let words = match row.of.metric.unit() {
        Unit::MibPerS if !row.of.is_percentage() => format!("{} (MiB/s)", row.name),
        _ => row.name.clone(),
    };
    Row::Bars { words, bars }
}
