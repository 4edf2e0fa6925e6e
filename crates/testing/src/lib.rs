//! Tests that need something from outside: a browser, fio, a loop device, permission to mount.
//!
//! The built-in harness cannot decide at run time that a test does not apply, so such tests used to pass where they
//! had not run. A test program of this harness (`harness = false`) reports them as *ignored*, with what is missing and
//! how to get it, and counts them in its summary. With `STREWN_REQUIRE_ALL=1`, which `.ci/run` sets, they fail.
//!
//! ```no_run
//! use strewn_testing::{Missing, program};
//!
//! fn a_page_opens() -> Result<(), Missing> {
//!     let browser = program(&["chromium", "google-chrome"], "apt-get install chromium")?;
//!     assert!(browser.exists());
//!     Ok(())
//! }
//!
//! strewn_testing::main![a_page_opens];
//! ```
//!
//! [`cases`] and [`seeds`] say how many random cases a test tries: few where people wait, many in `.ci/nightly`.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use libtest_mimic::{Arguments, Completion, Failed, Trial};

/// Name of the variable that turns ignored tests into failed ones, if it is `1`.
pub const REQUIRE_ALL: &str = "STREWN_REQUIRE_ALL";

/// Name of the variable that makes tests try as many cases as in `.ci/nightly`, if it is `1`.
pub const LONG: &str = "STREWN_LONG";

/// The built-in harness's flag: say how long each test took.
const REPORT_TIME: &str = "--report-time";

/// Whether the variable is `1`.
fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| value == "1")
}

/// How many random cases a test tries: `few`, or `many` with [`LONG`].
#[must_use]
pub fn cases(few: u32, many: u32) -> u32 {
    if is_set(LONG) { many } else { few }
}

/// The seeds of as many cases as [`cases`] says.
#[must_use]
pub fn seeds(few: u32, many: u32) -> Range<u64> {
    0..cases(few, many).into()
}

/// What a test needs and this machine lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    what: String,
    remedy: String,
}

impl Missing {
    /// Something missing, and what to do about it.
    #[must_use]
    pub fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { what: what.into(), remedy: remedy.into() }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.what, self.remedy)
    }
}

/// The first of `names` found on the search path.
///
/// # Errors
/// If none is; `remedy` says how to get one.
pub fn program(names: &[&str], remedy: &str) -> Result<PathBuf, Missing> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    names
        .iter()
        .flat_map(|name| std::env::split_paths(&path).map(move |directory| directory.join(name)))
        .find(|program| program.is_file())
        .ok_or_else(|| Missing::new(format!("no {} on this machine", names.join(" or ")), remedy))
}

fn completion(ended: Result<(), Missing>, all_are_required: bool) -> Result<Completion, Failed> {
    match ended {
        Ok(()) => Ok(Completion::Completed),
        Err(missing) if all_are_required => {
            Err(Failed::from(format!("{missing}; {REQUIRE_ALL}=1 allows no test to be left out")))
        }
        Err(missing) => Ok(Completion::ignored_with(missing)),
    }
}

/// A test: fails by panicking, or says what it needs and lacks.
pub type Test = fn() -> Result<(), Missing>;

/// Runs tests under their names as the command line asks, and prints their summary. A test that lacks something is
/// ignored, or fails if [`REQUIRE_ALL`] is set.
#[must_use]
pub fn run(tests: &[(&str, Test)]) -> ExitCode {
    let all_are_required = is_set(REQUIRE_ALL);
    let (flags, words): (Vec<_>, Vec<_>) = std::env::args().partition(|word| word == REPORT_TIME);
    let trial = |(name, test): &(&str, Test)| {
        let (name, test, is_timed) =
            (name.split_whitespace().collect::<String>(), *test, !flags.is_empty());
        Trial::ignorable_test(name.clone(), move || {
            let began = Instant::now();
            let ended = test();
            if is_timed {
                println!("test {name} ... <{:.3}s>", began.elapsed().as_secs_f64());
            }
            completion(ended, all_are_required)
        })
    };
    let mut arguments = Arguments::from_iter(words);
    // They wait for other programs as much as they compute.
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    arguments.test_threads.get_or_insert(2 * processors);
    libtest_mimic::run(&arguments, tests.iter().map(trial).collect()).exit_code()
}

/// The `main` of a test program: every test by its path, which becomes its name.
#[macro_export]
macro_rules! main {
    ($($($segment:ident)::+),* $(,)?) => {
        fn main() -> ::std::process::ExitCode {
            $crate::run(&[$((::std::stringify!($($segment)::+), $($segment)::+)),*])
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing() -> Result<(), Missing> {
        Err(Missing::new("no fio on this machine", "apt-get install fio"))
    }

    #[test]
    fn what_is_missing_is_reported_and_fails_where_all_are_required() {
        let Ok(Completion::Ignored { reason: Some(reason) }) = completion(missing(), false) else {
            panic!("not ignored with a reason");
        };
        assert_eq!(reason, "no fio on this machine (apt-get install fio)");
        assert!(completion(missing(), true).is_err());
        assert!(completion(Ok(()), true).is_ok());
    }

    #[test]
    fn a_program_is_found_on_the_path_or_named_as_missing() {
        assert!(program(&["no-such-program", "cargo"], "").is_ok());
        let missing =
            program(&["no-such-program"], "install it").map_err(|missing| missing.to_string());
        assert_eq!(missing, Err("no no-such-program on this machine (install it)".to_owned()));
    }
}
