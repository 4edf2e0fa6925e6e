//! Reallocation of a file: all of it, its worst segments, or what was just read.

use std::ops::Range;

use strewn_alloc::expected_runs;
use strewn_raid::Vbn;

use super::Gain;
use crate::{Fbn, FileId, Move, VirtualVbn, VolumeError, VolumeId, Volumes};

/// The reallocation of a file, segment by segment (ONTAP's `reallocate -p`: blocks move, their numbers stay).
///
/// Use items of a few tetrises, each in a consistency point with a generous expectation ([`Volumes::begin`]). Small
/// items are spread over all spindles to form full stripes.
#[derive(Debug, Clone)]
pub struct FileReallocation {
    volume: VolumeId,
    file: FileId,
    next: Option<Fbn>,
    end: Fbn,
    segment_blocks: u64,
    most_extents: u64,
    gain: Gain,
}

/// A part of a file that moves or stays as a whole.
struct FileSegment {
    blocks: u64,
    extents: u64,
    /// The first mapped block after it.
    next: Option<Fbn>,
}

impl FileReallocation {
    /// Plans the reallocation of all of `file`. O(blocks of the file).
    ///
    /// # Errors
    /// If there is no such file.
    pub fn full(volumes: &Volumes, volume: VolumeId, file: FileId) -> Result<Self, VolumeError> {
        Self::plan(volumes, volume, file, Fbn(0)..Fbn(u64::MAX), u64::MAX, 0)
    }

    /// Plans the reallocation of the worst segments: divides `file` into segments of `segment_blocks` blocks and picks
    /// those with more than `most_extents` extents. O(blocks of the file).
    ///
    /// # Errors
    /// If there is no such file.
    pub fn above_threshold(
        volumes: &Volumes,
        volume: VolumeId,
        file: FileId,
        segment_blocks: u64,
        most_extents: u64,
    ) -> Result<Self, VolumeError> {
        let all = Fbn(0)..Fbn(u64::MAX);
        Self::plan(volumes, volume, file, all, segment_blocks.max(1), most_extents)
    }

    /// Plans the reallocation of blocks that were just read and are in memory, if they lay in more than `most_extents`
    /// extents. They move without another read (ONTAP's `read_realloc`; "write after read" in Kesavan, Curtis-Maury,
    /// Devadas and Mishra, FAST 2019). O(blocks read).
    ///
    /// # Errors
    /// If there is no such file.
    pub fn after_read(
        volumes: &Volumes,
        volume: VolumeId,
        file: FileId,
        read: Range<Fbn>,
        most_extents: u64,
    ) -> Result<Self, VolumeError> {
        Self::plan(volumes, volume, file, read, u64::MAX, most_extents)
    }

    fn plan(
        volumes: &Volumes,
        volume: VolumeId,
        file: FileId,
        fbns: Range<Fbn>,
        segment_blocks: u64,
        most_extents: u64,
    ) -> Result<Self, VolumeError> {
        if !volumes.image(volume)?.has_file(file) {
            return Err(VolumeError::NoSuchFile(volume, file));
        }
        let mut plan = Self {
            volume,
            file,
            next: Some(fbns.start),
            end: fbns.end,
            segment_blocks,
            most_extents,
            gain: Gain::default(),
        };
        let (mut stays, mut stretches) = (0, 0);
        let mut in_stretch = false;
        let mut next = plan.next;
        while let Some(segment) = plan.segment(volumes, next, u64::MAX, |_| {}) {
            plan.gain.extents_before += segment.extents;
            let moves = segment.extents > most_extents;
            if moves {
                plan.gain.blocks_to_move += segment.blocks;
                stretches += u64::from(!in_stretch);
            } else {
                stays += segment.extents;
            }
            in_stretch = moves;
            next = segment.next;
        }
        let runs = expected_runs(volumes.aggregate(), plan.gain.blocks_to_move);
        // Each further stretch continues the run in which the previous one ended.
        plan.gain.extents_after = stays + (runs + stretches).saturating_sub(1).max(stretches);
        Ok(plan)
    }

    /// The expected gain, as of when it was planned.
    #[must_use]
    pub fn gain(&self) -> Gain {
        self.gain
    }

    /// The next item: about `most_blocks` blocks to move, in the order in which they should lie, and at most one
    /// segment more. It is empty if none of the next `16 * most_blocks` blocks or so needs to move; `None` once the end
    /// of the file is reached, or if the file no longer exists. The file may have changed since the last item.
    pub fn next_item(&mut self, volumes: &Volumes, most_blocks: u64) -> Option<Vec<Move>> {
        let most_blocks = most_blocks.max(1);
        self.next?;
        // An unbounded segment is cut where the item is full, and is not judged again.
        let is_cut = self.segment_blocks == u64::MAX;
        let most = if is_cut { most_blocks } else { u64::MAX };
        let mut item = Vec::new();
        let mut looked_at = 0;
        while (item.len() as u64) < most_blocks && looked_at < most_blocks.saturating_mul(16) {
            let before = item.len();
            let Some(segment) = self.segment(volumes, self.next, most, |one| item.push(one)) else {
                self.next = None;
                break;
            };
            let extents = if is_cut { self.gain.extents_before } else { segment.extents };
            if extents <= self.most_extents {
                item.truncate(before);
            }
            looked_at += segment.blocks;
            self.next = segment.next;
        }
        if item.is_empty() && self.next.is_none() { None } else { Some(item) }
    }

    /// The segment of the first mapped block at or after `next`, from that block on, and at most `most` blocks. Calls
    /// `found` with each.
    fn segment(
        &self,
        volumes: &Volumes,
        next: Option<Fbn>,
        most: u64,
        mut found: impl FnMut(Move),
    ) -> Option<FileSegment> {
        let image = volumes.image(self.volume).ok()?;
        let numbers = image.numbers_from(self.file, next?);
        let mut numbers = numbers.take_while(|(fbn, _)| *fbn < self.end).peekable();
        let index = numbers.peek()?.0.0 / self.segment_blocks;
        let mut segment = FileSegment { blocks: 0, extents: 0, next: None };
        let mut previous: Option<(Fbn, Vbn)> = None;
        for (fbn, number) in numbers {
            if fbn.0 / self.segment_blocks != index || segment.blocks >= most {
                segment.next = Some(fbn);
                break;
            }
            let Some(one) = volumes.move_of(self.volume, number) else { continue };
            let follows = previous.is_some_and(|(before, lies)| {
                before.0 + 1 == fbn.0
                    && lies.0 + 1 == one.from.0
                    && !starts_a_spindle(volumes, one.from)
            });
            segment.extents += u64::from(!follows);
            segment.blocks += 1;
            previous = Some((fbn, one.from));
            found(one);
        }
        Some(segment)
    }
}

impl Volumes {
    /// The move of a block of `volume`, which another volume may own.
    fn move_of(&self, volume: VolumeId, number: VirtualVbn) -> Option<Move> {
        let (owner, local, entry) = self.resolve(volume, number)?;
        let number = self.volume(owner).ok()?.container.number(local);
        Some(Move { volume: owner, number, from: entry.vbn() })
    }
}

/// Whether `vbn` is the first block of a spindle: its predecessor by number is the last block of another spindle.
fn starts_a_spindle(volumes: &Volumes, vbn: Vbn) -> bool {
    volumes.aggregate().locate(vbn).is_some_and(|place| place.location.dbn.0 == 0)
}
