//! Runs lvs.

use std::ffi::OsStr;

use super::lvm::{ARGUMENTS, VolumeListing};
use super::read_whole;
use crate::error::FileError;
use crate::tool::ToolOutput;

impl VolumeListing {
    /// Has `lvs` list the logical volumes of this machine.
    ///
    /// # Errors
    /// If lvs is not installed, has no permission, or prints what is not understood.
    pub fn of_machine() -> Result<Self, FileError> {
        let remedy = "run it as root: lvs reads the devices of the volume groups";
        let output = ToolOutput::start("lvs", "lvm2", &ARGUMENTS.map(OsStr::new), remedy)?;
        let bytes = read_whole(output).map_err(|error| FileError::reading("`lvs`", error))?;
        Self::parse("`lvs`", &String::from_utf8_lossy(&bytes))
    }
}
