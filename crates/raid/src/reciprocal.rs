//! Division by a number fixed when a layout is made.

/// A divisor with its reciprocal, so that dividing costs two multiplications.
///
/// With `m = floor((2^64 - 1) / d)`, that is `m = (2^64 - f) / d` for some `1 <= f <= d`,
/// `n * m / 2^64 = n / d - (n / 2^64) * (f / d)`. The last term is at least 0 and less than 1
/// for every 64-bit `n`, so `floor(n * m / 2^64)` is the quotient or one less, and a single
/// correction by the remainder makes it exact. No bound on `n` or `d` is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reciprocal {
    divisor: u64,
    multiplier: u64,
}

impl Reciprocal {
    /// `divisor` must not be 0.
    pub(crate) fn new(divisor: u64) -> Self {
        assert!(divisor != 0, "a divisor must not be 0");
        Self { divisor, multiplier: u64::MAX / divisor }
    }

    /// The number divided by.
    #[inline]
    pub(crate) fn divisor(self) -> u64 {
        self.divisor
    }

    /// Quotient and remainder of `dividend`.
    #[inline]
    pub(crate) fn divide(self, dividend: u64) -> (u64, u64) {
        let estimate = ((u128::from(dividend) * u128::from(self.multiplier)) >> 64) as u64;
        let remainder = dividend - estimate * self.divisor;
        let short = u64::from(remainder >= self.divisor);
        (estimate + short, remainder - short * self.divisor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(dividend: u64, divisor: u64) {
        let found = Reciprocal::new(divisor).divide(dividend);
        assert_eq!(found, (dividend / divisor, dividend % divisor), "{dividend} / {divisor}");
    }

    #[test]
    fn exact_around_every_small_multiple() {
        for divisor in 1..=600 {
            for dividend in 0..=3 * divisor + 3 {
                check(dividend, divisor);
            }
        }
    }

    #[test]
    fn exact_at_the_corners() {
        let corners = (0..64)
            .flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1])
            .chain([u64::MAX - 1, u64::MAX])
            .collect::<Vec<_>>();
        for &divisor in corners.iter().filter(|&&divisor| divisor != 0) {
            for &dividend in &corners {
                check(dividend, divisor);
            }
            let last_multiple = u64::MAX - u64::MAX % divisor;
            check(last_multiple, divisor);
            check(last_multiple - 1, divisor);
        }
    }

    proptest! {
        #[test]
        fn exact_anywhere(dividend: u64, divisor in 1..=u64::MAX, shift in 0..64_u32) {
            check(dividend, (divisor >> shift).max(1));
        }

        #[test]
        fn exact_on_both_sides_of_a_multiple(quotient in 1..1_u64 << 28, divisor in 1..1_u64 << 36) {
            check(quotient * divisor - 1, divisor);
            check(quotient * divisor, divisor);
        }
    }
}
