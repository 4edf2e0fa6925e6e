//! How many commands of extents a destage counts as.

/// Sectors that a drive transfers in about the time that it takes to position.
const SECTORS_OF_A_COMMAND: u64 = 512;

/// Commands that an extent has in flight at a time.
pub(super) const COMMANDS_OF_EXTENT: usize = 2;

/// The commands of extents that commands count as which are in flight together. A command that is longer than those of
/// extents counts as the short ones that a drive would do in its time; otherwise a backlog of long commands would hold
/// up reads longer than one of short commands. Whole extents are counted.
pub(super) fn load_of(commands: usize, sectors: u64) -> usize {
    (commands + (sectors / SECTORS_OF_A_COMMAND) as usize).next_multiple_of(COMMANDS_OF_EXTENT)
}
