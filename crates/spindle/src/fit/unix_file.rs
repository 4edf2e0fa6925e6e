//! A file or block device, opened for reading only.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Instant;

use super::{FitError, MeasuredDrive};

/// Direct reads need a buffer aligned to the sector; no sector is larger than this.
const BUFFER_ALIGNMENT: usize = 4096;

/// Sector size of a plain file, and of a device whose sector size the system does not tell.
const FILE_SECTOR_BYTES: u32 = 4096;

/// Linux's `O_DIRECT`, where its value is known. It differs between architectures.
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

/// A file or block device, opened for reading only.
///
/// Reads bypass the page cache where the system and the file system allow it (`O_DIRECT` on Linux);
/// [`UnixFile::is_direct`] tells. Nothing bypasses the drive's own cache: switch it off for the measurement. Measure a
/// whole device that nothing else uses: a file may be fragmented, and other load delays reads.
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
    /// It is of another kind, or cannot be opened for reading.
    pub fn open(path: &Path) -> Result<Self, FitError> {
        let shown = || path.display().to_string();
        let refused = |source| FitError::Open { path: shown(), source };
        // Before opening, because opening a pipe waits for its writer.
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
            return Err(FitError::Kind { path: shown(), kind });
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

    /// The device's model, if the system knows it.
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

/// The sector size to measure in: the logical one, unless a profile cannot count that many sectors and the drive writes
/// 4 KiB physical sectors.
fn sector_bytes(bytes: u64, logical: Option<u32>, physical: Option<u32>) -> u32 {
    let logical = logical.filter(|&logical| logical > 0).unwrap_or(FILE_SECTOR_BYTES);
    let too_many = bytes / u64::from(logical) > u64::from(u32::MAX);
    match physical {
        Some(FILE_SECTOR_BYTES) if too_many => FILE_SECTOR_BYTES,
        _ => logical,
    }
}

/// Whether a direct read works: some file systems allow opening with `O_DIRECT` and then refuse to read.
fn can_be_read(mut file: &File) -> bool {
    let mut buffer = vec![0; 2 * BUFFER_ALIGNMENT];
    file.read(aligned(&mut buffer, BUFFER_ALIGNMENT)).is_ok()
}

/// `bytes` bytes of `buffer` from an aligned address on; the buffer is longer by an alignment.
fn aligned(buffer: &mut [u8], bytes: usize) -> &mut [u8] {
    let first = buffer.as_ptr().align_offset(BUFFER_ALIGNMENT).min(BUFFER_ALIGNMENT);
    &mut buffer[first..first + bytes]
}

/// An attribute that Linux gives for a block device, or for the device that it is a partition of.
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
