//! The checksum of what is saved.

/// The polynomial of IEEE 802.3, lowest power in the highest bit.
const POLYNOMIAL: u32 = 0xedb8_8320;

/// What each value of a byte adds to the remainder, if 0 to 7 bytes follow it.
const TABLES: [[u32; 256]; 8] = {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut remainder = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            let subtracted = if remainder & 1 == 1 { POLYNOMIAL } else { 0 };
            remainder = (remainder >> 1) ^ subtracted;
            bit += 1;
        }
        tables[0][byte] = remainder;
        byte += 1;
    }
    let mut following = 1;
    while following < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before: u32 = tables[following - 1][byte];
            tables[following][byte] = (before >> 8) ^ tables[0][before as usize & 0xff];
            byte += 1;
        }
        following += 1;
    }
    tables
};

/// CRC-32 as Ethernet, gzip and PNG use it, eight bytes at a time (Kounavis and Berry, "A Systematic Approach to
/// Building High Performance Software-Based CRC Generators", ISCC 2005), so that the crate needs no dependency for it.
///
/// Saved scores end with it. A store may use it for its own metadata.
#[must_use]
pub fn crc32(bytes: &[u8]) -> u32 {
    let words = bytes.chunks_exact(8);
    let rest = words.remainder();
    let crc = words.fold(u32::MAX, |crc, word| {
        let first = [0, 1, 2, 3].map(|at| usize::from(word[at] ^ crc.to_le_bytes()[at]));
        let second = [4, 5, 6, 7].map(|at| usize::from(word[at]));
        let places = first.into_iter().chain(second);
        places.zip(TABLES.iter().rev()).fold(0, |sum, (byte, table)| sum ^ table[byte])
    });
    let step = |crc: u32, byte: &u8| (crc >> 8) ^ TABLES[0][usize::from(crc as u8 ^ byte)];
    !rest.iter().fold(crc, step)
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
