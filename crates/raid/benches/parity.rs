//! What parity over bytes costs: encoding, a small update, and bringing blocks back, of stripes of
//! 18 data blocks of 4 KiB. Throughput is of the data of the stripe, changed data for the update.
//!
//! Beside it is Reed-Solomon of the same shape, which survives any two losses as RAID-DP does.

#![allow(missing_docs)]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use reed_solomon_simd::{ReedSolomonDecoder, ReedSolomonEncoder};
use std::hint::black_box;
use strewn_raid::{BlockChange, StripeCode, StripeCodec};

const BLOCK_BYTES: usize = 4096;
const DATA_BLOCKS: usize = 18;

fn codec(code: StripeCode) -> StripeCodec {
    StripeCodec::new(code, DATA_BLOCKS, BLOCK_BYTES).expect("18 blocks of 4 KiB")
}

fn stripe(codec: &StripeCodec) -> Vec<Vec<u8>> {
    let byte = |block: usize, at: usize| (block * 89 + at * 7 + at / 256) as u8;
    let mut blocks = (0..codec.blocks())
        .map(|block| (0..BLOCK_BYTES).map(|at| byte(block, at)).collect())
        .collect::<Vec<Vec<u8>>>();
    let (data, parity) = blocks.split_at_mut(DATA_BLOCKS);
    codec.encode(data, parity).expect("a whole stripe");
    blocks
}

fn encode(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("encode_18");
    group.throughput(Throughput::Bytes((DATA_BLOCKS * BLOCK_BYTES) as u64));
    for (name, code) in [("raid4", StripeCode::Row), ("raid_dp", StripeCode::RowDiagonal)] {
        let codec = codec(code);
        let mut blocks = stripe(&codec);
        group.bench_function(name, |bencher| {
            let (data, parity) = blocks.split_at_mut(DATA_BLOCKS);
            bencher.iter(|| codec.encode(black_box(&*data), black_box(&mut *parity)));
        });
    }
    let data = stripe(&codec(StripeCode::RowDiagonal));
    let mut encoder =
        ReedSolomonEncoder::new(DATA_BLOCKS, 2, BLOCK_BYTES).expect("18 and 2 of 4 KiB");
    group.bench_function("reed_solomon_simd", |bencher| {
        bencher.iter(|| {
            for block in &data[..DATA_BLOCKS] {
                encoder.add_original_shard(black_box(block)).expect("a block");
            }
            black_box(encoder.encode().expect("18 blocks").recovery(1).map(|block| block[0]))
        });
    });
    group.finish();
}

fn update(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("subtract_1");
    group.throughput(Throughput::Bytes(BLOCK_BYTES as u64));
    for (name, code) in [("raid4", StripeCode::Row), ("raid_dp", StripeCode::RowDiagonal)] {
        let codec = codec(code);
        let mut blocks = stripe(&codec);
        group.bench_function(name, |bencher| {
            let (data, parity) = blocks.split_at_mut(DATA_BLOCKS);
            let change = BlockChange { block: 7, old: &data[7], new: &data[8] };
            bencher.iter(|| codec.subtract(black_box(&[change]), black_box(&mut *parity)));
        });
    }
    group.finish();
}

fn reconstruct(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("reconstruct_18");
    group.throughput(Throughput::Bytes((DATA_BLOCKS * BLOCK_BYTES) as u64));
    for (name, code, lost) in [
        ("raid4", StripeCode::Row, &[7][..]),
        ("raid_dp", StripeCode::RowDiagonal, &[7]),
        ("raid_dp", StripeCode::RowDiagonal, &[3, 7]),
        ("raid_dp_and_row", StripeCode::RowDiagonal, &[7, DATA_BLOCKS]),
        ("raid_dp_and_diagonal", StripeCode::RowDiagonal, &[7, DATA_BLOCKS + 1]),
    ] {
        let codec = codec(code);
        let mut blocks = stripe(&codec);
        group.bench_function(BenchmarkId::new(name, lost.len()), |bencher| {
            bencher.iter(|| codec.reconstruct(black_box(&mut blocks), black_box(lost)));
        });
    }
    for lost in [&[7][..], &[3, 7]] {
        let data = stripe(&codec(StripeCode::RowDiagonal));
        let data = &data[..DATA_BLOCKS];
        let parity = reed_solomon_simd::encode(DATA_BLOCKS, 2, data).expect("18 blocks");
        let mut decoder =
            ReedSolomonDecoder::new(DATA_BLOCKS, 2, BLOCK_BYTES).expect("18 and 2 of 4 KiB");
        group.bench_function(BenchmarkId::new("reed_solomon_simd", lost.len()), |bencher| {
            bencher.iter(|| {
                for (position, block) in data.iter().enumerate() {
                    if !lost.contains(&position) {
                        decoder.add_original_shard(position, black_box(block)).expect("a block");
                    }
                }
                for (position, block) in parity[..lost.len()].iter().enumerate() {
                    decoder.add_recovery_shard(position, black_box(block)).expect("a block");
                }
                let decoded = decoder.decode().expect("18 blocks of 20");
                black_box(decoded.restored_original(7).map(|block| block[0]))
            });
        });
    }
    group.finish();
}

/// Stripes of units from 4 KiB to 4 MiB: the whole stripe from a near cache, from a far one, and from memory. Throughput
/// is of the data of the stripe. `memcpy` copies the data, `memcpy_unit` one unit: the limits of reading and of writing.
fn sizes(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("parity");
    for unit_kib in [4, 16, 64, 256, 4096] {
        let unit = unit_kib << 10;
        let id = |what| BenchmarkId::new(what, format!("{unit_kib}KiB"));
        group.throughput(Throughput::Bytes((DATA_BLOCKS * unit) as u64));
        for (name, code) in
            [("raid4_encode", StripeCode::Row), ("raid_dp_encode", StripeCode::RowDiagonal)]
        {
            let codec = StripeCodec::new(code, DATA_BLOCKS, unit).expect("18 units");
            let data = vec![vec![0x5a_u8; unit]; DATA_BLOCKS];
            let mut parity = vec![vec![0_u8; unit]; codec.blocks() - DATA_BLOCKS];
            group.bench_function(id(name), |bencher| {
                bencher.iter(|| codec.encode(black_box(&data), black_box(&mut parity)));
            });
        }
        let codec = StripeCodec::new(StripeCode::RowDiagonal, DATA_BLOCKS, unit).expect("18 units");
        let mut blocks = vec![vec![0x5a_u8; unit]; codec.blocks()];
        group.bench_function(id("raid_dp_two_back"), |bencher| {
            bencher.iter(|| codec.reconstruct(black_box(&mut blocks), black_box(&[3, 7])));
        });
        let mut copies = blocks.clone();
        group.bench_function(id("memcpy"), |bencher| {
            bencher.iter(|| {
                for (copy, block) in copies.iter_mut().zip(&blocks[..DATA_BLOCKS]) {
                    black_box(copy).copy_from_slice(black_box(block));
                }
            });
        });
        #[cfg(feature = "isal")]
        for (name, parity) in [("isal_xor", 1), ("isal_pq", 2)] {
            let mut stripe = isal::Stripe::new(DATA_BLOCKS, parity, unit);
            group.bench_function(id(name), |bencher| bencher.iter(|| stripe.encode()));
        }
    }
    group.finish();
}

/// Intel's library, called as its documentation says: `xor_gen` and `pq_gen` over blocks aligned to 64 bytes.
#[cfg(feature = "isal")]
#[allow(unsafe_code)]
mod isal {
    use std::ffi::{c_int, c_void};

    #[link(name = "isal")]
    unsafe extern "C" {
        fn xor_gen(blocks: c_int, length: c_int, array: *mut *mut c_void) -> c_int;
        fn pq_gen(blocks: c_int, length: c_int, array: *mut *mut c_void) -> c_int;
    }

    #[derive(Clone, Copy)]
    #[repr(align(64))]
    struct Line([u8; 64]);

    pub struct Stripe {
        blocks: Vec<Vec<Line>>,
        parity: usize,
        unit: usize,
    }

    impl Stripe {
        pub fn new(data: usize, parity: usize, unit: usize) -> Self {
            let blocks = vec![vec![Line([0x5a; 64]); unit / 64]; data + parity];
            assert!(blocks.iter().all(|block| block[0].0[0] == 0x5a));
            Self { blocks, parity, unit }
        }

        pub fn encode(&mut self) {
            let mut array: Vec<*mut c_void> =
                self.blocks.iter_mut().map(|block| block.as_mut_ptr().cast()).collect();
            let (count, length) = (array.len() as c_int, self.unit as c_int);
            let generate = if self.parity == 1 { xor_gen } else { pq_gen };
            // SAFETY: `array` has `count` blocks of `length` bytes each, aligned to 64 bytes, the last of them parity.
            let failed = unsafe { generate(count, length, array.as_mut_ptr()) };
            assert_eq!(failed, 0);
        }
    }
}

criterion_group!(benches, encode, update, reconstruct, sizes);
criterion_main!(benches);
