//! A field of a structure: its place, and access to its value.

/// A field: its place within its structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Its name, as in `docs/format.md`.
    pub name: &'static str,
    /// Its offset in bytes.
    pub offset: usize,
    /// Its size in bytes.
    pub bytes: usize,
}

impl Field {
    pub(super) const fn new(name: &'static str, offset: usize, bytes: usize) -> Self {
        Self { name, offset, bytes }
    }

    /// Returns its bytes in `structure`.
    pub(super) fn of(self, structure: &[u8]) -> &[u8] {
        &structure[self.offset..self.offset + self.bytes]
    }

    pub(super) fn of_mut(self, structure: &mut [u8]) -> &mut [u8] {
        &mut structure[self.offset..self.offset + self.bytes]
    }

    /// Returns its bytes as an array; the field must have size `N`.
    pub(super) fn array<const N: usize>(self, structure: &[u8]) -> [u8; N] {
        let mut value = [0; N];
        value.copy_from_slice(self.of(structure));
        value
    }

    pub(super) fn put(self, structure: &mut [u8], value: &[u8]) {
        self.of_mut(structure).copy_from_slice(value);
    }

    pub(super) fn u8(self, structure: &[u8]) -> u8 {
        u8::from_le_bytes(self.array(structure))
    }

    pub(super) fn u16(self, structure: &[u8]) -> u16 {
        u16::from_le_bytes(self.array(structure))
    }

    pub(super) fn u32(self, structure: &[u8]) -> u32 {
        u32::from_le_bytes(self.array(structure))
    }

    pub(super) fn u64(self, structure: &[u8]) -> u64 {
        u64::from_le_bytes(self.array(structure))
    }
}
