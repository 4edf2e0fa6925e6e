//! The lines of a file, one in memory at a time.

use std::io::{self, BufRead};
use std::sync::Arc;

use super::error::{ErrorKind, FileFormatError, FilePosition};
use super::source::{self, Source};

/// The limits of a format. A file that exceeds them is damaged or of another format, and is refused before it takes
/// memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Bytes of a line without its end.
    pub(crate) line_bytes: u64,
    /// Bytes of all lines, decompressed if the file is compressed.
    pub(crate) file_bytes: u64,
}

impl Limits {
    /// A hand-written file kept in memory: many times the usual size.
    pub(crate) const CONFIGURATION: Self = Self { line_bytes: 1 << 16, file_bytes: 1 << 20 };
    /// Results kept in memory.
    pub(crate) const RESULTS: Self = Self { line_bytes: 1 << 16, file_bytes: 1 << 26 };
    /// A file read record by record.
    pub(crate) const STREAM: Self = Self { line_bytes: 1 << 16, file_bytes: u64::MAX };
}

/// Reads a file line by line. Drops a byte order mark, and refuses text that is not UTF-8.
#[derive(Debug)]
pub(crate) struct Lines<R: BufRead> {
    source: Source<R>,
    file: Option<Arc<str>>,
    limits: Limits,
    bytes: Vec<u8>,
    /// Number of the line in `bytes`, counted from 1.
    number: u64,
    total_bytes: u64,
    /// Whether the line in `bytes` is returned once more.
    held: bool,
}

impl<R: BufRead> Lines<R> {
    /// Reads the file called `file`, which may be gzip.
    pub(crate) fn new(
        reader: R,
        file: Option<Arc<str>>,
        limits: Limits,
    ) -> Result<Self, FileFormatError> {
        let source = Source::new(reader).map_err(|error| {
            source::unreadable(error, None, FilePosition::new(file.clone(), 0, 0))
        })?;
        Ok(Self::of_source(source, file, limits))
    }

    /// Reads the lines of a source, of which nothing was read yet.
    pub(crate) fn of_source(source: Source<R>, file: Option<Arc<str>>, limits: Limits) -> Self {
        let bytes = Vec::new();
        Self { source, file, limits, bytes, number: 0, total_bytes: 0, held: false }
    }

    /// Returns the next line without its end, or none at the end of the file.
    pub(crate) fn next_line(&mut self) -> Result<Option<Line<'_>>, FileFormatError> {
        if self.held {
            self.held = false;
        } else if !self.advance()? {
            return Ok(None);
        }
        self.current().map(Some)
    }

    /// Makes the next call return the last line once more.
    pub(crate) fn hold(&mut self) {
        self.held = self.number > 0;
    }

    pub(crate) fn bytes_read(&self) -> u64 {
        self.source.bytes_read()
    }

    /// Returns the number of the last line returned, counted from 1; 0 before the first.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the position of the file as a whole.
    pub(crate) fn whole(&self) -> FilePosition {
        FilePosition::new(self.file.clone(), 0, 0)
    }

    /// Returns the position of the last line read, as a whole.
    pub(crate) fn here(&self) -> FilePosition {
        FilePosition::new(self.file.clone(), self.number, 0)
    }

    fn advance(&mut self) -> Result<bool, FileFormatError> {
        self.bytes.clear();
        // Two bytes more than a line may have: room for its end of CR LF, and enough to detect one that is too long.
        let most = self.limits.line_bytes + 2;
        let read = self.source.read_line(most, &mut self.bytes);
        self.number += 1;
        match read {
            Ok(0) => {
                self.number -= 1;
                return Ok(false);
            }
            Ok(bytes) => self.total_bytes += bytes as u64,
            Err(error) => return Err(self.unreadable(error)),
        }
        if self.number == 1 {
            self.strip_byte_order_mark()?;
        }
        if self.bytes.last() == Some(&b'\n') {
            self.bytes.pop();
            if self.bytes.last() == Some(&b'\r') {
                self.bytes.pop();
            }
        }
        if self.bytes.len() as u64 > self.limits.line_bytes {
            let (most, position) = (self.limits.line_bytes, self.here());
            return Err(FileFormatError::new(
                ErrorKind::Limit,
                position,
                format!("the line is longer than {most} bytes"),
                "a text file of this format has shorter lines: check that this is one",
            ));
        }
        if self.total_bytes > self.limits.file_bytes {
            return Err(FileFormatError::new(
                ErrorKind::Limit,
                self.here(),
                format!("the file is larger than {} MiB", self.limits.file_bytes >> 20),
                "no file of this format is that large: check that this is one",
            ));
        }
        Ok(true)
    }

    fn strip_byte_order_mark(&mut self) -> Result<(), FileFormatError> {
        let utf_16 = match self.bytes.as_slice() {
            [0xff, 0xfe, ..] => "UTF-16LE",
            [0xfe, 0xff, ..] => "UTF-16BE",
            bytes => {
                if bytes.starts_with(b"\xef\xbb\xbf") {
                    self.bytes.drain(..3);
                }
                return Ok(());
            }
        };
        Err(FileFormatError::new(
            ErrorKind::Encoding,
            self.here(),
            format!("the file is in {utf_16}"),
            "save it as UTF-8, or convert it with `iconv -f UTF-16 -t UTF-8`",
        ))
    }

    /// Returns the line in `bytes` as text.
    fn current(&self) -> Result<Line<'_>, FileFormatError> {
        let text = match std::str::from_utf8(&self.bytes) {
            Ok(text) => text,
            Err(error) => {
                let (good, bad) = self.bytes.split_at(error.valid_up_to());
                let column = characters(good) + 1;
                let byte = bad.first().copied().unwrap_or_default();
                return Err(FileFormatError::new(
                    ErrorKind::Encoding,
                    FilePosition::new(self.file.clone(), self.number, column),
                    format!("byte 0x{byte:02x} is not UTF-8"),
                    "save the file as UTF-8, or convert it with `iconv -f WINDOWS-1252 -t UTF-8`",
                ));
            }
        };
        let line = Line { text, number: self.number, file: &self.file };
        if let Some(at) = text.find('\0') {
            return Err(line.error_at(
                at,
                ErrorKind::Encoding,
                "there is a NUL byte: this is not text in UTF-8",
                "give a text file; if it is in UTF-16, convert it with `iconv -f UTF-16 -t UTF-8`",
            ));
        }
        Ok(line)
    }

    fn unreadable(&self, error: io::Error) -> FileFormatError {
        source::unreadable(error, self.source.compression(), self.here())
    }
}

/// Counts the characters in the bytes of a text.
fn characters(text: &[u8]) -> u64 {
    // Continuation bytes do not start a character.
    text.iter().filter(|byte| **byte & 0xc0 != 0x80).count() as u64
}

/// A line and its position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    pub(crate) text: &'a str,
    /// Counted from 1.
    pub(crate) number: u64,
    file: &'a Option<Arc<str>>,
}

impl<'a> Line<'a> {
    pub(crate) fn new(text: &'a str, number: u64, file: &'a Option<Arc<str>>) -> Self {
        Self { text, number, file }
    }

    /// Returns the byte offset at which a part of the line begins.
    pub(crate) fn offset_of(&self, part: &str) -> usize {
        // A part lies within the line, so the difference of addresses is an offset. Anything else yields the end of the
        // line.
        let offset = (part.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
        offset.min(self.text.len())
    }

    pub(crate) fn position(&self) -> FilePosition {
        FilePosition::new(self.file.clone(), self.number, 0)
    }

    /// Returns the position of the byte at `offset`.
    pub(crate) fn position_at(&self, offset: usize) -> FilePosition {
        let before = self.text.as_bytes().get(..offset).unwrap_or(self.text.as_bytes());
        FilePosition::new(self.file.clone(), self.number, characters(before) + 1)
    }

    /// Returns the position at which a part of the line begins.
    pub(crate) fn position_of(&self, part: &str) -> FilePosition {
        self.position_at(self.offset_of(part))
    }

    /// Returns an error about the line as a whole.
    pub(crate) fn error(
        &self,
        kind: ErrorKind,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> FileFormatError {
        FileFormatError::new(kind, self.position(), message, help)
    }

    pub(crate) fn error_at(
        &self,
        offset: usize,
        kind: ErrorKind,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> FileFormatError {
        FileFormatError::new(kind, self.position_at(offset), message, help)
    }

    /// Returns an error about a part of the line.
    pub(crate) fn error_of(
        &self,
        part: &str,
        kind: ErrorKind,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> FileFormatError {
        self.error_at(self.offset_of(part), kind, message, help)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn all(bytes: &[u8], limits: Limits) -> Result<Vec<String>, FileFormatError> {
        let mut lines = Lines::new(bytes, Some("f".into()), limits)?;
        let mut texts = Vec::new();
        while let Some(line) = lines.next_line()? {
            texts.push(line.text.to_owned());
        }
        assert_eq!(lines.number(), texts.len() as u64);
        Ok(texts)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn ends_of_lines_and_marks_are_no_part_of_them() {
        let read = |bytes| all(bytes, Limits::STREAM).unwrap();
        assert_eq!(read(b""), [""; 0]);
        assert_eq!(read(b"a\r\nb\n\nc"), ["a", "b", "", "c"]);
        assert_eq!(read(b"\xef\xbb\xbfa\n"), ["a"]);
        assert_eq!(read(b"a\rb\n"), ["a\rb"]);
    }

    #[test]
    fn gzip_of_several_members_is_read_as_one() {
        let mut bytes = gzip(b"a\nb");
        bytes.extend(gzip(b"c\nd\n"));
        assert_eq!(all(&bytes, Limits::STREAM).unwrap(), ["a", "bc", "d"]);
        let mut lines = Lines::new(bytes.as_slice(), None, Limits::STREAM).unwrap();
        while lines.next_line().unwrap().is_some() {}
        assert_eq!(lines.bytes_read(), bytes.len() as u64);
    }

    #[test]
    fn what_is_not_text_is_refused_with_a_remedy() {
        let gzipped = gzip(&[b'a'; 10_000]);
        let cases: [(&[u8], &str); 8] = [
            (b"\xff\xfea\0", "f:1: the file is in UTF-16LE; save it as UTF-8"),
            (b"\xfe\xff\0a", "f:1: the file is in UTF-16BE; save it as UTF-8"),
            (b"ok\ncaf\xe9\n", "f:2:4: byte 0xe9 is not UTF-8; save the file as UTF-8"),
            ("\u{e9}\u{e9}\0\n".as_bytes(), "f:1:3: there is a NUL byte"),
            (&[b'x'; 65_537], "f:1: the line is longer than 65536 bytes"),
            (&gzipped[..20], "f:1: the gzip data ends too early; the file is cut short"),
            (b"\x1f\x8bnot gzip at all", "f:1: cannot decompress: "),
            (b"\x1f", "f:1: the gzip data ends too early"),
        ];
        for (bytes, expected) in cases {
            let error = all(bytes, Limits::STREAM).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn the_longest_line_is_read() {
        for end in ["", "\n", "\r\n"] {
            let text = "x".repeat(65_536) + end;
            assert_eq!(all(text.as_bytes(), Limits::STREAM).unwrap()[0].len(), 65_536);
        }
    }

    #[test]
    fn a_file_that_expands_without_end_is_refused() {
        let limits = Limits { line_bytes: 100, file_bytes: 1 << 20 };
        let bomb = gzip("line\n".repeat(1 << 20).as_bytes());
        let error = all(&bomb, limits).unwrap_err();
        assert_eq!(
            (error.kind(), error.message()),
            (ErrorKind::Limit, "the file is larger than 1 MiB")
        );
    }

    #[test]
    fn a_held_line_comes_once_more() {
        let mut lines = Lines::new(&b"a\nb\n"[..], None, Limits::STREAM).unwrap();
        lines.hold();
        assert_eq!(lines.next_line().unwrap().unwrap().text, "a");
        lines.hold();
        assert_eq!(lines.next_line().unwrap().unwrap().text, "a");
        assert_eq!(lines.next_line().unwrap().unwrap().text, "b");
        assert!(lines.next_line().unwrap().is_none());
    }
}
