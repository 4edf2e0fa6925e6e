//! One file: what it is, on what it lies, and its extents.

use std::collections::HashMap;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::{IFlags, OFlags};

use crate::error::FileError;
use crate::extent::Extent;
use crate::source::{StoredLengths, fiemap_extents, is_unsupported, seek_extents};
use crate::space::{AddressSpace, FileSystemKind, Mount, System};
use crate::zfs::{ObjectExtents, Pool, pool_of_dataset};

/// A file system that files were found on.
#[derive(Debug)]
pub struct FileSystem {
    /// How it is mounted.
    pub mount: Mount,
    /// Its devices.
    pub space: Arc<AddressSpace>,
    /// Its size, if it has one.
    pub bytes: Option<u64>,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// The pool, of ZFS.
    pool: Option<Arc<Pool>>,
}

/// How the extents of a file are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundBy {
    /// The kernel tells them: FIEMAP.
    Fiemap,
    /// zdb reads them from the devices of a ZFS pool.
    Zdb,
    /// The kernel tells only what is data and what is a hole.
    Seek,
}

impl FoundBy {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fiemap => "fiemap",
            Self::Zdb => "zdb",
            Self::Seek => "seek",
        }
    }
}

/// Opens files, and keeps what it has learnt of their file systems.
#[derive(Debug, Default)]
pub struct Looker {
    system: System,
    /// Whether the kernel writes out what it has in memory of a file first.
    sync: bool,
    /// By the device number that files have.
    file_systems: Mutex<HashMap<u64, Arc<FileSystem>>>,
    /// By their names.
    pools: Mutex<HashMap<String, Arc<Pool>>>,
}

impl Looker {
    /// Looks at files of this machine. With `sync`, the kernel first writes out what it has of a file in memory, so
    /// that every byte has its place.
    #[must_use]
    pub fn new(sync: bool) -> Self {
        Self { sync, ..Self::default() }
    }

    /// Looks at files by what `system` says of mounts and devices.
    #[must_use]
    pub fn with_system(system: System, sync: bool) -> Self {
        Self { system, ..Self::new(sync) }
    }

    /// The file system that the file or directory at `path` is on.
    ///
    /// # Errors
    /// If there is no such path, or the mounts cannot be read.
    pub fn file_system(
        &self,
        path: &Path,
        metadata: &Metadata,
    ) -> Result<Arc<FileSystem>, FileError> {
        let known = |device| {
            let all = self.file_systems.lock().unwrap_or_else(PoisonError::into_inner);
            all.get(&device).cloned()
        };
        if let Some(known) = known(metadata.dev()) {
            return Ok(known);
        }
        let mount = self.system.mount_of(path)?;
        let pool = (mount.kind == FileSystemKind::Zfs).then(|| self.pool(&mount));
        let space = match &pool {
            Some(pool) => Arc::clone(pool.space()),
            None => Arc::new(self.system.address_space(&mount)),
        };
        let found = rustix::fs::statvfs(path).ok();
        // tmpfs and others report none.
        let whole = found.as_ref().map(|of| of.f_blocks.saturating_mul(of.f_frsize));
        let bytes = whole.filter(|bytes| *bytes > 0);
        let block_bytes = found.map_or(4096, |of| of.f_frsize).clamp(512, 1 << 20);
        let made = Arc::new(FileSystem { mount, space, bytes, block_bytes, pool });
        let mut all = self.file_systems.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(all.entry(metadata.dev()).or_insert(made)))
    }

    /// The pool that `mount` is a dataset of. zdb is asked once.
    fn pool(&self, mount: &Mount) -> Arc<Pool> {
        let mut all = self.pools.lock().unwrap_or_else(PoisonError::into_inner);
        let name = pool_of_dataset(&mount.source).to_owned();
        Arc::clone(all.entry(name).or_insert_with(|| Arc::new(Pool::find(&self.system, mount))))
    }

    /// The file systems of all files so far, by their mount points.
    #[must_use]
    pub fn file_systems(&self) -> Vec<Arc<FileSystem>> {
        let all = self.file_systems.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found: Vec<Arc<FileSystem>> = all.values().cloned().collect();
        found.sort_by(|one, other| one.mount.mount_point.cmp(&other.mount.mount_point));
        // Subvolumes have device numbers of their own.
        found.dedup_by(|one, other| one.mount.mount_point == other.mount.mount_point);
        found
    }

    /// Learns of files that are to be opened next what is learnt of several at once: one zdb tells the blocks of many
    /// files of a dataset. Other file systems have nothing of that kind.
    pub fn look_ahead(&self, paths: &[PathBuf]) {
        let mut objects: HashMap<u64, (Arc<FileSystem>, Vec<u64>)> = HashMap::new();
        let mut left = MOST_BYTES_AHEAD;
        for path in paths {
            let Ok(metadata) = fs::metadata(path) else { continue };
            let bytes = metadata.blocks().saturating_mul(512);
            if !metadata.is_file() || bytes > left {
                continue;
            }
            let Ok(found) = self.file_system(path, &metadata) else { continue };
            if found.pool.is_some() {
                left -= bytes;
                let entry = objects.entry(metadata.dev()).or_insert_with(|| (found, Vec::new()));
                entry.1.push(metadata.ino());
            }
        }
        for (found, mut objects) in objects.into_values() {
            objects.sort_unstable();
            objects.dedup();
            if let Some(pool) = &found.pool
                && objects.len() > 1
            {
                for some in objects.chunks(MOST_OBJECTS_AHEAD) {
                    pool.look_ahead(&found.mount.source, some, self.sync);
                }
            }
        }
    }

    /// Whether files at `path` are such that [`look_ahead`](Self::look_ahead) learns of them.
    #[must_use]
    pub fn looks_ahead(&self, path: &Path) -> bool {
        let found = fs::symlink_metadata(path).ok();
        let found = found.and_then(|metadata| self.file_system(path, &metadata).ok());
        found.is_some_and(|found| found.pool.is_some())
    }

    /// Opens the file at `path`, following symbolic links.
    ///
    /// # Errors
    /// If it cannot be opened, or is no regular file.
    pub fn open(&self, path: &Path) -> Result<LookedAt, FileError> {
        let before = fs::metadata(path).map_err(|error| cannot_open(path, error))?;
        refuse_others(path, &before)?;
        self.open_found(path)
    }

    /// Opens the file at `path`, which was found to be a regular file a moment ago.
    ///
    /// # Errors
    /// If it cannot be opened, or is no regular file any more.
    pub fn open_found(&self, path: &Path) -> Result<LookedAt, FileError> {
        // If something else has taken its place meanwhile, opening a pipe would wait for a writer.
        let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
        let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
        let file = opened.map_err(|error| cannot_open(path, error))?;
        let metadata = file.metadata().map_err(|error| cannot_open(path, error))?;
        refuse_others(path, &metadata)?;
        let file_system = self.file_system(path, &metadata)?;
        let mut looked = LookedAt {
            path: path.to_owned(),
            file,
            metadata,
            file_system,
            found_by: FoundBy::Fiemap,
            object: None,
            head: Vec::new(),
            sync: self.sync,
        };
        if let Some(pool) = &looked.file_system.pool {
            let (object, bytes) = (looked.metadata.ino(), looked.metadata.len());
            let dataset = &looked.file_system.mount.source;
            let found = pool.extents(dataset, object, bytes, self.sync);
            looked.found_by = if found.is_ok() { FoundBy::Zdb } else { FoundBy::Seek };
            looked.object = Some(found);
            return Ok(looked);
        }
        // As many as the kernel is asked for at once: most files have no more, and are not asked for twice.
        let head: Result<Vec<Extent>, FileError> =
            fiemap_extents(&looked.file, looked.sync).take(AT_ONCE).collect();
        match head {
            Ok(head) => looked.head = head,
            Err(error) if is_unsupported(&error) => looked.found_by = FoundBy::Seek,
            Err(error) => {
                return Err(FileError::io(
                    format!("{}: the kernel does not tell its extents", path.display()),
                    io::Error::other(error.to_string()),
                ));
            }
        }
        Ok(looked)
    }
}

/// Bytes of the files that are learnt of ahead: their blocks are kept in memory, 130 MB if they are
/// of 8 KiB.
const MOST_BYTES_AHEAD: u64 = 16 << 30;
/// Objects that one zdb is asked for: a command line has room for more.
const MOST_OBJECTS_AHEAD: usize = 1024;
/// Extents that one FIEMAP call tells.
const AT_ONCE: usize = 8;

fn cannot_open(path: &Path, error: io::Error) -> FileError {
    let shown = path.display();
    match error.kind() {
        io::ErrorKind::PermissionDenied => FileError::input(
            format!("{shown}: no permission to read it"),
            "run as its owner or as root; nothing but its extents is read",
        ),
        io::ErrorKind::NotFound => {
            FileError::input(format!("{shown}: there is no such file"), "give the path of a file")
        }
        _ => FileError::io(format!("{shown}: cannot be opened"), error),
    }
}

/// Refuses what has no extents of its own.
fn refuse_others(path: &Path, metadata: &Metadata) -> Result<(), FileError> {
    let kind = metadata.file_type();
    let what = if kind.is_file() {
        return Ok(());
    } else if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_block_device() {
        "a block device, which lies where it lies"
    } else {
        "a device"
    };
    Err(FileError::input(format!("{} is {what}", path.display()), "give a regular file"))
}

/// An open file.
#[derive(Debug)]
pub struct LookedAt {
    path: PathBuf,
    file: File,
    metadata: Metadata,
    file_system: Arc<FileSystem>,
    found_by: FoundBy,
    /// The first extents: all of them if there are fewer than [`AT_ONCE`].
    head: Vec<Extent>,
    /// What zdb tells of a file of ZFS, or why it does not.
    object: Option<Result<ObjectExtents, String>>,
    sync: bool,
}

impl LookedAt {
    /// Its path, as given.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes up to its end when it was opened.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.metadata.len()
    }

    /// Bytes that the file system counts as allocated to it.
    #[must_use]
    pub fn allocated_bytes(&self) -> u64 {
        self.metadata.blocks().saturating_mul(512)
    }

    /// Bytes of its blocks: of the file system, or of the file where files differ, as in ZFS.
    #[must_use]
    pub fn block_bytes(&self) -> u64 {
        let own = self.object.iter().flatten().find_map(|object| object.block_bytes);
        own.map_or(self.file_system.block_bytes, |bytes| bytes.clamp(512, 1 << 24))
    }

    /// The file system it is on.
    #[must_use]
    pub fn file_system(&self) -> &Arc<FileSystem> {
        &self.file_system
    }

    /// How its extents are found.
    #[must_use]
    pub fn found_by(&self) -> FoundBy {
        self.found_by
    }

    /// The open file.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Its extents, in the order of the file. May be called again, for another pass.
    pub fn extents(&self) -> Box<dyn Iterator<Item = Result<Extent, FileError>> + '_> {
        match self.found_by {
            FoundBy::Fiemap if self.head.len() < AT_ONCE => {
                Box::new(StoredLengths::new(self.head.iter().copied().map(Ok)))
            }
            FoundBy::Fiemap => Box::new(StoredLengths::new(fiemap_extents(&self.file, self.sync))),
            FoundBy::Zdb => {
                let extents = self.object.iter().flatten().flat_map(|object| &object.extents);
                Box::new(extents.copied().map(Ok))
            }
            FoundBy::Seek => match seek_extents(&self.file, &self.path.display().to_string()) {
                Ok(extents) => Box::new(extents),
                Err(error) => Box::new(std::iter::once(Err(error))),
            },
        }
    }

    /// Whether the file has been written to since it was opened: passes over its extents may have seen parts of it
    /// before and parts after.
    #[must_use]
    pub fn has_changed(&self) -> bool {
        let then = &self.metadata;
        self.file.metadata().is_ok_and(|now| {
            (now.len(), now.mtime(), now.mtime_nsec(), now.ctime(), now.ctime_nsec(), now.blocks())
                != (
                    then.len(),
                    then.mtime(),
                    then.mtime_nsec(),
                    then.ctime(),
                    then.ctime_nsec(),
                    then.blocks(),
                )
        })
    }

    /// Whether the file is overwritten in place on a file system that otherwise copies on write: `chattr +C` on btrfs.
    #[must_use]
    pub fn is_overwritten(&self) -> bool {
        rustix::fs::ioctl_getflags(&self.file).is_ok_and(|flags| flags.contains(IFlags::NOCOW))
    }

    /// What the reader has to know of where the addresses come from.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let kind = &self.file_system.mount.kind;
        let mut notes = Vec::new();
        if self.found_by == FoundBy::Seek {
            let name = kind.name();
            notes.push(match kind {
                kind if kind.is_network() => format!(
                    "{name} tells only what is data and what is a hole: run strewn on the machine that has the disks"
                ),
                FileSystemKind::Zfs => {
                    let why = self.object.as_ref().and_then(|found| found.as_ref().err());
                    let why = why.map_or("", String::as_str);
                    format!("ZFS tells only what is data and what is a hole, and zdb does not help: {why}")
                }
                _ => format!("{name} tells only what is data and what is a hole"),
            });
        } else if let Some(reason) = self.file_system.space.untranslated_reason() {
            notes.push(format!("addresses are not those of a device: {reason}"));
        }
        notes.extend(self.object.iter().flatten().flat_map(|object| object.notes.clone()));
        notes
    }
}
