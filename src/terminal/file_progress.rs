//! Progress of looking at files, when standard error is a terminal.

use crate::terminal::interrupt;
use crate::terminal::late_bar::LateBar;

const FOUND: &str = "{spinner} {pos} files{msg}";
const LOOKED: &str = "[{bar:24}] {pos} of {len} files looked at closely{msg}";

/// Watches files being looked at: it shows how many if that takes longer than a second. Dropping it removes the bar;
/// drop it before printing figures.
///
/// While one exists, a first Ctrl-C (or SIGTERM) asks to stop, and a second ends the program at once.
pub struct FileTerminal {
    found: LateBar,
    looked: LateBar,
}

impl FileTerminal {
    /// Watches from now until dropped.
    #[must_use]
    pub fn watch() -> Self {
        interrupt::watch();
        Self { found: LateBar::new(FOUND), looked: LateBar::new(LOOKED) }
    }

    /// Shows that `files` were found in directories.
    pub fn found(&self, files: u64) {
        // A bar is drawn far less often than files are found.
        if files.is_multiple_of(256) {
            self.found.show(files, 0, &message());
        }
    }

    /// Shows that `done` of `all` were looked at closely.
    pub fn looked(&self, done: u64, all: u64) {
        self.looked.show(done, all, &message());
    }
}

fn message() -> String {
    if interrupt::asked_to_stop() { format!("; {}", interrupt::STOPPING) } else { String::new() }
}

#[cfg(test)]
mod tests {
    use indicatif::ProgressStyle;

    use super::*;

    #[test]
    fn the_templates_are_some() {
        for template in [FOUND, LOOKED] {
            assert!(ProgressStyle::with_template(template).is_ok());
        }
    }
}
