//! Progress of a characterization of drives, when standard error is a terminal.

use strewn_run::Observer;
use strewn_run::characterization::CharacterizationObserver;

use crate::terminal::interrupt;
use crate::terminal::late_bar::LateBar;

const CLOSED_LOOPS: &str = "[{bar:24}] {pos} of {len} closed loops{msg}, {eta} left";
const PREDICTIONS: &str = "[{bar:24}] {pos} of {len} predictions{msg}, {eta} left";

/// A [`CharacterizationObserver`] for programs on a terminal, and an [`Observer`] of predictions that are made again: a
/// bar that appears after a second, and a stop on Ctrl-C. Dropping it removes the bar; drop it before printing figures.
///
/// While one exists, a first Ctrl-C (or SIGTERM) asks it to stop, and a second ends the program at once.
pub struct DriveTerminal(LateBar);

impl DriveTerminal {
    /// Watches a characterization of drives from now until dropped.
    #[must_use]
    pub fn watch() -> Self {
        Self::watch_with(CLOSED_LOOPS)
    }

    /// Watches [predictions that are made again](strewn_run::refit) from now until dropped.
    #[must_use]
    pub fn of_predictions() -> Self {
        Self::watch_with(PREDICTIONS)
    }

    fn watch_with(template: &str) -> Self {
        interrupt::watch();
        Self(LateBar::new(template))
    }

    /// Shows that `done` of `of` are done.
    pub fn done(&self, done: usize, of: usize) {
        let message = if interrupt::asked_to_stop() {
            format!("; {}", interrupt::STOPPING)
        } else {
            String::new()
        };
        self.0.show(done as u64, of as u64, &message);
    }
}

impl Observer for DriveTerminal {
    fn stop(&self) -> bool {
        interrupt::asked_to_stop()
    }
}

impl CharacterizationObserver for DriveTerminal {
    fn progress(&self, done: usize, of: usize) {
        self.done(done, of);
    }

    fn stop(&self) -> bool {
        interrupt::asked_to_stop()
    }
}

#[cfg(test)]
mod tests {
    use indicatif::ProgressStyle;

    use super::*;

    #[test]
    fn the_templates_are_some() {
        for template in [CLOSED_LOOPS, PREDICTIONS] {
            assert!(ProgressStyle::with_template(template).is_ok());
        }
    }
}
