//! Volumes, snapshots and clones on a write-anywhere allocator: files in an aggregate, kept in memory or saved in it.
//!
//! The crate is the layer above [`strewn_alloc`], which allocates blocks: it maps the blocks of files to blocks of the
//! aggregate, and decides when a block is free. It does no I/O and has no clock; the store above carries out the write
//! plans.
//!
//! # Volumes
//!
//! [`Volumes`] adds files to an aggregate, with snapshots and clones, and counts space exactly at all times
//! ([`Space`]). Two numbers lead to a block, so moving the block changes no file. [`FileReallocation`] and
//! [`CleaningPlan`] defragment files and free space in bounded steps, and state the gain before they start: a file in
//! [full](FileReallocation::full), its [worst segments](FileReallocation::above_threshold), or
//! [what was just read](FileReallocation::after_read).
//!
//! An [`Image`] is the active contents of a volume or those of a snapshot: it [locates](Image::locate) blocks, and
//! [lists](Image::blocks_from) them. Files are [created](Volumes::create_file), [written](Volumes::write_all),
//! [punched](Volumes::punch) and [deleted](Volumes::delete_file) in consistency points. A file has a
//! [length](Volumes::set_length) in bytes and 64 bytes of [attributes](Volumes::set_attributes), a volume a
//! [name](Volumes::set_volume_name); the store above sets them. What deletions leave is taken apart by
//! [`background_step`](Volumes::background_step), while there is [work left](Volumes::is_background_work_left).
//!
//! ```
//! use strewn_alloc::{Aggregate, AggregateOptions};
//! use strewn_raid::{Parity, ParityGroup};
//! use strewn_volume::{Fbn, FileReallocation, Volumes};
//!
//! let group = ParityGroup::new(Parity::RaidDp, 4, 65_536)?;
//! let mut volumes = Volumes::new(Aggregate::new([group], AggregateOptions::default())?)?;
//! let volume = volumes.create_volume(100_000)?;
//! volumes.begin(10_000)?;
//! let lun = volumes.create_file(volume)?;
//! volumes.write_all(volume, lun, &Vec::from_iter((0..10_000).map(Fbn)))?;
//! // A store writes what `finish` returns, and then commits. Nothing is written here.
//! volumes.discard_plan();
//! volumes.commit()?;
//!
//! // Rewrite every seventh block; a snapshot keeps the old ones.
//! volumes.snapshot(volume)?;
//! volumes.begin(1_429)?;
//! volumes.write_all(volume, lun, &Vec::from_iter((0..10_000).step_by(7).map(Fbn)))?;
//! volumes.discard_plan();
//! volumes.commit()?;
//! let space = volumes.space_of(volume)?;
//! assert_eq!((space.active, space.snapshots), (10_000, 1_429));
//!
//! // Lay the file out in order again, 512 blocks at a time.
//! let mut reallocation = FileReallocation::full(&volumes, volume, lun)?;
//! println!("{}", reallocation.gain());
//! while let Some(moves) = reallocation.next_item(&volumes, 512) {
//!     volumes.begin(moves.len() as u64)?;
//!     volumes.relocate(&moves)?;
//!     volumes.discard_plan();
//!     volumes.commit()?;
//! }
//! volumes.verify()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Saved maps
//!
//! [`Volumes::persistent`] places the changed pages of all maps in the same write plan as the data, with a [`Root`]
//! that leads to them; [`Volumes::mount`] reads them back. The store makes the plan durable first, then the root, and
//! commits only then. The root also carries 32 bytes of the application's
//! ([`set_application_bytes`](Volumes::set_application_bytes)). The `guide` of this crate teaches it call by call, and
//! the example `persistent_store` does it.
//!
//! # Snapshots of your own maps
//!
//! A caller with its own maps needs only the mechanism. Snapshots are [`DeadLists`]: a block that leaves the active
//! image is free, or a list keeps it until the snapshots that hold it are deleted. A simulator that can spend six bytes
//! a block uses a [`VirtualSpace`] for the block numbers of volumes and [`SpaceSnapshots`] for their snapshots, beside
//! the allocator's `BlockMap`.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod background;
mod consistency_point;
mod container;
mod dead_lists;
mod defragmentation;
mod error;
mod flexible;
mod image;
mod metadata;
mod names;
mod properties;
mod space;
mod space_snapshots;
mod teardown;
mod tree;
mod verify;
mod virtual_space;
mod volumes;

pub use dead_lists::{DeadLists, SnapshotDeletion};
pub use defragmentation::{CleaningPlan, FileReallocation, Gain, SegmentCleaning};
pub use error::VolumeError;
pub use image::Image;
pub use metadata::{APPLICATION_BYTES, Damage, METADATA_BYTES, PageName, Root, VolumesMountError};
pub use names::{
    BlockName, BlockSource, FILE_ATTRIBUTE_BYTES, Fbn, FileId, MOST_NAME_BYTES, MetadataPage, Move,
    SnapshotId, VirtualVbn, VolumeId,
};
pub use space::{Space, VolumeSpace};
pub use space_snapshots::SpaceSnapshots;
pub use verify::VolumeViolation;
pub use virtual_space::{Region, VirtualSpace, VolumeFull, VolumeTooLarge};
pub use volumes::Volumes;

/// How to build a store on volumes that survives a kill at any write, and what it costs. This is a page of the
/// repository; its links to other pages lead there.
#[cfg(all(doc, not(doctest)))]
pub mod guide {
    #![doc = include_str!("../guide.txt")]
}

/// The examples of the README are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
