//! What the tag of a spindle command says: what the command belongs to, and in which disk group.

use strewn_alloc::GroupIndex;
use strewn_raid::Member;

use crate::driver::Tag;
use crate::first_spindles::FirstSpindles;

/// What a command belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    HostRead = 0,
    Destage = 1,
    Recovery = 2,
    /// A step of a rebuild.
    Step = 3,
    /// Blocks that no host has asked for yet.
    ReadAhead = 4,
}

/// The fields of a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TagFields {
    pub(super) kind: Kind,
    pub(super) group: GroupIndex,
    /// The slot of what the command belongs to, among those of its kind in the group. Read-ahead: the first block.
    pub(super) slot: usize,
    /// Host read: where in the operation the command's sectors begin. Destage: the member of the stripe. Recovery: 1 if
    /// the command reads the wanted sectors themselves. Read-ahead: the number of blocks.
    pub(super) detail: u32,
}

const KIND_BITS: u32 = 3;
const GROUP_BITS: u32 = 3;
const DETAIL_SHIFT: u32 = KIND_BITS + GROUP_BITS;
const DETAIL_BITS: u32 = 32 - DETAIL_SHIFT;

impl TagFields {
    /// Most disk groups that a tag can tell apart.
    const MOST_GROUPS: usize = 1 << GROUP_BITS;

    #[inline(always)]
    pub(super) fn pack(self) -> Tag {
        debug_assert!(self.group.index() < Self::MOST_GROUPS && self.detail < 1 << DETAIL_BITS);
        Tag((self.slot as u64) << 32
            | u64::from(self.detail) << DETAIL_SHIFT
            | u64::from(self.group.0) << KIND_BITS
            | self.kind as u64)
    }

    /// The member of the stripe that a command of an extent's destage addresses.
    pub(super) fn member(self) -> Member {
        Member(self.detail as u8)
    }

    #[inline(always)]
    pub(super) fn of(tag: Tag) -> Self {
        let low = tag.0 as u32;
        let kind = match low % (1 << KIND_BITS) {
            0 => Kind::HostRead,
            1 => Kind::Destage,
            2 => Kind::Recovery,
            3 => Kind::Step,
            _ => Kind::ReadAhead,
        };
        Self {
            kind,
            group: GroupIndex((low >> KIND_BITS) as u16 % Self::MOST_GROUPS as u16),
            slot: (tag.0 >> 32) as usize,
            detail: low >> DETAIL_SHIFT,
        }
    }
}

const _: () = assert!(FirstSpindles::MOST == TagFields::MOST_GROUPS);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_has_room_for_each_field() {
        for kind in [Kind::HostRead, Kind::Destage, Kind::Recovery, Kind::Step, Kind::ReadAhead] {
            for (group, slot, detail) in [(0, 0, 0), (7, 1_000_000, (1 << 26) - 1), (3, 5, 64)] {
                let fields = TagFields { kind, group: GroupIndex(group), slot, detail };
                assert_eq!(TagFields::of(fields.pack()), fields);
            }
        }
    }
}
