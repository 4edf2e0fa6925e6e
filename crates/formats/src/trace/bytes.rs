//! Numbers in the records of binary traces.

/// Returns the 16-bit number at byte `at`; 0 if the record ends before.
pub(super) fn u16_at(record: &[u8], at: usize, is_big_endian: bool) -> u16 {
    let bytes = array_at(record, at);
    if is_big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
}

/// Returns the 32-bit number at byte `at`; 0 if the record ends before.
pub(super) fn u32_at(record: &[u8], at: usize, is_big_endian: bool) -> u32 {
    let bytes = array_at(record, at);
    if is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
}

/// Returns the 64-bit number at byte `at`; 0 if the record ends before.
pub(super) fn u64_at(record: &[u8], at: usize, is_big_endian: bool) -> u64 {
    let bytes = array_at(record, at);
    if is_big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
}

fn array_at<const BYTES: usize>(record: &[u8], at: usize) -> [u8; BYTES] {
    record.get(at..).and_then(<[u8]>::first_chunk).copied().unwrap_or([0; BYTES])
}
