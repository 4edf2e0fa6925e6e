//! What the devices of an array that was just made hold.

use strewn_array::Root;
use strewn_live::device::{BLOCK_BYTES, DeviceIndex, SimulatedDevices};
use strewn_live::format::{
    DeviceKind, FEATURE_INITIALIZATION_MAP, FORMAT, Identity, InitializationMap, Label, LogLayout,
    MAXIMUM_GROUPS, Member, MemberState, SUPERBLOCK_SLOTS, Superblock, device_blocks_for, rows_of,
};
use strewn_live::restart::RestartOptions;

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
        groups: Vec::new(),
        logs: vec![Member { identity: identity(99), state: MemberState::Present }],
        configuration: String::new(),
    }
}

/// The first initialization map of the array that `label` is of, with zones of one row.
pub fn first_map(label: &Label) -> InitializationMap {
    InitializationMap::with_zones_of(label.array, rows_of(label.device_blocks), 1)
}

/// Devices with an array that was just made: its spindles, then its log.
pub fn devices(
    seed: u64,
    spindles: u16,
    blocks_per_spindle: u64,
    log: LogLayout,
    lun_sectors: u64,
) -> (SimulatedDevices, RestartOptions) {
    let device_blocks = device_blocks_for(blocks_per_spindle);
    let blocks = device_blocks.max(log.device_blocks());
    let mut devices = SimulatedDevices::zeroed(seed, spindles + 1, blocks * BLOCK_BYTES as u64);
    let label = label(spindles, device_blocks, log);
    let (superblock, map) = (first_superblock(label.array), first_map(&label));
    for spindle in 0..spindles {
        let disk = devices.disk_mut(DeviceIndex(spindle));
        disk.write(SUPERBLOCK_SLOTS[0] * BLOCK_BYTES as u64, superblock.encode().bytes());
        disk.write(map.slot() * BLOCK_BYTES as u64, map.encode().bytes());
    }
    (devices, RestartOptions::new(label, lun_sectors))
}

/// The first superblock of an array.
pub fn first_superblock(array: Identity) -> Superblock {
    Superblock {
        array,
        consistency_point: 0,
        log_start: 1,
        log_durable: 0,
        map_sequences: [0; MAXIMUM_GROUPS],
        redo_start: 1,
        root: Root::default(),
        label_sequence: 1,
        clean: true,
    }
}
