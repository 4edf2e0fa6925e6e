//! The bytes of a file: counted, and decompressed if they are gzip.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::error::{ErrorKind, FileFormatError, FilePosition};

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// A reader that counts the bytes taken from it.
#[derive(Debug)]
pub(crate) struct Counted<R> {
    inner: R,
    bytes: u64,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.bytes += read as u64;
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }

    fn consume(&mut self, amount: usize) {
        self.bytes += amount as u64;
        self.inner.consume(amount);
    }
}

/// Plain bytes, or gzip of one member or several.
#[derive(Debug)]
pub(crate) enum Source<R: BufRead> {
    Plain(Counted<R>),
    // A decoder is large, and there is one per file.
    Gzip(Box<BufReader<MultiGzDecoder<Counted<R>>>>),
}

impl<R: BufRead> Source<R> {
    /// Examines the first bytes, which tell gzip from everything else.
    pub(crate) fn new(reader: R) -> io::Result<Self> {
        let mut counted = Counted { inner: reader, bytes: 0 };
        let first = loop {
            match counted.fill_buf() {
                Ok(bytes) => break [bytes.first().copied(), bytes.get(1).copied()],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        };
        // A reader may hand out its first byte alone. No text starts with this byte, and the
        // decoder refuses a binary file that does.
        let is_gzip = first[0] == Some(GZIP_MAGIC[0])
            && first[1].is_none_or(|second| second == GZIP_MAGIC[1]);
        Ok(if is_gzip {
            Self::Gzip(Box::new(BufReader::new(MultiGzDecoder::new(counted))))
        } else {
            Self::Plain(counted)
        })
    }

    pub(crate) fn is_gzip(&self) -> bool {
        matches!(self, Self::Gzip(_))
    }

    /// Returns the bytes taken from the file itself; compressed bytes if it is compressed.
    pub(crate) fn bytes_read(&self) -> u64 {
        match self {
            Self::Plain(counted) => counted.bytes,
            Self::Gzip(decoder) => decoder.get_ref().get_ref().bytes,
        }
    }

    /// Appends the rest of a line, including its end, but at most `most` bytes. Returns 0 at the
    /// end of the file.
    pub(crate) fn read_line(&mut self, most: u64, line: &mut Vec<u8>) -> io::Result<usize> {
        match self {
            Self::Plain(counted) => counted.take(most).read_until(b'\n', line),
            Self::Gzip(decoder) => decoder.take(most).read_until(b'\n', line),
        }
    }
}

/// Opens the file at `path`. `name` names it in errors; `help` says what it should have been.
pub(crate) fn open(
    path: &Path,
    name: &str,
    help: &str,
) -> Result<BufReader<File>, FileFormatError> {
    File::open(path).map(BufReader::new).map_err(|error| {
        let position = FilePosition::new(Some(name.into()), 0, 0);
        FileFormatError::new(ErrorKind::Io, position, format!("cannot read: {error}"), help)
            .caused_by(error)
    })
}
