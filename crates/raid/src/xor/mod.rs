//! Exclusive or of blocks.

mod vectors;

pub(crate) use vectors::{STAIRCASE, Start, SubBlock, Sum, add_staircase, add_up};

/// Blocks that are added in one pass over their sum.
const PASS: usize = 32;

/// Adds blocks up in `sum`. All are as long as `sum`.
pub(crate) fn add_all<'a>(
    sum: &mut [u8],
    mut start: Start,
    mut blocks: impl Iterator<Item = &'a [u8]>,
) {
    loop {
        let mut sources: [&[u8]; PASS] = [&[]; PASS];
        let taken = sources.iter_mut().zip(&mut blocks).map(|(source, block)| *source = block);
        let count = taken.count();
        add_up([Sum { sum, sources: &sources[..count] }], start);
        if count < PASS {
            return;
        }
        start = Start::Held;
    }
}

/// Whether every byte is 0.
#[inline]
pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().fold(0, |any, byte| any | byte) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_any_number_of_blocks() {
        let blocks = (0..70_u8).map(|block| vec![1 << (block % 8); 37]).collect::<Vec<_>>();
        for count in 0..=blocks.len() {
            let expected = (0..count).fold(0_u8, |sum, block| sum ^ (1 << (block % 8)));
            for (start, held) in [(Start::Zero, 0), (Start::Held, 0xff)] {
                let mut sum = vec![0xff; 37];
                add_all(&mut sum, start, blocks[..count].iter().map(Vec::as_slice));
                assert!(sum.iter().all(|&byte| byte == expected ^ held), "{count} blocks");
            }
        }
        assert!(is_zero(&[]) && is_zero(&[0; 99]) && !is_zero(&[0, 0, 4]));
    }
}
