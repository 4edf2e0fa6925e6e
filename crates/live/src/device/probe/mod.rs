//! Finds out what a device holds, before it is overwritten.
//!
//! The probe recognizes the signatures that file systems, partition tables, volume managers and arrays leave near
//! both ends of a device, and otherwise anything there that is not zero. It does not see data that is only in the
//! middle.

mod contents;
mod marks;

use std::io;

use super::{BLOCK_BYTES, DeviceFile};
use contents::Contents;
use marks::{MARKS, Mark};

/// Contents found on a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Its offset, in bytes.
    pub offset: u64,
    /// A description, such as "an ext4 file system".
    pub what: String,
}

/// Returns what `device` holds, in order of offset; empty if everything that was read is zeros. `label_magic` at the
/// start of a block marks a device of ours.
///
/// # Errors
///
/// If either end cannot be read.
pub fn probe(device: &DeviceFile, label_magic: &[u8]) -> io::Result<Vec<Finding>> {
    let contents = Contents::read(device)?;
    let mut findings = Vec::new();
    let mut found = |offset, what: String| findings.push(Finding { offset, what });

    if let Some(offset) = find_label(&contents, label_magic) {
        found(offset, "a label of Strewn".to_owned());
    }
    for mark in MARKS {
        if let Some(offset) = mark.find(&contents) {
            found(offset, mark.what.to_owned());
        }
    }
    if let Some(which) = marks::extended(&contents) {
        found(1024, which.to_owned());
    }
    if let Some(offset) = marks::multiple_devices(&contents) {
        found(offset, "a member of a Linux md array".to_owned());
    }
    if let Some(offset) = marks::physical_volume(&contents) {
        found(offset, "an LVM2 physical volume".to_owned());
    }
    if let Some(offset) = marks::uberblock(&contents) {
        found(offset, "a member of a ZFS pool".to_owned());
    }
    if let Some(partitions) = marks::partitions(&contents) {
        found(0, format!("an MBR partition table with {partitions} used"));
    }
    if findings.is_empty()
        && let Some(offset) = contents.first_not_zero()
    {
        findings.push(Finding { offset, what: "data that are not zeros".to_owned() });
    }
    findings.sort_by_key(|finding| finding.offset);
    findings.dedup();
    Ok(findings)
}

fn find_label(contents: &Contents, magic: &[u8]) -> Option<u64> {
    let block = BLOCK_BYTES as u64;
    contents.offsets(block).find(|offset| !magic.is_empty() && contents.holds(*offset, magic))
}

impl Mark {
    fn find(&self, contents: &Contents) -> Option<u64> {
        let offset = match self.from_end {
            false => self.offset,
            true => contents.end().checked_sub(self.offset)?,
        };
        contents.holds(offset, self.magic).then_some(offset)
    }
}
