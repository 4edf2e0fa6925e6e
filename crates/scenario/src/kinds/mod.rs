//! Kinds of arrays: what each has for settings, how it is built and simulated, and what results say of it.
//!
//! A kind is a folder here with a [`Kind`], and a line in [`ArrayLayout`]'s list; or a crate elsewhere, which
//! [`add`]s its kind. Whatever is done with arrays asks the trait, so nothing else knows which kinds there are.

pub mod in_place;
mod layout;
mod scaled_run;
mod set_up;
pub mod write_anywhere;
pub mod zfs;

use std::any::Any;

use strewn_array::FirstSpindles;
use strewn_raid::ProtectionLevel;
use strewn_results::{CapacityRule, LayoutKind, ParityGroup};
use strewn_sim::Simulated;

use crate::array::Array;
use crate::build::{Mapped, SetUpError};
use crate::lun::Lun;
use crate::quantity::Bytes;
use crate::quantity::Nanoseconds;
use crate::scenario::Scenario;
use crate::snapshots::SnapshotSchedule;
use crate::volume::Volume;

pub use crate::fields::{
    Around, Field, Fields, Multiple, Scales, Section, Slot, Table, Text, Words, choice, cost,
    count, flag, known, list_of, name, number, percent, size, spindles, table, text, time,
    whole_percent,
};
pub use in_place::InPlace;
pub use layout::{ArrayLayout, add};
pub use scaled_run::{MATTERS, ScaledRun, percent_words};
pub use set_up::{SetUp, simulate};
pub use write_anywhere::WriteAnywhere;
pub use zfs::Zfs;

/// Most parity groups of an aggregate, and disk groups of an in-place array, the first included.
pub const MOST_GROUPS: usize = FirstSpindles::MOST;

/// A kind of arrays: its settings, and what must be known of it to check, build, simulate and report arrays of it.
///
/// The trait's implementor is the table of its settings. What it leaves out has a default: no groups, no protection
/// level, nothing that is out of proportion at a smaller scale.
pub trait Kind: Table + KindValue {
    /// The key of its table, and what the table describes.
    fn table(&self) -> (&'static str, &'static str);

    /// What results call it.
    fn layout(&self) -> LayoutKind;

    /// What it is called, with an article, before "array".
    fn noun(&self) -> String {
        let word = self.layout();
        format!("{} {}", layout::article(word.as_str()), word.as_str())
    }

    /// The most parameters that calibration may fit. Few keep a comparison with published figures a prediction.
    fn most_fitted(&self) -> usize {
        1
    }

    /// The name of a controller of this kind that ships. Its constants stand in for those of one that is not known.
    fn stand_in(&self) -> Option<&'static str> {
        None
    }

    /// Returns why an array of this kind has no such part, and a remedy; none if it may have it.
    fn refusal(&self, part: Part) -> Option<(&'static str, &'static str)>;

    /// What its spindles are for.
    fn spindles_by_purpose(&self) -> KindSpindles;

    /// The number of its spindles, spares aside.
    fn spindles(&self) -> u16 {
        let KindSpindles { data, parity, .. } = self.spindles_by_purpose();
        u16::try_from(data.saturating_add(parity)).unwrap_or(u16::MAX)
    }

    /// What its spindles are, in words that follow their numbers.
    fn spindle_words(&self) -> String {
        String::new()
    }

    /// Whether drives use their own caches.
    fn drive_cache(&self) -> bool {
        false
    }

    /// When further groups are added, in nanoseconds from the start of the run.
    fn groups_added_ns(&self) -> Vec<u64> {
        Vec::new()
    }

    /// The snapshots of its volumes that have no schedule of their own.
    fn snapshots(&self) -> Option<SnapshotSchedule> {
        None
    }

    /// Notes a problem if a spindle cannot fail at a time because it is not there yet.
    fn check_presence(&self, _section: &Section<'_>, _spindle: u16, _at_ns: u64) {}

    /// Notes a problem if drives of so many bytes are smaller than what it uses of each. `section` is its own.
    fn check_drive(&self, _section: &Section<'_>, _drive_bytes: u64) {}

    /// Notes a problem if the LUNs, or what volumes reserve, do not fit. `section` is the array's.
    fn check_room(&self, section: &Section<'_>, luns: &[Lun], volumes: &[Volume], drive_bytes: u64);

    /// Notes a problem if what is laid out of the LUNs before the run has no room. `root` is the scenario's section.
    fn check_laid_out(&self, _root: &Section<'_>, _array: &Array, _of: &dyn Fn(&Lun) -> u64) {}

    /// Returns a sentence for what is allowed, and hardly anyone can want. `file_bytes_of` is what hosts work on.
    fn warnings(&self, _array: &Array, _file_bytes_of: &dyn Fn(&Lun) -> u64) -> Vec<String> {
        Vec::new()
    }

    /// Shares in percent of which hardly anyone can mean less than one: their keys and values.
    fn shares(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// Its protection level, if it has any.
    fn protection_level(&self) -> Option<ProtectionLevel> {
        None
    }

    /// What it is called if it has no protection level.
    fn without_protection_level(&self) -> Option<String> {
        self.protection_level().is_none().then(|| self.layout().as_str().to_owned())
    }

    /// Builds the arrays of `set_up`, and what runs them: see [`simulate`].
    ///
    /// # Errors
    /// If there can be no such array.
    fn simulate(&self, set_up: SetUp<'_>) -> Result<Box<dyn Simulated>, SetUpError>;

    /// The memory that an array's maps and caches need, in bytes.
    fn memory_bytes(&self, _scenario: &Scenario, _array: &Array) -> u64 {
        0
    }

    /// Returns a simulated array as one whose layout can be recorded, if it is of this kind.
    fn mapped<'a>(&self, array: &'a dyn Any) -> Option<&'a dyn Mapped>;

    /// Its parity groups or disk groups.
    fn groups(&self) -> Vec<ParityGroup> {
        Vec::new()
    }

    /// Whether it relocates anything, or reads to [send](Self::sends).
    fn relocates(&self) -> bool {
        false
    }

    /// Whether its scan sends what it reads, and moves nothing.
    fn sends(&self) -> bool {
        false
    }

    /// What of the bytes of its spindles is usable.
    fn capacity(&self) -> CapacityRule;

    /// The most that it reads ahead of a stream, in bytes; 0 for no read-ahead.
    fn read_ahead_bytes(&self) -> u64 {
        0
    }

    /// A sentence for each quantity of its own that could not be scaled in proportion.
    fn out_of_proportion(&self, _run: &ScaledRun<'_>) -> Vec<String> {
        Vec::new()
    }
}

/// What every type can do that is a [`Kind`] and a plain value.
pub trait KindValue: Any + Send + Sync {
    /// Returns a copy.
    fn copy(&self) -> Box<dyn Kind>;

    /// Returns whether `other` is of the same kind, with the same settings.
    fn is_like(&self, other: &dyn Kind) -> bool;
}

impl<K: Kind + Clone + PartialEq> KindValue for K {
    fn copy(&self) -> Box<dyn Kind> {
        Box::new(self.clone())
    }

    fn is_like(&self, other: &dyn Kind) -> bool {
        (other as &dyn Any).downcast_ref() == Some(self)
    }
}

/// Spindles of an array of some kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KindSpindles {
    /// That hold data: all, where parity rotates.
    pub data: u32,
    /// That hold only parity.
    pub parity: u32,
    /// That stand by for a failure.
    pub spares: u32,
}

/// A part of a scenario that only some kinds of arrays have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
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
    /// Steps of rebuilds in flight.
    RebuildSteps,
}

/// Notes a problem if `luns` are larger than the usable bytes of the place that they are in. Returns whether they fit.
pub fn check_size(
    section: &Section<'_>,
    luns: &[&Lun],
    (usable, how): (u64, String),
    place: &str,
    larger: &str,
) -> bool {
    let lun_bytes = luns.iter().fold(0u64, |sum, lun| sum.saturating_add(lun.bytes));
    if lun_bytes > usable {
        let (lun, about) = (Bytes(lun_bytes), Bytes(usable).approximately());
        // Rounded down, so that the size advised fits.
        let most = match Bytes(usable).rounded_down() {
            Bytes(0) => "no LUN fits: give".to_owned(),
            most => format!("give at most {most}, or"),
        };
        let what = match luns {
            [_] => format!("a LUN of {lun} is"),
            several => format!("{} LUNs of {lun} together are", several.len()),
        };
        section.problem(
            "lun",
            format!("{what} larger than {place}'s usable {about}"),
            format!("{most} {larger} has {how}"),
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

/// Notes a problem if work in the background begins only after the run.
pub(crate) fn check_begins(section: &Section<'_>, begins_ns: u64, around: &Around) {
    let Some(length_ns) = around.length_ns.filter(|length_ns| begins_ns >= *length_ns) else {
        return;
    };
    if section.is_right("begins") {
        let (begins, length) = (Nanoseconds(begins_ns), Nanoseconds(length_ns));
        section.problem(
            "begins",
            format!("is {begins}, and the run ends at {length}"),
            format!("give less than {length}, or more segments, or leave the table out"),
        );
    }
}
