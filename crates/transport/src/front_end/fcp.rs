//! SCSI over Fibre Channel (FCP-4, INCITS 481).

use strewn_base::state::SavedValue;

use super::solicited::SolicitedWrite;
use super::{ToPdus, Turn};
use crate::frames::{FCP_COMMAND_BYTES, FCP_RESPONSE_BYTES, FCP_TRANSFER_READY_BYTES};
use crate::{Direction, PduKind, Train, TrainPart};

/// SCSI over Fibre Channel: information units (IUs), each a sequence of frames.
///
/// A read is FCP_CMND, FCP_DATA and FCP_RSP. A write waits for FCP_XFER_RDY before each burst of data; a first burst
/// without it (FCP-4: write FCP_XFER_RDY disabled) is not modelled, because hardly any disk array allows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, SavedValue)]
pub struct Fcp {
    /// The largest data of a command, in bytes. Chosen: 512 KiB, what Linux 2.6 gives a disk
    /// (`max_sectors_kb`).
    pub largest_command_bytes: u64,
    /// The largest burst of data that one FCP_XFER_RDY asks for, in bytes. No limit by
    /// default: what MAXIMUM BURST SIZE 0 means in mode page 02h.
    pub largest_burst_bytes: u64,
    /// Commands of one operation that may be in progress. Chosen: 32, the LUN queue depth of HBAs.
    pub commands_in_flight: u32,
}

impl Default for Fcp {
    fn default() -> Self {
        Self {
            largest_command_bytes: 512 << 10,
            largest_burst_bytes: u64::MAX,
            commands_in_flight: 32,
        }
    }
}

impl ToPdus for Fcp {
    #[inline]
    fn largest_bytes(&self, _direction: Direction) -> u64 {
        self.largest_command_bytes
    }

    fn in_flight(&self, _bytes: u64) -> u32 {
        self.commands_in_flight
    }

    fn turn(&self, direction: Direction, bytes: u64, round: u32) -> Option<Turn> {
        let one = |kind, header_bytes| TrainPart::new(kind, 1, header_bytes, 0);
        let data = |kind, bytes| TrainPart::new(kind, 1, 0, bytes);
        let command = one(PduKind::FcpCommand, FCP_COMMAND_BYTES);
        let response = one(PduKind::FcpResponse, FCP_RESPONSE_BYTES);
        if direction == Direction::Read {
            let reply = Train::of(data(PduKind::FcpDataIn, bytes)).then(response);
            return (round == 0).then(|| Turn::only(Train::of(command), reply));
        }
        let write = SolicitedWrite {
            bytes,
            first_bytes: 0,
            burst_bytes: self.largest_burst_bytes.max(1),
            bursts_at_once: 1,
        };
        let solicited = write.round(round)?;
        let is_last = solicited.permissions == 0;
        Some(Turn {
            to_target: Train::of(match round {
                0 => command,
                _ => data(PduKind::FcpDataOut, solicited.bytes),
            }),
            array_works: is_last,
            to_host: Train::of(match is_last {
                true => response,
                false => one(PduKind::FcpTransferReady, FCP_TRANSFER_READY_BYTES),
            }),
        })
    }
}
