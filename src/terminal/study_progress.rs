//! Progress of a study of drives, when standard error is a terminal.

use strewn_run::study::StudyObserver;

use crate::terminal::interrupt;
use crate::terminal::late_bar::LateBar;

const TEMPLATE: &str = "[{bar:24}] {pos} of {len} closed loops{msg}, {eta} left";

/// A [`StudyObserver`] for programs on a terminal: it shows a bar if the study takes longer than a second, and stops
/// the study on Ctrl-C. Dropping it removes the bar; drop it before printing figures.
///
/// While one exists, a first Ctrl-C (or SIGTERM) asks the study to stop, and a second ends the program at once.
pub struct StudyTerminal(LateBar);

impl StudyTerminal {
    /// Watches from now until dropped.
    #[must_use]
    pub fn watch() -> Self {
        interrupt::watch();
        Self(LateBar::new(TEMPLATE))
    }
}

impl StudyObserver for StudyTerminal {
    fn progress(&self, done: usize, of: usize) {
        let message = if interrupt::asked_to_stop() {
            format!("; {}", interrupt::STOPPING)
        } else {
            String::new()
        };
        self.0.show(done as u64, of as u64, &message);
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
    fn the_template_is_one() {
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok());
    }
}
