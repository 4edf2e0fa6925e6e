//! Kinds of arrays: what a scenario says of each, and checks.
//!
//! A kind is a folder here, with its settings and a [`Kind`], and a line in [`ArrayLayout`].

pub(crate) mod in_place;
pub(crate) mod write_anywhere;

use crate::lun::Lun;
use strewn_array::FirstSpindles;

use crate::fields::{Fields, Section, Table, table};
use crate::presets::Controller;
use crate::quantity::Bytes;
use crate::volume::Volume;

pub use in_place::InPlace;
pub use write_anywhere::WriteAnywhere;

/// Most parity groups of an aggregate, and disk groups of an in-place array, the first included.
pub const MOST_GROUPS: usize = FirstSpindles::MOST;

/// What a scenario must know of a kind of arrays, beside its settings.
pub(crate) trait Kind: Table {
    /// The key of its table, and what the table describes.
    fn table(&self) -> (&'static str, &'static str);

    /// What it is called, with an article, before "array".
    fn noun(&self) -> &'static str;

    /// The most parameters that calibration may fit. Few keep a comparison with published figures a prediction.
    fn most_fitted(&self) -> usize;

    /// A controller of this kind. Its constants stand in for those of one that is not known.
    fn stand_in(&self) -> Controller;

    /// Returns why an array of this kind has no such part, and a remedy; none if it may have it.
    fn refusal(&self, part: Part) -> Option<(&'static str, &'static str)>;

    /// The number of its spindles.
    fn spindles(&self) -> u16;

    /// What its spindles are, in words that follow their numbers.
    fn spindle_words(&self) -> String {
        String::new()
    }

    /// When further groups are added, in nanoseconds from the start of the run.
    fn groups_added_ns(&self) -> Vec<u64> {
        Vec::new()
    }

    /// Notes a problem if a spindle cannot fail at a time because it is not there yet.
    fn check_presence(&self, _section: &Section<'_>, _spindle: u16, _at_ns: u64) {}

    /// Notes a problem if drives of so many bytes are smaller than what it uses of each. `section` is its own.
    fn check_drive(&self, _section: &Section<'_>, _drive_bytes: u64) {}

    /// Notes a problem if the LUNs, or what volumes reserve, do not fit. `section` is the array's.
    fn check_room(&self, section: &Section<'_>, luns: &[Lun], volumes: &[Volume], drive_bytes: u64);

    /// Shares in percent of which hardly anyone can mean less than one: their keys and values.
    fn shares(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// What it is called if it has no protection level.
    fn without_protection_level(&self) -> Option<&'static str>;
}

/// A part of a scenario that only some kinds of arrays have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// `[[array.volume]]`.
    Volumes,
    /// The volume of a LUN.
    VolumeOfLun,
    /// How much of a LUN is laid out before a run.
    LaidOut,
    /// The disk group of a LUN.
    DiskGroups,
    /// A second controller.
    Pair,
    /// Costs of consistency points.
    ConsistencyPoints,
    /// To be one of many blades.
    Blades,
}

macro_rules! kinds {
    ($($(#[$about:meta])* $kind:ident($layout:ty),)*) => {
        /// The kind of an array: where it writes an overwritten block, and what it consists of.
        #[derive(Debug, Clone, PartialEq)]
        pub enum ArrayLayout {
            $($(#[$about])* $kind($layout),)*
        }

        impl ArrayLayout {
            /// One of every kind, without any settings.
            pub(crate) fn all() -> Vec<Self> {
                vec![$(Self::$kind(<$layout>::default())),*]
            }

            pub(crate) fn kind(&self) -> &dyn Kind {
                match self {
                    $(Self::$kind(kind) => kind,)*
                }
            }

            fn table_mut(&mut self) -> &mut dyn Table {
                match self {
                    $(Self::$kind(kind) => kind,)*
                }
            }
        }
    };
}

kinds! {
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
            _ => None,
        }
    }

    /// Returns the in-place layout, if it is one.
    #[must_use]
    pub fn in_place(&self) -> Option<&InPlace> {
        match self {
            Self::InPlace(layout) => Some(layout),
            _ => None,
        }
    }

    /// Returns when further groups are added, in nanoseconds from the start of the run.
    #[must_use]
    pub fn groups_added_ns(&self) -> Vec<u64> {
        self.kind().groups_added_ns()
    }

    /// Takes the kind whose table a text has; of several, the first. `f` reads the table of the array.
    pub(crate) fn begin(&mut self, f: &mut Fields<'_>) {
        let given = Self::all().into_iter().find(|kind| f.has(kind.kind().table().0));
        if let Some(given) = given {
            *self = given;
        }
    }

    /// Goes over the table of its kind, of which an array must have exactly one.
    pub(crate) fn fields(&mut self, f: &mut Fields<'_>) {
        if f.describes() {
            for mut kind in Self::all() {
                let (key, about) = kind.kind().table();
                f.part(table(key, about), kind.table_mut());
            }
            return;
        }
        if f.reads() && !Self::has_one(f) {
            return;
        }
        let (key, about) = self.kind().table();
        f.part(table(key, about), self.table_mut());
    }

    /// Returns whether a text has the table of one kind, and notes a problem if not.
    fn has_one(f: &mut Fields<'_>) -> bool {
        let keys: Vec<&'static str> =
            Self::all().iter().map(|kind| kind.kind().table().0).collect();
        let tables: Vec<String> = keys.iter().map(|key| format!("[array.{key}]")).collect();
        f.requires_one_of(&keys, &format!("add {} and its keys", tables.join(" or ")));
        keys.iter().for_each(|key| f.passes_over(key));
        let given: Vec<&'static str> = keys.into_iter().filter(|key| f.has(key)).collect();
        if let [first, second, ..] = given[..] {
            // A controller has the table of its kind, which the text need not give.
            let (first, second) =
                if f.is_given(second) { (first, second) } else { (second, first) };
            // It is unknown which of them is meant, so none is checked further.
            f.refuses(
                second,
                &format!(
                    "the array has both {} {first} and {} {second} layout",
                    article(first),
                    article(second)
                ),
                &format!("keep one of [array.{first}] and [array.{second}]"),
            );
            return false;
        }
        true
    }
}

fn article(word: &str) -> &'static str {
    if word.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

/// Notes a problem if `luns` are larger than the usable bytes of the place that they are in. Returns whether they fit.
pub(crate) fn check_size(
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

/// Notes a problem if there are too many `[[….group]]`: what they are, and of what.
pub(crate) fn check_count(section: &Section<'_>, further: usize, groups: &str, of: &str) {
    if further >= MOST_GROUPS {
        section.problem(
            "group",
            format!("{} {groups} are too many", further + 1),
            format!(
                "{of} has at most {MOST_GROUPS}, the first included: keep {} of these",
                MOST_GROUPS - 1
            ),
        );
    }
}
