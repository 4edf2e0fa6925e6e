//! The host's knowledge of the LUN, sector by sector.

use std::collections::BTreeMap;
use std::ops::Range;

use strewn_base::{BLOCK_SECTORS, SECTOR_BYTES};

const SECTOR: usize = SECTOR_BYTES as usize;

/// Identifies the contents of a sector; 0 is zeros.
pub(super) type Version = u32;

/// Sectors that are written atomically.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WrittenRange {
    pub(super) sectors: Range<u64>,
    pub(super) version: Version,
}

/// The LUN as it must be.
#[derive(Debug, Clone)]
pub(super) struct Shadow {
    /// The last acknowledged version of each sector.
    pub(super) acknowledged: Vec<Version>,
    /// Writes that were never answered, or with an error: each is there or not.
    pub(super) unknown: Vec<WrittenRange>,
    versions: Version,
    /// The LUN at the time of each snapshot, by name.
    pub(super) snapshots: BTreeMap<String, Vec<Version>>,
    /// The snapshot that was being taken or deleted when the power failed: it is there or not.
    pub(super) changing: Option<String>,
}

impl Shadow {
    pub(super) fn new(sectors: u64) -> Self {
        Self {
            acknowledged: vec![0; sectors as usize],
            unknown: Vec::new(),
            versions: 0,
            snapshots: BTreeMap::new(),
            changing: None,
        }
    }

    pub(super) fn next_version(&mut self) -> Version {
        self.versions += 1;
        self.versions
    }

    pub(super) fn acknowledge(&mut self, written: &WrittenRange) {
        let Range { start, end } = written.sectors;
        self.acknowledged[start as usize..end as usize].fill(written.version);
        // Of an earlier write with an error, nothing is there any more.
        for WrittenRange { sectors, version } in std::mem::take(&mut self.unknown) {
            let before = sectors.start..sectors.end.min(start);
            let behind = sectors.start.max(end)..sectors.end;
            let left = [before, behind].into_iter().filter(|sectors| !sectors.is_empty());
            self.unknown.extend(left.map(|sectors| WrittenRange { sectors, version }));
        }
    }

    /// Returns whether a sector may hold this version.
    pub(super) fn may_hold(&self, sector: u64, version: Version) -> bool {
        let is_there = |one: &WrittenRange| one.version == version && one.sectors.contains(&sector);
        self.acknowledged[sector as usize] == version || self.unknown.iter().any(is_there)
    }

    /// Compares the whole LUN, as read after a restart, with what it must be. Unknown sectors are known from then on.
    pub(super) fn reconcile(&mut self, found: &[Version]) -> Result<(), String> {
        let mut expected = self.acknowledged.clone();
        for WrittenRange { sectors, version } in std::mem::take(&mut self.unknown) {
            let range = sectors.start as usize..sectors.end as usize;
            let differs = |sector: &usize| expected[*sector] != version;
            // If both versions are equal, they cannot be told apart.
            let there = range.clone().filter(differs).find(|at| found[*at] == version);
            if there.is_some() {
                expected[range].fill(version);
            }
        }
        for (sector, (found, expected)) in found.iter().zip(&expected).enumerate() {
            if found != expected {
                let acknowledged = self.acknowledged[sector];
                return Err(format!(
                    "sector {sector} has version {found}; expected {expected} (acknowledged {acknowledged})"
                ));
            }
        }
        self.acknowledged = expected;
        Ok(())
    }

    /// Compares the snapshots after a restart with those that must exist.
    pub(super) fn reconcile_snapshots(&mut self, names: &[&str]) -> Result<(), String> {
        if let Some(changing) = self.changing.take()
            && !names.contains(&changing.as_str())
        {
            self.snapshots.remove(&changing);
        }
        let expected: Vec<&str> = self.snapshots.keys().map(String::as_str).collect();
        let mut found = names.to_vec();
        found.sort_unstable();
        match found == expected {
            true => Ok(()),
            false => Err(format!("the snapshots are {found:?}, expected {expected:?}")),
        }
    }

    /// Compares a block of a snapshot, or its absence, with what it must hold.
    pub(super) fn check_snapshot(
        &self,
        name: &str,
        block: u64,
        bytes: Option<&[u8]>,
    ) -> Result<(), String> {
        let first = block * BLOCK_SECTORS;
        let Some(expected) = self.snapshots.get(name) else { return Ok(()) };
        let expected = &expected[first as usize..first as usize + BLOCK_SECTORS as usize];
        let found = match bytes {
            Some(bytes) => versions_of(first, bytes)?,
            None => vec![0; BLOCK_SECTORS as usize],
        };
        match found == expected {
            true => Ok(()),
            false => Err(format!("sectors from {first} on have {found:?}, expected {expected:?}")),
        }
    }
}

/// Writes the bytes of `sector` with `version` to `into`.
pub(super) fn contents(sector: u64, version: Version, into: &mut [u8]) {
    if version == 0 {
        into.fill(0);
        return;
    }
    let word = sector << 32 | u64::from(version);
    for (index, part) in (0u64..).zip(into.as_chunks_mut::<8>().0) {
        *part = (word ^ index.wrapping_mul(0x0101_0000_0000_0101)).to_le_bytes();
    }
}

/// Returns the version of `sector`, or what is wrong with its bytes.
pub(super) fn version_of(sector: u64, bytes: &[u8]) -> Result<Version, String> {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[..8]);
    let word = u64::from_le_bytes(word);
    let version = word as u32;
    let mut expected = [0; SECTOR];
    contents(sector, version, &mut expected);
    if expected == bytes {
        return Ok(version);
    }
    let other = word >> 32;
    contents(other, version, &mut expected);
    Err(if expected == bytes {
        format!("sector {sector} has what was written to sector {other} (version {version})")
    } else {
        format!("sector {sector} has bytes that nobody wrote, beginning with {word:016x}")
    })
}

/// Returns the bytes of `sectors` with `version`.
pub(super) fn bytes_of(sectors: Range<u64>, version: Version) -> Vec<u8> {
    let mut bytes = vec![0; (sectors.end - sectors.start) as usize * SECTOR];
    for (sector, into) in sectors.zip(bytes.chunks_exact_mut(SECTOR)) {
        contents(sector, version, into);
    }
    bytes
}

/// Returns the versions of the sectors from `first` on.
pub(super) fn versions_of(first: u64, bytes: &[u8]) -> Result<Vec<Version>, String> {
    (first..).zip(bytes.chunks_exact(SECTOR)).map(|(at, bytes)| version_of(at, bytes)).collect()
}
