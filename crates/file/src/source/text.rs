//! The lines of a text, one in memory at a time, and errors that name the place in them.

use std::io::{BufRead, Read};

use super::utf8_reader::Utf8Reader;
use crate::error::FileError;

/// Bytes of the longest line that is read. A path takes 4096 bytes at most, escaped six times that.
const MAX_LINE_BYTES: u64 = 1 << 16;

/// Reads a text line by line. Bytes that are not UTF-8, as in paths, become U+FFFD.
#[derive(Debug)]
pub(crate) struct TextLines<R> {
    reader: Utf8Reader<R>,
    name: String,
    bytes: Vec<u8>,
    text: String,
    number: u64,
}

impl<R: BufRead> TextLines<R> {
    /// Reads the text that errors call `name`.
    pub(crate) fn new(reader: R, name: &str) -> Self {
        let reader = Utf8Reader::new(reader);
        Self { reader, name: name.into(), bytes: Vec::new(), text: String::new(), number: 0 }
    }

    /// The next line without its end, or `None` at the end of the text.
    pub(crate) fn next_line(&mut self) -> Result<Option<Line<'_>>, FileError> {
        self.bytes.clear();
        let mut limited = self.reader.by_ref().take(MAX_LINE_BYTES + 2);
        let read = limited.read_until(b'\n', &mut self.bytes);
        if read.map_err(|error| FileError::reading(&self.name, error))? == 0 {
            return Ok(None);
        }
        self.number += 1;
        if self.bytes.last() == Some(&b'\n') {
            self.bytes.pop();
            if self.bytes.last() == Some(&b'\r') {
                self.bytes.pop();
            }
        }
        let bytes = match self.number {
            1 => self.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&self.bytes),
            _ => &self.bytes,
        };
        self.text.clear();
        self.text.push_str(&String::from_utf8_lossy(bytes));
        let line = Line { text: &self.text, number: self.number, name: &self.name };
        if bytes.len() as u64 > MAX_LINE_BYTES {
            return Err(line.error(
                format!("the line is longer than {MAX_LINE_BYTES} bytes"),
                "check that the file is text with a line for each extent",
            ));
        }
        Ok(Some(line))
    }

    /// An error about the text as a whole.
    pub(crate) fn error(&self, message: &str, remedy: &str) -> FileError {
        FileError::input(format!("{}: {message}", self.name), remedy)
    }
}

/// A line and its place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line<'a> {
    pub(crate) text: &'a str,
    /// Counted from 1.
    pub(crate) number: u64,
    pub(crate) name: &'a str,
}

impl<'a> Line<'a> {
    /// An error about the line.
    pub(crate) fn error(&self, message: impl AsRef<str>, remedy: impl Into<String>) -> FileError {
        let message = format!("{}:{}: {}", self.name, self.number, message.as_ref());
        FileError::input(message, remedy)
    }

    /// An error about a part of the line.
    pub(crate) fn error_at(
        &self,
        part: &str,
        message: impl AsRef<str>,
        remedy: impl Into<String>,
    ) -> FileError {
        let Self { name, number, .. } = self;
        let column = self.column(part);
        FileError::input(format!("{name}:{number}:{column}: {}", message.as_ref()), remedy)
    }

    /// The column, counted from 1 in characters, in which a part of the line begins; one behind the line if `part` is
    /// not a part of it.
    fn column(&self, part: &str) -> usize {
        let offset = (part.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
        let before = self.text.get(..offset).unwrap_or(self.text);
        before.chars().count() + 1
    }

    /// Reads a decimal number.
    pub(crate) fn decimal(&self, part: &str, what: &str) -> Result<u64, FileError> {
        self.number_of(part, what, 10, "a decimal number below 2^64")
    }

    /// Reads a hexadecimal number without a prefix.
    pub(crate) fn hexadecimal(&self, part: &str, what: &str) -> Result<u64, FileError> {
        self.number_of(part, what, 16, "a hexadecimal number below 2^64")
    }

    fn number_of(
        &self,
        part: &str,
        what: &str,
        radix: u32,
        expected: &str,
    ) -> Result<u64, FileError> {
        let number = match part.as_bytes().first() {
            // `from_str_radix` takes a sign.
            Some(b'+') | None => None,
            Some(_) => u64::from_str_radix(part, radix).ok(),
        };
        number.ok_or_else(|| {
            self.error_at(
                part,
                format!("{what} is `{}`", shortened(part)),
                format!("give {expected}"),
            )
        })
    }

    /// Multiplies blocks by their bytes.
    pub(crate) fn bytes(
        &self,
        part: &str,
        blocks: u64,
        block_bytes: u64,
    ) -> Result<u64, FileError> {
        blocks.checked_mul(block_bytes).ok_or_else(|| {
            let message = format!("block {blocks} of {block_bytes} bytes lies beyond 2^64 bytes");
            self.error_at(part, message, "check that the line is complete and unchanged")
        })
    }
}

/// As much of a text as an error quotes.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
