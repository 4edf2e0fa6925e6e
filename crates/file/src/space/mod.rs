//! From a file system's addresses to devices.

use crate::Address;

/// A device under a file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Its name, such as `sda` or `loop0`.
    pub name: String,
    /// Its capacity in bytes, if known.
    pub bytes: Option<u64>,
    /// Whether it is a drive with spindles, as the kernel has it; `None` where nobody says.
    pub rotational: Option<bool>,
    /// What it is made of, nearest first: `loop0`, the file behind it, the device that file is on.
    pub stack: Vec<String>,
}

/// A run of bytes on one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Piece {
    /// Index into [`AddressSpace::devices`].
    pub device: u16,
    /// The first byte on the device.
    pub byte: u64,
    /// The number of bytes.
    pub bytes: u64,
}

/// The devices under a file system, and which bytes of them its addresses mean.
#[derive(Debug, Clone)]
pub struct AddressSpace {
    devices: Vec<Device>,
    mapping: Mapping,
}

#[derive(Debug, Clone)]
enum Mapping {
    /// Volume `n` is device `n`.
    Direct,
}

impl AddressSpace {
    /// Each volume is one device, byte by byte.
    #[must_use]
    pub fn direct(devices: Vec<Device>) -> Self {
        Self { devices, mapping: Mapping::Direct }
    }

    /// The devices.
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// Appends to `pieces` what is read from devices for `bytes` from `at` on, in the order of the bytes: from one copy, and
    /// without parity.
    pub fn read(&self, at: Address, bytes: u64, pieces: &mut Vec<Piece>) {
        match self.mapping {
            Mapping::Direct => pieces.push(Piece { device: at.volume, byte: at.byte, bytes }),
        }
    }
}
