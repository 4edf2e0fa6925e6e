//! How clients access objects, and what they did.

use strewn_base::SECTOR_BYTES;
use strewn_base::state::SavedValue;

use crate::host::{HostError, Moved};

/// How clients access objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientRaidConfig {
    /// The largest request to a blade, in sectors. Neighbouring stripe units of an object are one request up to this.
    pub largest_request_sectors: u64,
    /// What a KiB that goes into parity takes of a client's core, in nanoseconds.
    pub parity_kib_ns: u64,
    /// The cores of each client. They copy and compute parity, and nothing else here.
    pub cores: Vec<u32>,
    /// A blade that is lost.
    pub lost: Option<LostBlade>,
    /// What a KiB that an application reads or writes takes of a client's core, in nanoseconds: of a read when all of
    /// it has arrived, of a write before its parity is computed.
    pub copy_kib_ns: u64,
}

/// A blade that clients cannot reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostBlade {
    /// Which one, counted from 0.
    pub blade: u16,
    /// From when on, in nanoseconds of virtual time. Operations that have their stripes by then are completed as
    /// planned.
    pub at_ns: u64,
}

/// What clients did in a segment.
#[derive(Debug, Clone, Default, PartialEq, Eq, SavedValue)]
pub struct ClientRaidMeasures {
    /// Requests that read what applications read, or what a lost part of that is computed from.
    pub reads: Moved,
    /// Requests that read old contents, for parity.
    pub update_reads: Moved,
    /// Requests that wrote, data and parity.
    pub writes: Moved,
    /// Sectors of parity written.
    pub parity_sectors: u64,
    /// Stripes written, in whole or in part, once for each operation.
    pub stripes_written: u64,
    /// Those of them that were written in whole, so that nothing had to be read.
    pub full_stripes: u64,
    /// Sectors that were computed because their blade is lost.
    pub reconstructed_sectors: u64,
    /// How long operations waited for others that wrote the same stripes, summed, in nanoseconds.
    pub stripe_wait_ns: u64,
    /// Time that the cores of each client copied and computed parity, in nanoseconds, summed over its cores.
    pub parity_busy_ns: Vec<u64>,
}

impl ClientRaidConfig {
    /// Clients with so many cores each, to whom parity and copies cost nothing, and whose requests are of up to 512
    /// KiB.
    #[must_use]
    pub fn new(cores: Vec<u32>) -> Self {
        let largest_request_sectors = (512 << 10) / SECTOR_BYTES;
        Self { largest_request_sectors, parity_kib_ns: 0, cores, lost: None, copy_kib_ns: 0 }
    }

    /// The blade that is lost at `now_ns`.
    pub(super) fn lost_at(&self, now_ns: u64) -> Option<u16> {
        self.lost.filter(|lost| lost.at_ns <= now_ns).map(|lost| lost.blade)
    }

    /// # Errors
    /// If there can be no clients of so many `blades` with such settings.
    pub(super) fn check(&self, blades: u16) -> Result<(), HostError> {
        if self.cores.is_empty() {
            return Err(HostError::None("client"));
        }
        if self.largest_request_sectors == 0 {
            return Err(HostError::EmptyRequests);
        }
        match self.lost {
            Some(LostBlade { blade: lost, .. }) if lost >= blades => {
                Err(HostError::NoBlade { lost, blades })
            }
            _ => Ok(()),
        }
    }
}
