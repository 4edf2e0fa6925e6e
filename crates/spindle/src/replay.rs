//! Three ways to measure a spindle: a trace, a closed loop, one command at a time.

use crate::mechanics::{Command, CommandError};
use crate::simulated::{Completion, SimulatedSpindle};

/// A command of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When it arrives, in nanoseconds from time zero.
    pub at_ns: u64,
    /// The command.
    pub command: Command,
}

/// Submits each command of a trace to an idle spindle at its time. Returns the response times in nanoseconds, from
/// arrival to completion, in the order of the trace.
///
/// # Errors
///
/// The drive refuses a command, or one arrives before the one ahead of it.
pub fn replay(
    spindle: &mut SimulatedSpindle<usize>,
    arrivals: &[Arrival],
) -> Result<Vec<u64>, CommandError> {
    let mut response_ns = vec![0; arrivals.len()];
    let mut record = |done: Completion<usize>| {
        response_ns[done.tag] = done.at_ns - done.arrived_ns;
    };
    for (tag, arrival) in arrivals.iter().enumerate() {
        while spindle.next_completion_ns() <= arrival.at_ns {
            spindle.complete().into_iter().for_each(&mut record);
        }
        spindle.submit(arrival.at_ns, arrival.command, tag)?;
    }
    while let Some(done) = spindle.complete() {
        record(done);
    }
    Ok(response_ns)
}

/// The result of a closed loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throughput {
    /// Commands completed per second.
    pub commands_per_second: f64,
    /// Mean time from arrival to completion, in milliseconds.
    pub response_ms: f64,
}

/// Keeps `outstanding` commands at an idle spindle, the one in service included: each completion submits the `next`.
/// Measures `measured` completions after the first `warm_up`.
///
/// # Errors
///
/// The drive refuses a command.
pub fn closed_loop(
    spindle: &mut SimulatedSpindle<()>,
    outstanding: u32,
    warm_up: u32,
    measured: u32,
    next: &mut dyn FnMut() -> Command,
) -> Result<Throughput, CommandError> {
    let mut now_ns = 0;
    for _ in 0..outstanding {
        spindle.submit(now_ns, next(), ())?;
    }
    let (mut from_ns, mut response_ns) = (0, 0);
    for number in 0..u64::from(warm_up) + u64::from(measured) {
        let Some(done) = spindle.complete() else { break };
        now_ns = done.at_ns;
        if number < u64::from(warm_up) {
            from_ns = now_ns;
        } else {
            response_ns += done.at_ns - done.arrived_ns;
        }
        spindle.submit(now_ns, next(), ())?;
    }
    let seconds = (now_ns - from_ns) as f64 / 1e9;
    Ok(Throughput {
        commands_per_second: f64::from(measured) / seconds,
        response_ms: response_ns as f64 / 1e6 / f64::from(measured),
    })
}

/// Issues each command when the previous one has completed and its pause, in nanoseconds, has passed. Returns the
/// service times in nanoseconds.
///
/// # Errors
///
/// The drive refuses a command.
pub fn one_at_a_time(
    spindle: &mut SimulatedSpindle<()>,
    commands: impl IntoIterator<Item = (Command, u64)>,
) -> Result<Vec<u64>, CommandError> {
    let mut issue_ns = 0;
    let mut service_ns = Vec::new();
    for (command, pause_ns) in commands {
        spindle.submit(issue_ns, command, ())?;
        if let Some(done) = spindle.complete() {
            service_ns.push(done.at_ns - issue_ns);
            issue_ns = done.at_ns + pause_ns;
        }
    }
    Ok(service_ns)
}
