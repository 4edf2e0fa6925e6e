//! What a sector holds.

use crate::payloads::SECTOR_BYTES;

/// What a sector of the LUN holds after a write: it says which sector, and which write it was. Version 0 is what
/// the LUN holds from the start.
pub fn content(lun_sector: u64, version: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(SECTOR_BYTES);
    for word in 0..(SECTOR_BYTES / 16) as u64 {
        bytes.extend_from_slice(&(lun_sector + (word << 32)).to_le_bytes());
        bytes.extend_from_slice(&(u64::from(version) + (word << 32)).to_le_bytes());
    }
    bytes
}

/// What a sector claims to be, for messages.
pub fn claim(bytes: &[u8]) -> String {
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let (lun_sector, version) = (number(0), number(8));
    if u32::try_from(version).is_ok_and(|version| content(lun_sector, version) == bytes) {
        format!("sector {lun_sector} as of write {version}")
    } else if bytes.iter().all(|byte| *byte == 0) {
        "zeros".to_owned()
    } else {
        "neither one write's content nor zeros".to_owned()
    }
}
