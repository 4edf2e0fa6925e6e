//! A progress bar for work that usually takes less than a second: it appears only if the work takes longer.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work that is done by then shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar on standard error, if that is a terminal. It is gone when it is dropped.
pub(super) struct LateBar {
    bar: ProgressBar,
    began: Instant,
}

impl LateBar {
    /// A bar for work that begins now, drawn by a template of `indicatif`.
    pub(super) fn new(template: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        // Templates are constants that tests try; the plain style stands in for one that is refused.
        let style = ProgressStyle::with_template(template);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        Self { bar, began: Instant::now() }
    }

    /// `done` of `all` is done; `message` stands where the template has one.
    pub(super) fn show(&self, done: u64, all: u64, message: &str) {
        if self.began.elapsed() < PATIENCE || !io::stderr().is_terminal() {
            return;
        }
        self.bar.set_message(message.to_owned());
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
