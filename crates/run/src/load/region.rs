//! The region of the file that a worker accesses, and the streams of accesses over it.

use strewn_base::SECTOR_BYTES;
use strewn_scenario::Bytes;
use strewn_sim::ClosedLoop;
use strewn_workload::{AccessStream, Pattern, PatternStream};

use super::error::LoadError;

/// Separates the seeds of workers; arrays use a different constant.
const SEED_OF_WORKER: u64 = 0xD1B5_4A32_D192_ED03;

/// A part of the scenario's file that a worker accesses.
#[derive(Debug, Clone, Copy)]
pub(super) struct Region {
    pub(super) first_byte: u64,
    pub(super) bytes: u64,
}

impl Region {
    pub(super) fn first_sector(self) -> u64 {
        self.first_byte / SECTOR_BYTES
    }

    pub(super) fn sectors(self) -> u64 {
        self.bytes / SECTOR_BYTES
    }

    /// Returns the region if it lies within a file of `file_bytes`. `what` names its user in the error.
    pub(super) fn within(self, file_bytes: u64, what: &str) -> Result<Self, LoadError> {
        if self.first_byte.checked_add(self.bytes).is_some_and(|end| end <= file_bytes)
            && self.bytes >= SECTOR_BYTES
        {
            return Ok(self);
        }
        if self.bytes < SECTOR_BYTES {
            return Err(LoadError::new(
                format!("{what} accesses {}, less than a sector", Bytes(self.bytes)),
                "give a larger `size`",
            ));
        }
        Err(LoadError::beyond_the_file(
            format!(
                "{what} accesses {} from byte {}, and the file under load has {}",
                Bytes(self.bytes),
                self.first_byte,
                Bytes(file_bytes)
            ),
            ", or make the region smaller",
        ))
    }
}

/// Builds a stream of `pattern` over a region. `what` names its user in the error.
pub(super) fn stream(
    pattern: &Pattern,
    region: Region,
    seed: u64,
    what: &str,
) -> Result<PatternStream, LoadError> {
    let stream = PatternStream::new(pattern, region.first_sector(), region.sectors(), seed);
    stream.map_err(|error| LoadError::new(format!("{what}: {error}"), "change it, or the region"))
}

/// Returns the plain closed loop of `pattern`, if it is one.
pub(super) fn plain(
    pattern: &Pattern,
    region: Region,
    seed: u64,
    outstanding: u32,
) -> Option<ClosedLoop> {
    let specification = pattern.as_specification()?;
    let (first, sectors) = (region.first_sector(), region.sectors());
    let stream = AccessStream::new(&specification, first, sectors, seed).ok()?;
    Some(ClosedLoop::new(stream, outstanding))
}

pub(crate) fn seed_of_worker(seed: u64, worker: usize) -> u64 {
    seed.wrapping_add((worker as u64).wrapping_mul(SEED_OF_WORKER))
}

/// Lists names in quotes, separated by commas.
pub(super) fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    names.map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}
