//! What the devices of an array that was just made hold.

use strewn_array::Root;
use strewn_live::format::{
    DeviceKind, FEATURE_INITIALIZATION_MAP, FORMAT, Identity, InitializationMap, Label, LogLayout,
    Member, MemberState, Superblock, rows_of,
};

/// The label of the first of `spindles` spindles, all of `device_blocks` blocks.
pub fn label(spindles: u16, device_blocks: u64, log: LogLayout) -> Label {
    let identity = |number: u8| Identity([number; 16]);
    Label {
        version: FORMAT,
        incompatible_features: FEATURE_INITIALIZATION_MAP,
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
        logs: vec![Member { identity: identity(99), state: MemberState::Present }],
        configuration: String::new(),
    }
}

/// The first initialization map of the array that `label` is of, with zones of one row.
pub fn first_map(label: &Label) -> InitializationMap {
    InitializationMap::with_zones_of(label.array, rows_of(label.device_blocks), 1)
}

/// The first superblock of an array.
pub fn first_superblock(array: Identity) -> Superblock {
    Superblock {
        array,
        checkpoint: 0,
        log_start: 1,
        log_durable: 0,
        map_sequence: 0,
        redo_start: 1,
        root: Root { held_back_blocks: 0, block: None },
        label_sequence: 1,
        clean: true,
        snapshots: Vec::new(),
    }
}
