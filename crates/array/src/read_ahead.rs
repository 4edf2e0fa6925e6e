//! Sequential streams of reads, and how far an array reads ahead of each.
//!
//! A LUN has several streams at once, each with the sector that it is expected to read next, how far it has been read
//! ahead, and a size that grows while it goes on. That is the shape of the "readsets" of NetApp's US 7,333,993 (several
//! streams of a file or LUN, matched request by request) and US 7,631,148 (a size that adapts to the requests of the
//! stream so far). US 9,152,565, of the same family, distinguishes exact, fuzzy and empty matches, as is done here. The
//! numbers are chosen, except that two reads back to back begin a stream, as in HP's MSA 2000 arrays of 2008.

use std::ops::Range;

use strewn_base::BLOCK_SECTORS;
use strewn_base::state::SavedValue;

/// Reads that may begin a stream and are remembered, per LUN, each in a place that follows from where it ended. A
/// stream that begins among many more other reads than this is not recognized.
const CANDIDATES: usize = 256;

/// Streams that are read ahead, per LUN.
pub const MOST_STREAMS: usize = 16;

/// A read that continues the one before continues a stream when it is the second in a row to do so: a pair of accesses
/// that happen to be adjacent reads nothing ahead.
const MATCHES_NEEDED: u8 = 2;

/// Streams that random reads begin by chance are no matter if no more than one read in so many begins one.
const RARELY: f64 = 1e-7;

/// Returns the reads in a row that begin a stream, where a run at 1/`scale_down` of full scale has random reads at
/// `places` places. A shorter file has fewer, so that random reads find the end of another more often: more reads in a
/// row make streams begun by chance as rare as at full scale, or rare enough. At full scale, two do.
#[must_use]
pub fn stream_matches(places: u64, scale_down: u32) -> u8 {
    let found = |places: u64| (CANDIDATES as f64 / places.max(1) as f64).min(0.5);
    let at_full_scale = found(places.saturating_mul(scale_down.max(1).into()));
    let rarely = RARELY.max(at_full_scale * at_full_scale);
    let (mut matches, mut chance) = (MATCHES_NEEDED, found(places) * found(places));
    while chance > rarely {
        matches += 1;
        chance *= found(places);
    }
    matches
}

/// No read ends here.
const NEVER: u64 = u64::MAX;

/// The streams of one LUN. Sectors are counted from the LUN's first.
#[derive(Debug, Clone, SavedValue)]
pub(crate) struct Streams {
    /// Where reads ended that no stream matched, each at its [`candidate`].
    ends: Vec<u64>,
    /// How many reads in a row ended there, each beginning where the one before ended.
    matches: Vec<u8>,
    streams: [Stream; MOST_STREAMS],
    in_use: u8,
    /// The reads in a row that begin a stream, after the first.
    matches_needed: u8,
    /// The reads of streams so far, which date them.
    reads: u64,
    /// Most sectors that a stream is ahead.
    window: u64,
    /// Read-ahead ends at multiples of it.
    boundary: u64,
    lun_sectors: u64,
}

#[derive(Debug, Clone, Copy, Default, SavedValue)]
struct Stream {
    next: u64,
    /// The end of what has been read ahead.
    ahead_to: u64,
    size: u64,
    last_read: u64,
}

/// The place of a candidate that ends at `sector`.
#[inline]
fn candidate(sector: u64) -> usize {
    // Fibonacci hashing: the top bits of the product are spread evenly, whatever the alignment.
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    (sector.wrapping_mul(GOLDEN) >> (u64::BITS - CANDIDATES.ilog2())) as usize
}

impl Streams {
    /// For a LUN of `lun_sectors`. Each stream is at most `window` sectors ahead. Read-ahead ends at multiples of
    /// `boundary` sectors, such as the LUN's chunks, so that commands are whole chunks; there are at least two to a
    /// window.
    pub(crate) fn new(lun_sectors: u64, window: u64, boundary: u64) -> Self {
        let whole_blocks = |sectors: u64| (sectors / BLOCK_SECTORS).max(1) * BLOCK_SECTORS;
        Self {
            ends: vec![NEVER; CANDIDATES],
            matches: vec![0; CANDIDATES],
            streams: [Stream::default(); MOST_STREAMS],
            in_use: 0,
            matches_needed: MATCHES_NEEDED,
            reads: 0,
            window: whole_blocks(window),
            boundary: whole_blocks(boundary.min(window / 2)),
            lun_sectors,
        }
    }

    /// From now on, so many reads in a row begin a stream, after the first ([`stream_matches`]).
    pub(crate) fn set_matches(&mut self, matches: u8) {
        self.matches_needed = matches;
    }

    /// A host reads `sectors`. Returns what to read ahead because of it, beyond the read itself.
    #[inline]
    pub(crate) fn note_read(&mut self, sectors: Range<u64>) -> Option<Range<u64>> {
        if self.in_use != 0
            && let Some(stream) = self.matching(&sectors)
        {
            return self.goes_on(stream, &sectors);
        }
        let at = candidate(sectors.start);
        if self.ends[at] != sectors.start {
            self.remember(sectors.end, 0);
            return None;
        }
        self.candidate_goes_on(at, &sectors)
    }

    #[inline]
    fn remember(&mut self, end: u64, matches: u8) {
        let at = candidate(end);
        // The same read twice takes nothing from what has led there.
        if self.ends[at] != end || self.matches[at] < matches {
            (self.ends[at], self.matches[at]) = (end, matches);
        }
    }

    #[cold]
    fn candidate_goes_on(&mut self, at: usize, sectors: &Range<u64>) -> Option<Range<u64>> {
        let matches = self.matches[at] + 1;
        self.ends[at] = NEVER;
        if matches < self.matches_needed {
            self.remember(sectors.end, matches);
            return None;
        }
        let stream = if usize::from(self.in_use) < MOST_STREAMS {
            self.in_use += 1;
            usize::from(self.in_use) - 1
        } else {
            let dated = self.streams.iter().enumerate();
            dated.min_by_key(|(_, stream)| stream.last_read).map_or(0, |(oldest, _)| oldest)
        };
        let size = (2 * (sectors.end - sectors.start)).max(self.boundary).min(self.window);
        let (next, ahead_to) = (sectors.start, sectors.start);
        self.streams[stream] = Stream { next, ahead_to, size, last_read: 0 };
        self.goes_on(stream, sectors)
    }

    /// The stream that a read belongs to: it begins where the stream's last ended, or near it, where reads that
    /// overtake each other or leave out a little begin.
    fn matching(&self, sectors: &Range<u64>) -> Option<usize> {
        let streams = &self.streams[..usize::from(self.in_use)];
        streams.iter().position(|stream| stream.next == sectors.start).or_else(|| {
            streams.iter().position(|stream| {
                let from = stream.next.saturating_sub(stream.size);
                (from..stream.ahead_to).contains(&sectors.start)
            })
        })
    }

    /// More is read ahead when at least as much as is between two boundaries has been consumed.
    fn goes_on(&mut self, stream: usize, sectors: &Range<u64>) -> Option<Range<u64>> {
        self.reads += 1;
        let stream = &mut self.streams[stream];
        stream.last_read = self.reads;
        stream.next = stream.next.max(sectors.end);
        let from = stream.ahead_to.max(stream.next);
        let most = (stream.next + stream.size) / self.boundary * self.boundary;
        let to = most.min(self.lun_sectors / BLOCK_SECTORS * BLOCK_SECTORS);
        // The rest of a block that the stream has begun comes with its next read.
        let from = from.next_multiple_of(BLOCK_SECTORS);
        if from >= to {
            return None;
        }
        stream.ahead_to = to;
        stream.size = (2 * stream.size).min(self.window);
        Some(from..to)
    }

    /// Of what the last read asked for, only what lies before `sector` could be read ahead. The stream asks for the
    /// rest again with its next read.
    pub(crate) fn stops_at(&mut self, sector: u64) {
        let streams = &mut self.streams[..usize::from(self.in_use)];
        if let Some(stream) = streams.iter_mut().find(|stream| stream.last_read == self.reads) {
            stream.ahead_to = stream.ahead_to.min(sector);
        }
    }
}

/// An operation that waits for blocks that are being read ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, SavedValue)]
pub(crate) struct Waiter {
    /// The operation's slot.
    pub(crate) slot: u32,
    /// The blocks that it waits for, each of them once.
    pub(crate) blocks: (u32, u32),
}

/// The operations that wait for blocks that are being read ahead, in order.
#[derive(Debug, Clone, Default, SavedValue)]
pub(crate) struct Waiters(Vec<Waiter>);

impl Waiters {
    /// The operation in `slot` waits for `blocks`.
    pub(crate) fn add(&mut self, slot: u32, blocks: Range<u32>) {
        match self.0.last_mut() {
            Some(last) if last.slot == slot && last.blocks.1 == blocks.start => {
                last.blocks.1 = blocks.end;
            }
            _ => self.0.push(Waiter { slot, blocks: (blocks.start, blocks.end) }),
        }
    }

    /// Takes the first operation out that waits for some of `blocks`, with those of them that it waits for. What it
    /// waits for besides stays.
    pub(crate) fn take(&mut self, blocks: &Range<u32>) -> Option<(u32, Range<u32>)> {
        let overlap =
            |waiter: &Waiter| waiter.blocks.0.max(blocks.start)..waiter.blocks.1.min(blocks.end);
        let at = self.0.iter().position(|waiter| !overlap(waiter).is_empty())?;
        let (waiter, taken) = (self.0[at], overlap(&self.0[at]));
        let rest = [waiter.blocks.0..taken.start, taken.end..waiter.blocks.1];
        let mut rest = rest.into_iter().filter(|rest| !rest.is_empty());
        match rest.next() {
            None => {
                self.0.remove(at);
            }
            Some(first) => self.0[at].blocks = (first.start, first.end),
        }
        if let Some(second) = rest.next() {
            let blocks = (second.start, second.end);
            self.0.insert(at + 1, Waiter { slot: waiter.slot, blocks });
        }
        Some((waiter.slot, taken))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests;
