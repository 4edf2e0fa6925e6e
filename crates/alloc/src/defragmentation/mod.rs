//! Mending what writing anywhere scatters: files, and free space.
//!
//! Each kind of mending first makes a plan, which says what it would gain ([`Gain`]) and changes nothing. The work then
//! comes in items of bounded size, [`Move`]s that the caller gives to [`Volumes::relocate`](crate::Volumes::relocate)
//! in the consistency points of its choice. An item stays valid while files change: blocks that have been overwritten
//! or moved since are skipped.
//!
//! Blocks move physically: their files' maps, snapshots and clones are not touched and do not grow, and gain too.
//!
//! ```
//! use strewn_alloc::{Aggregate, AggregateOptions, Fbn, FileReallocation, Volumes};
//! use strewn_raid::{Parity, ParityGroup};
//!
//! let group = ParityGroup::new(Parity::RaidDp, 4, 65_536)?;
//! let mut volumes = Volumes::new(Aggregate::new([group], AggregateOptions::default())?)?;
//! let volume = volumes.create_volume(10_000)?;
//! volumes.begin(1_000)?;
//! let file = volumes.create_file(volume)?;
//! // Written backwards.
//! let fbns: Vec<Fbn> = (0..1_000).rev().map(Fbn).collect();
//! volumes.write_all(volume, file, &fbns)?;
//! volumes.commit()?;
//!
//! let mut mending = FileReallocation::full(&volumes, volume, file)?;
//! println!("{}", mending.gain());
//! assert!(mending.gain().is_worthwhile());
//! while let Some(item) = mending.next_item(&volumes, 256) {
//!     volumes.begin(u64::MAX)?;
//!     volumes.relocate(&item)?;
//!     for tetris in volumes.finish()? {
//!         // Read what `BlockSource::Moved` names, write it where the tetris says.
//!     }
//!     volumes.commit()?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod cleaning;
mod expected;
mod reallocation;

use std::fmt;

pub use cleaning::{CleaningPlan, SegmentCleaning};
pub use reallocation::FileReallocation;

pub use crate::volume::Move;

/// What mending would bring, and take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gain {
    /// Blocks that would be read and written.
    pub blocks_to_move: u64,
    /// Extents of the file now: runs of its blocks that lie one behind the other on one spindle. As many spindle
    /// commands as reading it in order takes.
    pub extents_before: u64,
    /// Extents expected afterwards, if the blocks are moved in consistency points of many tetrises into what is now
    /// free in the emptiest areas. With a policy that does not look for those (`first-fit`) there may be more.
    pub extents_after: u64,
    /// Allocation areas that become empty, if nothing but volumes uses them.
    pub areas_emptied: u64,
}

impl Gain {
    /// Whether anything gets better.
    #[must_use]
    pub fn is_worthwhile(&self) -> bool {
        self.extents_after < self.extents_before || self.areas_emptied > 0
    }
}

impl fmt::Display for Gain {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} blocks to move", self.blocks_to_move)?;
        if self.extents_before > 0 {
            write!(formatter, ", {} extents to {}", self.extents_before, self.extents_after)?;
        }
        if self.areas_emptied > 0 {
            write!(formatter, ", {} allocation areas emptied", self.areas_emptied)?;
        }
        Ok(())
    }
}
