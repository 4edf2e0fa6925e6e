//! The shape of a stripe: its data blocks and its parity.

use crate::layout_error::LayoutError;
use crate::stripe_code::StripeCode;
use crate::{Member, MemberSet};
use std::fmt;
use strewn_base::state::SavedValue;

/// The members of a stripe: `data_blocks` of data, then row parity, then for
/// [`StripeCode::RowDiagonal`] diagonal parity.
///
/// Plans are made for a shape, whichever spindles its members lie on: see
/// [`plan_read`](Self::plan_read), [`plan_update`](Self::plan_update) and
/// [`plan_rebuild`](Self::plan_rebuild).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, SavedValue)]
pub struct StripeShape {
    code: StripeCode,
    data_blocks: u16,
}

impl StripeShape {
    /// A stripe of `data_blocks` and the parity of `code`.
    ///
    /// # Errors
    ///
    /// [`LayoutError`] if there is no data block, or when there are more than 64 blocks in all.
    pub const fn new(code: StripeCode, data_blocks: u16) -> Result<Self, LayoutError> {
        if data_blocks == 0 || data_blocks > MemberSet::CAPACITY - code.parity_blocks() {
            return Err(LayoutError::StripeBlocks { code, data_blocks });
        }
        Ok(Self { code, data_blocks })
    }

    /// A shape whose sizes the caller has checked.
    pub(crate) const fn checked(code: StripeCode, data_blocks: u16) -> Self {
        Self { code, data_blocks }
    }

    /// The parity of the stripe.
    #[inline]
    pub const fn code(self) -> StripeCode {
        self.code
    }

    /// Data blocks of the stripe.
    #[inline]
    pub const fn data_blocks(self) -> u16 {
        self.data_blocks
    }

    /// Parity blocks of the stripe: 0, 1 or 2.
    #[inline]
    pub const fn parity_blocks(self) -> u16 {
        self.code.parity_blocks()
    }

    /// Blocks of the stripe, parity included.
    #[inline]
    pub const fn blocks(self) -> u16 {
        self.data_blocks + self.parity_blocks()
    }

    /// All members.
    #[inline]
    pub const fn members(self) -> MemberSet {
        MemberSet::first(self.blocks())
    }

    /// The data blocks.
    #[inline]
    pub const fn data(self) -> MemberSet {
        MemberSet::first(self.data_blocks)
    }

    /// The parity blocks.
    #[inline]
    pub const fn parity(self) -> MemberSet {
        self.members().difference(self.data())
    }

    /// The block of row parity.
    ///
    /// # Panics
    ///
    /// If the stripe has no parity.
    #[inline]
    pub const fn row_parity(self) -> Member {
        assert!(self.parity_blocks() > 0, "a stripe without parity has no row parity");
        Member(self.data_blocks as u8)
    }

    /// The block of diagonal parity, if the stripe has one.
    #[inline]
    pub const fn diagonal_parity(self) -> Option<Member> {
        match self.code {
            StripeCode::None | StripeCode::Row => None,
            StripeCode::RowDiagonal => Some(Member(self.data_blocks as u8 + 1)),
        }
    }
}

impl fmt::Display for StripeShape {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}+{}", self.data_blocks, self.parity_blocks())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parity_follows_the_data() {
        let shape = StripeShape::new(StripeCode::RowDiagonal, 18).unwrap();
        assert_eq!(shape.to_string(), "18+2");
        assert_eq!(shape.parity().to_string(), "{18, 19}");
        assert_eq!(shape.row_parity(), Member(18));
        assert_eq!(shape.diagonal_parity(), Some(Member(19)));
        let shape = StripeShape::new(StripeCode::Row, 4).unwrap();
        assert_eq!(shape.parity().to_string(), "{4}");
        assert_eq!(shape.diagonal_parity(), None);
    }

    #[test]
    fn sizes_that_do_not_fit_are_errors() {
        assert!(StripeShape::new(StripeCode::Row, 63).is_ok());
        assert_eq!(
            StripeShape::new(StripeCode::RowDiagonal, 63).unwrap_err().to_string(),
            "a stripe with row-diagonal parity has 1 to 62 data blocks, not 63"
        );
        assert!(StripeShape::new(StripeCode::Row, 0).is_err());
    }
}
