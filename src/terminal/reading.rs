//! Progress of reading a long file, when standard error is a terminal.

use crate::terminal::interrupt;
use crate::terminal::late_bar::LateBar;

const TEMPLATE: &str = "reading [{bar:24}] {bytes} of {total_bytes}, {eta} left";

/// Shows a bar if a file takes longer than a second to read, and stops the reading on Ctrl-C. Dropping it removes the
/// bar.
pub struct ReadingTerminal(LateBar);

impl ReadingTerminal {
    /// Watches from now until dropped.
    #[must_use]
    pub fn watch() -> Self {
        interrupt::watch();
        Self(LateBar::new(TEMPLATE))
    }

    /// Shows that `read` bytes of `length` are read. Returns whether to continue.
    pub fn progress(&self, read: u64, length: u64) -> bool {
        self.0.show(read, length, "");
        !interrupt::asked_to_stop()
    }

    /// Returns whether the reading was stopped.
    #[must_use]
    pub fn was_stopped(&self) -> bool {
        interrupt::asked_to_stop()
    }
}

#[cfg(test)]
mod tests {
    use indicatif::ProgressStyle;

    use super::*;

    #[test]
    fn the_template_is_one() {
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok());
    }
}
