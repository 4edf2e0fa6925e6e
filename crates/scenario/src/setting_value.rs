//! The value of a setting.

use std::fmt;

/// The value of a setting, as a scenario's file writes it.
#[derive(Debug, Clone, PartialEq)]
pub enum SettingValue {
    /// `true` or `false`.
    Flag(bool),
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
    /// A word, a path, or a quantity with its unit, as in `64 MiB`.
    Text(String),
    /// A list of them.
    List(Vec<SettingValue>),
}

impl From<bool> for SettingValue {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}
impl From<u64> for SettingValue {
    fn from(value: u64) -> Self {
        Self::Count(value)
    }
}
impl From<u32> for SettingValue {
    fn from(value: u32) -> Self {
        Self::Count(value.into())
    }
}
impl From<u16> for SettingValue {
    fn from(value: u16) -> Self {
        Self::Count(value.into())
    }
}
impl From<u8> for SettingValue {
    fn from(value: u8) -> Self {
        Self::Count(value.into())
    }
}
impl From<f64> for SettingValue {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}
impl From<&str> for SettingValue {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}
impl From<String> for SettingValue {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl fmt::Display for SettingValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => flag.fmt(formatter),
            Self::Count(count) => count.fmt(formatter),
            Self::Number(number) => number.fmt(formatter),
            Self::Text(text) => text.fmt(formatter),
            Self::List(values) => {
                let shown = |value: &Self| match value {
                    // Lists within a list, each by itself.
                    Self::List(_) => format!("[{value}]"),
                    value => value.to_string(),
                };
                let values: Vec<String> = values.iter().map(shown).collect();
                formatter.write_str(&values.join(", "))
            }
        }
    }
}
