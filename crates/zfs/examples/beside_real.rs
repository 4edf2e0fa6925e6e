//! The model beside a pool of real OpenZFS that `reference/compare` has made: how its volume lies after each pass.
//!
//! The arguments are those of `real_pool`; its report is standard input, its block lists are found by `-B`.

// The tests use more of it, and they unwrap.
#[allow(dead_code, clippy::unwrap_used)]
#[path = "../tests/zfs/volumes.rs"]
mod volumes;

use std::collections::HashMap;
use std::error::Error;
use std::io::Read;

use strewn_zfs::Redundancy;
use volumes::{Ageing, Layout, age};

/// The writes that the throttle lets be under way.
const SLOTS: u32 = 32;

fn main() -> Result<(), Box<dyn Error>> {
    let mut options: HashMap<String, String> = HashMap::new();
    let mut words = std::env::args().skip(1).peekable();
    while let Some(word) = words.next() {
        let value = words.next_if(|value| !value.starts_with('-')).unwrap_or_default();
        // Of what may be given several times, all.
        options.entry(word).and_modify(|values| *values += &format!(" {value}")).or_insert(value);
    }
    let text = |name: &str, default: &str| {
        options.get(name).cloned().unwrap_or_else(|| default.to_owned())
    };
    let number = |name: &str, default: &str| -> Result<u64, String> {
        let value = text(name, default);
        value.parse().map_err(|_| format!("{name} {value}: give a number"))
    };
    let (drives, parity) = (number("-d", "6")? as u8, number("-p", "2")? as u8);
    let redundancy = match text("-t", "raidz").as_str() {
        "raidz" => Redundancy::RaidZ { drives, parity },
        "mirror" => Redundancy::Mirror { drives },
        "single" => Redundancy::Mirror { drives: 1 },
        other => return Err(format!("-t {other}: give raidz, mirror or single").into()),
    };
    let has_throttle = !text("-T", "").contains("zio_dva_throttle_enabled=0");
    let ageing = Ageing {
        redundancy,
        vdevs: number("-n", "1")? as usize,
        ashift: number("-a", "12")? as u8,
        drive_mib: number("-v", "512")?,
        volume_mib: number("-o", "256")?,
        block_bytes: number("-b", "8192")? as u32,
        writes_a_txg: number("-x", "2048")? as usize,
        slots: has_throttle.then_some(SLOTS),
        empty_groups: if options.contains_key("-e") { 2 } else { 0 },
    };
    let passes = number("-P", "1")? as usize;
    let modelled = age(ageing, passes, number("-s", "0")?);

    let mut report = String::new();
    std::io::stdin().read_to_string(&mut report)?;
    let frag: Vec<u64> = report.lines().filter_map(frag_of).collect();
    println!(
        "| pass | extents a MiB, real | model | off, % | neighbours, real | model | FRAG, real | model |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (pass, model) in modelled.iter().enumerate() {
        let list = std::fs::read_to_string(format!("{}.{pass}.csv", text("-B", "blocks")))?;
        let blocks: Option<Vec<[u64; 3]>> = list.lines().skip(1).map(place_of).collect();
        let blocks = blocks.ok_or("a line of a block list is not BLOCK,VDEV,OFFSET,ASIZE,BIRTH")?;
        let places: Vec<(u16, u64)> =
            blocks.iter().map(|[vdev, offset, _]| (*vdev as u16, *offset)).collect();
        let allocated = blocks.first().map_or(0, |[_, _, allocated]| *allocated);
        let real = Layout::of(&places, allocated, ageing.block_bytes);
        let off = 100.0 * (model.layout.extents_a_mib / real.extents_a_mib - 1.0);
        let real_frag = frag.get(pass).map_or("?".to_owned(), u64::to_string);
        println!(
            "| {pass} | {:.2} | {:.2} | {off:+.1} | {} | {} | {real_frag} | {} |",
            real.extents_a_mib,
            model.layout.extents_a_mib,
            real.neighbours,
            model.layout.neighbours,
            model.frag
        );
    }
    Ok(())
}

/// Of `pass 0 last_txg 40 frag 7 allocated 811212800`.
fn frag_of(line: &str) -> Option<u64> {
    let words: Vec<&str> = line.split(' ').collect();
    let at = words.iter().position(|word| *word == "frag").filter(|_| words[0] == "pass")?;
    words.get(at + 1)?.parse().ok()
}

fn place_of(line: &str) -> Option<[u64; 3]> {
    let mut fields = line.split(',').skip(1).map(str::parse);
    let mut next = || fields.next()?.ok();
    Some([next()?, next()?, next()?])
}
