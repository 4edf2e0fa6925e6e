//! Top-level vdevs of a pool besides the first: of other sizes, of other classes, and those that are added.

use strewn_results::{ParityGroup, VdevClass, seconds};
use strewn_zfs::{AllocationClass, Vdev};

use super::{MOST_DRIVES_IN_ALL, Protection, VdevShape, Zfs};
use crate::fields::{Around, Fields, Section, Table, Text, Words, choice, spindles, time};
use crate::quantity::Nanoseconds;

/// Top-level vdevs besides the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FurtherVdev {
    /// What they are for.
    pub class: AllocationClass,
    /// What each consists of.
    pub shape: VdevShape,
    /// How many they are.
    pub vdevs: u16,
    /// When they are added, in nanoseconds from the start of the run; `None` if they are there from the start.
    pub at_ns: Option<u64>,
}

impl Words for AllocationClass {
    const WORDS: &'static [(&'static str, Self)] =
        &[("normal", Self::Normal), ("special", Self::Special), ("log", Self::Log)];
}

/// A top-level vdev of a pool, with its place among the array's spindles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlacedVdev {
    /// What it is for.
    pub class: AllocationClass,
    /// What it consists of.
    pub shape: VdevShape,
    /// The array's number of its first spindle.
    pub first_spindle: u16,
    /// When it is added, in nanoseconds from the start of the run; 0 if it is there from the start.
    pub from_ns: u64,
}

impl PlacedVdev {
    /// The vdev, of drives with so many bytes, all of it scaled down.
    #[must_use]
    pub fn vdev(&self, zfs: &Zfs, drive_bytes: u64, scale_down: u32) -> Vdev {
        self.shape.vdev(zfs.ashift as u8, drive_bytes, scale_down)
    }

    /// Its drives that hold data, and those that make up for them.
    pub(super) fn data_and_parity(&self) -> (u16, u16) {
        self.shape.data_and_parity()
    }

    /// As results have it.
    pub(super) fn group(&self) -> ParityGroup {
        let (data, parity) = self.data_and_parity();
        let (first_spindle, added_at_seconds) = (self.first_spindle, seconds(self.from_ns));
        let class = Some(match self.class {
            AllocationClass::Normal => VdevClass::Normal,
            AllocationClass::Special => VdevClass::Special,
            AllocationClass::Log => VdevClass::Log,
        });
        ParityGroup { first_spindle, data, parity, added_at_seconds, class }
    }
}

impl Zfs {
    /// Returns all top-level vdevs in the order of their spindles, which is the order in which the pool gets them.
    #[must_use]
    pub fn placed_vdevs(&self) -> Vec<PlacedVdev> {
        let first = FurtherVdev {
            class: AllocationClass::Normal,
            shape: self.shape,
            vdevs: self.vdevs,
            at_ns: None,
        };
        let (mut next, mut all) = (0u16, Vec::new());
        for vdevs in [first].iter().chain(&self.further_vdevs) {
            let FurtherVdev { class, shape, .. } = *vdevs;
            for _ in 0..vdevs.vdevs {
                let (first_spindle, from_ns) = (next, vdevs.at_ns.unwrap_or(0));
                all.push(PlacedVdev { class, shape, first_spindle, from_ns });
                next = next.saturating_add(shape.drives);
            }
        }
        all
    }

    /// The normal vdevs that are there from the start.
    pub(super) fn normal_at_start(&self) -> impl Iterator<Item = PlacedVdev> {
        let all = self.placed_vdevs().into_iter();
        all.filter(|vdev| vdev.class == AllocationClass::Normal && vdev.from_ns == 0)
    }

    /// Whether each vdev has as many drives as its redundancy takes.
    pub(super) fn has_possible_vdevs(&self) -> bool {
        let further = self.further_vdevs.iter().map(|vdevs| &vdevs.shape);
        further.chain([&self.shape]).all(VdevShape::is_possible)
    }

    /// Drives of all vdevs.
    pub(super) fn drives_in_all(&self) -> u32 {
        let further = self.further_vdevs.iter();
        let further = further.map(|vdevs| u32::from(vdevs.shape.drives) * u32::from(vdevs.vdevs));
        u32::from(self.shape.drives) * u32::from(self.vdevs) + further.sum::<u32>()
    }

    /// Checks the further vdevs against the first, and against each other.
    pub(super) fn check_further(&self, section: &Section<'_>) {
        let mut before_ns = None;
        for (vdevs, table) in self.further_vdevs.iter().zip(section.inner("vdev")) {
            let needs_redundancy = vdevs.class != AllocationClass::Log
                && vdevs.shape.redundancy == Protection::None
                && self.shape.redundancy != Protection::None;
            if needs_redundancy && section.is_right("redundancy") && table.is_right("redundancy") {
                table.problem(
                    "redundancy",
                    "a vdev without redundancy, in a pool that has some".to_owned(),
                    "whose loss is the pool's: `zpool create` says \"mismatched replication level\" and demands -f; \
                     give a mirror"
                        .to_owned(),
                );
            }
            if table.is_right("at") {
                check_order(table, before_ns, vdevs.at_ns);
                before_ns = vdevs.at_ns;
            }
        }
        if self.drives_in_all() > MOST_DRIVES_IN_ALL && !self.further_vdevs.is_empty() {
            section.problem(
                "vdev",
                format!("{} drives in all vdevs are too many", self.drives_in_all()),
                format!("a pool has at most {MOST_DRIVES_IN_ALL} here: give fewer vdevs"),
            );
        }
    }

    /// Notes problems of further vdevs on drives of so many bytes.
    pub(super) fn check_further_drives(&self, section: &Section<'_>, drive_bytes: u64) {
        for (vdevs, table) in self.further_vdevs.iter().zip(section.inner("vdev")) {
            if section.is_right("ashift") {
                vdevs.shape.check_right_sized(table, self.ashift as u8, drive_bytes);
            }
        }
    }

    /// Notes a problem if a spindle fails before its vdev is added.
    pub(super) fn check_vdev_presence(&self, section: &Section<'_>, spindle: u16, at_ns: u64) {
        let vdevs = self.placed_vdevs();
        let of_spindle = |vdev: &&PlacedVdev| spindle < vdev.first_spindle + vdev.shape.drives;
        let Some(vdev) = vdevs.iter().find(of_spindle).filter(|vdev| vdev.from_ns > at_ns) else {
            return;
        };
        let from = Nanoseconds(vdev.from_ns);
        let later = vdevs.iter().find(|vdev| vdev.from_ns > at_ns);
        section.problem(
            "spindle",
            format!("spindle {spindle} is not there yet: its vdev is added at {from}"),
            format!(
                "give a time from {from} on, or a spindle below {}",
                later.map_or(0, |vdev| vdev.first_spindle)
            ),
        );
    }
}

/// Spindles are numbered vdev after vdev, and vdevs are added in the order of their spindles.
fn check_order(section: &Section<'_>, before_ns: Option<u64>, at_ns: Option<u64>) {
    let Some(before_ns) = before_ns.filter(|before_ns| *before_ns > at_ns.unwrap_or(0)) else {
        return;
    };
    let here = match at_ns {
        Some(at_ns) => format!("is {}", Nanoseconds(at_ns)),
        None => "is missing".to_owned(),
    };
    section.problem(
        "at",
        format!("{here}, and the vdevs before it are added at {}", Nanoseconds(before_ns)),
        "list vdevs in the order in which they are added: those that are there from the start first",
    );
}

impl Table for FurtherVdev {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            choice::<AllocationClass>(
                "class",
                "What the vdevs are for: normal, data and what finds no room elsewhere; special, metadata and small \
                 blocks; log, the intent log of synchronous writes.",
            )
            .default("\"normal\"", "as zpool add does without a word before the vdev"),
            &mut self.class,
        );
        f.value(
            choice::<Protection>(
                "redundancy",
                "What protects the blocks of each; by default, as that of the first vdevs.",
            )
            .inherited(),
            &mut self.shape.redundancy,
        );
        f.value(
            spindles("drives", "Drives of each, parity included.").required("2"),
            &mut self.shape.drives,
        );
        self.shape.draid_fields(f);
        f.value(spindles("vdevs", "How many vdevs, all alike.").chosen("1"), &mut self.vdevs);
        self.shape.right_sized_field(f);
        f.value(
            time(
                "at",
                "When they are added, from the start of the run (zpool add). Without it, they are there from the \
                 start.",
            )
            .moment("addition of {}"),
            &mut self.at_ns,
        );
    }

    fn check(&self, s: &Section<'_>, around: &Around) {
        self.shape.check(s);
        let word = match self.class {
            AllocationClass::Normal => None,
            AllocationClass::Special => Some("special"),
            AllocationClass::Log => Some("log"),
        };
        if s.are_right(&["class", "redundancy"])
            && self.shape.redundancy.is_striped()
            && let Some(word) = word
        {
            s.problem(
                "redundancy",
                format!("a {word} vdev cannot be {}", self.shape.redundancy.noun()),
                format!(
                    "`zpool create` refuses it too (\"unsupported '{word}' device\"): give a mirror"
                ),
            );
        }
        let Some(at_ns) = self.at_ns.filter(|_| s.is_right("at")) else { return };
        if at_ns == 0 {
            s.problem(
                "at",
                "is 0, when the run has not begun".to_owned(),
                "vdevs without `at` are there from the start: remove it".to_owned(),
            );
        } else if let Some(length_ns) = around.length_ns.filter(|length_ns| at_ns >= *length_ns) {
            let length = Nanoseconds(length_ns);
            s.problem(
                "at",
                format!("is {}, and the run ends at {length}", Nanoseconds(at_ns)),
                format!("give a time before {length}, or more segments"),
            );
        }
    }
}
