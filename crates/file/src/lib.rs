//! Where the blocks of real files lie, how fragmented that is, and what it costs.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod error;
mod extent;
mod free_space;
mod measure;
mod space;

pub use error::FileError;
pub use extent::{Address, Extent, Place};
pub use free_space::{
    BtrfsFreeSpace, ExtFreeSpace, FreeRunClass, FreeSpaceReport, free_space, parse_dumpe2fs,
    parse_xfs_free_extents, sync,
};
pub use measure::{LayoutMeasures, LayoutPass};
pub use space::{
    AddressSpace, Device, FileSystemKind, LocatedDevice, Mount, Piece, System, Vdev, VdevKind,
    btrfs, mount_of_path, parse_mountinfo,
};
