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

criterion_group!(benches, encode, update, reconstruct);
criterion_main!(benches);
