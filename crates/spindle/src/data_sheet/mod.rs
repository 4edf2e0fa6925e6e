//! A profile from the figures of a data sheet.
//!
//! A data sheet has some eight of the figures that a [`Profile`] needs. [`DataSheet::parse`] reads them from a line of
//! text, and [`DataSheet::profile`] writes the profile. The rest follows from rules, each of which
//! [`DataSheetProfile::assumptions`] names, and from the rules of a [`ProfileTemplate`](crate::ProfileTemplate).
//!
//! ```
//! use strewn_spindle::Drive;
//! use strewn_spindle::data_sheet::DataSheet;
//!
//! let sheet = "rpm=10000 capacity='600 GB' seek='3.7 ms' outer='204 MB/s' inner='125 MB/s'";
//! let made = DataSheet::parse(sheet)?.profile("mine")?;
//! assert!(made.toml.starts_with("# A drive from its data sheet"));
//! assert!(made.assumptions.iter().any(|assumed| assumed.figure == "heads"));
//! assert_eq!(Drive::new(&made.profile)?.name(), "mine");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod keys;
mod parse;
mod rules;
mod text;

use std::fmt;

use crate::profile::Profile;

/// The figures of a data sheet. Those that are `None` are not on it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DataSheet {
    /// What the sheet is: its title, number and revision.
    pub source: Option<String>,
    /// Revolutions per minute.
    pub rpm: f64,
    /// Bytes that can be addressed.
    pub capacity_bytes: f64,
    /// Milliseconds of an average reading seek.
    pub seek_ms: f64,
    /// Megabytes (10⁶ bytes) a second, sustained, on the outermost tracks.
    pub outer_mb_per_s: f64,
    /// The same on the innermost tracks.
    pub inner_mb_per_s: f64,
    /// Milliseconds of a reading seek to the next track.
    pub track_to_track_ms: Option<f64>,
    /// Milliseconds of a reading seek from the outermost track to the innermost.
    pub full_stroke_ms: Option<f64>,
    /// Milliseconds of an average writing seek.
    pub write_seek_ms: Option<f64>,
    /// Recording surfaces.
    pub heads: Option<f64>,
    /// Bytes in a sector.
    pub sector_bytes: Option<f64>,
    /// Megabytes a second between drive and host.
    pub interface_mb_per_s: Option<f64>,
    /// Bytes of the drive's own cache.
    pub cache_bytes: Option<f64>,
    /// By key: the character of the text at which its value stands, counted from 1.
    columns: Vec<(&'static str, usize)>,
}

/// The profile made from a data sheet.
#[derive(Clone, Debug, PartialEq)]
pub struct DataSheetProfile {
    /// The profile as a file.
    pub toml: String,
    /// The same, read.
    pub profile: Profile,
    /// What the sheet does not say, in the order of the file.
    pub assumptions: Vec<Assumption>,
}

/// A figure that a data sheet does not give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumption {
    /// Its field in the profile.
    pub figure: &'static str,
    /// Its value, with the unit.
    pub value: String,
    /// The rule that gave it.
    pub rule: String,
    /// The key of the data sheet that gives it instead, if there is one.
    pub key: Option<&'static str>,
}

/// `heads = 4, so that ...: heads= gives it`
impl fmt::Display for Assumption {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { figure, value, rule, key } = self;
        write!(formatter, "{figure} = {value}: {rule}")?;
        match key {
            Some(key) => write!(formatter, "; {key}= replaces it"),
            None => Ok(()),
        }
    }
}

/// All that is wrong with a data sheet, by place; at least one fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", in_a_line(faults))]
pub struct DataSheetError {
    /// The faults.
    pub faults: Vec<DataSheetFault>,
}

/// One thing that is wrong with a data sheet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataSheetFault {
    /// The character of the text at which it is, counted from 1.
    pub column: usize,
    /// What is wrong, with the key.
    pub message: String,
    /// What to write.
    pub remedy: String,
}

impl fmt::Display for DataSheetFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "character {}: {}", self.column, self.message)
    }
}

fn in_a_line(faults: &[DataSheetFault]) -> String {
    let faults: Vec<String> =
        faults.iter().map(|fault| format!("{fault}: {}", fault.remedy)).collect();
    faults.join("; ")
}
