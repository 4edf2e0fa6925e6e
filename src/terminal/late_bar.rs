//! A progress bar for work that usually takes less than a second: it appears only if the work takes longer.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use strewn_report::shown_path;

/// Work shorter than this shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar on standard error, if that is a terminal. Dropping it removes it.
pub(super) struct LateBar {
    bar: ProgressBar,
    began: Instant,
}

impl LateBar {
    /// Creates a bar for work that begins now, drawn by an `indicatif` template.
    pub(super) fn new(template: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        // Templates are constants covered by tests; the plain style replaces an invalid one.
        let style = ProgressStyle::with_template(template);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        Self { bar, began: Instant::now() }
    }

    /// Shows that `done` of `all` is done; `message` fills the template's message field.
    pub(super) fn show(&self, done: u64, all: u64, message: &str) {
        if self.began.elapsed() < PATIENCE || !io::stderr().is_terminal() {
            return;
        }
        self.bar.set_message(shown_path(message));
        self.bar.set_length(all);
        self.bar.set_position(done);
        // Last, so that the bar appears at its position.
        if self.bar.is_hidden() {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    }
}

impl Drop for LateBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
