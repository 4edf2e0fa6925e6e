//! Names of volumes, LUNs and snapshots, and how they are written.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Longest name of a volume, a LUN or a snapshot, in bytes.
pub const MAXIMUM_NAME_BYTES: usize = 64;

/// The volume that an array is created with.
pub const FIRST_VOLUME_NAME: &str = "volume";

/// The LUN that an array is created with.
pub const FIRST_LUN_NAME: &str = "lun";

/// Why a text is no name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// A volume, LUN or snapshot cannot be called that.
    #[error(
        "{0:?} is no name: it takes 1 to {MAXIMUM_NAME_BYTES} bytes, not only spaces, and no control characters, `/` or `@`"
    )]
    Name(String),
    /// It does not name a LUN.
    #[error("{0:?} does not name a LUN: a LUN is VOLUME/LUN")]
    Lun(String),
    /// It does not name a snapshot.
    #[error("{0:?} does not name a snapshot: a snapshot is VOLUME@SNAPSHOT")]
    Snapshot(String),
}

impl NameError {
    /// Returns the remedy.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Name(_) => "give it another name",
            Self::Lun(_) => "give the volume's name, `/` and the LUN's name, such as volume/lun",
            Self::Snapshot(_) => {
                "give the volume's name, `@` and the snapshot's name, such as volume@monday"
            }
        }
    }
}

/// Checks a single name.
fn check(name: &str) -> Result<(), NameError> {
    let is_name = (1..=MAXIMUM_NAME_BYTES).contains(&name.len())
        && !name.trim().is_empty()
        && !name.chars().any(|one| matches!(one, '/' | '@') || one.is_control());
    match is_name {
        true => Ok(()),
        false => Err(NameError::Name(name.to_owned())),
    }
}

/// The name of a volume.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct VolumeName(String);

impl VolumeName {
    /// Returns the name of the volume that an array is created with.
    #[must_use]
    pub fn first() -> Self {
        Self(FIRST_VOLUME_NAME.to_owned())
    }

    /// Returns the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for VolumeName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        check(text).map(|()| Self(text.to_owned()))
    }
}

impl fmt::Display for VolumeName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The name of a LUN, written `volume/lun`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LunName {
    volume: VolumeName,
    lun: String,
}

impl LunName {
    /// Returns the name of LUN `lun` of `volume`.
    ///
    /// # Errors
    /// If no LUN can be called that.
    pub fn new(volume: VolumeName, lun: &str) -> Result<Self, NameError> {
        check(lun).map(|()| Self { volume, lun: lun.to_owned() })
    }

    /// Returns the name of the LUN that an array is created with.
    #[must_use]
    pub fn first() -> Self {
        Self { volume: VolumeName::first(), lun: FIRST_LUN_NAME.to_owned() }
    }

    /// Returns the volume.
    #[must_use]
    pub fn volume(&self) -> &VolumeName {
        &self.volume
    }

    /// Returns the name within the volume.
    #[must_use]
    pub fn lun(&self) -> &str {
        &self.lun
    }
}

impl FromStr for LunName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let (volume, lun) = text.split_once('/').ok_or_else(|| NameError::Lun(text.to_owned()))?;
        Self::new(volume.parse()?, lun)
    }
}

impl fmt::Display for LunName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.volume, self.lun)
    }
}

/// The name of a snapshot, written `volume@snapshot`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SnapshotName {
    volume: VolumeName,
    snapshot: String,
}

impl SnapshotName {
    /// Returns the name of snapshot `snapshot` of `volume`.
    ///
    /// # Errors
    /// If no snapshot can be called that.
    pub fn new(volume: VolumeName, snapshot: &str) -> Result<Self, NameError> {
        check(snapshot)?;
        Ok(Self { volume, snapshot: snapshot.to_owned() })
    }

    /// Returns the volume.
    #[must_use]
    pub fn volume(&self) -> &VolumeName {
        &self.volume
    }

    /// Returns the name within the volume.
    #[must_use]
    pub fn snapshot(&self) -> &str {
        &self.snapshot
    }

    /// Returns how LUN `lun` of this snapshot is written: `volume/lun@snapshot`.
    #[must_use]
    pub fn of_lun(&self, lun: &str) -> String {
        format!("{}/{lun}@{}", self.volume, self.snapshot)
    }
}

impl FromStr for SnapshotName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let (volume, snapshot) =
            text.split_once('@').ok_or_else(|| NameError::Snapshot(text.to_owned()))?;
        Self::new(volume.parse()?, snapshot)
    }
}

impl fmt::Display for SnapshotName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}@{}", self.volume, self.snapshot)
    }
}

macro_rules! as_strings {
    ($($name:ty),*) => {$(
        impl TryFrom<String> for $name {
            type Error = NameError;

            fn try_from(text: String) -> Result<Self, NameError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.to_string()
            }
        }
    )*};
}

as_strings!(VolumeName, LunName, SnapshotName);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for text in ["volume/lun", "a b/c", "\u{e4}/lun 7"] {
            assert_eq!(text.parse::<LunName>().unwrap().to_string(), text);
        }
        let snapshot: SnapshotName = "volume@before aging".parse().unwrap();
        assert_eq!(snapshot.to_string(), "volume@before aging");
        assert_eq!(snapshot.of_lun("lun"), "volume/lun@before aging");
        assert_eq!(LunName::first(), "volume/lun".parse().unwrap());
    }

    #[test]
    fn what_is_no_name_is_refused_with_a_remedy() {
        let long = "x".repeat(MAXIMUM_NAME_BYTES + 1);
        for text in ["", " ", "a/b", "a@b", "a\nb", "\u{7f}", &long] {
            assert_eq!(text.parse::<VolumeName>(), Err(NameError::Name(text.to_owned())));
        }
        assert!("x".repeat(MAXIMUM_NAME_BYTES).parse::<VolumeName>().is_ok());
        for text in ["lun", "volume@snapshot"] {
            assert_eq!(text.parse::<LunName>(), Err(NameError::Lun(text.to_owned())));
        }
        for text in ["/lun", "volume/", "volume/lun/part", "volume/lun@snapshot"] {
            assert!(matches!(text.parse::<LunName>(), Err(NameError::Name(_))), "{text}");
        }
        assert!(matches!("snapshot".parse::<SnapshotName>(), Err(NameError::Snapshot(_))));
        for text in ["@snapshot", "volume@", "volume/lun@snapshot", "volume@a/b", "volume@a@b"] {
            assert!(matches!(text.parse::<SnapshotName>(), Err(NameError::Name(_))), "{text}");
        }
    }
}
