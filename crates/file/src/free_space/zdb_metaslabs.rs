//! The free space of a ZFS pool, as `zdb -mm` and `zdb -MMM` list it: histograms of free segments by the binary
//! logarithm of their bytes, of each metaslab, each vdev and the pool (`dump_metaslab` and `dump_metaslab_groups` of
//! `zdb.c`).

use strewn_zfs::{Histogram, Version};

use super::pool::{PoolFreeSpace, REMEDY, VdevFreeSpace, score};
use crate::error::FileError;

/// The smallest segment is of a sector of 512 bytes.
const FIRST_LOG: usize = 9;
/// Classes of vdevs that are not for data (`print_vdev_metaslab_header`).
const CLASSES: [&str; 3] = ["log", "special", "dedup"];
/// Bytes of a block of the score. Chosen: the sectors of most pools; zdb does not list them here.
const UNIT_BYTES: u64 = 4096;

/// A histogram that zdb printed, and the figure beside it.
#[derive(Default, Clone)]
struct Printed {
    runs: Vec<(u32, u64)>,
    frag_percent: Option<u64>,
}

/// A vdev as it is printed.
struct Vdev {
    number: u64,
    /// `log`, `special` or `dedup`.
    class: Option<String>,
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
    let (mut groups, mut pool): (Vec<(u64, Printed)>, Option<Printed>) = (Vec::new(), None);
    let mut vdevs: Vec<Vdev> = Vec::new();
    let (mut vdev, mut pool_name, mut announced) = (0, None, 0u64);
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
                    groups.push((vdev, Printed { frag_percent: frag(), ..Printed::default() }));
                    section = Section::Vdev;
                } else if vdevs.iter().all(|known| known.number != vdev) {
                    let class = words.get(2).filter(|word| CLASSES.contains(word));
                    let class = class.map(|word| (*word).to_owned());
                    vdevs.push(Vdev { number: vdev, class });
                }
            }
            Some("pool") if words.contains(&"fragmentation") => {
                pool_name = words.get(1).map(|word| (*word).to_owned());
                pool = Some(Printed { frag_percent: frag(), ..Printed::default() });
                section = Section::Pool;
            }
            Some("metaslabs") => {
                let count: u64 = after("metaslabs").and_then(|word| word.parse().ok()).unwrap_or(0);
                announced = announced.saturating_add(count);
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
                    Section::Vdev => groups.last_mut().map(|(_, printed)| printed),
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
    build(name, &metaslabs, &vdevs, (&groups, pool.as_ref()), pool_name)
}

fn build(
    name: &str,
    metaslabs: &[Metaslab],
    vdevs: &[Vdev],
    (groups, pool): (&[(u64, Printed)], Option<&Printed>),
    pool_name: Option<String>,
) -> Result<PoolFreeSpace, FileError> {
    let mut caveats = vec![
        "segments are told by powers of two, and counted as of the shortest length of their class"
            .to_owned(),
    ];
    let mut runs: Vec<(u64, u64)> = Vec::new();
    let source = if metaslabs.is_empty() { "zdb -MMM" } else { "zdb -mm" };
    if metaslabs.is_empty() {
        match pool {
            Some(pool) if !pool.runs.is_empty() => runs.extend(pool.runs()),
            _ => groups.iter().for_each(|(_, vdev)| runs.extend(vdev.runs())),
        }
        caveats.push(
            "metaslabs that were never written are in no histogram: there is more free space"
                .to_owned(),
        );
    }
    let normal =
        |number: u64| vdevs.iter().all(|vdev| vdev.number != number || vdev.class.is_none());
    let others = metaslabs.iter().filter(|metaslab| !normal(metaslab.vdev)).count();
    let of_normal = || metaslabs.iter().filter(|metaslab| normal(metaslab.vdev));
    if others > 0 && others < metaslabs.len() {
        caveats.push("vdevs of log, special and dedup classes are left out of the sums".to_owned());
    }
    of_normal().for_each(|metaslab| runs.extend(metaslab.runs(metaslabs)));
    if runs.is_empty() {
        return Err(FileError::input(
            format!("{name}: no histogram of free segments in it"),
            REMEDY,
        ));
    }
    let whole_bytes = of_normal().filter_map(|one| metaslab_bytes(metaslabs, one.vdev));
    let whole_bytes = whole_bytes.fold(0, u64::saturating_add);
    let frag_percent = pool.and_then(|pool| pool.frag_percent);
    Ok(PoolFreeSpace {
        name: pool_name,
        caveats,
        whole_bytes: Some(whole_bytes).filter(|bytes| *bytes > 0),
        frag_percent,
        frag_percent_by_table: frag_of_pool(&of_normal().collect::<Vec<_>>()),
        vdevs: vdevs.iter().map(|vdev| vdev.free_space(metaslabs, groups)).collect(),
        ..PoolFreeSpace::of_runs(source, UNIT_BYTES, &runs)
    })
}

impl Printed {
    fn runs(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let runs = self.runs.iter().filter(|(_, count)| *count > 0);
        runs.map(|(log, count)| (1u64 << log, *count))
    }
}

impl Metaslab {
    /// Its runs: one if it was never written.
    fn runs(&self, all: &[Self]) -> impl Iterator<Item = (u64, u64)> + '_ {
        let whole = metaslab_bytes(all, self.vdev).filter(|_| self.is_untouched);
        self.printed.runs().chain(whole.map(|bytes| (bytes, 1)))
    }
}

impl Vdev {
    fn free_space(&self, metaslabs: &[Metaslab], groups: &[(u64, Printed)]) -> VdevFreeSpace {
        let own: Vec<&Metaslab> =
            metaslabs.iter().filter(|metaslab| metaslab.vdev == self.number).collect();
        let (mut free_bytes, mut runs) = (0u64, 0u64);
        for (bytes, count) in own.iter().flat_map(|metaslab| metaslab.runs(metaslabs)) {
            free_bytes = free_bytes.saturating_add(bytes.saturating_mul(count));
            runs = runs.saturating_add(count);
        }
        let group = groups.iter().find(|(number, _)| *number == self.number);
        VdevFreeSpace {
            vdev: self.number,
            name: None,
            class: self.class.clone(),
            free_bytes,
            runs,
            score: score(free_bytes, runs, UNIT_BYTES),
            frag_percent: group.and_then(|(_, printed)| printed.frag_percent),
            frag_percent_by_table: frag_of_vdev(&own),
        }
    }
}

/// Returns the bytes of a vdev's metaslabs, if it has two.
fn metaslab_bytes(metaslabs: &[Metaslab], vdev: u64) -> Option<u64> {
    let mut offsets =
        metaslabs.iter().filter(|metaslab| metaslab.vdev == vdev).map(|one| one.offset);
    let (first, second) = (offsets.next()?, offsets.next()?);
    second.checked_sub(first).filter(|bytes| *bytes > 0)
}

/// Returns FRAG by the table of a vdev with these metaslabs: their mean by free bytes (`metaslab_group_fragmentation`
/// of `metaslab.c`). The metaslab of the embedded log counts too here, since zdb does not say which it is.
fn frag_of_vdev(metaslabs: &[&Metaslab]) -> Option<u64> {
    let free_bytes: u128 = metaslabs.iter().map(|metaslab| u128::from(metaslab.free_bytes)).sum();
    let frags = metaslabs.iter().map(|metaslab| {
        let mut free: Histogram = [0; 32];
        for (log, count) in &metaslab.printed.runs {
            free[*log as usize - FIRST_LOG] = u32::try_from(*count).unwrap_or(u32::MAX);
        }
        let frag = Version::V2_3.fragmentation(&free, FIRST_LOG as u8);
        u128::from(frag) * u128::from(metaslab.free_bytes)
    });
    (!metaslabs.is_empty()).then(|| (frags.sum::<u128>() / free_bytes.max(1)) as u64)
}

/// Returns FRAG by the table of a pool: the mean of its vdevs by space (`metaslab_class_fragmentation`).
fn frag_of_pool(metaslabs: &[&Metaslab]) -> Option<u64> {
    let (mut sum, mut space) = (0u128, 0u128);
    for own in metaslabs.chunk_by(|one, next| one.vdev == next.vdev) {
        let bytes = own.get(1).and_then(|second| second.offset.checked_sub(own[0].offset));
        let bytes = own.len() as u128 * u128::from(bytes.unwrap_or(1).max(1));
        sum += u128::from(frag_of_vdev(own)?) * bytes;
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
