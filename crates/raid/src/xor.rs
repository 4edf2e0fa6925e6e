//! Exclusive or of blocks, in loops that the compiler turns into vector instructions.

/// Blocks that are added at a time. Each pass over the sum is a load and a store; taking four
/// blocks a pass makes that a quarter of what one by one would cost.
pub(crate) const GROUP: usize = 4;

/// Adds `source` to `sum`. The two are equally long.
#[inline]
pub(crate) fn add(sum: &mut [u8], source: &[u8]) {
    debug_assert_eq!(sum.len(), source.len());
    for (sum, source) in sum.iter_mut().zip(source) {
        *sum ^= source;
    }
}

/// Adds four sources to `sum`. All are equally long.
#[inline]
pub(crate) fn add_four(sum: &mut [u8], sources: [&[u8]; GROUP]) {
    let length = sum.len();
    let [first, second, third, fourth] = sources.map(|source| &source[..length]);
    for index in 0..length {
        sum[index] ^= first[index] ^ second[index] ^ third[index] ^ fourth[index];
    }
}

/// Adds blocks to `sum`, four at a time. All are as long as `sum`.
#[inline]
pub(crate) fn add_all<'a>(sum: &mut [u8], mut blocks: impl Iterator<Item = &'a [u8]>) {
    while let Some(first) = blocks.next() {
        match (blocks.next(), blocks.next(), blocks.next()) {
            (Some(second), Some(third), Some(fourth)) => {
                add_four(sum, [first, second, third, fourth]);
            }
            (second, third, fourth) => {
                add(sum, first);
                [second, third, fourth].into_iter().flatten().for_each(|block| add(sum, block));
            }
        }
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
        let blocks = (0..9_u8).map(|block| vec![1 << (block % 8); 37]).collect::<Vec<_>>();
        for count in 0..=blocks.len() {
            let mut sum = vec![0; 37];
            add_all(&mut sum, blocks[..count].iter().map(Vec::as_slice));
            let expected = (0..count).fold(0_u8, |sum, block| sum ^ (1 << (block % 8)));
            assert!(sum.iter().all(|&byte| byte == expected), "{count} blocks");
        }
        assert!(is_zero(&[]) && is_zero(&[0; 99]) && !is_zero(&[0, 0, 4]));
    }
}
