//! The bytes of a file: counted, and decompressed if they are gzip or zstd.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use super::error::{ErrorKind, FileFormatError, FilePosition};
use super::gzip::GzipReader;
use super::zstd::ZstdReader;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// A frame that is skipped has one of sixteen magic numbers; pzstd begins its files with one.
const ZSTD_SKIPPED_MAGIC: [u8; 3] = [0x2a, 0x4d, 0x18];

/// A reader that counts the bytes taken from it, and hands out its first bytes a second time.
#[derive(Debug)]
pub(crate) struct Counted<R> {
    /// The first bytes of the file, which were examined.
    head: Vec<u8>,
    /// How many of them were handed out.
    taken: usize,
    inner: R,
    bytes: u64,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = if self.taken < self.head.len() {
            let read = (&self.head[self.taken..]).read(buffer)?;
            self.taken += read;
            read
        } else {
            self.inner.read(buffer)?
        };
        self.bytes += read as u64;
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match self.head.get(self.taken..) {
            Some(rest) if !rest.is_empty() => Ok(rest),
            _ => self.inner.fill_buf(),
        }
    }

    fn consume(&mut self, amount: usize) {
        self.bytes += amount as u64;
        if self.taken < self.head.len() {
            self.taken += amount;
        } else {
            self.inner.consume(amount);
        }
    }
}

/// The compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// The bytes of a file, decompressed: gzip of one member or several, zstd of one frame or several.
#[derive(Debug)]
pub(crate) struct Source<R: BufRead> {
    /// The first bytes, decompressed, if they were examined.
    head: Vec<u8>,
    /// How many of them were handed out.
    taken: usize,
    /// Why there is nothing after them, if that was found while they were examined.
    failure: Option<io::Error>,
    decompressed: Decompressed<R>,
}

#[derive(Debug)]
enum Decompressed<R: BufRead> {
    Plain(Counted<R>),
    // A decoder is large, and there is one per file.
    Gzip(Box<BufReader<GzipReader<Counted<R>>>>),
    Zstd(Box<BufReader<ZstdReader<Counted<R>>>>),
}

impl<R: BufRead> Source<R> {
    /// Examines the first bytes, which tell compressed data from everything else.
    pub(crate) fn new(mut reader: R) -> io::Result<Self> {
        let mut head = Vec::with_capacity(ZSTD_MAGIC.len());
        read_up_to(&mut reader, ZSTD_MAGIC.len(), &mut head)?;
        // A file may end after its first byte. No text starts with this one, and the decoder refuses a binary file
        // that does.
        let is_gzip = head.starts_with(&GZIP_MAGIC) || head == GZIP_MAGIC[..1];
        let is_zstd = head == ZSTD_MAGIC
            || (head.len() == 4 && head[0] & 0xf0 == 0x50 && head[1..] == ZSTD_SKIPPED_MAGIC);
        let counted = Counted { head, taken: 0, inner: reader, bytes: 0 };
        let decompressed = if is_gzip {
            Decompressed::Gzip(Box::new(BufReader::new(GzipReader::new(counted))))
        } else if is_zstd {
            Decompressed::Zstd(Box::new(BufReader::new(ZstdReader::new(counted))))
        } else {
            Decompressed::Plain(counted)
        };
        Ok(Self { head: Vec::new(), taken: 0, failure: None, decompressed })
    }

    /// Returns the first `most` bytes, which are still read afterwards, or fewer if there are no more or they cannot be
    /// read. Must be called before anything is read.
    pub(crate) fn peek(&mut self, most: usize) -> &[u8] {
        let missing = most.saturating_sub(self.head.len());
        let read = match &mut self.decompressed {
            Decompressed::Plain(inner) => read_up_to(inner, missing, &mut self.head),
            Decompressed::Gzip(inner) => read_up_to(inner, missing, &mut self.head),
            Decompressed::Zstd(inner) => read_up_to(inner, missing, &mut self.head),
        };
        self.failure = read.err();
        &self.head
    }

    pub(crate) fn compression(&self) -> Option<Compression> {
        match self.decompressed {
            Decompressed::Plain(_) => None,
            Decompressed::Gzip(_) => Some(Compression::Gzip),
            Decompressed::Zstd(_) => Some(Compression::Zstd),
        }
    }

    /// Returns the bytes taken from the file itself; compressed bytes if it is compressed.
    pub(crate) fn bytes_read(&self) -> u64 {
        match &self.decompressed {
            // Of plain bytes, those that were examined are not taken yet.
            Decompressed::Plain(counted) => counted.bytes - (self.head.len() - self.taken) as u64,
            Decompressed::Gzip(decoder) => {
                decoder.get_ref().get_ref().map_or(0, |counted| counted.bytes)
            }
            Decompressed::Zstd(decoder) => decoder.get_ref().get_ref().bytes,
        }
    }

    /// Appends the rest of a line, including its end, but at most `most` bytes. Returns 0 at the
    /// end of the file.
    pub(crate) fn read_line(&mut self, most: u64, line: &mut Vec<u8>) -> io::Result<usize> {
        if self.taken < self.head.len() || self.failure.is_some() {
            return self.take(most).read_until(b'\n', line);
        }
        match &mut self.decompressed {
            Decompressed::Plain(counted) => counted.take(most).read_until(b'\n', line),
            Decompressed::Gzip(decoder) => decoder.take(most).read_until(b'\n', line),
            Decompressed::Zstd(decoder) => decoder.take(most).read_until(b'\n', line),
        }
    }
}

impl<R: BufRead> Read for Source<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken < self.head.len() {
            let read = (&self.head[self.taken..]).read(buffer)?;
            self.taken += read;
            return Ok(read);
        }
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        match &mut self.decompressed {
            Decompressed::Plain(inner) => inner.read(buffer),
            Decompressed::Gzip(inner) => inner.read(buffer),
            Decompressed::Zstd(inner) => inner.read(buffer),
        }
    }
}

impl<R: BufRead> BufRead for Source<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.taken < self.head.len() {
            return Ok(&self.head[self.taken..]);
        }
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        match &mut self.decompressed {
            Decompressed::Plain(inner) => inner.fill_buf(),
            Decompressed::Gzip(inner) => inner.fill_buf(),
            Decompressed::Zstd(inner) => inner.fill_buf(),
        }
    }

    fn consume(&mut self, amount: usize) {
        if self.taken < self.head.len() {
            self.taken += amount;
            return;
        }
        match &mut self.decompressed {
            Decompressed::Plain(inner) => inner.consume(amount),
            Decompressed::Gzip(inner) => inner.consume(amount),
            Decompressed::Zstd(inner) => inner.consume(amount),
        }
    }
}

/// Appends `bytes` bytes to `to`, or as many as there are.
fn read_up_to(reader: &mut impl Read, bytes: usize, to: &mut Vec<u8>) -> io::Result<()> {
    reader.take(bytes as u64).read_to_end(to).map(drop)
}

/// Returns the error for a file that cannot be read or decompressed at `position`.
pub(crate) fn unreadable(
    error: io::Error,
    compression: Option<Compression>,
    position: FilePosition,
) -> FileFormatError {
    let (message, help) = match compression {
        Some(of) if error.kind() == io::ErrorKind::UnexpectedEof => (
            format!("the {} data ends too early", of.name()),
            "the file is cut short: copy it again".to_owned(),
        ),
        Some(of) => (
            format!("cannot decompress: {error}"),
            format!("the {} data is damaged: copy or compress the file again", of.name()),
        ),
        None => (format!("cannot read: {error}"), "give a file that can be read".to_owned()),
    };
    FileFormatError::new(ErrorKind::Io, position, message, help).caused_by(error)
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
