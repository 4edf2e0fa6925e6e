//! How much clients may ask of a server, and for how long they may keep it waiting.

use std::time::Duration;

use strewn_base::SECTOR_BYTES;

/// The protocol wants unfragmented reads of this size to be possible.
const UNFRAGMENTED_BYTES: u32 = 64 << 10;

/// How much clients may ask of a server, and for how long they may keep it waiting.
///
/// The bytes in flight are those of writes from before they are read until they are answered, and those of reads from
/// their submission until the client's socket took them. One half of
/// [`bytes_in_flight`](Self::bytes_in_flight) is divided among all connections that there may be, and a connection's part
/// is its own: a request that fits into it never waits for another client. The other half is for whoever comes first.
///
/// Beside these bytes a connection has two threads and two buffers of 64 KiB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Connections at a time, those in their handshake included. One more is closed as soon as it is accepted.
    pub connections: usize,
    /// Requests of one connection that are not answered yet. With as many the server stops reading from it.
    pub requests_per_connection: usize,
    /// Bytes in flight of one connection. With as many the server stops reading from it.
    pub bytes_per_connection: u64,
    /// Bytes in flight of all connections together.
    pub bytes_in_flight: u64,
    /// The largest read or write, which clients are told. A multiple of 512, and at least 64 KiB.
    pub largest_request_bytes: u32,
    /// Extents in one answer to a question for the allocation.
    pub extents_per_answer: usize,
    /// Bytes that an option of the handshake may have.
    pub option_bytes: u32,
    /// Options that a client may send before it chooses its export.
    pub options: usize,
    /// How long a handshake may take.
    pub handshake_timeout: Duration,
    /// How long a client may stop within a message: not send the rest of a request, or not take the rest of a reply. It
    /// may be idle between requests for as long as it likes.
    pub stalled_timeout: Duration,
    /// How long a server that is stopped waits for requests in flight before it closes their connections.
    pub stop_timeout: Duration,
}

impl Default for Limits {
    /// 32 connections with at most 512 MiB in flight, of which 8 MiB are each connection's own.
    fn default() -> Self {
        Self {
            connections: 32,
            requests_per_connection: 128,
            bytes_per_connection: 64 << 20,
            bytes_in_flight: 512 << 20,
            largest_request_bytes: 32 << 20,
            extents_per_answer: 4096,
            option_bytes: 64 << 10,
            options: 256,
            handshake_timeout: Duration::from_secs(10),
            stalled_timeout: Duration::from_secs(30),
            stop_timeout: Duration::from_secs(30),
        }
    }
}

/// Limits that contradict each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LimitsError {
    /// Something of which there must be at least one is none.
    #[error("{0} is 0; it must be at least 1")]
    Nothing(&'static str),
    /// The largest request is not one that the protocol allows.
    #[error("largest_request_bytes is {0}; it must be a multiple of 512 and at least 65536")]
    LargestRequest(u32),
    /// A request of the largest size would wait for ever.
    #[error(
        "{which} lets a connection have {allowed} bytes in flight, and one request may need {largest}; raise it, or lower \
         largest_request_bytes and extents_per_answer"
    )]
    NeverFits {
        /// The limit that is too low.
        which: &'static str,
        /// What it lets a connection have.
        allowed: u64,
        /// What a request may need.
        largest: u64,
    },
}

impl Limits {
    /// The bytes that each connection may have in flight whatever the others have: a half of
    /// [`bytes_in_flight`](Self::bytes_in_flight), divided.
    #[must_use]
    pub fn reserved_bytes_per_connection(&self) -> u64 {
        self.bytes_in_flight / 2 / (self.connections.max(1) as u64)
    }

    /// The bytes in flight that are for whoever comes first.
    pub(super) fn shared_bytes(&self) -> u64 {
        self.bytes_in_flight - self.reserved_bytes_per_connection() * self.connections as u64
    }

    /// Whether a server can be run with them.
    ///
    /// # Errors
    ///
    /// When there may be none of something that it needs, or when a request of the largest size would never fit.
    pub fn check(&self) -> Result<(), LimitsError> {
        let counts = [
            ("connections", self.connections as u128),
            ("requests_per_connection", self.requests_per_connection as u128),
            ("extents_per_answer", self.extents_per_answer as u128),
            ("option_bytes", self.option_bytes.into()),
            ("options", self.options as u128),
            ("handshake_timeout", self.handshake_timeout.as_nanos()),
            ("stalled_timeout", self.stalled_timeout.as_nanos()),
        ];
        if let Some((name, _)) = counts.into_iter().find(|&(_, count)| count == 0) {
            return Err(LimitsError::Nothing(name));
        }
        let largest = self.largest_request_bytes;
        if largest < UNFRAGMENTED_BYTES || !u64::from(largest).is_multiple_of(SECTOR_BYTES) {
            return Err(LimitsError::LargestRequest(largest));
        }
        let largest = u64::from(largest).max(self.allocation_bytes());
        let alone = self.reserved_bytes_per_connection() + self.shared_bytes();
        for (which, allowed) in
            [("bytes_per_connection", self.bytes_per_connection), ("bytes_in_flight", alone)]
        {
            if allowed < largest {
                return Err(LimitsError::NeverFits { which, allowed, largest });
            }
        }
        Ok(())
    }

    /// What an answer to a question for the allocation may take.
    pub(super) fn allocation_bytes(&self) -> u64 {
        (self.extents_per_answer as u64).saturating_mul(size_of::<super::Extent>() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_can_be_run_and_leave_each_connection_its_part() {
        let limits = Limits::default();
        assert_eq!(limits.check(), Ok(()));
        assert_eq!(limits.reserved_bytes_per_connection(), 8 << 20);
        assert_eq!(limits.shared_bytes(), 256 << 20);
    }

    #[test]
    fn what_can_never_work_is_refused() {
        let limits = Limits { connections: 0, ..Limits::default() };
        assert_eq!(limits.check(), Err(LimitsError::Nothing("connections")));
        let limits = Limits { largest_request_bytes: 65_537, ..Limits::default() };
        assert_eq!(limits.check(), Err(LimitsError::LargestRequest(65_537)));
        let limits = Limits { bytes_per_connection: 1 << 20, ..Limits::default() };
        assert!(matches!(
            limits.check(),
            Err(LimitsError::NeverFits { which: "bytes_per_connection", .. })
        ));
        let limits = Limits { bytes_in_flight: 40 << 20, ..Limits::default() };
        assert!(matches!(
            limits.check(),
            Err(LimitsError::NeverFits { which: "bytes_in_flight", .. })
        ));
    }
}
