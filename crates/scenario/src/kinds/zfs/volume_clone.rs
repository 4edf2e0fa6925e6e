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

    /// Checks the clones among the LUNs. `section` is the array's.
    pub(super) fn check_clones(&self, section: &Section<'_>, luns: &[Lun]) {
        let [table] = section.inner("zfs") else { return };
        let named = |name: &Option<String>| luns.iter().find(|lun| lun.name == *name);
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
                table.problem(
                    "of",
                    "it is a clone itself".to_owned(),
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
