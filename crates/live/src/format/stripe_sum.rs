//! What parity keeps of the data that it covers.

/// The data of a stripe in eight bytes: the exclusive or of their CRC-32C, each a number of 64 bits rotated left by its
/// place in the stripe, 0 for the first.
///
/// The CRC of parity is the exclusive or of the data's, but for a constant, since CRCs are linear. With both a block of
/// which the CRC is another than it was is found: the one sum tells what it differs by, and the other tells where, because
/// a number of 32 bits that is not zero is the same as itself rotated by less than 64 bits only if that is not at all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct StripeSum(pub u64);

impl StripeSum {
    /// Of data blocks with these CRCs.
    pub fn of(crcs: impl IntoIterator<Item = u32>) -> Self {
        let rotated = (0..).zip(crcs).map(|(at, crc)| u64::from(crc).rotate_left(at));
        Self(rotated.fold(0, |sum, one| sum ^ one))
    }

    /// Whether it would be `other` if the CRC of block `at` differed by `difference`.
    #[must_use]
    pub fn differs_by(self, other: Self, difference: u32, at: u32) -> bool {
        self.0 ^ other.0 == u64::from(difference).rotate_left(at)
    }
}
