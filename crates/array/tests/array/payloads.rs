//! Payloads of real bytes.

use std::collections::BTreeMap;

use strewn_array::{Contents, Payload};

pub const SECTOR_BYTES: usize = strewn_base::SECTOR_BYTES as usize;

/// Whole sectors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    pub fn sectors(&self) -> impl Iterator<Item = &[u8]> {
        self.0.chunks(SECTOR_BYTES)
    }
}

impl Payload for Bytes {
    type Contents = Sectors;

    const CARRIES_DATA: bool = true;

    fn splice(&mut self, at_sector: u32, part: &Self) {
        let start = at_sector as usize * SECTOR_BYTES;
        let end = start + part.0.len();
        if self.0.len() < end {
            self.0.resize(end, 0);
        }
        self.0[start..end].copy_from_slice(&part.0);
    }

    fn slice(&self, from_sector: u32, sectors: u32) -> Self {
        let start = from_sector as usize * SECTOR_BYTES;
        Self(self.0[start..start + sectors as usize * SECTOR_BYTES].to_vec())
    }

    fn bytes(&self) -> &[u8] {
        &self.0
    }

    fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

#[derive(Debug, Default)]
pub struct Sectors(BTreeMap<u64, Box<[u8]>>);

impl Contents<Bytes> for Sectors {
    fn store(&mut self, first_sector: u64, sectors: u32, payload: &Bytes) {
        assert_eq!(payload.0.len(), sectors as usize * SECTOR_BYTES, "a payload of another length");
        for (sector, bytes) in (first_sector..).zip(payload.sectors()) {
            self.0.insert(sector, bytes.into());
        }
    }

    fn load(&self, first_sector: u64, sectors: u32) -> Bytes {
        let mut bytes = Vec::with_capacity(sectors as usize * SECTOR_BYTES);
        for sector in first_sector..first_sector + u64::from(sectors) {
            let held = self.0.get(&sector);
            bytes.extend_from_slice(held.unwrap_or_else(|| panic!("sector {sector} is not held")));
        }
        Bytes(bytes)
    }

    fn forget(&mut self, first_sector: u64, sectors: u32) {
        for sector in first_sector..first_sector + u64::from(sectors) {
            self.0.remove(&sector);
        }
    }
}
