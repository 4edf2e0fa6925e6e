//! Policies: which allocation area to fill next, on which spindles, and which blocks to keep apart.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

use strewn_base::state::{SavedState, StateError, StateReader, StateWriter};
use strewn_raid::SpindleSet;

use crate::areas::Areas;
use crate::lifetime::{SpindleChoice, StreamIndex, WriteLifetime};

/// Chooses the allocation area to fill next. One instance serves one parity group.
///
/// Only [`next_area`](Self::next_area) must be written. A policy may also keep blocks apart by the hints that writers
/// give with them ([`stream`](Self::stream)), and leave spindles out ([`spindles`](Self::spindles)). Within an area all
/// policies are alike: tetris by tetris, one chunk of each spindle in turn.
pub trait Policy: fmt::Debug + Send + Sync {
    /// The area to fill next, from its first stripe: one with at least one free block, or `None` if the group is full.
    /// Called once the previous area is exhausted. If there is no such area, or it has no free block, the emptiest is
    /// filled instead.
    fn next_area(&mut self, areas: &mut Areas) -> Option<u32>;

    /// The stream of blocks that are written with a hint. Each stream of a group fills an area of its own, as long as
    /// areas have free blocks for all; if not, streams share. It must always answer the same, and streams are numbered
    /// from 0. By default there is one stream, and hints change nothing.
    ///
    /// With more than one, all tetrises of a consistency point stay open until
    /// [`finish`](crate::Aggregate::finish) completes them, and are then returned by group and stripe.
    fn stream(&self, lifetime: WriteLifetime) -> StreamIndex {
        let _ = lifetime;
        StreamIndex::default()
    }

    /// The area that `stream` fills next: as [`next_area`](Self::next_area), which it is by default. Areas that other
    /// streams are filling are withheld meanwhile.
    fn next_area_of(&mut self, stream: StreamIndex, areas: &mut Areas) -> Option<u32> {
        let _ = stream;
        self.next_area(areas)
    }

    /// Whether [`spindles`](Self::spindles) is to be asked.
    fn chooses_spindles(&self) -> bool {
        false
    }

    /// The data spindles on which the area that was just chosen is filled. What is free on others stays so until the
    /// area is chosen again. If none of the set has a free block in the area, all spindles are filled. Each call costs
    /// O(rows of the area) more.
    fn spindles(&mut self, choice: &SpindleChoice<'_>) -> SpindleSet {
        choice.with_free()
    }

    /// Whether a block should lie close behind its predecessor in the file, wherever that is, rather than in the area
    /// being filled.
    fn keeps_near(&self) -> bool {
        false
    }

    /// What it remembers from one area to the next, to be saved with a simulation: 0 if that is nothing. `None` if it
    /// has no such number, and the simulation cannot be saved. Nor can one whose policy has several streams or chooses
    /// spindles.
    fn memory(&self) -> Option<u64> {
        None
    }

    /// Remembers what another instance had as its [`memory`](Self::memory).
    fn remember(&mut self, memory: u64) {
        let _ = memory;
    }
}

/// The built-in policies, by the names that scenarios use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum PolicyName {
    /// `emptiest-area`: the area with the most free blocks, the lowest on a tie (Kesavan, Curtis-Maury and
    /// Bhattacharjee, ICPP 2018).
    #[default]
    EmptiestArea,
    /// `sequential-sweep`: the next area in ascending order, wrapping around, whose share of free blocks is at least
    /// the group's average (US patent 6,636,879, priority August 2000).
    SequentialSweep,
    /// `first-fit`: the lowest area with a free block.
    FirstFit,
    /// `near-neighbours`: the next free block behind its predecessor in the file, within the same chunk of the same
    /// spindle; otherwise as `emptiest-area`. File systems that value read layout above write cost do this (the Fast
    /// File System of McKusick and others takes the following block if it is free).
    NearNeighbours,
}

impl PolicyName {
    /// All policies.
    pub const ALL: [Self; 4] =
        [Self::EmptiestArea, Self::SequentialSweep, Self::FirstFit, Self::NearNeighbours];

    /// The name that scenarios use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EmptiestArea => "emptiest-area",
            Self::SequentialSweep => "sequential-sweep",
            Self::FirstFit => "first-fit",
            Self::NearNeighbours => "near-neighbours",
        }
    }

    /// A new instance of the policy, for one parity group.
    #[must_use]
    pub fn policy(self) -> Box<dyn Policy> {
        match self {
            Self::EmptiestArea => Box::new(EmptiestArea),
            Self::SequentialSweep => Box::new(SequentialSweep { next: 0 }),
            Self::FirstFit => Box::new(FirstFit),
            Self::NearNeighbours => Box::new(NearNeighbours),
        }
    }
}

impl fmt::Display for PolicyName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// There is no policy of this name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownPolicy(pub String);

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = PolicyName::ALL.map(PolicyName::as_str);
        write!(formatter, "no policy is called {:?}; known: {}", self.0, known.join(", "))
    }
}

impl Error for UnknownPolicy {}

impl FromStr for PolicyName {
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Self, UnknownPolicy> {
        let known = Self::ALL.into_iter().find(|policy| policy.as_str() == name);
        known.ok_or_else(|| UnknownPolicy(name.to_owned()))
    }
}

#[derive(Debug)]
struct EmptiestArea;

impl Policy for EmptiestArea {
    fn next_area(&mut self, areas: &mut Areas) -> Option<u32> {
        areas.emptiest().map(|(area, _)| area)
    }

    fn memory(&self) -> Option<u64> {
        Some(0)
    }
}

#[derive(Debug)]
struct SequentialSweep {
    next: u32,
}

impl Policy for SequentialSweep {
    /// O(areas) at worst, when few are above the average.
    fn next_area(&mut self, areas: &mut Areas) -> Option<u32> {
        let average = areas.free_blocks().div_ceil(u64::from(areas.count())) as u32;
        let mut from = self.next;
        // From here to the end, then from the start; all areas above the average may be withheld.
        let mut fallback = None;
        for _ in 0..2 {
            while let Some(area) = areas.next_with_free(from) {
                if areas.free_blocks_in(area) >= average {
                    self.next = area + 1;
                    return Some(area);
                }
                fallback = fallback.or(Some(area));
                from = area + 1;
            }
            from = 0;
        }
        fallback
    }

    fn memory(&self) -> Option<u64> {
        Some(self.next.into())
    }

    fn remember(&mut self, memory: u64) {
        self.next = memory as u32;
    }
}

#[derive(Debug)]
struct FirstFit;

impl Policy for FirstFit {
    fn next_area(&mut self, areas: &mut Areas) -> Option<u32> {
        areas.next_with_free(0)
    }

    fn memory(&self) -> Option<u64> {
        Some(0)
    }
}

#[derive(Debug)]
struct NearNeighbours;

impl Policy for NearNeighbours {
    fn next_area(&mut self, areas: &mut Areas) -> Option<u32> {
        EmptiestArea.next_area(areas)
    }

    fn keeps_near(&self) -> bool {
        true
    }

    fn memory(&self) -> Option<u64> {
        Some(0)
    }
}

/// Whether hints tell streams apart.
fn has_streams(policy: &dyn Policy) -> bool {
    WriteLifetime::ALL.iter().any(|hint| policy.stream(*hint) != StreamIndex::default())
}

impl SavedState for dyn Policy {
    fn save(&self, to: &mut StateWriter<'_>) -> Result<(), StateError> {
        if self.chooses_spindles() || has_streams(self) {
            return Err(StateError::NotSaved("a policy with streams, or that chooses spindles"));
        }
        to.value(&self.memory().ok_or(StateError::NotSaved("a policy without `memory`"))?)
    }

    fn restore(&mut self, from: &mut StateReader<'_>) -> Result<(), StateError> {
        self.remember(from.value()?);
        Ok(())
    }
}
