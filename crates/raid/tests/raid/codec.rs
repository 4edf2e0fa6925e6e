//! Encoding, updating and reconstruction, for every width and every loss.

use crate::{bytes_from, codecs, data_from, stripe_from};
use proptest::prelude::*;
use strewn_raid::{BlockChange, CodecError, RowDiagonal, StripeCode, StripeCodec};

/// Every set of blocks that the parity of a stripe makes good.
fn losses(codec: &StripeCodec) -> Vec<Vec<usize>> {
    let blocks = codec.blocks();
    let mut losses = (0..blocks).map(|block| vec![block]).collect::<Vec<_>>();
    if codec.parity_blocks() == 2 {
        losses.extend((0..blocks).flat_map(|one| (0..one).map(move |other| vec![one, other])));
    }
    losses
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_loss_comes_back(data_blocks in 1..=28_usize, seed: u64) {
        for codec in codecs(data_blocks) {
            let stripe = stripe_from(&codec, seed);
            prop_assert!(codec.check(&stripe).unwrap().holds());
            let mut damaged = stripe.clone();
            for lost in losses(&codec) {
                lost.iter().for_each(|&block| damaged[block].fill(0xa5));
                codec.reconstruct(&mut damaged, &lost).unwrap();
                for &block in &lost {
                    prop_assert_eq!(
                        &damaged[block], &stripe[block], "{} of {:?} {:?}", block, lost, codec
                    );
                }
            }
        }
    }

    #[test]
    fn subtraction_gives_the_parity_of_recalculation(
        data_blocks in 1..=28_usize,
        seed: u64,
        updates in prop::collection::vec(any::<u32>(), 1..6),
    ) {
        for codec in codecs(data_blocks) {
            let mut stripe = stripe_from(&codec, seed);
            for (turn, &bits) in (1..).zip(&updates) {
                let new = data_from(seed ^ turn << 32, data_blocks, codec.block_bytes());
                // In an order that the bits turn, and not always ascending.
                let changed = (0..data_blocks)
                    .map(|position| (position + bits as usize) % data_blocks)
                    .filter(|&block| bits >> block & 1 == 1)
                    .collect::<Vec<_>>();
                let (data, parity) = stripe.split_at_mut(data_blocks);
                let changes = changed
                    .iter()
                    .map(|&block| BlockChange { block, old: &data[block], new: &new[block] })
                    .collect::<Vec<_>>();
                codec.subtract(&changes, parity).unwrap();
                for block in changed {
                    data[block].clone_from(&new[block]);
                }
                let mut recalculated = vec![vec![0; codec.block_bytes()]; parity.len()];
                codec.encode(data, &mut recalculated).unwrap();
                prop_assert_eq!(&*parity, recalculated.as_slice());
            }
        }
    }

    #[test]
    fn a_spindle_of_zeros_joins_without_recomputing(
        data_blocks in 1..=27_usize, joining in 1..=20_usize, seed: u64,
    ) {
        for codec in codecs(data_blocks) {
            let wider = match codec.diagonal() {
                None => StripeCodec::new(codec.code(), data_blocks + joining, codec.block_bytes()),
                Some(diagonal) => StripeCodec::row_diagonal(diagonal, data_blocks + joining),
            };
            let Ok(wider) = wider else { continue };
            let mut stripe = stripe_from(&codec, seed);
            let zeros = vec![vec![0; codec.block_bytes()]; joining];
            stripe.splice(data_blocks..data_blocks, zeros);
            prop_assert!(wider.check(&stripe).unwrap().holds());
        }
    }

    #[test]
    fn a_check_notices_any_wrong_bit(data_blocks in 1..=28_usize, seed: u64, bit: usize, at: u8) {
        for codec in codecs(data_blocks) {
            let mut stripe = stripe_from(&codec, seed);
            let block = usize::from(at) % codec.blocks();
            let bit = bit % (8 * codec.block_bytes());
            stripe[block][bit / 8] ^= 1 << (bit % 8);
            let check = codec.check(&stripe).unwrap();
            prop_assert!(!check.holds());
            prop_assert_eq!(check.row_holds, block > data_blocks);
        }
    }
}

/// Blocks of 4 KiB as arrays have them: every width, and every pair of losses.
#[test]
fn every_width_and_every_pair() {
    for data_blocks in 1..=28 {
        let codec = StripeCodec::new(StripeCode::RowDiagonal, data_blocks, 4096).unwrap();
        let stripe = stripe_from(&codec, data_blocks as u64);
        let mut damaged = stripe.clone();
        for lost in losses(&codec) {
            lost.iter().for_each(|&block| damaged[block].fill(0x0f));
            codec.reconstruct(&mut damaged, &lost).unwrap();
            assert!(damaged == stripe, "{lost:?} of {data_blocks}");
        }
    }
}

/// As many data blocks as the prime allows, and every pair of losses among them.
#[test]
fn full_width_of_small_primes() {
    for (block_bytes, data_blocks) in [(16, 2), (32, 4), (512, 16), (1024, 16), (22 * 8, 22)] {
        let codec = StripeCodec::new(StripeCode::RowDiagonal, data_blocks, block_bytes).unwrap();
        assert_eq!(codec.diagonal().unwrap().most_data_blocks(), data_blocks);
        let stripe = stripe_from(&codec, 7);
        for lost in losses(&codec) {
            let mut damaged = stripe.clone();
            lost.iter().for_each(|&block| damaged[block].clear());
            lost.iter().for_each(|&block| damaged[block].resize(block_bytes, 0xff));
            codec.reconstruct(&mut damaged, &lost).unwrap();
            assert_eq!(damaged, stripe, "{lost:?}");
        }
    }
}

/// The widest stripe of p = 257: 256 data blocks, with losses at both ends and in the middle.
#[test]
fn two_hundred_and_fifty_six_data_blocks() {
    let codec = StripeCodec::new(StripeCode::RowDiagonal, 256, 4096).unwrap();
    let stripe = stripe_from(&codec, 7);
    for lost in [[0, 1], [0, 255], [254, 255], [255, 256], [0, 256], [128, 257], [256, 257]] {
        let mut damaged = stripe.clone();
        lost.iter().for_each(|&block| damaged[block].fill(1));
        codec.reconstruct(&mut damaged, &lost).unwrap();
        assert!(damaged == stripe, "{lost:?}");
    }
}

#[test]
fn codecs_that_cannot_be_are_refused_with_the_reason() {
    let message = |code, data, bytes| StripeCodec::new(code, data, bytes).unwrap_err().to_string();
    assert_eq!(
        message(StripeCode::RowDiagonal, 17, 512),
        "row-diagonal parity of blocks of 512 bytes has p = 17, so that a stripe has at most 16 \
         data blocks, not 17"
    );
    assert_eq!(
        message(StripeCode::RowDiagonal, 4, 520),
        "row-diagonal parity cuts a block into p - 1 equal sub-blocks of whole 8-byte words, p \
         being a prime from 3 to 257; 520 bytes cannot be cut so"
    );
    assert_eq!(
        message(StripeCode::Row, 0, 512),
        "a stripe has 1 data block or more, of 1 byte or more; not 0 of 512"
    );
    assert!(matches!(
        StripeCodec::new(StripeCode::RowDiagonal, 0, 4096),
        Err(CodecError::Empty { .. })
    ));
    assert!(StripeCodec::new(StripeCode::RowDiagonal, 257, 4096).is_err());
}

#[test]
fn operations_on_the_wrong_blocks_are_refused_and_change_nothing() {
    let codec = StripeCodec::new(StripeCode::RowDiagonal, 3, 512).unwrap();
    let stripe = stripe_from(&codec, 1);
    let mut untouched = stripe.clone();

    let error = codec.reconstruct(&mut untouched, &[0, 1, 4]).unwrap_err();
    assert_eq!(error.to_string(), "blocks [0, 1, 4] are lost: parity covers 2 of a stripe");
    let error = codec.reconstruct(&mut untouched, &[5]).unwrap_err();
    assert_eq!(error.to_string(), "there is no stripe block 5: the stripe has 5");
    let error = codec.reconstruct(&mut untouched[..4], &[0]).unwrap_err();
    assert_eq!(error.to_string(), "5 stripe blocks are needed; 4 are given");
    codec.reconstruct(&mut untouched, &[]).unwrap();
    assert_eq!(untouched, stripe);
    codec.reconstruct(&mut untouched, &[2, 2]).unwrap();
    assert_eq!(untouched, stripe);

    let mut short = stripe.clone();
    short[4].pop();
    let error = codec.check(&short).unwrap_err();
    assert_eq!(error.to_string(), "block 4 has 511 bytes; the blocks of the stripe have 512");
    let (data, parity) = short.split_at_mut(3);
    assert_eq!(
        codec.encode(data, parity).unwrap_err(),
        CodecError::Length { block: 4, expected: 512, given: 511 }
    );
    let new = bytes_from(9, 512);
    let parity = &mut untouched[3..];
    for (block, new) in [(3, &new[..]), (0, &new[1..])] {
        let change = BlockChange { block, old: &stripe[0], new };
        assert!(codec.subtract(&[change], parity).is_err());
    }
    assert_eq!(untouched, stripe);
}

/// A stripe that no memory holds is refused, before its counts overflow.
#[test]
fn stripes_beyond_memory_are_refused() {
    let codes = [StripeCode::None, StripeCode::Row, StripeCode::RowDiagonal];
    for (code, data_blocks, block_bytes) in [
        (StripeCode::None, usize::MAX, 1),
        (StripeCode::Row, usize::MAX, 1),
        (StripeCode::Row, usize::MAX / 2, 1),
        (StripeCode::Row, 2, usize::MAX / 2),
        (StripeCode::Row, 1 << 40, 1 << 40),
        (StripeCode::RowDiagonal, 2, usize::MAX & !0xfff),
    ] {
        let refused = StripeCodec::new(code, data_blocks, block_bytes).unwrap_err();
        assert_eq!(refused, CodecError::TooLarge { data_blocks, block_bytes });
        assert!(refused.to_string().contains(&data_blocks.to_string()));
    }
    for code in codes {
        let codec = StripeCodec::new(code, 10, 1 << 40).unwrap();
        assert_eq!(codec.blocks(), 10 + codec.parity_blocks());
    }
    let most = isize::MAX as usize;
    assert!(StripeCodec::new(StripeCode::None, most, 1).is_ok());
    assert!(StripeCodec::new(StripeCode::Row, most, 1).is_err());
    assert!(StripeCodec::new(StripeCode::Row, most - 1, 1).is_ok());
}

/// Primes that cannot cut a block, however large, are refused at once.
#[test]
fn primes_beyond_a_block_are_refused() {
    // The largest prime and the largest number of 64 bits, and two whose rows overflow.
    for prime in [18_446_744_073_709_551_557, usize::MAX, 1 << 61, (1 << 61) + 1, 4_099] {
        let refused = RowDiagonal::with_prime(4_096, prime).unwrap_err();
        assert_eq!(refused, CodecError::Indivisible { prime, block_bytes: 4_096 });
    }
    for prime in [0, 1, 2, 9, 4_096] {
        let refused = RowDiagonal::with_prime(4_096, prime).unwrap_err();
        assert_eq!(refused, CodecError::NotPrime { prime });
    }
    assert!(RowDiagonal::with_prime(0, 3).is_err() && RowDiagonal::with_prime(0, 0).is_err());
    assert_eq!(RowDiagonal::with_prime(4_096, 257).unwrap().prime(), 257);
}
