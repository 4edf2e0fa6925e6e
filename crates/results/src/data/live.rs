//! What results of real spindles add to those of simulated ones.

use serde::{Deserialize, Serialize};

use crate::data::number::{SIGNIFICANT_DIGITS, rounded};

/// Says that a run was on real spindles, and on which.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RealSpindles {
    /// What they are: `files`, `block devices`, or `files and block devices`.
    pub devices: String,
    /// Whether all of them, and the log, were accessed past the kernel's cache.
    pub direct_io: bool,
    /// How I/O was issued: `io_uring`, or `threads`.
    pub io: String,
    /// The system of the run: its name, release and machine.
    pub system: String,
    /// The file's blocks written in full before the first segment; absent if they were not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<Fill>,
    /// Figures of the log's device, by segment.
    pub log: Vec<LogFigures>,
}

/// How a file was written in full before the first segment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fill {
    /// Bytes written by the host.
    pub bytes: u64,
    /// Time until all of it was on the spindles, seconds.
    pub seconds: f64,
    /// Rate of the host's bytes, MiB per second.
    pub mib_per_s: f64,
}

/// Figures of the NVRAM log's device in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogFigures {
    /// The segment.
    pub segment: u32,
    /// I/Os completed.
    pub ios: u64,
    /// MiB written, per second.
    pub written_mib_per_s: f64,
    /// Share of the time in which an I/O was in flight.
    pub utilization: f64,
}

impl Fill {
    /// Creates figures of `bytes` written in `seconds`.
    #[must_use]
    pub fn new(bytes: u64, seconds: f64) -> Self {
        let mib_per_s = bytes as f64 / f64::from(1 << 20) / seconds.max(1e-9);
        Self {
            bytes,
            seconds: rounded(seconds, SIGNIFICANT_DIGITS),
            mib_per_s: rounded(mib_per_s, SIGNIFICANT_DIGITS),
        }
    }
}

impl LogFigures {
    /// Returns the figures with as many digits as all others.
    #[must_use]
    pub fn rounded(self) -> Self {
        Self {
            written_mib_per_s: rounded(self.written_mib_per_s, SIGNIFICANT_DIGITS),
            utilization: rounded(self.utilization, SIGNIFICANT_DIGITS),
            ..self
        }
    }
}

impl RealSpindles {
    /// Returns the figures of the log's device in that segment, and their position in the list.
    #[must_use]
    pub fn log_of(&self, segment: u32) -> Option<(usize, &LogFigures)> {
        self.log.iter().enumerate().find(|(_, log)| log.segment == segment)
    }

    /// Returns a sentence that says what the spindles are.
    #[must_use]
    pub fn sentence(&self) -> String {
        let Self { devices, io, system, .. } = self;
        let cache =
            if self.direct_io { "past the kernel's cache" } else { "by the kernel's cache" };
        format!("Measured in real time on real spindles: {devices}, {cache}, by {io}, on {system}.")
    }

    /// Returns what a reader must know: what the spindles are, and what figures of real spindles
    /// mean.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let mut all = vec![
            self.sentence(),
            "Figures differ from run to run, even with the same seed. A spindle's service time is its busy time divided by its \
             I/Os; the controller is busy while its thread is on a processor."
                .to_owned(),
        ];
        all.extend(self.fill.map(|fill| {
            format!(
                "Before the first segment the file was written in full: {:.0} MiB in {:.1} s, {:.1} MiB/s.",
                fill.bytes as f64 / f64::from(1 << 20),
                fill.seconds,
                fill.mib_per_s
            )
        }));
        all
    }
}
