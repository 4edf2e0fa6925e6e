//! One simulated disk: its contents, and the writes that its volatile cache would lose.

use std::collections::VecDeque;
use std::ops::Range;

use super::super::{BLOCK_BYTES, IoError};
use super::crash::{CrashCounts, CrashSeverity, WriteFate};
use super::medium::{Extent, Medium};
use strewn_base::{Rng, SECTOR_BYTES};

/// Changes to a disk, in order.
#[derive(Debug, Clone)]
enum Change {
    Written { extent: Extent, durable: bool },
    Unreadable { sectors: Range<u64> },
    Flipped { offset: u64, mask: u8 },
}

impl Change {
    fn apply(&self, medium: &mut Medium) {
        match self {
            Self::Written { extent, .. } => medium.write(extent),
            Self::Unreadable { sectors } => medium.make_unreadable(sectors.clone()),
            Self::Flipped { offset, mask } => medium.flip(*offset, *mask),
        }
    }

    fn is_safe(&self) -> bool {
        !matches!(self, Self::Written { durable: false, .. })
    }
}

/// A disk in memory with a volatile write cache. It stores only written blocks; a clone is a snapshot, and cheap.
///
/// Reads see the durable state with all later changes applied in order. After a power loss, each change that was not
/// durable is there in full, in part, or not at all.
#[derive(Debug, Clone)]
pub struct SimulatedDisk {
    size_bytes: u64,
    seen: Medium,
    safe: Medium,
    // Changes since the durable state, from the first one that is not durable. A durable write after one that is not
    // stays here, so that the older one cannot overwrite it.
    changes: VecDeque<Change>,
    // How many changes came before `changes`.
    settled: u64,
}

impl SimulatedDisk {
    /// Creates a disk of `size_bytes`, whole blocks, all zeros.
    ///
    /// # Panics
    ///
    /// If the size is not a multiple of [`BLOCK_BYTES`].
    #[must_use]
    pub fn zeroed(size_bytes: u64) -> Self {
        assert!(
            size_bytes.is_multiple_of(BLOCK_BYTES as u64),
            "{size_bytes} bytes are not whole blocks"
        );
        Self {
            size_bytes,
            seen: Medium::default(),
            safe: Medium::default(),
            changes: VecDeque::new(),
            settled: 0,
        }
    }

    /// Returns the size in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Reads whole blocks as they are now, bypassing the device.
    ///
    /// # Errors
    ///
    /// [`IoError::Unreadable`] if one of the sectors is unreadable.
    ///
    /// # Panics
    ///
    /// If the range is not whole blocks within the disk.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), IoError> {
        self.assert_within(offset, into.len());
        self.seen.read(offset, into)
    }

    /// Writes whole blocks durably, bypassing the device.
    ///
    /// # Panics
    ///
    /// If the range is not whole blocks within the disk.
    pub fn write(&mut self, offset: u64, from: &[u8]) {
        self.assert_within(offset, from.len());
        self.write_done(offset, from, true);
    }

    /// Returns how many writes a power loss could undo.
    #[must_use]
    pub fn pending_writes(&self) -> usize {
        self.changes.iter().filter(|change| !change.is_safe()).count()
    }

    pub(super) fn write_done(&mut self, offset: u64, from: &[u8], durable: bool) {
        self.change(Change::Written { extent: Extent::new(offset, from), durable });
    }

    pub(super) fn make_unreadable(&mut self, bytes: Range<u64>) {
        let sectors = bytes.start / SECTOR_BYTES..bytes.end.div_ceil(SECTOR_BYTES);
        self.change(Change::Unreadable { sectors });
    }

    pub(super) fn flip(&mut self, offset: u64, mask: u8) {
        self.change(Change::Flipped { offset, mask });
    }

    /// Draws a written block at random.
    pub(super) fn draw_written_block(&self, rng: &mut Rng) -> Option<u64> {
        self.seen.written_block_near(rng.below(self.size_bytes / BLOCK_BYTES as u64))
    }

    /// Returns a mark of the changes that a flush submitted now must make durable, for [`Self::flush`].
    pub(super) fn flush_mark(&self) -> u64 {
        self.settled + self.changes.len() as u64
    }

    pub(super) fn flush(&mut self, mark: u64) {
        while self.settled < mark || self.changes.front().is_some_and(Change::is_safe) {
            let Some(change) = self.changes.pop_front() else { break };
            change.apply(&mut self.safe);
            self.settled += 1;
        }
    }

    /// Loses and restores power, with the writes `under_way` in flight.
    pub(super) fn crash<'a>(
        &mut self,
        under_way: impl Iterator<Item = (u64, &'a [u8])>,
        rng: &mut Rng,
    ) -> CrashCounts {
        let severity = CrashSeverity::draw(rng);
        let mut counts = CrashCounts::default();
        let mut survive = |safe: &mut Medium, extent: &Extent| {
            let fate = severity.fate(extent.sectors(), rng);
            counts.add(&fate);
            match fate {
                WriteFate::Kept => safe.write(extent),
                WriteFate::Lost => {}
                WriteFate::Torn(kept) => {
                    safe.write_sectors(extent, |sector| kept.contains(sector, rng))
                }
            }
        };
        for change in self.changes.drain(..) {
            match &change {
                Change::Written { extent, durable: false } => survive(&mut self.safe, extent),
                settled => settled.apply(&mut self.safe),
            }
            self.settled += 1;
        }
        for (offset, bytes) in under_way {
            survive(&mut self.safe, &Extent::new(offset, bytes));
        }
        self.seen = self.safe.clone();
        counts
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.seen);
        self.changes.push_back(change);
        self.flush(0);
    }

    fn assert_within(&self, offset: u64, bytes: usize) {
        assert!(
            offset.is_multiple_of(BLOCK_BYTES as u64)
                && bytes.is_multiple_of(BLOCK_BYTES)
                && offset.checked_add(bytes as u64).is_some_and(|end| end <= self.size_bytes),
            "{bytes} bytes at {offset} of a disk of {} bytes",
            self.size_bytes,
        );
    }
}
