//! OpenZFS pools as a model: where blocks go, how fragmented a pool becomes, and what that costs its drives.
//!
//! People ask how slow a pool gets as it fills, ages, or is given small blocks. The answer is in rules that OpenZFS
//! states in code: which metaslab a block goes to, what RAID-Z rounds it up to, when a freed block may be used again.
//! The crate has these rules as data structures without I/O and without a clock, and a controller that runs them over
//! drives.
//!
//! # Space
//!
//! A [`Pool`] is top-level [`Vdev`]s with their metaslabs. Given the same blocks in the same order, it puts each where
//! OpenZFS 2.3.2 puts it, and prints the same FRAG: tests replay recordings of real pools. A [`Volume`] is a zvol with
//! its indirect blocks; [`AllocationOrder`] says in which order a transaction group places what hosts have written, and
//! [`PoolObjects`] what the pool writes for itself.
//!
//! ```
//! use strewn_zfs::{AllocationOrder, Pool, PoolObjects, PoolOptions, RaidZ, Redundancy, Vdev, Volume, VolumeShape};
//!
//! // Six drives with double parity and sectors of 4 KiB: a block of 8 KiB takes six sectors, not three.
//! assert_eq!(RaidZ { width: 6, parity: 2, ashift: 12 }.allocated_bytes(8 << 10), 24 << 10);
//!
//! let redundancy = Redundancy::RaidZ { drives: 6, parity: 2 };
//! let vdev = Vdev { redundancy, ashift: 12, drive_bytes: 512 << 20, scale_down: 1 };
//! let mut pool = Pool::new(&[vdev], PoolOptions::default());
//! let shape = VolumeShape { blocks: 16_384, block_bytes: 8 << 10, stored_bytes: 8 << 10 };
//! let mut volume = Volume::new(shape);
//! let mut objects = PoolObjects::new(vdev.metaslabs().count as usize);
//! // The throttle lets 32 writes be under way; the seed is of what timing decides.
//! let mut order = AllocationOrder::new(Some(32), 1);
//!
//! // Fill it in order, then overwrite every third block, 1,024 in a transaction group.
//! let written: Vec<u32> = (0..16_384).chain((0..16_384).step_by(3)).collect();
//! for group in written.chunks(1_024) {
//!     let mut writes = Vec::new();
//!     volume.sync(&mut pool, group.to_vec(), &mut order, &mut writes)?;
//!     objects.sync(&mut pool, group.len() as u64, &mut writes)?;
//!     // `writes` are the blocks to write, and where. What was overwritten may be used again two groups later.
//!     pool.sync_done();
//! }
//! println!("FRAG {} %, {} bytes of {} in use", pool.fragmentation(), pool.allocated(), pool.bytes());
//! # Ok::<(), strewn_zfs::NoRoom>(())
//! ```
//!
//! # Allocation classes
//!
//! A pool may have vdevs for metadata and for the intent log, and vdevs of other sizes. [`Pool::add`] is `zpool add`.
//! What finds no room on special vdevs goes to normal ones, and is counted ([`ZfsArray::spilled`]):
//!
//! ```
//! use strewn_zfs::{AllocationClass, Pool, PoolOptions, Redundancy, Vdev};
//!
//! let vdev = Vdev { redundancy: Redundancy::Mirror { drives: 2 }, ashift: 12, drive_bytes: 1 << 30, scale_down: 1 };
//! let mut pool = Pool::new(&[vdev], PoolOptions::default());
//! pool.add(vdev, AllocationClass::Special);
//! pool.add(Vdev { drive_bytes: 4 << 30, ..vdev }, AllocationClass::Normal);
//! assert_eq!((pool.vdevs_in(AllocationClass::Normal), pool.spilled().metadata), (2, 0));
//! ```
//!
//! # Memory and drives
//!
//! [`arc`](mod@arc) is the ARC: which blocks are in memory, by the rules that decide hit ratios.
//! [`io_scheduler`] is the queue of one drive: which request it gets next, and which others are joined with it. Both
//! stand alone:
//!
//! ```
//! use strewn_zfs::arc::{Arc, ArcOptions, Block, Found, Intent, Kind};
//!
//! let mut arc = Arc::new(ArcOptions::new(1 << 30));
//! let block = Block { key: 7, bytes: 16 << 10, kind: Kind::Data };
//! assert_eq!(arc.access(0, block, Intent::Demand), Found::Miss);
//! arc.on_read_done(7);
//! assert_eq!(arc.access(1_000_000_000, block, Intent::Demand), Found::Hit);
//! assert_eq!((arc.sizes(false).mfu, arc.bytes()), (16 << 10, 16 << 10));
//! println!("the MRU list has {} parts in 2^32 of the data", arc.shares().mru_data);
//! arc.remove(7);
//! let metadata = Block { key: 8, bytes: 4 << 10, kind: Kind::Metadata };
//! assert_eq!(arc.access(1_000_000_000, metadata, Intent::Prefetch), Found::Miss);
//! ```
//!
//! ```
//! use strewn_base::Direction;
//! use strewn_zfs::io_scheduler::{Class, IoScheduler, Request, SchedulerOptions};
//!
//! let mut queue = IoScheduler::new(SchedulerOptions::default());
//! for (owner, first_sector) in [(0, 5_000), (1, 800), (2, 808)] {
//!     let (direction, class) = (Direction::Write, Class::AsyncWrite);
//!     queue.push(0, Request { owner, first_sector, sectors: 8, direction, class, is_optional: false });
//! }
//! assert_eq!(queue.waiting(), 3);
//! // In the order of their sectors, and neighbours as one command.
//! let mut members = Vec::new();
//! let issued = queue.pop(0, &mut members).expect("a drive may have two");
//! assert_eq!((issued.first_sector, issued.sectors, members.len()), (800, 16, 2));
//! queue.completed(issued.class);
//! // A host waits for what was only a prefetch.
//! let (direction, class) = (Direction::Read, Class::AsyncRead);
//! queue.push(0, Request { owner: 3, first_sector: 0, sectors: 8, direction, class, is_optional: false });
//! queue.change_class(0, 3, Class::SyncRead);
//! assert_eq!(queue.pop(0, &mut members).map(|issued| issued.class), Some(Class::SyncRead));
//! ```
//!
//! # An array
//!
//! [`ZfsArray`] is a controller with a pool: a `strewn_array::Array` that turns host operations into commands for
//! drives, through the ARC, transaction groups and the queues of drives. Its settings are those of `[array.zfs]` in a
//! scenario of Strewn.
//!
//! What is checked against what, and where the model stops being valid, is in `docs/zfs.md` of the repository.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod allocation_class;
pub mod arc;
mod array;
mod autotrim;
mod block;
mod changed;
mod draid;
mod dva;
mod fragmentation;
mod free_segments;
mod gang;
pub mod io_scheduler;
mod metaslab;
mod metaslab_group;
mod normal_space;
mod order;
mod pool;
mod pool_objects;
mod raid_z;
mod snapshots;
mod sorted;
mod stripe;
mod vdev;
mod volume;

pub use allocation_class::{AllocationClass, Contents, Spilled};
pub use arc::L2arcOptions;
pub use array::{
    L2arcConfig, PipelineCosts, ResilverKind, ScanKind, VolumeConfig, VolumeScanConfig, ZfsArray,
    ZfsConfig,
};
pub use block::{Block, BlockWrite, Stage};
pub use draid::{Draid, DraidColumns, DraidLayout, DraidStripes};
pub use dva::{Copies, Dva, MOST_COPIES, NoRoom};
pub use fragmentation::{Histogram, Version};
pub use normal_space::NormalSpace;
pub use order::{AllocationOrder, Waves};
pub use pool::{METADATA_RESERVE_PERCENT, Pool, PoolOptions};
pub use pool_objects::PoolObjects;
pub use raid_z::{Column, Columns, RaidZ};
pub use snapshots::Snapshots;
pub use stripe::{Stripe, Striped, Stripes};
pub use vdev::{LABEL_END_BYTES, LABEL_START_BYTES, MetaslabSize, Redundancy, Vdev};
pub use volume::{POINTERS, Volume, VolumeShape};

strewn_sim::compile_loop!(Loop for ZfsArray);

/// Creates an array, with its volumes filled. It is not inlined, so that it is compiled here.
///
/// # Errors
/// If the volumes do not fit into the pool.
#[inline(never)]
pub fn array(config: ZfsConfig) -> Result<ZfsArray, NoRoom> {
    ZfsArray::new(config)
}
