//! Runs lvs.

use std::ffi::OsStr;
use std::io::Read;

use super::lvm::{ARGUMENTS, VolumeListing};
use crate::error::FileError;
use crate::tool::ToolOutput;

/// Bytes of the longest listing that is read.
const MAX_BYTES: u64 = 1 << 28;

impl VolumeListing {
    /// Has `lvs` list the logical volumes of this machine.
    ///
    /// # Errors
    /// If lvs is not installed, has no permission, or prints what is not understood.
    pub fn of_machine() -> Result<Self, FileError> {
        let remedy = "run it as root: lvs reads the devices of the volume groups";
        let output = ToolOutput::start("lvs", "lvm2", &ARGUMENTS.map(OsStr::new), remedy)?;
        let mut bytes = Vec::new();
        let read = output.take(MAX_BYTES).read_to_end(&mut bytes);
        read.map_err(|error| FileError::reading("`lvs`", error))?;
        Self::parse("`lvs`", &String::from_utf8_lossy(&bytes))
    }
}
