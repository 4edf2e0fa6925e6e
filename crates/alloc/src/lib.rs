//! A write-anywhere block allocator: which free block to write next, and what is free.
//!
//! No I/O, no clock, no simulation: the caller says what it wants to write, and is told where it goes. Use it in a
//! simulator, or under a store that writes copy-on-write to a RAID group.
//!
//! # A consistency point
//!
//! An [`Aggregate`] is one or more parity groups with their free maps. Blocks are taken in *consistency points*: begin,
//! allocate in file order, write what comes out tetris by tetris, commit. What a consistency point overwrites is freed
//! only by its commit, so that the one before stays whole until then.
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
//!
//! The plan is in the [`Tetris`]: which blocks lie one behind the other on a spindle, and so are one write command; and
//! for each stripe whether its parity comes from what is written alone (a full stripe) or what must be read for it.
//!
//! # Groups, policies, and when it goes wrong
//!
//! Groups take turns, a tetris each, and may be unlike each other; one can be [added](Aggregate::add_group) at any
//! time. A [`PolicyName`], or a [`Policy`] of the caller's own, chooses the allocation area to fill next. A consistency
//! point that cannot be written is [abandoned](Aggregate::abandon): what it took is free again, what it gave back still
//! in use. Freeing what is not in use, or taking more than there is, is an error that changes nothing.
//!
//! ```
//! use strewn_alloc::{Aggregate, AggregateOptions, AreaOrder, OutOfSpace, AggregateLocation, PolicyName};
//! use strewn_raid::{Parity, ParityGroup, Vbn};
//!
//! let options = AggregateOptions {
//!     policy: PolicyName::SequentialSweep,
//!     order: AreaOrder::Binned,
//!     ..AggregateOptions::default()
//! };
//! let small = ParityGroup::new(Parity::Raid4, 3, 8_192)?;
//! let mut aggregate = Aggregate::new([small], options)?;
//! let added = aggregate.add_group(ParityGroup::new(Parity::RaidDp, 6, 16_384)?)?;
//!
//! aggregate.begin(5_000)?;
//! let mut groups = std::collections::BTreeSet::new();
//! let blocks: Vec<&str> = vec!["data"; 5_000];
//! let mut file = Vec::new();
//! aggregate.allocate_all(&blocks, |_, vbn| file.push(vbn))?;
//! for &vbn in &file {
//!     if let Some(AggregateLocation { group, .. }) = aggregate.locate(vbn) {
//!         groups.insert(group);
//!     }
//! }
//! assert!(groups.contains(&added) && groups.len() == 2);
//!
//! // The power fails before it is all written.
//! aggregate.abandon();
//! assert_eq!(aggregate.free_blocks(), aggregate.total_blocks());
//! assert!(aggregate.free_at_commit(file[0]).is_err(), "it is free again");
//!
//! let free = aggregate.free_blocks();
//! let too_many = vec!["data"; free as usize + 1];
//! aggregate.begin(free)?;
//! let refused = aggregate.allocate_all(&too_many, |_, _| ());
//! assert_eq!(refused, Err(OutOfSpace { needed: free + 1, free }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Mount
//!
//! What must outlive the process is the words of the maps and the scores of the areas, both as of one consistency
//! point. With the scores an aggregate is ready at once, however large; without them, or with those of another
//! consistency point, they are [counted](SavedScores::counted) from the maps.
//!
//! ```
//! use strewn_alloc::{Aggregate, AggregateOptions, GroupIndex, MountError, SavedScores};
//! use strewn_raid::{Parity, ParityGroup};
//!
//! let (group, options) = (ParityGroup::new(Parity::RaidDp, 4, 65_536)?, AggregateOptions::default());
//! let mut aggregate = Aggregate::new([group], options)?;
//! aggregate.begin(1_000)?;
//! aggregate.allocate_all(&vec![(); 1_000], |_, _| ())?;
//! aggregate.commit();
//!
//! let words = aggregate.free_map(GroupIndex(0)).words().to_vec();
//! let scores = SavedScores::from_bytes(&aggregate.scores()?.to_bytes())?;
//! let points = aggregate.consistency_points();
//!
//! let mounted: Aggregate<()> =
//!     Aggregate::mount([(group, words.clone())], options, points, scores.clone())?;
//! assert_eq!(mounted.free_blocks(), aggregate.free_blocks());
//! mounted.verify()?;
//!
//! let stale = Aggregate::<()>::mount([(group, words)], options, points + 1, scores);
//! assert!(matches!(stale, Err(MountError::Stale { .. })));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Volumes
//!
//! [`Volumes`] puts files on an aggregate: block maps with two numbers a block, so that moving it touches no file;
//! snapshots and clones; space counted exactly at all times ([`Space`]). [`FileReallocation`] and [`CleaningPlan`] mend
//! what age has done, in bounded steps, and say what that would gain before they begin. Who keeps maps of their own
//! needs none of it: a simulator that has six bytes a block to spend uses a [`BlockMap`] and a [`VirtualSpace`].
//!
//! ```
//! use strewn_alloc::{Aggregate, AggregateOptions, Fbn, FileReallocation, Volumes};
//! use strewn_raid::{Parity, ParityGroup};
//!
//! let group = ParityGroup::new(Parity::RaidDp, 4, 65_536)?;
//! let mut volumes = Volumes::new(Aggregate::new([group], AggregateOptions::default())?)?;
//! let volume = volumes.create_volume(100_000)?;
//! volumes.begin(10_000)?;
//! let lun = volumes.create_file(volume)?;
//! volumes.write_all(volume, lun, &Vec::from_iter((0..10_000).map(Fbn)))?;
//! volumes.commit()?;
//!
//! // Every seventh block is written anew, and the old ones are kept by a snapshot.
//! volumes.snapshot(volume)?;
//! volumes.begin(1_429)?;
//! volumes.write_all(volume, lun, &Vec::from_iter((0..10_000).step_by(7).map(Fbn)))?;
//! volumes.commit()?;
//! let space = volumes.space_of(volume)?;
//! assert_eq!((space.active, space.snapshots), (10_000, 1_429));
//!
//! // In one piece again, 512 blocks at a time.
//! let mut mending = FileReallocation::full(&volumes, volume, lun)?;
//! println!("{} extents would become {}", mending.gain().extents_before, mending.gain().extents_after);
//! while let Some(moves) = mending.next_item(&volumes, 512) {
//!     volumes.begin(moves.len() as u64)?;
//!     volumes.relocate(&moves)?;
//!     volumes.commit()?;
//! }
//! volumes.verify()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Measures
//!
//! [`FileLayout`] and [`RequestMix`] say what has become of a file, [`FreeSpace`] of free space, [`FullStripes`] of
//! writes: each at once, in steps, from a sample with its error, or as a counter.
//!
//! ```
//! use strewn_alloc::{Aggregate, AggregateOptions, FileLayout, FreeSpace, RequestMix};
//! use strewn_raid::{Parity, ParityGroup, Vbn};
//!
//! let group = ParityGroup::new(Parity::RaidDp, 4, 65_536)?;
//! let mut aggregate = Aggregate::new([group], AggregateOptions::default())?;
//! let mut file: Vec<Vbn> = Vec::new();
//! aggregate.begin(1_024)?;
//! aggregate.allocate_all(&vec![(); 1_024], |(), vbn| file.push(vbn))?;
//! aggregate.commit();
//!
//! // Chunks of 64 blocks, one on each spindle in turn: 16 extents.
//! let place = |block: u64| file.get(block as usize).copied();
//! let layout = FileLayout::measure(&place, 1_024u32, &aggregate);
//! assert_eq!((layout.extents, layout.score), (16, 1_008.0 / 1_023.0));
//!
//! // A request of 17 blocks crosses the end of a chunk in 16 of 64 cases.
//! let mix = RequestMix::new([(17, 1.0)], 64)?;
//! let commands = mix.commands_per_request(&place, 1_024u32, &aggregate);
//! assert!(commands.is_some_and(|commands| (1.23..1.26).contains(&commands)));
//! assert_eq!(FreeSpace::of(&aggregate).score, 1.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod aggregate;

mod areas;
mod bitmap;
mod block_map;
mod crc32;
mod defragmentation;
mod delayed_frees;
mod free_bits;
mod free_map;
mod group_index;
mod mask;
mod measure;
mod options;
mod policy;
mod random;
mod saved_scores;
mod tetris;
mod virtual_space;
mod volume;

pub use aggregate::{
    Aggregate, AggregateLocation, AggregateViolation, BlockCounts, CheckpointOpen, NotFree,
    NotInUse, OutOfSpace,
};
pub use areas::{AreaOrder, Areas};
pub use bitmap::SummaryBitmap;
pub use block_map::{BlockMap, TooManyBlocks};
pub use defragmentation::{CleaningPlan, FileReallocation, Gain, Move, SegmentCleaning};
pub use delayed_frees::{DelayedFrees, REGION_BLOCKS};
pub use free_map::FreeMap;
pub use group_index::GroupIndex;
pub use mask::{bits, runs};
pub use measure::{
    Estimate, FileBlocks, FileLayout, FilePass, FreeSpace, FreeSpacePass, FullStripes, Geometry,
    LayoutCounter, RUN_CLASSES, RequestMix, RequestMixError, RunHistogram, SampledFreeSpace,
    SampledLayout,
};
pub use options::{AggregateError, AggregateOptions, AllocationShape, BlockSize, MOST_BLOCKS};
pub use policy::{Policy, PolicyName, UnknownPolicy};
pub use saved_scores::{MountError, SavedScores, ScoresError};
pub use tetris::{Run, StripeWrite, Tetris};
pub use virtual_space::{Region, VirtualSpace, VolumeFull, VolumeTooLarge};
pub use volume::{
    BlockName, BlockSource, Fbn, FileId, Image, SnapshotId, Space, VirtualVbn, VolumeError,
    VolumeId, VolumeSpace, VolumeViolation, Volumes,
};

/// The examples of the README are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
