//! Which host reads are in order: streams of reads, each of which continues the one before.
//!
//! Reads complete in any order, so a stream takes reads that are a little ahead, and counts what it has without a gap.
//! Single reads are remembered apart: random ones push out each other, and no stream.

use std::collections::VecDeque;
use std::ops::Range;

use strewn_base::state::SavedValue;

/// Blocks that are judged and relocated together: four chunks, 1 MiB. A stream that never gets so far relocates
/// nothing.
pub(super) const STRETCH_BLOCKS: u32 = 256;
/// Runs of a stretch, as a multiple of those expected, above which it is relocated. An assumption: relocation costs one
/// write for each block now, and pays with each later scan.
pub(super) const THRESHOLD: f64 = 2.0;

const MOST_STREAMS: usize = 16;
const MOST_SINGLE_READS: usize = 64;
/// How far ahead of a stream's end a read may be to belong to it, and how many such reads wait.
const AHEAD_BLOCKS: u32 = 1_024;
const MOST_AHEAD: usize = 64;

#[derive(Debug, Default, SavedValue)]
pub(super) struct ReadStreams {
    /// The least recently continued first.
    streams: Vec<Stream>,
    single: VecDeque<(u32, u32)>,
}

#[derive(Debug, Clone, SavedValue)]
struct Stream {
    /// What has been read without a gap and not been judged.
    first: u32,
    end: u32,
    ahead: Vec<(u32, u32)>,
}

impl Stream {
    fn takes(&self, blocks: &Range<u32>) -> bool {
        // Reads that are not aligned share a block with the next.
        blocks.start + 1 >= self.end
            && blocks.start <= self.end.saturating_add(AHEAD_BLOCKS)
            && blocks.end > self.end
    }

    fn take(&mut self, blocks: Range<u32>) {
        if self.ahead.len() == MOST_AHEAD {
            self.ahead.remove(0);
        }
        self.ahead.push((blocks.start, blocks.end));
        while let Some(next) = self.ahead.iter().position(|(start, _)| *start <= self.end) {
            let (_, end) = self.ahead.swap_remove(next);
            self.end = self.end.max(end);
        }
    }

    /// The next stretch that has been read in full.
    fn stretch(&mut self) -> Option<Range<u32>> {
        let end = self.first.checked_add(STRETCH_BLOCKS).filter(|end| *end <= self.end)?;
        // One read may be longer than a stretch.
        let end = end + (self.end - end) / STRETCH_BLOCKS * STRETCH_BLOCKS;
        Some(std::mem::replace(&mut self.first, end)..end)
    }
}

impl ReadStreams {
    /// A host has read `blocks`. Returns blocks that it has read in order, once there are enough of them.
    pub(super) fn read(&mut self, blocks: Range<u32>) -> Option<Range<u32>> {
        if let Some(at) = self.streams.iter().position(|stream| stream.takes(&blocks)) {
            let mut stream = self.streams.remove(at);
            stream.take(blocks);
            let stretch = stream.stretch();
            self.streams.push(stream);
            return stretch;
        }
        let follows = |(start, end): &(u32, u32)| {
            // Reads that are not aligned share a block with the next.
            let joins = |one: u32, other: u32| one == other || one == other + 1;
            joins(*end, blocks.start) || joins(blocks.end, *start)
        };
        if let Some(at) = self.single.iter().position(follows)
            && let Some((start, end)) = self.single.remove(at)
        {
            return self.begin(blocks.start.min(start)..blocks.end.max(end));
        }
        if blocks.len() as u32 >= STRETCH_BLOCKS {
            return self.begin(blocks);
        }
        if self.single.len() == MOST_SINGLE_READS {
            self.single.pop_front();
        }
        self.single.push_back((blocks.start, blocks.end));
        None
    }

    fn begin(&mut self, blocks: Range<u32>) -> Option<Range<u32>> {
        if self.streams.len() == MOST_STREAMS {
            self.streams.remove(0);
        }
        let mut stream = Stream { first: blocks.start, end: blocks.end, ahead: Vec::new() };
        // Reads that overtook these are its own.
        self.single.retain(|&(start, end)| {
            let is_its_own = stream.takes(&(start..end));
            if is_its_own {
                stream.take(start..end);
            }
            !is_its_own
        });
        let stretch = stream.stretch();
        self.streams.push(stream);
        stretch
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_in_order_come_back_stretch_by_stretch() {
        let mut streams = ReadStreams::default();
        let found: Vec<_> =
            (0..64).filter_map(|read| streams.read(read * 16..read * 16 + 16)).collect();
        assert_eq!(found, [0..256, 256..512, 512..768, 768..1_024]);
    }

    #[test]
    fn completions_out_of_order_and_reads_that_share_a_block_are_in_order() {
        let mut streams = ReadStreams::default();
        let mut found = Vec::new();
        for four in 0..16u32 {
            for read in [1, 0, 3, 2].map(|one| four * 4 + one) {
                found.extend(streams.read(read * 16..read * 16 + 17));
            }
        }
        let in_all: u32 = found.iter().map(|range| range.len() as u32).sum();
        assert!(in_all >= 768, "{found:?}");
    }

    #[test]
    fn random_reads_are_no_stream_and_end_none() {
        let mut streams = ReadStreams::default();
        let mut place = 1u32;
        let mut found = Vec::new();
        for read in 0..128 {
            for _ in 0..50 {
                place = place.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let at = 1_000_000 + place % 20_000_000;
                assert_eq!(streams.read(at..at + 16), None);
            }
            found.extend(streams.read(read * 16..read * 16 + 16));
        }
        assert_eq!(found.len(), 8);
    }

    #[test]
    fn one_long_read_is_in_order_with_itself() {
        let mut streams = ReadStreams::default();
        assert_eq!(streams.read(100..800), Some(100..612));
        assert_eq!(streams.read(800..900), Some(612..868));
    }
}
