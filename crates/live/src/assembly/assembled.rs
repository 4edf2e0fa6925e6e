//! An array's devices, open and found fit.

use crate::Configuration;
use crate::device::DeviceFile;
use crate::format::{Label, MemberState, Superblock};

use super::DeviceProblem;

/// How an array is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpenOptions {
    /// Whether to start without some of the spindles, as long as redundancy makes them good.
    pub degraded: bool,
    /// Whether the devices are only read: several may do so at a time, and nobody may write meanwhile.
    pub read_only: bool,
}

/// An array's devices, open, locked, and found to belong together.
#[derive(Debug)]
pub struct AssembledArray {
    /// The newest label of the array. What it says of a single device (`own`, `position`, `kind`, `device_blocks`) is
    /// that of the device that it came from.
    pub label: Label,
    /// How the array is made.
    pub configuration: Configuration,
    /// The spindles by position. Nothing where there is none to start with: missing, failed, or not to be relied upon. One
    /// that is rebuilding is here, and the label's state says so.
    pub spindles: Vec<Option<DeviceFile>>,
    /// The log device.
    pub log: DeviceFile,
    /// The newest good superblock of the array, over all spindles that it starts with; that of an array that
    /// was never started has number 0. Nothing only if all of them are damaged.
    pub superblock: Option<Superblock>,
    /// What is wrong, in spite of which it starts.
    pub problems: Vec<DeviceProblem>,
}

impl AssembledArray {
    /// Positions whose spindle is not there to be read: not open, or not to be read, as its state says. One that is
    /// rebuilding is among them.
    #[must_use]
    pub fn lost(&self) -> Vec<u16> {
        let is_lost = |position: &u16| {
            let position = usize::from(*position);
            self.spindles[position].is_none()
                || self.label.members[position].state != MemberState::Present
        };
        // At most 64 spindles.
        (0..self.spindles.len() as u16).filter(is_lost).collect()
    }
}
