//! A range of sector addresses as given on the command line.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// Addresses from one place on a drive up to, but not including, another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct LbaRange {
    low: Bound,
    high: Bound,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Bound {
    Lba(u64),
    Percent(f64),
}

impl LbaRange {
    /// The whole drive.
    pub(crate) const WHOLE: Self = Self { low: Bound::Percent(0.0), high: Bound::Percent(100.0) };

    /// Converts the range to addresses on a drive of this capacity; the end may exceed it.
    pub(crate) fn lbas(&self, capacity_sectors: u64) -> Range<u64> {
        self.low.lba(capacity_sectors)..self.high.lba(capacity_sectors)
    }
}

impl Bound {
    fn lba(self, capacity_sectors: u64) -> u64 {
        match self {
            Self::Lba(lba) => lba,
            Self::Percent(percent) => (capacity_sectors as f64 * (percent / 100.0)) as u64,
        }
    }
}

impl FromStr for LbaRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bounds = text.split_once("..").and_then(|(low, high)| {
            Some(Self { low: low.parse().ok()?, high: high.parse().ok()? })
        });
        bounds.ok_or_else(|| {
            "give two sector addresses or percentages, such as 0%..5% or 0..2048".into()
        })
    }
}

impl FromStr for Bound {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if let Some(percent) = text.strip_suffix('%') {
            let percent = percent.parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
            return percent.map(Self::Percent).ok_or(());
        }
        text.parse().map(Self::Lba).map_err(|_| ())
    }
}

impl fmt::Display for LbaRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}..{}", self.low, self.high)
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lba(lba) => write!(formatter, "{lba}"),
            Self::Percent(percent) => write!(formatter, "{percent}%"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_addresses_or_percent() {
        let lbas = |text: &str| text.parse::<LbaRange>().map(|range| range.lbas(1000));
        assert_eq!(lbas("0%..5%"), Ok(0..50));
        assert_eq!(lbas("16..100%"), Ok(16..1000));
        assert_eq!(lbas("12.5%..2000"), Ok(125..2000));
        for wrong in ["", "..", "0..", "5%", "0%..101%", "-1..5", "a..b", "0-5", "NaN%..5%"] {
            assert!(wrong.parse::<LbaRange>().is_err(), "{wrong}");
        }
    }
}
