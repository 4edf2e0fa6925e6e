//! CRC-32C (Castagnoli), of all that an array with bytes keeps checksums of.

use crc_fast::{CrcAlgorithm, Digest};

/// The CRC-32C of bytes.
#[must_use]
pub fn crc32c(bytes: &[u8]) -> u32 {
    // Of 32 bits, in a number that takes any.
    crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, bytes) as u32
}

/// The CRC-32C of bytes that follow each other.
#[must_use]
pub fn crc32c_of_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> u32 {
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    for part in parts {
        digest.update(part);
    }
    digest.finalize() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_castagnolis() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c_of_parts([&b"1234"[..], b"", b"56789"]), 0xe306_9283);
        for length in 0..700 {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 7) as u8).collect();
            assert_eq!(crc32c(&bytes), crc32c::crc32c(&bytes), "{length} bytes");
        }
    }
}
