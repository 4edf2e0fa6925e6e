//! Charts of what is in a block trace.

use crate::chart::{ChartError, ChartStyle};
use crate::line_chart::{Across, Line, LineChart, Up};
use crate::marker::Appearance;
use crate::shown::shown_path;
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
        let chart = match self {
            Self::Operations => over_time(
                trace,
                "Operations of a trace over time",
                Up::FromZero("operations per second"),
                &[("reads", |of| of.read_iops), ("writes", |of| of.write_iops)],
            ),
            Self::Bytes => over_time(
                trace,
                "Bytes of a trace over time",
                Up::FromZero("MiB per second"),
                &[("reads and writes", |of| of.mib_per_s)],
            ),
            Self::Sizes => by_size(trace),
        };
        let interval = match (self, trace.over_time.as_slice()) {
            (Self::Operations | Self::Bytes, [_, second, ..]) => {
                format!(", means of {} s", crate::files_table::figure_words(second.at_seconds))
            }
            _ => String::new(),
        };
        LineChart { subtitles: vec![of + &interval], ..chart }.draw(style)
    }
}

type Figure = fn(&TraceInterval) -> f64;

fn over_time(
    trace: &TraceFigures,
    title: &'static str,
    up: Up,
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
        points: trace.over_time.iter().map(|of| (of.at_seconds / scale, figure(of))).collect(),
    });
    LineChart {
        title,
        subtitles: Vec::new(),
        across: Across::FromZero(across),
        up,
        lines: lines.collect(),
        legend_columns: 2,
    }
}

fn by_size(trace: &TraceFigures) -> LineChart {
    // A size that nothing has is a point too: a line across it would show what is not there.
    let powers = trace.sizes.bins.iter().map(|bin| bin.up_to_bytes);
    let (first, last) = (powers.clone().min().unwrap_or(1), powers.max().unwrap_or(1));
    let all = std::iter::successors(Some(first), |bytes| bytes.checked_mul(2));
    let bins: Vec<TraceSizeBin> = all
        .take_while(|bytes| *bytes <= last)
        .map(|up_to_bytes| {
            let found = trace.sizes.bins.iter().find(|bin| bin.up_to_bytes == up_to_bytes);
            found.copied().unwrap_or(TraceSizeBin { up_to_bytes, reads: 0, writes: 0 })
        })
        .collect();
    let operations = trace.operations.max(1) as f64;
    let line = |name: &str, position, count: fn(&TraceSizeBin) -> u64| Line {
        name: name.to_owned(),
        appearance: Appearance::of(position),
        hollow: false,
        points: bins
            .iter()
            .map(|bin| (bin.up_to_bytes as f64, 100.0 * count(bin) as f64 / operations))
            .collect(),
    };
    let ticks = bins.iter().map(|bin| (bin.up_to_bytes as f64, about(bin.up_to_bytes as f64)));
    LineChart {
        title: "Sizes of a trace\u{2019}s operations",
        subtitles: Vec::new(),
        across: Across::Doubling("size, up to, and larger than half of it", ticks.collect()),
        up: Up::FromZero("% of all operations"),
        lines: vec![line("reads", 0, |bin| bin.reads), line("writes", 1, |bin| bin.writes)],
        legend_columns: 2,
    }
}
