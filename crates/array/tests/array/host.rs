//! A host that knows what each of its reads may return.

use std::collections::BTreeMap;
use std::ops::Range;

use strewn_array::{Direction, HostOperation, LunId, OperationId};

use crate::bytes::{claim, content};
use crate::payloads::{Bytes, SECTOR_BYTES};

/// The host's side of a LUN: a write's version is its operation's number plus one.
pub struct Host {
    next_id: u32,
    outstanding: BTreeMap<u32, Outstanding>,
    /// The version that was acknowledged last, by sector.
    pub acknowledged: Vec<u32>,
    /// The sectors of each LUN, all numbered through.
    pub luns: Vec<Range<u64>>,
}

struct Outstanding {
    direction: Direction,
    first_sector: u64,
    sectors: u32,
    /// For a read, by sector: the versions that it may return.
    allowed: Vec<Vec<u32>>,
}

impl Outstanding {
    fn covers(&self, sector: u64) -> bool {
        (self.first_sector..self.first_sector + u64::from(self.sectors)).contains(&sector)
    }
}

impl Host {
    pub fn new(lun_sectors: u64) -> Self {
        Self {
            next_id: 0,
            outstanding: BTreeMap::new(),
            acknowledged: vec![0; lun_sectors as usize],
            luns: std::iter::once(0..lun_sectors).collect(),
        }
    }

    /// The LUN of a sector, and its sectors; `None` between two LUNs.
    pub fn lun_of(&self, sector: u64) -> Option<(LunId, Range<u64>)> {
        let mut luns = (0..).map(LunId).zip(&self.luns);
        let (lun, sectors) = luns.find(|(_, sectors)| sectors.contains(&sector))?;
        Some((lun, sectors.clone()))
    }

    pub fn is_outstanding(&self, operation: u32) -> bool {
        self.outstanding.contains_key(&operation)
    }

    /// Operations not acknowledged yet, oldest first.
    pub fn outstanding_ids(&self) -> Vec<u32> {
        self.outstanding.keys().copied().collect()
    }

    /// A read may return what was acknowledged before it, or what is being written while it is under way.
    pub fn read(&mut self, first_sector: u64, sectors: u32) -> HostOperation<Bytes> {
        let writes = |sector: u64| {
            self.outstanding
                .iter()
                .filter(move |(_, other)| {
                    other.direction == Direction::Write && other.covers(sector)
                })
                .map(|(id, _)| id + 1)
        };
        let allowed = (first_sector..first_sector + u64::from(sectors))
            .map(|sector| {
                std::iter::once(self.acknowledged[sector as usize]).chain(writes(sector)).collect()
            })
            .collect();
        self.issue(Direction::Read, first_sector, sectors, allowed, Bytes::default())
    }

    pub fn write(&mut self, first_sector: u64, sectors: u32) -> HostOperation<Bytes> {
        let version = self.next_id + 1;
        let written = first_sector..first_sector + u64::from(sectors);
        for read in self.outstanding.values_mut().filter(|other| !other.allowed.is_empty()) {
            for (sector, allowed) in (read.first_sector..).zip(&mut read.allowed) {
                if written.contains(&sector) {
                    allowed.push(version);
                }
            }
        }
        let payload = Bytes(written.flat_map(|sector| content(sector, version)).collect());
        self.issue(Direction::Write, first_sector, sectors, Vec::new(), payload)
    }

    fn issue(
        &mut self,
        direction: Direction,
        first_sector: u64,
        sectors: u32,
        allowed: Vec<Vec<u32>>,
        payload: Bytes,
    ) -> HostOperation<Bytes> {
        let id = self.next_id;
        self.next_id += 1;
        self.outstanding.insert(id, Outstanding { direction, first_sector, sectors, allowed });
        let (lun, of_lun) = self.lun_of(first_sector).expect("a sector of a LUN");
        let first_sector = first_sector - of_lun.start;
        HostOperation { id: OperationId(id), lun, direction, first_sector, sectors, payload }
    }

    /// The host and its operations were cut off: what they were to do may have been done or not.
    pub fn forget_outstanding(&mut self) {
        self.outstanding.clear();
    }

    /// A write that was acknowledged will be done once more, as all after it that are in the same log: until then
    /// nothing is expected of its sectors.
    pub fn forget_write(&mut self, first_sector: u64, sectors: u32) {
        let first = first_sector as usize;
        self.acknowledged[first..first + sectors as usize].fill(0);
    }

    /// A write that was acknowledged is done once more, under its old name.
    pub fn write_again(&mut self, id: OperationId, first_sector: u64, sectors: u32) {
        let (direction, allowed) = (Direction::Write, Vec::new());
        self.outstanding.insert(id.0, Outstanding { direction, first_sector, sectors, allowed });
    }

    /// The array refuses a read, or a write of parts of blocks: it cannot say what is there.
    pub fn refuse(&mut self, id: OperationId) {
        let operation = self.outstanding.remove(&id.0);
        let operation = operation.unwrap_or_else(|| panic!("{id:?} refused and not outstanding"));
        let end = operation.first_sector + u64::from(operation.sectors);
        let is_whole = operation.first_sector.is_multiple_of(8) && end.is_multiple_of(8);
        assert!(operation.direction == Direction::Read || !is_whole, "a write needs nothing read");
    }

    /// The array acknowledges an operation: for the first time, and a read with nothing but what it may return.
    pub fn acknowledge(&mut self, id: OperationId, payload: &Bytes) {
        let operation = self.outstanding.remove(&id.0);
        let operation =
            operation.unwrap_or_else(|| panic!("{id:?} acknowledged and not outstanding"));
        match operation.direction {
            Direction::Write => {
                assert!(payload.0.is_empty(), "a write is acknowledged without data");
                for sector in 0..u64::from(operation.sectors) {
                    self.acknowledged[(operation.first_sector + sector) as usize] = id.0 + 1;
                }
            }
            Direction::Read => {
                let bytes = operation.sectors as usize * SECTOR_BYTES;
                assert_eq!(payload.0.len(), bytes, "bytes read by {id:?}");
                let sectors = (operation.first_sector..).zip(payload.sectors());
                for ((sector, bytes), allowed) in sectors.zip(&operation.allowed) {
                    assert!(
                        allowed.iter().any(|version| content(sector, *version) == bytes),
                        "{id:?} read at sector {sector}: {}, and not one of the writes {allowed:?}",
                        claim(bytes),
                    );
                }
            }
        }
    }
}
