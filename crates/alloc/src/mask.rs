//! The bits of a word, one by one and in runs.

/// The set bits of `mask`, ascending.
pub fn bits(mut mask: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (bit < u64::BITS).then_some(bit)
    })
}

/// The runs of set bits of `mask`, ascending: the first bit of each and its length.
pub fn runs(mut mask: u64) -> impl Iterator<Item = (u32, u32)> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let first = mask.trailing_zeros();
        let blocks = (!(mask >> first)).trailing_zeros();
        mask &= if first + blocks == u64::BITS { 0 } else { u64::MAX << (first + blocks) };
        Some((first, blocks))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_bits_of_a_mask() {
        assert_eq!(runs(0).count(), 0);
        assert_eq!(runs(u64::MAX).collect::<Vec<_>>(), [(0, 64)]);
        assert_eq!(
            runs(0b1011_0001 | 1 << 63).collect::<Vec<_>>(),
            [(0, 1), (4, 2), (7, 1), (63, 1)]
        );
        assert_eq!(bits(0b1001 | 1 << 63).collect::<Vec<_>>(), [0, 3, 63]);
    }
}
