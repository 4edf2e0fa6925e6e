//! Extents: where the bytes of a file lie.

/// A place in a file system's own address space.
///
/// Most file systems have one volume, and an address is a byte of its device. btrfs has one volume too, whose addresses
/// its chunk tree maps to devices. The volumes of a ZFS pool are its top-level vdevs.
/// [`AddressSpace`](crate::AddressSpace) translates addresses to devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// The volume, from 0.
    pub volume: u16,
    /// The byte within the volume.
    pub byte: u64,
}

impl Address {
    /// Byte `byte` of the first volume.
    #[must_use]
    pub fn new(byte: u64) -> Self {
        Self { volume: 0, byte }
    }

    /// The address `bytes` further on in the same volume.
    #[must_use]
    pub fn after(self, bytes: u64) -> Self {
        Self { volume: self.volume, byte: self.byte.saturating_add(bytes) }
    }
}

/// What a file system says of the place of an extent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The bytes lie at an address, one after another.
    At(Address),
    /// The bytes are stored encoded (compressed or encrypted), from an address on. All of the extent is read to get any
    /// byte of it.
    Encoded {
        /// Where the encoded bytes begin.
        at: Address,
        /// How many there are, if the file system says so; FIEMAP does not.
        stored_bytes: Option<u64>,
    },
    /// A block of a file system that reads and writes only whole blocks, as ZFS does, whose checksums are of whole
    /// blocks.
    Block {
        /// Where the block begins.
        at: Address,
        /// Bytes that are read: fewer than the extent has if the block is compressed.
        stored_bytes: u64,
        /// Bytes up to the address at which the next block can begin. On RAID-Z these are more than are stored:
        /// addresses count parity and padding too.
        allocated_bytes: u64,
    },
    /// Space is reserved at an address, and nothing was written: the bytes read as zeros without a command.
    Unwritten(Address),
    /// The bytes are in the file system's metadata, together with the file's inode or the tails of other files.
    Inline,
    /// The file system does not say: the bytes have no place yet (delayed allocation), or it is kept from us.
    Unknown,
}

impl Place {
    /// The address, if there is one.
    #[must_use]
    pub fn address(&self) -> Option<Address> {
        match self {
            Self::At(at)
            | Self::Encoded { at, .. }
            | Self::Block { at, .. }
            | Self::Unwritten(at) => Some(*at),
            Self::Inline | Self::Unknown => None,
        }
    }
}

/// Consecutive bytes of a file that lie together. What no extent covers is a hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The first byte, counted from the beginning of the file.
    pub offset: u64,
    /// The number of bytes; not 0.
    pub bytes: u64,
    /// Where they lie.
    pub place: Place,
    /// Other files or snapshots have the same bytes at this address too.
    pub shared: bool,
}

impl Extent {
    /// The first byte behind the extent, counted from the beginning of the file.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }

    /// Bytes that are read to get all of the extent, as far as is known.
    pub(crate) fn stored_bytes(&self) -> u64 {
        match self.place {
            Place::Encoded { stored_bytes: Some(stored), .. } => stored,
            Place::Block { stored_bytes, .. } => stored_bytes,
            _ => self.bytes,
        }
    }

    /// Bytes of the address space that the extent takes, as far as is known.
    pub(crate) fn allocated_bytes(&self) -> u64 {
        match self.place {
            Place::Block { allocated_bytes, .. } => allocated_bytes,
            _ => self.stored_bytes(),
        }
    }

    /// Whether the bytes are stored encoded. Of a block that is if fewer are stored than the extent has.
    pub(crate) fn is_encoded(&self) -> bool {
        match self.place {
            Place::Encoded { .. } => true,
            Place::Block { stored_bytes, .. } => stored_bytes < self.bytes,
            _ => false,
        }
    }

    /// Whether all of the extent is read to get any byte of it.
    pub(crate) fn is_read_whole(&self) -> bool {
        matches!(self.place, Place::Encoded { .. } | Place::Block { .. })
    }

    /// The part of the extent within `bytes` of the file, or `None` if there is none. An encoded extent or a block is
    /// not divided: its part still begins at the extent's address.
    #[must_use]
    pub fn within(&self, bytes: std::ops::Range<u64>) -> Option<Self> {
        let (offset, end) = (self.offset.max(bytes.start), self.end().min(bytes.end));
        let skipped = offset - self.offset;
        let place = match self.place {
            Place::At(at) => Place::At(at.after(skipped)),
            Place::Unwritten(at) => Place::Unwritten(at.after(skipped)),
            other => other,
        };
        (offset < end).then(|| Self { offset, bytes: end - offset, place, ..*self })
    }
}
