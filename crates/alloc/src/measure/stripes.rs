//! How many stripes were written whole.

use crate::tetris::Tetris;

/// Stripes written, and how many of them whole, which needs no reading for parity: a counter to be kept up tetris by
/// tetris.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FullStripes {
    /// Stripes in which every data spindle's block was written.
    pub full: u64,
    /// Stripes in which any was.
    pub written: u64,
}

impl FullStripes {
    /// Counts what `tetris` writes.
    pub fn add<T>(&mut self, tetris: &Tetris<T>) {
        self.full += u64::from(tetris.stripes_full().count_ones());
        self.written += u64::from(tetris.stripes_touched().count_ones());
    }

    /// Full-stripe share: of the stripes written, those that were written whole, 0 to 1. 1 when none was written.
    #[must_use]
    pub fn share(&self) -> f64 {
        if self.written == 0 { 1.0 } else { self.full as f64 / self.written as f64 }
    }
}
