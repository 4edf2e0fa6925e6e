//! How an incarnation ends.

/// How an incarnation ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The power failed while the array was running.
    Crash,
    /// The power failed before the array had started.
    CrashAtStart,
    /// The array could not start, rebuild or be shut down for lack of space.
    Stopped,
    /// It was shut down.
    ShutDown,
}
