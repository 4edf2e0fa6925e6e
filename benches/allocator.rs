//! The allocator beside crates that a user might reach for instead, all with the same history: an aggregate of about
//! 2^28 blocks, a share of which is used by scattered blocks; consistency points that each take 20,000 blocks and give
//! back 20,000 chosen at random among those in use, so that the share stays. An iteration is 500 of them, 10 million
//! blocks, and always begins with the same map.
//!
//! What is timed is the same for all, in processor time of the one thread: blocks are taken, their numbers written to a
//! list; the blocks given back, which were drawn before, become free, after the last block was taken. None of the peers
//! knows spindles, stripes or areas. Ours also makes the plan of what to write, tetris by tetris, keeps every area's
//! score, and refuses to free what is not in use or freed already; of the peers only the bit sets do.
//!
//! With `STREWN_BY_TURNS=26` it runs ours and these bit sets by turns, on about 2^26 blocks, and nothing else.
//!
//! At the end the consistency points of ours are printed, the median and the worst of each share. The time of each is
//! the least of what it took in all iterations, since they repeat the same work: what is left out is what the machine
//! did besides.

use std::time::Duration;

use bitvec::order::Lsb0;
use bitvec::vec::BitVec;
use criterion::{BenchmarkId, Criterion, SamplingMode, Throughput};
use fixedbitset::FixedBitSet;
use offset_allocator::{Allocation, Allocator};
use roaring::RoaringBitmap;
use strewn_alloc::{Aggregate, AggregateOptions, GroupIndex, SavedScores};
use strewn_base::Rng;
use strewn_raid::{Parity, ParityGroup, Vbn};

const FILL_PERCENT: [u32; 4] = [5, 50, 90, 98];
const DATA_SPINDLES: u16 = 18;
/// 18 spindles of this many blocks are 2^28 less 1,024.
const STRIPES: u64 = 64 * 233_016;
const BLOCKS_PER_CP: usize = 20_000;
const CPS: usize = 500;
/// What a caller of ours hands over at once, so that lists on the way and complete tetrises stay in the nearest cache.
const PART: usize = 1_000;

/// An allocator of single blocks.
trait Peer {
    /// An allocator in which the set bits of `words` are in use.
    fn new(words: &[u64]) -> Self;

    /// The numbers of the blocks in use.
    fn in_use(&self, words: &[u64]) -> Vec<u32> {
        positions(words)
    }

    /// Takes [`BLOCKS_PER_CP`] blocks and tells their numbers, then frees `freed`.
    fn consistency_point(&mut self, freed: &[u32], taken: &mut Vec<u32>);
}

/// The numbers of the bits that are set.
fn positions(words: &[u64]) -> Vec<u32> {
    let bits = |(index, word): (usize, &u64)| {
        strewn_alloc::bits(*word).map(move |bit| index as u32 * 64 + bit)
    };
    words.iter().enumerate().flat_map(bits).collect()
}

struct Strewn {
    aggregate: Aggregate<u32>,
    contents: Vec<u32>,
    vbns: Vec<Vbn>,
}

impl Peer for Strewn {
    fn new(words: &[u64]) -> Self {
        let options = AggregateOptions::default();
        let group = group(words);
        let area_stripes = options.shape.area_stripes;
        let scores = SavedScores::counted(0, area_stripes, [(group, words)]);
        let aggregate = expected(Aggregate::mount([(group, words.to_vec())], options, 0, scores));
        Self { aggregate, contents: (0..BLOCKS_PER_CP as u32).collect(), vbns: Vec::new() }
    }

    fn in_use(&self, words: &[u64]) -> Vec<u32> {
        let (spindles, stripes) = (u32::from(DATA_SPINDLES), group(words).stripes() as u32);
        let vbn = |position: u32| {
            let (word, bit) = (position / 64, position % 64);
            word % spindles * stripes + word / spindles * 64 + bit
        };
        positions(words).into_iter().map(vbn).collect()
    }

    fn consistency_point(&mut self, freed: &[u32], taken: &mut Vec<u32>) {
        let Self { aggregate, contents, vbns } = self;
        let write = |aggregate: &mut Aggregate<u32>| {
            while let Some(tetris) = aggregate.next_tetris() {
                std::hint::black_box(tetris.contents.len());
            }
        };
        expected(aggregate.begin(BLOCKS_PER_CP as u64));
        for part in contents.chunks(PART) {
            expected(aggregate.allocate_all(part, |_, vbn| taken.push(vbn.0 as u32)));
            write(aggregate);
        }
        for part in freed.chunks(PART) {
            vbns.clear();
            vbns.extend(part.iter().map(|vbn| Vbn(u64::from(*vbn))));
            expected(aggregate.free_all_at_commit(vbns));
        }
        aggregate.finish();
        write(aggregate);
        expected(aggregate.commit());
    }
}

fn group(words: &[u64]) -> ParityGroup {
    let stripes = words.len() as u64 / u64::from(DATA_SPINDLES) * 64;
    expected(ParityGroup::new(Parity::RaidDp, DATA_SPINDLES, stripes))
}

/// A set bit is a block in use. Finding free ones is a next-fit search over the set's words, the fastest it offers
/// (`zeroes` begins at the first bit each time); all that are found up to the last are marked as one range.
struct FixedBitSetPeer {
    used: FixedBitSet,
    next: usize,
}

impl FixedBitSetPeer {
    fn new(words: &[u64]) -> Self {
        let bits = words.len() * 64;
        let used =
            FixedBitSet::with_capacity_and_blocks(bits, words.iter().map(|word| *word as usize));
        Self { used, next: 0 }
    }

    fn take(&mut self, taken: &mut Vec<u32>) {
        let bits = self.used.len();
        while taken.len() < BLOCKS_PER_CP {
            let first = self.next;
            let mut word = first / 64;
            let mut free = !self.used.as_slice()[word] & (usize::MAX << (first % 64));
            loop {
                while free != 0 && taken.len() < BLOCKS_PER_CP {
                    taken.push(word as u32 * 64 + free.trailing_zeros());
                    free &= free - 1;
                }
                word += 1;
                if taken.len() == BLOCKS_PER_CP || word == bits / 64 {
                    break;
                }
                free = !self.used.as_slice()[word];
            }
            self.next = match taken.last() {
                Some(last) if taken.len() == BLOCKS_PER_CP => *last as usize + 1,
                _ => bits,
            };
            self.used.insert_range(first..self.next);
            self.next %= bits;
        }
    }
}

/// What keeps the promises of ours: blocks are freed at the end of the consistency point, and none is freed twice. A
/// set bit is a block in use; the numbers of freed blocks are kept in a list until the end, and a second set refuses
/// what is in the list already.
struct TwoBitSetsPeer {
    blocks: FixedBitSetPeer,
    pending: FixedBitSet,
    freed: Vec<u32>,
}

impl Peer for TwoBitSetsPeer {
    fn new(words: &[u64]) -> Self {
        let pending = FixedBitSet::with_capacity(words.len() * 64);
        Self { blocks: FixedBitSetPeer::new(words), pending, freed: Vec::new() }
    }

    fn consistency_point(&mut self, freed: &[u32], taken: &mut Vec<u32>) {
        self.blocks.take(taken);
        for &block in freed {
            let used = self.blocks.used.contains(block as usize);
            assert!(used && !self.pending.put(block as usize), "block {block} is not in use");
            self.freed.push(block);
        }
        for block in self.freed.drain(..) {
            self.blocks.used.remove(block as usize);
            self.pending.remove(block as usize);
        }
    }
}

/// The same with the list alone: a second free is noticed only at the end, when the block is free already.
struct DeferredListPeer {
    blocks: FixedBitSetPeer,
    freed: Vec<u32>,
}

impl Peer for DeferredListPeer {
    fn new(words: &[u64]) -> Self {
        Self { blocks: FixedBitSetPeer::new(words), freed: Vec::new() }
    }

    fn consistency_point(&mut self, freed: &[u32], taken: &mut Vec<u32>) {
        self.blocks.take(taken);
        for &block in freed {
            assert!(self.blocks.used.contains(block as usize), "block {block} is not in use");
            self.freed.push(block);
        }
        for block in self.freed.drain(..) {
            assert!(self.blocks.used.contains(block as usize), "block {block} was freed twice");
            self.blocks.used.remove(block as usize);
        }
    }
}

/// A set bit is a block in use. The zeros of the slice behind where the last search ended, marked as one range.
struct BitVecPeer {
    used: BitVec<u64, Lsb0>,
    next: usize,
}

impl Peer for BitVecPeer {
    fn new(words: &[u64]) -> Self {
        Self { used: BitVec::from_slice(words), next: 0 }
    }

    fn consistency_point(&mut self, freed: &[u32], taken: &mut Vec<u32>) {
        while taken.len() < BLOCKS_PER_CP {
            let rest = &self.used[self.next..];
            let missing = BLOCKS_PER_CP - taken.len();
            taken.extend(rest.iter_zeros().take(missing).map(|block| (self.next + block) as u32));
            let end = match taken.last() {
                Some(last) if taken.len() == BLOCKS_PER_CP => *last as usize + 1,
                _ => self.used.len(),
            };
            self.used[self.next..end].fill(true);
            self.next = end % self.used.len();
        }
        for &block in freed {
            self.used.set(block as usize, false);
        }
    }
}

/// The set of free blocks: those behind where the last search ended, removed as one range. Freed ones are
/// sorted and joined as a second set, which is as fast as to put them in one by one, or faster.
struct RoaringPeer {
    free: RoaringBitmap,
    next: u32,
}

impl Peer for RoaringPeer {
    fn new(words: &[u64]) -> Self {
        let bytes: Vec<u8> = words.iter().flat_map(|word| (!word).to_le_bytes()).collect();
        Self { free: RoaringBitmap::from_lsb0_bytes(0, &bytes), next: 0 }
    }

    fn consistency_point(&mut self, freed: &[u32], taken: &mut Vec<u32>) {
        taken.resize(BLOCKS_PER_CP, 0);
        let mut found = 0;
        while found < BLOCKS_PER_CP {
            let blocks = self.free.range(self.next..).next_many(&mut taken[found..]);
            let last = blocks.last().copied();
            found += blocks.len();
            let first = self.next;
            self.next = match last {
                Some(last) if found == BLOCKS_PER_CP => last + 1,
                _ => 0,
            };
            if let Some(last) = last {
                self.free.remove_range(first..=last);
            }
        }
        let mut freed = freed.to_vec();
        freed.sort_unstable();
        self.free |= expected(RoaringBitmap::from_sorted_iter(freed));
    }
}

/// Allocations of one block each, since each is freed alone.
struct OffsetAllocatorPeer {
    allocator: Allocator,
    /// By the number of their block: what to free it by.
    allocations: Vec<Option<Allocation>>,
}

impl Peer for OffsetAllocatorPeer {
    fn new(words: &[u64]) -> Self {
        let blocks = words.len() as u32 * 64;
        let mut allocator = Allocator::with_max_allocs(blocks, blocks + 2);
        let mut allocations = vec![None; blocks as usize];
        for _ in 0..blocks {
            let allocation: Allocation = expected(allocator.allocate(1).ok_or("no room"));
            allocations[allocation.offset as usize] = Some(allocation);
        }
        for (block, allocation) in allocations.iter_mut().enumerate() {
            if words[block / 64] >> (block % 64) & 1 == 0
                && let Some(allocation) = allocation.take()
            {
                allocator.free(allocation);
            }
        }
        Self { allocator, allocations }
    }

    fn consistency_point(&mut self, freed: &[u32], taken: &mut Vec<u32>) {
        for _ in 0..BLOCKS_PER_CP {
            let allocation = expected(self.allocator.allocate(1).ok_or("no room"));
            self.allocations[allocation.offset as usize] = Some(allocation);
            taken.push(allocation.offset);
        }
        for &block in freed {
            if let Some(allocation) = self.allocations[block as usize].take() {
                self.allocator.free(allocation);
            }
        }
    }
}

/// A history that is played one consistency point at a time, so that several can take turns.
struct History<P> {
    peer: P,
    in_use: Vec<u32>,
    rng: Rng,
    chosen: Vec<usize>,
    freed: Vec<u32>,
    taken: Vec<u32>,
}

impl<P: Peer> History<P> {
    fn new(words: &[u64]) -> Self {
        let peer = P::new(words);
        let in_use = peer.in_use(words);
        let taken = Vec::with_capacity(BLOCKS_PER_CP);
        Self { peer, in_use, rng: Rng::new(1), chosen: Vec::new(), freed: Vec::new(), taken }
    }

    /// What the next consistency point takes.
    fn consistency_point(&mut self) -> Duration {
        let Self { peer, in_use, rng, chosen, freed, taken } = self;
        chosen.clear();
        freed.clear();
        while freed.len() < BLOCKS_PER_CP {
            let index = rng.below(in_use.len() as u64) as usize;
            // Drawn already: draw again.
            if in_use[index] != u32::MAX {
                chosen.push(index);
                freed.push(std::mem::replace(&mut in_use[index], u32::MAX));
            }
        }
        taken.clear();
        let start = processor_time();
        peer.consistency_point(freed, taken);
        let took = processor_time() - start;
        assert_eq!(taken.len(), BLOCKS_PER_CP);
        for (index, block) in chosen.iter().zip(taken) {
            in_use[*index] = *block;
        }
        took
    }
}

/// Plays the whole history; `timed` is told what each consistency point took.
fn history<P: Peer>(words: &[u64], mut timed: impl FnMut(usize, Duration)) {
    let mut history = History::<P>::new(words);
    (0..CPS).for_each(|cp| timed(cp, history.consistency_point()));
}

/// Ours and the bit sets that keep some or all of its promises, by turns within one process, one consistency point
/// each: what disturbs one disturbs all. Prints the median of each, and how many times as fast ours is.
fn by_turns(blocks: u64) {
    const ROUNDS: usize = 600;
    println!("by turns, {blocks} blocks, microseconds of a consistency point of {BLOCKS_PER_CP}:");
    let rows = (blocks / 64 / u64::from(DATA_SPINDLES)) as usize;
    for percent in FILL_PERCENT {
        let words = scattered(percent, rows * usize::from(DATA_SPINDLES));
        let mut ours = History::<Strewn>::new(&words);
        let mut two_sets = History::<TwoBitSetsPeer>::new(&words);
        let mut list = History::<DeferredListPeer>::new(&words);
        let mut times = [const { Vec::new() }; 3];
        for round in 0..ROUNDS {
            for turn in 0..3 {
                let which = (round + turn) % 3;
                times[which].push(match which {
                    0 => ours.consistency_point(),
                    1 => two_sets.consistency_point(),
                    _ => list.consistency_point(),
                });
            }
        }
        let [ours, two_sets, list] = times.map(|mut times| {
            times.sort();
            times[ROUNDS / 2].as_secs_f64() * 1e6
        });
        println!(
            "{percent:>3} % full: strewn {ours:.0}, two bit sets {two_sets:.0} ({:.2}), \
            bit set and list {list:.0} ({:.2})",
            two_sets / ours,
            list / ours
        );
    }
}

/// Processor time of this thread.
fn processor_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Words of which `percent` of the bits are set, each by chance.
fn scattered(percent: u32, words: usize) -> Vec<u64> {
    let group = group(&vec![0; words]);
    let mut aggregate: Aggregate<()> =
        expected(Aggregate::new([group], AggregateOptions::default()));
    expected(aggregate.set_aside_at_random(f64::from(percent) / 100.0, 1, 1));
    aggregate.free_map(GroupIndex(0)).words().to_vec()
}

fn expected<T, E: std::fmt::Display>(result: Result<T, E>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}

fn compare<P: Peer>(
    criterion: &mut Criterion,
    name: &str,
    words: &[u64],
    percent: u32,
) -> Vec<Duration> {
    let mut least = vec![Duration::MAX; CPS];
    let mut group = criterion.benchmark_group("allocator");
    group.throughput(Throughput::Elements((CPS * BLOCKS_PER_CP) as u64));
    // One history a sample.
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    group.warm_up_time(Duration::from_millis(1)).measurement_time(Duration::from_millis(1));
    group.bench_function(BenchmarkId::new(name, percent), |bencher| {
        bencher.iter_custom(|histories| {
            let mut total = Duration::ZERO;
            for _ in 0..histories {
                history::<P>(words, |cp, took| {
                    total += took;
                    least[cp] = least[cp].min(took);
                });
            }
            total
        });
    });
    group.finish();
    least
}

fn main() {
    // `STREWN_BY_TURNS=26`: only the comparison by turns, of about 2^26 blocks.
    if let Some(bits) = std::env::var("STREWN_BY_TURNS").ok().and_then(|bits| bits.parse().ok()) {
        return by_turns(1 << u32::min(bits, 31));
    }
    let mut criterion = Criterion::default().configure_from_args();
    let mut points = Vec::new();
    for percent in FILL_PERCENT {
        let words = scattered(percent, (STRIPES / 64) as usize * usize::from(DATA_SPINDLES));
        let ours = compare::<Strewn>(&mut criterion, "strewn", &words, percent);
        compare::<TwoBitSetsPeer>(&mut criterion, "two-bit-sets", &words, percent);
        compare::<DeferredListPeer>(&mut criterion, "bit-set-and-list", &words, percent);
        compare::<BitVecPeer>(&mut criterion, "bitvec", &words, percent);
        compare::<RoaringPeer>(&mut criterion, "roaring", &words, percent);
        // It needs 40 bytes a block: a sixteenth of the blocks, which is in its favour.
        let words = scattered(percent, (STRIPES / 64 / 16) as usize * usize::from(DATA_SPINDLES));
        compare::<OffsetAllocatorPeer>(&mut criterion, "offset-allocator", &words, percent);
        points.push((percent, ours));
    }
    println!("consistency points of ours, microseconds:");
    for (percent, mut times) in points {
        times.sort();
        if let (Some(worst), median) = (times.last(), times[CPS / 2])
            && *worst < Duration::MAX
        {
            let [median, worst] = [median, *worst].map(|time| time.as_secs_f64() * 1e6);
            println!(
                "{percent:>3} % full: median {median:.0}, worst {worst:.0}, {:.2} times",
                worst / median
            );
        }
    }
    criterion.final_summary();
}
