//! Labels of devices, and the identities in them.

use strewn_live::device::{BLOCK_BYTES, SimulatedDisk};
use strewn_live::format::{Identity, Label};

/// Writes both copies of a device's label.
pub(crate) fn write_label(disk: &mut SimulatedDisk, label: &Label) {
    if let Ok(encoded) = label.encode() {
        for block in [0, label.device_blocks - 1] {
            disk.write(block * BLOCK_BYTES as u64, encoded.bytes());
        }
    }
}

/// Returns an identity of a schedule's array or of one of its devices.
pub(crate) fn identity(seed: u64, number: u64) -> Identity {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&(seed + 1).to_le_bytes());
    bytes[8..].copy_from_slice(&number.to_le_bytes());
    Identity(bytes)
}
