//! What a protocol puts on the wire at once.

use strewn_base::state::SavedValue;

use crate::PduKind;

/// PDUs of one kind that follow each other, equal in size but for the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, SavedValue)]
pub struct TrainPart {
    /// What the PDUs are.
    pub kind: PduKind,
    /// Number of PDUs; 0 if the part is empty.
    pub pdus: u32,
    /// Bytes of headers, digests and padding of all PDUs together.
    pub header_bytes: u64,
    /// Bytes of the user's data in all PDUs together.
    pub payload_bytes: u64,
}

impl TrainPart {
    /// `pdus` PDUs with `header_bytes` each, which carry `payload_bytes` together.
    #[must_use]
    pub const fn new(kind: PduKind, pdus: u32, header_bytes: u32, payload_bytes: u64) -> Self {
        Self { kind, pdus, header_bytes: pdus as u64 * header_bytes as u64, payload_bytes }
    }

    /// No PDUs.
    #[must_use]
    pub const fn none() -> Self {
        Self::new(PduKind::Other, 0, 0, 0)
    }

    /// Headers and payload together, in bytes.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.header_bytes + self.payload_bytes
    }
}

/// What a protocol puts on the wire at once, in one direction: PDUs of one kind, and then perhaps PDUs of a second one,
/// such as data and the status that follows it.
///
/// ```
/// use strewn_transport::{PduKind, Train, TrainPart};
///
/// // 64 KiB of iSCSI data in eight PDUs of 8 KiB, the last with the status.
/// let train = Train::of(TrainPart::new(PduKind::IscsiDataIn, 8, 48, 65_536));
/// assert_eq!(train.bytes(), 65_536 + 8 * 48);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, SavedValue)]
pub struct Train {
    /// The parts, in the order in which they are sent. An unused part has no PDUs.
    pub parts: [TrainPart; 2],
}

impl Train {
    /// Nothing to send: the other end does not wait for it.
    pub const NONE: Self = Self { parts: [TrainPart::none(); 2] };

    /// A train of one part.
    #[must_use]
    pub const fn of(part: TrainPart) -> Self {
        Self { parts: [part, TrainPart::none()] }
    }

    /// This train with `part` behind it. Replaces the second part if there is one.
    #[must_use]
    pub const fn then(mut self, part: TrainPart) -> Self {
        self.parts[1] = part;
        self
    }

    /// Whether there is nothing to send.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.parts[0].pdus == 0 && self.parts[1].pdus == 0
    }

    /// Number of PDUs.
    #[must_use]
    pub const fn pdus(&self) -> u32 {
        self.parts[0].pdus + self.parts[1].pdus
    }

    /// Bytes of headers, digests and padding.
    #[must_use]
    pub const fn header_bytes(&self) -> u64 {
        self.parts[0].header_bytes + self.parts[1].header_bytes
    }

    /// Bytes of the user's data.
    #[must_use]
    pub const fn payload_bytes(&self) -> u64 {
        self.parts[0].payload_bytes + self.parts[1].payload_bytes
    }

    /// Everything above TCP or Fibre Channel framing, in bytes.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.parts[0].bytes() + self.parts[1].bytes()
    }
}
