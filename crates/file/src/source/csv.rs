//! Strewn's own lists of extents; their format is described at [`ExtentListReader`](crate::ExtentListReader).

use super::parser::{Dialect, Events, LineParser, ListedFile};
use super::text::{Line, shortened};
use crate::error::FileError;
use crate::extent::{Address, Extent, Place};

/// The list.
pub(super) static DIALECT: Dialect = Dialect {
    name: "csv",
    begins: |text| {
        let is_column = |name: &str| name.trim().trim_matches('"') == "offset";
        let is_first = |name: &str| name.trim_matches('"') == "offset";
        text.starts_with('#')
            || text.split(',').any(is_column)
            || text.split([';', '\t', ' ']).next().is_some_and(is_first)
    },
    parser: || Box::new(CsvParser::default()),
    file_system: None,
    is_copy_on_write: false,
    is_of_kernel: false,
    counts_in_units: false,
};

/// The columns, in the order in which they are written.
pub(crate) const COLUMNS: [&str; 9] = [
    "offset",
    "bytes",
    "address",
    "volume",
    "kind",
    "stored_bytes",
    "allocated_bytes",
    "shared",
    "path",
];
const OFFSET: usize = 0;
const BYTES: usize = 1;
const ADDRESS: usize = 2;
const VOLUME: usize = 3;
const KIND: usize = 4;
const STORED_BYTES: usize = 5;
const ALLOCATED_BYTES: usize = 6;
const SHARED: usize = 7;
const PATH: usize = 8;

/// Other names of columns.
const SYNONYMS: [(&str, usize); 2] = [("length", BYTES), ("physical", ADDRESS)];

/// More columns than this are refused.
const MAX_COLUMNS: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct CsvParser {
    /// For each column of the file its index in [`COLUMNS`], after the header.
    header: Option<Vec<Option<usize>>>,
    /// What divides columns, which the header tells.
    separator: Separator,
    /// The file that comments describe.
    file: ListedFile,
    /// Whether rows or the beginning of another file have passed it on.
    passed_on: bool,
    /// The path in the last row.
    row_path: Option<String>,
}

impl LineParser for CsvParser {
    fn line(&mut self, line: &Line<'_>, events: &mut Events) -> Result<(), FileError> {
        if let Some(comment) = line.text.strip_prefix('#') {
            return self.comment(line, comment, events);
        }
        let mut fields = Vec::new();
        if self.header.is_none() {
            self.separator = Separator::of(line.text);
        }
        split(line, self.separator, &mut fields)?;
        match &self.header {
            None => {
                self.header = Some(header(line, &fields)?);
                Ok(())
            }
            Some(header) => {
                let row = row(line, header, &fields)?;
                self.row(line, &row, events)
            }
        }
    }

    fn end(&mut self, events: &mut Events) {
        let is_described = self.file != ListedFile::default();
        if !self.passed_on && (self.header.is_some() || is_described) {
            events.file(self.file.clone());
        }
    }
}

impl CsvParser {
    fn comment(
        &mut self,
        line: &Line<'_>,
        comment: &str,
        events: &mut Events,
    ) -> Result<(), FileError> {
        let Some((name, value)) = comment.split_once('=') else { return Ok(()) };
        let (name, value) = (name.trim(), value.trim());
        match name {
            "path" => {
                if self.passed_on || self.file.path.is_some() {
                    self.end(events);
                    self.file.file_bytes = None;
                    self.passed_on = false;
                }
                self.file.path = Some(unquoted(line, value)?);
            }
            "file_bytes" if self.passed_on => {
                let message = "file_bytes comes after extents of the file";
                return Err(line.error_at(name, message, "put it before them, below `# path = …`"));
            }
            "file_bytes" => self.file.file_bytes = Some(line.decimal(value, name)?),
            "block_bytes" => {
                let block_bytes = line.decimal(value, name)?;
                if block_bytes == 0 {
                    return Err(line.error_at(value, "a block has 0 bytes", "give its size"));
                }
                self.file.block_bytes = Some(block_bytes);
            }
            "device_bytes" => self.file.device_bytes = Some(line.decimal(value, name)?),
            _ => {}
        }
        Ok(())
    }

    fn row(
        &mut self,
        line: &Line<'_>,
        row: &[Option<&str>; 9],
        events: &mut Events,
    ) -> Result<(), FileError> {
        let path = row[PATH].map(field_text);
        if path.is_some() && path != self.row_path {
            if self.passed_on {
                self.file.file_bytes = None;
            }
            self.file.path.clone_from(&path);
            self.row_path = path;
            self.passed_on = false;
        }
        if !self.passed_on {
            events.file(self.file.clone());
            self.passed_on = true;
        }
        let offset = row[OFFSET].unwrap_or_default();
        events.extent(line, offset, extent(line, row)?)
    }
}

/// What divides the columns of a line.
#[derive(Debug, Clone, Copy, Default)]
enum Separator {
    #[default]
    Comma,
    Semicolon,
    Tab,
    /// Any number of spaces.
    Spaces,
}

impl Separator {
    fn of(header: &str) -> Self {
        match header.trim() {
            header if header.contains(',') => Self::Comma,
            header if header.contains(';') => Self::Semicolon,
            header if header.contains('\t') => Self::Tab,
            header if header.contains(' ') => Self::Spaces,
            _ => Self::Comma,
        }
    }
}

/// Divides a line at its separators that are not within quotes. A quoted field keeps its quotes.
fn split<'a>(
    line: &Line<'a>,
    separator: Separator,
    fields: &mut Vec<&'a str>,
) -> Result<(), FileError> {
    let separator = match separator {
        Separator::Comma => b',',
        Separator::Semicolon => b';',
        Separator::Tab => b'\t',
        Separator::Spaces => {
            fields.extend(line.text.split_whitespace().take(MAX_COLUMNS));
            return Ok(());
        }
    };
    let (mut begin, mut is_quoted) = (0, false);
    for (at, byte) in line.text.bytes().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            byte if byte == separator && !is_quoted => {
                fields.push(line.text[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
        if fields.len() == MAX_COLUMNS {
            let message = format!("there are more than {MAX_COLUMNS} columns");
            return Err(line.error(message, "give a list of extents"));
        }
    }
    let last = line.text[begin..].trim();
    if is_quoted {
        return Err(line.error_at(last, "a quote is not closed", "close it in the same line"));
    }
    fields.push(last);
    Ok(())
}

/// A field without its quotes.
fn field_text(field: &str) -> String {
    match field.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) => inner.replace("\"\"", "\""),
        None => field.to_owned(),
    }
}

fn header(line: &Line<'_>, fields: &[&str]) -> Result<Vec<Option<usize>>, FileError> {
    let mut header = Vec::with_capacity(fields.len());
    for field in fields {
        let name = field_text(field);
        let column = COLUMNS.iter().position(|column| *column == name);
        let synonym = SYNONYMS.iter().find(|(synonym, _)| *synonym == name);
        let column = column.or(synonym.map(|(_, column)| *column));
        if column.is_some() && header.contains(&column) {
            let message = format!("the column {name} is there twice");
            return Err(line.error_at(field, message, "leave one out"));
        }
        header.push(column);
    }
    for required in [OFFSET, BYTES, ADDRESS] {
        if !header.contains(&Some(required)) {
            return Err(line.error(
                format!("the header has no column {}", COLUMNS[required]),
                "begin with a line that names the columns: offset,bytes,address",
            ));
        }
    }
    Ok(header)
}

/// The fields of a row in the order of [`COLUMNS`].
fn row<'a>(
    line: &Line<'a>,
    header: &[Option<usize>],
    fields: &[&'a str],
) -> Result<[Option<&'a str>; 9], FileError> {
    if fields.len() != header.len() {
        let message = format!("there are {} fields, and {} columns", fields.len(), header.len());
        return Err(line.error(message, "give each column a field, if need be an empty one"));
    }
    let mut row = [None; 9];
    for (column, field) in header.iter().zip(fields) {
        if let Some(column) = column {
            row[*column] = Some(*field);
        }
    }
    Ok(row)
}

fn extent(line: &Line<'_>, row: &[Option<&str>; 9]) -> Result<Extent, FileError> {
    let required = |column: usize| line.decimal(row[column].unwrap_or_default(), COLUMNS[column]);
    let optional = |column: usize| row[column].filter(|field| !field.is_empty());
    let volume = match optional(VOLUME) {
        None => 0,
        Some(field) => u16::try_from(line.decimal(field, "volume")?)
            .map_err(|_| line.error_at(field, "the volume is above 65535", "number them from 0"))?,
    };
    let address = || Ok::<_, FileError>(Address { volume, byte: required(ADDRESS)? });
    let stored_bytes = optional(STORED_BYTES);
    let default_kind = if stored_bytes.is_some() { "encoded" } else { "data" };
    let allocated_bytes = optional(ALLOCATED_BYTES);
    let place = match optional(KIND).unwrap_or(default_kind) {
        "data" => Place::At(address()?),
        "block" => {
            let stored_bytes = match stored_bytes {
                Some(field) => line.decimal(field, "stored_bytes")?,
                None => required(BYTES)?,
            };
            let allocated_bytes = match allocated_bytes {
                Some(field) => line.decimal(field, "allocated_bytes")?,
                None => stored_bytes,
            };
            Place::Block { at: address()?, stored_bytes, allocated_bytes }
        }
        "unwritten" => Place::Unwritten(address()?),
        "encoded" => Place::Encoded {
            at: address()?,
            stored_bytes: match stored_bytes {
                Some(field) => Some(line.decimal(field, "stored_bytes")?),
                None => None,
            },
        },
        "inline" => Place::Inline,
        "unknown" => Place::Unknown,
        other => {
            let message = format!("there is no kind `{}`", shortened(other));
            let remedy = "give data, block, unwritten, encoded, inline or unknown";
            return Err(line.error_at(other, message, remedy));
        }
    };
    let is_block = matches!(place, Place::Block { .. });
    if let (Some(field), false) = (stored_bytes, is_block || matches!(place, Place::Encoded { .. }))
    {
        let message = "stored_bytes is given for an extent that is not encoded";
        return Err(line.error_at(
            field,
            message,
            "leave it empty, or set kind to encoded or block",
        ));
    }
    if let (Some(field), false) = (allocated_bytes, is_block) {
        let message = "allocated_bytes is given for an extent that is not a block";
        return Err(line.error_at(field, message, "leave it empty, or set kind to block"));
    }
    let shared = match optional(SHARED) {
        None | Some("0" | "false") => false,
        Some("1" | "true") => true,
        Some(other) => {
            let message = format!("shared is `{}`", shortened(other));
            return Err(line.error_at(other, message, "give 0, 1, true or false"));
        }
    };
    Ok(Extent { offset: required(OFFSET)?, bytes: required(BYTES)?, place, shared })
}

/// A value as it stands, or the text of a JSON string.
fn unquoted(line: &Line<'_>, value: &str) -> Result<String, FileError> {
    if !value.starts_with('"') {
        return Ok(value.to_owned());
    }
    serde_json::from_str(value).map_err(|error| {
        let message = format!("the path in quotes is not a JSON string: {error}");
        line.error_at(value, message, "give it without quotes, or escape what is within them")
    })
}
