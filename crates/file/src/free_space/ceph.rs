//! Free space of a Ceph OSD, as `ceph-bluestore-tool free-dump` and `bluestore allocator dump` of its socket list it,
//! and its score, as `free-score` and `bluestore allocator score` print it.

use serde::Deserialize;

use super::ceph_score::{CephScores, score, score_before_squid};
use super::pool::{PoolFreeSpace, REMEDY};
use crate::error::FileError;

const SOURCE: &str = "ceph-bluestore-tool free-dump";
/// The allocator of the data: others are of BlueFS.
const DATA: &str = "block";

#[derive(Deserialize)]
struct Printed {
    /// Bytes of the device.
    capacity: Option<u64>,
    /// Bytes that are allocated at once; versions before Pacific leave it out.
    alloc_unit: Option<u64>,
    alloc_name: Option<String>,
    extents: Option<Vec<Extent>>,
    /// What `free-score` prints.
    fragmentation_rating: Option<f64>,
}

#[derive(Deserialize)]
struct Extent {
    offset: String,
    length: String,
}

/// An allocator as it is printed, with the name in the line before it.
struct Section {
    name: Option<String>,
    printed: Printed,
}

/// What BlueStore allocates at once on devices since Pacific, where a dump does not say.
const USUAL_UNIT_BYTES: u64 = 4096;

/// A sector of a device: BlueStore's blocks are no smaller.
const LEAST_UNIT_BYTES: u64 = 512;

/// Parses a dump, a score, or both in one text. The data's allocator counts if there are several.
pub(super) fn parse_free_dump(name: &str, text: &str) -> Result<PoolFreeSpace, FileError> {
    let sections = sections(name, text)?;
    let is_dump = |section: &&Section| section.printed.extents.is_some();
    let own = |section: &&Section| section.name().is_none_or(|name| name == DATA);
    let dumps = || sections.iter().filter(is_dump);
    let Some(dump) = dumps().find(own).or(dumps().next()) else {
        let what = match sections.iter().find_map(|section| section.printed.fragmentation_rating) {
            Some(rating) => format!("a score of {rating} and no runs: this is of `free-score`"),
            None => "no `extents`".to_owned(),
        };
        let remedy = "save the output of `free-dump` too, into the same file";
        return Err(FileError::input(format!("{name}: {what}"), remedy));
    };
    let runs = runs(name, &dump.printed)?;
    let unit_bytes = dump.printed.alloc_unit.unwrap_or(USUAL_UNIT_BYTES);
    if !unit_bytes.is_power_of_two() || unit_bytes < LEAST_UNIT_BYTES {
        return Err(FileError::input(
            format!("{name}: `alloc_unit` is {unit_bytes}, no power of two from 512 on"),
            "save the list again, as Ceph prints it",
        ));
    }
    let mut caveats = Vec::new();
    if dump.printed.alloc_unit.is_none() {
        caveats
            .push("the list does not say what is allocated at once: taken to be 4 KiB".to_owned());
    }
    let left_out: Vec<&str> =
        dumps().filter(|one| !std::ptr::eq(*one, dump)).filter_map(Section::name).collect();
    if !left_out.is_empty() {
        caveats.push(format!("other allocators are left out: {}", left_out.join(", ")));
    }
    let told = sections.iter().filter(|section| {
        let is_same = section.name().is_none() || dump.name().is_none();
        is_same || section.name() == dump.name()
    });
    let told = told.filter_map(|section| section.printed.fragmentation_rating).next();
    let scores = CephScores {
        told,
        computed: score(&runs, unit_bytes),
        computed_before_squid: score_before_squid(&runs),
    };
    if let Some(told) = told.filter(|_| !scores.agrees()) {
        caveats.push(format!(
            "the score of {told} is neither formula's: it was taken at another time, or is of `free-fragmentation`"
        ));
    }
    let pool = PoolFreeSpace::of_runs(SOURCE, unit_bytes, &runs);
    Ok(PoolFreeSpace {
        name: dump.name().map(str::to_owned),
        ceph_score: Some(scores),
        caveats,
        whole_bytes: dump.printed.capacity,
        ..pool
    })
}

impl Section {
    fn name(&self) -> Option<&str> {
        self.printed.alloc_name.as_deref().or(self.name.as_deref())
    }
}

/// Divides a text into what is printed of each allocator: a line with its name and a colon, and JSON. Lines that are
/// neither are log messages.
fn sections(name: &str, text: &str) -> Result<Vec<Section>, FileError> {
    let (mut sections, mut label) = (Vec::new(), None);
    let (mut rest, mut line) = (text, 0);
    while !rest.is_empty() {
        if !rest.trim_start_matches([' ', '\t']).starts_with('{') {
            let (first, after) = rest.split_once('\n').unwrap_or((rest, ""));
            let first = first.trim();
            let is_label = first.strip_suffix(':').filter(|label| !label.contains(' '));
            if let Some(name) = is_label {
                label = Some(name.to_owned());
            }
            (rest, line) = (after, line + 1);
            continue;
        }
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Printed>();
        let printed = match stream.next() {
            Some(Ok(printed)) => printed,
            Some(Err(error)) if error.is_eof() => {
                return Err(FileError::input(
                    format!("{name}: the list breaks off"),
                    "save it again, whole",
                ));
            }
            Some(Err(error)) => {
                let line = line + error.line();
                return Err(FileError::input(format!("{name}, line {line}: {error}"), REMEDY));
            }
            None => break,
        };
        let (of_it, after) = rest.split_at(stream.byte_offset());
        line += of_it.matches('\n').count();
        rest = after;
        sections.push(Section { name: label.take(), printed });
    }
    Ok(sections)
}

/// Reads the free extents, which no device has twice, or behind its end. Allocators list them in any order.
fn runs(name: &str, dump: &Printed) -> Result<Vec<(u64, u64)>, FileError> {
    let wrong = |number: usize, what: String| {
        FileError::input(
            format!("{name}, extent {number}: {what}"),
            "save the list again, whole, as Ceph prints it",
        )
    };
    let extents = dump.extents.as_deref().unwrap_or_default();
    let mut places = Vec::with_capacity(extents.len());
    for (number, extent) in extents.iter().enumerate() {
        let figure = |key: &str, value: &str, least: u64| {
            number_of(value).filter(|figure| *figure >= least).ok_or_else(|| {
                wrong(number, format!("{key} {value:?} is no number such as 0x1000"))
            })
        };
        let offset = figure("offset", &extent.offset, 0)?;
        let end = offset.checked_add(figure("length", &extent.length, 1)?);
        let end = end.ok_or_else(|| wrong(number, "it ends beyond 2^64 bytes".to_owned()))?;
        if let Some(capacity) = dump.capacity.filter(|capacity| end > *capacity) {
            let what = format!("it ends at byte {end:#x}, behind the capacity of {capacity:#x}");
            return Err(wrong(number, what));
        }
        places.push((offset, end, number));
    }
    places.sort_unstable();
    let overlap = places.windows(2).find(|two| two[0].1 > two[1].0);
    if let Some(&[(_, _, one), (_, _, other)]) = overlap {
        let (first, second) = (one.min(other), one.max(other));
        return Err(wrong(second, format!("it overlaps extent {first}")));
    }
    if places.is_empty() {
        return Err(FileError::input(
            format!("{name}: no byte is free"),
            "nothing can be written there",
        ));
    }
    Ok(places.into_iter().map(|(offset, end, _)| (end - offset, 1)).collect())
}

/// Reads a number as Ceph prints it: hexadecimal with 0x, or decimal.
fn number_of(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
