#![doc = include_str!("../README.md")]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod calendar;
mod direction;
pub mod memory;
#[cfg(feature = "rng")]
mod rng;
#[cfg(feature = "state")]
pub mod state;
mod units;

pub use calendar::{Booking, Calendar};
pub use direction::Direction;
#[cfg(feature = "rng")]
pub use rng::Rng;
pub use units::{BLOCK_BYTES, BLOCK_SECTORS, ROW_STRIPES, SECTOR_BYTES};
