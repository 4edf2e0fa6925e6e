//! What a pass over requests assumes of the device's queue.

use strewn_base::SECTOR_BYTES;

use super::commands::{DEFAULT_MAX_COMMAND_BYTES, Merging};
use crate::space::AddressSpace;

/// What a pass assumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CostOptions {
    /// No command is larger. Linux has this as `max_sectors_kb` of a device's queue.
    pub max_command_bytes: u64,
    /// Which pieces of a request are one command.
    pub merging: Merging,
}

impl CostOptions {
    /// As the queue of the first device of `space` has it, if it is known: the devices of a file system are of a kind.
    #[must_use]
    pub fn of_space(space: &AddressSpace) -> Self {
        let queue = space.devices().iter().find_map(|device| device.queue);
        queue.map_or_else(Self::default, |queue| Self {
            max_command_bytes: queue.max_command_bytes.max(SECTOR_BYTES),
            merging: if queue.has_scheduler { Merging::AnyOrder } else { Merging::InOrder },
        })
    }
}

impl Default for CostOptions {
    fn default() -> Self {
        Self { max_command_bytes: DEFAULT_MAX_COMMAND_BYTES, merging: Merging::default() }
    }
}
