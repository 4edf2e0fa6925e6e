//! The workload given on the command line in place of the scenario's.

use std::path::{Path, PathBuf};

use strewn::formats::trace::SpeedUp;
use strewn::scenario::Scenario;
use strewn::terminal::{self, Failure, ReadingTerminal};
use strewn::{Load, LoadError, TraceLoop, TraceOptions};

use super::arguments::{LoadArguments, MOST_SEGMENTS};

/// Why there is no workload.
pub(crate) enum NotRead {
    Load(LoadError),
    Stopped,
}

impl From<LoadError> for NotRead {
    fn from(error: LoadError) -> Self {
        Self::Load(error)
    }
}

impl From<NotRead> for Failure {
    fn from(not_read: NotRead) -> Self {
        match not_read {
            NotRead::Load(error) => error.into(),
            NotRead::Stopped => Self::stopped("stopped while the trace was read"),
        }
    }
}

/// Reads the workload, and prints what is ignored. Returns `None` if the scenario's own workload is to run.
pub(crate) fn read(
    arguments: &LoadArguments,
    scenario: &Scenario,
) -> Result<Option<Load>, NotRead> {
    if let Some(path) = &arguments.trace {
        let load = trace(path, arguments, scenario)?;
        say_ignored(&load);
        return Ok(Some(load));
    }
    Ok(of_tool(arguments.access_spec.as_deref(), arguments.fio_job.as_deref())?)
}

/// Reads the workload that `--access-spec` or `--fio-job` names, and prints what is ignored; `None` without either.
pub(crate) fn of_tool(
    access_spec: Option<&str>,
    fio_job: Option<&str>,
) -> Result<Option<Load>, LoadError> {
    let load = match (access_spec.map(file_and_name), fio_job.map(file_and_name)) {
        (Some((path, name)), _) => Load::access_specification(path, name)?,
        (None, Some((path, job))) => Load::fio_job(path, job)?,
        (None, None) => return Ok(None),
    };
    say_ignored(&load);
    Ok(Some(load))
}

fn say_ignored(load: &Load) {
    for ignored in load.ignored() {
        terminal::say(&format!(
            "ignored: {} ({}): {}",
            ignored.name, ignored.place, ignored.reason
        ));
    }
}

fn trace(path: &Path, arguments: &LoadArguments, scenario: &Scenario) -> Result<Load, NotRead> {
    let options = TraceOptions {
        format: arguments.trace_format,
        replay: if arguments.closed_loop_trace {
            TraceLoop::Closed
        } else {
            TraceLoop::Open(arguments.speedup.unwrap_or(SpeedUp::NONE))
        },
        wrap: arguments.wrap,
        hold_back: arguments.hold_back,
        device: arguments.trace_device,
        volumes: arguments.trace_volumes.clone(),
        sizes: arguments.trace_sizes.clone(),
        action: arguments.trace_moments.action(),
        at_whole_seconds: arguments.trace_moments.at_whole_seconds,
    };
    let reading = ReadingTerminal::watch();
    let mut progress = |read, length| reading.progress(read, length);
    let load = Load::trace(path, &options, scenario, &mut progress);
    match load {
        Err(_) if reading.was_stopped() => Err(NotRead::Stopped),
        load => Ok(load?),
    }
}

/// Returns the number of segments that a workload sets; the maximum for one that ends by itself.
pub(crate) fn segments(load: &Load, segment_ns: u64) -> Option<u32> {
    let most = u64::from(MOST_SEGMENTS).min(u64::MAX / segment_ns.max(1));
    load.segments().or(load.ends_by_itself().then_some(most as u32))
}

/// Splits `FILE` or `FILE:NAME`. Either may contain colons: the shortest prefix that exists is the file.
pub(crate) fn file_and_name(text: &str) -> (PathBuf, Option<&str>) {
    if Path::new(text).exists() {
        return (text.into(), None);
    }
    let colons = text.match_indices(':').map(|(at, _)| at);
    let mut splits = colons.map(|at| (&text[..at], &text[at + 1..]));
    let first = splits.clone().next();
    let there = splits.find(|(file, _)| !file.is_empty() && Path::new(file).exists());
    match there.or(first) {
        Some((file, name)) => (file.into(), Some(name)),
        None => (text.into(), None),
    }
}
