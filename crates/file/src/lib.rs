//! Where the blocks of real files lie, how fragmented that is, and what it costs.
//!
//! A file is a list of [`Extent`]s: bytes of the file and their [`Place`], an [`Address`] of the file system. An
//! [`AddressSpace`] translates addresses to pieces of devices. What is to be known of a file is found in one pass over
//! its extents, in memory that does not depend on their number: a [`LayoutPass`] measures the layout, a
//! [`CostAnalysis`] finds what requests cost.
//!
//! ```
//! use strewn_file::{
//!     Address, AddressSpace, CostAnalysis, Device, Extent, FileWorkload, LayoutPass, Order, Place,
//!     SpindleModel, CostAnalysisOptions,
//! };
//!
//! // 64 MiB in pieces of 64 KiB, each 1 MiB behind the one before.
//! let extents = (0..1024u64).map(|piece| Extent {
//!     offset: piece << 16,
//!     bytes: 1 << 16,
//!     place: Place::At(Address::new(piece << 20)),
//!     shared: false,
//! });
//! let device = Device { name: "sda".into(), ..Device::default() };
//! let space = AddressSpace::direct(vec![device]);
//! let scan = FileWorkload::simple(1 << 20, Order::Sequential, 100);
//! let mut layout = LayoutPass::new(64 << 20, 4096);
//! let analysis = CostAnalysis::new(&scan, 64 << 20, &space, CostAnalysisOptions::default())?;
//! let mut analysis = analysis.ok_or("an empty file")?;
//! for extent in extents {
//!     layout.add(&extent);
//!     analysis.add(&extent);
//! }
//! assert_eq!(layout.finish().extents, 1024);
//! let report = analysis.finish(&SpindleModel::shipped("nearline-7200-16tb")?)?;
//! assert_eq!(report.costs[0].as_it_lies.counts.commands_per_request, 16.0);
//! assert_eq!(report.costs[0].contiguous.counts.commands_per_request, 1.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | to | use |
//! |---|---|
//! | open files of this machine | `Looker` (Linux) |
//! | read saved lists | [`ExtentListReader`] |
//! | look into ZFS, and into disk images | [`zdb_extents`], [`compose`] |
//! | visit a tree in parallel | [`walk()`] |
//! | see how logical volumes lie on their devices | [`VolumeListing`] |
//! | measure free space | [`free_space()`], of pools [`zfs_pool`] and [`parse_pool_list`] |
//! | predict what writes will do | [`Prediction`] |
//!
//! Every parser takes any bytes and returns an error, never a panic. A [`FileError`] has the place and the remedy.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

/// The example of the README is compiled.
#[cfg(all(doctest, target_os = "linux"))]
#[doc = include_str!("../README.md")]
struct Readme;

mod cost;
mod error;
mod extent;
mod free_space;
#[cfg(target_os = "linux")]
mod look;
mod measure;
mod source;
mod space;
mod tool;
mod walk;
#[cfg(target_os = "linux")]
mod zfs;

pub use cost::{
    AddressShift, Advice, AgingOptions, BTRFS_BATCH_WRITES, Change, CommandCounts, Comparison,
    ContiguousPlacement, CostAnalysis, CostAnalysisOptions, CostOptions, CostPass, CostReport,
    DEFAULT_MAX_COMMAND_BYTES, DEFAULT_OUTSTANDING, DEFAULT_REQUESTS, FileCommands, FileCost,
    FileStream, FileWorkload, LayoutCost, LunRequest, LunRequests, Merging, Order, PredictedLayout,
    Prediction, Request, RequestPlan, SimulatedFigures, SpeedUnit, SpindleModel, TRIFLE_S,
    UNCHANGED_SHARE, Verdict, WritePolicy, XFS_COPIED_UNIT_BYTES,
};
pub use error::FileError;
pub use extent::{Address, Extent, Place};
pub use free_space::{
    BtrfsFreeSpace, CephScores, ExtFreeSpace, FreeBytesClass, FreeRunClass, FreeSpaceReport,
    NextWrites, PoolFreeSpace, VdevFreeSpace, ZpoolFigures, ZpoolVdev, free_space, parse_dumpe2fs,
    parse_pool_list, parse_xfs_free_extents, parse_zpool_list, sync, zfs_pool,
};
#[cfg(target_os = "linux")]
pub use look::{FileSystem, FoundBy, LookedAt, Looker};
pub use measure::{LayoutMeasures, LayoutPass};
pub use source::{
    ComposedExtents, ExtentListReader, ExtentListWriter, ImageFormat, ImageLayer, LayerExtents,
    ListDialect, ListedFile, LogicalVolume, MapRange, MapReader, StoredLengths, VolumeListing,
    compose, image_layers, is_volume_listing, listed_device, map_image, names_other_files,
    pool_layout, read_whole, saved_text, zdb_extents,
};
#[cfg(target_os = "linux")]
pub use source::{SeekExtents, fiemap_extents, seek_extents};
pub use space::{
    AddressSpace, Device, DeviceQueue, FileSystemKind, LocatedDevice, Mount, ParityLayout, Piece,
    PoolLayout, StripeMap, System, VdevKind, VdevLayout, VdevShape, btrfs, mount_of_path,
    parse_mountinfo,
};
pub use tool::ToolOutput;
pub use walk::{MOST_THREADS, Visitor, WalkOptions, walk};
