//! What the tag of a spindle command says: what the command belongs to, and in which disk group.

use strewn_alloc::GroupIndex;

use crate::driver::Tag;

/// What a command belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    HostRead,
    Destage,
    Recovery,
    /// A step of a rebuild.
    Step,
}

/// The fields of a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TagFields {
    pub(super) kind: Kind,
    pub(super) group: GroupIndex,
    /// The slot of what the command belongs to, among those of its kind in the group.
    pub(super) slot: usize,
    /// Host read: where in the operation the command's sectors begin. Destage: the member of the stripe. Recovery: 1 if
    /// the command reads the wanted sectors themselves.
    pub(super) detail: u32,
}

const DESTAGE: u64 = 1;
const REDUNDANCY: u64 = 1 << 31;
const GROUP_SHIFT: u32 = 1;
const DETAIL_SHIFT: u32 = 4;
const SLOT_SHIFT: u32 = 32;

impl TagFields {
    /// Most disk groups that a tag can tell apart.
    pub(super) const MOST_GROUPS: usize = 1 << (DETAIL_SHIFT - GROUP_SHIFT);

    #[inline(always)]
    pub(super) fn pack(self) -> Tag {
        let kind = match self.kind {
            Kind::HostRead => 0,
            Kind::Destage => DESTAGE,
            Kind::Recovery => REDUNDANCY,
            Kind::Step => REDUNDANCY | DESTAGE,
        };
        debug_assert!(self.group.index() < Self::MOST_GROUPS && self.detail < 1 << 27);
        Tag((self.slot as u64) << SLOT_SHIFT
            | u64::from(self.detail) << DETAIL_SHIFT
            | u64::from(self.group.0) << GROUP_SHIFT
            | kind)
    }

    #[inline(always)]
    pub(super) fn of(tag: Tag) -> Self {
        let kind = match (tag.0 & REDUNDANCY != 0, tag.0 & DESTAGE != 0) {
            (false, false) => Kind::HostRead,
            (false, true) => Kind::Destage,
            (true, false) => Kind::Recovery,
            (true, true) => Kind::Step,
        };
        let low = tag.0 as u32 & !(REDUNDANCY as u32);
        Self {
            kind,
            group: GroupIndex((low >> GROUP_SHIFT) as u16 % Self::MOST_GROUPS as u16),
            slot: (tag.0 >> SLOT_SHIFT) as usize,
            detail: low >> DETAIL_SHIFT,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_has_room_for_each_field() {
        for kind in [Kind::HostRead, Kind::Destage, Kind::Recovery, Kind::Step] {
            for (group, slot, detail) in [(0, 0, 0), (7, 1_000_000, (1 << 27) - 1), (3, 5, 64)] {
                let fields = TagFields { kind, group: GroupIndex(group), slot, detail };
                assert_eq!(TagFields::of(fields.pack()), fields);
            }
        }
    }
}
