//! The form of a file of a saved run: a header, and a payload that it describes.
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 8 | `StrewnSv` |
//! | 8 | 4 | [`FORMAT`] |
//! | 12 | 4 | [`Kind`] |
//! | 16 | 8 | bytes of the payload |
//! | 24 | 8 | CRC-64/NVME of the payload and then of the 24 bytes before |
//! | 32 | | payload: first the version of Strewn, as a value in postcard's encoding |
//!
//! Numbers have their lowest byte first.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crc_fast::{CrcAlgorithm, Digest};
use strewn_base::state::{StateError, StateReader, StateWriter};

use crate::replace_file::Replacement;
use crate::save_error::SaveError;

const MAGIC: [u8; 8] = *b"StrewnSv";
/// Layout of the header. What is in a payload depends on the version of Strewn.
const FORMAT: u32 = 1;
const HEADER_BYTES: usize = 32;
/// Bytes of the header before its checksum.
const CHECKED_BYTES: usize = 24;
const CHECKSUM: CrcAlgorithm = CrcAlgorithm::Crc64Nvme;
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What a file is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The run as a whole.
    Run = 0,
    /// One of its arrays.
    Array = 1,
}

/// Returns the checksum of bytes.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    crc_fast::checksum(CHECKSUM, bytes)
}

/// Writes a file, complete or not at all: what was there before stays until the new one is in storage.
pub(super) fn write(
    path: &Path,
    kind: Kind,
    payload: impl FnOnce(&mut StateWriter<'_>) -> Result<(), StateError>,
) -> Result<(), SaveError> {
    let failed = |error: StateError| match error {
        StateError::Write(source) => SaveError::Write { path: path.to_owned(), source },
        error => SaveError::Impossible(error),
    };
    let replacement = Replacement::write_with(path, |file| {
        file.write_all(&[0; HEADER_BYTES])?;
        let mut counted = Counted { file, bytes: 0, digest: Digest::new(CHECKSUM) };
        let mut writer = StateWriter::new(&mut counted);
        writer.text(VERSION)?;
        payload(&mut writer)?;
        writer.finish()?;
        let Counted { file, bytes, mut digest } = counted;
        let mut header = Vec::with_capacity(HEADER_BYTES);
        header.extend(MAGIC);
        header.extend(FORMAT.to_le_bytes());
        header.extend((kind as u32).to_le_bytes());
        header.extend(bytes.to_le_bytes());
        digest.update(&header);
        header.extend(digest.finalize().to_le_bytes());
        file.seek(SeekFrom::Start(0))?;
        Ok(file.write_all(&header)?)
    });
    let replaced = replacement.map_err(failed)?.put_in_place();
    replaced.map_err(|error| failed(error.into()))?;
    sync_folder(path).map_err(|error| failed(error.into()))
}

/// Brings a file's name to storage, where directories can be synced.
fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

/// Writes to a file, and counts.
struct Counted<'f> {
    file: &'f mut File,
    bytes: u64,
    digest: Digest,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.digest.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Reads a file. A device or a pipe may never end.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    match fs::metadata(path)?.is_file() {
        true => fs::read(path),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

/// A file that was read and found complete.
pub(super) struct Container {
    path: PathBuf,
    bytes: Vec<u8>,
    /// Bytes before what follows the version.
    start: usize,
}

impl Container {
    /// Reads a file; `None` if there is none.
    pub(super) fn read(path: &Path, kind: Kind) -> Result<Option<Self>, SaveError> {
        let path = path.to_owned();
        let bytes = match read_file(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(SaveError::Read { path, source }),
        };
        let Some((header, payload)) = bytes.split_at_checked(HEADER_BYTES) else {
            return Err(match bytes.starts_with(&MAGIC) {
                true => SaveError::Truncated { path, needed: HEADER_BYTES as u64 },
                false => SaveError::NotSaved { path },
            });
        };
        let number = |start: usize, bytes: usize| {
            let bytes = header[start..start + bytes].iter().rev();
            bytes.fold(0, |number, byte| number << 8 | u64::from(*byte))
        };
        if header[..8] != MAGIC {
            return Err(SaveError::NotSaved { path });
        }
        if number(8, 4) != u64::from(FORMAT) {
            return Err(SaveError::Format { path, format: number(8, 4) });
        }
        let payload_bytes = number(16, 8);
        if payload_bytes > payload.len() as u64 {
            let needed = payload_bytes.saturating_add(HEADER_BYTES as u64);
            return Err(SaveError::Truncated { path, needed });
        }
        let mut digest = Digest::new(CHECKSUM);
        digest.update(payload);
        digest.update(&header[..CHECKED_BYTES]);
        if payload_bytes < payload.len() as u64 || number(24, 8) != digest.finalize() {
            return Err(SaveError::Checksum { path });
        }
        if number(12, 4) != kind as u64 {
            return Err(SaveError::Foreign { path });
        }
        let mut container = Self { path, bytes, start: HEADER_BYTES };
        let version: String = container.decode(|from| from.value())?;
        if version != VERSION {
            let path = container.path;
            return Err(SaveError::Version { path, saved: version, here: VERSION });
        }
        // A length of less than 128 takes one byte.
        container.start += version.len() + 1;
        Ok(Some(container))
    }

    /// Decodes what follows the version.
    pub(super) fn decode<T>(
        &self,
        decode: impl FnOnce(&mut StateReader<'_>) -> Result<T, StateError>,
    ) -> Result<T, SaveError> {
        let mut reader = StateReader::new(&self.bytes[self.start..]);
        decode(&mut reader).map_err(|error| self.inconsistent(&error))
    }

    /// The error that what is in the file cannot be.
    pub(super) fn inconsistent(&self, problem: &dyn std::fmt::Display) -> SaveError {
        SaveError::Inconsistent { path: self.path.clone(), problem: problem.to_string() }
    }
}
