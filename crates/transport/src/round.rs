//! What an exchange is made of: rounds of sub-requests, each in legs.

use strewn_base::state::SavedValue;

use crate::{Direction, Train};

/// What PDUs cost a processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, SavedValue)]
pub struct ProcessorCosts {
    /// Nanoseconds for each PDU sent or received.
    pub pdu_ns: u64,
    /// Nanoseconds for each KiB of payload of operations that read.
    pub read_kib_ns: u64,
    /// Nanoseconds for each KiB of payload of operations that write.
    pub write_kib_ns: u64,
}

impl ProcessorCosts {
    /// Costs that do not depend on the direction.
    #[must_use]
    pub const fn of_both(pdu_ns: u64, kib_ns: u64) -> Self {
        Self { pdu_ns, read_kib_ns: kib_ns, write_kib_ns: kib_ns }
    }

    /// Nanoseconds for a train of an operation.
    #[must_use]
    pub fn of(&self, direction: Direction, train: &Train) -> u64 {
        let kib_ns = match direction {
            Direction::Read => self.read_kib_ns,
            Direction::Write => self.write_kib_ns,
        };
        self.pdu_ns * u64::from(train.pdus()) + kib_ns * train.payload_bytes() / 1024
    }
}

/// What a sub-request asks of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, SavedValue)]
pub enum SubRequestKind {
    /// A part of the operation's bytes.
    Transfer,
    /// To make earlier writes durable (NFS COMMIT). It begins when all transfers of the exchange are done.
    Commit,
}

/// One request that the array gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, SavedValue)]
pub struct SubRequest {
    /// What it asks for.
    pub kind: SubRequestKind,
    /// Where it begins, in bytes from the start of the operation.
    pub offset_bytes: u64,
    /// Its bytes; 0 for a commit.
    pub bytes: u64,
}

/// A train in one direction, and what it costs the processors at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, SavedValue)]
pub struct Leg {
    /// What crosses the network; perhaps nothing.
    pub train: Train,
    /// Nanoseconds of the host's processor, before it sends the train or after it received it.
    pub host_ns: u64,
    /// Nanoseconds of the array's processor, likewise.
    pub target_ns: u64,
}

/// A train from host to array, and what comes back. The next round begins when the host has what came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, SavedValue)]
pub struct Round {
    /// From the host to the array.
    pub to_target: Leg,
    /// Whether the array reads or writes between the two legs. True in exactly one round of a sub-request, the last
    /// one.
    pub array_works: bool,
    /// From the array to the host.
    pub to_host: Leg,
}
