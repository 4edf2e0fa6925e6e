//! Opens files and block devices for an array.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::super::BLOCK_BYTES;
use super::lock::{self, Refused};

/// Why a file or block device cannot be opened as a device.
#[derive(Debug, thiserror::Error)]
pub enum OpenDeviceError {
    /// It is in use by another process of ours, a file system or a volume manager.
    #[error("{} is in use{}", path.display(), holder.map(|pid| format!(" by process {pid}")).unwrap_or_default())]
    InUse {
        /// Path of the device.
        path: PathBuf,
        /// The process that has it, if known.
        holder: Option<u32>,
    },
    /// It is neither a file nor a block device.
    #[error("{} is neither a file nor a block device", path.display())]
    NotStorage {
        /// Path that was given.
        path: PathBuf,
    },
    /// It is too small, or a file that does not end on a block boundary.
    #[error("{} holds {size_bytes} bytes; it must hold whole blocks of {BLOCK_BYTES} bytes", path.display())]
    NotBlocks {
        /// Path of the device.
        path: PathBuf,
        /// Bytes that it has.
        size_bytes: u64,
    },
    /// The system refused to open it.
    #[error("{}: cannot {action} it: {source}", path.display())]
    System {
        /// Path of the device.
        path: PathBuf,
        /// What was attempted.
        action: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

/// How space is allocated for a new file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Space {
    /// On write: the file system may run out of space under it.
    #[default]
    Sparse,
    /// All at once.
    Preallocated,
}

/// Returns whether a device can have this size. Of a block device, the last part of a block is not used.
pub(crate) fn is_whole_blocks(size_bytes: u64, is_block_device: bool) -> bool {
    let block = BLOCK_BYTES as u64;
    size_bytes >= block && (is_block_device || size_bytes.is_multiple_of(block))
}

/// How a device is opened. Arrays use [`DeviceFile::open`].
#[derive(Debug, Clone, Copy)]
pub struct OpenDevice {
    direct: bool,
    writable: bool,
}

impl Default for OpenDevice {
    fn default() -> Self {
        Self { direct: true, writable: true }
    }
}

impl OpenDevice {
    /// Opens for reading and writing, exclusively, and bypasses the kernel's cache if the file system supports that.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether to bypass the kernel's cache if possible.
    #[must_use]
    pub fn direct(self, direct: bool) -> Self {
        Self { direct, ..self }
    }

    /// Sets whether the device will be written. Several processes can open a device read-only.
    #[must_use]
    pub fn writable(self, writable: bool) -> Self {
        Self { writable, ..self }
    }

    /// Opens the file or block device at `path` and locks it.
    ///
    /// # Errors
    ///
    /// If it cannot be opened, is in use, or does not hold whole blocks.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<DeviceFile, OpenDeviceError> {
        let path = path.as_ref();
        let status = std::fs::metadata(path).map_err(|source| system(path, "open", source))?;
        let kind = status.file_type();
        if !kind.is_file() && !kind.is_block_device() {
            return Err(OpenDeviceError::NotStorage { path: path.to_owned() });
        }
        let is_block_device = kind.is_block_device();
        let (file, direct) = self.open_as(path, &status, is_block_device)?;
        let size_bytes = (&file)
            .seek(SeekFrom::End(0))
            .map_err(|source| system(path, "find the size of", source))?;
        let block = BLOCK_BYTES as u64;
        if !is_whole_blocks(size_bytes, is_block_device) {
            return Err(OpenDeviceError::NotBlocks { path: path.to_owned(), size_bytes });
        }
        match lock::lock(&file, self.writable, is_block_device) {
            Ok(()) => {}
            Err(Refused::InUse) => return Err(in_use(path, &status)),
            Err(Refused::Failed(source)) => return Err(system(path, "lock", source)),
        }
        let size_bytes = size_bytes / block * block;
        let writes_through = writes_through(&status);
        let path = path.to_owned();
        Ok(DeviceFile { file, path, size_bytes, direct, is_block_device, writes_through })
    }

    /// Creates a file of `size_bytes` at `path`, where nothing may exist, and opens it. The file and its name survive
    /// a power loss once this returns.
    ///
    /// # Errors
    ///
    /// If something exists there, the size is not a multiple of a block, there is no space, or as [`Self::open`].
    /// Then nothing is left behind.
    pub fn create(
        &self,
        path: impl AsRef<Path>,
        size_bytes: u64,
        space: Space,
    ) -> Result<DeviceFile, OpenDeviceError> {
        let path = path.as_ref();
        if size_bytes == 0 || !size_bytes.is_multiple_of(BLOCK_BYTES as u64) {
            return Err(OpenDeviceError::NotBlocks { path: path.to_owned(), size_bytes });
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            // The LUN's data are for whoever runs the array.
            .mode(0o600)
            .open(path)
            .map_err(|source| system(path, "create", source))?;
        let made = fill(&file, path, size_bytes, space).and_then(|()| self.open(path));
        if made.is_err() {
            // The first error is the one to report.
            let _ = std::fs::remove_file(path);
        }
        made
    }

    /// Returns the open file, and whether it bypasses the kernel's cache.
    fn open_as(
        &self,
        path: &Path,
        status: &Metadata,
        is_block_device: bool,
    ) -> Result<(File, bool), OpenDeviceError> {
        let attempt = |direct| {
            let mut flags = OFlags::empty();
            #[cfg(target_os = "linux")]
            if direct {
                flags |= OFlags::DIRECT;
            }
            if is_block_device && self.writable {
                // Without O_CREAT, this fails while a file system or another process of ours has the device.
                flags |= OFlags::EXCL;
            }
            // std opens with O_CLOEXEC.
            let file = OpenOptions::new()
                .read(true)
                .write(self.writable)
                .custom_flags(flags.bits().cast_signed())
                .open(path)?;
            if direct {
                try_direct(&file)?;
            }
            Ok(file)
        };
        if self.direct && cfg!(target_os = "linux") {
            match attempt(true) {
                Ok(file) => return Ok((file, true)),
                // The file system does not support it, or requires larger blocks than ours.
                Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => {}
                Err(error) => return Err(refused(path, status, error)),
            }
        }
        attempt(false).map(|file| (file, false)).map_err(|error| refused(path, status, error))
    }
}

/// A file or block device, open and locked.
#[derive(Debug)]
pub struct DeviceFile {
    file: File,
    path: PathBuf,
    size_bytes: u64,
    direct: bool,
    is_block_device: bool,
    writes_through: bool,
}

impl DeviceFile {
    /// Opens a device as [`OpenDevice::open`] does, with an array's options.
    ///
    /// # Errors
    ///
    /// As [`OpenDevice::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, OpenDeviceError> {
        OpenDevice::new().open(path)
    }

    /// Creates a file as [`OpenDevice::create`] does, with an array's options.
    ///
    /// # Errors
    ///
    /// As [`OpenDevice::create`].
    pub fn create(
        path: impl AsRef<Path>,
        size_bytes: u64,
        space: Space,
    ) -> Result<Self, OpenDeviceError> {
        OpenDevice::new().create(path, size_bytes, space)
    }

    /// Returns the path by which it was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the size of its whole blocks, in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Returns whether it bypasses the kernel's cache.
    #[must_use]
    pub fn direct(&self) -> bool {
        self.direct
    }

    /// Returns whether it is a block device rather than a file.
    #[must_use]
    pub fn is_block_device(&self) -> bool {
        self.is_block_device
    }

    /// Returns whether the drive can make a single write durable without flushing its cache.
    #[must_use]
    pub fn writes_through(&self) -> bool {
        self.writes_through
    }

    /// Returns the open file.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }
}

impl Drop for DeviceFile {
    fn drop(&mut self) {
        // Closing would suffice, except that a child process which another thread is starting shares the file, and
        // with it the lock, until it executes its program.
        let _ = self.file.unlock();
    }
}

/// Tests direct I/O: some file systems accept the flag when opening, and refuse to read.
fn try_direct(file: &File) -> io::Result<()> {
    use std::os::unix::fs::FileExt;

    let mut block = super::super::Buffer::zeroed(1);
    match file.read_at(block.bytes_mut(), 0) {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::INVAL) => Err(error),
        // An unreadable first block is no reason not to open the device.
        _ => Ok(()),
    }
}

fn fill(file: &File, path: &Path, size_bytes: u64, space: Space) -> Result<(), OpenDeviceError> {
    file.set_len(size_bytes).map_err(|source| system(path, "size", source))?;
    if space == Space::Preallocated {
        preallocate(file, size_bytes)
            .map_err(|source| system(path, "allocate the space of", source))?;
    }
    let parent = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    file.sync_all()
        .and_then(|()| File::open(parent)?.sync_all())
        .map_err(|source| system(path, "make safe", source))
}

#[cfg(target_os = "linux")]
fn preallocate(file: &File, size_bytes: u64) -> io::Result<()> {
    Ok(rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, size_bytes)?)
}

#[cfg(not(target_os = "linux"))]
fn preallocate(_: &File, _: u64) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Returns whether, according to the kernel, the drive under a file or block device has no volatile cache, or
/// supports FUA ("force unit access").
#[cfg(target_os = "linux")]
fn writes_through(status: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;

    let device = if status.file_type().is_block_device() { status.rdev() } else { status.dev() };
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    // A partition has the queue of its disk.
    ["queue", "../queue"].iter().any(|queue| {
        let says = |what: &str| {
            std::fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/{queue}/{what}"))
        };
        says("fua").is_ok_and(|fua| fua.trim() == "1")
            || says("write_cache").is_ok_and(|cache| cache.trim() == "write through")
    })
}

#[cfg(not(target_os = "linux"))]
fn writes_through(_: &Metadata) -> bool {
    false
}

fn refused(path: &Path, status: &Metadata, error: io::Error) -> OpenDeviceError {
    match Errno::from_io_error(&error) {
        Some(Errno::BUSY) => in_use(path, status),
        _ => system(path, "open", error),
    }
}

fn in_use(path: &Path, status: &Metadata) -> OpenDeviceError {
    OpenDeviceError::InUse { path: path.to_owned(), holder: lock::holder(status) }
}

fn system(path: &Path, action: &'static str, source: io::Error) -> OpenDeviceError {
    OpenDeviceError::System { path: path.to_owned(), action, source }
}
