//! Charts of the performance of drives: a colour for each scheduler or load, hollow markers for the second drive.

use crate::chart::{ChartError, ChartStyle};
use crate::drive_table::{bytes, plural};
use crate::line_chart::{Across, Line, LineChart, Up};
use crate::marker::Appearance;
use strewn_base::Direction;
use strewn_results::{DriveCharacterization, DriveFigures, LoopPoint};

/// The only scheduler drawn by span and by size. The tables have the others, and the charts by depth compare them.
const DRAWN_SCHEDULER: &str = "sptf";

/// Every chart of drives, in a reader's order.
pub const DRIVE_CHARTS: [DriveChart; 11] = [
    DriveChart::Seek,
    DriveChart::Transfer,
    DriveChart::IopsByDepthReads,
    DriveChart::IopsByDepthWrites,
    DriveChart::ResponseByDepthReads,
    DriveChart::ResponseByDepthWrites,
    DriveChart::IopsBySpan,
    DriveChart::ResponseBySpan,
    DriveChart::IopsByBlock,
    DriveChart::ResponseByBlock,
    DriveChart::RateByBlock,
];

/// A chart of drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriveChart {
    /// Seek time by distance.
    Seek,
    /// Sequential read rate by address.
    Transfer,
    /// Reads per second by queue depth, for each scheduler.
    IopsByDepthReads,
    /// Writes per second by queue depth, for each scheduler.
    IopsByDepthWrites,
    /// Mean response time of reads by queue depth, for each scheduler.
    ResponseByDepthReads,
    /// Mean response time of writes by queue depth, for each scheduler.
    ResponseByDepthWrites,
    /// Commands per second by span, reads and writes.
    IopsBySpan,
    /// Mean response time by span, of reads and writes.
    ResponseBySpan,
    /// Commands per second by size of command, reads and writes.
    IopsByBlock,
    /// Mean response time by size of command, of reads and writes.
    ResponseByBlock,
    /// Megabytes per second by size of command, reads and writes.
    RateByBlock,
}

const IOPS: Up = Up::FromZero("commands per second (IOPS)");
const RESPONSE: Up = Up::Logarithmic("mean response time (ms), logarithmic");

impl DriveChart {
    /// Returns the name of the chart's file.
    #[must_use]
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Seek => "seek.svg",
            Self::Transfer => "transfer.svg",
            Self::IopsByDepthReads => "iops-by-depth-reads.svg",
            Self::IopsByDepthWrites => "iops-by-depth-writes.svg",
            Self::ResponseByDepthReads => "response-by-depth-reads.svg",
            Self::ResponseByDepthWrites => "response-by-depth-writes.svg",
            Self::IopsBySpan => "iops-by-span.svg",
            Self::ResponseBySpan => "response-by-span.svg",
            Self::IopsByBlock => "iops-by-block.svg",
            Self::ResponseByBlock => "response-by-block.svg",
            Self::RateByBlock => "rate-by-block.svg",
        }
    }

    /// Returns the chart as SVG; the same study gives the same bytes.
    ///
    /// # Errors
    ///
    /// If there is nothing to draw, a figure cannot be drawn, or the size is out of bounds.
    pub fn draw(
        self,
        study: &DriveCharacterization,
        style: impl Into<ChartStyle>,
    ) -> Result<String, ChartError> {
        let Picture { title, across, up, lines, load } = self.picture(study);
        let names: Vec<&str> = study.drives.iter().map(|drive| drive.profile.as_str()).collect();
        let mut subtitles = vec![names.join(" beside ")];
        subtitles.extend(load);
        // The legend has a row for each load and a column for each drive, or everything in one row.
        let legend_columns = if names.len() == 1 { lines.len() } else { names.len() };
        LineChart { title, subtitles, across, up, lines, legend_columns }.draw(style.into())
    }

    fn picture(self, study: &DriveCharacterization) -> Picture {
        match self {
            Self::Seek => seek(study),
            Self::Transfer => transfer(study),
            Self::IopsByDepthReads | Self::IopsByDepthWrites => {
                by_depth(study, self.operation(), "Throughput by queue depth", IOPS, |point| {
                    point.iops
                })
            }
            Self::ResponseByDepthReads | Self::ResponseByDepthWrites => by_depth(
                study,
                self.operation(),
                "Response time by queue depth",
                RESPONSE,
                |point| point.response_ms,
            ),
            Self::IopsBySpan => by_span(study, "Throughput by span", IOPS, |point| point.iops),
            Self::ResponseBySpan => {
                by_span(study, "Response time by span", RESPONSE, |point| point.response_ms)
            }
            Self::IopsByBlock => {
                by_block(study, "Throughput by size of command", IOPS, |point| point.iops)
            }
            Self::ResponseByBlock => {
                by_block(study, "Response time by size of command", RESPONSE, |point| {
                    point.response_ms
                })
            }
            Self::RateByBlock => {
                let up = Up::FromZero("rate (MB/s)");
                by_block(study, "Transfer rate by size of command", up, |point| point.mb_per_s)
            }
        }
    }

    fn operation(self) -> Direction {
        match self {
            Self::IopsByDepthWrites | Self::ResponseByDepthWrites => Direction::Write,
            _ => Direction::Read,
        }
    }
}

/// The contents of a chart.
struct Picture {
    title: &'static str,
    across: Across,
    up: Up,
    lines: Vec<Line>,
    /// The load on the drives, if there was one.
    load: Option<String>,
}

fn seek(study: &DriveCharacterization) -> Picture {
    let alone = study.drives.len() == 1;
    let lines = by_drive(study, |drive| {
        // Drives differ in cylinders, so distances are relative to the full stroke.
        let stroke = f64::from(drive.cylinders.saturating_sub(1).max(1));
        let unit = if alone { 1.0 } else { stroke / 100.0 };
        drive.seek.iter().map(|point| (f64::from(point.cylinders) / unit, point.ms)).collect()
    });
    Picture {
        title: "Seek time by distance",
        across: Across::FromZero(match alone {
            true => "distance (cylinders)",
            false => "distance (% of the stroke)",
        }),
        up: Up::FromZero("seek (ms)"),
        lines,
        load: None,
    }
}

fn transfer(study: &DriveCharacterization) -> Picture {
    Picture {
        title: "Sequential read rate by address",
        across: Across::FromZero("first sector (% of the addresses)"),
        up: Up::FromZero("rate (MB/s)"),
        lines: by_drive(study, |drive| {
            let points = drive.transfer.iter();
            let ends = drive.transfer.last().map(|point| (100.0, point.mb_per_s));
            points.map(|point| (point.lba_percent, point.mb_per_s)).chain(ends).collect()
        }),
        load: None,
    }
}

fn by_depth(
    study: &DriveCharacterization,
    operation: Direction,
    title: &'static str,
    up: Up,
    figure: fn(&LoopPoint) -> f64,
) -> Picture {
    let points = |drive: &DriveFigures| -> Vec<LoopPoint> {
        let points = drive.by_depth.iter();
        points.filter(|point| point.operation == operation).cloned().collect()
    };
    let depths = study.drives.iter().flat_map(points).map(|point| point.outstanding);
    let (commands, size) = (plural(operation), bytes(study.block_bytes));
    Picture {
        title,
        across: Across::Doubling(
            "commands outstanding, the one in service included",
            ticks(depths, |depth| depth.to_string()),
        ),
        up,
        lines: by_load(
            study,
            points,
            |point| point.scheduler.clone(),
            |point| (f64::from(point.outstanding), figure(point)),
        ),
        load: Some(under(study, &format!("random {commands} of {size} over the whole drive"))),
    }
}

fn by_span(
    study: &DriveCharacterization,
    title: &'static str,
    up: Up,
    figure: fn(&LoopPoint) -> f64,
) -> Picture {
    let spans = study.drives.iter().flat_map(|drive| &drive.by_span);
    let spans = spans.map(|point| point.span_percent);
    let size = bytes(study.block_bytes);
    Picture {
        title,
        across: Across::Doubling(
            "span (% of the stroke)",
            ticks(spans, |percent| percent.to_string()),
        ),
        up,
        lines: by_load(
            study,
            |drive| drawn(&drive.by_span),
            load,
            |point| (f64::from(point.span_percent), figure(point)),
        ),
        load: Some(under(
            study,
            &format!("random commands of {size} within the outermost cylinders"),
        )),
    }
}

fn by_block(
    study: &DriveCharacterization,
    title: &'static str,
    up: Up,
    figure: fn(&LoopPoint) -> f64,
) -> Picture {
    // Ticks at the sizes of the drive with the smallest sectors: the others' are among them, or lie between them if a
    // sector size is odd.
    let finest = study.drives.iter().min_by_key(|drive| drive.sector_bytes);
    let sizes = finest.into_iter().flat_map(|drive| &drive.by_block).map(|point| point.bytes);
    Picture {
        title,
        across: Across::Doubling("size of a command", ticks(sizes, bytes)),
        up,
        lines: by_load(
            study,
            |drive| drawn(&drive.by_block),
            load,
            |point| (f64::from(point.bytes), figure(point)),
        ),
        load: Some(under(study, "random commands over the whole drive")),
    }
}

/// Describes the load on the drives, and what applies to the whole study.
fn under(study: &DriveCharacterization, load: &str) -> String {
    format!("{load}, cache {}, seed {}", study.cache, study.seed)
}

/// Returns the points to draw: one outstanding command, and several under one scheduler.
fn drawn(points: &[LoopPoint]) -> Vec<LoopPoint> {
    let is_drawn =
        |point: &&LoopPoint| point.outstanding == 1 || point.scheduler == DRAWN_SCHEDULER;
    points.iter().filter(is_drawn).cloned().collect()
}

fn load(point: &LoopPoint) -> String {
    let LoopPoint { operation, scheduler, outstanding, .. } = point;
    match outstanding {
        1 => format!("{}, 1 outstanding", plural(*operation)),
        _ => format!("{}, {outstanding} outstanding, {scheduler}", plural(*operation)),
    }
}

fn ticks(values: impl Iterator<Item = u32>, label: impl Fn(u32) -> String) -> Vec<(f64, String)> {
    let mut values: Vec<u32> = values.collect();
    values.sort_unstable();
    values.dedup();
    values.into_iter().map(|value| (f64::from(value), label(value))).collect()
}

fn by_drive(
    study: &DriveCharacterization,
    points: impl Fn(&DriveFigures) -> Vec<(f64, f64)>,
) -> Vec<Line> {
    let line = |(position, drive): (usize, &DriveFigures)| Line {
        name: drive.profile.clone(),
        appearance: Appearance::of(position),
        hollow: false,
        points: points(drive),
    };
    study.drives.iter().enumerate().map(line).collect()
}

/// Returns a line for each load on each drive. A load has one colour on all drives; the legend has a row for each load
/// and a column for each drive.
fn by_load(
    study: &DriveCharacterization,
    points: impl Fn(&DriveFigures) -> Vec<LoopPoint>,
    load: impl Fn(&LoopPoint) -> String,
    place: impl Fn(&LoopPoint) -> (f64, f64),
) -> Vec<Line> {
    let points: Vec<Vec<LoopPoint>> = study.drives.iter().map(points).collect();
    let mut loads: Vec<String> = Vec::new();
    for name in points.iter().flatten().map(&load) {
        if !loads.contains(&name) {
            loads.push(name);
        }
    }
    let mut lines = Vec::with_capacity(loads.len() * points.len());
    for (position, name) in loads.iter().enumerate() {
        for (number, (drive, points)) in study.drives.iter().zip(&points).enumerate() {
            let points = points.iter().filter(|point| load(point) == *name);
            let points: Vec<(f64, f64)> = points.map(&place).collect();
            if !points.is_empty() {
                lines.push(Line {
                    name: match study.drives.len() {
                        1 => name.clone(),
                        _ => format!("{name}: {}", drive.profile),
                    },
                    appearance: Appearance::of(position),
                    hollow: number > 0,
                    points,
                });
            }
        }
    }
    lines
}
