//! A file or block device, opened for reading only.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Instant;

use super::MeasuredDrive;

/// Reads past the page cache want a buffer aligned to the sector; no sector is larger.
const BUFFER_ALIGNMENT: usize = 4096;

/// Sector of a file that is no device, and of a device of which the system does not say.
const FILE_SECTOR_BYTES: u32 = 4096;

/// Linux's `O_DIRECT`, where its value is known: it differs between architectures.
#[cfg(target_os = "linux")]
const DIRECT: Option<i32> = if cfg!(any(
    target_arch = "x86",
    target_arch = "x86_64",
    target_arch = "riscv64",
    target_arch = "s390x",
    target_arch = "loongarch64"
)) {
    Some(0o40_000)
} else if cfg!(any(target_arch = "arm", target_arch = "aarch64")) {
    Some(0o200_000)
} else {
    None
};
#[cfg(not(target_os = "linux"))]
const DIRECT: Option<i32> = None;

/// Why a file cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// It is neither a file nor a block device.
    #[error("{path} is {kind}: only a file or a block device can be measured, by reading alone")]
    Kind {
        /// The file.
        path: String,
        /// What it is.
        kind: &'static str,
    },
    /// The system refused.
    #[error("cannot open {path} for reading")]
    Open {
        /// The file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}

/// A file or block device, opened for reading only: nothing can be written through it.
///
/// Reads bypass the page cache where the system and the file system let them (`O_DIRECT` on
/// Linux); [`UnixFile::is_direct`] says whether. Nothing bypasses the drive's own cache: it is to
/// be switched off for the measurement, and on again after. Nor is it guaranteed that the drive
/// is alone on its bus or idle, or that a file lies in one piece on it; measure a whole device
/// that nothing else uses.
#[derive(Debug)]
pub struct UnixFile {
    file: File,
    direct: bool,
    sector_bytes: u32,
    capacity_sectors: u64,
    model: Option<String>,
    opened: Instant,
    buffer: Vec<u8>,
}

impl UnixFile {
    /// Opens the file or block device at `path`.
    ///
    /// # Errors
    ///
    /// It is something else, or cannot be opened for reading.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let shown = || path.display().to_string();
        let refused = |source| OpenError::Open { path: shown(), source };
        // Asked before it is opened: to open a pipe is to wait for who writes into it.
        let metadata = fs::metadata(path).map_err(refused)?;
        let kind = metadata.file_type();
        let wrong = match () {
            () if kind.is_dir() => Some("a directory"),
            () if kind.is_char_device() => Some("a character device"),
            () if kind.is_fifo() => Some("a pipe"),
            () if kind.is_socket() => Some("a socket"),
            () => None,
        };
        if let Some(kind) = wrong {
            return Err(OpenError::Kind { path: shown(), kind });
        }
        let past_page_cache = DIRECT.and_then(|direct| {
            let file = OpenOptions::new().read(true).custom_flags(direct).open(path).ok()?;
            Some(file).filter(can_be_read)
        });
        let direct = past_page_cache.is_some();
        let mut file = match past_page_cache {
            Some(file) => file,
            None => File::open(path).map_err(refused)?,
        };
        let said = |attribute| {
            kind.is_block_device().then(|| device_attribute(metadata.rdev(), attribute)).flatten()
        };
        let said_bytes = |attribute| said(attribute).and_then(|bytes| bytes.parse::<u32>().ok());
        // The length of a device is not in its metadata.
        let bytes = file.seek(SeekFrom::End(0)).map_err(refused)?;
        let sector_bytes = sector_bytes(
            bytes,
            said_bytes("queue/logical_block_size"),
            said_bytes("queue/physical_block_size"),
        );
        Ok(Self {
            file,
            direct,
            sector_bytes,
            capacity_sectors: bytes / u64::from(sector_bytes),
            model: said("device/model"),
            opened: Instant::now(),
            buffer: Vec::new(),
        })
    }

    /// Whether reads bypass the page cache.
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    /// What the system calls the device, if it is one and has a name.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }
}

impl MeasuredDrive for UnixFile {
    fn capacity_sectors(&self) -> u64 {
        self.capacity_sectors
    }

    fn sector_bytes(&self) -> u32 {
        self.sector_bytes
    }

    fn read(&mut self, lba: u64, sectors: u32) -> io::Result<(u64, u64)> {
        let bytes = sectors as usize * self.sector_bytes as usize;
        let offset = lba
            .checked_mul(u64::from(self.sector_bytes))
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        if self.buffer.len() < bytes + BUFFER_ALIGNMENT {
            self.buffer.resize(bytes + BUFFER_ALIGNMENT, 0);
        }
        let aligned = aligned(&mut self.buffer, bytes);
        let start = self.opened.elapsed();
        self.file.read_exact_at(aligned, offset)?;
        let end = self.opened.elapsed();
        Ok((start.as_nanos() as u64, end.as_nanos() as u64))
    }
}

/// The sector to measure in: the one that the device answers to, or, where there would be more of
/// those than a profile counts, the larger one that it writes, as drives with 4 KiB sectors that
/// answer to 512 bytes have it.
fn sector_bytes(bytes: u64, logical: Option<u32>, physical: Option<u32>) -> u32 {
    let logical = logical.filter(|&logical| logical > 0).unwrap_or(FILE_SECTOR_BYTES);
    let too_many = bytes / u64::from(logical) > u64::from(u32::MAX);
    match physical {
        Some(FILE_SECTOR_BYTES) if too_many => FILE_SECTOR_BYTES,
        _ => logical,
    }
}

/// Some file systems let a file be opened past the page cache, and then refuse to read it.
fn can_be_read(mut file: &File) -> bool {
    let mut buffer = vec![0; 2 * BUFFER_ALIGNMENT];
    file.read(aligned(&mut buffer, BUFFER_ALIGNMENT)).is_ok()
}

/// `bytes` bytes of `buffer` from an aligned address on; the buffer is longer by an alignment.
fn aligned(buffer: &mut [u8], bytes: usize) -> &mut [u8] {
    let first = buffer.as_ptr().align_offset(BUFFER_ALIGNMENT).min(BUFFER_ALIGNMENT);
    &mut buffer[first..first + bytes]
}

/// What Linux says of a block device, or of the device that it is a partition of.
fn device_attribute(device: u64, attribute: &str) -> Option<String> {
    // The number as Linux packs it: 12 bits and more of major, 8 bits and more of minor.
    let major = (device >> 8 & 0xfff) | (device >> 32 & !0xfff);
    let minor = (device & 0xff) | (device >> 12 & 0xffff_ff00);
    ["", "../"].iter().find_map(|from| {
        let path = format!("/sys/dev/block/{major}:{minor}/{from}{attribute}");
        Some(fs::read_to_string(path).ok()?.trim().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_drive_is_measured_in_the_sectors_that_it_writes() {
        let terabytes = |count: u64| count * 1_000_000_000_000;
        assert_eq!(sector_bytes(terabytes(2), Some(512), Some(4096)), 512);
        assert_eq!(sector_bytes(terabytes(16), Some(512), Some(4096)), 4096);
        assert_eq!(sector_bytes(terabytes(16), Some(512), Some(512)), 512);
        assert_eq!(sector_bytes(terabytes(16), Some(4096), Some(4096)), 4096);
        assert_eq!(sector_bytes(terabytes(1), None, None), 4096);
        assert_eq!(sector_bytes(terabytes(1), Some(0), None), 4096);
    }
}
