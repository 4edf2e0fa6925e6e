//! Charts of what is in a block trace.

use crate::bar_chart::{Bar, BarChart, Row};
use crate::chart::{ChartError, ChartStyle};
use crate::line_chart::{Across, Line, LineChart, Up};
use crate::marker::Appearance;
use crate::shown::shown_path;
use crate::theme::COLOURS;
use strewn_results::words::{about, with_commas};
use strewn_results::{TraceFigures, TraceInterval, TraceSizeBin};

/// Every chart of a trace, in a reader's order.
pub const TRACE_CHARTS: [TraceChart; 3] =
    [TraceChart::Operations, TraceChart::Bytes, TraceChart::Sizes];

/// A chart of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceChart {
    /// Reads and writes a second over time.
    Operations,
    /// MiB a second over time.
    Bytes,
    /// Reads and writes by size.
    Sizes,
}

impl TraceChart {
    /// Returns the name of the chart's file.
    #[must_use]
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Operations => "trace-operations.svg",
            Self::Bytes => "trace-bytes.svg",
            Self::Sizes => "trace-sizes.svg",
        }
    }

    /// Returns the chart as SVG; the same trace gives the same bytes.
    ///
    /// # Errors
    ///
    /// If there is nothing to draw, or the size is out of bounds.
    pub fn draw(self, trace: &TraceFigures, style: ChartStyle) -> Result<String, ChartError> {
        let operations = with_commas(&trace.operations.to_string());
        let of = format!("{}: {operations} operations", shown_path(&trace.file));
        let (points, seconds) = points(trace);
        let means = format!(", means of {} s", crate::files_table::figure_words(seconds));
        match self {
            Self::Operations => over_time(
                trace,
                "Operations of a trace over time",
                of + &means,
                Up::FromZero("operations per second"),
                &points,
                // Reads are never more than all, so that both lines show.
                &[
                    ("reads and writes", |of| of.read_iops + of.write_iops),
                    ("reads", |of| of.read_iops),
                ],
            )
            .draw(style),
            Self::Bytes => over_time(
                trace,
                "Bytes of a trace over time",
                of + &means,
                Up::FromZero("MiB per second"),
                &points,
                &[("reads and writes", |of| of.mib_per_s)],
            )
            .draw(style),
            Self::Sizes => by_size(trace, of).draw(style),
        }
    }
}

/// Points of a line; more would cover each other.
const MOST_POINTS: usize = 128;

/// Returns the intervals of a trace, joined until there are few enough, and the seconds of each.
fn points(trace: &TraceFigures) -> (Vec<TraceInterval>, f64) {
    let intervals = &trace.over_time;
    let joined = intervals.len().div_ceil(MOST_POINTS).max(1);
    let mean = |part: &[TraceInterval]| {
        let of = |figure: Figure| part.iter().map(figure).sum::<f64>() / part.len() as f64;
        TraceInterval {
            at_seconds: part.first().map_or(0.0, |first| first.at_seconds),
            read_iops: of(|of| of.read_iops),
            write_iops: of(|of| of.write_iops),
            mib_per_s: of(|of| of.mib_per_s),
        }
    };
    let seconds = match intervals.as_slice() {
        [_, second, ..] => second.at_seconds * joined as f64,
        _ => trace.seconds,
    };
    (intervals.chunks(joined).map(mean).collect(), seconds)
}

type Figure = fn(&TraceInterval) -> f64;

fn over_time(
    trace: &TraceFigures,
    title: &'static str,
    subtitle: String,
    up: Up,
    intervals: &[TraceInterval],
    figures: &[(&str, Figure)],
) -> LineChart {
    let (scale, across) = match trace.seconds {
        seconds if seconds > 3.0 * 86_400.0 => (86_400.0, "days since the first operation"),
        seconds if seconds > 2.0 * 3_600.0 => (3_600.0, "hours since the first operation"),
        seconds if seconds > 600.0 => (60.0, "minutes since the first operation"),
        _ => (1.0, "seconds since the first operation"),
    };
    let lines = figures.iter().enumerate().map(|(position, (name, figure))| Line {
        name: (*name).to_owned(),
        appearance: Appearance::of(position),
        hollow: false,
        points: intervals.iter().map(|of| (of.at_seconds / scale, figure(of))).collect(),
    });
    LineChart {
        title,
        subtitles: vec![subtitle],
        across: Across::FromZero(across),
        up,
        lines: lines.collect(),
        legend_columns: 2,
    }
}

fn by_size(trace: &TraceFigures, subtitle: String) -> BarChart {
    let operations = trace.operations.max(1) as f64;
    let bar = |bin: &TraceSizeBin, name: &str, position: usize, count: u64| {
        let percent = 100.0 * count as f64 / operations;
        let figure = crate::files_table::figure_words(percent);
        let counted = with_commas(&count.to_string());
        Bar {
            from: 0.0,
            to: percent,
            colour: COLOURS[position],
            hollow: false,
            words: format!("{counted} {name} up to {}: {figure} %", about(bin.up_to_bytes as f64)),
            figure,
        }
    };
    let key = Row::Key(vec![(COLOURS[0], "reads"), (COLOURS[1], "writes")]);
    let rows = trace.sizes.bins.iter().map(|bin| Row::Bars {
        words: about(bin.up_to_bytes as f64),
        bars: vec![bar(bin, "reads", 0, bin.reads), bar(bin, "writes", 1, bin.writes)],
    });
    BarChart {
        title: "Sizes of a trace\u{2019}s operations",
        subtitles: vec![
            subtitle,
            "Operations up to so many bytes, and larger than half of it.".to_owned(),
        ],
        axis: "% of all operations",
        rows: std::iter::once(key).chain(rows).collect(),
    }
}
