//! The tag of a write-anywhere array's spindle command, which carries all that the array remembers about it.

use crate::driver::Tag;

/// What waits for the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// The host operation in slot `slot`.
    HostOperation,
    /// The consistency point in progress, for a block of metadata.
    ConsistencyPointRead,
    /// The tetris in slot `slot` of the consistency point in progress.
    Tetris,
    /// The recovery in slot `slot`; `first_key` says which of its reads.
    Recovery,
    /// The step of a rebuild whose number ends in `slot`; `first_key` is the spindle.
    Rebuild,
    /// The write of a bad block in slot `slot`.
    Repair,
    /// The reads of host operations that were sent as one, in slot `slot`.
    AggregatedRead,
    /// Nothing. A background scan counts it.
    Aside,
    /// A stream of a host's reads, for blocks that it has not asked for yet.
    ReadAhead,
    /// The relocation in slot `slot`; `first_key` says which of its blocks is the first.
    Relocation,
}

impl Owner {
    /// Whether it waits for blocks of the file or of metadata, which are recovered if they are lost or bad.
    #[inline]
    pub(super) fn waits_for_blocks(self) -> bool {
        matches!(
            self,
            Self::HostOperation | Self::ConsistencyPointRead | Self::ReadAhead | Self::Relocation
        )
    }
}

const SLOT_BITS: u32 = 19;
/// The part of a number that a slot has room for.
pub(super) const SLOT_MASK: u32 = (1 << SLOT_BITS) - 1;

/// A tag's fields: what waits, and the blocks that a read brings. They take 64 bits, so that a completion looks nothing
/// up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TagFields {
    pub(super) owner: Owner,
    /// Below 2^19.
    pub(super) slot: u32,
    pub(super) first_key: u32,
    /// Below 2^8.
    pub(super) blocks: u32,
    /// For a read for hosts: the parity of the epoch it was sent in, as `memory::epochs` counts them.
    pub(super) epoch_parity: bool,
}

impl TagFields {
    #[inline(always)]
    pub(super) fn pack(self) -> Tag {
        // A message with numbers in it would have them lie in memory, for every command.
        assert!(
            self.slot < 1 << SLOT_BITS && self.blocks < 1 << 8,
            "a command's slot does not fit its tag"
        );
        Tag((self.owner as u64 & 3)
            | (self.owner as u64 >> 2) << 30
            | u64::from(self.blocks) << 2
            | u64::from(self.slot) << 10
            | u64::from(self.epoch_parity) << 29
            | u64::from(self.first_key) << 32)
    }

    pub(super) fn unpack(tag: Tag) -> Self {
        Self {
            owner: match tag.0 & 3 | tag.0 >> 28 & 12 {
                0 => Owner::HostOperation,
                1 => Owner::ConsistencyPointRead,
                2 => Owner::Tetris,
                3 => Owner::Recovery,
                4 => Owner::Rebuild,
                5 => Owner::Repair,
                6 => Owner::AggregatedRead,
                7 => Owner::Aside,
                8 => Owner::ReadAhead,
                _ => Owner::Relocation,
            },
            blocks: (tag.0 >> 2) as u32 & 0xFF,
            slot: (tag.0 >> 10) as u32 & SLOT_MASK,
            epoch_parity: tag.0 >> 29 & 1 == 1,
            first_key: (tag.0 >> 32) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_tag_keeps_its_fields(
            owner in prop_oneof![
                Just(Owner::HostOperation),
                Just(Owner::ConsistencyPointRead),
                Just(Owner::Tetris),
                Just(Owner::Recovery),
                Just(Owner::Rebuild),
                Just(Owner::Repair),
                Just(Owner::AggregatedRead),
                Just(Owner::Aside),
                Just(Owner::ReadAhead),
                Just(Owner::Relocation),
            ],
            slot in 0u32..1 << SLOT_BITS,
            first_key: u32,
            blocks in 0u32..256,
            epoch_parity: bool,
        ) {
            let fields = TagFields { owner, slot, first_key, blocks, epoch_parity };
            prop_assert_eq!(TagFields::unpack(fields.pack()), fields);
        }
    }
}
