//! Sweeps: their arithmetic.

mod differences;
pub(crate) mod fixture;
