//! Failed spindles: the rebuild policy, its progress, and data loss.

use std::fmt;

use strewn_base::state::SavedValue;
use strewn_raid::SpindleIndex;

/// How an array rebuilds failed spindles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rebuild {
    /// Failures that can be rebuilt: spare spindles of a write-anywhere array, or drives' worth of distributed reserve
    /// of an in-place array. With none left, an array stays degraded.
    pub spares: u16,
    /// Rebuild steps in flight, at least one: the priority of the rebuild over the host. There is no other limit: real
    /// controllers pace rebuilds, and share links to their drives, so a rebuild here takes the least time that it can
    /// with so many steps.
    pub steps_in_flight: u32,
}

impl Default for Rebuild {
    /// No spares; one step at a time.
    fn default() -> Self {
        Self { spares: 0, steps_in_flight: 1 }
    }
}

/// A spindle that failed, and the progress of its rebuild.
#[derive(Debug, Clone, Copy, PartialEq, SavedValue)]
pub struct FailedSpindle {
    /// Its number in the array, as commands have it.
    pub spindle: SpindleIndex,
    /// When it failed.
    pub at_ns: u64,
    /// When its rebuild began; `None` if there was no spare or reserve.
    pub rebuild_began_ns: Option<u64>,
    /// When its rebuild was complete; `None` until then.
    pub rebuilt_ns: Option<u64>,
    /// Share of its data that is rebuilt, 0 to 1.
    pub rebuilt: f64,
}

impl FailedSpindle {
    pub(crate) fn new(spindle: SpindleIndex, at_ns: u64) -> Self {
        Self { spindle, at_ns, rebuild_began_ns: None, rebuilt_ns: None, rebuilt: 0.0 }
    }

    /// Records the rebuilt share. A spindle that `is_whole` keeps the time at which it first was, or takes `now_ns`.
    pub(crate) fn note_rebuilt(&mut self, share: f64, is_whole: bool, now_ns: u64) {
        self.rebuilt = share;
        self.rebuilt_ns = is_whole.then(|| self.rebuilt_ns.unwrap_or(now_ns));
    }

    /// Whether any of its data is still missing.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.rebuilt_ns.is_none()
    }
}

/// Failures exceed parity: the data that is lost.
#[derive(Debug, Clone, PartialEq, Eq, SavedValue)]
pub struct DataLost {
    /// When the failure that exceeded parity occurred.
    pub at_ns: u64,
    /// The spindles with data missing at that time, the last to fail last.
    pub spindles: Vec<SpindleIndex>,
    /// Stripes that have lost more blocks than they have parity blocks.
    pub stripes: u64,
    /// Stripes of the parity group; in place, those of the disk group's LUNs.
    pub stripes_in_all: u64,
    /// Bytes of the LUN that those stripes held on the failed spindles.
    pub lun_bytes: u64,
}

impl fmt::Display for DataLost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("spindles ")?;
        for (position, spindle) in self.spindles.iter().enumerate() {
            let joint = match position {
                0 => "",
                _ if position + 1 == self.spindles.len() => " and ",
                _ => ", ",
            };
            write!(formatter, "{joint}{}", spindle.0)?;
        }
        write!(
            formatter,
            " are lost together: {} of {} stripes are gone, and with them {} bytes of the LUN",
            self.stripes, self.stripes_in_all, self.lun_bytes
        )
    }
}

impl std::error::Error for DataLost {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_loss_names_spindles_and_amounts() {
        let lost = DataLost {
            at_ns: 0,
            spindles: [3, 9, 4].map(SpindleIndex).to_vec(),
            stripes: 12,
            stripes_in_all: 100,
            lun_bytes: 4096,
        };
        assert_eq!(
            lost.to_string(),
            "spindles 3, 9 and 4 are lost together: 12 of 100 stripes are gone, and with them 4096 bytes of the LUN"
        );
    }
}
