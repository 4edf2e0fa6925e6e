//! Ages an aggregate and prints what becomes of a file and of free space, by how full it is.
//!
//! At each fill level one file is laid out, and then blocks of it are rewritten at random, 20,000 a consistency point,
//! until as many were rewritten as the file has.
//!
//! ```text
//! cargo run --release -p strewn-alloc --example age_an_aggregate [POLICY]
//! ```

use std::error::Error;

use strewn_alloc::{
    Aggregate, AggregateOptions, BlockMap, FileLayout, FreeSpace, FullStripes, PolicyName,
    RequestMix,
};
use strewn_raid::{Parity, ParityGroup};

const BLOCKS_PER_CP: u64 = 20_000;

fn main() -> Result<(), Box<dyn Error>> {
    let policy: PolicyName = match std::env::args().nth(1) {
        Some(name) => name.parse()?,
        None => PolicyName::default(),
    };
    // Two groups, 18 data spindles of 256 MiB each.
    let group = ParityGroup::new(Parity::RaidDp, 18, 65_536)?;
    // Requests of 4 KiB and of 64 KiB, half and half; no command is longer than 256 KiB.
    let mix = RequestMix::new([(1, 0.5), (16, 0.5)], 64)?;
    println!("policy: {policy}");
    println!(
        "{:>6} {:>9} {:>7} {:>12} {:>10} {:>11} {:>12} {:>13}",
        "full %",
        "rewritten",
        "layout",
        "extents/GiB",
        "commands",
        "free space",
        "longest run",
        "full stripes"
    );
    for percent in [5, 50, 75, 90, 95] {
        let options = AggregateOptions { policy, ..AggregateOptions::default() };
        let mut aggregate = Aggregate::new([group, group], options)?;
        let blocks = (aggregate.total_blocks() * percent / 100) as u32;
        let mut file = BlockMap::new(blocks.into(), aggregate.total_blocks())?;
        let mut random = Random(1);
        let whole: Vec<u32> = (0..blocks).collect();
        let mut full = FullStripes::default();
        for blocks in whole.chunks(BLOCKS_PER_CP as usize) {
            write(&mut aggregate, &mut file, blocks, &mut full)?;
        }
        let cps = u64::from(blocks).div_ceil(BLOCKS_PER_CP);
        for rewritten in 0..=cps {
            if rewritten == 0 || rewritten == cps / 4 || rewritten == cps {
                let layout = FileLayout::measure(&file, blocks, &aggregate);
                let free = FreeSpace::of(&aggregate);
                let commands = mix.commands_per_request(&file, blocks, &aggregate).unwrap_or(0.0);
                println!(
                    "{percent:>6} {:>7} % {:>7.3} {:>12.0} {commands:>10.2} {:>11.3} {:>12} {:>11.1} %",
                    rewritten * 100 / cps,
                    layout.score,
                    layout.extents_per_gib(options.block_size),
                    free.score,
                    free.largest_run_blocks,
                    full.share() * 100.0,
                );
                full = FullStripes::default();
            }
            // What is rewritten at once is written in file order, as a consistency point does.
            let mut dirty: Vec<u32> = (0..BLOCKS_PER_CP).map(|_| random.below(blocks)).collect();
            dirty.sort_unstable();
            dirty.dedup();
            write(&mut aggregate, &mut file, &dirty, &mut full)?;
        }
    }
    Ok(())
}

/// A consistency point that rewrites `blocks` of `file`.
fn write(
    aggregate: &mut Aggregate<u32>,
    file: &mut BlockMap,
    blocks: &[u32],
    full: &mut FullStripes,
) -> Result<(), Box<dyn Error>> {
    aggregate.begin(blocks.len() as u64)?;
    let mut freed = Vec::with_capacity(blocks.len());
    for &block in blocks {
        let before = block.checked_sub(1).and_then(|before| file.get(before));
        let vbn = aggregate.allocate_behind(block, before)?;
        freed.extend(file.replace(block, vbn));
    }
    aggregate.free_all_at_commit(&freed)?;
    aggregate.finish();
    while let Some(tetris) = aggregate.next_tetris() {
        full.add(&tetris);
    }
    aggregate.commit()?;
    Ok(())
}

/// Knuth's 64-bit linear congruential generator.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (((self.0 >> 32) * u64::from(bound)) >> 32) as u32
    }
}
