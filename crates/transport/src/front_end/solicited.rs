//! Writes whose data the target asks for: iSCSI's R2T, and FCP's XFER_RDY.

/// The rounds of a write. The first one carries what needs no permission, and each later one what was permitted before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SolicitedWrite {
    /// Data of the write.
    pub(super) bytes: u64,
    /// Data of the first round.
    pub(super) first_bytes: u64,
    /// The largest burst that one permission covers: at least 1.
    pub(super) burst_bytes: u64,
    /// Permissions that may be given at once: at least 1.
    pub(super) bursts_at_once: u32,
}

/// A round of such a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SolicitedRound {
    /// Data that the host sends.
    pub(super) bytes: u64,
    /// Permissions that the target then gives; 0 in the last round, which ends with the response.
    pub(super) permissions: u32,
}

impl SolicitedWrite {
    /// Round `round`, from 0; `None` after the last one.
    pub(super) fn round(&self, round: u32) -> Option<SolicitedRound> {
        let round_bytes = self.burst_bytes.saturating_mul(self.bursts_at_once.into());
        let sent_bytes = match round {
            0 => 0,
            _ => self.first_bytes.saturating_add(round_bytes.saturating_mul(u64::from(round) - 1)),
        };
        if round > 0 && sent_bytes >= self.bytes {
            return None;
        }
        let allowed_bytes = if round == 0 { self.first_bytes } else { round_bytes };
        let bytes = allowed_bytes.min(self.bytes - sent_bytes);
        let left_bytes = self.bytes - sent_bytes - bytes;
        let bursts = left_bytes.div_ceil(self.burst_bytes).min(self.bursts_at_once.into());
        Some(SolicitedRound { bytes, permissions: bursts as u32 })
    }
}
