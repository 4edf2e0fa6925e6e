//! What crosses the wire, counted by kind of PDU.

use crate::{PduKind, Toward, Train};

/// PDUs of one kind or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PduCount {
    /// Number of PDUs.
    pub pdus: u64,
    /// Bytes of headers, digests and padding above TCP or Fibre Channel framing.
    pub header_bytes: u64,
    /// Bytes of the user's data.
    pub payload_bytes: u64,
}

impl PduCount {
    fn add(&mut self, other: Self, times: u64) {
        self.pdus += other.pdus * times;
        self.header_bytes += other.header_bytes * times;
        self.payload_bytes += other.payload_bytes * times;
    }
}

/// PDUs and bytes by kind. A kind has one direction, so these are counts by direction too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireCounts {
    by_kind: [PduCount; PduKind::ALL.len()],
}

impl Default for WireCounts {
    fn default() -> Self {
        Self { by_kind: [PduCount::default(); PduKind::ALL.len()] }
    }
}

impl WireCounts {
    /// The count of one kind.
    #[must_use]
    pub fn of(&self, kind: PduKind) -> PduCount {
        self.by_kind[kind as usize]
    }

    /// The sum over all kinds that travel `toward` an end.
    #[must_use]
    pub fn toward(&self, toward: Toward) -> PduCount {
        let mut sum = PduCount::default();
        for (_, count) in self.kinds().filter(|(kind, _)| kind.toward() == toward) {
            sum.add(count, 1);
        }
        sum
    }

    /// The kinds that occur, in the order of [`PduKind::ALL`].
    pub fn kinds(&self) -> impl Iterator<Item = (PduKind, PduCount)> {
        PduKind::ALL.into_iter().zip(self.by_kind).filter(|(_, count)| count.pdus > 0)
    }

    /// Adds a train.
    pub fn add_train(&mut self, train: &Train) {
        for part in &train.parts {
            let count = PduCount {
                pdus: part.pdus.into(),
                header_bytes: part.header_bytes,
                payload_bytes: part.payload_bytes,
            };
            self.by_kind[part.kind as usize].add(count, 1);
        }
    }

    /// Adds `other`, `times` over.
    pub fn add(&mut self, other: &Self, times: u64) {
        for (count, other) in self.by_kind.iter_mut().zip(other.by_kind) {
            count.add(other, times);
        }
    }
}
