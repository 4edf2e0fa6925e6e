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
    let runs = runs(name, dump.printed.extents.as_deref().unwrap_or_default())?;
    let unit_bytes = dump.printed.alloc_unit.filter(|unit| *unit > 0).unwrap_or(USUAL_UNIT_BYTES);
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
        whole_bytes: dump.printed.capacity.filter(|bytes| *bytes >= pool.free_bytes),
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

fn runs(name: &str, extents: &[Extent]) -> Result<Vec<(u64, u64)>, FileError> {
    let mut runs = Vec::with_capacity(extents.len());
    for (number, extent) in extents.iter().enumerate() {
        let wrong = |key: &str, value: &str| {
            FileError::input(
                format!("{name}, extent {number}: {key} {value:?} is no number such as 0x1000"),
                "save the list again, whole",
            )
        };
        number_of(&extent.offset).ok_or_else(|| wrong("offset", &extent.offset))?;
        let length = number_of(&extent.length).filter(|length| *length > 0);
        runs.push((length.ok_or_else(|| wrong("length", &extent.length))?, 1));
    }
    if runs.is_empty() {
        return Err(FileError::input(
            format!("{name}: no byte is free"),
            "nothing can be written there",
        ));
    }
    Ok(runs)
}

/// Reads a number as Ceph prints it: hexadecimal with 0x, or decimal.
fn number_of(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
