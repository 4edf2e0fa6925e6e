//! Measures of the layout of a real file, by the definitions of [`strewn_alloc`].

use std::collections::BTreeMap;

use serde::Serialize;
use strewn_alloc::LayoutCounter;

use crate::extent::{Address, Extent, Place};

/// Bytes of a window of [`LayoutMeasures::extents_per_mib_window`].
const WINDOW_BYTES: u64 = 1 << 20;

const GIB: f64 = (1u64 << 30) as f64;

/// The layout of a file.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LayoutMeasures {
    /// Runs of blocks that are consecutive both in the file and in the file system's addresses, as in
    /// [`strewn_alloc::FileLayout::extents`]. A hole ends an extent.
    pub extents: u64,
    /// [`strewn_alloc::FileLayout::score`]: the share of blocks, except the first, that directly follow their
    /// predecessor. 1 is contiguous.
    pub layout_score: f64,
    /// Extents per GiB of bytes with a place.
    pub extents_per_gib: f64,
    /// The mean over all windows of 1 MiB of the file of the runs that a window's blocks form when sorted by address:
    /// what is left of the extents if requests are sorted. 0 if no byte has a place.
    pub extents_per_mib_window: f64,
    /// Bytes from the lowest address of the file to the highest, summed over volumes.
    pub span_bytes: u64,
    /// Bytes that have a place, written or reserved, up to the file's end.
    pub placed_bytes: u64,
    /// Of those, bytes that other files or snapshots share.
    pub shared_bytes: u64,
    /// Of those, bytes that are reserved and not written.
    pub unwritten_bytes: u64,
    /// Of those, bytes that are stored encoded: compressed or encrypted.
    pub encoded_bytes: u64,
    /// Bytes in the file system's metadata.
    pub inline_bytes: u64,
    /// Bytes whose place the file system does not tell, or has not decided.
    pub unknown_bytes: u64,
    /// Holes, and their bytes.
    pub holes: u64,
    /// Bytes of holes.
    pub hole_bytes: u64,
}

/// A pass over the extents of a file. Its memory does not depend on the number of extents.
#[derive(Debug, Clone)]
pub struct LayoutPass {
    file_bytes: u64,
    block_bytes: u64,
    /// Where the next extent begins if there is no hole.
    next_offset: u64,
    previous: Option<Extent>,
    counter: LayoutCounter,
    window: Window,
    spans: BTreeMap<u16, (u64, u64)>,
    sums: Sums,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    placed: u64,
    shared: u64,
    unwritten: u64,
    encoded: u64,
    inline: u64,
    unknown: u64,
    holes: u64,
    hole_bytes: u64,
}

impl LayoutPass {
    /// A pass over a file of `file_bytes` on a file system with blocks of `block_bytes`.
    #[must_use]
    pub fn new(file_bytes: u64, block_bytes: u64) -> Self {
        Self {
            file_bytes,
            block_bytes: block_bytes.max(1),
            next_offset: 0,
            previous: None,
            counter: LayoutCounter::default(),
            window: Window::default(),
            spans: BTreeMap::new(),
            sums: Sums::default(),
        }
    }

    /// Takes the next extent. Extents come in the order of the file; what lies beyond the file's end is left out, and
    /// so is what an earlier extent covered, which happens when a file changes meanwhile.
    pub fn add(&mut self, extent: &Extent) {
        // The last block counts in full.
        let end = self.file_bytes.checked_next_multiple_of(self.block_bytes).unwrap_or(u64::MAX);
        let is_encoded = extent.is_encoded();
        let Some(extent) = extent.within(self.next_offset..end) else { return };
        self.add_hole(extent.offset.min(self.file_bytes));
        self.next_offset = extent.end();
        // Bytes that exist, of the last block.
        let bytes = extent.end().min(self.file_bytes) - extent.offset.min(self.file_bytes);
        let Some(at) = extent.place.address() else {
            match extent.place {
                Place::Inline => self.sums.inline += bytes,
                _ => self.sums.unknown += bytes,
            }
            self.previous = None;
            return;
        };
        self.sums.placed += bytes;
        self.sums.encoded += if is_encoded { bytes } else { 0 };
        self.sums.shared += if extent.shared { bytes } else { 0 };
        if matches!(extent.place, Place::Unwritten(_)) {
            self.sums.unwritten += bytes;
        }
        let follows = self.previous.is_some_and(|previous| is_behind(&previous, &extent));
        self.counter.add_run(extent.bytes.div_ceil(self.block_bytes), follows);
        let span = self.spans.entry(at.volume).or_insert((at.byte, at.byte));
        *span = (span.0.min(at.byte), span.1.max(at.after(extent.allocated_bytes()).byte));
        self.window.add(&extent, at);
        self.previous = Some(extent);
    }

    /// The bytes from where the last extent ended to `offset` are a hole.
    fn add_hole(&mut self, offset: u64) {
        if offset > self.next_offset {
            self.sums.holes += 1;
            self.sums.hole_bytes += offset - self.next_offset;
            self.previous = None;
        }
    }

    /// The measures, after the last extent.
    #[must_use]
    pub fn finish(mut self) -> LayoutMeasures {
        self.add_hole(self.file_bytes);
        self.window.end();
        let Sums { placed, shared, unwritten, encoded, inline, unknown, holes, hole_bytes } =
            self.sums;
        let extents = self.counter.extents();
        let blocks_bytes = self.counter.blocks().saturating_mul(self.block_bytes);
        LayoutMeasures {
            extents,
            layout_score: self.counter.score(),
            extents_per_gib: match blocks_bytes {
                0 => 0.0,
                bytes => extents as f64 / (bytes as f64 / GIB),
            },
            extents_per_mib_window: self.window.mean(),
            span_bytes: self.spans.values().map(|(low, high)| high - low).sum(),
            placed_bytes: placed,
            shared_bytes: shared,
            unwritten_bytes: unwritten,
            encoded_bytes: encoded,
            inline_bytes: inline,
            unknown_bytes: unknown,
            holes,
            hole_bytes,
        }
    }
}

/// Whether `next` begins in the file and in the address space where `previous` ends. Of encoded bytes whose number is
/// not known, those follow that begin before as many bytes as were encoded have passed.
pub(crate) fn is_behind(previous: &Extent, next: &Extent) -> bool {
    let (Some(before), Some(at)) = (previous.place.address(), next.place.address()) else {
        return false;
    };
    if previous.end() != next.offset || before.volume != at.volume {
        return false;
    }
    match previous.place {
        Place::Encoded { stored_bytes: None, .. } => {
            at.byte > before.byte && at.byte - before.byte <= previous.bytes
        }
        // Two parts of one block, as in a disk image, follow each other too.
        Place::Block { .. } if at == before => true,
        _ => at == before.after(previous.allocated_bytes()),
    }
}

/// The windows of a file, one at a time.
#[derive(Debug, Clone, Default)]
struct Window {
    number: u64,
    /// Address, bytes that it takes, and whether those are the most that it takes, of the parts of the current window.
    parts: Vec<(Address, u64, bool)>,
    windows: u64,
    runs: u64,
}

impl Window {
    fn add(&mut self, extent: &Extent, at: Address) {
        let (first, last) = (extent.offset / WINDOW_BYTES, (extent.end() - 1) / WINDOW_BYTES);
        if first != self.number {
            self.end();
            self.number = first;
        }
        if first == last || extent.is_read_whole() {
            // An encoded extent or a block is read whole in the window in which it begins.
            let at_most = matches!(extent.place, Place::Encoded { stored_bytes: None, .. });
            self.parts.push((at, extent.allocated_bytes(), at_most));
            return;
        }
        let in_first = (first + 1) * WINDOW_BYTES - extent.offset;
        self.parts.push((at, in_first, false));
        self.end();
        // Windows in between are one run each.
        self.windows += last - first - 1;
        self.runs += last - first - 1;
        let before_last = last * WINDOW_BYTES - extent.offset;
        self.number = last;
        self.parts.push((at.after(before_last), extent.bytes - before_last, false));
    }

    fn end(&mut self) {
        if self.parts.is_empty() {
            return;
        }
        self.parts.sort_unstable();
        self.windows += 1;
        self.runs += 1;
        for pair in self.parts.windows(2) {
            let (at, bytes, at_most) = pair[0];
            let (next, ..) = pair[1];
            let end = at.after(bytes);
            // Parts of one block have its address.
            let joined =
                next == end || next == at || at_most && next.volume == end.volume && next < end;
            self.runs += u64::from(!joined);
        }
        self.parts.clear();
    }

    fn mean(&self) -> f64 {
        if self.windows == 0 { 0.0 } else { self.runs as f64 / self.windows as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(offset: u64, bytes: u64, at: u64) -> Extent {
        Extent { offset, bytes, place: Place::At(Address::new(at)), shared: false }
    }

    fn measured(file_bytes: u64, extents: &[Extent]) -> LayoutMeasures {
        let mut pass = LayoutPass::new(file_bytes, 4096);
        extents.iter().for_each(|extent| pass.add(extent));
        pass.finish()
    }

    #[test]
    fn one_run_is_contiguous_however_it_is_told() {
        let whole = measured(10 << 20, &[extent(0, 10 << 20, 1 << 30)]);
        let parts: Vec<Extent> =
            (0..10).map(|part| extent(part << 20, 1 << 20, (1 << 30) + (part << 20))).collect();
        assert_eq!(measured(10 << 20, &parts), whole);
        assert_eq!((whole.extents, whole.layout_score), (1, 1.0));
        assert_eq!(whole.extents_per_mib_window, 1.0);
        assert_eq!(whole.span_bytes, 10 << 20);
    }

    #[test]
    fn blocks_in_reverse_do_not_follow_but_are_one_run_when_sorted() {
        let blocks: Vec<Extent> =
            (0..256).map(|block| extent(block * 4096, 4096, (1 << 30) - block * 4096)).collect();
        let reversed = measured(1 << 20, &blocks);
        assert_eq!((reversed.extents, reversed.layout_score), (256, 0.0));
        assert_eq!(reversed.extents_per_gib, 256.0 * 1024.0);
        assert_eq!(reversed.extents_per_mib_window, 1.0);
    }

    #[test]
    fn holes_end_extents_and_are_counted() {
        let file = [extent(4096, 4096, 8192), extent(12288, 4096, 12288)];
        let sparse = measured(20_000, &file);
        assert_eq!((sparse.extents, sparse.holes, sparse.hole_bytes), (2, 3, 20_000 - 8192));
        let empty = measured(16 << 40, &[]);
        assert_eq!((empty.extents, empty.holes, empty.hole_bytes), (0, 1, 16 << 40));
        assert_eq!((empty.layout_score, empty.extents_per_mib_window), (1.0, 0.0));
    }

    #[test]
    fn what_lies_beyond_the_end_or_comes_twice_is_left_out() {
        let file =
            [extent(0, 1 << 20, 0), extent(4096, 8192, 0), extent(1 << 20, 1 << 20, 1 << 20)];
        let measures = measured(5000, &file);
        assert_eq!((measures.extents, measures.placed_bytes), (1, 5000));
    }

    #[test]
    fn kinds_of_bytes_add_up_to_the_file() {
        let mut file = [extent(0, 4096, 0), extent(4096, 4096, 4096), extent(8192, 4096, 0)];
        file[0].place = Place::Inline;
        file[1].shared = true;
        file[2].place = Place::Unwritten(Address::new(8192));
        let measures = measured(16384, &file);
        assert_eq!(measures.extents, 1);
        assert_eq!((measures.inline_bytes, measures.shared_bytes), (4096, 4096));
        assert_eq!((measures.unwritten_bytes, measures.hole_bytes), (4096, 4096));
        assert_eq!(measures.inline_bytes + measures.placed_bytes + measures.hole_bytes, 16384);
    }

    #[test]
    fn compressed_extents_follow_within_what_they_could_take() {
        let encoded = |offset: u64, at: u64| Extent {
            place: Place::Encoded { at: Address::new(at), stored_bytes: None },
            ..extent(offset, 128 << 10, 0)
        };
        let file = [encoded(0, 0), encoded(128 << 10, 40_960), encoded(256 << 10, 1 << 30)];
        let measures = measured(384 << 10, &file);
        assert_eq!((measures.extents, measures.encoded_bytes), (2, 384 << 10));
        assert_eq!(measures.extents_per_mib_window, 2.0);
    }
}
