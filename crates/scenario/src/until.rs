//! When a run ends before its last segment: once what it is to show is known.

use std::fmt;
use std::str::FromStr;

use crate::fields::{Own, Slot};
use crate::setting_value::SettingValue;
use crate::value;

/// A goal of a run, which each array reaches by itself. The number of segments is its limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Until {
    /// Hosts have written so many percent of the file, wherever the writes went: 100 is as many bytes as it has.
    Rewritten(f64),
    /// The IOPS of the last segments, eight or more, have no trend, as [`is_steady`](strewn_results::is_steady) has it.
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
