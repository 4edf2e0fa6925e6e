//! `strewn array serve`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{ArgGroup, Args};
use strewn::terminal::{self, Ending, Failure};
use strewn_array::Counters;
use strewn_live::assembly::OpenOptions;
use strewn_live::control::ControlServer;
use strewn_live::device::{DeviceIndex, remedy_of_system};
use strewn_live::format::{Label, Member, MemberState};
use strewn_live::nbd::{Limits, Server, ServerError};
use strewn_live::serving::{ArrayStatus, LunExports};

use crate::command::metrics;
use crate::command::metrics::array::LastLook;

use super::opened::{Io, not_started, open_array, start_array};

/// Interval between checks for a request to stop.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Export the LUNs over NBD until interrupted
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("listen").args(["socket", "tcp"]).required(true))]
pub(crate) struct ServeArguments {
    /// The directory that the array was created in
    directory: PathBuf,
    /// Listen on a new Unix socket at this path
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Listen on this TCP address, such as 127.0.0.1:10809
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    tcp: Option<SocketAddr>,
    /// Start degraded, without missing spindles that parity can replace
    #[arg(long)]
    degraded: bool,
    /// Also serve OpenMetrics on a new Unix socket or a loopback address
    ///
    /// For Prometheus and the like: IOPS, bytes and response times by direction, log fill, layout and free-space
    /// scores, spindles and rebuilds, errors. Figures are those of the last second.
    #[arg(long, value_name = "PLACE")]
    metrics: Option<PathBuf>,
    /// I/O backend
    #[arg(long, value_enum, default_value_t)]
    io: Io,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "give an address in numbers and a port of at most 65535, as 127.0.0.1:10809".to_owned()
    })
}

/// Serves the array until it is interrupted, then writes everything to the spindles.
pub(crate) fn serve(arguments: &ServeArguments) -> Result<Ending, Failure> {
    let options = OpenOptions { degraded: arguments.degraded, read_only: false };
    let assembled = open_array(&arguments.directory, options)?;
    let mut health = Health::of(&assembled.label);
    let stop = terminal::stop_when_interrupted();
    let serving =
        start_array(assembled, arguments.io)?.serve().map_err(|error| not_started(&error))?;
    let description = format!("Strewn array in {}", arguments.directory.display());
    let exports = LunExports::new(serving.client(), description);
    let server = match (&arguments.socket, arguments.tcp) {
        (Some(path), _) => Server::unix(path, exports, Limits::default()),
        (None, Some(address)) => Server::tcp(address, exports, Limits::default()),
        (None, None) => unreachable!("the command line has one of the two"),
    };
    let server = match server {
        Ok(server) => server,
        Err(error) => {
            // No client was served: the array ends as it started.
            let _ = serving.shut_down();
            return Err(refused(&error, arguments.socket.as_deref()));
        }
    };
    let last_look = LastLook::default();
    if let Some(look) = serving.client().look() {
        last_look.put(&look);
    }
    let page = last_look.clone();
    let serve_metrics = |place: &PathBuf| metrics::serve(place, move || page.page());
    let metrics = match arguments.metrics.as_ref().map(serve_metrics).transpose() {
        Ok(metrics) => metrics,
        Err(refused) => {
            server.stop();
            let _ = serving.shut_down();
            return Err(refused);
        }
    };
    let control = ControlServer::start(&arguments.directory, serving.client());
    if let Err(error) = &control {
        terminal::say(&format!(
            "warning: volumes, LUNs and snapshots cannot be changed while the array is served: {error}"
        ));
    }
    terminal::print(&format!("listening on {}\n", server.address()))?;
    if let Some(metrics) = &metrics {
        terminal::print(&format!("metrics at {}\n", metrics.address()))?;
    }
    let client = serving.client();
    let mut looks = 0u32;
    let why = loop {
        if stop() {
            break None;
        }
        looks += 1;
        if looks.is_multiple_of(10) {
            match client.look() {
                Some(look) => {
                    health.say_what_is_new(&look);
                    last_look.put(&look);
                    if look.stopped.is_some() {
                        break look.stopped;
                    }
                }
                None => break Some("its thread has ended".to_owned()),
            }
        }
        std::thread::sleep(LOOK_EVERY);
    };
    if let Some(look) = client.look() {
        health.say_what_is_new(&look);
    }
    // A change in progress is finished, and its outcome told.
    drop(control);
    drop(metrics);
    server.stop();
    drop(client);
    let ended = serving.shut_down();
    match why.or(ended.err()) {
        None => {
            terminal::print("everything is on the spindles\n")?;
            Ok(Ending::Complete)
        }
        Some(why) => Err(Failure::failed(format!("the array has stopped: {why}")).with_help(
            "what was acknowledged is in the NVRAM log: serve it again when the cause is gone",
        )),
    }
}

/// The problems of a served array that were already reported.
struct Health {
    /// The label whose states were reported.
    label: Label,
    bad_blocks: u64,
    blocks_gone: u64,
    out_of_space: Vec<DeviceIndex>,
}

impl Health {
    /// Starts from the array's label, whose problems were already reported.
    fn of(label: &Label) -> Self {
        Self { label: label.clone(), bad_blocks: 0, blocks_gone: 0, out_of_space: Vec::new() }
    }

    fn say_what_is_new(&mut self, look: &ArrayStatus) {
        let before = std::mem::replace(&mut self.label, look.label.clone());
        let logs = states(&look.label.logs).zip(states(&before.logs));
        for (role, (now, before)) in look.label.log_roles().zip(logs) {
            if now == MemberState::Failed && before != now {
                terminal::say(&format!(
                    "warning: {role} has failed: the array goes on with the other; when it is no longer served, \
                     `strewn array replace DIR log` puts in a new one"
                ));
            }
        }
        for (position, (now, before)) in
            states(&look.label.members).zip(states(&before.members)).enumerate()
        {
            match (before, now) {
                (MemberState::Failed, _) | (MemberState::Present, MemberState::Present) => {}
                (_, MemberState::Failed) => terminal::say(&format!(
                    "warning: spindle {position} has failed: the array goes on without it; when it is no longer served, \
                     `strewn array replace DIR {position}` rebuilds it"
                )),
                (MemberState::Rebuilding, MemberState::Present) => {
                    terminal::say(&format!("spindle {position} is rebuilt"));
                }
                (_, MemberState::Rebuilding) => {}
            }
        }
        if look.out_of_space != self.out_of_space {
            self.out_of_space.clone_from(&look.out_of_space);
            match self.out_of_space.is_empty() {
                true => terminal::say("there is space again: the array takes writes"),
                false => terminal::say(&format!(
                    "warning: no space is left under {}: writes are refused, reads go on, and what was acknowledged is \
                     safe; make room on the file system, and writes go on",
                    self.label.names_of(&self.out_of_space)
                )),
            }
        }
        let Counters { bad_blocks, repairs, blocks_gone, .. } = look.counters;
        if (bad_blocks, blocks_gone) != (self.bad_blocks, self.blocks_gone) {
            (self.bad_blocks, self.blocks_gone) = (bad_blocks, blocks_gone);
            terminal::say(&format!(
                "warning: {bad_blocks} bad blocks were read so far: {repairs} are computed and written again, {blocks_gone} are \
                 gone, and reads of them refused; `strewn array scrub` looks at all"
            ));
        }
    }
}

fn states(members: &[Member]) -> impl Iterator<Item = MemberState> {
    members.iter().map(|member| member.state)
}

fn refused(error: &ServerError, socket: Option<&Path>) -> Failure {
    let of_system = match error {
        ServerError::Listen { error, .. } | ServerError::Start(error) => remedy_of_system(error),
        _ => None,
    };
    let help = match socket {
        Some(_) => "give a path in a directory of yours that no other server uses",
        None => "give a free port of 127.0.0.1 or [::1]",
    };
    Failure::bad_input(error.to_string(), of_system.unwrap_or(help))
}
