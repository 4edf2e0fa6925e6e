//! Ctrl-C: the first asks the run to stop, the second ends the program.

use std::io::{self, IsTerminal};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::INTERRUPTED_EXIT_CODE;
use crate::terminal::ending::say;

/// Printed when the run is asked to stop.
pub(crate) const STOPPING: &str = "stopping; once more to end at once";

/// Process-wide, as signals are.
static ASKED_TO_STOP: AtomicBool = AtomicBool::new(false);
static WATCH: Once = Once::new();

/// Watches for Ctrl-C and the signals that ask a program to terminate, from now on.
pub(crate) fn watch() {
    WATCH.call_once(|| {
        let watched = ctrlc::set_handler(|| {
            if ASKED_TO_STOP.swap(true, Ordering::Relaxed) {
                std::process::exit(INTERRUPTED_EXIT_CODE.into());
            }
            // Progress bars show the message themselves; a printed line would leave bars on the screen.
            if !io::stderr().is_terminal() {
                say(STOPPING);
            }
        });
        if let Err(error) = watched {
            // A run that cannot be stopped halfway is still worth running.
            say(&format!("Ctrl-C will lose what is complete: {error}"));
        }
    });
}

/// Returns whether the run was asked to stop.
pub(crate) fn asked_to_stop() -> bool {
    ASKED_TO_STOP.load(Ordering::Relaxed)
}
