//! Every setting of a scenario by its name, with defaults filled in.

use std::fmt;

use crate::array::Array;
use crate::digest;
use crate::fields::{Context, listed};
use crate::format::{FORMAT, Format};
use crate::scenario::Scenario;

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

impl Scenario {
    /// Returns every setting by its name, defaults included, in the order of the file: `segment`, `workload.file`,
    /// `array.FAS2050.write_anywhere.policy`. The entries of lists of tables are numbered from 1, and arrays are named.
    ///
    /// A `format` of `modelled` is left out, because results record these settings, and so are the scatter of fitted
    /// rows and constants that are unknown: no figure of a run depends on them. [`every_setting`](Self::every_setting)
    /// has them.
    #[must_use]
    pub fn settings(&self) -> Vec<(String, SettingValue)> {
        let mut settings = self.every_setting();
        let default = SettingValue::from(Format::default().as_str());
        settings
            .retain(|(name, value)| *value != default || name.rsplit('.').next() != Some(FORMAT));
        settings.retain(|(name, _)| !digest::is_of_uncertainty(name));
        settings
    }

    /// Returns every setting as [`settings`](Self::settings) does, and also a `format` of `modelled`.
    #[must_use]
    pub fn every_setting(&self) -> Vec<(String, SettingValue)> {
        listed(&mut self.clone(), Context::default())
    }

    /// Returns whether its workloads have names.
    pub(crate) fn is_named(&self) -> bool {
        self.workloads.iter().any(|workload| workload.named.is_some())
    }
}

impl Array {
    /// Returns every setting of the array but its name, by its name below the array. The workloads of
    /// `scenario` may have names, and so the outstanding operations, and its hosts cores of their own.
    pub(crate) fn settings(&self, scenario: &Scenario) -> Vec<(String, SettingValue)> {
        let context = Context {
            workloads_are_named: scenario.is_named(),
            hosts_are_named: !scenario.hosts.is_empty(),
            ..Context::default()
        };
        listed(&mut self.clone(), context)
    }
}
