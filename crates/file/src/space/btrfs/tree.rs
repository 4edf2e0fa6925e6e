//! Trees of a btrfs, read from its devices (structs `btrfs_header`, `btrfs_key_ptr` and `btrfs_item`,
//! include/uapi/linux/btrfs_tree.h).

use super::fields::{array, u32_at, u64_at};

const HEADER_BYTES: usize = 101;
const POINTER_BYTES: usize = Key::BYTES + 16;
const ITEM_BYTES: usize = Key::BYTES + 8;

/// The name of an item within a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) object: u64,
    pub(crate) kind: u8,
    pub(crate) offset: u64,
}

impl Key {
    pub(super) const BYTES: usize = 17;
    pub(crate) const LAST: Self = Self { object: u64::MAX, kind: u8::MAX, offset: u64::MAX };

    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let kind = *bytes.get(8)?;
        Some(Self { object: u64_at(bytes, 0)?, kind, offset: u64_at(bytes, 9)? })
    }

    /// The first key of `object`.
    pub(crate) fn first_of(object: u64) -> Self {
        Self { object, kind: 0, offset: 0 }
    }
}

/// Where a tree begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TreeRoot {
    pub(crate) logical: u64,
    pub(crate) generation: u64,
    pub(crate) level: u8,
}

/// A tree block that is what its parent says.
pub(super) struct Node {
    bytes: Vec<u8>,
    pub(super) level: u8,
    count: usize,
}

impl Node {
    /// Checks `bytes` against what the parent says of the block. The generation stands for a checksum: a block that was
    /// freed and written again has a later one.
    pub(super) fn check(
        bytes: Vec<u8>,
        expected: TreeRoot,
        metadata_uuid: &[u8; 16],
    ) -> Result<Self, String> {
        let at = expected.logical;
        let wrong = |what: &str| format!("tree block {at}: {what}");
        let short = || wrong("incomplete");
        if array(&bytes, 0x20).ok_or_else(short)? != *metadata_uuid {
            return Err(wrong("of another file system"));
        }
        if u64_at(&bytes, 0x30).ok_or_else(short)? != at {
            return Err(wrong("it has another address"));
        }
        if u64_at(&bytes, 0x50).ok_or_else(short)? != expected.generation {
            return Err(wrong("it was written again since"));
        }
        let level = *bytes.get(0x64).ok_or_else(short)?;
        if level != expected.level {
            return Err(wrong("it has another level"));
        }
        let count = u32_at(&bytes, 0x60).ok_or_else(short)? as usize;
        let each = if level == 0 { ITEM_BYTES } else { POINTER_BYTES };
        if count > (bytes.len() - HEADER_BYTES) / each {
            return Err(wrong("it has more entries than fit"));
        }
        let node = Self { bytes, level, count };
        let keys = (0..count).map(|index| node.key(index));
        if !keys.is_sorted_by(|one, next| one.is_some() && one < next) {
            return Err(wrong("its keys are not in order"));
        }
        Ok(node)
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    fn entry(&self, index: usize) -> Option<&[u8]> {
        let each = if self.level == 0 { ITEM_BYTES } else { POINTER_BYTES };
        let at = HEADER_BYTES + index * each;
        (index < self.count).then(|| self.bytes.get(at..at + each)).flatten()
    }

    pub(super) fn key(&self, index: usize) -> Option<Key> {
        Key::parse(self.entry(index)?)
    }

    /// The block that entry `index` of an inner node points to.
    pub(super) fn child(&self, index: usize) -> Option<TreeRoot> {
        let entry = self.entry(index)?;
        Some(TreeRoot {
            logical: u64_at(entry, Key::BYTES)?,
            generation: u64_at(entry, Key::BYTES + 8)?,
            level: self.level.checked_sub(1)?,
        })
    }

    /// The data of item `index` of a leaf.
    pub(super) fn item(&self, index: usize) -> Option<&[u8]> {
        let entry = self.entry(index)?;
        let at = HEADER_BYTES.checked_add(u32_at(entry, Key::BYTES)? as usize)?;
        let bytes = u32_at(entry, Key::BYTES + 4)? as usize;
        self.bytes.get(at..at.checked_add(bytes)?)
    }
}
