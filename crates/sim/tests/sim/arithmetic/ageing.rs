//! What rewriting does to a write-anywhere layout, and what the wrap of the write point does.

use super::*;

/// A write-anywhere layout in some lines: blocks of a file, where they are, and consistency points that rewrite some of
/// them at random, in file order, in chunks of 64 on one spindle after another. Free space never runs out.
struct Model {
    /// For each block of the file, its spindle and its place there.
    places: Vec<(u64, u64)>,
    next_chunk: u64,
    draws: u64,
}

impl Model {
    const CHUNK: u64 = 64;
    const SPINDLES: u64 = 18;

    fn new(blocks: u64) -> Self {
        let mut model = Self { places: vec![(0, 0); blocks as usize], next_chunk: 0, draws: 7 };
        model.lay((0..blocks).collect());
        model
    }

    /// A consistency point: the first block begins a chunk.
    fn lay(&mut self, blocks: Vec<u64>) {
        for chunk in blocks.chunks(Self::CHUNK as usize) {
            let (row, spindle) =
                (self.next_chunk / Self::SPINDLES, self.next_chunk % Self::SPINDLES);
            for (at, block) in (0..).zip(chunk) {
                self.places[*block as usize] = (spindle, row * Self::CHUNK + at);
            }
            self.next_chunk += 1;
        }
    }

    fn draw(&mut self, end: u64) -> u64 {
        self.draws = self
            .draws
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.draws) * u128::from(end)) >> 64) as u64
    }

    /// Rewrites so many blocks, each drawn by itself.
    fn rewrite(&mut self, count: u64) {
        let blocks = self.places.len() as u64;
        let mut drawn: Vec<u64> = (0..count).map(|_| self.draw(blocks)).collect();
        drawn.sort_unstable();
        drawn.dedup();
        self.lay(drawn);
    }

    fn follows(&self, block: u64) -> bool {
        let (before, now) = (self.places[block as usize - 1], self.places[block as usize]);
        before.0 == now.0 && before.1 + 1 == now.1
    }

    /// Mean commands for a read of `blocks` blocks at any block.
    fn commands(&self, blocks: u64) -> f64 {
        let reads = self.places.len() as u64 - blocks + 1;
        let cuts: u64 = (0..reads)
            .map(|first| {
                (first + 1..first + blocks).filter(|block| !self.follows(*block)).count() as u64
            })
            .sum();
        1.0 + cuts as f64 / reads as f64
    }

    fn score(&self) -> f64 {
        let pairs = self.places.len() as u64 - 1;
        (1..=pairs).filter(|block| self.follows(*block)).count() as f64 / pairs as f64
    }
}

const FILE: u64 = 16 * GIB;
const FILE_BLOCKS: u64 = FILE / (4 * KIB);

/// Half of the operations rewrite a random block, and half read 64 KiB somewhere.
fn aged() -> Vec<Segment> {
    let config = write_anywhere((Parity::RaidDp, 18), 1 << 20, blocks(FILE), FREE);
    let reads = Load { bytes: 64 * KIB, ..RANDOM_READS };
    let lines = vec![RANDOM_WRITES.line(50), reads.line(50)];
    run_lines(array_anywhere(config), lines, reads, FILE, &[60; 8])
}

/// Rewritten blocks that the array knows of so far, and in a segment, in blocks of data that its consistency points
/// wrote.
fn rewrites(segments: &[Segment]) -> u64 {
    segments.iter().map(|segment| segment.counters.consistency_point_data_blocks).sum()
}

#[test]
fn a_read_of_an_aged_file_takes_the_commands_of_blocks_dealt_at_random() {
    let segments = aged();
    let points: u64 = segments.iter().map(|segment| segment.counters.consistency_points).sum();
    let in_a_point = rewrites(&segments) / points;
    let mut model = Model::new(FILE_BLOCKS);
    let mut done = 0;
    let mut at_start = model.commands(16);
    for (number, segment) in segments.iter().enumerate() {
        let before = rewrites(&segments[..number]);
        let [middle, end] = [1, 2].map(|half| {
            while done < before + segment.counters.consistency_point_data_blocks * half / 2 {
                model.rewrite(in_a_point);
                done += in_a_point;
            }
            model.commands(16)
        });
        // Simpson's rule over the segment.
        let expected = (at_start + 4.0 * middle + end) / 6.0;
        at_start = end;
        // A read asks for 16 blocks.
        let reads = segment.counters.host_read_blocks as f64 / 16.0;
        let measured = segment.counters.data_reads as f64 / reads;
        assert_near("commands for a 64 KiB read", measured, expected, 0.02);
    }
    let layout = segments.last().unwrap().layout.of_all_luns();
    assert_near("layout score", layout.file.score, model.score(), 0.02);
}

/// Block k + 1 still follows block k if neither was rewritten, and no chunk ended between them; or if the last
/// rewriting of both was in one consistency point of n blocks, which laid them side by side. With x rewritings a block:
/// 63/64 (e^-2x + n / N (1 - e^-2x) / 2).
#[test]
fn the_layout_score_follows_from_the_share_of_blocks_rewritten() {
    let segments = aged();
    let points: u64 = segments.iter().map(|segment| segment.counters.consistency_points).sum();
    let in_a_point = rewrites(&segments) as f64 / points as f64;
    for number in 0..segments.len() {
        let rewritings = rewrites(&segments[..=number]) as f64 / FILE_BLOCKS as f64;
        let untouched = (-rewritings).exp();
        let side_by_side = in_a_point / FILE_BLOCKS as f64 / 2.0;
        let expected = 63.0 / 64.0 * (untouched.powi(2) + side_by_side * (1.0 - untouched.powi(2)));
        let layout = segments[number].layout.of_all_luns();
        assert_near("layout score", layout.file.score, expected, 0.02);
        let rewritten = layout.rewritten.unwrap();
        assert_near("rewritten", rewritten, 1.0 - untouched, 0.02);
    }
}

/// A small aggregate has been written round once when as many blocks have been written as were free: free blocks over
/// blocks written a second is how long that takes. Until then stripes are full; afterwards the emptiest area holds
/// blocks in use, free space is in pieces, and the layout still is what rewriting at random leaves.
#[test]
fn stripes_are_full_until_the_write_point_has_been_round() {
    let file = 2 * GIB;
    let file_blocks = u64::from(blocks(file));
    let config = WriteAnywhereConfig {
        // Consistency points are large beside what each leaves free of its last tetris.
        log: LogSize { half_bytes: 64 * MIB, record_header_bytes: 160 },
        cache_blocks: 200_000,
        protected_blocks: 100_000,
        dirty_limit_blocks: 60_000,
        ..write_anywhere((Parity::RaidDp, 6), 1 << 18, blocks(file), FREE)
    };
    let load = Load { outstanding: 64, ..RANDOM_WRITES };
    let segments = run(array_anywhere(config), load, file, &[1; 40]);
    let free = (6u64 << 18) - file_blocks;
    let full = |segment: &Segment| {
        segment.counters.full_stripes as f64 / segment.counters.stripes_written as f64
    };
    let mut written = 0;
    let mut fell_at = None;
    for (second, segment) in segments.iter().enumerate() {
        let before = written as f64 / free as f64;
        written += segment.counters.consistency_point_blocks;
        let now = written as f64 / free as f64;
        let space = segment.layout.free_space.as_ref().unwrap();
        println!("{now:.3} round: {:.3} full, free space {:.3}", full(segment), space.score);
        if now < 0.95 {
            assert!(full(segment) > 0.97, "stripes are full before the round's end");
        }
        if before > 1.05 {
            assert!(full(segment) < 0.75, "stripes are rarely full after the round's end");
            // No area is empty: nothing is left of the long runs of the beginning.
            assert!(space.score < 0.8 && space.largest_run_blocks < 1000, "{space:?}");
        }
        if full(segment) < 0.9 {
            fell_at.get_or_insert(second as f64);
        }
        // As in the test above, by the share of blocks that no consistency point has placed.
        let layout = segment.layout.of_all_luns();
        let untouched = (1.0 - layout.rewritten.unwrap()).powi(2);
        let in_a_point = (64 * MIB / (4096 + 160)) as f64 / file_blocks as f64;
        let expected = 63.0 / 64.0 * (untouched + in_a_point / 2.0 * (1.0 - untouched));
        let score = layout.file.score;
        assert!((score - expected).abs() < 0.01, "layout score {score}, expected {expected}");
    }
    let a_second: u64 =
        segments[1..9].iter().map(|one| one.counters.consistency_point_blocks).sum::<u64>() / 8;
    let round_s = free as f64 / a_second as f64;
    let fell_at = fell_at.unwrap();
    assert!((fell_at + 0.5 - round_s).abs() < 1.0, "after {fell_at} s, expected {round_s:.1}");
}
