//! Which of the admitted commands goes next.

use std::fmt;
use std::str::FromStr;

/// A rule to choose among the commands that a drive has admitted. The older of equals wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheduler {
    /// First come, first served.
    Fcfs,
    /// Shortest seek, in cylinders.
    Sstf,
    /// The next cylinder inward, and from the innermost that is asked for back to the outermost:
    /// circular LOOK.
    CLook,
    /// Shortest overhead, seek and rotation together.
    Sptf,
    /// SPTF with a credit for the time waited, so that none waits for ever (Jacobson and Wilkes,
    /// "Disk scheduling algorithms based on rotational position", HP Labs, 1991).
    AgedSptf {
        /// Microseconds taken off the positioning time for each millisecond waited since arrival.
        credit_us_per_ms: u32,
    },
}

impl Scheduler {
    /// The credit of plain `aged-sptf`. A command that waited two seconds, the longest that SPTF
    /// makes one of 64 wait on the Cheetah, outweighs any positioning time.
    pub const DEFAULT_CREDIT_US_PER_MS: u32 = 6;
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

/// A name that is no scheduler's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no scheduler is called \"{name}\": use fcfs, sstf, c-look, sptf, aged-sptf, or aged-sptf:N \
     with a credit of N microseconds per millisecond waited"
)]
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
        for name in ["fcfs", "sstf", "c-look", "sptf", "aged-sptf", "aged-sptf:12"] {
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
