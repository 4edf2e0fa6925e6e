//! `strewn array serve`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use strewn::terminal::{self, Ending, Failure};
use strewn_live::assembly::OpenOptions;
use strewn_live::nbd::{Limits, Server, ServerError};
use strewn_live::serving::LunExport;

use super::opened::{Io, open_array, start_array};

/// How often it is looked whether to end.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Export the LUN over NBD until interrupted
#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// The array's directory
    directory: PathBuf,
    /// A Unix socket to listen on; it is made
    #[arg(long, value_name = "PATH", conflicts_with = "tcp", required_unless_present = "tcp")]
    socket: Option<PathBuf>,
    /// An address of this machine to listen on, such as 127.0.0.1:10809
    #[arg(long, value_name = "ADDRESS:PORT")]
    tcp: Option<SocketAddr>,
    /// Start without spindles that are missing, as long as redundancy makes them good
    #[arg(long)]
    degraded: bool,
    /// How devices are asked
    #[arg(long, value_enum, default_value_t)]
    io: Io,
}

/// Serves the array until it is interrupted, then brings everything to the spindles.
pub(crate) fn serve(arguments: &ServeArguments) -> Result<Ending, Failure> {
    let options = OpenOptions { degraded: arguments.degraded, read_only: false };
    let assembled = open_array(&arguments.directory, options)?;
    let stop = terminal::stop_when_interrupted();
    let serving = start_array(assembled, arguments.io)?
        .serve()
        .map_err(|error| Failure::failed(error.to_string()))?;
    let description = format!("Strewn array in {}", arguments.directory.display());
    let export = LunExport::new(serving.client(), description);
    let server = match (&arguments.socket, arguments.tcp) {
        (Some(path), _) => Server::unix(path, export, Limits::default()),
        (None, Some(address)) => Server::tcp(address, export, Limits::default()),
        (None, None) => unreachable!("the command line has one of the two"),
    };
    let server = match server {
        Ok(server) => server,
        Err(error) => {
            // Nothing was asked for: it ends as it began.
            let _ = serving.shut_down();
            return Err(refused(&error, arguments.socket.as_deref()));
        }
    };
    terminal::print(&format!("listening on {}\n", server.address()))?;
    let client = serving.client();
    let mut looks = 0u32;
    let why = loop {
        if stop() {
            break None;
        }
        looks += 1;
        if looks.is_multiple_of(10) {
            match client.look() {
                Some(look) if look.stopped.is_none() => {}
                Some(look) => break look.stopped,
                None => break Some("its thread has ended".to_owned()),
            }
        }
        std::thread::sleep(LOOK_EVERY);
    };
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

fn refused(error: &ServerError, socket: Option<&Path>) -> Failure {
    let help = match socket {
        Some(_) => "give a path in a directory of yours that no other server uses",
        None => "give a free port of 127.0.0.1 or [::1]",
    };
    Failure::bad_input(error.to_string(), help)
}
