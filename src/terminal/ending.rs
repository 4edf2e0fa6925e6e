//! How a program ends: its last messages and its exit code.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::process::ExitCode;

use strewn_report::shown_text;
use strewn_results::{ArrayResults, Results};
use strewn_sweep::SweepEnd;

use crate::failure::INTERRUPTED_EXIT_CODE;
use crate::terminal::{Failure, report};

/// Exit code of a run in which an array lost data.
const DATA_LOST: u8 = 3;

/// How a program that did not fail ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// Everything was done: exit code 0.
    Complete,
    /// An array lost data, described by these sentences. Complete segments are kept: exit code 3.
    DataLost(Vec<String>),
    /// A signal stopped the program. Complete segments are kept: exit code 130.
    Interrupted,
}

impl Ending {
    /// Returns how the run of these results ended.
    #[must_use]
    pub fn of(results: &Results) -> Self {
        let lost: Vec<String> =
            results.arrays.iter().filter_map(ArrayResults::data_loss_sentence).collect();
        if !lost.is_empty() {
            Self::DataLost(lost)
        } else if results.partial || results.bands.as_ref().is_some_and(|bands| bands.stopped) {
            Self::Interrupted
        } else {
            Self::Complete
        }
    }

    /// Returns how a sweep's runs ended.
    ///
    /// # Errors
    /// The failure of the first run that failed.
    pub fn of_runs(end: SweepEnd) -> Result<Self, Failure> {
        match end.failed.into_iter().next() {
            Some((_, error)) => Err(error.into()),
            None if end.is_stopped => Ok(Self::Interrupted),
            None => Ok(Self::Complete),
        }
    }
}

/// Returns the exit code for the way a program ended. Prints a failure on standard error first.
#[must_use]
pub fn exit_code(ended: Result<Ending, Failure>) -> ExitCode {
    match ended {
        Ok(Ending::Complete) => ExitCode::SUCCESS,
        Ok(Ending::DataLost(sentences)) => {
            sentences.iter().for_each(|sentence| say(sentence));
            ExitCode::from(DATA_LOST)
        }
        Ok(Ending::Interrupted) => ExitCode::from(INTERRUPTED_EXIT_CODE),
        Err(failure) => {
            let _ = writeln!(io::stderr(), "{}", report::on_standard_error(&failure));
            ExitCode::from(failure.exit_code())
        }
    }
}

/// Prints `text` on standard output, with what could act on a terminal or mislead a reader escaped
/// ([`shown_text`]). A reader that closes the pipe early is not a failure.
///
/// # Errors
/// If standard output refuses the text for any other reason, such as a full disk.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    match output.write_all(shown_text(text).as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::failed(format!("cannot write to standard output: {error}"))
                .with_help("make room, or send standard output elsewhere"))
        }
        _ => Ok(()),
    }
}

/// Prints a line on standard error if that is a terminal: what a person wants to know, and a log need not hold.
pub fn say_to_person(text: &str) {
    if io::stderr().is_terminal() {
        say(text);
    }
}

/// Prints a line on standard error, escaped as [`print`](fn@print) does, and ignores errors.
pub fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{}", shown_text(text));
}
