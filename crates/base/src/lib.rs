//! What every part of Strewn shares: sizes, the direction of a transfer, and random numbers that repeat.
//!
//! ```
//! use strewn_base::{BLOCK_BYTES, BLOCK_SECTORS, Direction, SECTOR_BYTES};
//!
//! assert_eq!(BLOCK_SECTORS * SECTOR_BYTES, BLOCK_BYTES);
//! assert_eq!(Direction::Read.to_string(), "read");
//! ```

mod direction;
#[cfg(feature = "rng")]
mod rng;
mod units;

pub use direction::Direction;
#[cfg(feature = "rng")]
pub use rng::Rng;
pub use units::{BLOCK_BYTES, BLOCK_SECTORS, ROW_STRIPES, SECTOR_BYTES};
