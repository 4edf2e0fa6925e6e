//! Limits on what clients may ask of a server, and on how long they may keep it waiting.

use std::time::Duration;

use strewn_base::SECTOR_BYTES;

use super::server_error::ServerError;

/// The protocol requires that unfragmented reads of this size are possible.
const UNFRAGMENTED_BYTES: u32 = 64 << 10;

/// Limits on what clients may ask of a server, and on how long they may keep it waiting.
///
/// A write's bytes are in flight from before they are read until the write is answered, a read's from its submission
/// until the client's socket has taken them. Half of [`bytes_in_flight`](Self::bytes_in_flight) is divided equally
/// among all possible connections, and reserved for them: a request that fits into its connection's part never waits
/// for another client. The other half is shared, first come, first served.
///
/// Besides these bytes a connection has two threads and two buffers of 64 KiB.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Most connections at a time, including those in their handshake. For one more, a client is disconnected that
    /// has been [idle](Self::idle_timeout): one that never sent a request, or else the one that has been idle for
    /// longest. If all are busy, the new one is closed.
    pub connections: usize,
    /// Most unanswered requests of one connection. At the limit the server stops reading from it.
    pub requests_per_connection: usize,
    /// Most bytes in flight of one connection. At the limit the server stops reading from it.
    pub bytes_per_connection: u64,
    /// Most bytes in flight of all connections together.
    pub bytes_in_flight: u64,
    /// The largest read or write; clients are told. A multiple of 512, and at least 64 KiB.
    pub largest_request_bytes: u32,
    /// Most extents in one answer about allocation.
    pub extents_per_answer: usize,
    /// Most bytes in an option of the handshake.
    pub option_bytes: u32,
    /// Most options that a client may send before it chooses its export.
    pub options: usize,
    /// Longest handshake.
    pub handshake_timeout: Duration,
    /// Longest pause of a client within a message: while it sends a request, or takes a reply. Between requests it
    /// may be idle indefinitely, unless its place is needed.
    pub stalled_timeout: Duration,
    /// How long a client must have been idle to lose its place to another: with no request in the export, and with
    /// nothing sent or taken; or connected without any request.
    pub idle_timeout: Duration,
    /// How long a stopping server waits for requests in flight before it closes their connections.
    pub stop_timeout: Duration,
}

impl Default for Limits {
    /// Returns limits for 32 connections with at most 512 MiB in flight, of which 8 MiB are reserved for each
    /// connection.
    fn default() -> Self {
        Self {
            connections: 32,
            requests_per_connection: 128,
            bytes_per_connection: 64 << 20,
            bytes_in_flight: 512 << 20,
            largest_request_bytes: 32 << 20,
            extents_per_answer: 4096,
            option_bytes: 64 << 10,
            // A client that lists the exports may ask about each, twice.
            options: 4_096,
            handshake_timeout: Duration::from_secs(10),
            stalled_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_millis(100),
            stop_timeout: Duration::from_secs(30),
        }
    }
}

impl Limits {
    /// Returns the bytes in flight reserved for each connection: its part of half of
    /// [`bytes_in_flight`](Self::bytes_in_flight).
    #[must_use]
    pub fn reserved_bytes_per_connection(&self) -> u64 {
        self.bytes_in_flight / 2 / (self.connections.max(1) as u64)
    }

    /// Returns how long a client waits for a place: until others have been idle, and have left.
    pub(super) fn wait_for_place(&self) -> Duration {
        self.idle_timeout + Duration::from_secs(1)
    }

    /// Returns the bytes in flight that are shared.
    pub(super) fn shared_bytes(&self) -> u64 {
        self.bytes_in_flight - self.reserved_bytes_per_connection() * self.connections as u64
    }

    /// Checks that a server can run with these limits.
    ///
    /// # Errors
    ///
    /// If a required limit is 0, or a request of the largest size would never fit.
    pub fn check(&self) -> Result<(), ServerError> {
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
            return Err(ServerError::ZeroLimit(name));
        }
        let largest = self.largest_request_bytes;
        if largest < UNFRAGMENTED_BYTES || !u64::from(largest).is_multiple_of(SECTOR_BYTES) {
            return Err(ServerError::LargestRequest(largest));
        }
        let largest = u64::from(largest).max(self.allocation_bytes());
        let alone = self.reserved_bytes_per_connection() + self.shared_bytes();
        for (which, allowed) in
            [("bytes_per_connection", self.bytes_per_connection), ("bytes_in_flight", alone)]
        {
            if allowed < largest {
                return Err(ServerError::NeverFits { which, allowed, largest });
            }
        }
        Ok(())
    }

    /// Returns the most memory that an answer about allocation can take.
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
        limits.check().unwrap();
        assert_eq!(limits.reserved_bytes_per_connection(), 8 << 20);
        assert_eq!(limits.shared_bytes(), 256 << 20);
    }

    #[test]
    fn what_can_never_work_is_refused() {
        let limits = Limits { connections: 0, ..Limits::default() };
        assert!(matches!(limits.check(), Err(ServerError::ZeroLimit("connections"))));
        let limits = Limits { largest_request_bytes: 65_537, ..Limits::default() };
        assert!(matches!(limits.check(), Err(ServerError::LargestRequest(65_537))));
        let limits = Limits { bytes_per_connection: 1 << 20, ..Limits::default() };
        assert!(matches!(
            limits.check(),
            Err(ServerError::NeverFits { which: "bytes_per_connection", .. })
        ));
        let limits = Limits { bytes_in_flight: 40 << 20, ..Limits::default() };
        assert!(matches!(
            limits.check(),
            Err(ServerError::NeverFits { which: "bytes_in_flight", .. })
        ));
    }
}
