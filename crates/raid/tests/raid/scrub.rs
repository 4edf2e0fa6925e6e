//! Scrubs: which blocks are wrong, and who says so.

use crate::{codecs, stripe_from};
use proptest::prelude::*;
use strewn_raid::{ScrubFinding, StripeCode, StripeCodec};

/// Damages blocks in a way of their own each, so that no two damages cancel out.
fn damage(stripe: &mut [Vec<u8>], wrong: &[usize]) {
    for &block in wrong {
        let length = stripe[block].len();
        let noise = crate::bytes_from(block as u64 + 99, length);
        let bytes = stripe[block].iter_mut().zip(noise);
        bytes.enumerate().filter(|(at, _)| at % 3 == block % 3).for_each(|(_, (byte, noise))| {
            *byte ^= noise | 1;
        });
        stripe[block][length / 2] ^= 0x80;
        stripe[block][0] ^= if length == 1 { 0x40 } else { 0 };
    }
}

fn split(data_blocks: usize, wrong: &[usize]) -> ScrubFinding {
    let (data, parity) = wrong.iter().partition(|&&block| block < data_blocks);
    ScrubFinding::Wrong { data, parity }
}

fn repaired(codec: &StripeCodec, damaged: &[Vec<u8>], finding: &ScrubFinding) -> Vec<Vec<u8>> {
    let mut repaired = damaged.to_vec();
    if let ScrubFinding::Wrong { data, parity } = finding {
        codec.reconstruct(&mut repaired, &[data.as_slice(), parity.as_slice()].concat()).unwrap();
    }
    repaired
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// With checksums of the data alone, every damage that parity makes good is told apart: wrong
    /// data, wrong parity, both.
    #[test]
    fn checksums_of_data_tell_data_from_parity(data_blocks in 1..=28_usize, seed: u64, at: (u8, u8)) {
        for codec in codecs(data_blocks).into_iter().filter(|codec| codec.block_bytes() > 16) {
            let right = stripe_from(&codec, seed);
            let mut wrong = vec![usize::from(at.0) % codec.blocks()];
            let other = usize::from(at.1) % codec.blocks();
            if codec.parity_blocks() == 2 && other != wrong[0] {
                wrong.push(other);
                wrong.sort_unstable();
            }
            let mut damaged = right.clone();
            damage(&mut damaged, &wrong);
            let of_data = |block: usize, bytes: &[u8]| {
                (block < data_blocks).then(|| bytes == right[block].as_slice())
            };
            let finding = codec.scrub(&damaged, of_data).unwrap();
            prop_assert_eq!(&finding, &split(data_blocks, &wrong), "{:?}", codec);
            prop_assert!(repaired(&codec, &damaged, &finding) == right);

            let of_all = |block: usize, bytes: &[u8]| Some(bytes == right[block].as_slice());
            prop_assert_eq!(codec.scrub(&damaged, of_all).unwrap(), finding);
        }
    }

    /// Without checksums, row-diagonal parity singles out one wrong block of any kind.
    #[test]
    fn row_diagonal_parity_singles_out_a_block(data_blocks in 1..=28_usize, seed: u64, at: u8) {
        for codec in codecs(data_blocks).into_iter().filter(|codec| codec.diagonal().is_some()) {
            let mut stripe = stripe_from(&codec, seed);
            let block = usize::from(at) % codec.blocks();
            damage(&mut stripe, &[block]);
            prop_assert_eq!(
                codec.scrub(&stripe, |_, _| None).unwrap(),
                ScrubFinding::Likely { block }
            );
        }
    }
}

#[test]
fn what_cannot_be_told_is_not_told() {
    let raid4 = StripeCodec::new(StripeCode::Row, 4, 512).unwrap();
    let right = stripe_from(&raid4, 1);
    assert_eq!(raid4.scrub(&right, |_, _| None).unwrap(), ScrubFinding::Sound);

    // One parity alone knows that something is wrong, and no more.
    let mut stripe = right.clone();
    damage(&mut stripe, &[2]);
    let blocks = Vec::new();
    assert_eq!(raid4.scrub(&stripe, |_, _| None).unwrap(), ScrubFinding::Unresolved { blocks });

    // A checksum that differs where parity holds is itself in doubt.
    let finding = raid4.scrub(&right, |block, _| Some(block != 3)).unwrap();
    assert_eq!(finding, ScrubFinding::ChecksumsDiffer { blocks: vec![3] });

    // More wrong than one parity makes good.
    damage(&mut stripe, &[0]);
    let checksums = |block: usize, bytes: &[u8]| Some(bytes == right[block].as_slice());
    let blocks = vec![0, 2];
    assert_eq!(raid4.scrub(&stripe, checksums).unwrap(), ScrubFinding::Unresolved { blocks });

    // Wrong data and wrong parity are two, however the one is known.
    let mut stripe = right.clone();
    damage(&mut stripe, &[1, 4]);
    let of_data =
        |block: usize, bytes: &[u8]| (block < 4).then(|| bytes == right[block].as_slice());
    let blocks = vec![1];
    assert_eq!(raid4.scrub(&stripe, of_data).unwrap(), ScrubFinding::Unresolved { blocks });
}

/// Stale parity with a checksum of its own time, beside data that its checksums vouch for: one of
/// the two missed a write, and nothing says which.
#[test]
fn checksums_that_contradict_each_other_settle_nothing() {
    for code in [StripeCode::Row, StripeCode::RowDiagonal] {
        let codec = StripeCodec::new(code, 4, 4096).unwrap();
        let mut stripe = stripe_from(&codec, 1);
        stripe[4] = stripe_from(&codec, 2)[4].clone();
        let found = stripe.clone();
        let finding = codec.scrub(&stripe, |block, bytes| Some(bytes == found[block].as_slice()));
        assert_eq!(finding.unwrap(), ScrubFinding::Unresolved { blocks: vec![] });
    }
}

/// A block and its checksum are both wrong: row-diagonal parity still points to the block, and
/// parity that differs from data that is vouched for is wrong whatever its checksum says.
#[test]
fn a_wrong_checksum_of_a_wrong_block() {
    let raid_dp = StripeCodec::new(StripeCode::RowDiagonal, 4, 4096).unwrap();
    let right = stripe_from(&raid_dp, 5);
    for block in 0..6 {
        let mut stripe = right.clone();
        damage(&mut stripe, &[block]);
        let finding = raid_dp.scrub(&stripe, |at, bytes| Some(at != block && bytes == right[at]));
        let expected = match block {
            0..4 => ScrubFinding::Likely { block },
            _ => split(4, &[block]),
        };
        assert_eq!(finding.unwrap(), expected);
    }
}

/// A checksum of one data block is missing, another is wrong: two wrong blocks are not claimed.
#[test]
fn a_missing_checksum_proves_nothing() {
    let raid_dp = StripeCodec::new(StripeCode::RowDiagonal, 4, 4096).unwrap();
    let right = stripe_from(&raid_dp, 3);
    let checksums = |block: usize, bytes: &[u8]| {
        (1..4).contains(&block).then(|| bytes == right[block].as_slice())
    };
    let mut stripe = right.clone();
    damage(&mut stripe, &[2]);
    let finding = raid_dp.scrub(&stripe, checksums).unwrap();
    assert_eq!(finding, ScrubFinding::Likely { block: 2 });
    damage(&mut stripe, &[0]);
    let finding = raid_dp.scrub(&stripe, checksums).unwrap();
    assert_eq!(finding, ScrubFinding::Unresolved { blocks: vec![2] });
}
