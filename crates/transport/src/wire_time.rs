//! How long bytes take on a wire.

/// Nanoseconds of `bytes`, rounded to the nearest.
#[inline]
pub(crate) fn wire_ns(bytes: u64, byte_time: u64) -> u64 {
    ((u128::from(bytes) * u128::from(byte_time) + (1 << 31)) >> 32) as u64
}

/// Nanoseconds per byte in units of 2^-32.
pub(crate) fn byte_time(bits_per_second: u64) -> u64 {
    let rate = u128::from(bits_per_second.max(1));
    (((8_000_000_000_u128 << 32) + rate / 2) / rate) as u64
}
