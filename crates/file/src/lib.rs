//! Where the blocks of real files lie, how fragmented that is, and what it costs.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod error;
mod extent;
mod measure;
mod space;

pub use error::FileError;
pub use extent::{Address, Extent, Place};
pub use measure::{LayoutMeasures, LayoutPass};
pub use space::{AddressSpace, Device, Piece};
