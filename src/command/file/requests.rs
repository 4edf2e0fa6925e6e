//! The requests to simulate, and the drive.

use std::path::Path;

use strewn::file::{DEFAULT_OUTSTANDING, FileError, FileStream, FileWorkload, Order};
use strewn::terminal::Failure;
use strewn::{Load, LoadError};

use crate::command::arguments::FileArguments;
use crate::command::load;

/// What is asked of each file.
pub(super) enum Requests {
    /// The same of every file.
    Same(FileWorkload),
    /// What a file of Iometer or fio says, of as much of the file as it says.
    Loaded(Load),
}

impl Requests {
    /// Returns the requests that the flags ask for: File Server unless they name others.
    pub(super) fn of(arguments: &FileArguments) -> Result<Self, Failure> {
        let order = if arguments.sequential { Order::Sequential } else { Order::Random };
        let simple = |bytes: u64, read_percent| {
            // At most 1 GiB, by the check of the flag.
            Self::Same(FileWorkload::simple(bytes as u32, order, read_percent))
        };
        if let Some(bytes) = arguments.read {
            return Ok(simple(bytes.0, 100));
        }
        if let Some(bytes) = arguments.write {
            return Ok(simple(bytes.0, 0));
        }
        if arguments.sequential {
            return Err(Failure::bad_input(
                "--sequential needs the size of the requests",
                "give --read or --write too, such as --read 1MiB --sequential",
            ));
        }
        let load = load::of_tool(arguments.access_spec.as_deref(), arguments.fio_job.as_deref())?;
        Ok(load.map_or_else(|| Self::Same(FileWorkload::default()), Self::Loaded))
    }

    /// What is asked of a file of `bytes`.
    pub(super) fn workload(
        &self,
        bytes: u64,
        outstanding: Option<u32>,
    ) -> Result<FileWorkload, FileError> {
        let workload = match self {
            Self::Same(workload) => workload.clone(),
            Self::Loaded(load) => loaded(load, bytes)
                .map_err(|error| FileError::input(error.to_string(), error.help()))?,
        };
        Ok(match outstanding {
            Some(outstanding) => workload.with_outstanding(outstanding),
            None => workload,
        })
    }
}

fn loaded(load: &Load, bytes: u64) -> Result<FileWorkload, LoadError> {
    let streams = load.streams(bytes, DEFAULT_OUTSTANDING)?.into_iter().map(|stream| FileStream {
        pattern: stream.pattern,
        first_byte: stream.first_byte,
        bytes: Some(stream.bytes),
        outstanding: stream.outstanding,
    });
    let name = Path::new(load.title()).file_name().map(|name| name.to_string_lossy().into_owned());
    Ok(FileWorkload::from_streams(name.unwrap_or_default(), streams.collect()))
}
