//! A write-anywhere block allocator: which free block to write next, and what is free.
//!
//! The caller says what it wants to write and is told where to write it. The crate does no I/O and has no clock, so it
//! serves a simulator as well as a store that writes copy-on-write to RAID groups.
//!
//! # A consistency point
//!
//! An [`Aggregate`] is one or more parity groups with their free maps. Blocks are allocated in *consistency points*:
//! begin, allocate in file order, write the plan tetris by tetris, commit. Blocks that a consistency point overwrites
//! become free only with its commit, so the previous consistency point stays intact until then.
//!
//! ```
//! use strewn_alloc::{Aggregate, AggregateOptions};
//! use strewn_raid::{Parity, ParityGroup};
//!
//! let group = ParityGroup::new(Parity::RaidDp, 4, 65_536)?;
//! let mut aggregate = Aggregate::new([group], AggregateOptions::default())?;
//!
//! // A file of 1,000 blocks, laid out in one consistency point. Here a number names the contents of a block.
//! let mut file = Vec::new();
//! aggregate.begin(1_000)?;
//! aggregate.allocate_all(&Vec::from_iter(0..1_000), |_, vbn| file.push(vbn))?;
//! // This example writes nothing, so it drops the plan. A commit refuses a plan that was not taken.
//! aggregate.discard_plan();
//! aggregate.commit()?;
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
//! aggregate.commit()?;
//! assert_eq!(aggregate.free_blocks(), 4 * 65_536 - 1_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The plan is in the [`Tetris`]: the runs of consecutive blocks on each spindle, one write command each; and for each
//! stripe the method of updating parity, with the blocks that it must read first. A full stripe reads nothing.
//!
//! # Groups, policies and errors
//!
//! Groups take turns, one tetris each, and may differ in size and parity; a group can be [added](Aggregate::add_group)
//! at any time. A [`PolicyName`], or your own [`Policy`], chooses the allocation area to fill next. A consistency point
//! that cannot be written is [abandoned](Aggregate::abandon): the blocks it allocated are free again, and the blocks it
//! freed are still in use. Freeing a block that is not in use or is freed already, allocating more blocks than are
//! free or outside of a consistency point, and committing a plan that was not taken are errors that change nothing.
//!
//! ```
//! use strewn_alloc::{
//!     Aggregate, AggregateLocation, AggregateOptions, AllocationShape, AreaOrder, Chunks, OutOfSpace, PolicyName,
//! };
//! use strewn_raid::{Parity, ParityGroup, Vbn};
//!
//! let shape = AllocationShape::default().with_area_stripes(1_024).with_tetris_stripes(32).with_chunk_blocks(8);
//! let options = AggregateOptions::default()
//!     .with_shape(shape)
//!     .with_chunks(Chunks::Packed)
//!     .with_policy(PolicyName::SequentialSweep)
//!     .with_order(AreaOrder::Binned);
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
//! // The power fails before everything is written.
//! aggregate.abandon()?;
//! assert_eq!(aggregate.free_blocks(), aggregate.total_blocks());
//! assert!(aggregate.free_at_commit(file[0]).is_err(), "it is free again");
//!
//! let free = aggregate.free_blocks();
//! let too_many = vec!["data"; free as usize + 1];
//! aggregate.begin(free)?;
//! let refused = aggregate.allocate_all(&too_many, |_, _| ());
//! assert_eq!(refused, Err(OutOfSpace { needed: free + 1, free }.into()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A policy of your own
//!
//! A [`Policy`] sees how many blocks are free in each of the [`Areas`] of its group.
//! [`set_policy`](Aggregate::set_policy) gives it to a group, of a mounted aggregate too: policies are not saved.
//!
//! ```
//! use strewn_alloc::{Aggregate, AggregateOptions, Areas, GroupIndex, Policy};
//! use strewn_raid::{Parity, ParityGroup};
//!
//! /// Keeps empty areas for later: the first that is in use and has a free block, else the first empty one.
//! #[derive(Debug)]
//! struct FillUp;
//!
//! impl Policy for FillUp {
//!     fn next_area(&mut self, areas: &mut Areas) -> Option<u32> {
//!         let usable = |area: &u32| areas.free_blocks_in(*area) > 0 && !areas.is_withheld(*area);
//!         let in_use = |area: &u32| areas.free_blocks_in(*area) < areas.area_blocks();
//!         let mut first = (0..areas.count()).filter(usable);
//!         first.clone().find(in_use).or_else(|| first.next())
//!     }
//! }
//!
//! let group = ParityGroup::new(Parity::RaidDp, 4, 65_536)?;
//! let mut aggregate: Aggregate<u32> = Aggregate::new([group], AggregateOptions::default())?;
//! aggregate.set_policy(GroupIndex(0), Box::new(FillUp))?;
//! aggregate.begin(20_000)?;
//! aggregate.allocate_all(&vec![0; 20_000], |_, _| ())?;
//! let areas = aggregate.free_map(GroupIndex(0)).areas();
//! assert_eq!((areas.area_blocks(), areas.free_blocks_in(0)), (16_384, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Hints of writers
//!
//! A writer may say with a block how long it will live ([`WriteLifetime`]), and a policy may keep such blocks apart: in
//! streams, each of which fills an area of its own. Areas of blocks that are overwritten soon then become empty as a
//! whole, and blocks that stay are not among holes, so more stripes are full. A policy may also choose the
//! [spindles](Policy::spindles) of an area. With the built-in policies hints change nothing.
//!
//! ```
//! use std::cmp::Reverse;
//! use strewn_alloc::{Aggregate, AggregateOptions, Areas, GroupIndex, Policy, StreamIndex, WriteLifetime};
//! use strewn_raid::{Parity, ParityGroup};
//!
//! /// Hot and cold blocks fill areas that are empty, or that had the same: the emptiest first.
//! #[derive(Debug, Default)]
//! struct HotAndCold {
//!     filled_by: Vec<StreamIndex>,
//! }
//!
//! impl Policy for HotAndCold {
//!     fn next_area(&mut self, areas: &mut Areas) -> Option<u32> {
//!         self.next_area_of(StreamIndex(0), areas)
//!     }
//!
//!     fn stream(&self, lifetime: WriteLifetime) -> StreamIndex {
//!         StreamIndex(u16::from(lifetime == WriteLifetime::Short))
//!     }
//!
//!     fn next_area_of(&mut self, stream: StreamIndex, areas: &mut Areas) -> Option<u32> {
//!         self.filled_by.resize(areas.count() as usize, stream);
//!         let free = |area: &u32| areas.free_blocks_in(*area);
//!         let usable = (0..areas.count()).filter(|area| free(area) > 0 && !areas.is_withheld(*area));
//!         let rank = |area: &u32| {
//!             let is_empty = free(area) == areas.area_blocks();
//!             (is_empty || self.filled_by[*area as usize] == stream, free(area), Reverse(*area))
//!         };
//!         let chosen = usable.max_by_key(rank)?;
//!         self.filled_by[chosen as usize] = stream;
//!         Some(chosen)
//!     }
//! }
//!
//! let group = ParityGroup::new(Parity::RaidDp, 4, 65_536)?;
//! let mut aggregate = Aggregate::new([group], AggregateOptions::default())?;
//! aggregate.set_policy(GroupIndex(0), Box::<HotAndCold>::default())?;
//! aggregate.begin(2_000)?;
//! let mut area_of = |name, lifetime| {
//!     let vbn = aggregate.allocate_with(name, lifetime)?;
//!     let stripe = aggregate.place_of(vbn).location.dbn.0;
//!     Ok::<_, Box<dyn std::error::Error>>(aggregate.free_map(GroupIndex(0)).area_of(stripe))
//! };
//! for name in 0..1_000 {
//!     let cold = area_of(name, WriteLifetime::Long)?;
//!     let hot = area_of(name + 1_000, WriteLifetime::Short)?;
//!     assert_eq!((cold, hot), (0, 1));
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Mount
//!
//! To mount an aggregate later, store the words of its maps and the scores of its areas, both as of the same
//! consistency point. With the scores, an aggregate of any size mounts at once. Without them, or with scores of another
//! consistency point, [count](SavedScores::counted) them from the maps. A mount does not compare scores with maps; the
//! allocator does, area by area as it enters them, and refuses a difference. [`verify`](Aggregate::verify) compares
//! all.
//!
//! ```
//! use strewn_alloc::{Aggregate, AggregateOptions, GroupIndex, MountError, SavedScores};
//! use strewn_raid::{Parity, ParityGroup};
//!
//! let (group, options) = (ParityGroup::new(Parity::RaidDp, 4, 65_536)?, AggregateOptions::default());
//! let mut aggregate = Aggregate::new([group], options)?;
//! aggregate.begin(1_000)?;
//! aggregate.allocate_all(&vec![(); 1_000], |_, _| ())?;
//! aggregate.discard_plan();
//! aggregate.commit()?;
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
//! # What the store above must do
//!
//! The crate plans and does no I/O, so a store that uses it owes its users the rest. The `guide` of `strewn-volume`
//! teaches it call by call, and the example `persistent_store` there does it.
//!
//! - **The order of writes.** Make data, metadata and parity of every tetris durable first; then the superblock or root
//!   that makes the metadata current. Call [`commit`](Aggregate::commit) only then: from that call on, the blocks that
//!   the previous root still needed can be allocated again.
//! - **The write hole.** A stripe of a tetris may hold other blocks that are in use. If a crash interrupts its write,
//!   data and parity disagree, and a later reconstruction returns wrong bytes, also for those other blocks. Full
//!   stripes ([`StripeWrite::update`]) are safe, because nothing in use depends on them; log any other stripe before
//!   writing it, and replay the log after a crash.
//! - **The maps.** Save those of the aggregate as shown above, and with them
//!   [`delayed_frees`](Aggregate::delayed_frees): these blocks are in use in the maps, and nothing refers to them. Hand
//!   the list to [`resume_delayed_frees`](Aggregate::resume_delayed_frees) after a mount; otherwise these blocks are
//!   lost. A store that writes its maps to blocks of the aggregate itself asks before the commit which words change:
//!   [`allocated_words`](Aggregate::allocated_words), [`freed_by_commit`](Aggregate::freed_by_commit).
//!
//! The crate `strewn-volume` builds on this one: files, snapshots and clones, with their maps saved. A caller with its
//! own maps needs none of it: a simulator that can spend four bytes a block uses a [`BlockMap`].
//!
//! # Measures
//!
//! [`FileLayout`] and [`RequestMix`] measure the fragmentation of a file, [`FreeSpace`] that of free space, and
//! [`FullStripes`] the efficiency of writes: at once, in steps, from a sample with its error, or as a running counter.
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
//! aggregate.discard_plan();
//! aggregate.commit()?;
//!
//! // Chunks of 64 blocks, on each spindle in turn: 16 extents.
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
mod delayed_frees;
mod free_bits;
mod free_map;
mod group_index;
mod lifetime;
mod mask;
mod measure;
mod options;
mod pending_frees;
mod policy;
mod random;
mod saved_scores;
mod score_mismatch;
mod tetris;

pub use aggregate::{
    Aggregate, AggregateLocation, AggregateViolation, AllocateError, BlockCounts,
    ConsistencyPointError, FreeError, OutOfSpace, SetAsideError, SetPolicyError,
};
pub use areas::{AreaOrder, Areas};
pub use bitmap::SummaryBitmap;
pub use block_map::{BlockMap, BlockMapPart, TooManyBlocks};
pub use crc32::crc32;
pub use delayed_frees::{DelayedFrees, REGION_BLOCKS};
pub use free_map::{FreeMap, MapPosition};
pub use group_index::GroupIndex;
pub use lifetime::{SpindleChoice, StreamIndex, WriteLifetime};
pub use mask::{bits, runs};
pub use measure::{
    FileBlocks, FileLayout, FilePass, FreeRunCounter, FreeSpace, FreeSpacePass, FullStripes,
    Geometry, LayoutCounter, MAP_LEVELS, MapPicture, RUN_CLASSES, RequestMix, RequestMixError,
    RunHistogram, SpindleLevels, expected_runs,
};
pub use options::{
    AggregateError, AggregateOptions, AllocationShape, BlockSize, Chunks, MOST_BLOCKS,
};
pub use policy::{Policy, PolicyName, UnknownPolicy};
pub use saved_scores::{MountError, SavedScores};
pub use score_mismatch::ScoreMismatch;
pub use strewn_base::memory::OutOfMemory;
pub use tetris::{Run, StripeWrite, Tetris};

/// Policies, measures and what each call costs. This is a page of the repository; its links to other pages lead there.
#[cfg(all(doc, not(doctest)))]
pub mod guide {
    #![doc = include_str!("../guide.txt")]
}

/// The examples of the README are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
