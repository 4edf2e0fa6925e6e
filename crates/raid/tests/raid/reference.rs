//! Row-diagonal parity as the paper has it, element by element, and slow: Corbett et al.,
//! "Row-Diagonal Parity for Double Disk Failure Correction", FAST 2004, section 3.
//!
//! Nothing of the library's is used: the array of elements is built, each parity set is listed by
//! its definition, and recovery looks for any set with a single element missing until none is.

use crate::{codecs, data_from, stripe_from};
use proptest::prelude::*;

/// An element of the array: a row and a disk. Disks 0 to p - 2 are data, disk p - 1 is row
/// parity, disk p is diagonal parity.
type Element = (usize, usize);

struct Reference {
    prime: usize,
    element_bytes: usize,
}

impl Reference {
    /// All parity sets: the elements of each sum to zero.
    fn parity_sets(&self) -> Vec<Vec<Element>> {
        let p = self.prime;
        let rows = (0..p - 1).map(|row| (0..p).map(|disk| (row, disk)).collect());
        // Diagonal p - 1 is the one of which no parity is stored.
        let diagonals = (0..p - 1).map(|diagonal| {
            let on_diagonal = (0..p - 1)
                .flat_map(|row| (0..p).map(move |disk| (row, disk)))
                .filter(|(row, disk)| (row + disk) % p == diagonal);
            on_diagonal.chain([(diagonal, p)]).collect()
        });
        rows.chain(diagonals).collect()
    }

    /// Recovers everything that is missing, or nothing where that cannot be done. The stripe is
    /// data, row parity, diagonal parity; disks between the data and row parity are absent and
    /// count as zero.
    fn recover(&self, stripe: &[Option<Vec<u8>>]) -> Option<Vec<Vec<u8>>> {
        let p = self.prime;
        let data = stripe.len() - 2;
        let disk_of = |block: usize| if block < data { block } else { p - 1 + block - data };
        let mut disks = vec![vec![Some(vec![0; self.element_bytes]); p - 1]; p + 1];
        for (block, bytes) in stripe.iter().enumerate() {
            for (row, element) in disks[disk_of(block)].iter_mut().enumerate() {
                *element = bytes.as_ref().map(|bytes| {
                    bytes[row * self.element_bytes..(row + 1) * self.element_bytes].to_vec()
                });
            }
        }
        let mut sets = self.parity_sets();
        loop {
            let before = sets.len();
            sets.retain(|set| {
                let missing = set.iter().filter(|(row, disk)| disks[*disk][*row].is_none());
                let missing = missing.copied().collect::<Vec<_>>();
                let [(row, disk)] = missing[..] else { return missing.len() > 1 };
                let mut sum = vec![0; self.element_bytes];
                for &(row, disk) in set {
                    for (sum, byte) in sum.iter_mut().zip(disks[disk][row].iter().flatten()) {
                        *sum ^= byte;
                    }
                }
                disks[disk][row] = Some(sum);
                false
            });
            if sets.len() == before {
                break;
            }
        }
        (0..stripe.len())
            .map(|block| disks[disk_of(block)].iter().cloned().collect::<Option<Vec<_>>>())
            .map(|rows| rows.map(|rows| rows.concat()))
            .collect()
    }
}

/// What the published construction makes of data: row parity, then diagonal parity.
pub fn parity_of(prime: usize, data: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let reference = Reference { prime, element_bytes: data[0].len() / (prime - 1) };
    let mut stripe = data.iter().cloned().map(Some).collect::<Vec<_>>();
    stripe.extend([None, None]);
    let mut recovered = reference.recover(&stripe).unwrap();
    recovered.split_off(data.len())
}

/// The example of the paper: p = 5, four data disks, and what lies on which diagonal.
#[test]
fn diagonals_of_the_paper() {
    let reference = Reference { prime: 5, element_bytes: 1 };
    let sets = reference.parity_sets();
    assert_eq!(sets[0], [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4)]);
    // Diagonal d misses disk d + 1, and each disk but the first is missed by one.
    assert_eq!(sets[4], [(0, 0), (1, 4), (2, 3), (3, 2), (0, 5)]);
    assert_eq!(sets[5], [(0, 1), (1, 0), (2, 4), (3, 3), (1, 5)]);
    assert_eq!(sets[6], [(0, 2), (1, 1), (2, 0), (3, 4), (2, 5)]);
    assert_eq!(sets[7], [(0, 3), (1, 2), (2, 1), (3, 0), (3, 5)]);
    assert_eq!(sets.len(), 8);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(strewn_testing::cases(16, 96)))]

    #[test]
    fn codec_agrees_with_the_paper(
        data_blocks in 1..=28_usize, seed: u64, pair: (u8, u8), which: prop::sample::Index,
    ) {
        let mut codecs = codecs(data_blocks);
        codecs.retain(|codec| codec.diagonal().is_some() && codec.block_bytes() <= 8192);
        let codec = which.get(&codecs);
        let diagonal = codec.diagonal().unwrap();
        let prime = diagonal.prime();
        let data = data_from(seed, data_blocks, codec.block_bytes());
        let stripe = stripe_from(codec, seed);
        prop_assert_eq!(&stripe[data_blocks..], parity_of(prime, &data), "p = {}", prime);

        let lost = [pair.0, pair.1].map(|block| usize::from(block) % codec.blocks());
        let mut with_holes = stripe.iter().cloned().map(Some).collect::<Vec<_>>();
        let mut by_codec = stripe.clone();
        for block in lost {
            with_holes[block] = None;
            by_codec[block].fill(0x55);
        }
        let reference = Reference { prime, element_bytes: diagonal.sub_block_bytes() };
        codec.reconstruct(&mut by_codec, &lost).unwrap();
        prop_assert_eq!(Some(by_codec), reference.recover(&with_holes), "{:?} lost", lost);
    }
}
