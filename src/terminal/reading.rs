//! How far the reading of a file has come, when standard error is a terminal.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::terminal::interrupt;

/// A file that is read by then shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

const TEMPLATE: &str = "reading [{bar:24}] {bytes} of {total_bytes}, {eta} left";

/// Shows a bar of a file that takes longer than a second to read, and stops the reading on Ctrl-C. The bar is gone when
/// it is dropped.
pub struct ReadingTerminal {
    bar: ProgressBar,
    began: Instant,
}

impl ReadingTerminal {
    /// From now on, until it is dropped.
    #[must_use]
    pub fn watch() -> Self {
        interrupt::watch();
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        // The template is a constant that a test tries; the plain style stands in for one that is refused.
        let style = ProgressStyle::with_template(TEMPLATE);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        Self { bar, began: Instant::now() }
    }

    /// `read` bytes of `length` are read; whether to go on.
    pub fn progress(&self, read: u64, length: u64) -> bool {
        if self.began.elapsed() >= PATIENCE && io::stderr().is_terminal() {
            self.bar.set_length(length);
            self.bar.set_position(read);
            if self.bar.is_hidden() {
                self.bar.set_draw_target(ProgressDrawTarget::stderr());
            }
        }
        !interrupt::asked_to_stop()
    }

    /// Whether the reading was stopped.
    #[must_use]
    pub fn was_stopped(&self) -> bool {
        interrupt::asked_to_stop()
    }
}

impl Drop for ReadingTerminal {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_is_one() {
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok());
    }
}
