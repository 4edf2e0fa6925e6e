//! Every setting of a scenario by its name, with defaults filled in.

use strewn_array::Format;

use crate::array::Array;
use crate::digest;
use crate::fields::{Context, Words, listed};
use crate::format::FORMAT;
use crate::scenario::Scenario;
use crate::setting_value::SettingValue;

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
        let default = SettingValue::from(Format::default().word());
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
