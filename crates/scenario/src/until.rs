//! When a run ends before its last segment: once what it is to show is known.

use std::fmt;
use std::str::FromStr;

use strewn_base::SECTOR_BYTES;
use strewn_results::is_steady;
use strewn_sim::Segment;

use crate::array::Array;
use crate::fields::{Own, Slot};
use crate::scenario::Scenario;
use crate::setting_value::SettingValue;
use crate::value;

/// A goal of a run, which each array reaches by itself. The number of segments is its limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Until {
    /// Hosts have written so many percent of the file, wherever the writes went: 100 is as many bytes as it has.
    Rewritten(f64),
    /// The IOPS of the last segments, eight or more, have no trend: the 95 % interval of its slope holds zero. It is the
    /// rule of a figure's statistic `steady_after`.
    Steady,
}

const EXAMPLES: &str = "write \"rewritten 100 %\", \"rewritten 3 times\" or \"steady\"";

/// Reads a goal.
pub(crate) static UNTIL: Own = Own {
    read: |given| {
        let text = value::text(given)?;
        match text.parse::<Until>() {
            Ok(until) => Ok(until.to_string().into()),
            Err(()) => value::refuse(format!("`{text}` is no goal of a run"), EXAMPLES),
        }
    },
    schema: r#""type": "string", "pattern": "^(steady|rewritten [0-9]+(\\.[0-9]+)? ?(%|times))$""#,
    takes: "`rewritten N %`, `rewritten N times`, `steady`",
};

impl FromStr for Until {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let text = text.trim();
        if text == "steady" {
            return Ok(Self::Steady);
        }
        let amount = text.strip_prefix("rewritten ").ok_or(())?.trim();
        let (number, percent) = match (amount.strip_suffix('%'), amount.strip_suffix("times")) {
            (Some(number), _) => (number, 1.0),
            (None, Some(number)) => (number, 100.0),
            (None, None) => return Err(()),
        };
        let percent = number.trim().parse::<f64>().map_err(|_| ())? * percent;
        (percent > 0.0 && percent.is_finite()).then_some(Self::Rewritten(percent)).ok_or(())
    }
}

impl fmt::Display for Until {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rewritten(percent) => write!(formatter, "rewritten {percent} %"),
            Self::Steady => formatter.write_str("steady"),
        }
    }
}

impl Slot for Option<Until> {
    fn get(&self) -> Option<SettingValue> {
        self.map(|until| until.to_string().into())
    }

    fn set(&mut self, value: SettingValue) {
        if let SettingValue::Text(text) = value {
            *self = text.parse().ok();
        }
    }

    fn clear(&mut self) {
        *self = None;
    }
}

impl Until {
    /// Returns whether an array of a scenario has reached it after these segments.
    #[must_use]
    pub fn is_reached(&self, scenario: &Scenario, array: &Array, segments: &[Segment]) -> bool {
        match self {
            Self::Rewritten(percent) => {
                let written: f64 =
                    segments.iter().map(|one| written_bytes(scenario, array, one)).sum();
                written >= percent / 100.0 * scenario.file_bytes(array) as f64
            }
            Self::Steady => {
                let iops: Vec<f64> = segments
                    .iter()
                    .map(|one| one.operations as f64 / one.length_ns.max(1) as f64)
                    .collect();
                is_steady(&iops)
            }
        }
    }
}

/// Returns what hosts wrote in a segment, in bytes. Where reads and writes were not measured apart, hosts wrote what the
/// workloads of the array say.
pub(crate) fn written_bytes(scenario: &Scenario, array: &Array, segment: &Segment) -> f64 {
    let of_workloads = segment.by_workload.iter().map(|one| &*one.by_direction);
    let measured = of_workloads.chain(segment.by_direction.as_deref());
    let sectors = measured.map(|[_, writes]| writes.answered.sectors);
    match sectors.reduce(|sum, sectors| sum + sectors) {
        Some(sectors) => (sectors * SECTOR_BYTES) as f64,
        None => segment.bytes as f64 * write_share(scenario, array),
    }
}

/// Returns the share of the bytes that the workloads of an array write.
fn write_share(scenario: &Scenario, array: &Array) -> f64 {
    let here = scenario.workloads.iter().filter(|workload| workload.runs_on(&array.name));
    let lines = here.filter_map(|workload| workload.specification().ok());
    let (all, written) = lines.flat_map(|of| of.lines().to_vec()).fold((0.0, 0.0), |sum, line| {
        let bytes = f64::from(line.bytes) * f64::from(line.percent_of_accesses);
        (sum.0 + bytes, sum.1 + bytes * (1.0 - f64::from(line.read_percent) / 100.0))
    });
    if all > 0.0 { written / all } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_read_as_they_are_written() {
        for (text, until) in [
            ("steady", Until::Steady),
            ("rewritten 100 %", Until::Rewritten(100.0)),
            ("rewritten 12.5%", Until::Rewritten(12.5)),
            ("rewritten 3 times", Until::Rewritten(300.0)),
        ] {
            assert_eq!(text.parse(), Ok(until), "{text}");
            assert_eq!(until.to_string().parse(), Ok(until), "{text}");
        }
        for text in ["", "rewritten", "rewritten 0 %", "rewritten -1 %", "100 %", "rewritten NaN %"]
        {
            assert_eq!(text.parse::<Until>(), Err(()), "{text}");
        }
    }
}
