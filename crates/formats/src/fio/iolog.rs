//! fio's log of I/O, which `write_iolog` writes and `read_iolog` replays.

use std::collections::HashMap;
use std::io::{BufRead, Write};

use crate::text::{
    ErrorKind, FileFormatError, Limits, Line, Lines, WriteError, did_you_mean, quoted, unsigned,
};

const HEADER: &str = "fio version ";
const HEADER_HELP: &str = "the first line is `fio version 2 iolog` or `fio version 3 iolog`";
/// fio reads file names into 256 bytes, and lengths into 32 bits.
const LONGEST_NAME_BYTES: usize = 255;
const MOST_LENGTH_BYTES: u64 = u32::MAX as u64;
/// A log names the files it touches. A log that names more than this is damaged, and would take
/// memory.
const MOST_FILES: usize = 1 << 16;
const ACTIONS: [&str; 9] =
    ["add", "open", "close", "read", "write", "trim", "sync", "datasync", "wait"];

/// A version of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IologVersion {
    /// `file action offset length`. Time passes by `wait`, which gives the millisecond of the
    /// replay at which it ends. (The manual page of 3.33 gives microseconds after the previous wait
    /// instead; a run of 3.33, and axboe/fio issue 756, agree with this crate.)
    V2,
    /// `timestamp file action offset length`, the timestamp in microseconds. fio 3.31 and later
    /// write it.
    V3,
}

/// A line of an iolog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IologEntry {
    /// Time in microseconds from the start of the log.
    pub at_us: u64,
    /// The file, by its position in [`IologReader::files`].
    pub file: u32,
    /// The action.
    pub action: IologAction,
}

/// An action on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IologAction {
    /// The file is added to the log.
    Add,
    /// The file is opened.
    Open,
    /// The file is closed.
    Close,
    /// Bytes are read.
    Read {
        /// The first byte.
        offset_bytes: u64,
        /// Number of bytes.
        length_bytes: u64,
    },
    /// Bytes are written.
    Write {
        /// The first byte.
        offset_bytes: u64,
        /// Number of bytes.
        length_bytes: u64,
    },
    /// Bytes are discarded.
    Trim {
        /// The first byte.
        offset_bytes: u64,
        /// Number of bytes.
        length_bytes: u64,
    },
    /// Everything written is made durable.
    Sync,
    /// The data written is made durable.
    DataSync,
}

/// Reads an iolog, entry by entry, keeping one line in memory. gzip is read directly.
///
/// A wait of version 2 is not an entry: it shows in the times of the entries after it.
///
/// ```
/// use strewn_formats::fio::{IologAction, IologReader, IologVersion};
///
/// let log = "fio version 2 iolog\n/lun add\n/lun open\n/lun wait 5 0\n/lun read 4096 512\n";
/// let mut reader = IologReader::new(log.as_bytes(), Some("a.log"))?;
/// assert_eq!(reader.version(), IologVersion::V2);
/// let entries = reader.by_ref().collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(reader.files(), ["/lun"]);
/// assert_eq!(entries[2].at_us, 5_000);
/// assert_eq!(entries[2].action, IologAction::Read { offset_bytes: 4096, length_bytes: 512 });
/// # Ok::<(), strewn_formats::FileFormatError>(())
/// ```
#[derive(Debug)]
pub struct IologReader<R: BufRead> {
    lines: Lines<R>,
    parser: IologParser,
    ended: bool,
}

impl<R: BufRead> IologReader<R> {
    /// Reads the first line of the log. `name` names the log in errors.
    ///
    /// # Errors
    ///
    /// [`FileFormatError`] if nothing can be read or the first line is not a version's.
    pub fn new(reader: R, name: Option<&str>) -> Result<Self, FileFormatError> {
        let mut lines = Lines::new(reader, name.map(Into::into), Limits::STREAM)?;
        let whole = lines.whole();
        let Some(line) = lines.next_line()? else {
            return Err(FileFormatError::new(
                ErrorKind::Missing,
                whole,
                "the log is empty",
                HEADER_HELP,
            ));
        };
        let parser = IologParser::from_header(&line)?;
        Ok(Self { lines, parser, ended: false })
    }

    /// Returns the version that the log declares.
    #[must_use]
    pub fn version(&self) -> IologVersion {
        self.parser.version
    }

    /// Returns the files added so far, in order.
    #[must_use]
    pub fn files(&self) -> &[String] {
        &self.parser.files
    }

    /// Returns the number of the last line read, counted from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.lines.number()
    }

    /// Returns the bytes taken from the reader so far; compressed bytes if the log is compressed.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.lines.bytes_read()
    }

    fn next_entry(&mut self) -> Result<Option<IologEntry>, FileFormatError> {
        while let Some(line) = self.lines.next_line()? {
            if let Some(entry) = self.parser.entry(&line)? {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }
}

impl<R: BufRead> Iterator for IologReader<R> {
    type Item = Result<IologEntry, FileFormatError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let next = self.next_entry().transpose();
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

impl<R: BufRead> std::iter::FusedIterator for IologReader<R> {}

/// Returns whether a line begins an iolog.
pub(crate) fn is_iolog_header(line: &str) -> bool {
    line.starts_with(HEADER) && line.trim_end().ends_with("iolog")
}

/// State carried over from the lines read so far.
#[derive(Debug)]
pub(crate) struct IologParser {
    version: IologVersion,
    files: Vec<String>,
    position: HashMap<String, u32>,
    /// When the last wait of a log of version 2 ended.
    now_us: u64,
}

impl IologParser {
    pub(crate) fn from_header(line: &Line<'_>) -> Result<Self, FileFormatError> {
        let version = match line.text.trim_end() {
            "fio version 2 iolog" => IologVersion::V2,
            "fio version 3 iolog" => IologVersion::V3,
            other if is_iolog_header(other) => {
                let message = format!("{} is not a version that is known", quoted(other));
                return Err(line.error(ErrorKind::Refused, message, HEADER_HELP));
            }
            other => {
                let message = format!("{} does not begin an iolog", quoted(other));
                return Err(line.error(ErrorKind::Syntax, message, HEADER_HELP));
            }
        };
        Ok(Self { version, files: Vec::new(), position: HashMap::new(), now_us: 0 })
    }

    /// Parses a line. Returns none if it is empty or a wait.
    pub(crate) fn entry(&mut self, line: &Line<'_>) -> Result<Option<IologEntry>, FileFormatError> {
        let mut fields = line.text.split_ascii_whitespace();
        let Some(first) = fields.next() else { return Ok(None) };
        let shape = match self.version {
            IologVersion::V2 => "a line is `file action` or `file action offset length`",
            IologVersion::V3 => {
                "a line is `timestamp file action` or `timestamp file action offset length`"
            }
        };
        let mut next = |name: &str| {
            fields.next().ok_or_else(|| {
                line.error(ErrorKind::Syntax, format!("the {name} is missing"), shape)
            })
        };
        let (stamp_us, file) = match self.version {
            IologVersion::V2 => (self.now_us, first),
            IologVersion::V3 => {
                let help = "write microseconds from the start of the log";
                (unsigned(line, first, "timestamp", help)?, next("file")?)
            }
        };
        let action = next("action")?;
        let numbers = [fields.next(), fields.next()];
        if let Some(more) = fields.next() {
            let message = format!("{} follows the length", quoted(more));
            return Err(line.error_of(more, ErrorKind::Syntax, message, shape));
        }
        let range = || -> Result<(u64, u64), FileFormatError> {
            let number = |at: usize, name: &str| {
                let missing =
                    || line.error(ErrorKind::Syntax, format!("the {name} is missing"), shape);
                unsigned(line, numbers[at].ok_or_else(missing)?, name, "write bytes, such as 4096")
            };
            Ok((number(0, "offset")?, number(1, "length")?))
        };
        let action = match action {
            "add" => return self.add(line, stamp_us, file).map(Some),
            "open" => IologAction::Open,
            "close" => IologAction::Close,
            "sync" => IologAction::Sync,
            "datasync" => IologAction::DataSync,
            "wait" if self.version == IologVersion::V2 => {
                let help = "write the millisecond at which the wait ends";
                let missing = || line.error(ErrorKind::Syntax, "the time to wait is missing", help);
                let until = numbers[0].ok_or_else(missing)?;
                let until_ms = unsigned(line, until, "wait", help)?;
                self.now_us = until_ms.checked_mul(1000).ok_or_else(|| {
                    let message = format!("wait: {} is more than 2^64 us", quoted(until));
                    line.error_of(until, ErrorKind::Value, message, help)
                })?;
                return Ok(None);
            }
            "wait" => {
                return Err(line.error_of(
                    action,
                    ErrorKind::Value,
                    "version 3 has no `wait`",
                    "leave the line out: timestamps say when the next one happens",
                ));
            }
            "read" => {
                let (offset_bytes, length_bytes) = range()?;
                IologAction::Read { offset_bytes, length_bytes }
            }
            "write" => {
                let (offset_bytes, length_bytes) = range()?;
                IologAction::Write { offset_bytes, length_bytes }
            }
            "trim" => {
                let (offset_bytes, length_bytes) = range()?;
                IologAction::Trim { offset_bytes, length_bytes }
            }
            _ => {
                let message = format!("{} is not an action", quoted(action));
                let otherwise = format!("there are {}", ACTIONS.join(", "));
                let help = did_you_mean(action, ACTIONS, &otherwise);
                return Err(line.error_of(action, ErrorKind::UnknownName, message, help));
            }
        };
        let Some(position) = self.position.get(file) else {
            return Err(line.error_of(
                file,
                ErrorKind::Missing,
                format!("{} was not added", quoted(file)),
                "put a line with the action `add` for it before this one",
            ));
        };
        Ok(Some(IologEntry { at_us: stamp_us, file: *position, action }))
    }

    fn add(
        &mut self,
        line: &Line<'_>,
        at_us: u64,
        file: &str,
    ) -> Result<IologEntry, FileFormatError> {
        if let Some(position) = self.position.get(file) {
            return Ok(IologEntry { at_us, file: *position, action: IologAction::Add });
        }
        if self.files.len() >= MOST_FILES || file.len() > LONGEST_NAME_BYTES {
            return Err(line.error_of(
                file,
                ErrorKind::Limit,
                format!(
                    "more than {MOST_FILES} files, or a name of more than {LONGEST_NAME_BYTES} bytes"
                ),
                "check that this is a log of fio",
            ));
        }
        let position = self.files.len() as u32;
        self.files.push(file.to_owned());
        self.position.insert(file.to_owned(), position);
        Ok(IologEntry { at_us, file: position, action: IologAction::Add })
    }
}

/// Writes an iolog, which `fio --read_iolog` replays.
///
/// A file is added and opened on first use, and closed at the end.
///
/// ```
/// use strewn_formats::fio::{IologAction, IologVersion, IologWriter};
///
/// let mut writer = IologWriter::new(Vec::new(), IologVersion::V3)?;
/// let read = IologAction::Read { offset_bytes: 0, length_bytes: 8192 };
/// writer.write(119, "/lun", read)?;
/// let log = String::from_utf8(writer.finish()?)?;
/// assert_eq!(
///     log,
///     "fio version 3 iolog\n119 /lun add\n119 /lun open\n119 /lun read 0 8192\n119 /lun close\n"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct IologWriter<W: Write> {
    output: W,
    version: IologVersion,
    /// The open files, in order of first use.
    files: Vec<String>,
    open: HashMap<String, bool>,
    now_us: u64,
}

impl<W: Write> IologWriter<W> {
    /// Creates a log of `version` and writes its first line.
    ///
    /// # Errors
    ///
    /// [`WriteError::Io`] if the output fails.
    pub fn new(mut output: W, version: IologVersion) -> Result<Self, WriteError> {
        let number = match version {
            IologVersion::V2 => 2,
            IologVersion::V3 => 3,
        };
        writeln!(output, "fio version {number} iolog")?;
        Ok(Self { output, version, files: Vec::new(), open: HashMap::new(), now_us: 0 })
    }

    /// Writes an action on `file`, `at_us` microseconds from the start. Version 2 rounds the time
    /// down to milliseconds.
    ///
    /// # Errors
    ///
    /// [`WriteError::NotRepresentable`] if the time goes back, if the file name is empty, longer
    /// than 255 bytes or has white space in it, or if the length does not fit in 32 bits;
    /// [`WriteError::Io`] if the output fails.
    pub fn write(&mut self, at_us: u64, file: &str, action: IologAction) -> Result<(), WriteError> {
        let unfit = file.is_empty()
            || file.len() > LONGEST_NAME_BYTES
            || file.contains(|c: char| c.is_ascii_whitespace() || c == '\0');
        if unfit {
            return Err(WriteError::not_representable(
                format!("the file {}", quoted(file)),
                "fio reads names of 1 to 255 bytes without white space",
            ));
        }
        if at_us < self.now_us {
            return Err(WriteError::not_representable(
                format!("the time {at_us} us"),
                format!("it is before {} us, when the entry ahead of it happened", self.now_us),
            ));
        }
        let line = match action {
            IologAction::Add => return self.known(at_us, file),
            IologAction::Open => return self.opened(at_us, file),
            IologAction::Close => "close".to_owned(),
            IologAction::Sync => "sync 0 0".to_owned(),
            IologAction::DataSync => "datasync 0 0".to_owned(),
            IologAction::Read { offset_bytes, length_bytes } => {
                format!("read {offset_bytes} {}", fitting(length_bytes)?)
            }
            IologAction::Write { offset_bytes, length_bytes } => {
                format!("write {offset_bytes} {}", fitting(length_bytes)?)
            }
            IologAction::Trim { offset_bytes, length_bytes } => {
                format!("trim {offset_bytes} {}", fitting(length_bytes)?)
            }
        };
        if action == IologAction::Close {
            if let Some(open) = self.open.get_mut(file).filter(|open| **open) {
                *open = false;
                self.line(at_us, file, &line)?;
            }
            return Ok(());
        }
        self.opened(at_us, file)?;
        self.line(at_us, file, &line)
    }

    /// Closes the open files and returns the output.
    ///
    /// # Errors
    ///
    /// [`WriteError::Io`] if the output fails.
    pub fn finish(mut self) -> Result<W, WriteError> {
        for file in std::mem::take(&mut self.files) {
            if self.open.get(&file) == Some(&true) {
                self.line(self.now_us, &file, "close")?;
            }
        }
        self.output.flush()?;
        Ok(self.output)
    }

    fn known(&mut self, at_us: u64, file: &str) -> Result<(), WriteError> {
        if !self.open.contains_key(file) {
            self.line(at_us, file, "add")?;
            self.files.push(file.to_owned());
            self.open.insert(file.to_owned(), false);
        }
        Ok(())
    }

    fn opened(&mut self, at_us: u64, file: &str) -> Result<(), WriteError> {
        self.known(at_us, file)?;
        if let Some(open) = self.open.get_mut(file).filter(|open| !**open) {
            *open = true;
            self.line(at_us, file, "open")?;
        }
        Ok(())
    }

    fn line(&mut self, at_us: u64, file: &str, action: &str) -> Result<(), WriteError> {
        match self.version {
            IologVersion::V3 => writeln!(self.output, "{at_us} {file} {action}")?,
            IologVersion::V2 => {
                // fio accepts a wait only for a file that it knows.
                let moves = at_us / 1000 > self.now_us / 1000;
                if moves && self.open.get(file) == Some(&true) {
                    writeln!(self.output, "{file} wait {} 0", at_us / 1000)?;
                    self.now_us = at_us;
                }
                writeln!(self.output, "{file} {action}")?;
                return Ok(());
            }
        }
        self.now_us = at_us;
        Ok(())
    }
}

fn fitting(length_bytes: u64) -> Result<u64, WriteError> {
    if length_bytes > MOST_LENGTH_BYTES {
        return Err(WriteError::not_representable(
            format!("a length of {length_bytes} bytes"),
            "fio reads lengths of up to 4294967295 bytes; split it",
        ));
    }
    Ok(length_bytes)
}
