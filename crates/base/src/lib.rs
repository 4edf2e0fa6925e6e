#![doc = include_str!("../README.md")]
#![cfg_attr(test, allow(clippy::unwrap_used))]

// For the paths of what is derived.
extern crate self as strewn_base;

mod calendar;
mod direction;
pub mod memory;
#[cfg(feature = "nearest")]
mod nearest;
mod overlap;
#[cfg(feature = "rng")]
mod rng;
pub mod state;
mod units;

pub use calendar::{Booking, Calendar};
pub use direction::Direction;
#[cfg(feature = "nearest")]
pub use nearest::nearest;
pub use overlap::overlap;
#[cfg(feature = "rng")]
pub use rng::Rng;
pub use units::{BLOCK_BYTES, BLOCK_SECTORS, ROW_STRIPES, SECTOR_BYTES};
