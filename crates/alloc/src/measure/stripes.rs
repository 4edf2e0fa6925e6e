//! Full stripes among those written.

use crate::tetris::Tetris;

/// Counts the stripes written, and the full ones among them, which read nothing for parity. Add every tetris.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FullStripes {
    /// Stripes in which every data block was written.
    pub full: u64,
    /// Stripes in which at least one data block was written.
    pub written: u64,
}

impl FullStripes {
    /// Counts the stripes of `tetris`.
    pub fn add<T>(&mut self, tetris: &Tetris<T>) {
        self.full += u64::from(tetris.stripes_full().count_ones());
        self.written += u64::from(tetris.stripes_touched().count_ones());
    }

    /// The share of full stripes among those written, 0 to 1; 1 if none was written.
    #[must_use]
    pub fn share(&self) -> f64 {
        if self.written == 0 { 1.0 } else { self.full as f64 / self.written as f64 }
    }
}
