//! Volumes that are clones of others.

use super::Zfs;
use crate::fields::{Fields, Section, Table, name};
use crate::lun::Lun;
use crate::quantity::Bytes;

/// `[[array.zfs.clone]]`: a LUN that begins as a clone of another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VolumeClone {
    /// The name of the LUN.
    pub lun: Option<String>,
    /// The name of the one whose snapshot it is made of.
    pub origin: Option<String>,
}

impl Table for VolumeClone {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            name("lun", "The LUN that is a clone, as large as its origin.").required("\"vm-1\""),
            &mut self.lun,
        );
        f.value(
            name(
                "of",
                "The LUN whose snapshot it is made of, after it is filled and before the run. The snapshot stays, so what \
                 this LUN overwrites stays too. It is no clone itself, and is filled as far as the longest file on it \
                 and its clones.",
            )
            .required("\"golden\""),
            &mut self.origin,
        );
    }
}

impl Zfs {
    /// Whether a LUN is a clone.
    pub(super) fn is_clone(&self, lun: &Lun) -> bool {
        self.clones.iter().any(|clone| clone.lun == lun.name)
    }

    /// The number of the LUN whose clone this one is.
    pub(super) fn origin_of(&self, luns: &[&Lun], lun: &Lun) -> Option<u8> {
        let clone = self.clones.iter().find(|clone| clone.lun == lun.name && lun.name.is_some())?;
        let origin = luns.iter().position(|lun| lun.name == clone.origin);
        origin.map(|number| number as u8)
    }

    /// Checks the clones among the LUNs of a pool in which these may have so many bytes. `section` is the array's.
    pub(super) fn check_clones(&self, section: &Section<'_>, luns: &[Lun], usable_bytes: u64) {
        let [table] = section.inner("zfs") else { return };
        let named = |name: &Option<String>| luns.iter().find(|lun| lun.name == *name);
        // What origins' snapshots have, their volumes must be able to write once more.
        let (mut reserved, mut held) = (0u64, 0u64);
        for lun in luns.iter().filter(|lun| !self.is_clone(lun)) {
            reserved = reserved.saturating_add(lun.bytes);
            if self.clones.iter().any(|clone| clone.origin == lun.name) {
                held = held.saturating_add(lun.bytes);
            }
        }
        let are_there =
            |clone: &VolumeClone| named(&clone.lun).is_some() && named(&clone.origin).is_some();
        let is_known = table.are_right(&["clone", "sparse", "recordsize"])
            && self.clones.iter().all(are_there);
        if is_known && self.reserves() && held > 0 && reserved.saturating_add(held) > usable_bytes {
            table.problem(
                "clone",
                format!(
                    "the snapshots that clones are made of hold {}, and leave no room to overwrite the {} of volumes that \
                     reserve it",
                    Bytes(held),
                    Bytes(reserved)
                ),
                format!(
                    "`zfs snapshot` refuses them (\"out of space\"): give sparse = true, or volumes that take at most {} \
                     with these",
                    Bytes(usable_bytes).rounded_down()
                ),
            );
        }
        for (number, (clone, table)) in self.clones.iter().zip(table.inner("clone")).enumerate() {
            if !table.are_right(&["lun", "of"]) {
                continue;
            }
            for (key, name) in [("lun", &clone.lun), ("of", &clone.origin)] {
                if named(name).is_none() {
                    let name = name.as_deref().unwrap_or_default();
                    table.problem(
                        key,
                        format!("the array has no LUN {name:?}"),
                        "name one of its [[array.lun]]".to_owned(),
                    );
                }
            }
            let (Some(lun), Some(origin)) = (named(&clone.lun), named(&clone.origin)) else {
                continue;
            };
            if self.clones.iter().any(|other| other.lun == clone.origin) {
                let is_own = clone.lun == clone.origin;
                let what = if is_own { "it is the LUN itself" } else { "it is a clone itself" };
                table.problem(
                    "of",
                    what.to_owned(),
                    "`zfs clone` takes a snapshot of one, but here an origin is no clone: name the LUN that it is made of"
                        .to_owned(),
                );
            }
            if self.clones[..number].iter().any(|other| other.lun == clone.lun) {
                table.problem(
                    "lun",
                    "it is a clone already".to_owned(),
                    "a LUN has one origin: remove one of the tables".to_owned(),
                );
            }
            if lun.bytes != origin.bytes {
                table.problem(
                    "lun",
                    format!(
                        "a clone of {} has {}, and its origin {}",
                        clone.origin.as_deref().unwrap_or_default(),
                        Bytes(lun.bytes),
                        Bytes(origin.bytes)
                    ),
                    format!(
                        "`zfs clone` makes one as large as its origin: give both {}",
                        Bytes(origin.bytes)
                    ),
                );
            }
        }
    }
}
