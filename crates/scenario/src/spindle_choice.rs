//! The drive of an array's spindles: a profile that ships, or one in a file.

use std::error::Error;
use std::io::ErrorKind;
use std::path::Path;

use strewn_spindle::{Profile, ProfileError};

use crate::catalog;
use crate::fields::{Own, Section, Slot};
use crate::files::{ProfileFile, Profiles};
use crate::setting_value::SettingValue;
use crate::value;

/// The drive used for an array's spindles.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpindleChoice {
    /// A profile that ships with `strewn-spindle`, by name.
    Shipped(String),
    /// A profile in a file, whose path is already resolved against the scenario's.
    File(ProfileFile),
}

impl SpindleChoice {
    /// Returns the chosen profile. No file is read: that of a file is kept since the scenario was read.
    ///
    /// # Errors
    ///
    /// If no profile of this name ships. A scenario that was just checked has no such problem.
    pub fn profile(&self) -> Result<Profile, ProfileError> {
        match self {
            Self::Shipped(name) => Profile::shipped(name).ok_or_else(|| ProfileError::Read {
                path: name.clone(),
                source: std::io::ErrorKind::NotFound.into(),
            }),
            Self::File(file) => Ok(file.profile().clone()),
        }
    }

    /// Returns the file of the profile, if it is in one.
    pub(crate) fn file(&self) -> Option<&ProfileFile> {
        match self {
            Self::File(file) => Some(file),
            Self::Shipped(_) => None,
        }
    }

    /// Returns the bytes of the drive, if it is known.
    pub(crate) fn drive_bytes(&self) -> Option<u64> {
        self.profile().ok().as_ref().map(catalog::drive_bytes)
    }

    /// Reads the profile's file, if that is what was chosen.
    pub(crate) fn read_file(
        &mut self,
        section: &mut Section<'_>,
        folder: &Path,
        profiles: &Profiles<'_>,
    ) {
        let Self::Shipped(name) = &*self else { return };
        if !name.ends_with(".toml") {
            return;
        }
        match profiles.profile(&folder.join(name)) {
            Ok(file) => *self = Self::File(file),
            Err(error) => {
                section.problem("spindle", with_causes(&error), profile_remedy(&error));
                section.spoil("spindle");
            }
        }
    }
}

/// Returns the remedy for a profile's file that cannot be used.
fn profile_remedy(error: &ProfileError) -> &'static str {
    match error {
        ProfileError::Read { source, .. } if source.kind() == ErrorKind::Unsupported => {
            "give the name of a profile that ships: a profile's file is read only by a program that gives the files that \
             a scenario names"
        }
        _ => {
            "give a profile's file, as a path from the scenario's folder, or the name of a profile that ships"
        }
    }
}

/// Returns an error and its causes on one line.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {}", error.to_string().trim());
        cause = error.source();
    }
    text
}

/// Reads a profile's name, or the path of its file, which is not read with it.
pub(crate) static SPINDLE: Own = Own {
    read: |value| {
        let name = value::text(value)?;
        if name.ends_with(".toml") || Profile::shipped(&name).is_some() {
            return Ok(name.into());
        }
        let known = catalog::spindle_profiles();
        value::refuse(format!("there is no spindle profile `{name}`"), value::one_of(&name, &known))
    },
    schema: r#""type": "string", "minLength": 1"#,
    takes: "text",
};

impl Slot for SpindleChoice {
    fn get(&self) -> Option<SettingValue> {
        Some(match self {
            Self::Shipped(name) => name.as_str().into(),
            Self::File(file) => file.path().display().to_string().into(),
        })
    }

    fn set(&mut self, value: SettingValue) {
        if let SettingValue::Text(name) = value {
            *self = Self::Shipped(name);
        }
    }
}
