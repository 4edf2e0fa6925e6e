//! Volumes of a write-anywhere array: their sizes, whether they reserve them, and their snapshots.

use crate::fields::{Fields, Scales, Section, Table, flag, name, size};
use crate::lun::Lun;
use crate::quantity::Bytes;
use crate::snapshots::SnapshotSchedule;

/// A volume that a scenario describes with `[[array.volume]]`. One that only LUNs name is thick, and as large as they
/// are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Volume {
    /// The name by which LUNs refer to it.
    pub name: String,
    /// Its size in bytes; `None` if it is as large as its LUNs.
    pub bytes: Option<u64>,
    /// Whether it reserves nothing. A thick volume reserves its size.
    pub thin: bool,
    /// Its snapshots; `None` if it has those of the array.
    pub snapshots: Option<SnapshotSchedule>,
}

impl Volume {
    /// The key of the tables.
    pub(crate) const KEY: &str = "volume";

    /// Checks volumes against the LUNs in them, and what they reserve against the array.
    pub(crate) fn check_all(
        section: &Section<'_>,
        volumes: &[Self],
        luns: &[Lun],
        (usable, how): (u64, String),
    ) {
        for volume in volumes {
            let of_volume = luns.iter().filter(|lun| lun.volume.as_ref() == Some(&volume.name));
            let (count, bytes) = (of_volume.clone().count(), bytes_of(of_volume));
            let table = format!("{}[{}]", Self::KEY, volume.name);
            if count == 0 {
                section.problem_within(
                    &table,
                    "name",
                    "no LUN is in the volume",
                    format!(
                        "write volume = \"{}\" in the [[array.lun]] that it is for, or leave the volume out",
                        volume.name
                    ),
                );
            }
            if let Some(size) = volume.bytes
                && bytes > size
            {
                let (what, luns) = match count {
                    1 => ("its LUN is", Bytes(bytes)),
                    _ => ("its LUNs together are", Bytes(bytes)),
                };
                section.problem_within(
                    &table,
                    "size",
                    format!("is {}, and {what} {luns}", Bytes(size)),
                    format!("give at least {luns}, or smaller LUNs"),
                );
            }
        }
        let reserved = reserved_bytes(&by_volume(luns, volumes));
        if reserved > usable {
            section.problem(
                Self::KEY,
                format!(
                    "thick volumes reserve {} together, more than the array's usable {}",
                    Bytes(reserved).approximately(),
                    Bytes(usable).approximately()
                ),
                format!(
                    "write thin = true in some of them, or give them at most {}, or a larger array: it has {how}",
                    Bytes(usable).rounded_down()
                ),
            );
        }
    }
}

impl Table for Volume {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            name("name", "The name by which LUNs refer to it.").required("\"databases\""),
            &mut self.name,
        );
        f.value(
            size("size", "Its size; as large as its LUNs unless given.")
                .positive()
                .scales(Scales::Whole, "{}"),
            &mut self.bytes,
        );
        f.value(
            flag("thin", "Whether it reserves nothing. A thick volume reserves its size.")
                .chosen("false"),
            &mut self.thin,
        );
        f.table(
            SnapshotSchedule::field("Its snapshots; those of the array unless given.").apart(),
            &mut self.snapshots,
        );
    }
}

/// A volume of a write-anywhere array, described or not, and its LUNs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VolumeLuns<'a> {
    /// Its name; `None` for that of the LUNs that name none.
    pub name: Option<&'a str>,
    /// Its description, if it has one.
    pub described: Option<&'a Volume>,
    /// Its LUNs, at least one.
    pub luns: Vec<&'a Lun>,
}

impl VolumeLuns<'_> {
    /// Returns whether the volume reserves nothing.
    #[must_use]
    pub fn is_thin(&self) -> bool {
        self.described.is_some_and(|volume| volume.thin)
    }

    /// Returns its size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let of_luns = || bytes_of(self.luns.iter().copied());
        self.described.and_then(|volume| volume.bytes).unwrap_or_else(of_luns)
    }

    /// Returns the bytes that it reserves: its size if it is thick.
    #[must_use]
    pub fn reserved_bytes(&self) -> u64 {
        if self.is_thin() { 0 } else { self.bytes() }
    }
}

fn bytes_of<'l>(luns: impl Iterator<Item = &'l Lun>) -> u64 {
    luns.fold(0, |sum, lun| sum.saturating_add(lun.bytes))
}

pub(crate) fn reserved_bytes(parts: &[VolumeLuns<'_>]) -> u64 {
    parts.iter().fold(0, |sum, part| sum.saturating_add(part.reserved_bytes()))
}

pub(crate) fn by_volume<'a>(luns: &'a [Lun], volumes: &'a [Volume]) -> Vec<VolumeLuns<'a>> {
    let mut parts: Vec<VolumeLuns<'a>> = Vec::new();
    for lun in luns {
        let name = lun.volume.as_deref();
        match parts.iter_mut().find(|part| part.name == name) {
            Some(part) => part.luns.push(lun),
            None => {
                let described = volumes.iter().find(|volume| Some(volume.name.as_str()) == name);
                parts.push(VolumeLuns { name, described, luns: vec![lun] });
            }
        }
    }
    parts
}
