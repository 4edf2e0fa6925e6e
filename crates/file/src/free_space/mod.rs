//! How fragmented the free space of a mounted file system is, by the definitions of [`strewn_alloc::FreeSpace`].

mod btrfs;
mod ceph;
mod ceph_score;
mod ext;
mod live_pool;
mod next_file;
mod next_writes;
mod pool;
mod pool_list;
mod tool;
mod xfs;
mod zdb_complete;
mod zdb_list;
mod zdb_metaslabs;
mod zpool_list;

use serde::Serialize;
use strewn_alloc::FreeSpace;

use crate::error::FileError;
use crate::space::{FileSystemKind, Mount, System};

pub use btrfs::BtrfsFreeSpace;
pub use ceph_score::CephScores;
pub use ext::{ExtFreeSpace, parse_dumpe2fs};
pub use live_pool::zfs_pool;
pub use next_writes::NextWrites;
pub use pool::{FreeBytesClass, PoolFreeSpace, VdevFreeSpace};
pub use pool_list::parse_pool_list;
pub use xfs::parse_xfs_free_extents;
pub use zpool_list::{ZpoolFigures, ZpoolVdev, parse_zpool_list};

/// Runs of free blocks of one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FreeRunClass {
    /// The shortest run of the class, in blocks, a power of two; the longest has one block less than twice as many.
    pub from_blocks: u64,
    /// The number of runs.
    pub runs: u64,
}

/// The layout of the free space of a file system.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FreeSpaceReport {
    /// Where the figures come from.
    pub source: String,
    /// What the source does not know.
    pub caveats: Vec<String>,
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Free bytes in the runs.
    pub free_bytes: u64,
    /// Bytes of devices that are not given to data or metadata yet, before any redundancy, where a file system has
    /// such; they are not in `free_bytes`.
    pub unallocated_bytes: Option<u64>,
    /// [`FreeSpace::score`], of all blocks as if on one spindle: the share of free blocks that directly follow another.
    /// 1 is one run.
    pub score: f64,
    /// Bytes of the longest run.
    pub largest_run_bytes: u64,
    /// The number of runs.
    pub runs: u64,
    /// Runs by their length in blocks.
    pub histogram: Vec<FreeRunClass>,
}

impl FreeSpaceReport {
    fn new(source: &str, caveats: &[&str], block_bytes: u64, space: &FreeSpace) -> Self {
        let classes = space.runs.classes();
        Self {
            source: source.to_owned(),
            caveats: caveats.iter().map(|caveat| (*caveat).to_owned()).collect(),
            block_bytes,
            free_bytes: space.free_blocks.saturating_mul(block_bytes),
            unallocated_bytes: None,
            score: space.score,
            largest_run_bytes: space.largest_run_blocks.saturating_mul(block_bytes),
            runs: space.runs.runs(),
            histogram: classes
                .map(|(from_blocks, runs)| FreeRunClass { from_blocks, runs })
                .collect(),
        }
    }
}

/// The layout of the free space of the file system at `mount`. For figures of this moment, call [`sync`] first.
///
/// - ext2, ext3, ext4: `dumpe2fs` lists every run. `e2freefrag` has a histogram only, whose classes are of bytes;
///   mounted, it counts blocks as used that the kernel set aside for files that grow.
/// - XFS: `xfs_spaceman` lists every run, as the kernel has them.
/// - btrfs: the gaps between the extents in data chunks, read from the devices.
///
/// # Errors
/// If the kind of file system is another, a tool is not installed, there is no permission, or the output of a tool or
/// the bytes on a device are not as expected; the message says what to do.
pub fn free_space(mount: &Mount) -> Result<FreeSpaceReport, FileError> {
    let system = System::default();
    match &mount.kind {
        FileSystemKind::Ext(_) => ext::free_space(&system, mount),
        FileSystemKind::Xfs => xfs::free_space(mount),
        FileSystemKind::Btrfs => btrfs::free_space(&system, mount),
        FileSystemKind::Overlay => match system.mount_under_overlay(mount) {
            Some(below) => free_space(&below),
            None => Err(unknown(mount, "give a path in one of its layers")),
        },
        kind if kind.is_network() => Err(unknown(mount, "run strewn on the server")),
        FileSystemKind::Zfs => Err(unknown(
            mount,
            "give --pool POOL, or --pool-from FILE with the output of `zdb -mm POOL`",
        )),
        _ => Err(unknown(mount, "it is known for ext2, ext3, ext4, XFS and btrfs")),
    }
}

fn unknown(mount: &Mount, remedy: &str) -> FileError {
    let kind = mount.kind.name();
    FileError::input(
        format!("{}: the free space of {kind} is not known", mount.mount_point),
        remedy,
    )
}

/// Has the file system at `mount` write what it holds back: blocks without a place yet get one, and the state on its
/// devices is that of this moment.
///
/// # Errors
/// Those of the operating system.
pub fn sync(mount: &Mount) -> Result<(), FileError> {
    let failed = |error| FileError::io(format!("writing out {}", mount.mount_point), error);
    let directory = std::fs::File::open(&mount.mount_point).map_err(failed)?;
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(&directory).map_err(|error| failed(error.into()))?;
    #[cfg(not(target_os = "linux"))]
    directory.sync_all().map_err(failed)?;
    Ok(())
}
