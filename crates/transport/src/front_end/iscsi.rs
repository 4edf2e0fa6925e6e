//! SCSI over TCP (RFC 7143).

use strewn_base::state::SavedValue;

use super::solicited::SolicitedWrite;
use super::{ToPdus, Turn};
use crate::{Direction, PduKind, Train, TrainPart};

/// The basic header segment (RFC 7143, 11.2).
const BASIC_HEADER_BYTES: u32 = 48;
/// A CRC32C digest (RFC 7143, 13.1).
const DIGEST_BYTES: u32 = 4;

/// SCSI over TCP. The fields are the login keys of RFC 7143, section 13, and [`Iscsi::default`] has the values that it
/// gives to keys nobody negotiates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, SavedValue)]
pub struct Iscsi {
    /// HeaderDigest=CRC32C (13.1): 4 bytes behind each header.
    pub header_digest: bool,
    /// DataDigest=CRC32C (13.1): 4 bytes behind the data of each PDU that has any.
    pub data_digest: bool,
    /// MaxRecvDataSegmentLength (13.12) that the host declares: the largest data of a Data-In, in bytes.
    pub host_data_segment_bytes: u32,
    /// MaxRecvDataSegmentLength (13.12) that the target declares: the largest data of a Data-Out or a command, in
    /// bytes.
    pub target_data_segment_bytes: u32,
    /// MaxBurstLength (13.13): the largest burst that an R2T asks for, or that Data-In PDUs form, in bytes.
    pub max_burst_bytes: u64,
    /// FirstBurstLength (13.14): the most data that a write may send before the first R2T, in bytes.
    pub first_burst_bytes: u64,
    /// ImmediateData (13.11): the command itself may carry data.
    pub immediate_data: bool,
    /// InitialR2T (13.10): without an R2T, nothing but immediate data may be sent.
    pub initial_r2t: bool,
    /// MaxOutstandingR2T (13.17).
    pub max_outstanding_r2t: u32,
    /// Whether the last Data-In carries the status (RFC 7143, 11.7.3); if not, a SCSI Response follows it.
    pub status_in_data: bool,
    /// The largest data of a command, in bytes. Chosen: 512 KiB, what Linux 2.6 gives a disk
    /// (`max_sectors_kb`).
    pub largest_command_bytes: u64,
    /// Commands of one operation that may be in progress. 32: open-iscsi's `node.session.queue_depth`.
    pub commands_in_flight: u32,
}

impl Default for Iscsi {
    /// RFC 7143's defaults.
    fn default() -> Self {
        Self {
            header_digest: false,
            data_digest: false,
            host_data_segment_bytes: 8_192,
            target_data_segment_bytes: 8_192,
            max_burst_bytes: 262_144,
            first_burst_bytes: 65_536,
            immediate_data: true,
            initial_r2t: true,
            max_outstanding_r2t: 1,
            status_in_data: true,
            largest_command_bytes: 512 << 10,
            commands_in_flight: 32,
        }
    }
}

impl ToPdus for Iscsi {
    #[inline]
    fn largest_bytes(&self, _direction: Direction) -> u64 {
        self.largest_command_bytes
    }

    fn in_flight(&self, _bytes: u64) -> u32 {
        self.commands_in_flight
    }

    fn turn(&self, direction: Direction, bytes: u64, round: u32) -> Option<Turn> {
        match direction {
            Direction::Read => (round == 0).then(|| self.read(bytes)),
            Direction::Write => self.write(bytes, round),
        }
    }
}

impl Iscsi {
    /// What open-iscsi proposes (its `iscsid.conf`), if the target agrees to all of it.
    #[must_use]
    pub fn open_iscsi() -> Self {
        Self {
            host_data_segment_bytes: 262_144,
            target_data_segment_bytes: 262_144,
            max_burst_bytes: 16_776_192,
            first_burst_bytes: 262_144,
            initial_r2t: false,
            ..Self::default()
        }
    }

    fn read(&self, bytes: u64) -> Turn {
        let bursts = Bursts { bytes, burst_bytes: self.max_burst_bytes };
        let data = self.data_pdus(PduKind::IscsiDataIn, bursts, self.host_data_segment_bytes);
        let reply = match self.status_in_data {
            true => Train::of(data),
            false => Train::of(data).then(self.pdus(PduKind::IscsiResponse, 1)),
        };
        Turn::only(Train::of(self.pdus(PduKind::IscsiCommand, 1)), reply)
    }

    fn write(&self, bytes: u64, round: u32) -> Option<Turn> {
        let segment_bytes = self.target_data_segment_bytes;
        let immediate_bytes = match self.immediate_data {
            true => bytes.min(self.first_burst_bytes).min(segment_bytes.into()),
            false => 0,
        };
        let first_bytes = match self.initial_r2t {
            true => immediate_bytes,
            false => bytes.min(self.first_burst_bytes),
        };
        let write = SolicitedWrite {
            bytes,
            first_bytes,
            burst_bytes: self.max_burst_bytes.max(1),
            bursts_at_once: self.max_outstanding_r2t.max(1),
        };
        let solicited = write.round(round)?;
        let data_out = |kind, bytes, burst_bytes| {
            self.data_pdus(kind, Bursts { bytes, burst_bytes }, segment_bytes)
        };
        let to_target = match round {
            0 => {
                let command = Train::of(self.with_data(
                    self.pdus(PduKind::IscsiCommand, 1),
                    immediate_bytes,
                    u32::from(immediate_bytes > 0),
                ));
                match solicited.bytes - immediate_bytes {
                    0 => command,
                    bytes => command.then(data_out(PduKind::IscsiUnsolicitedDataOut, bytes, bytes)),
                }
            }
            _ => Train::of(data_out(PduKind::IscsiDataOut, solicited.bytes, self.max_burst_bytes)),
        };
        let to_host = match solicited.permissions {
            0 => self.pdus(PduKind::IscsiResponse, 1),
            permissions => self.pdus(PduKind::IscsiR2t, permissions),
        };
        let array_works = solicited.permissions == 0;
        Some(Turn { to_target, array_works, to_host: Train::of(to_host) })
    }

    /// PDUs without data.
    fn pdus(&self, kind: PduKind, pdus: u32) -> TrainPart {
        let digest = if self.header_digest { DIGEST_BYTES } else { 0 };
        TrainPart::new(kind, pdus, BASIC_HEADER_BYTES + digest, 0)
    }

    /// PDUs that carry bursts of data, at most `segment_bytes` in each PDU.
    fn data_pdus(&self, kind: PduKind, bursts: Bursts, segment_bytes: u32) -> TrainPart {
        let pdus = bursts.pdus(segment_bytes);
        self.with_data(self.pdus(kind, pdus), bursts.bytes, pdus)
    }

    /// `part` with `bytes` of data in `data_pdus` of its PDUs: padding to 4 bytes (RFC 7143, 11.1), and digests. Only
    /// the last PDU is padded, since segments are multiples of 4.
    fn with_data(&self, mut part: TrainPart, bytes: u64, data_pdus: u32) -> TrainPart {
        let digest = if self.data_digest { DIGEST_BYTES } else { 0 };
        let padding = bytes.next_multiple_of(4) - bytes;
        part.header_bytes += u64::from(data_pdus) * u64::from(digest) + padding;
        part.payload_bytes = bytes;
        part
    }
}

/// Data that is sent in bursts, each of which begins a new PDU.
#[derive(Clone, Copy, Debug)]
struct Bursts {
    bytes: u64,
    burst_bytes: u64,
}

impl Bursts {
    fn pdus(self, segment_bytes: u32) -> u32 {
        let segment_bytes = u64::from(segment_bytes.max(1));
        let burst_bytes = self.burst_bytes.max(1);
        let full = self.bytes / burst_bytes;
        let rest = self.bytes - full * burst_bytes;
        let pdus = full * burst_bytes.div_ceil(segment_bytes) + rest.div_ceil(segment_bytes);
        pdus as u32
    }
}
