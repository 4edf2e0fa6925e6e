//! Figures of what runs long, as OpenMetrics text.

#[cfg(unix)]
pub(super) mod array;
#[cfg(target_os = "linux")]
pub(super) mod file;
pub(super) mod sweep;
mod text;

#[cfg(unix)]
use std::path::Path;

#[cfg(unix)]
use strewn::terminal::Failure;
#[cfg(unix)]
use strewn_live::metrics::{MetricsError, MetricsServer};

/// Checks that a page can be served at a place, before anything is written.
#[cfg(unix)]
pub(super) fn check(place: &Path) -> Result<(), Failure> {
    serve(place, String::new).map(drop)
}

/// Serves `page` at a loopback address or at a Unix socket, until dropped.
#[cfg(unix)]
pub(super) fn serve(
    place: &Path,
    page: impl Fn() -> String + Send + Sync + 'static,
) -> Result<MetricsServer, Failure> {
    MetricsServer::start(place, page).map_err(|error| {
        let help = match &error {
            MetricsError::NotLoopback(_) => {
                "give 127.0.0.1 or [::1], or a Unix socket, and a proxy for other machines"
            }
            MetricsError::NoAddress(_) => {
                "give a port of 127.0.0.1 or [::1], or a Unix socket with its directory, such as ./metrics.sock"
            }
            MetricsError::SocketPath(_) => "give a shorter path",
            MetricsError::Listen { .. } => "give a free port of 127.0.0.1 or [::1]",
            _ => "give a path in a directory of yours that no other server uses",
        };
        Failure::bad_input(format!("--metrics: {error}"), help)
    })
}
