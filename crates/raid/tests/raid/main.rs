//! Layouts, plans, and parity over bytes: lost blocks come back whatever is lost, and the format does not drift.

#![allow(clippy::unwrap_used)]

mod codec;
mod known_answers;
mod objects;
mod plans;
mod reference;
mod scrub;
mod vraid_layout;

use strewn_raid::{RowDiagonal, StripeCode, StripeCodec};

/// SplitMix64 from `seed`, each number as 8 bytes, lowest first (Steele, Lea and Flood, 2014). The known answers were
/// computed from these bytes by a program of its own, so they must stay the same.
fn bytes_from(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let words = std::iter::from_fn(|| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Some((mixed ^ (mixed >> 31)).to_le_bytes())
    });
    words.flatten().take(length).collect()
}

/// The data blocks of a test: block `i` is drawn from `seed + i`.
fn data_from(seed: u64, blocks: usize, block_bytes: usize) -> Vec<Vec<u8>> {
    (0..blocks).map(|block| bytes_from(seed.wrapping_add(block as u64), block_bytes)).collect()
}

/// The parity that a codec computes, over whatever was there.
fn parity_of_codec(codec: &StripeCodec, data: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut parity = vec![vec![0xee; codec.block_bytes()]; codec.parity_blocks()];
    codec.encode(data, &mut parity).unwrap();
    parity
}

/// A stripe of random data with its parity.
fn stripe_from(codec: &StripeCodec, seed: u64) -> Vec<Vec<u8>> {
    let data = data_from(seed, codec.data_blocks(), codec.block_bytes());
    let parity = parity_of_codec(codec, &data);
    [data, parity].concat()
}

/// Codecs of every kind of block that 1 to 28 data blocks allow: sub-blocks of 8, 16, 32, 64 and
/// 256 bytes, and primes that leave no column free.
fn codecs(data_blocks: usize) -> Vec<StripeCodec> {
    let row = [1, 37, 512, 4096].map(|bytes| StripeCodec::new(StripeCode::Row, data_blocks, bytes));
    let diagonal = [
        (4096, 257),
        (2048, 257),
        (65536, 257),
        (4160, 131),
        (512, 17),
        (1024, 17),
        (32, 3),
        (96, 5),
        (28 * 8, 29),
    ]
    .map(|(bytes, prime)| {
        StripeCodec::row_diagonal(RowDiagonal::with_prime(bytes, prime).unwrap(), data_blocks)
    });
    row.into_iter().chain(diagonal).flatten().collect()
}
