//! Reading a trace record by record.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use strewn_base::Direction;

use crate::fio::{IologAction, IologParser};
use crate::text::{self, ErrorKind, FileFormatError, Limits, Line, Lines};

use super::columns::Columns;
use super::format::TraceFormat;
use super::options::{BlkparseAction, OutOfOrder, TraceOptions};
use super::record::{Parsed, RawRecord, TraceRecord};
use super::{blkparse, detect, disksim, msr, spc};

/// Reads a trace record by record, keeping one line in memory.
///
/// As an iterator it returns each record, or the error that ends the trace. gzip is recognised and
/// read directly.
///
/// ```
/// use strewn_formats::trace::{TraceOptions, TraceReader};
///
/// let spc = "0,303567,3584,w,0.000000\n1,55590,3072,w,0.026214\n0,bad,1024,r,0.1\n";
/// let options = TraceOptions { name: Some("financial.spc".into()), ..TraceOptions::default() };
/// let mut reader = TraceReader::new(spc.as_bytes(), options)?;
/// let records: Vec<_> = reader.by_ref().take_while(Result::is_ok).collect();
/// assert_eq!(records.len(), 2);
/// // For a progress bar.
/// assert_eq!((reader.line(), reader.bytes_read()), (3, spc.len() as u64));
/// # Ok::<(), strewn_formats::FileFormatError>(())
/// ```
#[derive(Debug)]
pub struct TraceReader<R: BufRead> {
    lines: Lines<R>,
    options: TraceOptions,
    format: TraceFormat,
    parser: Parser,
    /// When the first record arrived, in the trace's own time.
    first_ns: Option<u128>,
    /// When the last record arrived, after the first.
    last_ns: u64,
    records: u64,
    held_back: u64,
    skipped: Skipped,
    ended: bool,
}

/// The number of lines left out, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Lines of other moments in the life of a request than the chosen one; opens and closes of an
    /// iolog's files.
    pub other_actions: u64,
    /// Flushes, discards and anything else that moves no data.
    pub no_data: u64,
    /// Lines of other devices than the chosen one.
    pub other_devices: u64,
}

#[derive(Debug)]
enum Parser {
    Msr,
    Spc,
    Blkparse(BlkparseAction),
    DiskSim,
    Columns(Columns),
    FioIolog(IologParser),
}

impl TraceReader<BufReader<File>> {
    /// Reads the trace at `path`, which names it in errors unless the options do.
    ///
    /// ```no_run
    /// use strewn_formats::trace::{TraceOptions, TraceReader};
    ///
    /// let trace = TraceReader::open("web_0.csv.gz", TraceOptions::default())?;
    /// for record in trace {
    ///     println!("{:?}", record?);
    /// }
    /// # Ok::<(), strewn_formats::FileFormatError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`FileFormatError`] if the file cannot be read, or as for [`TraceReader::new`].
    pub fn open(
        path: impl AsRef<Path>,
        mut options: TraceOptions,
    ) -> Result<Self, FileFormatError> {
        let path = path.as_ref();
        let name = options.name.get_or_insert_with(|| path.display().to_string());
        let file = text::open(path, name, "give the path of a trace, plain or gzip")?;
        Self::new(file, options)
    }
}

impl<R: BufRead> TraceReader<R> {
    /// Reads the first line of a trace, and recognises its format by it unless the options give it.
    ///
    /// # Errors
    ///
    /// [`FileFormatError`] if nothing can be read, if the trace is empty, if its format is neither
    /// given nor recognised, or if its first line is not one that the format begins with.
    pub fn new(reader: R, options: TraceOptions) -> Result<Self, FileFormatError> {
        let name = options.name.as_deref().map(Arc::from);
        let mut lines = Lines::new(reader, name, Limits::STREAM)?;
        let empty = FileFormatError::new(
            ErrorKind::Missing,
            lines.whole(),
            "the trace is empty",
            "give a trace with a line for each request",
        );
        let line = loop {
            match lines.next_line() {
                // Empty lines at the top are skipped.
                Ok(Some(line)) if line.text.trim().is_empty() => {}
                Ok(Some(_)) => {
                    lines.hold();
                    break lines.next_line()?.ok_or(empty)?;
                }
                Ok(None) => return Err(empty),
                Err(error) => return Err(of_binary_trace(error)),
            }
        };
        let format = match options.format {
            Some(format) => format,
            None => detect::detect(&line)?,
        };
        let parser = match format {
            TraceFormat::Msr => Parser::Msr,
            TraceFormat::Spc => Parser::Spc,
            TraceFormat::Blkparse => Parser::Blkparse(options.blkparse_action),
            TraceFormat::DiskSim => Parser::DiskSim,
            TraceFormat::Columns => Parser::Columns(Columns::from_header(&line)?),
            TraceFormat::FioIolog => Parser::FioIolog(IologParser::from_header(&line)?),
        };
        // A header has been consumed. Any other first line is read as a record.
        if !matches!(parser, Parser::Columns(_) | Parser::FioIolog(_)) {
            lines.hold();
        }
        Ok(Self {
            lines,
            options,
            format,
            parser,
            first_ns: None,
            last_ns: 0,
            records: 0,
            held_back: 0,
            skipped: Skipped::default(),
            ended: false,
        })
    }

    /// Returns the format, given or recognised.
    #[must_use]
    pub fn format(&self) -> TraceFormat {
        self.format
    }

    /// Returns the number of the last line read, counted from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.lines.number()
    }

    /// Returns the bytes taken from the reader so far; compressed bytes if the trace is compressed,
    /// so that they compare with the size of the file.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.lines.bytes_read()
    }

    /// Returns the number of records returned so far.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Returns the number of records that were earlier than the one before them and took its
    /// arrival time.
    #[must_use]
    pub fn held_back(&self) -> u64 {
        self.held_back
    }

    /// Returns the number of lines left out.
    #[must_use]
    pub fn skipped(&self) -> Skipped {
        self.skipped
    }

    /// Returns the id of the last record returned, in a trace of named columns that has ids.
    ///
    /// ```
    /// use strewn_formats::trace::{TraceOptions, TraceReader};
    ///
    /// let trace = "id,arrival_ms,lba,sectors,rw\nfirst,0.5,2048,8,R\n";
    /// let mut reader = TraceReader::new(trace.as_bytes(), TraceOptions::default())?;
    /// reader.next().transpose()?;
    /// assert_eq!(reader.id(), Some("first"));
    /// # Ok::<(), strewn_formats::FileFormatError>(())
    /// ```
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        match &self.parser {
            Parser::Columns(columns) => columns.id(),
            _ => None,
        }
    }

    fn next_record(&mut self) -> Result<Option<TraceRecord>, FileFormatError> {
        while let Some(line) = self.lines.next_line()? {
            let raw = match self.parser.parse(&line)? {
                Parsed::Record(raw) => raw,
                Parsed::OtherAction => {
                    self.skipped.other_actions += 1;
                    continue;
                }
                Parsed::NoData => {
                    self.skipped.no_data += 1;
                    continue;
                }
                Parsed::Nothing => continue,
                Parsed::End => return Ok(None),
            };
            if raw.length_bytes == 0 {
                self.skipped.no_data += 1;
                continue;
            }
            if self.options.device.is_some_and(|device| device != raw.device) {
                self.skipped.other_devices += 1;
                continue;
            }
            let first_ns = *self.first_ns.get_or_insert(raw.at_ns);
            let on_time = arrival_ns(&line, &raw, first_ns, self.last_ns, &self.options)?;
            let arrival_ns = on_time.unwrap_or(self.last_ns);
            let record = on_lun(&line, &raw, arrival_ns, &self.options)?;
            self.held_back += u64::from(on_time.is_none());
            self.last_ns = arrival_ns;
            self.records += 1;
            return Ok(Some(record));
        }
        Ok(None)
    }
}

impl<R: BufRead> Iterator for TraceReader<R> {
    type Item = Result<TraceRecord, FileFormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.next_record().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

impl<R: BufRead> std::iter::FusedIterator for TraceReader<R> {}

impl Parser {
    fn parse(&mut self, line: &Line<'_>) -> Result<Parsed, FileFormatError> {
        match self {
            Self::Msr | Self::Spc if line.text.trim().is_empty() => Ok(Parsed::Nothing),
            Self::Msr => msr::parse(line),
            Self::Spc => spc::parse(line),
            Self::Blkparse(action) => blkparse::parse(line, *action),
            Self::DiskSim => disksim::parse(line),
            Self::Columns(columns) => columns.parse(line),
            Self::FioIolog(parser) => of_iolog(parser, line),
        }
    }
}

fn of_iolog(parser: &mut IologParser, line: &Line<'_>) -> Result<Parsed, FileFormatError> {
    let Some(entry) = parser.entry(line)? else { return Ok(Parsed::Nothing) };
    let (direction, offset_bytes, length_bytes) = match entry.action {
        IologAction::Read { offset_bytes, length_bytes } => {
            (Direction::Read, offset_bytes, length_bytes)
        }
        IologAction::Write { offset_bytes, length_bytes } => {
            (Direction::Write, offset_bytes, length_bytes)
        }
        IologAction::Trim { .. } | IologAction::Sync | IologAction::DataSync => {
            return Ok(Parsed::NoData);
        }
        _ => return Ok(Parsed::OtherAction),
    };
    let at_ns = u128::from(entry.at_us) * 1000;
    let device = entry.file;
    Ok(Parsed::Record(RawRecord { at_ns, device, offset_bytes, length_bytes, direction }))
}

/// Computes when a record arrives, relative to the first one and at the speed chosen. Returns none
/// if that is before the last one and it is to be held back.
fn arrival_ns(
    line: &Line<'_>,
    raw: &RawRecord,
    first_ns: u128,
    last_ns: u64,
    options: &TraceOptions,
) -> Result<Option<u64>, FileFormatError> {
    let scaled_ns = match raw.at_ns.checked_sub(first_ns) {
        Some(since_ns) => Some(options.speed_up.apply(since_ns).ok_or_else(|| {
            line.error(
                ErrorKind::Value,
                "the record arrives more than 2^64 nanoseconds after the first",
                "check the times of this line and of the first one",
            )
        })?),
        None => None,
    };
    match (scaled_ns.filter(|ns| *ns >= last_ns), options.out_of_order) {
        (Some(arrival_ns), _) => Ok(Some(arrival_ns)),
        (None, OutOfOrder::HoldBack) => Ok(None),
        (None, OutOfOrder::Refuse) => Err(line.error(
            ErrorKind::Value,
            "the record arrives before the one ahead of it",
            "sort the trace by time, or let such records be held back until the one ahead of them",
        )),
    }
}

fn on_lun(
    line: &Line<'_>,
    raw: &RawRecord,
    arrival_ns: u64,
    options: &TraceOptions,
) -> Result<TraceRecord, FileFormatError> {
    let RawRecord { device, offset_bytes, length_bytes, direction, .. } = *raw;
    if offset_bytes.checked_add(length_bytes).is_none() {
        return Err(line.error(
            ErrorKind::Value,
            format!("{length_bytes} bytes from byte {offset_bytes} end past 2^64"),
            "check the offset and the size",
        ));
    }
    let record = TraceRecord { arrival_ns, device, offset_bytes, length_bytes, direction };
    let Some(lun) = options.lun else { return Ok(record) };
    lun.map(record).map_err(|beyond| {
        let help = if length_bytes > lun.bytes {
            "give a LUN that can hold it"
        } else {
            "give a larger LUN, or let records beyond it be wrapped"
        };
        line.error(ErrorKind::BeyondLun, beyond.to_string(), help)
    })
}

/// Recognises blktrace's own files, which are binary and whose first bytes are not text, and says
/// so.
fn of_binary_trace(error: FileFormatError) -> FileFormatError {
    if error.kind() != ErrorKind::Encoding || error.message().starts_with("the file is in") {
        return error;
    }
    FileFormatError::new(
        error.kind(),
        error.position().clone(),
        error.message(),
        format!("{}; a binary trace of blktrace is turned into text by blkparse", error.help()),
    )
}
