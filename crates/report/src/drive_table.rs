//! The performance of drives as tables of plain text, two drives side by side.

use crate::columns::Columns;
use strewn_base::Direction;
use strewn_results::words::fixed;
use strewn_results::{
    ClosedLoopFigures, DriveCharacterization, DriveFigures, LoopPoint, ReplayFigures, ShippedDrive,
};

/// Distances of the seek table, as far as the drives reach. The longest seek is given below the table.
const SEEK_DISTANCES: [u32; 10] =
    [1, 10, 100, 1_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000];
/// The table of transfer rates shows one point in this many.
const TRANSFER_STRIDE: usize = 10;

/// Returns the drives that ship: their figures, and where those come from.
#[must_use]
pub fn shipped_drives_table(drives: &[ShippedDrive]) -> String {
    let figures = Columns::new()
        .words("name", |drive: &ShippedDrive| drive.profile.clone())
        .number("capacity\nGB", |drive| fixed(drive.capacity_bytes as f64 / 1e9, 1))
        .number("rpm", |drive| drive.rpm.to_string())
        .number("interface\nMB/s", |drive| {
            drive.interface_mb_per_s.map_or_else(|| "-".to_owned(), |rate| fixed(rate, 0))
        })
        .words("figures", |drive| {
            let mut kinds: Vec<(&String, &u32)> = drive.sources.iter().collect();
            kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            let kinds: Vec<String> =
                kinds.into_iter().map(|(kind, count)| format!("{count} {kind}")).collect();
            kinds.join(", ")
        })
        .render(drives);
    let credits = Columns::new()
        .words("name", |drive: &ShippedDrive| drive.profile.clone())
        .words("from", |drive| drive.credit.clone())
        .render(drives);
    format!(
        "{figures}\n{credits}\nThe source of each figure: strewn spindle --print NAME, at [provenance].\n"
    )
}

/// Returns the outcome of replaying a trace, for a person.
#[must_use]
pub fn replay_text(figures: &ReplayFigures) -> String {
    let ReplayFigures { profile, trace, scheduler, cache, depth, commands, .. } = figures;
    let table = Columns::new()
        .words("response", |_: &ReplayFigures| "ms".to_owned())
        .number("mean", |row| fixed(row.response_ms.mean, 4))
        .number("p50", |row| fixed(row.response_ms.p50, 4))
        .number("p95", |row| fixed(row.response_ms.p95, 4))
        .number("p99", |row| fixed(row.response_ms.p99, 4))
        .number("max", |row| fixed(row.response_ms.max, 4))
        .render(std::slice::from_ref(figures));
    format!(
        "{profile}: {commands} commands of {trace}, {scheduler} among {depth}, cache {cache}\n\n{table}"
    )
}

/// Returns the outcome of a closed loop, for a person.
#[must_use]
pub fn closed_loop_text(figures: &ClosedLoopFigures) -> String {
    let ClosedLoopFigures { profile, scheduler, cache, depth, sectors, reads_percent, .. } =
        figures;
    let ClosedLoopFigures { first_lba, end_lba, commands, seed, outstanding, .. } = figures;
    let table = Columns::new()
        .number("outstanding", |row: &ClosedLoopFigures| row.outstanding.to_string())
        .number("IOPS", |row| fixed(row.iops, 2))
        .number("response\nmean, ms", |row| fixed(row.response_ms, 4))
        .render(std::slice::from_ref(figures));
    format!(
        "{profile}: {commands} commands of {sectors} sectors in {first_lba}..{end_lba}, {reads_percent} % reads, \
         {outstanding} outstanding, {scheduler} among {depth}, cache {cache}, seed {seed}\n\n{table}"
    )
}

/// Returns all tables of a study, each under a line that describes it.
#[must_use]
pub fn drive_tables(study: &DriveCharacterization) -> String {
    let drives = &study.drives;
    let size = bytes(study.block_bytes);
    let mut all = overview(drives);
    let mut section = |title: &str, table: String| {
        all.push_str(&format!("\n{title}\n\n{table}"));
    };
    section("Seek, ms", seek(drives));
    section(
        "Sequential read, MB/s, from the start of each tenth of the addresses",
        transfer(drives),
    );
    for operation in Direction::ALL {
        let commands = plural(operation);
        let whole = format!("random {commands} of {size} over the whole drive");
        let outermost = format!("random {commands} of {size} within the outermost cylinders");
        let any_size = format!("random {commands} over the whole drive");
        for (axis, by, load) in [
            (&BY_DEPTH, "commands outstanding", whole),
            (&BY_SPAN, "span, commands outstanding and scheduler", outermost),
            (&BY_BLOCK, "size, commands outstanding and scheduler", any_size),
        ] {
            let cache = &study.cache;
            for figure in axis.figures {
                let title = format!("{} by {by}: {load}, cache {cache}", figure.words);
                section(&title, loops(drives, axis, operation, figure.show));
            }
        }
    }
    all
}

/// A figure of a closed loop, and its format.
struct Figure {
    words: &'static str,
    show: fn(&LoopPoint) -> String,
}

const IOPS: Figure = Figure { words: "IOPS", show: |point| fixed(point.iops, 1) };
const RESPONSE: Figure =
    Figure { words: "Mean response, ms,", show: |point| fixed(point.response_ms, 2) };
const RATE: Figure = Figure { words: "MB/s", show: |point| fixed(point.mb_per_s, 1) };

/// A dimension of closed loops: a row for each of its values, a column for each load.
struct LoopAxis {
    points: fn(&DriveFigures) -> &[LoopPoint],
    header: &'static str,
    row: fn(&LoopPoint) -> u32,
    row_words: fn(u32) -> String,
    column: fn(&LoopPoint) -> String,
    figures: &'static [Figure],
}

const BY_DEPTH: LoopAxis = LoopAxis {
    points: |drive| &drive.by_depth,
    header: "outstanding",
    row: |point| point.outstanding,
    row_words: |outstanding| outstanding.to_string(),
    column: |point| point.scheduler.clone(),
    figures: &[IOPS, RESPONSE],
};
const BY_SPAN: LoopAxis = LoopAxis {
    points: |drive| &drive.by_span,
    header: "stroke\n%",
    row: |point| point.span_percent,
    row_words: |percent| percent.to_string(),
    column: load_header,
    figures: &[IOPS, RESPONSE],
};
const BY_BLOCK: LoopAxis = LoopAxis {
    points: |drive| &drive.by_block,
    header: "size",
    row: |point| point.bytes,
    row_words: bytes,
    column: load_header,
    figures: &[IOPS, RESPONSE, RATE],
};

/// Returns the header of a load. A single command leaves the scheduler no choice.
fn load_header(point: &LoopPoint) -> String {
    match point.outstanding {
        1 => "1".to_owned(),
        outstanding => format!("{outstanding}\n{}", point.scheduler),
    }
}

/// Returns the letter of the drive at `position` in a header; empty if it is the only drive.
fn letter(drives: &[DriveFigures], position: usize) -> String {
    if drives.len() == 1 {
        return String::new();
    }
    char::from(b'A' + position as u8 % 26).to_string()
}

/// Returns a header, whose last line identifies the drive if there are several.
fn header(words: &str, drives: &[DriveFigures], position: usize) -> String {
    let letter = letter(drives, position);
    if letter.is_empty() { words.to_owned() } else { format!("{words}\n{letter}") }
}

type Property = (&'static str, fn(&DriveFigures) -> String);

fn overview(drives: &[DriveFigures]) -> String {
    const PROPERTIES: [Property; 10] = [
        ("capacity, GB", |drive| {
            fixed(drive.capacity_sectors as f64 * f64::from(drive.sector_bytes) / 1e9, 1)
        }),
        ("sectors", |drive| drive.capacity_sectors.to_string()),
        ("bytes in a sector", |drive| drive.sector_bytes.to_string()),
        ("rpm", |drive| drive.rpm.to_string()),
        ("revolution, ms", |drive| fixed(drive.revolution_ms, 4)),
        ("heads", |drive| drive.heads.to_string()),
        ("cylinders", |drive| drive.cylinders.to_string()),
        ("zones", |drive| drive.zones.to_string()),
        ("head switch, ms", |drive| fixed(drive.head_switch_ms, 3)),
        ("write settle, ms", |drive| fixed(drive.write_settle_ms, 3)),
    ];
    let mut columns = Columns::new().words("", |row: &Property| row.0.to_owned());
    for (position, drive) in drives.iter().enumerate() {
        let letter = letter(drives, position);
        let name = if letter.is_empty() {
            drive.profile.clone()
        } else {
            format!("{letter}: {}", drive.profile)
        };
        let drive = drive.clone();
        columns = columns.number(name, move |row| (row.1)(&drive));
    }
    columns.render(&PROPERTIES)
}

fn seek(drives: &[DriveFigures]) -> String {
    let longest = |drive: &DriveFigures| drive.seek.last().map_or(0, |point| point.cylinders);
    let mut rows: Vec<u32> = drives.iter().map(longest).collect();
    let farthest = rows.iter().copied().max().unwrap_or_default();
    rows.extend(SEEK_DISTANCES.iter().filter(|distance| **distance < farthest));
    rows.sort_unstable();
    rows.dedup();
    let mut columns = Columns::new().number("cylinders", |row: &u32| row.to_string());
    for (position, drive) in drives.iter().enumerate() {
        let points = drive.seek.clone();
        columns = columns.number(header("ms", drives, position), move |row| {
            // Interpolated between the points on both sides.
            let above = points.partition_point(|point| point.cylinders < *row);
            let (Some(high), low) = (points.get(above), points.get(above.saturating_sub(1))) else {
                return "-".to_owned();
            };
            let low = low.unwrap_or(high);
            let apart = f64::from(high.cylinders - low.cylinders).max(1.0);
            let share = f64::from(row - low.cylinders) / apart;
            fixed(low.ms + share * (high.ms - low.ms), 3)
        });
    }
    columns.render(&rows)
}

fn transfer(drives: &[DriveFigures]) -> String {
    let points = drives.iter().map(|drive| drive.transfer.len()).min().unwrap_or_default();
    let rows: Vec<usize> = (0..points).step_by(TRANSFER_STRIDE).collect();
    let percents: Vec<f64> = drives
        .first()
        .iter()
        .flat_map(|drive| &drive.transfer)
        .map(|point| point.lba_percent)
        .collect();
    let mut columns =
        Columns::new().number("address\n%", move |row: &usize| fixed(percents[*row], 0));
    for (position, drive) in drives.iter().enumerate() {
        let points = drive.transfer.clone();
        columns = columns
            .number(header("MB/s", drives, position), move |row| fixed(points[*row].mb_per_s, 1));
    }
    columns.render(&rows)
}

/// Returns one figure of all closed loops of an operation.
fn loops(
    drives: &[DriveFigures],
    axis: &LoopAxis,
    operation: Direction,
    show: fn(&LoopPoint) -> String,
) -> String {
    let points = |drive: &DriveFigures| -> Vec<LoopPoint> {
        let points = (axis.points)(drive).iter();
        points.filter(|point| point.operation == operation).cloned().collect()
    };
    let all: Vec<LoopPoint> = drives.iter().flat_map(points).collect();
    let mut rows: Vec<u32> = all.iter().map(axis.row).collect();
    rows.sort_unstable();
    rows.dedup();
    // In the order of the points.
    let mut loads: Vec<String> = Vec::new();
    for load in all.iter().map(axis.column) {
        if !loads.contains(&load) {
            loads.push(load);
        }
    }
    let row_words = axis.row_words;
    let mut columns = Columns::new().number(axis.header, move |row: &u32| row_words(*row));
    for load in loads {
        for (position, drive) in drives.iter().enumerate() {
            let mut points = points(drive);
            points.retain(|point| (axis.column)(point) == load);
            let row_of = axis.row;
            columns = columns.number(header(&load, drives, position), move |row| {
                let found = points.iter().find(|point| row_of(point) == *row);
                found.map_or_else(|| "-".to_owned(), show)
            });
        }
    }
    columns.render(&rows)
}

/// Formats a size as a person would write it: `4 KiB`, or `520 B` if it is no whole number of a larger unit.
pub(crate) fn bytes(bytes: u32) -> String {
    match bytes {
        _ if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} B"),
    }
}

/// Returns the plural for commands of a direction: `reads` or `writes`.
pub(crate) const fn plural(direction: Direction) -> &'static str {
    match direction {
        Direction::Read => "reads",
        Direction::Write => "writes",
    }
}
