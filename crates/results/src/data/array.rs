//! The measurements of one array, in the form of `results.json`.

use std::borrow::Cow;

use crate::data::phase::Phase;
use crate::data::redundancy::{DataLoss, SpindleFailure};
use crate::data::segment::{Segment, is_a_moment};
use crate::data::workload::HostLoad;
use serde::{Deserialize, Serialize};

/// The measurements of one array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrayResults {
    /// Name of the array, unique in a scenario.
    pub name: String,
    /// Where the array writes an overwritten block.
    pub layout: LayoutKind,
    /// Host operations kept outstanding; 0 where they arrive by the clock.
    pub outstanding: u32,
    /// Size of the LUN, bytes; absent in results of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lun_bytes: Option<u64>,
    /// The load on it, where its files are others than those of the first array; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<HostLoad>,
    /// Spindles by their purpose.
    pub spindles: Spindles,
    /// The parity groups of a write-anywhere array with several, or the disk groups of such an in-place array, in the
    /// order of their spindles; absent otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parity_groups: Vec<ParityGroup>,
    /// The phases of the run, in order; absent if it has none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Phase>,
    /// The numbers that the array was configured with, including fitted ones.
    pub parameters: Vec<Parameter>,
    /// Measurements before the first segment, with `index` 0, which no rate, comparison or finding counts; absent
    /// without a warm-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<Box<Segment>>,
    /// Measurements, in order of `index`.
    pub segments: Vec<Segment>,
    /// Whether its hosts were done before the last segment; absent if they were not, or never are.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ended: bool,
    /// Spindles that failed, in order of failure; absent if none did.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<SpindleFailure>,
    /// Data lost for good; absent if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_loss: Option<DataLoss>,
}

/// One of several parity groups of an array, or of several disk groups.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParityGroup {
    /// The array's number of its first spindle. Its data spindles come first.
    pub first_spindle: u16,
    /// Its data spindles; all spindles of a disk group, where parity rotates.
    pub data: u16,
    /// Its parity spindles; none in a disk group.
    pub parity: u16,
    /// When it was added, seconds from the start of the run; 0 if it was there from the start.
    pub added_at_seconds: f64,
    /// What it is for, if it is a top-level vdev of a pool; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<VdevClass>,
}

/// What a top-level vdev of a pool is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VdevClass {
    /// Data, and what finds no room elsewhere.
    Normal,
    /// Metadata and small blocks.
    Special,
    /// The intent log.
    Log,
}

impl VdevClass {
    /// Returns its word in `zpool create`, or `normal`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Special => "special",
            Self::Log => "log",
        }
    }
}

impl ParityGroup {
    /// Returns what group `number` is called, counted from 1: `group 2`, or `vdev 3 (log)`.
    #[must_use]
    pub fn words(&self, number: usize) -> String {
        match self.class {
            None => format!("group {number}"),
            Some(VdevClass::Normal) => format!("vdev {number}"),
            Some(class) => format!("vdev {number} ({})", class.as_str()),
        }
    }
}

/// Where an array writes an overwritten block, or what else its kind is called.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LayoutKind(Cow<'static, str>);

/// Spindles of an array by their purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spindles {
    /// Spindles that hold host data. If parity rotates over all spindles of a group, as in VRAID-5, all of them count
    /// here.
    pub data: u32,
    /// Spindles that hold only parity.
    pub parity: u32,
    /// Spindles that stand by for a failure.
    pub spare: u32,
    /// Spindles that hold the array's own root volume and nothing else.
    pub root: u32,
    /// Spindles to be bought: the sum of the others.
    pub purchased: u32,
}

/// One number that an array was configured with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Parameter {
    /// Path in the scenario, as in `processor.host_operation`.
    pub name: String,
    /// Unit of `value`; empty for a count or a ratio.
    pub unit: String,
    /// The value, in `unit`.
    pub value: f64,
    /// Whether the value was fitted to published figures.
    pub fitted: bool,
    /// Published segments that it was fitted to; empty if it was not fitted, or to rows.
    pub fitted_to_segments: Vec<u32>,
    /// Where the value comes from: `scenario`, `fitted`, `controller NAME`, `default`, or `the array's label`. Older
    /// versions know `scenario` and `fitted` alone.
    pub source: String,
}

impl ArrayResults {
    /// Returns the segments that are long enough for a rate: all but a last one that ended long before its time,
    /// because the host was done. Charts and verdicts are of these.
    #[must_use]
    pub fn rated_segments(&self) -> &[Segment] {
        match self.segments.as_slice() {
            [first, .., last] if is_a_moment(last.seconds, first.seconds) => {
                &self.segments[..self.segments.len() - 1]
            }
            all => all,
        }
    }

    /// Returns the segment of this number among [`rated_segments`](Self::rated_segments).
    pub(crate) fn rated_segment(&self, index: u32) -> Option<&Segment> {
        self.rated_segments().iter().find(|segment| segment.index == index)
    }

    /// Returns what was measured, a warm-up included.
    pub fn measured(&self) -> impl Iterator<Item = &Segment> {
        self.warm_up.as_deref().into_iter().chain(&self.segments)
    }

    /// Returns a sentence about the warm-up; none without one.
    #[must_use]
    pub fn warm_up_note(&self) -> Option<String> {
        let seconds = crate::rounded(self.warm_up.as_ref()?.seconds, 3);
        Some(format!(
            "Segment 0 is the warm-up of {seconds} s, which no comparison or finding counts"
        ))
    }

    /// Returns a sentence about the last segment if it is shorter than the others, because the host was done.
    #[must_use]
    pub fn short_segment_note(&self) -> Option<String> {
        let (first, last) = (self.segments.first()?, self.segments.last()?);
        let is_short = last.seconds < 0.99 * first.seconds;
        let seconds = |segment: &Segment| crate::rounded(segment.seconds, 3);
        let is_left_out = self.rated_segments().len() < self.segments.len();
        let left_out = if is_left_out { ", and charts leave it out" } else { "" };
        is_short.then(|| {
            format!(
                "Segment {} lasted {} s, not {} s: its rates are those of so short a time{left_out}",
                last.index,
                seconds(last),
                seconds(first)
            )
        })
    }

    /// Returns a sentence that says what the array lost for good, if it lost anything.
    #[must_use]
    pub fn data_loss_sentence(&self) -> Option<String> {
        Some(self.data_loss.as_ref()?.sentence(&self.name))
    }

    /// Returns a sentence that says how many writes the array refused for lack of space, and when, if it refused any.
    #[must_use]
    pub fn refused_sentence(&self) -> Option<String> {
        let refused = || self.segments.iter().filter(|one| one.refused.is_some());
        let (first, last) = (refused().next()?.index, refused().next_back()?.index);
        let count: u64 = refused().filter_map(|one| one.refused).sum();
        let when = match first == last {
            true => format!("in segment {first}"),
            false => format!("in segments {first} to {last}"),
        };
        let share = 100.0 * count as f64
            / (count + self.segments.iter().map(|one| one.ops).sum::<u64>()) as f64;
        Some(format!(
            "{} refused {count} operations, as a rule for lack of space {when}, {share:.1} % of its operations.",
            self.name
        ))
    }

    /// Returns the working spindles, in words.
    #[must_use]
    pub fn working_spindles(&self) -> String {
        match self.spindles {
            Spindles { data, parity: 0, .. } => format!("{data} spindles"),
            Spindles { data, parity, .. } => format!("{data} data and {parity} parity spindles"),
        }
    }

    /// Returns the operations outstanding, in words.
    #[must_use]
    pub fn outstanding_words(&self) -> String {
        match self.outstanding {
            0 => "open loop".to_owned(),
            outstanding => format!("{outstanding} outstanding"),
        }
    }

    /// Returns the size of its cache, bytes, if it is among its parameters.
    #[must_use]
    pub fn cache_bytes(&self) -> Option<f64> {
        let names = ["write_anywhere.buffer_cache", "in_place.write_cache"];
        let is_cache = |parameter: &&Parameter| names.contains(&parameter.name.as_str());
        Some(self.parameters.iter().find(is_cache)?.value)
    }

    /// Returns the published segments that any parameter of the array was fitted to, ascending, once each.
    #[must_use]
    pub fn fitted_segments(&self) -> Vec<u32> {
        let fitted = self.parameters.iter().filter(|parameter| parameter.fitted);
        let mut segments: Vec<u32> =
            fitted.flat_map(|parameter| parameter.fitted_to_segments.iter().copied()).collect();
        segments.sort_unstable();
        segments.dedup();
        segments
    }

    /// Returns the phase that a segment is in; none in a run without phases.
    #[must_use]
    pub fn phase_of(&self, segment: &Segment) -> Option<&Phase> {
        let name = segment.phase.as_ref()?;
        self.phases.iter().find(|phase| phase.name == *name)
    }

    /// Returns the host operations kept outstanding in the segment of that number; 0 where they arrive by the clock.
    #[must_use]
    pub fn outstanding_in(&self, segment: u32) -> u32 {
        let phase = self.segment(segment).and_then(|segment| self.phase_of(segment));
        phase.map_or(self.outstanding, |phase| phase.outstanding)
    }

    /// Returns the workloads of a segment's phase; none in a run without phases. Segments with the same ones are of one
    /// kind.
    pub fn kind_of(&self, segment: &Segment) -> &[String] {
        self.phase_of(segment).map_or(&[], |phase| &phase.workloads)
    }

    /// Returns the segment of that number.
    #[must_use]
    pub fn segment(&self, index: u32) -> Option<&Segment> {
        self.segments.iter().find(|segment| segment.index == index)
    }
}

impl LayoutKind {
    /// In a free block elsewhere (copy-on-write).
    pub const WRITE_ANYWHERE: Self = Self::of("write-anywhere");
    /// Where it was.
    pub const IN_PLACE: Self = Self::of("in-place");

    /// In free blocks of a ZFS pool.
    pub const POOL: Self = Self::of("zfs");

    /// Returns the kind of this word, in lower case and with hyphens.
    #[must_use]
    pub const fn of(word: &'static str) -> Self {
        Self(Cow::Borrowed(word))
    }

    /// Returns the word for it in `results.json` and in tables.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature is serde's
const fn is_false(value: &bool) -> bool {
    !*value
}
