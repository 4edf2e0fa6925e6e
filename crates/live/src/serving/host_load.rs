//! What hosts have asked of a served array, and how long it took.

use crate::engine::HostRequest;

/// What a request does to the array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// It reads.
    Read,
    /// It writes.
    Write,
    /// It discards, or writes zeros without data.
    Unmap,
}

impl Direction {
    /// All of them, in the order of [`HostLoad::by_direction`].
    pub const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Unmap];

    /// Returns its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Unmap => "unmap",
        }
    }

    /// Returns what a request does, or `None` for those that move no data.
    pub(super) fn of(request: &HostRequest) -> Option<Self> {
        match request {
            HostRequest::Read(_) => Some(Self::Read),
            HostRequest::Write { .. } => Some(Self::Write),
            HostRequest::Unmap(_) | HostRequest::Zero(_) => Some(Self::Unmap),
            HostRequest::Flush | HostRequest::Allocation(_) => None,
        }
    }
}

/// Requests of one direction since the array started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DirectionLoad {
    /// Requests that were answered, errors too.
    pub requests: u64,
    /// Those of them that were answered with an error.
    pub errors: u64,
    /// Bytes of those that were not.
    pub bytes: u64,
    /// Nanoseconds of all of them together, from arrival to answer.
    pub response_ns: u64,
    /// How many took at most as long as each bound of [`RESPONSE_BOUNDS_NS`] and longer than the one before; the last
    /// is of those that took longer than all.
    pub responses: [u64; RESPONSE_BOUNDS_NS.len() + 1],
}

/// Bounds of the histogram of response times, nanoseconds: 50 µs to 5 s in steps of 1, 2, 5. Chosen: a hit in the cache
/// is below the first, and what takes longer than the last is an outage to a host.
pub const RESPONSE_BOUNDS_NS: [u64; 16] = [
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
];

/// What hosts have asked of an array since it started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostLoad {
    /// In the order of [`Direction::ALL`].
    pub by_direction: [DirectionLoad; Direction::ALL.len()],
}

impl HostLoad {
    /// Counts an answer that came `response_ns` after its request.
    pub(super) fn count(
        &mut self,
        direction: Direction,
        bytes: u64,
        response_ns: u64,
        is_error: bool,
    ) {
        let load = &mut self.by_direction[direction as usize];
        load.requests += 1;
        match is_error {
            true => load.errors += 1,
            false => load.bytes += bytes,
        }
        load.response_ns += response_ns;
        load.responses[RESPONSE_BOUNDS_NS.partition_point(|bound| *bound < response_ns)] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_its_own_class() {
        let mut load = HostLoad::default();
        load.count(Direction::Write, 512, 50_000, false);
        load.count(Direction::Write, 512, 50_001, false);
        load.count(Direction::Write, 512, 6_000_000_000, true);
        let writes = load.by_direction[1];
        assert_eq!((writes.requests, writes.errors, writes.bytes), (3, 1, 1024));
        assert_eq!((writes.responses[0], writes.responses[1], writes.responses[16]), (1, 1, 1));
        assert_eq!(writes.response_ns, 6_000_100_001);
    }
}
