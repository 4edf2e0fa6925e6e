//! The records of a binary trace, one in memory at a time.

use std::io::{self, BufRead, Read};
use std::sync::Arc;

use crate::text::{self, ErrorKind, FileFormatError, FilePosition, Line, Source};

use super::blktrace::{EVENT_BYTES, Order};
use super::options::BlkparseAction;
use super::record::Parsed;
use super::vscsi::Version;

const MOST_RECORD_BYTES: usize = EVENT_BYTES;

/// What the records are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Records {
    Vscsi(Version),
    Blktrace(Order, BlkparseAction),
}

/// Reads binary records. Positions in errors count records as those in a text count lines.
#[derive(Debug)]
pub(super) struct BinaryReader<R: BufRead> {
    source: Source<R>,
    file: Option<Arc<str>>,
    records: Records,
    number: u64,
    /// Decompressed bytes before the next record.
    at_byte: u64,
    record: [u8; MOST_RECORD_BYTES],
}

impl<R: BufRead> BinaryReader<R> {
    pub(super) fn new(source: Source<R>, file: Option<Arc<str>>, records: Records) -> Self {
        let record = [0; MOST_RECORD_BYTES];
        Self { source, file, records, number: 0, at_byte: 0, record }
    }

    /// Returns the number of the last record read, counted from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }

    /// Parses the next record; none at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<Parsed>, FileFormatError> {
        let length = match self.records {
            Records::Vscsi(version) => version.record_bytes(),
            Records::Blktrace(..) => EVENT_BYTES,
        };
        let read = self.fill(length)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        let line = Line::new("", self.number, &self.file);
        if read < length {
            return Err(line.error(
                ErrorKind::Io,
                format!(
                    "the file ends within the record at byte {}, after {read} of {length} bytes",
                    self.at_byte
                ),
                "the file is cut short: copy it again",
            ));
        }
        let record = &self.record[..length];
        let parsed = match self.records {
            Records::Vscsi(version) => version.parse(&line, record, self.at_byte)?,
            Records::Blktrace(order, action) => order.parse(&line, record, self.at_byte, action)?,
        };
        let payload = match self.records {
            Records::Vscsi(_) => 0,
            Records::Blktrace(order, _) => u64::from(order.payload_bytes(record)),
        };
        self.skip(payload)?;
        self.at_byte += length as u64 + payload;
        Ok(Some(parsed))
    }

    /// Fills the record, and returns how many bytes there were.
    fn fill(&mut self, length: usize) -> Result<usize, FileFormatError> {
        // Mostly all of it is at hand.
        match self.source.fill_buf() {
            Ok(bytes) if bytes.len() >= length => {
                self.record[..length].copy_from_slice(&bytes[..length]);
                self.source.consume(length);
                return Ok(length);
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(self.unreadable(error)),
        }
        let mut read = 0;
        while read < length {
            match self.source.read(&mut self.record[read..length]) {
                Ok(0) => break,
                Ok(bytes) => read += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.unreadable(error)),
            }
        }
        Ok(read)
    }

    fn skip(&mut self, bytes: u64) -> Result<(), FileFormatError> {
        if bytes == 0 {
            return Ok(());
        }
        let skipped = io::copy(&mut (&mut self.source).take(bytes), &mut io::sink());
        match skipped {
            Ok(skipped) if skipped < bytes => Err(Line::new("", self.number, &self.file).error(
                ErrorKind::Io,
                format!("the file ends within what follows the event at byte {}", self.at_byte),
                "the file is cut short: copy it again",
            )),
            Ok(_) => Ok(()),
            Err(error) => Err(self.unreadable(error)),
        }
    }

    fn unreadable(&self, error: io::Error) -> FileFormatError {
        let position = FilePosition::new(self.file.clone(), self.number + 1, 0);
        text::unreadable(error, self.source.compression(), position)
    }
}
