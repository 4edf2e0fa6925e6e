//! Charts of what drives do: a colour for each scheduler or load, the second drive's markers hollow.

use crate::chart::{ChartError, ChartSize};
use crate::drive::{DriveFigures, DriveStudy};
use crate::drive_table::bytes;
use crate::line_chart::{Across, Line, LineChart, Up};
use crate::marker::Appearance;

/// Every chart of drives, in the order in which a reader wants them.
pub const DRIVE_CHARTS: [DriveChart; 8] = [
    DriveChart::Seek,
    DriveChart::Transfer,
    DriveChart::IopsByDepth,
    DriveChart::ResponseByDepth,
    DriveChart::IopsBySpan,
    DriveChart::ResponseBySpan,
    DriveChart::IopsByBlock,
    DriveChart::ResponseByBlock,
];

/// A chart of drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriveChart {
    /// Seek time by distance.
    Seek,
    /// Sequential read rate by address.
    Transfer,
    /// Commands a second by queue depth, for each scheduler.
    IopsByDepth,
    /// Mean response time by queue depth, for each scheduler.
    ResponseByDepth,
    /// Commands a second by span.
    IopsBySpan,
    /// Mean response time by span.
    ResponseBySpan,
    /// Commands a second by size of command.
    IopsByBlock,
    /// Mean response time by size of command.
    ResponseByBlock,
}

impl DriveChart {
    /// Name of the chart's file.
    #[must_use]
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Seek => "seek.svg",
            Self::Transfer => "transfer.svg",
            Self::IopsByDepth => "iops-by-depth.svg",
            Self::ResponseByDepth => "response-by-depth.svg",
            Self::IopsBySpan => "iops-by-span.svg",
            Self::ResponseBySpan => "response-by-span.svg",
            Self::IopsByBlock => "iops-by-block.svg",
            Self::ResponseByBlock => "response-by-block.svg",
        }
    }

    /// The chart as SVG; the same study gives the same bytes.
    ///
    /// # Errors
    ///
    /// If there is nothing to draw, a figure cannot be drawn, or the size is out of bounds.
    pub fn draw(self, study: &DriveStudy, size: ChartSize) -> Result<String, ChartError> {
        let lines = Lines { study, loads: Vec::new() };
        let (title, across, up, lines) = match self {
            Self::Seek if study.drives.len() == 1 => (
                "Seek time by distance",
                Across::FromZero("distance (cylinders)"),
                Up::FromZero("seek (ms)"),
                lines.by_drive(|drive| {
                    drive.seek.iter().map(|point| (point.cylinders.into(), point.ms)).collect()
                }),
            ),
            // Drives have different cylinders, and the same way from one end to the other.
            Self::Seek => (
                "Seek time by distance",
                Across::FromZero("distance (% of the stroke)"),
                Up::FromZero("seek (ms)"),
                lines.by_drive(|drive| {
                    let stroke = f64::from(drive.cylinders.saturating_sub(1).max(1));
                    let share = |cylinders: u32| 100.0 * f64::from(cylinders) / stroke;
                    drive.seek.iter().map(|point| (share(point.cylinders), point.ms)).collect()
                }),
            ),
            Self::Transfer => (
                "Sequential read rate by address",
                Across::FromZero("first sector (% of the addresses)"),
                Up::FromZero("rate (MB/s)"),
                lines.by_drive(|drive| {
                    let points = drive.transfer.iter();
                    points.map(|point| (point.lba_percent, point.mb_per_s)).collect()
                }),
            ),
            Self::IopsByDepth => (
                "Throughput by queue depth",
                outstanding(study),
                Up::FromZero("commands per second (IOPS)"),
                lines.by_depth(|point| point.iops),
            ),
            Self::ResponseByDepth => (
                "Response time by queue depth",
                outstanding(study),
                Up::Logarithmic("mean response time (ms), logarithmic"),
                lines.by_depth(|point| point.response_ms),
            ),
            Self::IopsBySpan => (
                "Throughput by span",
                spans(study),
                Up::FromZero("commands per second (IOPS)"),
                lines.by_span(|point| point.iops),
            ),
            Self::ResponseBySpan => (
                "Response time by span",
                spans(study),
                Up::Logarithmic("mean response time (ms), logarithmic"),
                lines.by_span(|point| point.response_ms),
            ),
            Self::IopsByBlock => (
                "Throughput by size of command",
                sizes(study),
                Up::FromZero("commands per second (IOPS)"),
                lines.by_block(|point| point.iops),
            ),
            Self::ResponseByBlock => (
                "Response time by size of command",
                sizes(study),
                Up::Logarithmic("mean response time (ms), logarithmic"),
                lines.by_block(|point| point.response_ms),
            ),
        };
        let names: Vec<&str> = study.drives.iter().map(|drive| drive.profile.as_str()).collect();
        let mut subtitles = vec![names.join(" beside ")];
        if let Some(load) = self.load(study) {
            subtitles.push(load);
        }
        // A row for each load and a column for each drive, or all in one row.
        let legend_columns = if names.len() == 1 { lines.len() } else { names.len() };
        LineChart { title, subtitles, across, up, lines, legend_columns }.draw(size)
    }

    /// What the drives were given.
    fn load(self, study: &DriveStudy) -> Option<String> {
        let size = bytes(study.block_bytes);
        let where_and_what = match self {
            Self::Seek | Self::Transfer => return None,
            Self::IopsByDepth | Self::ResponseByDepth => {
                format!("random reads of {size} over the whole drive")
            }
            Self::IopsBySpan | Self::ResponseBySpan => {
                format!("random reads of {size} within the outermost cylinders")
            }
            Self::IopsByBlock | Self::ResponseByBlock => {
                "random reads over the whole drive".to_owned()
            }
        };
        Some(format!("{where_and_what}, cache off, seed {}", study.seed))
    }
}

fn outstanding(study: &DriveStudy) -> Across {
    let points = study.drives.iter().flat_map(|drive| &drive.by_depth);
    let depths = points.map(|point| point.outstanding);
    Across::Doubling(
        "commands outstanding, the one in service included",
        ticks(depths, |depth| depth.to_string()),
    )
}

fn spans(study: &DriveStudy) -> Across {
    let points = study.drives.iter().flat_map(|drive| &drive.by_span);
    let spans = points.map(|point| point.span_percent);
    Across::Doubling("span (% of the stroke)", ticks(spans, |percent| percent.to_string()))
}

fn sizes(study: &DriveStudy) -> Across {
    // Those of the smallest sectors: the others' sizes are among them, or lie between if sectors are odd.
    let finest = study.drives.iter().min_by_key(|drive| drive.sector_bytes);
    let points = finest.into_iter().flat_map(|drive| &drive.by_block);
    Across::Doubling("size of a command", ticks(points.map(|point| point.bytes), bytes))
}

fn ticks(values: impl Iterator<Item = u32>, label: impl Fn(u32) -> String) -> Vec<(f64, String)> {
    let mut values: Vec<u32> = values.collect();
    values.sort_unstable();
    values.dedup();
    values.into_iter().map(|value| (f64::from(value), label(value))).collect()
}

/// Lines to be, all of them of one chart.
struct Lines<'a> {
    study: &'a DriveStudy,
    loads: Vec<LoadLine>,
}

/// The line of a drive under a load.
struct LoadLine {
    load: String,
    drive: usize,
    points: Vec<(f64, f64)>,
}

impl Lines<'_> {
    fn by_drive(self, points: impl Fn(&DriveFigures) -> Vec<(f64, f64)>) -> Vec<Line> {
        let drives = self.study.drives.iter().enumerate();
        let line = |(position, drive): (usize, &DriveFigures)| Line {
            name: drive.profile.clone(),
            appearance: Appearance::of(position),
            hollow: false,
            points: points(drive),
        };
        drives.map(line).collect()
    }

    fn by_depth(mut self, figure: impl Fn(&crate::drive::DepthPoint) -> f64) -> Vec<Line> {
        for (position, drive) in self.study.drives.iter().enumerate() {
            for point in &drive.by_depth {
                let place = (f64::from(point.outstanding), figure(point));
                self.add(position, &point.scheduler, place);
            }
        }
        self.in_rows()
    }

    fn by_span(mut self, figure: impl Fn(&crate::drive::SpanPoint) -> f64) -> Vec<Line> {
        for (position, drive) in self.study.drives.iter().enumerate() {
            for point in &drive.by_span {
                let place = (f64::from(point.span_percent), figure(point));
                self.add(position, &load(&point.scheduler, point.outstanding), place);
            }
        }
        self.in_rows()
    }

    fn by_block(mut self, figure: impl Fn(&crate::drive::BlockPoint) -> f64) -> Vec<Line> {
        for (position, drive) in self.study.drives.iter().enumerate() {
            for point in &drive.by_block {
                let place = (f64::from(point.bytes), figure(point));
                self.add(position, &load(&point.scheduler, point.outstanding), place);
            }
        }
        self.in_rows()
    }

    /// Adds a point to the line of this drive and load.
    fn add(&mut self, drive: usize, load: &str, point: (f64, f64)) {
        let found = self.loads.iter_mut().find(|line| line.drive == drive && line.load == load);
        match found {
            Some(line) => line.points.push(point),
            None => self.loads.push(LoadLine { load: load.to_owned(), drive, points: vec![point] }),
        }
    }

    /// One colour for a load on every drive; a row of the legend for each load, a column for each drive.
    fn in_rows(self) -> Vec<Line> {
        let mut loads: Vec<&str> = Vec::new();
        for line in &self.loads {
            if !loads.contains(&line.load.as_str()) {
                loads.push(&line.load);
            }
        }
        let drives = &self.study.drives;
        let lines = loads.iter().enumerate().flat_map(|(position, load)| {
            self.loads.iter().filter(|line| line.load == **load).map(move |line| Line {
                name: match drives.len() {
                    1 => line.load.clone(),
                    _ => format!("{load}: {}", drives[line.drive].profile),
                },
                appearance: Appearance::of(position),
                hollow: line.drive > 0,
                points: line.points.clone(),
            })
        });
        lines.collect()
    }
}

fn load(scheduler: &str, outstanding: u32) -> String {
    match outstanding {
        1 => "1 outstanding".to_owned(),
        _ => format!("{outstanding} outstanding, {scheduler}"),
    }
}
