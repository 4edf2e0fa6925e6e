//! The layout of an array: write-anywhere or in-place.

use crate::array::{Array, Lun};
use crate::catalog;
use crate::fields::{Fields, numbers, table};
use crate::in_place::InPlace;
use crate::quantity::Bytes;
use crate::section::Section;
use crate::write_anywhere::WriteAnywhere;

/// Where an array writes an overwritten block.
#[expect(clippy::large_enum_variant, reason = "a scenario has a handful of arrays")]
#[derive(Debug, Clone, PartialEq)]
pub enum ArrayLayout {
    /// At a new address: a copy-on-write layout over parity groups.
    WriteAnywhere(WriteAnywhere),
    /// At its old address: VRAID-5 over redundancy sets, RAID-5 or RAID-0.
    InPlace(InPlace),
}

impl ArrayLayout {
    /// Returns the write-anywhere layout, if it is one.
    #[must_use]
    pub fn write_anywhere(&self) -> Option<&WriteAnywhere> {
        match self {
            Self::WriteAnywhere(layout) => Some(layout),
            Self::InPlace(_) => None,
        }
    }

    /// Returns the in-place layout, if it is one.
    #[must_use]
    pub fn in_place(&self) -> Option<&InPlace> {
        match self {
            Self::WriteAnywhere(_) => None,
            Self::InPlace(layout) => Some(layout),
        }
    }

    /// Returns the most parameters that calibration may fit for an array of this layout. Few fitted
    /// parameters keep a comparison with published figures a prediction.
    #[must_use]
    pub fn fitted_parameters_limit(&self) -> usize {
        match self {
            Self::WriteAnywhere(_) => 2,
            Self::InPlace(_) => 1,
        }
    }

    /// Returns the names of the parameters of an array with this layout.
    pub(crate) fn parameter_names(&self) -> Vec<String> {
        let array = &mut Array { layout: self.clone(), ..Array::default() };
        numbers(array, None).into_iter().map(|number| number.name).collect()
    }

    /// Goes over `[array.write_anywhere]` or `[array.in_place]`, of which an array must have exactly one.
    pub(crate) fn fields(&mut self, f: &mut Fields<'_>) {
        let [write_anywhere, in_place] = [
            table("write_anywhere", "A copy-on-write layout over one or more parity groups."),
            table("in_place", "A layout that overwrites blocks in place."),
        ];
        if f.describes() {
            f.part(write_anywhere, &mut WriteAnywhere::default());
            f.part(in_place, &mut InPlace::default());
            return;
        }
        f.requires_one_of(
            &[write_anywhere.key, in_place.key],
            "add [array.write_anywhere] or [array.in_place] and its keys",
        );
        if f.reads() {
            f.passes_over(write_anywhere.key);
            f.passes_over(in_place.key);
            let gives_both = f.has(write_anywhere.key) && f.has(in_place.key);
            if gives_both {
                // It is unknown which of the two is meant, so neither is checked further.
                f.refuses(
                    in_place.key,
                    "the array has both a write_anywhere and an in_place layout",
                    "keep one of [array.write_anywhere] and [array.in_place]",
                );
                return;
            }
        }
        match self {
            Self::WriteAnywhere(layout) => f.part(write_anywhere, layout),
            Self::InPlace(layout) => f.part(in_place, layout),
        }
    }

    /// Notes a problem if the LUNs are larger than the array's usable capacity, or not what its format can store, or in
    /// a disk group that does not exist.
    pub(crate) fn check_luns(&self, section: &Section<'_>, luns: &[Lun], drive_bytes: Option<u64>) {
        let drive_bytes = drive_bytes.unwrap_or(catalog::USUAL_DRIVE_BYTES);
        let layout = match self {
            Self::WriteAnywhere(layout) => {
                let all: Vec<&Lun> = luns.iter().collect();
                check_size(section, &all, layout.usable(), "the array", "a larger array: it");
                return;
            }
            Self::InPlace(layout) => layout,
        };
        if !all_groups_exist(section, luns, layout.groups.len()) {
            return;
        }
        let fits = (1..).zip(&layout.groups).map(|(number, group)| {
            let here: Vec<&Lun> = luns.iter().filter(|lun| lun.group == number).collect();
            let (place, larger) = match layout.groups.len() {
                1 => ("the array".to_owned(), "a larger array: it"),
                _ => (format!("disk group {number}"), "another or a larger disk group: this one"),
            };
            check_size(section, &here, group.usable(drive_bytes), &place, larger)
        });
        // Each group that is too small is a problem of its own.
        if fits.fold(true, |all, one| all & one) {
            let problem = luns.iter().find_map(|lun| layout.lun_format_problem(lun.bytes));
            if let Some((message, help)) = problem {
                section.problem("lun", message, help);
            }
        }
    }
}

/// Notes a problem if `luns` are larger than the usable bytes of the place that they are in. Returns whether they fit.
fn check_size(
    section: &Section<'_>,
    luns: &[&Lun],
    (usable, how): (u64, String),
    place: &str,
    larger: &str,
) -> bool {
    let lun_bytes = luns.iter().fold(0u64, |sum, lun| sum.saturating_add(lun.bytes));
    if lun_bytes > usable {
        let (lun, about) = (Bytes(lun_bytes), Bytes(usable).approximately());
        // Rounded down to whole GiB, so that the size advised fits.
        let most = Bytes(usable >> 30 << 30);
        let what = match luns {
            [_] => format!("a LUN of {lun} is"),
            several => format!("{} LUNs of {lun} together are", several.len()),
        };
        section.problem(
            "lun",
            format!("{what} larger than {place}'s usable {about}"),
            format!("give at most {most}, or {larger} has {how}"),
        );
    }
    lun_bytes <= usable
}

/// Notes a problem for each LUN in a disk group that does not exist. Returns whether there is none.
fn all_groups_exist(section: &Section<'_>, luns: &[Lun], groups: usize) -> bool {
    let mut all = true;
    for lun in luns.iter().filter(|lun| usize::from(lun.group) > groups) {
        all = false;
        let name = lun.name.as_deref().unwrap_or_default();
        let (is, help) = match groups {
            1 => ("a single disk group".to_owned(), String::new()),
            several => (
                format!("{several} disk groups"),
                format!("give 1 to {several}, the first being [array.in_place] itself; or "),
            ),
        };
        section.problem_within(
            &format!("lun[{name}]"),
            "group",
            format!("there is no disk group {}: the array has {is}", lun.group),
            format!("{help}add [[array.in_place.group]] and its keys for each further group"),
        );
    }
    all
}
