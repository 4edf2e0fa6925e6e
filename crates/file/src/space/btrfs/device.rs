//! Reads of a block device that a mounted file system has written to.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// What offsets, lengths and memory of direct reads are aligned to; no drive has larger sectors.
const ALIGNED_BYTES: usize = 4096;

/// The most bytes that one read takes, a multiple of [`ALIGNED_BYTES`].
const MOST_BYTES: usize = 64 << 10;

/// A block device that is read past the page cache.
///
/// btrfs writes its trees past the page cache of the device. Bytes that were read through the cache once stay in it,
/// out of date, as long as the file system is mounted.
#[derive(Debug)]
pub struct DirectDevice {
    file: File,
    position: u64,
    buffer: Vec<u8>,
}

impl DirectDevice {
    /// Opens a block device, or an image of one in a file.
    ///
    /// # Errors
    /// Those of the operating system, such as a lack of permission.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = match Self::open_direct(path) {
            // tmpfs, before Linux 6.6.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => File::open(path)?,
            opened => opened?,
        };
        Ok(Self { file, position: 0, buffer: vec![0; MOST_BYTES + ALIGNED_BYTES] })
    }

    #[cfg(target_os = "linux")]
    fn open_direct(path: &Path) -> io::Result<File> {
        use std::os::unix::fs::OpenOptionsExt;
        let direct = rustix::fs::OFlags::DIRECT.bits();
        OpenOptions::new().read(true).custom_flags(direct.cast_signed()).open(path)
    }

    #[cfg(not(target_os = "linux"))]
    fn open_direct(path: &Path) -> io::Result<File> {
        OpenOptions::new().read(true).open(path)
    }
}

impl Read for DirectDevice {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let skipped = (self.position % ALIGNED_BYTES as u64) as usize;
        self.file.seek(SeekFrom::Start(self.position - skipped as u64))?;
        let wanted = (skipped + bytes.len()).next_multiple_of(ALIGNED_BYTES).min(MOST_BYTES);
        let first = self.buffer.as_ptr().align_offset(ALIGNED_BYTES);
        let Some(aligned) = self.buffer.get_mut(first..first.saturating_add(wanted)) else {
            return Err(io::Error::other("memory cannot be aligned"));
        };
        let read = self.file.read(aligned)?;
        let found = aligned.get(skipped..read).unwrap_or_default();
        let copied = found.len().min(bytes.len());
        bytes[..copied].copy_from_slice(&found[..copied]);
        self.position += copied as u64;
        Ok(copied)
    }
}

impl Seek for DirectDevice {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = match to {
            SeekFrom::Start(byte) => byte,
            SeekFrom::Current(by) => {
                self.position.checked_add_signed(by).ok_or(io::ErrorKind::InvalidInput)?
            }
            SeekFrom::End(_) => self.file.seek(to)?,
        };
        Ok(self.position)
    }
}
