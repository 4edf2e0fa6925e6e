//! Programs whose output is read.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::FileError;

/// The most bytes of complaints that are kept.
const MOST_COMPLAINT_BYTES: u64 = 2000;

/// A program of another package.
pub(super) struct Tool {
    pub(super) name: &'static str,
    /// The package of Debian and Fedora that has it.
    pub(super) package: &'static str,
}

impl Tool {
    /// Runs the program and has `parse` read its output, line by line, without the whole of it in memory.
    pub(super) fn run<T>(
        &self,
        arguments: &[&str],
        parse: impl FnOnce(&mut dyn BufRead) -> Result<T, FileError>,
    ) -> Result<T, FileError> {
        let failed = |error| FileError::io(format!("running {}", self.name), error);
        let mut child = self.spawn(arguments)?;
        let complaints = child.stderr.take().map(|stderr| {
            std::thread::spawn(move || {
                let mut text = Vec::new();
                // All of it is taken, lest the program waits.
                let mut stderr = stderr;
                let _ = stderr.by_ref().take(MOST_COMPLAINT_BYTES).read_to_end(&mut text);
                let _ = io::copy(&mut stderr, &mut io::sink());
                String::from_utf8_lossy(&text).trim().replace('\n', "; ")
            })
        });
        let parsed = match child.stdout.take() {
            Some(stdout) => parse(&mut BufReader::new(stdout)),
            None => Err(failed(io::ErrorKind::BrokenPipe.into())),
        };
        let status = child.wait().map_err(failed)?;
        let complaints = complaints.and_then(|thread| thread.join().ok()).unwrap_or_default();
        if status.success() {
            return parsed;
        }
        let remedy = if complaints.to_lowercase().contains("permi") {
            "run as root"
        } else {
            "run the program by itself to see more"
        };
        let line = arguments.join(" ");
        Err(FileError::input(format!("`{} {line}`: {status}: {complaints}", self.name), remedy))
    }

    fn spawn(&self, arguments: &[&str]) -> Result<std::process::Child, FileError> {
        // Users other than root often do not have these on their path.
        let others = ["/usr/sbin", "/sbin"].map(|directory| Path::new(directory).join(self.name));
        for program in [self.name.into()].into_iter().chain(others) {
            let spawned = Command::new(program)
                .args(arguments)
                .env("LC_ALL", "C")
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn();
            match spawned {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(FileError::io(format!("running {}", self.name), error)),
                Ok(child) => return Ok(child),
            }
        }
        Err(FileError::input(
            format!("{} is not installed", self.name),
            format!("install package {}", self.package),
        ))
    }
}

/// The lines of a program's output with their numbers, from 1.
pub(super) fn lines<'a>(
    input: &'a mut dyn BufRead,
    tool: &'static str,
) -> impl Iterator<Item = Result<(u64, String), FileError>> + 'a {
    let mut bytes = Vec::new();
    let mut number = 0;
    std::iter::from_fn(move || {
        bytes.clear();
        number += 1;
        match input.read_until(b'\n', &mut bytes) {
            Ok(0) => None,
            Ok(_) => Some(Ok((number, String::from_utf8_lossy(&bytes).trim_end().to_owned()))),
            Err(error) => {
                let what = format!("reading the output of {tool}, line {number}");
                Some(Err(FileError::io(what, error)))
            }
        }
    })
}

/// A line of a program's output that is not understood.
pub(super) fn not_understood(tool: &str, line: u64, what: &str) -> FileError {
    FileError::input(
        format!("output of {tool}, line {line}: {what}"),
        format!("report it, with the line and `{tool} -V`"),
    )
}
