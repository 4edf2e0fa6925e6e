//! What the devices of an array that was just made hold.

use strewn_array::Root;
use strewn_live::format::{
    DeviceKind, FORMAT, Identity, Label, LogLayout, Member, MemberState, Superblock,
};

/// The label of the first of `spindles` spindles, all of `device_blocks` blocks.
pub fn label(spindles: u16, device_blocks: u64, log: LogLayout) -> Label {
    let identity = |number: u8| Identity([number; 16]);
    Label {
        version: FORMAT,
        incompatible_features: 0,
        compatible_features: 0,
        array: identity(7),
        own: identity(100),
        position: 0,
        kind: DeviceKind::Spindle,
        sequence: 1,
        device_blocks,
        log_half_blocks: log.half_blocks,
        redo_half_blocks: log.redo_half_blocks,
        members: (0..spindles as u8)
            .map(|one| Member { identity: identity(100 + one), state: MemberState::Present })
            .collect(),
        log: Some(identity(99)),
        configuration: String::new(),
    }
}

/// The first superblock of the array that `label` is of.
pub fn first_superblock(label: &Label) -> Superblock {
    Superblock {
        array: label.array,
        checkpoint: 0,
        log_start: 1,
        redo_start: 1,
        root: Root { held_back_blocks: 0, block: None },
        label_sequence: 1,
        clean: true,
        snapshots: Vec::new(),
    }
}
