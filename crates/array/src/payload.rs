//! What the data are: bytes on real spindles, nothing at all in a simulation.

/// What a block of a spindle holds, as the array that writes it says. Whoever stores the block keeps it beside the bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum BlockContents {
    /// Nothing that anybody refers to.
    #[default]
    Nothing,
    /// A block of the LUN, by its number (of 4 KiB).
    Lun(u64),
    /// A block of metadata, by its key.
    Metadata(u32),
    /// Parity: what it protects follows from where it lies.
    Parity,
    /// What belongs here is lost for good. Whoever stores the block gives no bytes for it from then on, but says that it is
    /// bad, until it is written anew; one that is written in part is marked as a whole.
    Gone,
}

/// The data that operations and commands carry.
///
/// The arrays move payloads, cut them and lay one over another, always in whole sectors; where a payload carries data
/// they compute parity from its bytes. The simulator's payload is `()`, for which all of it compiles to nothing.
pub trait Payload: Default {
    /// What an array keeps in memory: sectors by number.
    type Contents: Contents<Self>;

    /// Whether there is anything in it: where not, an array need not find out which block goes where.
    const CARRIES_DATA: bool;

    /// Lays `part` over this payload, from its sector `at_sector` on; grows it where `part` reaches beyond.
    fn splice(&mut self, at_sector: u32, part: &Self);

    /// The `sectors` from `from_sector` on.
    #[must_use]
    fn slice(&self, from_sector: u32, sectors: u32) -> Self;

    /// Its bytes, 512 a sector; none where it carries no data.
    fn bytes(&self) -> &[u8];

    /// A payload of these bytes, 512 a sector.
    #[must_use]
    fn from_bytes(bytes: Vec<u8>) -> Self;

    /// A payload of these blocks of 4 KiB, one behind the other, with what each of them holds. Who can do without having them
    /// side by side saves a copy.
    #[must_use]
    fn of_blocks(blocks: Vec<(Self, BlockContents)>) -> Self {
        let bytes: Vec<&[u8]> = blocks.iter().map(|(block, _)| block.bytes()).collect();
        let mut together = Self::from_bytes(bytes.concat());
        for (at_sector, (_, holds)) in (0..).step_by(8).zip(&blocks) {
            together.describe(at_sector, *holds);
        }
        together
    }

    /// Says what the block of 4 KiB that begins with sector `at_sector` of a write holds; or that `at_sector` lies in, for
    /// a write that begins within a block.
    fn describe(&mut self, at_sector: u32, holds: BlockContents) {
        let _ = (at_sector, holds);
    }
}

/// Sectors that an array holds in memory, by number.
pub trait Contents<P>: Default {
    /// Keeps `payload` as the `sectors` from `first_sector` on, over whatever is there.
    fn store(&mut self, first_sector: u64, sectors: u32, payload: &P);

    /// The `sectors` from `first_sector` on, which must all be there.
    fn load(&self, first_sector: u64, sectors: u32) -> P;

    /// Drops the `sectors` from `first_sector` on.
    fn forget(&mut self, first_sector: u64, sectors: u32);
}

impl Payload for () {
    type Contents = ();

    const CARRIES_DATA: bool = false;

    #[inline]
    fn splice(&mut self, _at_sector: u32, _part: &Self) {}

    #[inline]
    fn slice(&self, _from_sector: u32, _sectors: u32) -> Self {}

    #[inline]
    fn bytes(&self) -> &[u8] {
        &[]
    }

    #[inline]
    fn from_bytes(_bytes: Vec<u8>) -> Self {}
}

impl Contents<()> for () {
    #[inline]
    fn store(&mut self, _first_sector: u64, _sectors: u32, _payload: &()) {}

    #[inline]
    fn load(&self, _first_sector: u64, _sectors: u32) {}

    #[inline]
    fn forget(&mut self, _first_sector: u64, _sectors: u32) {}
}
