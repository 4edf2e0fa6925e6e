//! Why there is no parity.

use std::error::Error;
use std::fmt;

use strewn_base::memory::OutOfMemory;

/// Why there is no codec for stripes of a size, or it cannot work on the blocks given.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CodecError {
    /// The stripe has no data blocks, or the blocks have no bytes.
    Empty {
        /// The data blocks asked for.
        data_blocks: usize,
        /// The size of block asked for.
        block_bytes: usize,
    },
    /// The blocks of a stripe are more bytes than memory can hold.
    TooLarge {
        /// The data blocks asked for.
        data_blocks: usize,
        /// The size of block asked for.
        block_bytes: usize,
    },
    /// There are more data blocks than row-diagonal parity allows.
    TooManyDataBlocks {
        /// The data blocks asked for.
        data_blocks: usize,
        /// The size of block asked for.
        block_bytes: usize,
        /// The prime of the construction.
        prime: usize,
    },
    /// No prime of row-diagonal parity fits the size of the blocks.
    NoPrime {
        /// The size of block asked for.
        block_bytes: usize,
    },
    /// The number asked for as the `p` of row-diagonal parity is not a prime above 2.
    NotPrime {
        /// The number asked for.
        prime: usize,
    },
    /// A prime of row-diagonal parity that does not fit the size of the blocks.
    Indivisible {
        /// The prime asked for.
        prime: usize,
        /// The size of block asked for.
        block_bytes: usize,
    },
    /// Too few or too many blocks are given.
    Count {
        /// Which blocks.
        what: &'static str,
        /// How many the stripe has.
        expected: usize,
        /// How many were given.
        given: usize,
    },
    /// A block given has the wrong length.
    Length {
        /// Which block, in the order of the stripe.
        block: usize,
        /// Bytes of a block.
        expected: usize,
        /// Bytes that were given.
        given: usize,
    },
    /// The stripe has no such block, or it is of the wrong kind.
    NoSuchBlock {
        /// Which blocks.
        what: &'static str,
        /// The block asked for.
        block: usize,
        /// How many there are.
        count: usize,
    },
    /// More blocks are lost than parity covers.
    TooManyLost {
        /// The lost blocks.
        lost: Vec<usize>,
        /// The parity blocks of the stripe.
        parity_blocks: usize,
    },
    /// The system does not provide the memory for the blocks.
    OutOfMemory(OutOfMemory),
}

impl fmt::Display for CodecError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfMemory(error) => write!(formatter, "the blocks of a stripe: {error}"),
            Self::Empty { data_blocks, block_bytes } => write!(
                formatter,
                "a stripe has 1 data block or more, of 1 byte or more; not {data_blocks} of \
                 {block_bytes}"
            ),
            Self::TooLarge { data_blocks, block_bytes } => write!(
                formatter,
                "a stripe of {data_blocks} data blocks of {block_bytes} bytes, and its parity, is \
                 more than memory can hold"
            ),
            Self::TooManyDataBlocks { data_blocks, block_bytes, prime } => write!(
                formatter,
                "row-diagonal parity of blocks of {block_bytes} bytes has p = {prime}, so that a \
                 stripe has at most {} data blocks, not {data_blocks}",
                prime - 1
            ),
            Self::NoPrime { block_bytes } => write!(
                formatter,
                "row-diagonal parity cuts a block into p - 1 equal sub-blocks of whole 8-byte \
                 words, p being a prime from 3 to 257; {block_bytes} bytes cannot be cut so"
            ),
            Self::NotPrime { prime } => {
                write!(formatter, "row-diagonal parity is for a prime p above 2, not {prime}")
            }
            Self::Indivisible { prime, block_bytes } => write!(
                formatter,
                "with p = {prime}, row-diagonal parity cuts a block into {} equal sub-blocks of \
                 whole 8-byte words; {block_bytes} bytes cannot be cut so",
                prime - 1
            ),
            Self::Count { what, expected, given } => {
                write!(formatter, "{expected} {what} blocks are needed; {given} are given")
            }
            Self::Length { block, expected, given } => write!(
                formatter,
                "block {block} has {given} bytes; the blocks of the stripe have {expected}"
            ),
            Self::NoSuchBlock { what, block, count } => {
                write!(formatter, "there is no {what} block {block}: the stripe has {count}")
            }
            Self::TooManyLost { lost, parity_blocks } => write!(
                formatter,
                "blocks {lost:?} are lost: parity covers {parity_blocks} of a stripe"
            ),
        }
    }
}

impl Error for CodecError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::OutOfMemory(inner) => Some(inner),
            _ => None,
        }
    }
}
