//! Draws where an aggregate's free space is: a column for each spindle, its outer edge at the top.
//!
//! Three quarters of a group are filled, half of that by single blocks scattered at random and the rest by one file; a
//! tenth of the file is rewritten.
//!
//! ```text
//! cargo run --release -p strewn-alloc --example free_space_map [FILE.pgm]
//! ```
//!
//! With a file name, it writes a picture there too, a pixel for 64 blocks of a spindle: white is free.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};

use strewn_alloc::{Aggregate, AggregateOptions, FreeMap, FreeSpace, GroupIndex};
use strewn_raid::{Parity, ParityGroup, SpindleIndex, Vbn};

const STRIPES: u64 = 131_072;
/// Lines of text.
const LINES: u64 = 32;
/// From full to free.
const SHADES: [char; 5] = ['█', '▓', '▒', '░', '·'];

fn main() -> Result<(), Box<dyn Error>> {
    let group = ParityGroup::new(Parity::RaidDp, 14, STRIPES)?;
    let mut aggregate = Aggregate::new([group], AggregateOptions::default())?;
    aggregate.set_aside_at_random(0.375, 1, 1)?;

    let blocks = (group.total_blocks() * 3 / 8) as u32;
    let mut file: Vec<Vbn> = Vec::new();
    aggregate.begin(blocks.into())?;
    let contents: Vec<u32> = (0..blocks).collect();
    aggregate.allocate_all(&contents, |_, vbn| file.push(vbn))?;
    aggregate.discard_plan();
    aggregate.commit()?;

    // Every tenth block is rewritten: it moves.
    let rewritten: Vec<u32> = (0..blocks).step_by(10).collect();
    let old: Vec<Vbn> = rewritten.iter().map(|block| file[*block as usize]).collect();
    aggregate.begin(rewritten.len() as u64)?;
    aggregate.allocate_all(&rewritten, |block, vbn| file[block as usize] = vbn)?;
    aggregate.free_all_at_commit(&old)?;
    aggregate.discard_plan();
    aggregate.commit()?;

    let map = aggregate.free_map(GroupIndex(0));
    draw(map);
    let free = FreeSpace::measure(map);
    println!(
        "\n{} of {} blocks are free; free-space score {:.3}; runs of free blocks by length:",
        free.free_blocks,
        group.total_blocks(),
        free.score
    );
    for (shortest, runs) in free.runs.classes() {
        println!("{:>9} to {:<9} {runs:>8}", shortest, shortest * 2 - 1);
    }
    if let Some(path) = std::env::args().nth(1) {
        picture(map, &path)?;
    }
    Ok(())
}

fn draw(map: &FreeMap) {
    let spindles = map.group().data_spindles();
    let rows = map.group().stripes() / 64 / LINES;
    println!(
        "{:>16}   one column a spindle; {} used … {} free",
        "stripes from", SHADES[0], SHADES[4]
    );
    for line in 0..LINES {
        print!("{:>16}   ", line * rows * 64);
        for spindle in (0..spindles).map(SpindleIndex) {
            let words = (line * rows..(line + 1) * rows).map(|row| map.free_word(spindle, row));
            let free: u64 = words.map(|word| u64::from(word.count_ones())).sum();
            let shade = (free * (SHADES.len() as u64 - 1) + rows * 32) / (rows * 64);
            print!("{0}{0}{0} ", SHADES[shade as usize]);
        }
        println!();
    }
}

/// A portable graymap: spindles side by side, each 16 pixels wide so that it can be seen.
fn picture(map: &FreeMap, path: &str) -> std::io::Result<()> {
    let (spindles, rows) = (map.group().data_spindles(), map.group().stripes() / 64);
    let mut out = BufWriter::new(File::create(path)?);
    writeln!(out, "P5 {} {rows} 64", u64::from(spindles) * 16)?;
    for row in 0..rows {
        for spindle in (0..spindles).map(SpindleIndex) {
            out.write_all(&[map.free_word(spindle, row).count_ones() as u8; 16])?;
        }
    }
    out.flush()
}
