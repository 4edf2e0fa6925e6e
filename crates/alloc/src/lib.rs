//! A write-anywhere block allocator: which free block to write next, and what is free.
//!
//! No I/O, no clock, no simulation. An [`Aggregate`] is a parity group with a free map. Blocks are taken in
//! *consistency points*: begin, allocate in file order, write what comes out tetris by tetris, commit. What a
//! consistency point overwrites is freed only by its commit, so that the one before stays whole until then.
//!
//! ```
//! use strewn_alloc::{Aggregate, AggregateOptions};
//! use strewn_raid::{Parity, ParityGroup};
//!
//! let group = ParityGroup::new(Parity::RaidDp, 4, 65_536)?;
//! let mut aggregate = Aggregate::new([group], AggregateOptions::default())?;
//!
//! // A file of 1,000 blocks, laid out in one consistency point. What a block holds is named by its number here.
//! let mut file = Vec::new();
//! aggregate.begin(1_000)?;
//! aggregate.allocate_all(&Vec::from_iter(0..1_000), |_, vbn| file.push(vbn))?;
//! aggregate.commit();
//!
//! // Rewriting a block moves it: copy on write.
//! aggregate.begin(1)?;
//! let moved = aggregate.allocate(500)?;
//! aggregate.free_at_commit(std::mem::replace(&mut file[500], moved))?;
//! aggregate.finish();
//! while let Some(tetris) = aggregate.next_tetris() {
//!     for run in tetris.runs() {
//!         println!("write blocks {:?} to {} from {} on", run.contents, run.spindle, run.first);
//!     }
//!     for stripe in tetris.stripes(&group) {
//!         println!("stripe {}: parity by {}", stripe.stripe, stripe.update.method);
//!     }
//! }
//! aggregate.commit();
//! assert_eq!(aggregate.free_blocks(), 4 * 65_536 - 1_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod aggregate;
mod allocate;
mod areas;
mod bitmap;
mod block_map;
mod delayed_frees;
mod free_bits;
mod free_map;
mod layout;
mod options;
mod policy;
mod random;
mod saved_scores;
mod tetris;
mod virtual_space;

pub use aggregate::{
    Aggregate, AggregateViolation, BlockCounts, CheckpointOpen, NotFree, NotInUse, OutOfSpace,
    Place,
};
pub use areas::{AreaOrder, Areas};
pub use bitmap::SummaryBitmap;
pub use block_map::{BlockMap, TooManyBlocks};
pub use delayed_frees::{DelayedFrees, REGION_BLOCKS};
pub use free_map::FreeMap;
pub use layout::{FileLayout, FreeSpace};
pub use options::{AggregateError, AggregateOptions, AllocationShape, BlockSize, MOST_BLOCKS};
pub use policy::{Policy, PolicyName, UnknownPolicy};
pub use saved_scores::{MountError, SavedScores, ScoresError};
pub use tetris::{GroupIndex, Run, StripeWrite, Tetris, bits, runs};
pub use virtual_space::{Region, VirtualSpace, VolumeFull, VolumeTooLarge};
