//! Scrubs: whether the parity of a stripe holds, and which block is wrong if it does not.

use crate::xor::{self, Start};
use crate::{CodecError, StripeCodec};

/// Whether the parity of a stripe agrees with its data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ParityCheck {
    /// Whether row parity is the sum of the data blocks.
    pub row_holds: bool,
    /// Whether diagonal parity is the sum over the diagonals of the data blocks and of row parity
    /// as read; true if the stripe has no diagonal parity.
    pub diagonal_holds: bool,
}

impl ParityCheck {
    /// Whether all parity agrees.
    pub const fn holds(self) -> bool {
        self.row_holds && self.diagonal_holds
    }
}

/// The finding of a scrub. Blocks are numbered in the order of the stripe: data, row parity,
/// diagonal parity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScrubFinding {
    /// Parity and every checksum given agree with the blocks.
    Sound,
    /// Parity holds, but the checksums of these blocks differ. Either the checksums are wrong, or
    /// parity was computed from wrong blocks, so that it cannot restore others.
    ChecksumsDiffer {
        /// The blocks whose checksums differ.
        blocks: Vec<usize>,
    },
    /// These blocks are wrong. Checksums vouch for all data, as it is or as it has been brought
    /// back. [`StripeCodec::reconstruct`] with the two lists as what is lost repairs the stripe.
    Wrong {
        /// The wrong data blocks.
        data: Vec<usize>,
        /// The wrong parity blocks.
        parity: Vec<usize>,
    },
    /// Checksums are inconclusive, but row and diagonal parity together identify one block: if only
    /// one block is wrong, it is this one.
    Likely {
        /// The block that is wrong if only one is.
        block: usize,
    },
    /// Parity does not hold, and the wrong blocks cannot be identified, or are more than parity
    /// covers.
    Unresolved {
        /// The blocks whose checksums differ.
        blocks: Vec<usize>,
    },
}

impl StripeCodec {
    /// Whether the parity of a stripe agrees with its data.
    ///
    /// # Errors
    ///
    /// [`CodecError`] if the number or the length of the blocks is not the stripe's.
    pub fn check<B: AsRef<[u8]>>(&self, blocks: &[B]) -> Result<ParityCheck, CodecError> {
        self.check_stripe(blocks)?;
        if self.parity_blocks() == 0 {
            return Ok(ParityCheck { row_holds: true, diagonal_holds: true });
        }
        let (with_row, diagonal) = blocks.split_at(self.data_blocks() + 1);
        let mut sum = vec![0; self.block_bytes()];
        xor::add_all(&mut sum, Start::Zero, with_row.iter().map(AsRef::as_ref));
        let row_holds = xor::is_zero(&sum);
        let diagonal_holds = match (self.diagonal(), diagonal) {
            (Some(code), [diagonal]) => {
                sum.copy_from_slice(diagonal.as_ref());
                code.add_up(None, &mut sum, Start::Held, self.columns(code, with_row));
                xor::is_zero(&sum)
            }
            _ => true,
        };
        Ok(ParityCheck { row_holds, diagonal_holds })
    }

    /// Checks a stripe and, where its parity does not hold, finds the blocks that are wrong.
    ///
    /// `checksum_agrees` takes the number of a block and candidate contents, and returns whether they
    /// match the checksum of the block, or `None` if it has none. It is called for blocks as read and
    /// for reconstructed blocks. Checksums of the data suffice to tell wrong data from wrong parity.
    /// Without checksums, RAID-DP identifies a single wrong block, and single parity only detects
    /// that something is wrong.
    ///
    /// # Errors
    ///
    /// [`CodecError`] if the number or the length of the blocks is not the stripe's.
    ///
    /// ```
    /// use strewn_raid::{ScrubFinding, StripeCode, StripeCodec};
    ///
    /// let codec = StripeCodec::new(StripeCode::Row, 2, 4)?;
    /// let stripe = [*b"data", *b"Data", [0; 4]];
    /// let good = [*b"data", *b"data", [0; 4]];
    /// let finding = codec.scrub(&stripe, |block, bytes| (block < 2).then(|| bytes == good[block]))?;
    /// assert_eq!(finding, ScrubFinding::Wrong { data: vec![1], parity: vec![] });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scrub<B: AsRef<[u8]>>(
        &self,
        blocks: &[B],
        mut checksum_agrees: impl FnMut(usize, &[u8]) -> Option<bool>,
    ) -> Result<ScrubFinding, CodecError> {
        let parity_holds = self.check(blocks)?.holds();
        let numbered = blocks.iter().enumerate();
        let agrees = numbered
            .map(|(block, bytes)| checksum_agrees(block, bytes.as_ref()))
            .collect::<Vec<_>>();
        let with = |state| {
            (0..blocks.len()).filter(|&block| agrees[block] == state).collect::<Vec<usize>>()
        };
        let differing = with(Some(false));
        if parity_holds {
            return Ok(match differing.is_empty() {
                true => ScrubFinding::Sound,
                false => ScrubFinding::ChecksumsDiffer { blocks: differing },
            });
        }
        let unknown = with(None);
        // Where a data block has no checksum nothing can be proved, and only a single block
        // singled out.
        let data_unknown = unknown.first().is_some_and(|&block| block < self.data_blocks());
        let most = if data_unknown { 1 } else { self.parity_blocks() };
        for suspects in suspicions(&differing, &unknown, most) {
            let mut candidate =
                blocks.iter().map(|block| block.as_ref().to_vec()).collect::<Vec<_>>();
            self.reconstruct(&mut candidate, &suspects)?;
            if let Some(finding) = self.judge(blocks, &candidate, &suspects, &agrees, |block| {
                checksum_agrees(block, &candidate[block])
            }) {
                return Ok(finding);
            }
        }
        Ok(ScrubFinding::Unresolved { blocks: differing })
    }

    /// Whether `candidate`, in which the suspects have been reconstructed from the rest, explains
    /// what was found.
    fn judge<B: AsRef<[u8]>>(
        &self,
        found: &[B],
        candidate: &[Vec<u8>],
        suspects: &[usize],
        agrees: &[Option<bool>],
        mut candidate_agrees: impl FnMut(usize) -> Option<bool>,
    ) -> Option<ScrubFinding> {
        let brought_back =
            suspects.iter().map(|&block| candidate_agrees(block)).collect::<Vec<_>>();
        let vouched_for = |block: usize| match suspects.iter().position(|&one| one == block) {
            Some(position) => brought_back[position] == Some(true),
            None => agrees[block] == Some(true),
        };
        let (data, parity) = candidate.split_at(self.data_blocks());
        if !(0..data.len()).all(vouched_for) {
            let holds = self.check(candidate).is_ok_and(|check| check.holds());
            return match *suspects {
                [block] if holds && self.parity_blocks() > 1 => {
                    Some(ScrubFinding::Likely { block })
                }
                _ => None,
            };
        }
        // All data is right. So parity follows, and what differs from it is wrong.
        let mut right_parity = parity.to_vec();
        self.encode(data, &mut right_parity).ok()?;
        let wrong_among = |right: &[Vec<u8>], first: usize| {
            (first..)
                .zip(right)
                .filter(|(block, right)| found[*block].as_ref() != right.as_slice())
                .map(|(block, _)| block)
                .collect::<Vec<usize>>()
        };
        let data = wrong_among(data, 0);
        let parity = wrong_among(&right_parity, self.data_blocks());
        let contradicted = parity.iter().any(|&block| agrees[block] == Some(true));
        (!contradicted).then_some(ScrubFinding::Wrong { data, parity })
    }
}

/// The sets of at most `most` blocks, 1 or 2, that may be wrong, fewest first: those whose
/// checksums differ, and with them others without a checksum.
fn suspicions(differing: &[usize], unknown: &[usize], most: usize) -> Vec<Vec<usize>> {
    let pairs = unknown.iter().enumerate().flat_map(|(position, &first)| {
        unknown[position + 1..].iter().map(move |&second| vec![first, second])
    });
    std::iter::once(Vec::new())
        .chain(unknown.iter().map(|&block| vec![block]))
        .chain(pairs)
        .map(|others| [differing, &others].concat())
        .filter(|set| set.len() <= most)
        .collect()
}
