//! Spindles that fail: what an array does about them, how far it has come, and what is gone.

use std::fmt;

use strewn_raid::SpindleIndex;

/// How an array makes up for spindles that fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rebuild {
    /// Failures that can be made up for: spare spindles of a write-anywhere array, drives' worth of distributed
    /// reserve of an in-place one. With none left, an array stays degraded.
    pub spares: u16,
    /// Steps of a rebuild under way at once: its priority over the host. At least one.
    pub steps_in_flight: u32,
}

impl Default for Rebuild {
    /// Nothing to rebuild on; one step at a time.
    fn default() -> Self {
        Self { spares: 0, steps_in_flight: 1 }
    }
}

/// A spindle that failed, and how far what it held is rebuilt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FailedSpindle {
    /// The spindle.
    pub spindle: SpindleIndex,
    /// When it failed.
    pub at_ns: u64,
    /// When its rebuild began; nothing if there was nothing to rebuild on.
    pub rebuild_began_ns: Option<u64>,
    /// When all it held was there again; nothing until then.
    pub rebuilt_ns: Option<u64>,
    /// Share of what it held that is there again, 0 to 1.
    pub rebuilt: f64,
}

impl FailedSpindle {
    pub(crate) fn new(spindle: SpindleIndex, at_ns: u64) -> Self {
        Self { spindle, at_ns, rebuild_began_ns: None, rebuilt_ns: None, rebuilt: 0.0 }
    }

    /// `share` of what the spindle held is there again; all of it if it `is_whole`, at `now_ns` or earlier.
    pub(crate) fn note_rebuilt(&mut self, share: f64, is_whole: bool, now_ns: u64) {
        self.rebuilt = share;
        self.rebuilt_ns = is_whole.then(|| self.rebuilt_ns.unwrap_or(now_ns));
    }

    /// Whether something that the spindle held is still missing.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.rebuilt_ns.is_none()
    }
}

/// More spindles are lost than parity makes good: what is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataLost {
    /// When the spindle failed that was one too many.
    pub at_ns: u64,
    /// The spindles of which something was missing then, that one last.
    pub spindles: Vec<SpindleIndex>,
    /// Stripes that have lost more blocks than they have parity.
    pub stripes: u64,
    /// Stripes of the array; in place, those of the LUN.
    pub stripes_in_all: u64,
    /// Bytes of the LUN that lay in those stripes, on the lost spindles.
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
