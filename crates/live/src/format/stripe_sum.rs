//! The metadata that parity stores about the data that it covers.

/// A summary of a stripe's data in eight bytes: the exclusive or of the CRC-32Cs of its blocks, each as a 64-bit
/// number rotated left by its position in the stripe, 0 for the first.
///
/// The CRC of parity is the exclusive or of the data's CRCs, except for a constant, because CRCs are linear. Together
/// the two sums find a block whose CRC has changed: one gives the difference, and the other the position, because a
/// 32-bit number that is not zero equals itself rotated by fewer than 64 bits only for a rotation of zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct StripeSum(pub u64);

impl StripeSum {
    /// Returns the sum of data blocks with these CRCs.
    pub fn of(crcs: impl IntoIterator<Item = u32>) -> Self {
        let rotated = (0..).zip(crcs).map(|(at, crc)| u64::from(crc).rotate_left(at));
        Self(rotated.fold(0, |sum, one| sum ^ one))
    }

    /// Returns whether this sum would be `other` if the CRC of block `at` differed by `difference`.
    #[must_use]
    pub fn differs_by(self, other: Self, difference: u32, at: u32) -> bool {
        self.0 ^ other.0 == u64::from(difference).rotate_left(at)
    }
}
