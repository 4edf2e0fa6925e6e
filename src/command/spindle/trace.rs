//! Traces: disk commands with their arrival times, as CSV, plain or gzip.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::ops::Range;
use std::path::Path;

use strewn::formats::GzipReader;
use strewn::spindle::{Arrival, Command, CommandError, Direction, Drive};
use strewn::terminal::Failure;

/// The columns that are read, in the order of [`Row`]; others are ignored.
const COLUMNS: [&str; 5] = ["id", "arrival_ms", "lba", "sectors", "rw"];
const ID: usize = 0;
const ARRIVAL: usize = 1;
const LBA: usize = 2;
const SECTORS: usize = 3;
const RW: usize = 4;
const COLUMNS_HELP: &str =
    "the first line names the columns; id, arrival_ms, lba, sectors and rw must be among them";

/// Longest line of a trace; a longer one is not a trace, and the rest of it is not read.
const LONGEST_LINE_BYTES: usize = 1 << 16;
/// Largest number of commands: more would take gigabytes of memory.
const MOST_COMMANDS: usize = 1 << 26;
/// Latest arrival: about thirty years, so that times in nanoseconds stay far below 2⁶⁴.
const LATEST_ARRIVAL_MS: f64 = 1e12;
const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The commands of a trace.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    /// The commands, in the order of the file.
    pub(crate) arrivals: Vec<Arrival>,
    /// The ids, concatenated, as they stand in the file.
    ids: String,
    id_ends: Vec<usize>,
}

impl Trace {
    /// Reads the trace in the file at `path`; every command must fit `drive`.
    pub(crate) fn read(path: &Path, drive: &Drive) -> Result<Self, Failure> {
        let mut lines = Lines::open(path)?;
        let header = Header::read(&mut lines)?;
        let mut trace = Self::default();
        let mut latest_ns = 0;
        while let Some((line, place)) = lines.next()? {
            if line.trim().is_empty() {
                continue;
            }
            let row = header.row(line, place)?;
            let arrival = row.arrival()?;
            if arrival.at_ns < latest_ns {
                return Err(row.wrong(
                    ARRIVAL,
                    format!("is before {} ms, when the command ahead of it arrived", ms(latest_ns)),
                    "put the commands in the order of their arrival",
                ));
            }
            drive.transfer(&arrival.command).map_err(|error| row.refused(error, drive))?;
            if trace.arrivals.len() == MOST_COMMANDS {
                return Err(Failure::bad_input(
                    format!("{place}: more than {MOST_COMMANDS} commands"),
                    "split the trace",
                ));
            }
            latest_ns = arrival.at_ns;
            trace.arrivals.push(arrival);
            trace.ids.push_str(row.cells[ID].0);
            trace.id_ends.push(trace.ids.len());
        }
        if trace.arrivals.is_empty() {
            return Err(Failure::bad_input(
                format!("{}: the trace has no commands", path.display()),
                "give a trace with a line for each command below the names of the columns",
            ));
        }
        Ok(trace)
    }

    /// Returns the ids of the commands, in order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        let starts = std::iter::once(0).chain(self.id_ends.iter().copied());
        starts.zip(&self.id_ends).map(|(start, end)| &self.ids[start..*end])
    }
}

/// Formats nanoseconds as milliseconds, exactly.
pub(crate) fn ms(ns: u64) -> String {
    format!("{}.{:06}", ns / 1_000_000, ns % 1_000_000)
}

/// A line of a file, counted from 1.
#[derive(Debug, Clone, Copy)]
struct Place<'a> {
    path: &'a Path,
    line: u64,
}

impl Display for Place<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}:{}", self.path.display(), self.line)
    }
}

/// The lines of a file, with one in memory at a time.
struct Lines<'a> {
    place: Place<'a>,
    reader: Box<dyn BufRead>,
    line: Vec<u8>,
    gzip: bool,
}

impl<'a> Lines<'a> {
    fn open(path: &'a Path) -> Result<Self, Failure> {
        let cannot = |error: io::Error| {
            Failure::bad_input(
                format!("cannot read trace {}: {error}", path.display()),
                "give the path of a CSV file, plain or gzip",
            )
        };
        let mut file = BufReader::new(File::open(path).map_err(cannot)?);
        let gzip = file.fill_buf().map_err(cannot)?.starts_with(&GZIP_MAGIC);
        let reader: Box<dyn BufRead> =
            if gzip { Box::new(BufReader::new(GzipReader::new(file))) } else { Box::new(file) };
        Ok(Self { place: Place { path, line: 0 }, reader, line: Vec::new(), gzip })
    }

    /// Returns the next line, without its line end, and its place.
    fn next(&mut self) -> Result<Option<(&str, Place<'a>)>, Failure> {
        self.line.clear();
        self.place.line += 1;
        let place = self.place;
        let most = LONGEST_LINE_BYTES as u64 + 1;
        let read = self.reader.by_ref().take(most).read_until(b'\n', &mut self.line);
        match read {
            Ok(0) => return Ok(None),
            Ok(_) => {}
            Err(error) => return Err(unreadable(place, &error, self.gzip)),
        }
        let text = std::str::from_utf8(&self.line).ok().filter(|text| !text.contains('\0'));
        if self.line.len() > LONGEST_LINE_BYTES {
            return Err(Failure::bad_input(
                format!("{place}: a line of more than {LONGEST_LINE_BYTES} bytes"),
                "give a trace as CSV, with a line for each command",
            ));
        }
        let Some(text) = text else {
            return Err(Failure::bad_input(
                format!("{place}: the line is not text"),
                "give a trace as CSV in UTF-8, plain or gzip",
            ));
        };
        let text = text.strip_suffix('\n').unwrap_or(text);
        Ok(Some((text.strip_suffix('\r').unwrap_or(text), place)))
    }
}

fn unreadable(place: Place<'_>, error: &io::Error, gzip: bool) -> Failure {
    match error.kind() {
        ErrorKind::UnexpectedEof if gzip => Failure::bad_input(
            format!("{place}: the gzip data ends too early"),
            "the file is cut short: copy or compress it again",
        ),
        _ if gzip => Failure::bad_input(
            format!("{place}: cannot decompress: {error}"),
            "the file is damaged: copy or compress it again",
        ),
        _ => Failure::bad_input(
            format!("{place}: cannot read: {error}"),
            "give the path of a CSV file, plain or gzip",
        ),
    }
}

/// Which field of a line holds which column.
struct Header {
    /// Index of the field of each column of [`COLUMNS`].
    positions: [usize; COLUMNS.len()],
    /// Number of fields in a line.
    fields: usize,
}

impl Header {
    fn read(lines: &mut Lines<'_>) -> Result<Self, Failure> {
        let path = lines.place.path;
        let Some((line, place)) = lines.next()? else {
            return Err(Failure::bad_input(
                format!("{}: the trace is empty", path.display()),
                COLUMNS_HELP,
            ));
        };
        // Spreadsheets begin UTF-8 with a byte order mark.
        let line = line.strip_prefix('\u{feff}').unwrap_or(line);
        let names: Vec<&str> = fields(line).map(|(_, name)| unquoted(name)).collect();
        let mut positions = [0; COLUMNS.len()];
        for (name, position) in COLUMNS.iter().zip(&mut positions) {
            let mut found = (0..names.len()).filter(|at| names[*at] == *name);
            *position = found.next().ok_or_else(|| {
                Failure::bad_input(format!("{place}:1: no column is called {name}"), COLUMNS_HELP)
            })?;
            if let Some(again) = found.next() {
                let column = fields(line).nth(again).map_or(1, |(at, _)| column(line, at));
                return Err(Failure::bad_input(
                    format!("{place}:{column}: a second column is called {name}"),
                    "give the columns different names",
                ));
            }
        }
        Ok(Self { positions, fields: names.len() })
    }

    fn row<'a>(&self, line: &'a str, place: Place<'a>) -> Result<Row<'a>, Failure> {
        let mut cells = [("", 0); COLUMNS.len()];
        let mut count = 0;
        for (position, (at, text)) in fields(line).enumerate() {
            count += 1;
            for (cell, wanted) in cells.iter_mut().zip(&self.positions) {
                if *wanted == position {
                    *cell = (text, at);
                }
            }
        }
        if count != self.fields {
            return Err(Failure::bad_input(
                format!("{place}: {count} fields, where the first line names {}", self.fields),
                "give every line as many fields as there are columns; a field with a comma in it is quoted",
            ));
        }
        Ok(Row { place, line, cells })
    }
}

/// A line and its fields for [`COLUMNS`], each with its byte offset.
struct Row<'a> {
    place: Place<'a>,
    line: &'a str,
    cells: [(&'a str, usize); COLUMNS.len()],
}

impl Row<'_> {
    fn arrival(&self) -> Result<Arrival, Failure> {
        if self.text(ID).is_empty() {
            return Err(self.wrong(ID, "is empty", "give every command an id"));
        }
        let at_ms = self.text(ARRIVAL).parse().ok();
        let at_ms = at_ms.filter(|at_ms| (0.0..=LATEST_ARRIVAL_MS).contains(at_ms));
        let at_ms: f64 = at_ms.ok_or_else(|| {
            self.wrong(
                ARRIVAL,
                "is not a time",
                "write milliseconds from the start of the trace, such as 12.5",
            )
        })?;
        let direction = match self.text(RW) {
            word if word.eq_ignore_ascii_case("r") || word.eq_ignore_ascii_case("read") => {
                Direction::Read
            }
            word if word.eq_ignore_ascii_case("w") || word.eq_ignore_ascii_case("write") => {
                Direction::Write
            }
            _ => return Err(self.wrong(RW, "is neither read nor write", "write R or W")),
        };
        let command = Command {
            lba: self.whole_number(LBA, "the address of a sector, such as 2048")?,
            sectors: self.whole_number(SECTORS, "a number of sectors, such as 8")?,
            direction,
        };
        Ok(Arrival { at_ns: (at_ms * 1e6).round() as u64, command })
    }

    fn whole_number<T: std::str::FromStr>(&self, cell: usize, what: &str) -> Result<T, Failure> {
        let parsed = self.text(cell).parse();
        parsed.map_err(|_| {
            self.wrong(cell, "is not a whole number in range", format!("write {what}"))
        })
    }

    fn text(&self, cell: usize) -> &str {
        unquoted(self.cells[cell].0)
    }

    /// Returns the failure for an invalid field.
    fn wrong(&self, cell: usize, what: impl Display, help: impl Into<String>) -> Failure {
        let (text, at) = self.cells[cell];
        let column = column(self.line, at);
        // Show no more than a person would read.
        let shown: String = text.chars().take(40).collect();
        let (place, name) = (self.place, COLUMNS[cell]);
        Failure::bad_input(format!("{place}:{column}: {name}: \"{shown}\" {what}"), help)
    }

    fn refused(&self, error: CommandError, drive: &Drive) -> Failure {
        match error {
            CommandError::Empty { .. } => {
                self.wrong(SECTORS, "transfers nothing", "give at least 1 sector, or drop the line")
            }
            _ => self.wrong(
                LBA,
                format!("is out of reach: {error} ({})", drive.name()),
                "give addresses of this drive in its sectors, or replay on a larger one",
            ),
        }
    }
}

/// Returns the fields of a line as they stand, each with its byte offset. Commas inside quotes do not separate.
fn fields(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut rest: Option<Range<usize>> = Some(0..line.len());
    std::iter::from_fn(move || {
        let Range { start, end } = rest.take()?;
        let mut quoted = false;
        let comma = line.as_bytes()[start..].iter().position(|byte| {
            quoted ^= *byte == b'"';
            *byte == b',' && !quoted
        });
        let Some(length) = comma else { return Some((start, line[start..end].trim())) };
        rest = Some(start + length + 1..end);
        Some((start, line[start..start + length].trim()))
    })
}

fn unquoted(field: &str) -> &str {
    field.strip_prefix('"').and_then(|field| field.strip_suffix('"')).unwrap_or(field)
}

/// Returns the column of a byte in a line, counted from 1 in characters.
fn column(line: &str, at: usize) -> usize {
    line[..at].chars().count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_end_at_commas_outside_quotes() {
        let split = |line| fields(line).map(|(_, field)| field).collect::<Vec<_>>();
        assert_eq!(split("1, 2.5 ,\"a,b\",,R"), ["1", "2.5", "\"a,b\"", "", "R"]);
        assert_eq!(split(""), [""]);
        assert_eq!(split("é,x"), ["é", "x"]);
        assert_eq!(split("\"open,1"), ["\"open,1"]);
        assert_eq!(fields("é,x").map(|(at, _)| column("é,x", at)).collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn times_are_written_to_the_nanosecond() {
        assert_eq!(ms(5_749_757), "5.749757");
        assert_eq!(ms(42), "0.000042");
    }
}
