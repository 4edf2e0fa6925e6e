//! The layout of an array: write-anywhere or in-place.

use crate::array::Lun;
use crate::catalog;
use crate::in_place::InPlace;
use crate::presets;
use crate::quantity::Bytes;
use crate::section::Section;
use crate::write_anywhere::WriteAnywhere;

/// Where an array writes an overwritten block.
#[derive(Debug, Clone, PartialEq)]
pub enum ArrayLayout {
    /// At a new address: a copy-on-write layout over parity groups.
    WriteAnywhere(WriteAnywhere),
    /// At its old address: VRAID-5 over redundancy sets, or RAID-5.
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

    /// Returns the most parameters that calibration may fit for an array of this layout. Few fitted
    /// parameters keep a comparison with published figures a prediction.
    #[must_use]
    pub fn fitted_parameters_limit(&self) -> usize {
        match self {
            Self::WriteAnywhere(_) => 2,
            Self::InPlace(_) => 1,
        }
    }

    /// Reads `[array.write_anywhere]` or `[array.in_place]`, of which an array must have exactly
    /// one.
    pub(crate) fn read(
        section: &mut Section<'_>,
        drive_bytes: Option<u64>,
        length_ns: Option<u64>,
    ) -> Option<Self> {
        if section.has("write_anywhere") && section.has("in_place") {
            // It is unknown which of the two is meant, so neither is checked further.
            section.get("write_anywhere");
            section.get("in_place");
            section.problem(
                "in_place",
                "the array has both a write_anywhere and an in_place layout",
                "keep one of [array.write_anywhere] and [array.in_place]",
            );
            return None;
        }
        section.require_one_of(
            &["write_anywhere", "in_place"],
            "add [array.write_anywhere] or [array.in_place] and its keys",
        );
        let write_anywhere = section
            .section("write_anywhere")
            .map(|layout| with_defaults(layout, "write_anywhere"))
            .and_then(|section| WriteAnywhere::read(section, drive_bytes, length_ns))
            .map(Self::WriteAnywhere);
        let in_place = section
            .section("in_place")
            .map(|layout| with_defaults(layout, "in_place"))
            .and_then(InPlace::read)
            .map(Self::InPlace);
        write_anywhere.or(in_place)
    }

    /// Notes a problem if the LUNs are larger than the array's usable capacity, or not what its format can store.
    pub(crate) fn check_luns(&self, section: &Section<'_>, luns: &[Lun], drive_bytes: Option<u64>) {
        let lun_bytes = luns.iter().fold(0u64, |sum, lun| sum.saturating_add(lun.bytes));
        let drive_bytes = drive_bytes.unwrap_or(catalog::USUAL_DRIVE_BYTES);
        let (usable, how) = match self {
            Self::WriteAnywhere(layout) => layout.usable(),
            Self::InPlace(layout) => layout.usable(drive_bytes),
        };
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
                format!("{what} larger than the array's usable {about}"),
                format!("give at most {most}, or a larger array: it has {how}"),
            );
        } else if let Self::InPlace(layout) = self {
            let problem = luns.iter().find_map(|lun| layout.lun_format_problem(lun.bytes));
            if let Some((message, help)) = problem {
                section.problem("lun", message, help);
            }
        }
    }
}

/// Gives a layout the defaults of its kind, unless the controller has some.
fn with_defaults<'t>(mut layout: Section<'t>, kind: &str) -> Section<'t> {
    if !layout.has_defaults() {
        layout.set_defaults(presets::table(kind));
    }
    layout
}
