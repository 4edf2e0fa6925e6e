//! What writers say of the blocks that they write, and where a policy keeps apart what it says.

use strewn_raid::SpindleSet;

/// How long the contents of a block will live before they are overwritten or freed, as far as the writer knows: the
/// write lifetime hints of Linux (`F_SET_RW_HINT`, fcntl(2)), which SSDs take as streams or placement identifiers. They
/// compare blocks of one aggregate with each other, and stand for no time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum WriteLifetime {
    /// The writer says nothing.
    #[default]
    NotSet,
    /// Hot: overwritten or freed soon.
    Short,
    /// Between the two.
    Medium,
    /// Cold: there for long.
    Long,
    /// Colder than all else, such as an archive.
    Extreme,
}

impl WriteLifetime {
    /// All hints, from hot to cold.
    pub const ALL: [Self; 5] = [Self::NotSet, Self::Short, Self::Medium, Self::Long, Self::Extreme];
}

/// A stream of blocks that a [`Policy`](crate::Policy) keeps apart from others: each fills an area of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamIndex(pub u16);

impl StreamIndex {
    /// Place in a list of streams.
    #[must_use]
    pub fn index(self) -> usize {
        self.0.into()
    }
}

/// What a [`Policy`](crate::Policy) knows when it chooses the spindles of an area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpindleChoice<'a> {
    /// The stream that is about to fill the area.
    pub stream: StreamIndex,
    /// The area, counted from 0.
    pub area: u32,
    /// The free blocks of the area on each data spindle.
    pub free_blocks: &'a [u32],
}

impl SpindleChoice<'_> {
    /// The data spindles that have a free block in the area.
    #[must_use]
    pub fn with_free(&self) -> SpindleSet {
        let spindles = SpindleSet::first(self.free_blocks.len() as u16);
        spindles.iter().filter(|spindle| self.free_blocks[spindle.index()] > 0).collect()
    }
}
