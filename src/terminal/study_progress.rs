//! How far a study of drives has come, a bar for all of it, when standard error is a terminal.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::study::StudyObserver;
use crate::terminal::interrupt;

/// A study that is done by then shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// A [`StudyObserver`] for programs on a terminal: it shows a bar if the study takes longer than a second, and stops
/// the study on Ctrl-C. The bar is gone when it is dropped; do that before printing figures.
///
/// While there is one, a first Ctrl-C (or SIGTERM) asks the study to stop, and a second ends the program at once.
pub struct StudyTerminal {
    bar: ProgressBar,
    began: Instant,
}

impl StudyTerminal {
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
}

const TEMPLATE: &str = "[{bar:24}] {pos} of {len} closed loops{msg}, {eta} left";

impl StudyObserver for StudyTerminal {
    fn progress(&self, done: usize, of: usize) {
        if self.began.elapsed() < PATIENCE || !io::stderr().is_terminal() {
            return;
        }
        if interrupt::asked_to_stop() {
            self.bar.set_message(format!("; {}", interrupt::STOPPING));
        }
        self.bar.set_length(of as u64);
        self.bar.set_position(done as u64);
        // Last, so that what is first seen is where it is.
        if self.bar.is_hidden() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    fn stop(&self) -> bool {
        interrupt::asked_to_stop()
    }
}

impl Drop for StudyTerminal {
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
