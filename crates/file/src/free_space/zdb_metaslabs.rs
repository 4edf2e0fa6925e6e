//! The free space of a ZFS pool, as `zdb -mm` and `zdb -MMM` list it: histograms of free segments by the binary
//! logarithm of their bytes, of each metaslab, each vdev and the pool (`dump_metaslab` and `dump_metaslab_groups` of
//! `zdb.c`).

use strewn_zfs::{Histogram, Version};

use super::pool::{PoolFreeSpace, REMEDY};
use crate::error::FileError;

/// The smallest segment is of a sector of 512 bytes.
const FIRST_LOG: usize = 9;
/// Bytes of a block of the score. Chosen: the sectors of most pools; zdb does not list them here.
const UNIT_BYTES: u64 = 4096;

/// A histogram that zdb printed, and the figure beside it.
#[derive(Default, Clone)]
struct Printed {
    runs: Vec<(u32, u64)>,
    frag_percent: Option<u64>,
}

struct Metaslab {
    vdev: u64,
    offset: u64,
    /// Free bytes, as precise as zdb has printed them.
    free_bytes: u64,
    /// Whether it was never written: it is free and has no histogram.
    is_untouched: bool,
    printed: Printed,
}

/// What a row of a histogram belongs to.
enum Section {
    Other,
    Metaslab,
    Vdev,
    Pool,
}

/// Returns whether a text looks like the output of `zdb -m`.
pub(super) fn is_metaslab_list(text: &str) -> bool {
    text.lines().map(str::trim_start).any(|line| {
        line.starts_with("metaslab ") && line.contains("spacemap")
            || (line.starts_with("pool ") || line.starts_with("vdev "))
                && line.contains("fragmentation")
    })
}

/// Parses such an output. Lines that are of neither metaslabs nor histograms are left out.
pub(super) fn parse_metaslab_list(name: &str, text: &str) -> Result<PoolFreeSpace, FileError> {
    let mut metaslabs: Vec<Metaslab> = Vec::new();
    let (mut vdevs, mut pool): (Vec<Printed>, Option<Printed>) = (Vec::new(), None);
    let (mut vdev, mut pool_name, mut announced) = (0, None, 0);
    let mut section = Section::Other;
    for (number, line) in (1..).zip(text.lines()) {
        let wrong = |what: &str| {
            FileError::input(
                format!("{name}, line {number}: {what}"),
                "save the list again, whole, as zdb prints it",
            )
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        let after = |key: &str| words.iter().skip_while(|word| **word != key).nth(1).copied();
        let frag = || after("fragmentation").and_then(percent);
        match words.first().copied() {
            Some("vdev") => {
                let figure = after("vdev").and_then(|word| word.parse().ok());
                vdev = figure.ok_or_else(|| wrong("a vdev without a number"))?;
                section = Section::Other;
                if words.contains(&"fragmentation") {
                    vdevs.push(Printed { frag_percent: frag(), ..Printed::default() });
                    section = Section::Vdev;
                }
            }
            Some("pool") if words.contains(&"fragmentation") => {
                pool_name = words.get(1).map(|word| (*word).to_owned());
                pool = Some(Printed { frag_percent: frag(), ..Printed::default() });
                section = Section::Pool;
            }
            Some("metaslabs") => {
                let count: u64 = after("metaslabs").and_then(|word| word.parse().ok()).unwrap_or(0);
                announced += count;
                section = Section::Other;
            }
            Some("metaslab") if words.contains(&"spacemap") => {
                let offset = after("offset").and_then(|word| u64::from_str_radix(word, 16).ok());
                let offset =
                    offset.ok_or_else(|| wrong("a metaslab without a hexadecimal offset"))?;
                let free = after("free")
                    .and_then(size)
                    .ok_or_else(|| wrong("a metaslab without free bytes"))?;
                let is_untouched = after("spacemap") == Some("0");
                let printed = Printed::default();
                metaslabs.push(Metaslab { vdev, offset, free_bytes: free, is_untouched, printed });
                section = Section::Other;
            }
            Some("On-disk") => {
                if let Some(metaslab) = metaslabs.last_mut() {
                    metaslab.printed.frag_percent = frag();
                    section = Section::Metaslab;
                }
            }
            Some(first) => {
                let Some(log) = first.strip_suffix(':').and_then(|word| word.parse::<u32>().ok())
                else {
                    section = Section::Other;
                    continue;
                };
                let printed = match section {
                    Section::Other => continue,
                    Section::Metaslab => metaslabs.last_mut().map(|metaslab| &mut metaslab.printed),
                    Section::Vdev => vdevs.last_mut(),
                    Section::Pool => pool.as_mut(),
                };
                let count = words.get(1).and_then(|word| word.parse::<u64>().ok());
                let count = count
                    .ok_or_else(|| wrong(&format!("no number of segments of 2^{log} bytes")))?;
                if !(FIRST_LOG as u32..FIRST_LOG as u32 + 32).contains(&log) {
                    return Err(wrong(&format!("segments of 2^{log} bytes, which no pool has")));
                }
                if let Some(printed) = printed {
                    printed.runs.push((log, count));
                }
            }
            None => {}
        }
    }
    if (metaslabs.len() as u64) < announced {
        return Err(FileError::input(
            format!(
                "{name}: {announced} metaslabs are announced, and {} are listed: the list breaks off",
                metaslabs.len()
            ),
            "save it again, whole",
        ));
    }
    build(name, &metaslabs, &vdevs, pool.as_ref(), pool_name)
}

fn build(
    name: &str,
    metaslabs: &[Metaslab],
    vdevs: &[Printed],
    pool: Option<&Printed>,
    pool_name: Option<String>,
) -> Result<PoolFreeSpace, FileError> {
    let mut caveats = vec![
        "segments are told by powers of two, and counted as of the shortest length of their class"
            .to_owned(),
    ];
    let mut runs: Vec<(u64, u64)> = Vec::new();
    let add = |runs: &mut Vec<(u64, u64)>, printed: &Printed| {
        runs.extend(
            printed
                .runs
                .iter()
                .filter(|(_, count)| *count > 0)
                .map(|(log, count)| (1u64 << log, *count)),
        );
    };
    let source = if metaslabs.is_empty() { "zdb -MMM" } else { "zdb -mm" };
    if metaslabs.is_empty() {
        match pool {
            Some(pool) if !pool.runs.is_empty() => add(&mut runs, pool),
            _ => vdevs.iter().for_each(|vdev| add(&mut runs, vdev)),
        }
        caveats.push(
            "metaslabs that were never written are in no histogram: there is more free space"
                .to_owned(),
        );
    }
    for metaslab in metaslabs {
        add(&mut runs, &metaslab.printed);
        if metaslab.is_untouched
            && let Some(bytes) = metaslab_bytes(metaslabs, metaslab.vdev)
        {
            runs.push((bytes, 1));
        }
    }
    if runs.is_empty() {
        return Err(FileError::input(
            format!("{name}: no histogram of free segments in it"),
            REMEDY,
        ));
    }
    let frag_percent = pool.and_then(|pool| pool.frag_percent);
    Ok(PoolFreeSpace {
        name: pool_name,
        caveats,
        frag_percent,
        frag_percent_by_table: frag_by_table(metaslabs),
        ..PoolFreeSpace::of_runs(source, UNIT_BYTES, &runs)
    })
}

/// Returns the bytes of a vdev's metaslabs, if it has two.
fn metaslab_bytes(metaslabs: &[Metaslab], vdev: u64) -> Option<u64> {
    let mut offsets =
        metaslabs.iter().filter(|metaslab| metaslab.vdev == vdev).map(|one| one.offset);
    let (first, second) = (offsets.next()?, offsets.next()?);
    second.checked_sub(first).filter(|bytes| *bytes > 0)
}

/// Returns FRAG by the table: of a vdev the mean of its metaslabs by free bytes, of the pool that of vdevs by space
/// (`metaslab_group_fragmentation`, `metaslab_class_fragmentation` of `metaslab.c`). Those of the log class count too
/// here, since zdb does not say which they are.
fn frag_by_table(metaslabs: &[Metaslab]) -> Option<u64> {
    let mut vdevs: Vec<u64> = metaslabs.iter().map(|metaslab| metaslab.vdev).collect();
    vdevs.dedup();
    let (mut sum, mut space) = (0u128, 0u128);
    for vdev in vdevs {
        let of_vdev = || metaslabs.iter().filter(move |metaslab| metaslab.vdev == vdev);
        let count = of_vdev().count() as u64;
        let free_bytes: u128 = of_vdev().map(|metaslab| u128::from(metaslab.free_bytes)).sum();
        let frags = of_vdev().map(|metaslab| {
            let mut free: Histogram = [0; 32];
            for (log, count) in &metaslab.printed.runs {
                free[*log as usize - FIRST_LOG] = u32::try_from(*count).unwrap_or(u32::MAX);
            }
            let frag = Version::V2_3.fragmentation(&free, FIRST_LOG as u8);
            u128::from(frag) * u128::from(metaslab.free_bytes)
        });
        let frag = frags.sum::<u128>() / free_bytes.max(1);
        let bytes = u128::from(count) * u128::from(metaslab_bytes(metaslabs, vdev).unwrap_or(1));
        sum += frag * bytes;
        space += bytes;
    }
    (space > 0).then(|| (sum / space) as u64)
}

/// Reads a size as zdb prints it: 158M, 1.25G, or bytes with `-P`.
fn size(word: &str) -> Option<u64> {
    let number = word.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit: u64 = match &word[number.len()..] {
        "" | "B" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        "T" => 1 << 40,
        "P" => 1 << 50,
        _ => return None,
    };
    // A comma is the point of some locales.
    let number: f64 = number.replace(',', ".").parse().ok()?;
    (number >= 0.0).then_some((number * unit as f64) as u64)
}

/// Reads a percentage. A pool without the feature spacemap_histogram has none: a dash, or the largest number.
fn percent(word: &str) -> Option<u64> {
    word.trim_end_matches('%').parse().ok().filter(|percent| *percent <= 100)
}
