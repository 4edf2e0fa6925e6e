//! CSV whose first line names the columns.

use std::ops::Range;

use strewn_base::{Direction, SECTOR_BYTES};

use crate::text::{Decimal, ErrorKind, FileFormatError, Line, decimal, quoted, unsigned_up_to};

use super::record::{Parsed, RawRecord};

/// The columns that are read; all others are ignored.
const COLUMNS: [&str; 5] = ["id", "arrival_ms", "lba", "sectors", "rw"];
const COLUMNS_HELP: &str =
    "the first line names the columns; arrival_ms, lba, sectors and rw must be among them";

/// The position of each field in a line, and the id of the last line read.
#[derive(Debug)]
pub(super) struct Columns {
    /// By column read; the id may be left out.
    positions: [Option<usize>; COLUMNS.len()],
    /// Number of fields in a line.
    fields: usize,
    id: String,
}

impl Columns {
    pub(super) fn from_header(line: &Line<'_>) -> Result<Self, FileFormatError> {
        let names: Vec<&str> = fields(line.text).collect();
        let mut positions = [None; COLUMNS.len()];
        for (name, position) in COLUMNS.iter().zip(&mut positions) {
            let mut found = (0..names.len()).filter(|at| unquoted(names[*at]) == *name);
            *position = found.next();
            if position.is_none() && *name != "id" {
                let message = format!("no column is called {name}");
                return Err(line.error(ErrorKind::Missing, message, COLUMNS_HELP));
            }
            if let Some(again) = found.next() {
                let message = format!("a second column is called {name}");
                let help = "give the columns different names";
                return Err(line.error_of(names[again], ErrorKind::Syntax, message, help));
            }
        }
        Ok(Self { positions, fields: names.len(), id: String::new() })
    }

    pub(super) fn id(&self) -> Option<&str> {
        self.positions[0].map(|_| self.id.as_str())
    }

    pub(super) fn parse(&mut self, line: &Line<'_>) -> Result<Parsed, FileFormatError> {
        if line.text.trim().is_empty() {
            return Ok(Parsed::Nothing);
        }
        let mut cells = [""; COLUMNS.len()];
        let mut count = 0;
        for (position, text) in fields(line.text).enumerate() {
            count += 1;
            for (cell, wanted) in cells.iter_mut().zip(&self.positions) {
                if *wanted == Some(position) {
                    *cell = unquoted(text);
                }
            }
        }
        if count != self.fields {
            return Err(line.error(
                ErrorKind::Syntax,
                format!("{count} fields, where the first line names {}", self.fields),
                "give every line as many fields as there are columns; a field with a comma in it \
                 is quoted",
            ));
        }
        let [id, arrival, lba, sectors, rw] = cells;
        let help = "write milliseconds from the start of the trace, such as 12.5";
        let at_ns = decimal(line, arrival, "arrival_ms", Decimal::Milliseconds, help)?;
        let most = u64::MAX / SECTOR_BYTES;
        let help = "write the address of a sector, such as 2048";
        let lba = unsigned_up_to(line, lba, "lba", most, help)?;
        let help = "write a number of sectors, such as 8";
        let sectors = unsigned_up_to(line, sectors, "sectors", most, help)?;
        let is = |words: [&str; 2]| words.iter().any(|word| rw.eq_ignore_ascii_case(word));
        let direction = if is(["r", "read"]) {
            Direction::Read
        } else if is(["w", "write"]) {
            Direction::Write
        } else {
            let message = format!("rw: {} is neither read nor write", quoted(rw));
            return Err(line.error_of(rw, ErrorKind::Value, message, "write R or W"));
        };
        self.id.clear();
        self.id.push_str(id);
        Ok(Parsed::Record(RawRecord {
            at_ns: at_ns.into(),
            device: 0,
            offset_bytes: lba * SECTOR_BYTES,
            length_bytes: sectors * SECTOR_BYTES,
            direction,
            response_ns: None,
        }))
    }
}

/// Returns whether the first line of a trace of unknown format names the columns of this one.
pub(super) fn recognises(line: &str) -> bool {
    let has = |name| fields(line).any(|field| unquoted(field) == name);
    COLUMNS[1..].iter().all(|name| has(*name))
}

/// Splits a line into fields. A comma between quotes belongs to its field.
fn fields(line: &str) -> impl Iterator<Item = &str> {
    let mut rest: Option<Range<usize>> = Some(0..line.len());
    std::iter::from_fn(move || {
        let Range { start, end } = rest.take()?;
        let mut quoted = false;
        let comma = line.as_bytes()[start..].iter().position(|byte| {
            quoted ^= *byte == b'"';
            *byte == b',' && !quoted
        });
        let Some(length) = comma else { return Some(line[start..end].trim()) };
        rest = Some(start + length + 1..end);
        Some(line[start..start + length].trim())
    })
}

fn unquoted(field: &str) -> &str {
    field.strip_prefix('"').and_then(|field| field.strip_suffix('"')).unwrap_or(field)
}
