//! What a top-level vdev consists of.

use strewn_zfs::{Draid, Redundancy, Vdev};

use crate::fields::{Fields, Section, Text, Words, choice, size, spindles};
use crate::quantity::Bytes;

/// What protects the blocks of a top-level vdev, and with which drives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VdevShape {
    /// What protects its blocks.
    pub redundancy: Protection,
    /// Its drives.
    pub drives: u16,
    /// Data drives of a redundancy group of dRAID; as many as `zpool create` takes unless given.
    pub draid_data: Option<u16>,
    /// Distributed spares of dRAID; none unless given.
    pub draid_spares: Option<u16>,
    /// Bytes of each of its drives that it uses; `None` for all.
    pub right_sized_bytes: Option<u64>,
}

/// What protects the blocks of a top-level vdev.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Protection {
    /// Nothing: one drive.
    None,
    /// Each block is on all drives.
    #[default]
    Mirror,
    /// RAID-Z with single parity.
    RaidZ1,
    /// With double parity.
    RaidZ2,
    /// With triple parity.
    RaidZ3,
    /// dRAID with single parity.
    Draid1,
    /// With double parity.
    Draid2,
    /// With triple parity.
    Draid3,
}

impl Words for Protection {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("none", Self::None),
        ("mirror", Self::Mirror),
        ("raid-z1", Self::RaidZ1),
        ("raid-z2", Self::RaidZ2),
        ("raid-z3", Self::RaidZ3),
        ("draid1", Self::Draid1),
        ("draid2", Self::Draid2),
        ("draid3", Self::Draid3),
    ];
}

/// Drives that a mirror may have.
const MIRROR_DRIVES: (u16, u16) = (2, 4);

/// Most drives of a RAID-Z vdev (`VDEV_RAIDZ_MAXCOLS`, less what a `u8` cannot count) and of dRAID
/// (`VDEV_DRAID_MAX_CHILDREN`).
const MOST_DRIVES: u16 = 255;

/// Data drives of a redundancy group unless they are given (`draid_config_by_type`).
const DRAID_DATA: u16 = 8;

/// Most distributed spares (`draid_config_by_type`).
const MOST_DRAID_SPARES: u16 = 100;

impl Protection {
    pub(super) fn parity(self) -> u16 {
        match self {
            Self::None | Self::Mirror => 0,
            Self::RaidZ1 | Self::Draid1 => 1,
            Self::RaidZ2 | Self::Draid2 => 2,
            Self::RaidZ3 | Self::Draid3 => 3,
        }
    }

    pub(super) fn is_draid(self) -> bool {
        matches!(self, Self::Draid1 | Self::Draid2 | Self::Draid3)
    }

    pub(super) fn is_raid_z(self) -> bool {
        self.parity() > 0 && !self.is_draid()
    }

    /// Whether its blocks have parity.
    pub(super) fn is_striped(self) -> bool {
        self.parity() > 0
    }

    /// The drives that a vdev may have, and what it is called.
    fn rule(self) -> (u16, u16, &'static str) {
        match self {
            Self::None => (1, 1, "a vdev without redundancy"),
            Self::Mirror => (MIRROR_DRIVES.0, MIRROR_DRIVES.1, "a mirror"),
            Self::RaidZ1 => (2, MOST_DRIVES, "a RAID-Z1 vdev"),
            Self::RaidZ2 => (3, MOST_DRIVES, "a RAID-Z2 vdev"),
            Self::RaidZ3 => (4, MOST_DRIVES, "a RAID-Z3 vdev"),
            Self::Draid1 => (2, MOST_DRIVES, "a dRAID1 vdev"),
            Self::Draid2 => (3, MOST_DRIVES, "a dRAID2 vdev"),
            Self::Draid3 => (4, MOST_DRIVES, "a dRAID3 vdev"),
        }
    }

    /// What it is called in tables and sentences: `RAID-Z2`.
    pub(super) fn noun(self) -> String {
        match self {
            Self::None => "no redundancy".to_owned(),
            Self::Mirror => "mirrors".to_owned(),
            _ if self.is_draid() => format!("dRAID{}", self.parity()),
            _ => format!("RAID-Z{}", self.parity()),
        }
    }
}

impl VdevShape {
    /// Declares its settings.
    pub(super) fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            choice::<Protection>(
                "redundancy",
                "What protects the blocks of each top-level vdev: none, one drive; mirror, the same on all its drives; \
                 raid-z1, raid-z2, raid-z3, a stripe for each block with so many sectors of parity in a row; or \
                 draid1, draid2, draid3, whole stripes of fixed groups that lie across all drives, with distributed \
                 spares.",
            )
            .required("\"raid-z2\"")
            .page(3, "Redundancy"),
            &mut self.redundancy,
        );
        f.value(
            spindles(
                "drives",
                "Drives of a top-level vdev, parity included: 2 to 4 in a mirror, at least one more than its parity in \
                 RAID-Z; in dRAID all children, distributed spares included.",
            )
            .required("6")
            .page(4, "Drives of a vdev"),
            &mut self.drives,
        );
        self.draid_fields(f);
        self.right_sized_field(f);
    }

    /// What it uses of its drives.
    pub(super) fn right_sized_field(&mut self, f: &mut Fields<'_>) {
        f.value(
            size(
                "right_sized",
                "Bytes of each of its drives that it uses: a partition, or all of a drive that is smaller than the \
                 others. All unless given.",
            )
            .positive(),
            &mut self.right_sized_bytes,
        );
    }

    /// Notes problems of what it uses of drives of so many bytes.
    pub(super) fn check_right_sized(&self, s: &Section<'_>, ashift: u8, drive_bytes: u64) {
        let Some(right_sized) = self.right_sized_bytes.filter(|_| s.is_right("right_sized")) else {
            return;
        };
        if right_sized > drive_bytes {
            s.problem(
                "right_sized",
                format!("{} is more than the whole drive", Bytes(right_sized)),
                format!(
                    "a vdev uses as much of each drive as its smallest has: give at most {}, or leave the key out",
                    Bytes(drive_bytes >> 20 << 20)
                ),
            );
        } else if self.is_possible() && !self.vdev(ashift, right_sized, 1).has_metaslabs() {
            s.problem(
                "right_sized",
                format!("drives of {} are too small for metaslabs", Bytes(right_sized)),
                "give at least 64 MiB, as `zpool create` asks for".to_owned(),
            );
        }
    }

    /// Those of dRAID alone.
    pub(super) fn draid_fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            spindles(
                "draid_data",
                "Data drives of a redundancy group of dRAID (draid2:8d). Unless given, 8, or as many as parity and \
                 spares leave if these are fewer, as zpool create takes.",
            ),
            &mut self.draid_data,
        );
        f.value(
            spindles(
                "draid_spares",
                "Distributed spares of a dRAID vdev (draid2:8d:20c:1s): capacity on all of its drives, onto which \
                 failed drives are rebuilt sequentially, before spares are used. 0 unless given.",
            )
            .or_zero(),
            &mut self.draid_spares,
        );
    }

    /// Distributed spares.
    pub(super) fn spares(&self) -> u16 {
        self.draid_spares.unwrap_or(0)
    }

    /// Data drives of a redundancy group; as many as there are if too many are asked for.
    pub(super) fn group_data(&self) -> u16 {
        let taken = self.spares().saturating_add(self.redundancy.parity());
        self.draid_data.unwrap_or_else(|| DRAID_DATA.min(self.drives.saturating_sub(taken)))
    }

    /// Whether it has as many drives as its redundancy takes.
    pub(super) fn is_possible(&self) -> bool {
        let (least, most, _) = self.redundancy.rule();
        (least..=most).contains(&self.drives) && (!self.redundancy.is_draid() || self.has_groups())
    }

    fn has_groups(&self) -> bool {
        let group = u32::from(self.group_data()) + u32::from(self.redundancy.parity());
        self.group_data() > 0
            && self.spares() <= MOST_DRAID_SPARES
            && group + u32::from(self.spares()) <= self.drives.into()
    }

    /// Notes what cannot be.
    pub(super) fn check(&self, s: &Section<'_>) {
        if s.are_right(&["redundancy", "drives"]) {
            let (least, most, what) = self.redundancy.rule();
            if !(least..=most).contains(&self.drives) {
                let range =
                    if least == most { "one".to_owned() } else { format!("{least} to {most}") };
                s.problem(
                    "drives",
                    format!("{} drives are not {what}", self.drives),
                    format!("{what} has {range} drives here; `zpool create` refuses fewer than {least} too"),
                );
                return;
            }
        }
        if !s.are_right(&["redundancy", "drives", "draid_data", "draid_spares"]) {
            return;
        }
        if !self.redundancy.is_draid() {
            let given =
                [("draid_data", self.draid_data.is_some()), ("draid_spares", self.spares() > 0)];
            for (key, _) in given.into_iter().filter(|(_, is_given)| *is_given) {
                s.problem(
                    key,
                    format!("{} has no groups across its drives", self.redundancy.noun()),
                    "give redundancy = \"draid2\", or leave the key out; `zpool create` takes it for draid only"
                        .to_owned(),
                );
            }
            return;
        }
        let (parity, spares) = (self.redundancy.parity(), self.spares());
        let left = self.drives.saturating_sub(parity).saturating_sub(spares.min(self.drives));
        if spares > MOST_DRAID_SPARES || left == 0 {
            s.problem(
                "draid_spares",
                format!("{spares} distributed spares are too many for {} drives", self.drives),
                format!(
                    "`zpool create` takes at most {MOST_DRAID_SPARES}, and as many as data and parity leave: give at \
                     most {}",
                    self.drives.saturating_sub(parity + 1).min(MOST_DRAID_SPARES)
                ),
            );
        } else if !self.has_groups() {
            s.problem(
                "draid_data",
                format!(
                    "groups of {} data and {parity} parity drives with {spares} distributed spares do not fit {} \
                     drives",
                    self.group_data(),
                    self.drives
                ),
                format!("`zpool create` refuses it too: give at most {left} data drives, fewer spares or more drives"),
            );
        }
    }

    /// A vdev of it, of drives with so many bytes after they are scaled down.
    pub(super) fn vdev(&self, ashift: u8, drive_bytes: u64, scale_down: u32) -> Vdev {
        let (drives, parity) = (self.drives as u8, self.redundancy.parity() as u8);
        let redundancy = match self.redundancy {
            Protection::None | Protection::Mirror => Redundancy::Mirror { drives },
            draid if draid.is_draid() => Redundancy::Draid(Draid {
                children: drives,
                data: self.group_data() as u8,
                parity,
                spares: self.spares() as u8,
            }),
            _ => Redundancy::RaidZ { drives, parity },
        };
        let used = self.right_sized_bytes.unwrap_or(u64::MAX) / u64::from(scale_down);
        Vdev { redundancy, ashift, drive_bytes: drive_bytes.min(used), scale_down }
    }

    /// Drives by what they are for: data, and parity with distributed spares. A mirror's further drives count as
    /// parity, and so does what dRAID has of parity on average, in whole drives.
    pub(super) fn data_and_parity(&self) -> (u16, u16) {
        let data = match self.redundancy {
            draid if draid.is_draid() => {
                let disks = self.drives.saturating_sub(self.spares());
                let group = (self.group_data() + draid.parity()).max(1);
                (u32::from(disks) * u32::from(self.group_data()) / u32::from(group)) as u16
            }
            raid_z if raid_z.is_raid_z() => self.drives.saturating_sub(raid_z.parity()),
            _ => 1,
        };
        (data, self.drives.saturating_sub(data))
    }

    /// What a group of vdevs is called: `RAID-Z2 vdevs of 6`.
    pub(super) fn words(&self) -> String {
        match self.redundancy {
            Protection::None => "drives without redundancy".to_owned(),
            Protection::Mirror => format!("mirrors of {}", self.drives),
            draid if draid.is_draid() => format!(
                "dRAID{}:{}d:{}c:{}s vdevs",
                draid.parity(),
                self.group_data(),
                self.drives,
                self.spares()
            ),
            raid_z => format!("RAID-Z{} vdevs of {}", raid_z.parity(), self.drives),
        }
    }
}
