//! Which blocks are read before a host asks for them (`dmu_zfetch.c`).

use std::ops::Range;

use strewn_base::state::SavedValue;

use crate::volume::POINTERS;

/// Streams of a volume (`zfetch_max_streams`).
const MOST_STREAMS: usize = 8;

/// A stream that has found nothing for longer makes room for another, if there are as many as there may be
/// (`zfetch_min_sec_reap`), or in any case (`zfetch_max_sec_reap`).
const IDLE_SECONDS: (u64, u64) = (1, 2);

/// A stream's distance doubles up to this, in bytes (`zfetch_min_distance`).
const DOUBLES_TO: u64 = 4 << 20;

const SECOND_NS: u64 = 1_000_000_000;

/// Blocks that a stream reads ahead: up to where it has read, and how far it may be ahead of its host.
#[derive(Debug, Clone, Copy, SavedValue)]
struct Ahead {
    to: u32,
    distance_bytes: u64,
}

#[derive(Debug, Clone, Copy, SavedValue)]
struct Stream {
    /// Its first block.
    first: u32,
    /// The block that is expected next.
    next: u32,
    data: Ahead,
    /// As many blocks' indirect blocks are read, behind those whose data is.
    indirect: Ahead,
    /// Whether a block was asked for before it had been read.
    is_late: bool,
    /// Whether anything was read from drives for its host.
    has_missed: bool,
    used_s: u64,
}

/// What to read ahead.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadAhead {
    /// Blocks of data.
    pub data: Range<u32>,
    /// Blocks of the level above.
    pub indirect: Range<u32>,
}

/// The streams of a volume.
#[derive(Debug, Clone, SavedValue)]
pub struct Prefetcher {
    /// The newest first.
    streams: Vec<Stream>,
    most_streams: u8,
    block_bytes: u32,
    blocks: u32,
    most_bytes: u64,
}

impl Prefetcher {
    /// For a volume of `blocks` blocks of `block_bytes`, each stream at most so many bytes ahead; 0 for none.
    pub fn new(blocks: u32, block_bytes: u32, most_bytes: u64) -> Self {
        let bytes = u64::from(blocks) * u64::from(block_bytes);
        let most_streams = bytes.checked_div(most_bytes).unwrap_or(1).clamp(1, MOST_STREAMS as u64);
        Self {
            streams: Vec::new(),
            most_streams: most_streams as u8,
            block_bytes,
            blocks,
            most_bytes,
        }
    }

    /// A host reads `blocks`, and `has_missed` if it has to wait for drives.
    pub fn note_read(&mut self, now_ns: u64, blocks: Range<u32>, has_missed: bool) -> ReadAhead {
        let last = self.blocks - 1;
        if self.most_bytes == 0 || last < 2 {
            return ReadAhead::default();
        }
        // Requests that are not whole blocks read one of them twice.
        let follows = |stream: &Stream| [blocks.start, blocks.start + 1].contains(&stream.next);
        let crosses = |stream: &Stream| (blocks.start..=blocks.end).contains(&stream.next);
        let position = |is: &dyn Fn(&Stream) -> bool| self.streams.iter().position(is);
        let Some(at) = position(&follows).or_else(|| position(&crosses)) else {
            if blocks.end < last {
                self.begin(now_ns / SECOND_NS, blocks.end);
            }
            return ReadAhead::default();
        };
        let stream = &mut self.streams[at];
        stream.used_s = now_ns / SECOND_NS;
        if blocks.end == stream.next {
            return ReadAhead::default();
        }
        let read_bytes = u64::from(blocks.end - stream.next) * u64::from(self.block_bytes);
        stream.next = blocks.end;
        if blocks.end >= last {
            self.streams.remove(at);
            return ReadAhead::default();
        }
        stream.has_missed |= has_missed;
        stream.go_on(read_bytes, self.most_bytes, self.block_bytes, self.blocks)
    }

    /// A block has been read ahead.
    pub fn note_read_ahead(&mut self, block: u32) {
        for stream in &mut self.streams {
            stream.is_late |= (stream.first..stream.next).contains(&block);
        }
    }

    fn begin(&mut self, now_s: u64, first: u32) {
        let (least_s, most_s) = IDLE_SECONDS;
        self.streams.retain(|stream| stream.used_s + most_s >= now_s);
        if self.streams.len() >= usize::from(self.most_streams) {
            let idle = |(_, stream): &(usize, &Stream)| stream.used_s + least_s < now_s;
            let oldest = self.streams.iter().enumerate().filter(idle);
            let Some((at, _)) = oldest.min_by_key(|(_, stream)| stream.used_s) else { return };
            self.streams.remove(at);
        }
        let none = Ahead { to: first, distance_bytes: 0 };
        self.streams.insert(
            0,
            Stream {
                first,
                next: first,
                data: none,
                indirect: none,
                is_late: false,
                has_missed: false,
                used_s: now_s.saturating_sub(least_s),
            },
        );
    }
}

impl Stream {
    /// What to read when the host has read so many bytes more.
    fn go_on(
        &mut self,
        read_bytes: u64,
        most_bytes: u64,
        block_bytes: u32,
        blocks: u32,
    ) -> ReadAhead {
        let distance = &mut self.data.distance_bytes;
        if *distance < read_bytes {
            *distance = read_bytes;
        } else if *distance < DOUBLES_TO {
            *distance *= 2;
        } else if self.is_late {
            *distance += *distance / 8;
        }
        *distance = (*distance).min(most_bytes);
        self.is_late = false;
        let distance = &mut self.indirect.distance_bytes;
        *distance = if *distance < read_bytes { read_bytes } else { *distance * 2 };
        *distance = (*distance).min(2 * most_bytes);

        let not_yet = |ahead: Ahead, behind: u32| {
            let from = ahead.to.max(behind);
            let distance = (ahead.distance_bytes / u64::from(block_bytes)) as u32;
            from..from.max((behind + distance).min(blocks))
        };
        let mut data = not_yet(self.data, self.next);
        let indirect = not_yet(self.indirect, data.end);
        self.indirect.to = indirect.end;
        if self.has_missed {
            self.data.to = data.end;
        } else {
            // As long as its host finds everything in memory, the stream reads no data.
            data = 0..0;
        }
        ReadAhead { data, indirect: above(indirect) }
    }
}

/// The indirect blocks that begin with one of these blocks.
fn above(blocks: Range<u32>) -> Range<u32> {
    blocks.start.div_ceil(POINTERS)..blocks.end.div_ceil(POINTERS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    /// Blocks of 8 KiB in a MiB.
    const IN_MIB: u32 = 128;

    /// A volume of 1 GiB in blocks of 8 KiB.
    fn prefetcher() -> Prefetcher {
        Prefetcher::new(1_024 * IN_MIB, 8_192, 64 * MIB)
    }

    /// Reads a MiB, and returns how many MiB of data are read ahead.
    fn read_mib(prefetcher: &mut Prefetcher, mib: u32, has_missed: bool) -> f64 {
        let blocks = mib * IN_MIB..(mib + 1) * IN_MIB;
        f64::from(prefetcher.note_read(0, blocks, has_missed).data.len() as u32) / 128.0
    }

    /// The figures that a real pool had when it read a fresh volume: 1, 2 and 4 MiB ahead; then an eighth more each
    /// time that it was late (`dmu_zfetch_run`, watched in 2.3.2).
    #[test]
    fn a_stream_doubles_at_first_and_grows_later_only_if_it_is_late() {
        let mut prefetcher = prefetcher();
        let first: Vec<f64> = (0..4).map(|mib| read_mib(&mut prefetcher, mib, true)).collect();
        // What is read ahead is as far ahead as the distance says, 1, 2 and 4 MiB.
        assert_eq!(first, [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(read_mib(&mut prefetcher, 4, true), 1.0, "4 MiB ahead, as before");
        prefetcher.note_read_ahead(5 * IN_MIB);
        assert_eq!(read_mib(&mut prefetcher, 5, true), 1.0, "that block was not asked for yet");
        prefetcher.note_read_ahead(5 * IN_MIB);
        assert_eq!(read_mib(&mut prefetcher, 6, true), 1.5, "4.5 MiB ahead");
        assert_eq!(read_mib(&mut prefetcher, 7, true), 1.0);
        for mib in 8..200 {
            prefetcher.note_read_ahead(mib * IN_MIB - 1);
            read_mib(&mut prefetcher, mib, true);
        }
        assert_eq!(prefetcher.streams[0].data.to, (200 + 64) * IN_MIB, "64 MiB at most");
    }

    #[test]
    fn what_is_in_memory_is_not_read_ahead_until_something_is_not() {
        let mut prefetcher = prefetcher();
        for mib in 0..10 {
            assert_eq!(read_mib(&mut prefetcher, mib, false), 0.0);
        }
        assert_eq!(read_mib(&mut prefetcher, 10, true), 4.0);
    }

    #[test]
    fn indirect_blocks_are_read_once_each_and_further_ahead_than_data() {
        let mut prefetcher = prefetcher();
        let mut indirect = Vec::new();
        for mib in 0..100 {
            let blocks = mib * IN_MIB..(mib + 1) * IN_MIB;
            indirect.extend(prefetcher.note_read(0, blocks, true).indirect);
        }
        // 100 MiB are read, 4 MiB more are read ahead, and indirect blocks of 8 MiB each for 128 MiB more.
        assert_eq!(indirect, Vec::from_iter(1..(100 + 4 + 128) / 8));
    }

    #[test]
    fn requests_of_half_a_block_go_on_with_a_stream() {
        let mut prefetcher = prefetcher();
        let ahead: usize = (0..200)
            .map(|half: u32| prefetcher.note_read(0, half / 2..half / 2 + 1, true).data.len())
            .sum();
        assert_eq!(ahead, 98 + 512, "4 MiB ahead of block 100, from block 2 on");
        assert_eq!(prefetcher.streams.len(), 1);
    }

    #[test]
    fn streams_that_go_on_are_not_pushed_out_by_random_reads() {
        let mut prefetcher = prefetcher();
        let mut ahead = 0;
        for second in 0..20 {
            let now_ns = u64::from(second) * SECOND_NS;
            ahead += prefetcher.note_read(now_ns, second..second + 1, true).data.len();
            for random in 0..100 {
                prefetcher.note_read(now_ns, 50_000 + 7 * random..50_001 + 7 * random, true);
            }
            assert!(prefetcher.streams.len() <= MOST_STREAMS);
        }
        assert!(ahead > 19, "{ahead} blocks");
    }

    #[test]
    fn a_volume_ends_and_a_small_one_has_one_stream() {
        let mut prefetcher = Prefetcher::new(3 * IN_MIB, 8_192, 64 * MIB);
        assert_eq!(read_mib(&mut prefetcher, 0, true), 0.0);
        assert_eq!(read_mib(&mut prefetcher, 1, true), 1.0);
        assert_eq!(read_mib(&mut prefetcher, 2, true), 0.0);
        assert!(prefetcher.streams.is_empty(), "the volume is at its end");
        prefetcher.note_read(0, 5..6, true);
        prefetcher.note_read(0, 9..10, true);
        assert_eq!(prefetcher.streams.len(), 1);
        let mut none = Prefetcher::new(1, 8_192, 64 * MIB);
        assert_eq!(none.note_read(0, 0..1, true), ReadAhead::default());
    }
}
