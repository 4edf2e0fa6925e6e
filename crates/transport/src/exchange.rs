//! A host's operation as its protocol carries it out.

use crate::Round;
use crate::SubRequest;
use crate::SubRequestKind;
use strewn_base::state::SavedValue;

use crate::{Direction, FrontEnd, WireCounts};

/// A host's operation as sub-requests, each a number of rounds. It is computed as it is read, without allocation, and
/// names what it consists of by index, so that a simulation keeps two numbers for each operation in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, SavedValue)]
pub struct Exchange {
    pub(crate) front_end: FrontEnd,
    pub(crate) direction: Direction,
    pub(crate) bytes: u64,
}

impl FrontEnd {
    /// The exchange for an operation of `bytes`. Cheap, so it can be made again whenever it is looked at.
    #[inline]
    #[must_use]
    pub fn exchange(&self, direction: Direction, bytes: u64) -> Exchange {
        Exchange { front_end: *self, direction, bytes }
    }
}

impl Exchange {
    /// Whether the operation reads or writes.
    #[must_use]
    pub fn direction(&self) -> Direction {
        self.direction
    }

    /// Bytes of the operation.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many requests the array gets. 0 if the operation has no bytes.
    #[inline]
    #[must_use]
    pub fn sub_requests(&self) -> u32 {
        self.transfers().saturating_add(self.commits().into())
    }

    /// How many sub-requests may be in progress at once, by the protocol: at least 1. A [`SubRequestKind::Commit`]
    /// waits for all others.
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.front_end.in_flight(self.direction, self.bytes).max(1)
    }

    /// Sub-request `index`, from 0; `None` if there are not as many.
    #[must_use]
    pub fn sub_request(&self, index: u32) -> Option<SubRequest> {
        let largest_bytes = self.front_end.largest_bytes(self.direction);
        let transfers = self.transfers();
        if index < transfers {
            let offset_bytes = u64::from(index) * largest_bytes;
            let bytes = largest_bytes.min(self.bytes - offset_bytes);
            Some(SubRequest { kind: SubRequestKind::Transfer, offset_bytes, bytes })
        } else if index == transfers && self.commits() {
            Some(SubRequest { kind: SubRequestKind::Commit, offset_bytes: 0, bytes: 0 })
        } else {
            None
        }
    }

    /// Round `round` of sub-request `index`, both from 0; `None` if there are not as many.
    #[must_use]
    pub fn round(&self, index: u32, round: u32) -> Option<Round> {
        self.front_end.round(self.direction, &self.sub_request(index)?, round)
    }

    /// The rounds of sub-request `index`, in order.
    #[must_use]
    pub fn rounds(&self, index: u32) -> Rounds {
        Rounds { exchange: *self, index, next: 0 }
    }

    /// What crosses the wire in all sub-requests.
    #[must_use]
    pub fn wire_counts(&self) -> WireCounts {
        let mut counts = WireCounts::default();
        let count = self.sub_requests();
        // All transfers but the last one are alike.
        let alike = self.transfers().saturating_sub(1);
        if alike > 0 {
            counts.add(&self.sub_request_counts(0), alike.into());
        }
        for index in alike..count {
            counts.add(&self.sub_request_counts(index), 1);
        }
        counts
    }

    fn sub_request_counts(&self, index: u32) -> WireCounts {
        let mut counts = WireCounts::default();
        for round in self.rounds(index) {
            counts.add_train(&round.to_target.train);
            counts.add_train(&round.to_host.train);
        }
        counts
    }

    #[inline]
    fn transfers(&self) -> u32 {
        let largest_bytes = self.front_end.largest_bytes(self.direction);
        if self.bytes <= largest_bytes {
            return u32::from(self.bytes > 0);
        }
        u32::try_from(self.bytes.div_ceil(largest_bytes)).unwrap_or(u32::MAX)
    }

    #[inline]
    fn commits(&self) -> bool {
        self.direction == Direction::Write && self.bytes > 0 && self.front_end.commits()
    }
}

/// The rounds of a sub-request, in order.
#[derive(Clone, Debug)]
pub struct Rounds {
    exchange: Exchange,
    index: u32,
    next: u32,
}

impl Iterator for Rounds {
    type Item = Round;

    fn next(&mut self) -> Option<Round> {
        let round = self.exchange.round(self.index, self.next)?;
        self.next += 1;
        Some(round)
    }
}
