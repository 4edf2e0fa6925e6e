//! SMB 1 and SMB 2 over TCP (\[MS-CIFS\], \[MS-SMB\], \[MS-SMB2\]).

use strewn_base::state::SavedValue;

use super::{ToPdus, Turn};
use crate::{Direction, PduKind, Train, TrainPart, WireCounts};

/// The header before each message on TCP: the NetBIOS session service's (RFC 1002, 4.3.1), or direct TCP's, which has
/// the same size (\[MS-SMB2\] 2.1).
const SESSION_HEADER: u32 = 4;
/// \[MS-CIFS\] 2.2.3.1.
const SMB1_HEADER: u32 = 32;
/// \[MS-SMB2\] 2.2.1.
const SMB2_HEADER: u32 = 64;
/// What one credit covers (\[MS-SMB2\] 3.1.5.2).
const CREDIT_BYTES: u64 = 65_536;
/// What the 17 bits of the session header's length leave beside the longer header, a write's.
const SMB1_LARGEST_BYTES: u32 = 0x1_ffff - 64;

/// SMB 1, also called CIFS: READ_ANDX and WRITE_ANDX with 64-bit offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, SavedValue)]
pub struct Smb1 {
    /// The largest read, in bytes. 61,440: what Windows asks for with CAP_LARGE_READX. Without it, 16,384: what fits
    /// into Windows's MaxBufferSize, 16,644. \[MS-CIFS\] has lengths of 16 bits. \[MS-SMB\] 2.2.4.2.1 extends them, up
    /// to what a message can hold, 131,007; more counts as that.
    pub read_bytes: u32,
    /// The largest write, in bytes, likewise. 61,440: what Windows sends with CAP_LARGE_WRITEX.
    pub write_bytes: u32,
    /// Requests of one operation that may be in progress. 1: Windows waits for each reply to an application's read; the
    /// negotiated MaxMpxCount, 50 (\[MS-CIFS\] 2.2.4.52.2), limits a whole connection.
    pub requests_in_flight: u32,
    /// Length of a file's name as sent, in bytes. 16 is chosen: eight characters in UTF-16.
    pub file_name_bytes: u32,
}

impl Default for Smb1 {
    fn default() -> Self {
        Self { read_bytes: 61_440, write_bytes: 61_440, requests_in_flight: 1, file_name_bytes: 16 }
    }
}

impl ToPdus for Smb1 {
    #[inline]
    fn largest_bytes(&self, direction: Direction) -> u64 {
        let bytes = match direction {
            Direction::Read => self.read_bytes,
            Direction::Write => self.write_bytes,
        };
        bytes.min(SMB1_LARGEST_BYTES).into()
    }

    fn in_flight(&self, _bytes: u64) -> u32 {
        self.requests_in_flight
    }

    fn turn(&self, direction: Direction, bytes: u64, round: u32) -> Option<Turn> {
        // A word count, the words, a byte count; before data, a byte of padding.
        (round == 0).then(|| match direction {
            Direction::Read => Turn::only(
                smb1(PduKind::Smb1ReadRequest, 12, 0, 0),
                smb1(PduKind::Smb1ReadResponse, 12, 1, bytes),
            ),
            Direction::Write => Turn::only(
                smb1(PduKind::Smb1WriteRequest, 14, 1, bytes),
                smb1(PduKind::Smb1WriteResponse, 6, 0, 0),
            ),
        })
    }

    /// NT_CREATE_ANDX (\[MS-CIFS\] 2.2.4.64) and CLOSE (2.2.4.5).
    fn add_file_calls(&self, _direction: Direction, counts: &mut WireCounts) {
        counts.add_train(&smb1(PduKind::FileCall, 24, 1 + self.file_name_bytes, 0));
        counts.add_train(&smb1(PduKind::FileReply, 34, 0, 0));
        counts.add_train(&smb1(PduKind::FileCall, 3, 0, 0));
        counts.add_train(&smb1(PduKind::FileReply, 0, 0, 0));
    }
}

/// A message of SMB 1 with `words` parameters of 2 bytes, `other_bytes` of names and padding, and data.
fn smb1(kind: PduKind, words: u32, other_bytes: u32, data_bytes: u64) -> Train {
    let header_bytes = SESSION_HEADER + SMB1_HEADER + 1 + 2 * words + 2 + other_bytes;
    Train::of(TrainPart::new(kind, 1, header_bytes, data_bytes))
}

/// The version of SMB 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, SavedValue)]
pub enum Smb2Dialect {
    /// 2.0.2, Windows Vista and Server 2008: reads and writes of at most 64 KiB.
    Smb202,
    /// 2.1 and later, Windows 7 and Server 2008 R2: reads and writes may take several credits.
    Smb210,
}

/// SMB 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, SavedValue)]
pub struct Smb2 {
    /// The version.
    pub dialect: Smb2Dialect,
    /// MaxReadSize, in bytes (\[MS-SMB2\] 2.2.4); with 2.0.2, more than 65,536 counts as 65,536. 1 MiB: Windows 7's.
    pub read_bytes: u32,
    /// MaxWriteSize, in bytes, likewise.
    pub write_bytes: u32,
    /// Credits of the connection. 128 is chosen: what Windows servers grant a busy client is 1 to 512.
    pub credits: u32,
    /// Length of a file's name as sent, in bytes. 16 is chosen: eight characters in UTF-16.
    pub file_name_bytes: u32,
}

impl Default for Smb2 {
    fn default() -> Self {
        Self {
            dialect: Smb2Dialect::Smb210,
            read_bytes: 1 << 20,
            write_bytes: 1 << 20,
            credits: 128,
            file_name_bytes: 16,
        }
    }
}

impl Smb2 {
    /// Credits that a request takes which reads or writes `bytes` (\[MS-SMB2\] 3.1.5.2).
    #[must_use]
    pub fn credit_charge(bytes: u64) -> u64 {
        bytes.saturating_sub(1) / CREDIT_BYTES + 1
    }
}

impl ToPdus for Smb2 {
    #[inline]
    fn largest_bytes(&self, direction: Direction) -> u64 {
        let bytes = u64::from(match direction {
            Direction::Read => self.read_bytes,
            Direction::Write => self.write_bytes,
        });
        match self.dialect {
            Smb2Dialect::Smb202 => bytes.min(CREDIT_BYTES),
            Smb2Dialect::Smb210 => bytes,
        }
    }

    /// Requests of `bytes` each that the credits allow.
    fn in_flight(&self, bytes: u64) -> u32 {
        (u64::from(self.credits) / Self::credit_charge(bytes)) as u32
    }

    fn turn(&self, direction: Direction, bytes: u64, round: u32) -> Option<Turn> {
        (round == 0).then(|| match direction {
            // 2.2.19: 48 bytes, and a buffer of at least 1. 2.2.20: 16 bytes, and the data.
            Direction::Read => Turn::only(
                smb2(PduKind::Smb2ReadRequest, 48 + 1, 0),
                smb2(PduKind::Smb2ReadResponse, 16, bytes),
            ),
            // 2.2.21: 48 bytes, and the data. 2.2.22: 16 bytes, the structure size of 17 notwithstanding.
            Direction::Write => Turn::only(
                smb2(PduKind::Smb2WriteRequest, 48, bytes),
                smb2(PduKind::Smb2WriteResponse, 16, 0),
            ),
        })
    }

    /// CREATE (2.2.13, 2.2.14) without create contexts, and CLOSE (2.2.15, 2.2.16).
    fn add_file_calls(&self, _direction: Direction, counts: &mut WireCounts) {
        counts.add_train(&smb2(PduKind::FileCall, 56 + self.file_name_bytes, 0));
        counts.add_train(&smb2(PduKind::FileReply, 88, 0));
        counts.add_train(&smb2(PduKind::FileCall, 24, 0));
        counts.add_train(&smb2(PduKind::FileReply, 60, 0));
    }
}

/// A message of SMB 2 with `body_bytes` besides data.
fn smb2(kind: PduKind, body_bytes: u32, data_bytes: u64) -> Train {
    let header_bytes = SESSION_HEADER + SMB2_HEADER + body_bytes;
    Train::of(TrainPart::new(kind, 1, header_bytes, data_bytes))
}
