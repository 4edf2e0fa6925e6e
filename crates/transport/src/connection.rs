//! A flow between a host's port and an array's.

use strewn_base::state::SavedValue;
use thiserror::Error;

use crate::PathId;
use crate::tcp::{Route, Sender, TcpOptions};

/// What carries PDUs on the first link of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, SavedValue)]
pub enum Transport {
    /// TCP, over Ethernet or InfiniBand.
    Tcp(TcpOptions),
    /// Fibre Channel, class 3.
    FibreChannel(FibreChannelOptions),
}

/// What an initiator does when Fibre Channel loses a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, SavedValue)]
pub struct FibreChannelOptions {
    /// After this time, in nanoseconds, the initiator aborts the operation and starts it again.
    pub retry_timeout_ns: u64,
}

impl Default for FibreChannelOptions {
    /// 30 s, Linux's timeout of a SCSI disk (`/sys/block/*/device/timeout`).
    fn default() -> Self {
        Self { retry_timeout_ns: 30_000_000_000 }
    }
}

/// The state of a flow: plain data, made by [`Network::connect`](crate::Network::connect). Its trains arrive in the
/// order in which they were sent, also where they took different lanes.
#[derive(Clone, Debug, PartialEq, Eq, SavedValue)]
pub struct Connection {
    pub(crate) path: PathId,
    pub(crate) flow: u64,
    pub(crate) transport: Transport,
    pub(crate) route: Route,
    pub(crate) senders: [Sender; 2],
    /// By direction: nothing leaves earlier, because something before it is being retransmitted.
    pub(crate) ready_ns: [u64; 2],
    /// By direction: when the last train arrived.
    pub(crate) arrived_ns: [u64; 2],
    pub(crate) retransmissions: u64,
}

impl Connection {
    /// The path that it uses.
    #[must_use]
    pub fn path(&self) -> PathId {
        self.path
    }

    /// What lanes are chosen by.
    #[must_use]
    pub fn flow(&self) -> u64 {
        self.flow
    }

    /// From the first byte of a full frame to its acknowledgement, on idle links, in nanoseconds.
    #[must_use]
    pub fn round_trip_ns(&self) -> u64 {
        self.route.round_trip_ns
    }

    /// Trains that TCP has sent again.
    #[must_use]
    pub fn retransmissions(&self) -> u64 {
        self.retransmissions
    }
}

/// When a train arrives, in nanoseconds from the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When its first frame is complete.
    pub first_ns: u64,
    /// When all of it is there.
    pub last_ns: u64,
}

/// A train that does not arrive, because a link is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the train was lost {lost_ns} ns from the start, because a link is down")]
pub struct Lost {
    /// When it was lost, in nanoseconds from the start.
    pub lost_ns: u64,
    /// When the initiator starts the whole operation again; `None` if the connection is broken.
    pub retry_ns: Option<u64>,
}
