//! Where the values of settings come from.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use toml::de::DeTable;

use crate::place::place_of;
use crate::presets;
use crate::scenario::Scenario;
use crate::set::OF_ARRAYS;

/// Where the value of a setting comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The scenario's text gives it.
    Scenario,
    /// It is declared as fitted to published figures.
    Fitted,
    /// It is a constant of the `controller` that the array names.
    Controller(String),
    /// Nothing gives it: the default.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scenario => formatter.write_str("scenario"),
            Self::Fitted => formatter.write_str("fitted"),
            Self::Controller(name) => write!(formatter, "controller {name}"),
            Self::Default => formatter.write_str("default"),
        }
    }
}

impl Scenario {
    /// Returns where the value of every setting comes from, by its name. What code changed in a scenario since it was
    /// read counts as what its text says.
    #[must_use]
    pub fn origins(&self) -> BTreeMap<String, Origin> {
        let (text, _) = DeTable::parse_recoverable(self.text.as_str());
        let text = text.get_ref();
        let controller = |array: &str| {
            let place = place_of(text, &format!("{OF_ARRAYS}{array}.controller"))?;
            Some(self.text.as_str().get(place)?.trim_matches(['"', '\'']).to_owned())
        };
        // The names of the presets' settings, and the controller, below each array.
        let presets: Vec<_> = self
            .arrays
            .iter()
            .filter_map(|array| {
                let controller = controller(&array.name)?;
                Some((
                    format!("{OF_ARRAYS}{}.", array.name),
                    presets::named(&controller)?,
                    controller,
                ))
            })
            .collect();
        let fitted = self.fitted_names();
        let origin = |name: &String| {
            if fitted.contains(name) {
                return Origin::Fitted;
            }
            if place_of(text, name).is_some() {
                return Origin::Scenario;
            }
            let preset = presets.iter().find(|(beginning, preset, _)| {
                name.strip_prefix(beginning).is_some_and(|below| place_of(preset, below).is_some())
            });
            preset.map_or(Origin::Default, |(_, _, name)| Origin::Controller(name.clone()))
        };
        let names = self.every_setting().into_iter().map(|(name, _)| name);
        names
            .map(|name| {
                let origin = origin(&name);
                (name, origin)
            })
            .collect()
    }

    /// Returns the full names of the settings that calibration may set.
    fn fitted_names(&self) -> BTreeSet<String> {
        let to_rows =
            self.fitted.iter().filter_map(|fitted| self.fitted_values(&fitted.parameter).ok());
        let to_rows = to_rows.flatten().map(|(name, _)| name);
        let to_segments = self.arrays.iter().flat_map(|array| {
            let parameters = array.fitted.iter().flat_map(|fitted| &fitted.parameters);
            parameters.map(|parameter| format!("{OF_ARRAYS}{}.{parameter}", array.name))
        });
        to_rows.chain(to_segments).collect()
    }
}
