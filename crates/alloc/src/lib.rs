//! A write-anywhere block allocator: which free block to write next, and what is free.
//!
//! No I/O, no clock, no simulation. An [`Aggregate`] is a parity group with a free map. Blocks are taken in
//! *consistency points*: begin, allocate in file order, write what comes out tetris by tetris, commit. What a
//! consistency point overwrites is freed only by its commit, so that the one before stays whole until then.
//!
//! ```
//! use strewn_alloc::{Aggregate, AllocationShape};
//! use strewn_raid::{Parity, ParityGroup};
//!
//! let group = ParityGroup::new(Parity::RaidDp, 4, 65_536)?;
//! let mut aggregate = Aggregate::new(group, AllocationShape::default())?;
//!
//! // A file of 1,000 blocks, laid out in one consistency point.
//! aggregate.begin(1_000);
//! let mut file = (0..1_000).map(|_| aggregate.allocate()).collect::<Result<Vec<_>, _>>()?;
//! aggregate.commit();
//!
//! // Rewriting a block moves it: copy on write.
//! aggregate.begin(1);
//! let moved = aggregate.allocate()?;
//! aggregate.free_at_commit(std::mem::replace(&mut file[500], moved));
//! aggregate.finish();
//! while let Some(tetris) = aggregate.next_tetris() {
//!     println!("stripe {}: {} blocks to write", tetris.first_stripe, tetris.blocks());
//! }
//! aggregate.commit();
//! assert_eq!(aggregate.free_map().free_blocks(), 4 * 65_536 - 1_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod aggregate;
mod bitmap;
mod block_map;
mod emptiest;
mod free_map;
mod layout;
mod virtual_space;

pub use aggregate::{Aggregate, AggregateError, AllocationShape, OutOfSpace, Tetris};
pub use bitmap::SummaryBitmap;
pub use block_map::{BlockMap, TooManyBlocks};
pub use free_map::FreeMap;
pub use layout::{FileLayout, FreeSpace};
pub use virtual_space::{REGION_BLOCKS, Region, VirtualSpace, VolumeFull, VolumeTooLarge};
