//! The checksum of saved scores.

/// The polynomial of IEEE 802.3, lowest power in the highest bit.
const POLYNOMIAL: u32 = 0xedb8_8320;

/// What each value of a byte adds to the remainder.
const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        let mut remainder = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            let subtracted = if remainder & 1 == 1 { POLYNOMIAL } else { 0 };
            remainder = (remainder >> 1) ^ subtracted;
            bit += 1;
        }
        table[byte] = remainder;
        byte += 1;
    }
    table
};

/// CRC-32 as Ethernet, gzip and PNG use it. A byte at a time: scores are four bytes per allocation area, some 100 KB
/// for an aggregate of 16 TiB, so the crate needs no dependency for it.
pub(crate) fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| (crc >> 8) ^ TABLE[(crc as u8 ^ byte) as usize];
    !bytes.iter().fold(u32::MAX, step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_check_value_of_the_catalogue() {
        // Greg Cook's catalogue of parametrised CRC algorithms, CRC-32/ISO-HDLC.
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    proptest! {
        #[test]
        fn equals_crc32fast(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
            prop_assert_eq!(crc32(&bytes), crc32fast::hash(&bytes));
        }
    }
}
