//! The pages of metadata: names, layout, pointers.

use std::fmt;

use strewn_alloc::crc32;
use strewn_raid::Vbn;

/// Bytes of a page of metadata. It lies at the beginning of its block.
pub const METADATA_BYTES: usize = 4_096;

pub(crate) type PageBytes = [u8; METADATA_BYTES];

/// A name and a version.
const MAGIC: [u8; 4] = *b"SVM1";
const HEADER_BYTES: usize = 32;
/// 8-byte words after the header.
pub(crate) const PAGE_WORDS: u64 = ((METADATA_BYTES - HEADER_BYTES) / 8) as u64;

/// Pointers of a page that leads to others.
pub(crate) const FANOUT: u64 = PAGE_WORDS / 2;
/// Entries of a page of a container map: 8 bytes each, and 4 that say when the block left the active image.
pub(crate) const CONTAINER_ENTRIES: u64 = PAGE_WORDS * 8 / 12;
/// Snapshots described by a page.
pub(crate) const SNAPSHOT_RECORDS: u64 = PAGE_WORDS / 4;

/// The contents of a page. In this order pages are placed, so that those that lead to others come after them, and the
/// free maps, which every placement changes, last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(crate) enum PageKind {
    /// Nodes of the trees of files. Never rewritten.
    Nodes = 1,
    /// The container map of a volume.
    Container = 2,
    /// The snapshots of a volume, by time.
    Snapshots = 3,
    /// The volumes, a page each.
    Volumes = 4,
    /// Delayed frees.
    DelayedFrees = 5,
    /// The free maps of the groups, one after the other.
    FreeMaps = 6,
}

/// A page of metadata: page `index` of a map, or a page that leads to others, `level` levels above.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageName {
    pub(crate) kind: PageKind,
    /// The volume, for kinds of which each volume has its own; otherwise 0.
    pub(crate) volume: u32,
    pub(crate) level: u8,
    pub(crate) index: u64,
}

impl fmt::Display for PageName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, volume, level, index } = self;
        if *level > 0 {
            write!(formatter, "page {index} on level {level} above ")?;
        } else {
            write!(formatter, "page {index} of ")?;
        }
        match kind {
            PageKind::Nodes => write!(formatter, "the nodes of files"),
            PageKind::Container => write!(formatter, "the container map of volume {volume}"),
            PageKind::Snapshots => write!(formatter, "the snapshots of volume {volume}"),
            PageKind::Volumes => write!(formatter, "the volumes"),
            PageKind::DelayedFrees => write!(formatter, "the delayed frees"),
            PageKind::FreeMaps => write!(formatter, "the free maps"),
        }
    }
}

/// Where a page lies, and the checksum of its bytes. A page that is stale or damaged does not match it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PagePointer {
    pub(crate) vbn: Vbn,
    pub(crate) crc: u32,
}

/// Words of a pointer: the VBN plus one, so that zeros are no pointer, and the checksum.
pub(crate) fn pointer_words(pointer: Option<PagePointer>) -> [u64; 2] {
    pointer.map_or([0; 2], |pointer| [pointer.vbn.0 + 1, u64::from(pointer.crc)])
}

pub(crate) fn pointer_from(words: [u64; 2]) -> Option<PagePointer> {
    let vbn = Vbn(words[0].checked_sub(1)?);
    Some(PagePointer { vbn, crc: words[1] as u32 })
}

/// Bytes as little-endian words, the last filled up with zeros.
pub(crate) fn words_of(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    bytes.chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    })
}

/// A page being written or read, as little-endian words after its header: the name and version of the format, kind,
/// level, volume, index, and the consistency point in which it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page(Box<PageBytes>);

impl Page {
    pub(crate) fn new(name: PageName, consistency_point: u64) -> Self {
        let mut page = Self(Box::new([0; METADATA_BYTES]));
        page.put(0, &MAGIC);
        page.put(4, &[name.kind as u8, name.level]);
        page.put(8, &name.volume.to_le_bytes());
        page.put(16, &name.index.to_le_bytes());
        page.put(24, &consistency_point.to_le_bytes());
        page
    }

    pub(crate) fn from_bytes(bytes: &PageBytes) -> Self {
        Self(Box::new(*bytes))
    }

    /// Whether the header says that this is page `name`, written at `consistency_point` or before.
    pub(crate) fn is(&self, name: PageName, consistency_point: u64) -> bool {
        let written = u64::from_le_bytes(self.take(24));
        self.0[..24] == Self::new(name, 0).0[..24] && written <= consistency_point
    }

    pub(crate) fn bytes(&self) -> &PageBytes {
        &self.0
    }

    pub(crate) fn crc(&self) -> u32 {
        crc32(&self.0[..])
    }

    pub(crate) fn word(&self, word: u64) -> u64 {
        u64::from_le_bytes(self.take(HEADER_BYTES + word as usize * 8))
    }

    pub(crate) fn set_word(&mut self, word: u64, value: u64) {
        self.put(HEADER_BYTES + word as usize * 8, &value.to_le_bytes());
    }

    /// The 32-bit value `index`, counted from word `first`.
    pub(crate) fn half_word(&self, first: u64, index: u64) -> u32 {
        u32::from_le_bytes(self.take(HEADER_BYTES + first as usize * 8 + index as usize * 4))
    }

    pub(crate) fn set_half_word(&mut self, first: u64, index: u64, value: u32) {
        self.put(HEADER_BYTES + first as usize * 8 + index as usize * 4, &value.to_le_bytes());
    }

    pub(crate) fn pointer(&self, index: u64) -> Option<PagePointer> {
        pointer_from([self.word(index * 2), self.word(index * 2 + 1)])
    }

    pub(crate) fn set_pointer(&mut self, index: u64, pointer: Option<PagePointer>) {
        let [vbn, crc] = pointer_words(pointer);
        self.set_word(index * 2, vbn);
        self.set_word(index * 2 + 1, crc);
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..][..bytes.len()].copy_from_slice(bytes);
    }

    fn take<const N: usize>(&self, at: usize) -> [u8; N] {
        let mut taken = [0; N];
        taken.copy_from_slice(&self.0[at..][..N]);
        taken
    }
}
