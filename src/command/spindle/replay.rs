//! `strewn spindle PROFILE --replay TRACE`.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use strewn::results::{ReplayFigures, ResponseTime};
use strewn::spindle::{Drive, Profile, replay};
use strewn::terminal::{self, Ending, Failure};

use super::responses_file::{RESPONSES_HEADER, ResponsesFile};
use super::trace::{Trace, ms};
use super::{idle_spindle, on_or_off};
use crate::command::arguments::SpindleArguments;

/// Replays the trace at `path`, writes the response times, and prints a summary.
pub(crate) fn run(
    profile: &Profile,
    path: &Path,
    arguments: &SpindleArguments,
) -> Result<Ending, Failure> {
    let out = arguments.out.as_deref().map(|out| ResponsesFile::check(out, path)).transpose()?;
    if arguments.format.is_for_programs() && matches!(out, Some(ResponsesFile::StandardOutput)) {
        return Err(Failure::bad_input(
            "what --json or --format prints and --out - would both be on standard output",
            "give --out a file, or leave the other out",
        ));
    }
    let drive = Arc::new(Drive::new(profile)?);
    // Set up first, so that a missing cache is reported before the trace is read.
    let mut spindle = idle_spindle(&drive, arguments)?;
    let trace = Trace::read(path, &drive)?;
    let response_ns = replay(&mut spindle, &trace.arrivals)
        .map_err(|error| Failure::failed(format!("{}: {error}", path.display())))?;

    if let Some(out) = &out {
        out.write(&responses_csv(&trace, &response_ns))?;
        // Standard output carries the responses alone.
        if matches!(out, ResponsesFile::StandardOutput) {
            return Ok(Ending::Complete);
        }
    }
    let figures = ReplayFigures {
        profile: profile.name.clone(),
        trace: path.display().to_string(),
        scheduler: arguments.scheduler().to_string(),
        cache: on_or_off(arguments).to_owned(),
        depth: arguments.depth(),
        commands: response_ns.len() as u64,
        response_ms: response_time(response_ns),
    };
    let text = || strewn::report::replay_text(&figures);
    terminal::print(
        &arguments.format.tables_or(|| strewn::results::figures_json(&figures), text)?,
    )?;
    Ok(Ending::Complete)
}

fn responses_csv(trace: &Trace, response_ns: &[u64]) -> String {
    let mut text = String::from(RESPONSES_HEADER);
    for (id, ns) in trace.ids().zip(response_ns) {
        let _ = writeln!(text, "{id},{}", ms(*ns));
    }
    text
}

/// Returns the mean, maximum, and nearest-rank percentiles of at least one response.
fn response_time(mut response_ns: Vec<u64>) -> ResponseTime {
    let sum: u128 = response_ns.iter().map(|ns| u128::from(*ns)).sum();
    let count = response_ns.len();
    response_ns.sort_unstable();
    let percentile = |percent: usize| {
        let rank = (count * percent).div_ceil(100).max(1);
        response_ns[rank - 1] as f64 / 1e6
    };
    ResponseTime {
        mean: sum as f64 / 1e6 / count as f64,
        p50: percentile(50),
        p95: percentile(95),
        p99: percentile(99),
        max: percentile(100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let times = response_time((1..=200).rev().map(|ms| ms * 1_000_000).collect());
        assert_eq!((times.mean, times.p50, times.p95), (100.5, 100.0, 190.0));
        assert_eq!((times.p99, times.max), (198.0, 200.0));
        let one = response_time(vec![5_000_000]);
        assert_eq!((one.p50, one.p99, one.max), (5.0, 5.0, 5.0));
    }
}
