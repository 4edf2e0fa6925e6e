//! Checks one device of a mirrored log before the other, which is missing, is given up.

use std::os::unix::fs::FileExt;

use super::assembled::AssembledArray;
use super::error::AssemblyError;
use crate::device::{BLOCK_BYTES, Buffer, DeviceFile, DeviceIndex, IoError};
use crate::format::{MemberState, Superblock};
use crate::log::read_log;

impl AssembledArray {
    /// Checks that the log does not need a device that is missing although the labels trust it: a start would mark that
    /// as failed, for good.
    ///
    /// # Errors
    /// [`AssemblyError::LogNeeded`] if the other device does not have everything that was acknowledged.
    pub(super) fn check_remaining_log(&self) -> Result<(), AssemblyError> {
        let mut logs = self.logs.iter().zip(&self.label.logs);
        let is_any_missing =
            logs.any(|(device, log)| device.is_none() && log.state != MemberState::Failed);
        let Some(superblock) = self.superblock.as_ref().filter(|superblock| !superblock.clean)
        else {
            return Ok(());
        };
        let Some(device) = self.logs.iter().flatten().next().filter(|_| is_any_missing) else {
            return Ok(());
        };
        match self.missing_from(device, superblock) {
            None => Ok(()),
            Some(why) => Err(AssemblyError::LogNeeded { why, problems: self.problems.clone() }),
        }
    }

    /// Returns what is wrong with the log on this device alone.
    fn missing_from(&self, device: &DeviceFile, superblock: &Superblock) -> Option<String> {
        let mut read = |_: DeviceIndex, offset: u64, bytes: usize| {
            let mut buffer = Buffer::zeroed(bytes / BLOCK_BYTES);
            match device.file().read_exact_at(buffer.bytes_mut(), offset) {
                Ok(()) => Ok(buffer.bytes().to_vec()),
                Err(_) => Err(IoError::Unreadable),
            }
        };
        match read_log(&self.label.log_layout(), superblock, &[DeviceIndex(0)], &mut read) {
            Ok(log) if log.breaks_off => Some("has lost records that were acknowledged".to_owned()),
            Ok(_) => None,
            Err(error) => Some(format!("cannot be read: {error}")),
        }
    }
}
