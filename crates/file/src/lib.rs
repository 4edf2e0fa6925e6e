//! Where the blocks of real files lie, how fragmented that is, and what it costs.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod cost;
mod error;
mod extent;
mod free_space;
#[cfg(target_os = "linux")]
mod look;
mod measure;
mod source;
mod space;
mod walk;
#[cfg(target_os = "linux")]
mod zfs;

pub use cost::{
    AddressShift, Advice, AgingOptions, BTRFS_BATCH_WRITES, Change, CommandCounts, Comparison,
    ContiguousPlacement, CostOptions, CostPass, CostReport, CostStudy, DEFAULT_MAX_COMMAND_BYTES,
    DEFAULT_OUTSTANDING, DEFAULT_REQUESTS, FileCommands, FileCost, FileStream, FileWorkload,
    LayoutCost, LunRequest, LunRequests, Order, PredictedLayout, Prediction, Request, RequestPlan,
    SimulatedFigures, SpeedUnit, SpindleModel, StudyOptions, UNCHANGED_SHARE, Verdict, WritePolicy,
};
pub use error::FileError;
pub use extent::{Address, Extent, Place};
pub use free_space::{
    BtrfsFreeSpace, ExtFreeSpace, FreeRunClass, FreeSpaceReport, free_space, parse_dumpe2fs,
    parse_xfs_free_extents, sync,
};
#[cfg(target_os = "linux")]
pub use look::{FileSystem, FoundBy, LookedAt, Looker};
pub use measure::{LayoutMeasures, LayoutPass};
pub use source::{
    ComposedExtents, ExtentListReader, ExtentListWriter, ImageFormat, ImageLayer, LayerExtents,
    ListDialect, ListedFile, MapRange, MapReader, PoolLayout, ToolOutput, VdevLayout, compose,
    image_layers, map_image, pool_layout, zdb_extents,
};
#[cfg(target_os = "linux")]
pub use source::{SeekExtents, fiemap_extents, seek_extents};
pub use space::{
    AddressSpace, Device, FileSystemKind, LocatedDevice, Mount, Piece, System, VdevKind, VdevShape,
    btrfs, mount_of_path, parse_mountinfo,
};
pub use walk::{Visitor, WalkOptions, walk};
