//! The rule that chooses the next command.

use std::fmt;
use std::str::FromStr;

/// A rule that chooses among the commands that a drive has admitted. The oldest of equals wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scheduler {
    /// First come, first served.
    Fcfs,
    /// Shortest seek, in cylinders.
    Sstf,
    /// The next cylinder inward; after the innermost requested cylinder, the outermost: circular LOOK.
    CLook,
    /// Shortest positioning time: overhead, seek and rotation together.
    #[default]
    Sptf,
    /// SPTF with a credit for the time waited, which prevents starvation (Jacobson and Wilkes, "Disk scheduling
    /// algorithms based on rotational position", HP Labs, 1991).
    AgedSptf {
        /// Microseconds taken off the positioning time for each millisecond waited since arrival.
        credit_us_per_ms: u32,
    },
}

impl Scheduler {
    /// The credit of plain `aged-sptf`. It outweighs any positioning time after two seconds, the longest wait of SPTF
    /// with 64 commands on the Cheetah.
    pub const DEFAULT_CREDIT_US_PER_MS: u32 = 6;

    /// The names of all schedulers. `aged-sptf` may have a credit of its own behind a colon.
    pub const NAMES: [&str; 5] = ["fcfs", "sstf", "c-look", "sptf", "aged-sptf"];
}

impl fmt::Display for Scheduler {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Fcfs => formatter.write_str("fcfs"),
            Self::Sstf => formatter.write_str("sstf"),
            Self::CLook => formatter.write_str("c-look"),
            Self::Sptf => formatter.write_str("sptf"),
            Self::AgedSptf { credit_us_per_ms: Self::DEFAULT_CREDIT_US_PER_MS } => {
                formatter.write_str("aged-sptf")
            }
            Self::AgedSptf { credit_us_per_ms } => {
                write!(formatter, "aged-sptf:{credit_us_per_ms}")
            }
        }
    }
}

/// The name of no scheduler.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no scheduler is called \"{name}\"; known: {}, aged-sptf:N with a credit of N microseconds per \
     millisecond waited",
    Scheduler::NAMES.join(", ")
)]
#[non_exhaustive]
pub struct ParseSchedulerError {
    /// The name as given.
    pub name: String,
}

impl FromStr for Scheduler {
    type Err = ParseSchedulerError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        match name {
            "fcfs" => Ok(Self::Fcfs),
            "sstf" => Ok(Self::Sstf),
            "c-look" => Ok(Self::CLook),
            "sptf" => Ok(Self::Sptf),
            "aged-sptf" => Ok(Self::AgedSptf { credit_us_per_ms: Self::DEFAULT_CREDIT_US_PER_MS }),
            _ => name
                .strip_prefix("aged-sptf:")
                .and_then(|credit| credit.parse().ok())
                .map(|credit_us_per_ms| Self::AgedSptf { credit_us_per_ms })
                .ok_or_else(|| ParseSchedulerError { name: name.to_owned() }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_to_what_prints_them() {
        for name in Scheduler::NAMES.into_iter().chain(["aged-sptf:12"]) {
            assert_eq!(name.parse::<Scheduler>().unwrap().to_string(), name);
        }
    }

    #[test]
    fn other_names_are_errors_that_say_what_is_known() {
        for name in ["", "SPTF", "look", "aged-sptf:", "aged-sptf:-1"] {
            let error = name.parse::<Scheduler>().unwrap_err();
            assert_eq!(error.name, name);
            assert!(error.to_string().contains("c-look"));
        }
    }
}
