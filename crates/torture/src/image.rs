//! What the sectors of a LUN may have.

use std::ops::Range;

/// Identifies the contents of a sector; 0 is zeros.
pub(crate) type Version = u32;

/// Sectors that are written atomically.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WrittenRange {
    pub(crate) sectors: Range<u64>,
    pub(crate) version: Version,
}

/// A LUN as it must be, now or in a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Image {
    /// The last acknowledged version of each sector.
    pub(crate) acknowledged: Vec<Version>,
    /// Writes that were never answered, or with an error: each is there or not.
    pub(crate) unknown: Vec<WrittenRange>,
}

impl Image {
    pub(crate) fn new(sectors: u64) -> Self {
        Self { acknowledged: vec![0; sectors as usize], unknown: Vec::new() }
    }

    pub(crate) fn sectors(&self) -> u64 {
        self.acknowledged.len() as u64
    }

    pub(crate) fn acknowledge(&mut self, written: &WrittenRange) {
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
    pub(crate) fn may_hold(&self, sector: u64, version: Version) -> bool {
        let is_there = |one: &WrittenRange| one.version == version && one.sectors.contains(&sector);
        self.acknowledged[sector as usize] == version || self.unknown.iter().any(is_there)
    }

    /// Makes the LUN larger or smaller. Returns whether that keeps everything that is known to be there.
    pub(crate) fn resize(&mut self, sectors: u64) -> bool {
        let keeps_all = (sectors..self.sectors()).all(|sector| self.may_hold(sector, 0));
        self.acknowledged.resize(sectors as usize, 0);
        for WrittenRange { sectors: range, .. } in &mut self.unknown {
            range.end = range.end.min(sectors);
        }
        self.unknown.retain(|one| !one.sectors.is_empty());
        keeps_all
    }

    /// Compares the whole LUN, as read after a restart, with what it must be. Unknown sectors are known from then on.
    pub(crate) fn reconcile(&mut self, found: &[Version]) -> Result<(), String> {
        let mut expected = self.acknowledged.clone();
        // The last write first: it is there if it explains all that no later one does, and hides earlier ones. One that
        // is told by any of its sectors may have them from another write, of zeros too.
        let mut is_explained = vec![false; found.len()];
        for WrittenRange { sectors, version } in std::mem::take(&mut self.unknown).into_iter().rev()
        {
            let range = sectors.start as usize..sectors.end as usize;
            if range.clone().all(|at| is_explained[at] || found[at] == version) {
                range.clone().filter(|at| !is_explained[*at]).for_each(|at| expected[at] = version);
                is_explained[range].fill(true);
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

    /// Checks sectors from `first` on, as read, or a block that was never written.
    pub(crate) fn check(&self, first: u64, found: &[Version]) -> Result<(), String> {
        let wrong = (first..).zip(found).find(|(at, version)| !self.may_hold(*at, **version));
        wrong.map_or(Ok(()), |(sector, version)| {
            let expected = self.acknowledged[sector as usize];
            Err(format!("sector {sector} has version {version}; expected {expected}"))
        })
    }
}
