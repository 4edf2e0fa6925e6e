//! Reading a trace record by record.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use strewn_base::Direction;

use crate::fio::{IologAction, IologParser};
use crate::text::{self, ErrorKind, FileFormatError, FilePosition, Limits, Line, Lines, Source};

use super::binary::{BinaryReader, Records};
use super::columns::Columns;
use super::format::TraceFormat;
use super::options::{BlkparseAction, OutOfOrder, TraceOptions};
use super::record::{Parsed, RawRecord, TraceRecord, TraceResponse};
use super::responses::Responses;
use super::spread::{MOST_IN_A_SECOND, Numbered, Spread};
use super::{alibaba, blkparse, detect, disksim, msr, spc, tencent};

/// Most bytes of a read or write: kernels and host adapters count those of a request in 32 bits. Discards, which may be
/// longer, are not returned.
const MOST_RECORD_BYTES: u64 = 1 << 32;

/// Reads a trace record by record, keeping one line in memory; of a Tencent trace, the records of a second.
///
/// As an iterator it returns each record, or the error that ends the trace. gzip and zstd are
/// recognised and read directly. Where a line is counted, a record is counted of a binary trace.
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
    input: Input<R>,
    file: Option<Arc<str>>,
    options: TraceOptions,
    format: TraceFormat,
    spread: Option<Spread>,
    responses: Responses,
    /// The line of the last record returned.
    line: u64,
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
    /// Discards: no array here is told of them.
    pub trims: u64,
    /// Requests of no bytes.
    pub empty: u64,
    /// Flushes and anything else that moves no data.
    pub no_data: u64,
    /// Lines of other devices than the chosen one.
    pub other_devices: u64,
}

impl Skipped {
    /// Returns the number of all lines left out.
    #[must_use]
    pub fn all(&self) -> u64 {
        let Self { other_actions, trims, empty, no_data, other_devices } = *self;
        other_actions + trims + empty + no_data + other_devices
    }
}

#[derive(Debug)]
enum Input<R: BufRead> {
    Text(Lines<R>, Parser),
    Binary(BinaryReader<R>),
}

#[derive(Debug)]
enum Parser {
    Msr,
    Spc,
    Blkparse(BlkparseAction),
    DiskSim,
    Columns(Columns),
    FioIolog(IologParser),
    Alibaba,
    Tencent,
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
        let file = text::open(path, name, "give the path of a trace, plain, gzip or zstd")?;
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
    pub fn new(reader: R, mut options: TraceOptions) -> Result<Self, FileFormatError> {
        let file: Option<Arc<str>> = options.name.as_deref().map(Arc::from);
        let whole = FilePosition::new(file.clone(), 0, 0);
        let mut source =
            Source::new(reader).map_err(|error| text::unreadable(error, None, whole.clone()))?;
        options.devices.sort_unstable();
        let head = source.peek(detect::HEAD_BYTES);
        let (input, format) = match detect::binary(head, &options, &whole)? {
            Some(records) => {
                let format = match records {
                    Records::Vscsi(_) => TraceFormat::Vscsi,
                    Records::Blktrace(..) => TraceFormat::Blktrace,
                };
                (Input::Binary(BinaryReader::new(source, file.clone(), records)), format)
            }
            None => text_input(Lines::of_source(source, file.clone(), Limits::STREAM), &options)?,
        };
        let is_spread = format == TraceFormat::Tencent && !options.at_whole_seconds;
        Ok(Self {
            input,
            file,
            options,
            format,
            spread: is_spread.then(Spread::default),
            responses: Responses::default(),
            line: 0,
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

    /// Returns the number of the last line read, counted from 1; of the last record returned, in a Tencent trace.
    #[must_use]
    pub fn line(&self) -> u64 {
        match &self.input {
            Input::Text(..) if self.spread.is_some() && !self.ended => self.line,
            Input::Text(lines, _) => lines.number(),
            Input::Binary(records) => records.number(),
        }
    }

    /// Returns the bytes taken from the reader so far; compressed bytes if the trace is compressed,
    /// so that they compare with the size of the file.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        match &self.input {
            Input::Text(lines, _) => lines.bytes_read(),
            Input::Binary(records) => records.bytes_read(),
        }
    }

    /// Keeps recorded response times from now on, as if [`TraceOptions::responses`] had asked for them.
    pub fn keep_responses(&mut self) {
        self.options.responses = true;
    }

    /// Returns the next recorded response time, if the options ask for them: of records returned so far, and in the
    /// order in which they are known. MSR traces have them in their lines, those of blktrace and blkparse as
    /// completions, which come after their records. They take memory until they are taken.
    ///
    /// ```
    /// use strewn_formats::trace::{TraceOptions, TraceReader};
    ///
    /// let text = "8,0 3 1 0.1 697 D W 223490 + 8 [a]\n8,0 3 2 0.104 697 C W 223490 + 8 [0]\n";
    /// let options = TraceOptions { responses: true, ..TraceOptions::default() };
    /// let mut reader = TraceReader::new(text.as_bytes(), options)?;
    /// assert_eq!(reader.by_ref().count(), 1);
    /// assert_eq!(reader.next_response().map(|response| response.response_ns), Some(4_000_000));
    /// # Ok::<(), strewn_formats::FileFormatError>(())
    /// ```
    pub fn next_response(&mut self) -> Option<TraceResponse> {
        self.responses.next()
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
        match &self.input {
            Input::Text(_, Parser::Columns(columns)) => columns.id(),
            _ => None,
        }
    }

    fn next_record(&mut self) -> Result<Option<TraceRecord>, FileFormatError> {
        let numbered = match self.spread {
            None => self.next_raw()?,
            Some(_) => self.next_spread()?,
        };
        let Some((raw, number)) = numbered else { return Ok(None) };
        self.line = number;
        let first_ns = *self.first_ns.get_or_insert(raw.at_ns);
        let line = Line::new("", number, &self.file);
        let on_time = arrival_ns(&line, &raw, first_ns, self.last_ns, &self.options)?;
        let arrival_ns = on_time.unwrap_or(self.last_ns);
        let record = on_lun(&line, &raw, arrival_ns, &self.options)?;
        if record.length_bytes > MOST_RECORD_BYTES {
            return Err(line.error(
                ErrorKind::Limit,
                format!(
                    "a record of {} bytes; no device transfers that many at a time",
                    record.length_bytes
                ),
                "correct the length, which is at most 4 GiB (2^32 bytes), or leave the line out",
            ));
        }
        self.held_back += u64::from(on_time.is_none());
        self.last_ns = arrival_ns;
        self.records += 1;
        if self.options.responses && (raw.response_ns.is_some() || self.has_completions()) {
            self.responses.arrives(&raw, arrival_ns);
        }
        Ok(Some(record))
    }

    fn has_completions(&self) -> bool {
        matches!(self.format, TraceFormat::Blkparse | TraceFormat::Blktrace)
            && self.options.blkparse_action != BlkparseAction::Completed
    }

    /// Returns the next record that counts, and the number of its line.
    fn next_raw(&mut self) -> Result<Option<Numbered>, FileFormatError> {
        loop {
            let (parsed, number) = match &mut self.input {
                Input::Text(lines, parser) => {
                    let Some(line) = lines.next_line()? else { return Ok(None) };
                    (parser.parse(&line)?, line.number)
                }
                Input::Binary(records) => {
                    let Some(parsed) = records.next()? else { return Ok(None) };
                    (parsed, records.number())
                }
            };
            match parsed {
                Parsed::Record(raw) if raw.length_bytes == 0 => self.skipped.empty += 1,
                Parsed::Record(raw) if !self.is_wanted(raw.device) => {
                    self.skipped.other_devices += 1;
                }
                Parsed::Record(raw) => return Ok(Some((raw, number))),
                Parsed::Completion(raw) => {
                    self.skipped.other_actions += 1;
                    if self.options.responses {
                        self.responses.completes(&raw);
                    }
                }
                Parsed::OtherAction => self.skipped.other_actions += 1,
                Parsed::Trim => self.skipped.trims += 1,
                Parsed::NoData => self.skipped.no_data += 1,
                Parsed::Nothing => {}
                Parsed::End => return Ok(None),
            }
        }
    }

    fn is_wanted(&self, device: u32) -> bool {
        let devices = &self.options.devices;
        devices.is_empty() || devices.binary_search(&device).is_ok()
    }

    /// Returns the next record with its time spread over its second.
    fn next_spread(&mut self) -> Result<Option<Numbered>, FileFormatError> {
        let mut spread = self.spread.take().unwrap_or_default();
        let mut next = spread.pop();
        if next.is_none() {
            spread.begin();
            while let Some(numbered) = self.next_raw()? {
                if spread.push(numbered) {
                    break;
                }
                if spread.len() > MOST_IN_A_SECOND {
                    return Err(Line::new("", numbered.1, &self.file).error(
                        ErrorKind::Limit,
                        format!("more than {MOST_IN_A_SECOND} records have the same second"),
                        "choose some of its volumes, or have all records arrive at the second",
                    ));
                }
            }
            spread.finish();
            next = spread.pop();
        }
        self.spread = Some(spread);
        Ok(next)
    }
}

/// Returns the lines of a text trace and what parses them, and its format.
fn text_input<R: BufRead>(
    mut lines: Lines<R>,
    options: &TraceOptions,
) -> Result<(Input<R>, TraceFormat), FileFormatError> {
    let whole = lines.whole();
    let empty = || {
        let help = "give a trace with a line for each request";
        FileFormatError::new(ErrorKind::Missing, whole.clone(), "the trace is empty", help)
    };
    let line = loop {
        match lines.next_line() {
            // Empty lines at the top are skipped.
            Ok(Some(line)) if line.text.trim().is_empty() => {}
            Ok(Some(_)) => {
                lines.hold();
                break lines.next_line()?.ok_or_else(empty)?;
            }
            Ok(None) => return Err(empty()),
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
        TraceFormat::Alibaba => Parser::Alibaba,
        TraceFormat::Tencent => Parser::Tencent,
        // These were refused, or read as binary.
        TraceFormat::Vscsi | TraceFormat::Blktrace => return Err(empty()),
    };
    // A header has been consumed. Any other first line is read as a record.
    if !matches!(parser, Parser::Columns(_) | Parser::FioIolog(_)) {
        lines.hold();
    }
    Ok((Input::Text(lines, parser), format))
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
            Self::Msr | Self::Spc | Self::Alibaba | Self::Tencent
                if line.text.trim().is_empty() =>
            {
                Ok(Parsed::Nothing)
            }
            Self::Alibaba => alibaba::parse(line),
            Self::Tencent => tencent::parse(line),
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
        IologAction::Trim { .. } => return Ok(Parsed::Trim),
        IologAction::Sync | IologAction::DataSync => return Ok(Parsed::NoData),
        _ => return Ok(Parsed::OtherAction),
    };
    let at_ns = u128::from(entry.at_us) * 1000;
    let device = entry.file;
    let response_ns = None;
    Ok(Parsed::Record(RawRecord {
        at_ns,
        device,
        offset_bytes,
        length_bytes,
        direction,
        response_ns,
    }))
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

/// Says of a file that is neither text nor a binary trace that is known what it may be.
fn of_binary_trace(error: FileFormatError) -> FileFormatError {
    if error.kind() != ErrorKind::Encoding || error.message().starts_with("the file is in") {
        return error;
    }
    FileFormatError::new(
        error.kind(),
        error.position().clone(),
        error.message(),
        format!(
            "{}; binary traces are read that blktrace and vscsi write, and no others",
            error.help()
        ),
    )
}
