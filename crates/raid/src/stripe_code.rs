//! The parity that a stripe carries.

use std::fmt;
use strewn_base::state::SavedValue;

/// The parity that a stripe carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, SavedValue)]
pub enum StripeCode {
    /// None: RAID-0.
    None,
    /// One block, the exclusive or of the data blocks: RAID-4, RAID-5 and VRAID-5.
    Row,
    /// That block and one of diagonal parity: RAID-DP (row-diagonal parity: Corbett et al.,
    /// FAST 2004; US 6,993,701).
    RowDiagonal,
}

impl StripeCode {
    /// Parity blocks of a stripe, which is also the number of losses it survives: 0, 1 or 2.
    #[inline]
    pub const fn parity_blocks(self) -> u16 {
        match self {
            Self::None => 0,
            Self::Row => 1,
            Self::RowDiagonal => 2,
        }
    }
}

impl fmt::Display for StripeCode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::None => "no parity",
            Self::Row => "row parity",
            Self::RowDiagonal => "row-diagonal parity",
        })
    }
}
