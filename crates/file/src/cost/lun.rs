//! The requests to a file as requests to a LUN, for a simulated array in the place of a drive.

use strewn_workload::Direction;

use super::resolution::{FileCommands, Layout};
use crate::FileError;

/// Sectors are the unit of LUNs.
const SECTOR_BYTES: u64 = 512;

/// Addresses move by a multiple of this.
const SHIFT_BYTES: u64 = 1 << 20;

/// A request to a file, as accesses to the LUN that the file system is on. It is answered when all of them are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LunRequest {
    /// Whether it reads or writes.
    pub direction: Direction,
    /// First sectors of 512 bytes, and how many. None if the request takes no access.
    pub extents: Vec<(u64, u32)>,
}

/// The requests that a simulation is given, as requests to a LUN.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LunRequests {
    /// Of the file as it lies.
    pub as_it_lies: Vec<LunRequest>,
    /// Of the same file laid out contiguously.
    pub contiguous: Vec<LunRequest>,
    /// Requests outstanding at a time.
    pub outstanding: u32,
    /// Bytes by which every address is lower than on the device, to fit onto the LUN; 0 if it does anyway.
    pub shift_bytes: u64,
}

impl FileCommands {
    /// The requests that [`simulate`](Self::simulate) takes, for a LUN with `lun_bytes` that are laid out.
    ///
    /// What goes on from one request to the next is not joined: an array reads ahead by itself, or does not. Accesses
    /// are no larger than `max_command_bytes`.
    ///
    /// # Errors
    /// If the file system has several devices, or the file does not fit onto the LUN.
    pub fn lun_requests(
        &self,
        lun_bytes: u64,
        max_command_bytes: u64,
    ) -> Result<LunRequests, FileError> {
        let pieces = || self.as_it_lies.pieces.iter().chain(&self.contiguous.pieces).flatten();
        if pieces().any(|piece| piece.device > 0) {
            return Err(FileError::input(
                "the file is on several devices, and an array has one LUN here",
                "simulate a drive for each device: give --on the name of a drive",
            ));
        }
        let low = pieces().map(|piece| piece.byte).min().unwrap_or(0) / SHIFT_BYTES * SHIFT_BYTES;
        let high = pieces().map(|piece| piece.byte.saturating_add(piece.bytes)).max().unwrap_or(0);
        let shift_bytes = if high <= lun_bytes { 0 } else { low };
        if high - shift_bytes > lun_bytes {
            return Err(FileError::input(
                format!(
                    "the file lies in bytes {low} to {high} of its device, and {lun_bytes} bytes of the \
                     array's LUN are laid out"
                ),
                "enlarge `lun` and `file` of the scenario, or simulate a drive",
            ));
        }
        let most_sectors = (max_command_bytes / SECTOR_BYTES).clamp(1, u32::MAX.into());
        let of = |layout: &Layout| {
            let requests = self.simulated.iter().cloned().flatten();
            let request = |number: usize| {
                let mut extents = Vec::new();
                for piece in &layout.pieces[number] {
                    let byte = piece.byte - shift_bytes;
                    let end = (byte + piece.bytes).div_ceil(SECTOR_BYTES);
                    let mut sector = byte / SECTOR_BYTES;
                    while sector < end {
                        let sectors = most_sectors.min(end - sector);
                        extents.push((sector, sectors as u32));
                        sector += sectors;
                    }
                }
                LunRequest { direction: self.plan.requests()[number].direction, extents }
            };
            requests.map(request).collect()
        };
        Ok(LunRequests {
            as_it_lies: of(&self.as_it_lies),
            contiguous: of(&self.contiguous),
            outstanding: self.plan.outstanding(),
            shift_bytes,
        })
    }
}
