//! Looking again and again, and the history of it.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use strewn::Replacement;
use strewn::report::{self, FileHistory};
use strewn::results::FileRecord;
use strewn::scenario::Nanoseconds;
use strewn::terminal::{self, Ending, Failure};

use super::measure::Measuring;
use super::output::check_replaceable;
use crate::command::arguments::FileArguments;
use crate::command::metrics;

/// The column before those of `--csv`.
const TIME: &str = "time";
/// Most lines of a chart; the file has them all.
const MOST_LINES: usize = 8;

/// Looks at the same files at intervals, until stopped or as often as asked.
pub(super) fn watch(
    arguments: &FileArguments,
    measuring: &Measuring,
    interval: Nanoseconds,
    stops: fn() -> bool,
) -> Result<Ending, Failure> {
    // Clap requires it beside --every.
    let history = arguments.append.as_deref().unwrap_or(Path::new("history.csv"));
    check(arguments, history)?;
    if let Some(path) = &arguments.metrics {
        check_replaceable(arguments, path, "--metrics", metrics::file::is_page)?;
    }
    let interval = Duration::from_nanos(interval.0);
    let mut next = Instant::now();
    for look in 1_u32.. {
        let looked = super::look(arguments, measuring, stops)?;
        if stops() {
            return Ok(Ending::Interrupted);
        }
        append(history, SystemTime::now(), &looked.files, arguments)?;
        if let Some(path) = &arguments.metrics {
            metrics::file::write(path, &looked.files, SystemTime::now())?;
        }
        let costs = looked.files.iter().filter_map(|file| file.cost.as_ref());
        let commands: Vec<f64> = costs.map(|cost| cost.commands_per_request).collect();
        let mean = commands.iter().sum::<f64>() / commands.len().max(1) as f64;
        let extents: u64 = looked.files.iter().map(|file| file.layout.extents).sum();
        terminal::print(&format!(
            "{}: {} files, {extents} extents, {} commands per request\n",
            humantime::format_rfc3339_seconds(SystemTime::now()),
            looked.files.len(),
            if commands.is_empty() { "no".to_owned() } else { format!("{mean:.2}") },
        ))?;
        if arguments.times == Some(look) {
            return super::ending(&looked, false);
        }
        // What is not looked at now may be there the next time.
        let _ = super::ending(&looked, false);
        next += interval;
        while Instant::now() < next {
            if stops() {
                return Ok(Ending::Interrupted);
            }
            let left = next.saturating_duration_since(Instant::now());
            std::thread::sleep(left.min(Duration::from_millis(200)));
        }
    }
    Ok(Ending::Complete)
}

fn bad(path: &Path, what: impl std::fmt::Display) -> Failure {
    Failure::bad_input(
        format!("--append {}: {what}", path.display()),
        "give a new file, or one that strewn file --append began",
    )
}

/// Checks that the history is one, or can be begun.
pub(super) fn check(arguments: &FileArguments, path: &Path) -> Result<(), Failure> {
    let chart = chart_of(path);
    if chart == path {
        return Err(bad(path, "the chart beside it would have the same name"));
    }
    // What is there is checked below.
    check_replaceable(arguments, path, "--append", |_| true)?;
    check_replaceable(arguments, &chart, "the chart of --append,", |first| {
        first.starts_with("<svg ") && first.contains(report::FILE_HISTORY_TITLE)
    })?;
    read(path).map(|_| ())
}

/// Adds a row for each file, and draws the chart of all rows.
pub(super) fn append(
    path: &Path,
    now: SystemTime,
    files: &[FileRecord],
    arguments: &FileArguments,
) -> Result<(), Failure> {
    let failed = |error: &dyn std::fmt::Display| {
        Failure::failed(format!("--append {}: {error}", path.display()))
            .with_help("make sure that it can be written to, and repeat the command")
    };
    let mut table = Vec::new();
    report::write_files_csv(files, &mut table).map_err(|error| failed(&error))?;
    let mut rows = csv::Reader::from_reader(table.as_slice());
    let length = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let begins = length == 0;
    // An editor may have left the last row without its end.
    let is_open = !begins && last_byte(path).map_err(|error| failed(&error))? != b'\n';
    let mut text =
        csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    let time = humantime::format_rfc3339_seconds(now).to_string();
    let mut write = |first: &str, row: &csv::StringRecord| {
        text.write_record(std::iter::once(first).chain(row)).map_err(|error| failed(&error))
    };
    if begins {
        write(TIME, rows.headers().map_err(|error| failed(&error))?)?;
    }
    for row in rows.records() {
        write(&time, &row.map_err(|error| failed(&error))?)?;
    }
    let mut text = text.into_inner().map_err(|error| failed(&error))?;
    if is_open {
        text.splice(0..0, *b"\r\n");
    }
    let opened = OpenOptions::new().create(true).append(true).open(path);
    // At once, so that a reader never sees half a row; and none of it if there is no room for all.
    let written = opened
        .and_then(|mut file| file.write_all(&text).inspect_err(|_| drop(file.set_len(length))));
    written.map_err(|error| failed(&error))?;
    draw(path, arguments)
}

fn last_byte(path: &Path) -> io::Result<u8> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::End(-1))?;
    let mut byte = [0];
    file.read_exact(&mut byte)?;
    Ok(byte[0])
}

/// A row of a history.
struct Row {
    time: SystemTime,
    path: String,
    access: String,
    commands_per_request: Option<f64>,
}

fn read(path: &Path) -> Result<Vec<Row>, Failure> {
    let text = match super::output::read_bounded(path) {
        Ok(text) if text.is_empty() => return Ok(Vec::new()),
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(bad(path, error)),
    };
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|error| bad(path, error))?.clone();
    let column = |name: &str| {
        headers
            .iter()
            .position(|header| header == name)
            .ok_or_else(|| bad(path, format!("its first line has no column {name}")))
    };
    let (time, name) = (column(TIME)?, column("path")?);
    let (access, commands) = (column("access")?, column("commands_per_request")?);
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| bad(path, error))?;
        let line = record.position().map_or(0, csv::Position::line);
        let field = |column: usize| record.get(column).unwrap_or_default();
        let time = humantime::parse_rfc3339(field(time)).map_err(|_| {
            bad(
                path,
                format!("line {line}: {:?} is no time such as 2026-11-25T20:15:00Z", field(time)),
            )
        })?;
        let commands = field(commands);
        let commands_per_request = match commands {
            "" => None,
            number => Some(number.parse().map_err(|_| {
                bad(path, format!("line {line}: {number:?} is no number of commands"))
            })?),
        };
        let (path, access) = (field(name).to_owned(), field(access).to_owned());
        rows.push(Row { time, path, access, commands_per_request });
    }
    Ok(rows)
}

/// The chart beside the history.
pub(super) fn chart_of(path: &Path) -> PathBuf {
    path.with_extension("svg")
}

fn draw(path: &Path, arguments: &FileArguments) -> Result<(), Failure> {
    let rows = read(path)?;
    let Some(first) = rows.iter().map(|row| row.time).min() else { return Ok(()) };
    let mut files: Vec<FileHistory> = Vec::new();
    // Rows of other requests are lines of their own: they would show a change where there is none.
    let mut accesses: Vec<&str> = rows.iter().map(|row| row.access.as_str()).collect();
    accesses.retain(|access| !access.is_empty());
    accesses.sort_unstable();
    accesses.dedup();
    let access = accesses.join(", ");
    let name = |row: &Row| match accesses.len() {
        1 => row.path.clone(),
        _ => format!("{}: {}", row.path, row.access),
    };
    let mut left_out = false;
    for row in &rows {
        let Some(commands) = row.commands_per_request else { continue };
        let hours = row.time.duration_since(first).unwrap_or_default().as_secs_f64() / 3600.0;
        let name = name(row);
        if let Some(file) = files.iter_mut().find(|file| file.path == name) {
            file.points.push((hours, commands));
        } else if files.len() < MOST_LINES {
            files.push(FileHistory { path: name, points: vec![(hours, commands)] });
        } else {
            left_out = true;
        }
    }
    if left_out {
        let chart = chart_of(path);
        terminal::say(&format!("{} has the first {MOST_LINES} lines only", chart.display()));
    }
    if files.is_empty() {
        return Ok(());
    }
    let failed = |error: &dyn std::fmt::Display| {
        Failure::failed(format!("{}: {error}", chart_of(path).display()))
    };
    let svg = report::file_history_chart(&files, &access, arguments.pictures.style());
    let svg = svg.map_err(|error| failed(&error))?;
    let written = Replacement::write(&chart_of(path), svg.as_bytes());
    written.and_then(Replacement::put_in_place).map_err(|error| failed(&error))
}
