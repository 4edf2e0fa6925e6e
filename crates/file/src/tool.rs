//! Other programs, and what they print.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;

use crate::error::FileError;

/// Bytes of its errors that are kept.
const MAX_ERROR_BYTES: u64 = 1 << 12;

/// What a program prints, read while it runs. Once it has ended, reading fails if the program did. Dropped earlier, the
/// program is ended.
pub struct ToolOutput {
    command: String,
    remedy: String,
    child: Child,
    stdout: BufReader<ChildStdout>,
    /// Reads its errors, so that the program does not wait for that.
    errors: Option<JoinHandle<String>>,
}

impl fmt::Debug for ToolOutput {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ToolOutput").field("command", &self.command).finish_non_exhaustive()
    }
}

impl ToolOutput {
    /// Starts `program`, which is in `package`. `remedy` is what to do if it fails.
    ///
    /// # Errors
    /// If it is not there, or cannot be started.
    pub(crate) fn start(
        program: &str,
        package: &str,
        arguments: &[&OsStr],
        remedy: &str,
    ) -> Result<Self, FileError> {
        let words = arguments.iter().map(|argument| argument.to_string_lossy());
        let command = words.fold(program.to_owned(), |line, word| line + " " + &word);
        let spawn = |program: &Path| {
            let mut process = Command::new(program);
            process.args(arguments).env("LC_ALL", "C");
            process.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            process.spawn()
        };
        // Users other than root often do not have these on their path.
        let others = ["/usr/sbin", "/sbin"].map(|directory| Path::new(directory).join(program));
        let mut places = std::iter::once(PathBuf::from(program)).chain(others);
        let is_missing = |started: &io::Result<Child>| {
            started.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound)
        };
        let started = places.find_map(|place| {
            let started = spawn(&place);
            (!is_missing(&started)).then_some(started)
        });
        let started = started.unwrap_or_else(|| Err(ErrorKind::NotFound.into()));
        let started = started.map_err(|error| match error.kind() {
            ErrorKind::NotFound => FileError::input(
                format!("`{program}` is not installed, or not in PATH"),
                format!("install {package}, or add the directory of `{program}` to PATH"),
            ),
            _ => FileError::io(format!("cannot run `{command}`"), error),
        });
        let mut child = started?;
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            let lost = io::Error::other("its output is not connected");
            return Err(FileError::io(format!("cannot run `{command}`"), lost));
        };
        let errors = Some(std::thread::spawn(move || first_errors(stderr)));
        let stdout = BufReader::with_capacity(1 << 16, stdout);
        Ok(Self { command, remedy: remedy.to_owned(), child, stdout, errors })
    }

    /// The command, for errors.
    #[must_use]
    pub fn command(&self) -> &str {
        &self.command
    }

    /// Reads what it prints to its end, for what it does.
    ///
    /// # Errors
    /// If it fails.
    pub(crate) fn run(mut self) -> Result<(), FileError> {
        let done = io::copy(&mut self, &mut io::sink());
        done.map(drop).map_err(|error| FileError::reading(&format!("`{}`", self.command), error))
    }

    /// Waits for the program, whose output has ended.
    fn finish(&mut self) -> io::Result<()> {
        let Some(errors) = self.errors.take() else { return Ok(()) };
        let status = self.child.wait()?;
        let errors = errors.join().unwrap_or_default();
        if status.success() {
            return Ok(());
        }
        let message = match errors.trim() {
            "" => format!("`{}` ended with {status}", self.command),
            text => format!("`{}`: {text}", self.command),
        };
        Err(io::Error::other(FileError::input(message, self.remedy.clone())))
    }
}

/// The beginning of what a program says about its failure, on one line.
fn first_errors(mut stderr: ChildStderr) -> String {
    let mut bytes = Vec::new();
    // If they cannot be read, the exit status still tells of the failure.
    let _ = stderr.by_ref().take(MAX_ERROR_BYTES).read_to_end(&mut bytes);
    let _ = io::copy(&mut stderr, &mut io::sink());
    let text = String::from_utf8_lossy(&bytes);
    // zdb of some builds prints its log, which is empty, behind every error.
    let is_said = |line: &&str| !line.is_empty() && !line.starts_with("ZFS_DBGMSG(");
    text.lines().map(str::trim).filter(is_said).collect::<Vec<_>>().join("; ")
}

impl Read for ToolOutput {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stdout.read(buffer)?;
        if read == 0 && !buffer.is_empty() {
            self.finish()?;
        }
        Ok(read)
    }
}

impl BufRead for ToolOutput {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.stdout.fill_buf()?.is_empty() {
            self.finish()?;
        }
        self.stdout.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.stdout.consume(bytes);
    }
}

impl Drop for ToolOutput {
    fn drop(&mut self) {
        if self.errors.is_some() {
            // It may have ended by itself meanwhile.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
