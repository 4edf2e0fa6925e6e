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

/// Units of a stripe, each beginning on a page, as buffers for direct input and output do.
struct Units {
    buffers: Vec<Vec<u8>>,
    bytes: usize,
}

impl Units {
    const PAGE_BYTES: usize = 4096;

    fn new(count: usize, bytes: usize) -> Self {
        let buffers = (0..count).map(|unit| vec![unit as u8 + 1; bytes + Self::PAGE_BYTES]);
        Self { buffers: buffers.collect(), bytes }
    }

    fn slices(&mut self) -> Vec<&mut [u8]> {
        let unit = |buffer| {
            let buffer: &mut Vec<u8> = buffer;
            let start = buffer.as_ptr().align_offset(Self::PAGE_BYTES);
            &mut buffer[start..start + self.bytes]
        };
        self.buffers.iter_mut().map(unit).collect()
    }
}

/// Stripes of units from 4 KiB to 4 MiB, so that the whole stripe is in a near cache, in a far one, or in memory. A
/// unit is a chain of blocks of 4 KiB, one of each stripe after another, as the arrays write them. Throughput is of the
/// data. `memcpy` copies the data, and is the limit of what memory gives.
fn units(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("parity");
    for unit_kib in [4, 16, 64, 256, 4096] {
        let unit = unit_kib << 10;
        let id = |what| BenchmarkId::new(what, format!("{unit_kib}KiB"));
        group.throughput(Throughput::Bytes((DATA_BLOCKS * unit) as u64));
        let mut units = Units::new(DATA_BLOCKS + 2, unit);
        let mut units = units.slices();
        for (name, code) in
            [("raid4_encode", StripeCode::Row), ("raid_dp_encode", StripeCode::RowDiagonal)]
        {
            let codec = codec(code);
            let (data, parity) = units.split_at_mut(DATA_BLOCKS);
            group.bench_function(id(name), |bencher| {
                bencher.iter(|| {
                    for at in (0..unit).step_by(BLOCK_BYTES) {
                        let block = at..at + BLOCK_BYTES;
                        let data: [_; DATA_BLOCKS] =
                            std::array::from_fn(|unit| &data[unit][block.clone()]);
                        let [row, diagonal] = &mut *parity else { unreachable!("two parities") };
                        let mut parity = [&mut row[block.clone()], &mut diagonal[block]];
                        let parity = &mut parity[..codec.parity_blocks()];
                        codec.encode(black_box(&data), black_box(parity)).expect("a stripe");
                    }
                });
            });
        }
        let codec = codec(StripeCode::RowDiagonal);
        group.bench_function(id("raid_dp_two_back"), |bencher| {
            bencher.iter(|| {
                for at in (0..unit).step_by(BLOCK_BYTES) {
                    let mut blocks = units.iter_mut().map(|unit| &mut unit[at..at + BLOCK_BYTES]);
                    let mut stripe: [_; DATA_BLOCKS + 2] =
                        std::array::from_fn(|_| blocks.next().expect("20 units"));
                    codec
                        .reconstruct(black_box(&mut stripe), black_box(&[3, 7]))
                        .expect("a stripe");
                }
            });
        });
        let mut copies = Units::new(DATA_BLOCKS, unit);
        let mut copies = copies.slices();
        group.bench_function(id("memcpy"), |bencher| {
            bencher.iter(|| {
                for (copy, unit) in copies.iter_mut().zip(&units[..DATA_BLOCKS]) {
                    black_box(copy).copy_from_slice(black_box(unit));
                }
            });
        });
        #[cfg(feature = "isal")]
        {
            group.bench_function(id("isal_xor"), |bencher| {
                bencher.iter(|| isal::xor(black_box(&mut units[..=DATA_BLOCKS])));
            });
            group.bench_function(id("isal_pq"), |bencher| {
                bencher.iter(|| isal::pq(black_box(&mut units)));
            });
        }
    }
    group.finish();
}

/// Intel's library, called as its documentation says.
#[cfg(feature = "isal")]
#[allow(unsafe_code)]
mod isal {
    use std::ffi::{c_int, c_void};

    type Generate = unsafe extern "C" fn(c_int, c_int, *mut *mut c_void) -> c_int;

    #[link(name = "isal")]
    unsafe extern "C" {
        fn xor_gen(blocks: c_int, length: c_int, array: *mut *mut c_void) -> c_int;
        fn pq_gen(blocks: c_int, length: c_int, array: *mut *mut c_void) -> c_int;
    }

    /// The last unit becomes the sum of the others.
    pub fn xor(units: &mut [&mut [u8]]) {
        // SAFETY: `xor_gen` writes the last unit.
        unsafe { generate(xor_gen, units) }
    }

    /// The last two units become the two parities of the others.
    pub fn pq(units: &mut [&mut [u8]]) {
        // SAFETY: `pq_gen` writes the last two units.
        unsafe { generate(pq_gen, units) }
    }

    /// # Safety
    ///
    /// `generate` takes a number of blocks, their length, which is the same for all and a multiple of 32, and where
    /// they are, aligned to 32 bytes, and writes to no more than those.
    unsafe fn generate(generate: Generate, units: &mut [&mut [u8]]) {
        let length = units[0].len();
        let mut array: Vec<*mut c_void> = units
            .iter_mut()
            .map(|unit| {
                assert!(unit.len() == length && unit.as_ptr().align_offset(32) == 0);
                unit.as_mut_ptr().cast()
            })
            .collect();
        // SAFETY: there are that many, of that length and alignment.
        let failed = unsafe { generate(array.len() as c_int, length as c_int, array.as_mut_ptr()) };
        assert_eq!(failed, 0);
    }
}

criterion_group!(benches, encode, update, reconstruct, units);
criterion_main!(benches);
