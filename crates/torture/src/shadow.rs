//! The host's knowledge of the LUNs, sector by sector.

use std::ops::Range;

use strewn_base::SECTOR_BYTES;

use crate::image::Version;
use crate::model::Model;
use strewn_live::administration::Inventory;

const SECTOR: usize = SECTOR_BYTES as usize;

/// The host's knowledge of the array.
#[derive(Debug, Clone)]
pub(crate) struct Shadow {
    pub(crate) model: Model,
    /// What the array has instead if the change that was interrupted is there.
    pub(crate) changed: Option<Model>,
    versions: Version,
}

impl Shadow {
    pub(crate) fn new(sectors: u64) -> Self {
        Self { model: Model::new(sectors), changed: None, versions: 0 }
    }

    pub(crate) fn next_version(&mut self) -> Version {
        self.versions += 1;
        self.versions
    }

    /// Returns the model of an array that has these volumes, LUNs and snapshots.
    pub(crate) fn model_of(&self, inventory: &Inventory) -> Result<&Model, String> {
        let mut models = std::iter::once(&self.model).chain(&self.changed);
        models.find(|model| model.describes(inventory)).ok_or_else(|| {
            let expected = std::iter::once(&self.model).chain(&self.changed);
            let expected: Vec<String> = expected.map(Model::outline).collect();
            let found = Model::of(inventory).outline();
            format!("the array has {found}; expected {}", expected.join(" or "))
        })
    }

    /// Takes an interrupted change for done, or for not done, as the started array has it.
    pub(crate) fn adopt(&mut self, inventory: &Inventory) -> Result<(), String> {
        self.model = self.model_of(inventory)?.clone();
        self.changed = None;
        Ok(())
    }
}

/// Writes the bytes of `sector` with `version` to `into`.
pub(crate) fn contents(sector: u64, version: Version, into: &mut [u8]) {
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
pub(crate) fn version_of(sector: u64, bytes: &[u8]) -> Result<Version, String> {
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
pub(crate) fn bytes_of(sectors: Range<u64>, version: Version) -> Vec<u8> {
    let mut bytes = vec![0; (sectors.end - sectors.start) as usize * SECTOR];
    for (sector, into) in sectors.zip(bytes.chunks_exact_mut(SECTOR)) {
        contents(sector, version, into);
    }
    bytes
}

/// Returns the versions of the sectors from `first` on.
pub(crate) fn versions_of(first: u64, bytes: &[u8]) -> Result<Vec<Version>, String> {
    (first..).zip(bytes.chunks_exact(SECTOR)).map(|(at, bytes)| version_of(at, bytes)).collect()
}
