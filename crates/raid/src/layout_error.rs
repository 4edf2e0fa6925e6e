//! Why a layout cannot be created.

use std::error::Error;
use std::fmt;

use crate::{MemberSet, Parity, StripeCode};

/// Why blocks cannot be laid out over spindles, or a file over objects.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutError {
    /// A parity group has too few or too many data spindles for its kind of parity.
    ParitySpindles {
        /// The kind of parity asked for.
        parity: Parity,
        /// The data spindles asked for.
        data_spindles: u16,
    },
    /// A wide parity group has no data spindles, or with parity more than 64 spindles.
    WideParitySpindles {
        /// The kind of parity asked for.
        parity: Parity,
        /// The data spindles asked for.
        data_spindles: u16,
    },
    /// The spindles of a parity group have no blocks.
    NoBlocks {
        /// The kind of parity asked for.
        parity: Parity,
    },
    /// A parity group has more bytes than 64 bits can count.
    TooManyBlocks {
        /// The data spindles asked for.
        data_spindles: u16,
        /// The blocks asked for on each spindle.
        blocks_per_spindle: u64,
    },
    /// A RAID-0 group has no spindles, or too many.
    Raid0Spindles {
        /// The spindles asked for.
        spindles: u16,
    },
    /// A RAID-5 group has too few or too many spindles.
    Raid5Spindles {
        /// The spindles asked for.
        spindles: u16,
    },
    /// The chunk of a RAID-0 or RAID-5 group is not a whole number of sectors.
    Chunk {
        /// The bytes asked for.
        chunk_bytes: u64,
    },
    /// The spindles of a RAID-0 or RAID-5 group are smaller than a chunk.
    SpindleBelowChunk {
        /// The bytes of each spindle.
        bytes_per_spindle: u64,
        /// The bytes of a chunk.
        chunk_bytes: u64,
    },
    /// The spindles have more bytes than 64 bits can count.
    TooLarge {
        /// The spindles.
        spindles: u16,
        /// The bytes of each spindle.
        bytes_per_spindle: u64,
    },
    /// A disk group has no redundancy set.
    NoRedundancySet,
    /// A redundancy set is too small for a stripe, or larger than supported.
    RedundancySet {
        /// Which set, counted from 0.
        position: usize,
        /// Its spindles.
        spindles: u16,
    },
    /// A disk group has more spindles than can be numbered.
    TooManySpindles {
        /// The spindles of all sets.
        spindles: u64,
    },
    /// The chunk of a disk group is not a power of two of sectors.
    VraidChunk {
        /// The bytes asked for.
        chunk_bytes: u64,
    },
    /// The segment size of a disk group is invalid.
    Segment {
        /// The bytes asked for.
        segment_bytes: u64,
        /// The bytes of a chunk.
        chunk_bytes: u64,
    },
    /// The spindles of a disk group are too small for a segment of each role.
    SpindleBelowSegments {
        /// The bytes of each spindle.
        bytes_per_spindle: u64,
        /// The bytes of a segment.
        segment_bytes: u64,
    },
    /// There are fewer blades than a parity group has objects.
    Blades {
        /// The objects of a parity group.
        width: u16,
        /// The blades there are.
        blades: u16,
    },
    /// A size that must be at least one is zero.
    Zero(&'static str),
    /// A stripe has no data blocks, or more blocks than 64.
    StripeBlocks {
        /// The parity asked for.
        code: StripeCode,
        /// The data blocks asked for.
        data_blocks: u16,
    },
}

impl fmt::Display for LayoutError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ParitySpindles { parity, data_spindles } => {
                let (plural, verb) = if *data_spindles == 1 { ("", "s") } else { ("s", "") };
                write!(
                    formatter,
                    "a {parity} group has {} to {} spindles, of which {} parity; {data_spindles} \
                     data spindle{plural} make{verb} {}",
                    parity.spindles() + 1,
                    parity.most_spindles(),
                    parity.holds(),
                    u32::from(*data_spindles) + u32::from(parity.spindles())
                )
            }
            Self::WideParitySpindles { parity, data_spindles } => write!(
                formatter,
                "a wide {parity} group has {} to 64 spindles, of which {} parity; {data_spindles} \
                 data spindles make {}",
                parity.spindles() + 1,
                parity.holds(),
                u32::from(*data_spindles) + u32::from(parity.spindles())
            ),
            Self::NoBlocks { parity } => {
                write!(formatter, "a spindle of a {parity} group has 1 block or more, not 0")
            }
            Self::TooManyBlocks { data_spindles, blocks_per_spindle } => write!(
                formatter,
                "{data_spindles} data spindles of {blocks_per_spindle} blocks of 4 KiB are more \
                 bytes than 64 bits can count"
            ),
            Self::Raid0Spindles { spindles } => {
                write!(formatter, "a RAID-0 group has 1 to 64 spindles, not {spindles}")
            }
            Self::Raid5Spindles { spindles } => {
                write!(formatter, "a RAID-5 group has 3 to 64 spindles, not {spindles}")
            }
            Self::Chunk { chunk_bytes } => write!(
                formatter,
                "a chunk is 1 sector of 512 bytes or more, and less than 2 TiB, not {chunk_bytes} \
                 bytes"
            ),
            Self::SpindleBelowChunk { bytes_per_spindle, chunk_bytes } => write!(
                formatter,
                "a spindle holds a chunk of {chunk_bytes} bytes or more, not {bytes_per_spindle} \
                 bytes"
            ),
            Self::TooLarge { spindles, bytes_per_spindle } => write!(
                formatter,
                "{spindles} spindles of {bytes_per_spindle} bytes are more bytes than 64 bits can \
                 count"
            ),
            Self::NoRedundancySet => {
                formatter.write_str("a disk group has 1 redundancy set or more, not 0")
            }
            Self::RedundancySet { position, spindles } => write!(
                formatter,
                "a redundancy set has 5 to 16 spindles (6 to 11 as an EVA keeps them); set \
                 {position} has {spindles}"
            ),
            Self::TooManySpindles { spindles } => {
                write!(formatter, "a disk group has at most 65535 spindles, not {spindles}")
            }
            Self::VraidChunk { chunk_bytes } => write!(
                formatter,
                "chunk_bytes is a power of two of at least 512 bytes, not {chunk_bytes}"
            ),
            Self::Segment { segment_bytes, chunk_bytes } => write!(
                formatter,
                "segment_bytes is a power of two from chunk_bytes ({chunk_bytes}) to 2 GiB, not \
                 {segment_bytes}"
            ),
            Self::SpindleBelowSegments { bytes_per_spindle, segment_bytes } => write!(
                formatter,
                "a spindle holds 5 segments of {segment_bytes} bytes or more; {bytes_per_spindle} \
                 bytes hold {}",
                bytes_per_spindle / segment_bytes
            ),
            Self::Blades { width, blades } => write!(
                formatter,
                "a parity group of {width} objects needs as many blades, and there are {blades}"
            ),
            Self::Zero(what) => write!(formatter, "{what} is zero: it must be at least 1"),
            Self::StripeBlocks { code, data_blocks } => write!(
                formatter,
                "a stripe with {code} has 1 to {} data blocks, not {data_blocks}",
                MemberSet::CAPACITY - code.parity_blocks()
            ),
        }
    }
}

impl Error for LayoutError {}
