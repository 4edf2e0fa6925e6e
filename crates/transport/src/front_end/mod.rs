//! Protocols: how an operation becomes PDUs.

mod direct;
mod fcp;
mod iscsi;
mod nfs;
mod smb;
mod solicited;

pub use fcp::Fcp;
pub use iscsi::Iscsi;
pub use nfs::{Nfs, WriteStability};
pub use smb::{Smb1, Smb2, Smb2Dialect};

use direct::Direct;
use strewn_base::state::SavedValue;

use crate::round::{Leg, ProcessorCosts, Round, SubRequest, SubRequestKind};
use crate::{Direction, Train, WireCounts};

/// How a protocol turns an operation into PDUs.
trait ToPdus {
    /// The largest sub-request, in bytes.
    fn largest_bytes(&self, direction: Direction) -> u64;

    /// How many sub-requests of one operation may be in progress, of `bytes` each.
    fn in_flight(&self, bytes: u64) -> u32;

    /// Round `round` of a sub-request that reads or writes; `None` if it does not have as many.
    fn turn(&self, direction: Direction, bytes: u64, round: u32) -> Option<Turn>;

    /// Whether an operation that writes ends with a commit.
    #[inline]
    fn commits(&self) -> bool {
        false
    }

    /// The only round of a commit.
    fn commit(&self) -> Option<Turn> {
        None
    }

    /// What opening and closing a file puts on the wire; nothing for block protocols.
    fn add_file_calls(&self, _direction: Direction, _counts: &mut WireCounts) {}
}

macro_rules! protocols {
    ($($(#[$about:meta])* $protocol:ident,)*) => {
        /// A protocol between host and array, with its settings.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, SavedValue)]
        pub enum Protocol {
            /// None: the host and the array share memory, and nothing crosses a wire.
            Direct,
            $($(#[$about])* $protocol($protocol),)*
        }

        macro_rules! of_protocol {
            ($of:expr, $settings:ident => $value:expr) => {
                match $of {
                    Protocol::Direct => {
                        let $settings = &Direct;
                        $value
                    }
                    $(Protocol::$protocol($settings) => $value,)*
                }
            };
        }
    };
}

protocols! {
    /// SCSI over Fibre Channel.
    Fcp,
    /// SCSI over TCP.
    Iscsi,
    /// NFS version 3 over TCP.
    Nfs,
    /// SMB 1, also called CIFS, over TCP.
    Smb1,
    /// SMB 2 over TCP.
    Smb2,
}

/// A protocol, and what its PDUs cost the processors at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, SavedValue)]
pub struct FrontEnd {
    /// The protocol.
    pub protocol: Protocol,
    /// What PDUs cost the host. No default has a cost: it belongs to a machine, not to a protocol.
    pub host_costs: ProcessorCosts,
    /// What PDUs cost the array.
    pub target_costs: ProcessorCosts,
}

/// Two trains, and whether the array works between them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub(crate) to_target: Train,
    pub(crate) array_works: bool,
    pub(crate) to_host: Train,
}

impl Turn {
    /// The only round of a sub-request.
    pub(crate) fn only(to_target: Train, to_host: Train) -> Self {
        Self { to_target, array_works: true, to_host }
    }
}

impl From<Protocol> for FrontEnd {
    /// A front end whose PDUs cost no processor time.
    fn from(protocol: Protocol) -> Self {
        let free = ProcessorCosts::default();
        Self { protocol, host_costs: free, target_costs: free }
    }
}

impl FrontEnd {
    /// The largest operation that is one request to the array, in bytes; 0 if each has several.
    #[must_use]
    pub fn largest_request_bytes(&self, direction: Direction) -> u64 {
        match direction == Direction::Write && self.commits() {
            true => 0,
            false => self.largest_bytes(direction),
        }
    }

    /// Round `round`, from 0, of a sub-request of an operation, which its kind and its bytes decide; `None` if it does
    /// not have as many.
    #[must_use]
    pub fn round(
        &self,
        direction: Direction,
        sub_request: &SubRequest,
        round: u32,
    ) -> Option<Round> {
        let turn = self.turn(sub_request.kind, direction, sub_request.bytes, round)?;
        let leg = |train: Train| Leg {
            host_ns: self.host_costs.of(direction, &train),
            target_ns: self.target_costs.of(direction, &train),
            train,
        };
        Some(Round {
            to_target: leg(turn.to_target),
            array_works: turn.array_works,
            to_host: leg(turn.to_host),
        })
    }

    /// What crosses the wire when a file or a LUN of `bytes` is read or written from start to end in operations of
    /// `operation_bytes`, the last one perhaps smaller: a file is opened, read or written, committed if its writes need
    /// that, and closed. An operation of 0 bytes counts as one of all bytes.
    #[must_use]
    pub fn copy_counts(
        &self,
        direction: Direction,
        bytes: u64,
        operation_bytes: u64,
    ) -> WireCounts {
        let operation_bytes = if operation_bytes == 0 { bytes.max(1) } else { operation_bytes };
        let mut counts = self.file_counts(direction);
        let operations = bytes / operation_bytes;
        if operations > 0 {
            counts.add(&self.exchange(direction, operation_bytes).wire_counts(), operations);
        }
        let rest = bytes - operations * operation_bytes;
        if rest > 0 {
            counts.add(&self.exchange(direction, rest).wire_counts(), 1);
        }
        counts
    }

    /// The largest sub-request, in bytes: at least 1.
    #[inline]
    pub(crate) fn largest_bytes(&self, direction: Direction) -> u64 {
        of_protocol!(&self.protocol, one => one.largest_bytes(direction)).max(1)
    }

    /// How many sub-requests of one operation may be in progress.
    pub(crate) fn in_flight(&self, direction: Direction, bytes: u64) -> u32 {
        let bytes = bytes.min(self.largest_bytes(direction));
        of_protocol!(&self.protocol, one => one.in_flight(bytes))
    }

    /// Whether an operation that writes ends with a commit.
    #[inline]
    pub(crate) fn commits(&self) -> bool {
        of_protocol!(&self.protocol, one => one.commits())
    }

    /// Round `round` of a sub-request.
    pub(crate) fn turn(
        &self,
        kind: SubRequestKind,
        direction: Direction,
        bytes: u64,
        round: u32,
    ) -> Option<Turn> {
        match kind {
            SubRequestKind::Commit => {
                of_protocol!(&self.protocol, one => one.commit()).filter(|_| round == 0)
            }
            SubRequestKind::Transfer => {
                of_protocol!(&self.protocol, one => one.turn(direction, bytes, round))
            }
        }
    }

    /// What opening and closing a file puts on the wire.
    fn file_counts(&self, direction: Direction) -> WireCounts {
        let mut counts = WireCounts::default();
        of_protocol!(&self.protocol, one => one.add_file_calls(direction, &mut counts));
        counts
    }
}
