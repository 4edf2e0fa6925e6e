//! Measures of the layout of a file.

use std::iter::Sum;
use std::ops::{Add, Range};

use strewn_base::state::SavedValue;
use strewn_raid::Vbn;

use super::requests::{RequestMix, RequestSums};
use super::{FileBlocks, Geometry, is_behind};
use crate::group_index::GroupIndex;
use crate::options::BlockSize;

/// The layout of a file on the spindles.
#[derive(Debug, Clone, Copy, PartialEq, SavedValue)]
pub struct FileLayout {
    /// The layout score (Smith and Seltzer, "File System Aging", SIGMETRICS 1997): the share of blocks, except the
    /// first, that directly follow their predecessor on the same spindle. 1 is contiguous.
    pub score: f64,
    /// Runs of blocks that are consecutive on one spindle.
    pub extents: u64,
    /// Mapped blocks.
    pub blocks: u64,
    /// The share of the spindles between the lowest and the highest DBN of the file, 0 to 1. With several parity
    /// groups: the sum over the groups of the file, as a share of all their spindles.
    pub span: f64,
}

/// Two files, or sets of files, together. Extents and blocks are summed. The score is the mean, each file weighted by
/// its blocks; the span is the larger one, since the spans of files may overlap.
impl Add for FileLayout {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let blocks = self.blocks + other.blocks;
        let weighted = |layout: Self| layout.score * layout.blocks as f64;
        let score = match blocks {
            0 => 1.0,
            blocks => (weighted(self) + weighted(other)) / blocks as f64,
        };
        let (extents, span) = (self.extents + other.extents, self.span.max(other.span));
        Self { score, extents, blocks, span }
    }
}

/// Many files together, as by [`Add`]; no file is contiguous and has no blocks.
impl Sum for FileLayout {
    fn sum<I: Iterator<Item = Self>>(layouts: I) -> Self {
        layouts.fold(Self { score: 1.0, extents: 0, blocks: 0, span: 0.0 }, Self::add)
    }
}

impl FileLayout {
    /// A file of `blocks` in so many `extents`, each on a spindle of its own or apart from the one before.
    #[must_use]
    pub fn of_extents(blocks: u64, extents: u64, span: f64) -> Self {
        let breaks = extents.saturating_sub(1) as f64;
        let score = 1.0 - breaks / blocks.saturating_sub(1).max(1) as f64;
        Self { score, extents, blocks, span }
    }

    /// Measures the first `file_blocks` blocks of a file in one pass.
    ///
    /// `blocks` gives their VBNs, `geometry` the location of VBNs: for example a [`BlockMap`](crate::BlockMap) and a
    /// parity group, or a closure and an [`Aggregate`](crate::Aggregate).
    #[must_use]
    pub fn measure(
        blocks: &impl FileBlocks,
        file_blocks: impl Into<u64>,
        geometry: &impl Geometry,
    ) -> Self {
        let mut pass = FilePass::new(file_blocks);
        pass.step(blocks, geometry, u64::MAX);
        pass.layout(geometry)
    }

    /// Extents per GiB of mapped blocks. A contiguous file has one extent, however long it is.
    #[must_use]
    pub fn extents_per_gib(&self, block_size: BlockSize) -> f64 {
        let blocks = self.blocks.max(1) as f64;
        self.extents as f64 / blocks * block_size.blocks_per_gib() as f64
    }
}

/// Blocks that a pass processes at once if it can.
const AT_ONCE: u64 = 4_096;

/// A pass over a file, in steps of any number of blocks.
///
/// If the file changes during the pass, each block is measured as it was when the pass reached it.
#[derive(Debug, Clone)]
pub struct FilePass {
    next: u64,
    end: u64,
    previous: Option<Vbn>,
    counter: LayoutCounter,
    /// The lowest and the highest DBN in each group.
    spans: Vec<Option<(u64, u64)>>,
    /// The first block of the current extent.
    extent_first: u64,
    requests: Option<(RequestMix, RequestSums)>,
}

impl FilePass {
    /// A pass over the first `file_blocks` blocks of a file.
    #[must_use]
    pub fn new(file_blocks: impl Into<u64>) -> Self {
        Self {
            next: 0,
            end: file_blocks.into(),
            previous: None,
            counter: LayoutCounter::default(),
            spans: Vec::new(),
            extent_first: 0,
            requests: None,
        }
    }

    /// Also counts the commands of `mix`.
    #[must_use]
    pub fn with_requests(mut self, mix: RequestMix) -> Self {
        let sums = RequestSums::new(&mix);
        self.requests = Some((mix, sums));
        self
    }

    /// Advances by `blocks` blocks. Returns whether the pass is done.
    pub fn step(
        &mut self,
        blocks_of: &impl FileBlocks,
        geometry: &impl Geometry,
        blocks: u64,
    ) -> bool {
        let stop = self.next.saturating_add(blocks).min(self.end);
        while self.next < stop {
            let some = self.next..(self.next + AT_ONCE).min(stop);
            self.next = some.end;
            if !self.step_at_once(blocks_of, geometry, some.clone()) {
                some.for_each(|block| self.step_one(blocks_of, geometry, block));
            }
        }
        if self.next == self.end {
            self.end_extent(self.end);
            self.previous = None;
        }
        self.next == self.end
    }

    #[inline]
    fn step_one(&mut self, blocks_of: &impl FileBlocks, geometry: &impl Geometry, block: u64) {
        let here = blocks_of.vbn(block);
        let place = here.and_then(|vbn| geometry.place(vbn));
        // As `is_behind` has it, the place being known.
        let follows = place.is_some_and(|place| place.location.dbn.0 != 0)
            && self.previous.is_some_and(|vbn| here == Some(Vbn(vbn.0 + 1)));
        if let Some(place) = place {
            self.counter.blocks += 1;
            self.counter.follow += u64::from(follows);
            self.note_span(place.group, place.location.dbn.0);
        }
        if !follows {
            self.end_extent(block);
        }
        self.previous = place.and(here);
    }

    /// Processes `blocks` in plain loops, without a branch or a division per block: a tenth of the instructions.
    /// Returns false, with nothing done, if that does not apply: there is no slice of VBNs, a block is unwritten or the
    /// first of a spindle, or the extents themselves are needed.
    fn step_at_once(
        &mut self,
        blocks_of: &impl FileBlocks,
        geometry: &impl Geometry,
        blocks: Range<u64>,
    ) -> bool {
        let (Some(vbns), Some(group), None) =
            (blocks_of.vbns(blocks), geometry.only_group(), &self.requests)
        else {
            return false;
        };
        let (&[first, ..], &[.., last]) = (vbns, vbns) else { return false };
        let stripes = group.stripes();
        let highest = vbns.iter().fold(0, |highest, vbn| highest.max(*vbn));
        if u64::from(highest) >= group.total_blocks() || !(2..1 << 31).contains(&stripes) {
            return false;
        }
        // The fractional part of `vbn / stripes`, in 2^-64 and a little more than it is, grows with the DBN: by one
        // `step` for each, while what it is too large by is less than a step for all VBNs of 32 bits together (Lemire,
        // Kaser and Kurz, "Faster remainder by direct computation", 2019). So the least and the greatest are of the
        // lowest and the highest DBN, at one multiplication a block.
        let step = u64::MAX / stripes + 1;
        let fractions = vbns.iter().map(|vbn| u64::from(*vbn).wrapping_mul(step));
        let (least, greatest) = fractions.fold((u64::MAX, 0), |(least, greatest), fraction| {
            (least.min(fraction), greatest.max(fraction))
        });
        if least < step {
            // DBN 0 follows nothing, though the number before it is that of a block.
            return false;
        }
        let follow: u32 =
            vbns.windows(2).map(|two| u32::from(two[0].wrapping_add(1) == two[1])).sum();
        let first_follows = self.previous.is_some_and(|vbn| vbn.0 + 1 == u64::from(first));
        self.counter.blocks += vbns.len() as u64;
        self.counter.follow += u64::from(follow) + u64::from(first_follows);
        for fraction in [least, greatest] {
            let dbn = (u128::from(fraction) * u128::from(stripes)) >> 64;
            self.note_span(GroupIndex(0), dbn as u64);
        }
        self.previous = Some(Vbn(last.into()));
        true
    }

    fn note_span(&mut self, group: GroupIndex, dbn: u64) {
        if self.spans.len() <= group.index() {
            self.spans.resize(group.index() + 1, None);
        }
        let span = &mut self.spans[group.index()];
        *span = Some(span.map_or((dbn, dbn), |(low, high)| (low.min(dbn), high.max(dbn))));
    }

    /// Ends the extent from `extent_first` to `end`, if its blocks are mapped.
    fn end_extent(&mut self, end: u64) {
        let first = std::mem::replace(&mut self.extent_first, end);
        if let Some((mix, sums)) = &mut self.requests
            && self.previous.is_some()
        {
            sums.add(mix, first..end, self.end);
        }
    }

    /// The layout of the blocks processed so far.
    #[must_use]
    pub fn layout(&self, geometry: &impl Geometry) -> FileLayout {
        let (mut covered, mut whole) = (0.0, 0.0);
        for (index, span) in self.spans.iter().enumerate() {
            if let (Some((low, high)), Some(group)) =
                (span, geometry.group(GroupIndex(index as u16)))
            {
                let spindles = f64::from(group.data_spindles());
                covered += (high - low + 1) as f64 * spindles;
                whole += group.stripes() as f64 * spindles;
            }
        }
        FileLayout {
            score: self.counter.score(),
            extents: self.counter.extents(),
            blocks: self.counter.blocks,
            span: if whole == 0.0 { 0.0 } else { covered / whole },
        }
    }

    /// Mean spindle commands per request of the mix ([`RequestMix`]), once the pass is done; `None` without a mix, or
    /// if none of its requests fits the file.
    #[must_use]
    pub fn commands_per_request(&self) -> Option<f64> {
        let (mix, sums) = self.requests.as_ref()?;
        sums.commands_per_request(mix, self.end)
    }
}

impl RequestMix {
    /// Mean spindle commands per request, over all blocks at which it can begin; `None` if no request fits the file.
    /// Makes one pass over the file; for steps see [`FilePass`].
    #[must_use]
    pub fn commands_per_request(
        &self,
        blocks: &impl FileBlocks,
        file_blocks: impl Into<u64>,
        geometry: &impl Geometry,
    ) -> Option<f64> {
        let mut pass = FilePass::new(file_blocks).with_requests(self.clone());
        pass.step(blocks, geometry, u64::MAX);
        pass.commands_per_request()
    }
}

/// The layout score and extents of a file, updated as its blocks move. O(1) a block.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LayoutCounter {
    blocks: u64,
    follow: u64,
}

impl LayoutCounter {
    /// Records that `block` of the file is about to move to `to`, or be unmapped. `blocks` is the file before the move.
    ///
    /// # Panics
    /// If the counter cannot be that of the file: it has counted fewer blocks than the file has there.
    pub fn replace(
        &mut self,
        blocks: &impl FileBlocks,
        geometry: &impl Geometry,
        block: u64,
        to: Option<Vbn>,
    ) {
        let before = block.checked_sub(1).and_then(|before| blocks.vbn(before));
        let after = block.checked_add(1).and_then(|after| blocks.vbn(after));
        let in_order = |here: Option<Vbn>| {
            u64::from(here.is_some_and(|here| is_behind(geometry, before, here)))
                + u64::from(after.is_some_and(|after| is_behind(geometry, here, after)))
        };
        let from = blocks.vbn(block);
        let (follow, mapped) = (self.follow + in_order(to), self.blocks + u64::from(to.is_some()));
        let (out_of_order, unmapped) = (in_order(from), u64::from(from.is_some()));
        assert!(
            out_of_order <= follow && unmapped <= mapped,
            "block {block} leaves {from:?}, where it was never counted"
        );
        self.follow = follow - out_of_order;
        self.blocks = mapped - unmapped;
        assert!(
            self.follow <= self.blocks.saturating_sub(1),
            "{} of {} counted blocks follow another",
            self.follow,
            self.blocks
        );
    }

    /// Adds `blocks` consecutive blocks, whose first follows the last block added before or does not. The first block
    /// of all follows none. O(1).
    pub fn add_run(&mut self, blocks: u64, follows: bool) {
        let follows = follows && self.blocks > 0;
        self.blocks = self.blocks.saturating_add(blocks);
        self.follow = self.follow.saturating_add(blocks.saturating_sub(u64::from(!follows)));
    }

    /// [`FileLayout::score`].
    #[must_use]
    pub fn score(&self) -> f64 {
        if self.blocks < 2 { 1.0 } else { self.follow as f64 / (self.blocks - 1) as f64 }
    }

    /// [`FileLayout::extents`].
    #[must_use]
    pub fn extents(&self) -> u64 {
        self.blocks - self.follow
    }

    /// [`FileLayout::blocks`].
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks
    }
}
