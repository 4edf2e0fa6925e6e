//! Programs whose output is read.

use std::ffi::OsStr;
use std::io::BufRead;

use crate::error::FileError;
use crate::tool::ToolOutput;

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
        let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
        let remedy = "run as root, or run the program by itself to see more";
        let mut output = ToolOutput::start(self.name, self.package, &arguments, remedy)?;
        let parsed = parse(&mut output);
        // That the program failed is the better reason.
        output.run()?;
        parsed
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
                let what = format!("output of {tool}, line {number}");
                Some(Err(FileError::reading(&what, error)))
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
