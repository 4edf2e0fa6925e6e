//! Which blocks are read before a host asks for them (`dmu_zfetch.c`).

use std::ops::Range;

use strewn_base::state::SavedValue;

/// Streams of a volume (`zfetch_max_streams`).
const MOST_STREAMS: usize = 8;

/// A stream's distance doubles up to this, in bytes (`zfetch_min_distance`).
const DOUBLES_TO: u64 = 4 << 20;

#[derive(Debug, Clone, Copy, SavedValue)]
struct Stream {
    /// The block that is expected next.
    next: u32,
    /// Up to where it has been read ahead.
    ahead_to: u32,
    /// Blocks that it may be ahead.
    distance: u32,
    used: u64,
}

/// The streams of a volume.
#[derive(Debug, Clone, SavedValue)]
pub struct Prefetcher {
    streams: Vec<Stream>,
    most: u32,
    doubles_to: u32,
    blocks: u32,
    uses: u64,
}

impl Prefetcher {
    /// For a volume of `blocks` blocks of `block_bytes`, each stream at most so many bytes ahead.
    pub fn new(blocks: u32, block_bytes: u32, prefetch_bytes: u64) -> Self {
        let most = (prefetch_bytes / u64::from(block_bytes)) as u32;
        let doubles_to = ((DOUBLES_TO / u64::from(block_bytes)) as u32).min(most);
        Self { streams: Vec::new(), most, doubles_to, blocks, uses: 0 }
    }

    /// A host reads `blocks`. Returns those to read ahead.
    pub fn note_read(&mut self, blocks: Range<u32>) -> Range<u32> {
        if self.most == 0 {
            return 0..0;
        }
        self.uses += 1;
        let found = self.streams.iter_mut().find(|stream| stream.next == blocks.start);
        let Some(stream) = found else {
            self.begin(blocks.end);
            return 0..0;
        };
        let read = blocks.end - blocks.start;
        (stream.next, stream.used) = (blocks.end, self.uses);
        // It doubles at first; later it grows as long as its end comes near.
        stream.distance = if stream.distance < self.doubles_to {
            (stream.distance * 2).max(read).min(self.doubles_to)
        } else {
            (stream.distance + (stream.distance / 8).max(1)).min(self.most)
        };
        let from = stream.ahead_to.max(blocks.end);
        let to = (blocks.end + stream.distance).min(self.blocks);
        // In pieces of some size, as requests of several blocks.
        if to < from + (stream.distance / 8).max(1) {
            return 0..0;
        }
        stream.ahead_to = to;
        from..to
    }

    fn begin(&mut self, next: u32) {
        let stream = Stream { next, ahead_to: next, distance: 0, used: self.uses };
        if self.streams.len() < MOST_STREAMS {
            self.streams.push(stream);
        } else if let Some(oldest) = self.streams.iter_mut().min_by_key(|stream| stream.used) {
            *oldest = stream;
        }
    }
}
