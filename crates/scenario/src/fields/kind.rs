//! What a setting takes.

use std::ops::RangeInclusive;

use strewn_base::{BLOCK_BYTES, SECTOR_BYTES};
use toml::de::DeValue;

use crate::quantity::{Bytes, Nanoseconds};
use crate::setting_value::SettingValue;
use crate::value::{self, Reading, refuse};

/// What a setting takes.
#[derive(Debug, Clone)]
pub enum Kind {
    Flag,
    /// Any string.
    Text,
    /// A string of one line that is not empty.
    Name,
    /// A whole number from `least` on.
    Count {
        least: u64,
        most: u64,
    },
    /// A whole number between two that a reader is told of together.
    Range(RangeInclusive<u64>),
    /// A power of two, up to this one.
    PowerOfTwo {
        most: u64,
    },
    /// A whole number of these.
    MultipleOf(u64),
    /// 0 to 100.
    Percent,
    /// A percentage up to 100 without a fraction, from `least` on: 0 or 1.
    WholePercent {
        least: u64,
    },
    /// A number from 0 on, or above it.
    Number {
        above_zero: bool,
    },
    /// A size in bytes, from `least` on: 0 or 1.
    Size {
        least: u64,
    },
    /// A size between two.
    SizeRange(RangeInclusive<u64>, Multiple),
    /// A size of whole sectors, from `least` on: 0 or 1.
    Sectors {
        least: u64,
    },
    /// A time in nanoseconds, from `least` on: 0 or 1.
    Time {
        least: u64,
    },
    /// A time between two.
    TimeRange(RangeInclusive<u64>),
    /// One of a few words.
    Choice(Vec<&'static str>),
    /// One of the names that something has: what it is, and the names.
    Known(&'static str, fn() -> Vec<&'static str>),
    /// A list of values, one at least, each of which may be there only once.
    List {
        of: Box<Kind>,
        is_unique: bool,
    },
    /// Anything else.
    Own(&'static Own),
    /// A table, or a list of tables.
    Table,
}

/// What a setting takes that is of no common kind.
#[derive(Debug)]
pub struct Own {
    /// Reads a value.
    pub(crate) read: fn(&DeValue<'_>) -> Reading<SettingValue>,
    /// What the schema says of it, as the members of a JSON object.
    pub(crate) schema: &'static str,
    /// What it takes, in words.
    pub(crate) takes: &'static str,
}

/// What a size is a multiple of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Multiple {
    /// Nothing.
    Byte,
    /// 32 bits, to which PDUs are padded.
    Word,
    /// What a request of a host is made of.
    Sector,
    /// What arrays and page caches are made of.
    Block,
}

impl Multiple {
    const fn bytes(self) -> u64 {
        match self {
            Self::Byte => 1,
            Self::Word => 4,
            Self::Sector => SECTOR_BYTES,
            Self::Block => BLOCK_BYTES,
        }
    }
}

impl Kind {
    /// Reads one value, which is not a list.
    pub fn read(&self, given: &DeValue<'_>) -> Reading<SettingValue> {
        match self {
            Self::Flag => value::flag(given).map(Into::into),
            Self::Text => value::text(given).map(Into::into),
            Self::Name => value::name(given).map(Into::into),
            Self::Count { least, most } => value::count(given, *least, *most).map(Into::into),
            Self::Range(range) => match value::whole(given)? {
                count if range.contains(&count) => Ok(count.into()),
                count => refuse(
                    format!("is {count}"),
                    format!("give {} to {}", range.start(), range.end()),
                ),
            },
            Self::PowerOfTwo { most } => {
                let nearest = |count: u64| (count.next_power_of_two() / 2).clamp(1, *most);
                match value::count(given, 1, u32::MAX.into())? {
                    count if count.is_power_of_two() && count <= *most => Ok(count.into()),
                    count => refuse(
                        format!("is {count}: it takes a power of two, at most {most}"),
                        format!("{} would do", nearest(count)),
                    ),
                }
            }
            Self::MultipleOf(unit) => match value::count(given, 1, u32::MAX.into())? {
                count if count.is_multiple_of(*unit) => Ok(count.into()),
                count => refuse(
                    format!("is {count}, which is not a multiple of {unit}"),
                    format!("{} would do", count.next_multiple_of(*unit)),
                ),
            },
            Self::Percent => value::percent(given).map(Into::into),
            Self::WholePercent { .. } => value::whole_percent(given).map(Into::into),
            Self::Number { above_zero } => value::number(given, *above_zero).map(Into::into),
            Self::Size { least: 0 } => value::bytes(given).map(Into::into),
            Self::Size { .. } => value::positive_bytes(given).map(Into::into),
            Self::SizeRange(range, unit) => read_size(given, range, unit.bytes()).map(Into::into),
            Self::Sectors { least } => value::whole_sectors(given, *least).map(Into::into),
            Self::Time { least: 0 } => value::nanoseconds(given).map(Into::into),
            Self::Time { .. } => value::positive_nanoseconds(given).map(Into::into),
            Self::TimeRange(range) => value::nanoseconds_of(given, range).map(Into::into),
            Self::Choice(words) => value::word(given, words).map(Into::into),
            Self::Known(what, names) => {
                let name = value::text(given)?;
                let known = names();
                match known.contains(&name.as_str()) {
                    true => Ok(name.into()),
                    false => {
                        refuse(format!("there is no {what} `{name}`"), value::one_of(&name, &known))
                    }
                }
            }
            Self::Own(own) => (own.read)(given),
            Self::List { of, .. } => of.read(given),
            Self::Table => Ok(SettingValue::List(Vec::new())),
        }
    }

    /// Whether it is a size in bytes.
    pub const fn is_size(&self) -> bool {
        matches!(self, Self::Size { .. } | Self::SizeRange(..) | Self::Sectors { .. })
    }

    /// Whether it is a time in nanoseconds.
    pub const fn is_time(&self) -> bool {
        matches!(self, Self::Time { .. } | Self::TimeRange(_))
    }

    /// Returns a value in base units as a scenario's file writes it.
    pub fn written(&self, value: SettingValue) -> SettingValue {
        match value {
            SettingValue::Count(bytes) if self.is_size() => Bytes(bytes).to_string().into(),
            SettingValue::Count(ns) if self.is_time() => Nanoseconds(ns).to_string().into(),
            // A file has whole nanoseconds, and calibration tries no others.
            SettingValue::Number(ns) if self.is_time() => match ns >= 0.0 && ns.is_finite() {
                true => Nanoseconds(ns as u64).to_string().into(),
                false => format!("{ns} ns").into(),
            },
            value => value,
        }
    }
}

fn read_size(given: &DeValue<'_>, range: &RangeInclusive<u64>, unit: u64) -> Reading<u64> {
    let (least, most) = (Bytes(*range.start()), Bytes(*range.end()));
    match value::bytes(given)? {
        bytes if !range.contains(&bytes) => {
            refuse(format!("is {}", Bytes(bytes)), format!("give {least} to {most}"))
        }
        bytes if !bytes.is_multiple_of(unit) => refuse(
            format!("is {}", Bytes(bytes)),
            format!("give a multiple of {}, from {least} to {most}", Bytes(unit)),
        ),
        bytes => Ok(bytes),
    }
}
