//! Extents: where the bytes of a file lie.

/// A place in a file system's own address space.
///
/// Most file systems have one volume, and an address is a byte of its device. btrfs has one volume too, whose addresses its
/// chunk tree maps to devices. The volumes of a ZFS pool are its top-level vdevs. [`AddressSpace`](crate::AddressSpace)
/// translates addresses to devices.
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
            Self::At(at) | Self::Encoded { at, .. } | Self::Unwritten(at) => Some(*at),
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

    /// The part of the extent within `bytes` of the file, or `None` if there is none. An encoded extent is not divided: its
    /// part still begins at the extent's address.
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
