//! Why volumes cannot be mounted.

use std::error::Error;
use std::fmt;

use strewn_alloc::{AggregateError, MountError};
use strewn_raid::Vbn;

use super::page::PageName;
use crate::names::VolumeId;

/// Why [`Volumes::mount`](crate::Volumes::mount) failed. `E` is the error of the caller's reads.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum VolumesMountError<E> {
    /// The options or groups are invalid.
    Aggregate(MountError),
    /// The groups do not begin with those that the aggregate had, in their order: the kind of parity, the data spindles
    /// or the stripes differ.
    OtherGroups,
    /// The blocks have another size than those of the store.
    OtherBlockSize {
        /// Bytes of a block of the store.
        stored: u32,
        /// Bytes of a block in the options.
        given: u64,
    },
    /// A page cannot be read.
    Read {
        /// Name of the page that was to be read.
        page: PageName,
        /// Where it lies.
        vbn: Vbn,
        /// The error that the read returned.
        error: E,
    },
    /// The metadata are damaged.
    Damaged(Damage),
}

/// Damaged metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Damage {
    /// The bytes are not a root, or of an unknown version.
    ForeignRoot,
    /// The checksum of the root does not match: it is damaged, or was not completely written.
    RootChecksum,
    /// The bytes of a page are not those that were written: they are damaged, or of another commit.
    Checksum(PageName, Vbn),
    /// The bytes are those of another page.
    OtherPage(PageName, Vbn),
    /// A block is past the end of the aggregate.
    OutOfRange(Vbn),
    /// Two blocks of volumes, or pages, lie in one place.
    UsedTwice(Vbn),
    /// The free maps say that a block in use is free.
    NotInUse(Vbn),
    /// A page says something that cannot be.
    Contents(PageName, &'static str),
    /// What is saved of a volume cannot be.
    Volume(VolumeId, &'static str),
    /// More blocks are reserved for volumes than are free.
    Reserved(u64, u64),
}

impl fmt::Display for Damage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ForeignRoot => {
                formatter.write_str("not a root of volumes, or of an unknown version")
            }
            Self::RootChecksum => formatter.write_str("the checksum of the root is wrong"),
            Self::Checksum(page, vbn) => {
                write!(formatter, "{page}, at {vbn}: damaged, or of another commit")
            }
            Self::OtherPage(page, vbn) => {
                write!(formatter, "{page}, at {vbn}: the bytes are those of another page")
            }
            Self::OutOfRange(vbn) => write!(formatter, "there is no {vbn}"),
            Self::UsedTwice(vbn) => write!(formatter, "{vbn} is used twice"),
            Self::NotInUse(vbn) => {
                write!(formatter, "{vbn} is in use, but the free maps say that it is free")
            }
            Self::Contents(page, what) => write!(formatter, "{page}: {what}"),
            Self::Volume(volume, what) => write!(formatter, "{volume}: {what}"),
            Self::Reserved(reserved, free) => {
                write!(formatter, "{reserved} blocks are promised to volumes, {free} are free")
            }
        }
    }
}

impl<E: fmt::Display> fmt::Display for VolumesMountError<E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Aggregate(inner) => inner.fmt(formatter),
            Self::OtherGroups => formatter.write_str(
                "the parity groups are not those that the root was written for: compare their \
                parity, data spindles and stripes",
            ),
            Self::OtherBlockSize { stored, given } => write!(
                formatter,
                "the options say blocks of {given} bytes, but the store has blocks of {stored}"
            ),
            Self::Read { page, vbn, error } => {
                write!(formatter, "{page}, at {vbn}, cannot be read: {error}")
            }
            Self::Damaged(inner) => inner.fmt(formatter),
        }
    }
}

impl Error for Damage {}

/// The message contains that of `E`, which need not be an [`Error`] itself, so that it is no source.
impl<E: fmt::Debug + fmt::Display> Error for VolumesMountError<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Aggregate(inner) => inner.source(),
            _ => None,
        }
    }
}

impl<E> From<Damage> for VolumesMountError<E> {
    fn from(inner: Damage) -> Self {
        Self::Damaged(inner)
    }
}

impl<E> From<MountError> for VolumesMountError<E> {
    fn from(inner: MountError) -> Self {
        Self::Aggregate(inner)
    }
}

impl<E> From<AggregateError> for VolumesMountError<E> {
    fn from(inner: AggregateError) -> Self {
        Self::Aggregate(inner.into())
    }
}
