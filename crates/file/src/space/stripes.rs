//! Bytes in stripes over devices, as LVM lays out the segments of a volume.

use super::{ParityLayout, Piece};

/// Where the bytes of a volume of an address space lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StripeMap {
    /// Bytes of a stripe on one device; not 0.
    pub stripe_bytes: u64,
    /// The device of each column, and its byte that the volume's byte 0 is in; one column is a device as it is.
    pub columns: Vec<(u16, u64)>,
    /// Where parity is among them, if there is any.
    pub parity: Option<ParityLayout>,
}

impl StripeMap {
    /// All bytes of `device`.
    #[must_use]
    pub fn whole(device: u16) -> Self {
        Self { stripe_bytes: u64::MAX, columns: vec![(device, 0)], parity: None }
    }

    /// Appends the pieces of `bytes` from `byte` on. Returns how many bytes were found.
    pub(super) fn read(&self, byte: u64, bytes: u64, pieces: &mut Vec<Piece>) -> u64 {
        let (columns, stripe_bytes) = (self.columns.len() as u64, self.stripe_bytes.max(1));
        let data = columns.saturating_sub(self.parity.map_or(0, ParityLayout::parities));
        if data == 0 {
            return 0;
        }
        let from = pieces.len();
        let (mut at, end) = (byte, byte.saturating_add(bytes));
        while at < end {
            let (unit, within) = (at / stripe_bytes, at % stripe_bytes);
            let (stripe, number) = (unit / data, unit % data);
            let column = self.parity.map_or(number, |of| of.device(stripe, number, columns));
            let (device, first) = self.columns[column as usize];
            let bytes = (stripe_bytes - within).min(end - at);
            let on_device = stripe.saturating_mul(stripe_bytes).saturating_add(within);
            let piece = Piece { device, byte: first.saturating_add(on_device), bytes };
            piece.append_to(pieces, from);
            at += bytes;
        }
        end - byte
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripes_go_from_device_to_device() {
        let map =
            StripeMap { stripe_bytes: 4096, columns: vec![(0, 1 << 20), (3, 0)], parity: None };
        let mut pieces = Vec::new();
        assert_eq!(map.read(2048, 10_240, &mut pieces), 10_240);
        let piece = |device, byte, bytes| Piece { device, byte, bytes };
        let expected =
            [piece(0, (1 << 20) + 2048, 2048), piece(3, 0, 4096), piece(0, (1 << 20) + 4096, 4096)];
        assert_eq!(pieces, expected);
        pieces.clear();
        // Two devices cannot have two parities.
        assert_eq!(
            StripeMap { parity: Some(ParityLayout::ZeroRestart), ..map }.read(0, 1, &mut pieces),
            0
        );
        assert_eq!(StripeMap::whole(2).read(1 << 40, 1 << 30, &mut pieces), 1 << 30);
        assert_eq!(pieces, [piece(2, 1 << 40, 1 << 30)]);
    }
}
