//! The identities of arrays and their members.

use std::fmt;
use std::str::FromStr;

use super::DiskFormatError;

/// An array's or a member's identity: random bytes, shown as a UUID.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identity(pub [u8; 16]);

/// The first eight bytes of an array's identity: enough to tell its blocks and log records from another array's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ArrayTag(pub [u8; 8]);

impl Identity {
    /// Returns an identity of these random bytes, marked as a random UUID (version 4).
    #[must_use]
    pub fn from_random(mut bytes: [u8; 16]) -> Self {
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Self(bytes)
    }

    /// Returns the short form, for places where sixteen bytes are too many.
    #[must_use]
    pub fn tag(self) -> ArrayTag {
        let mut tag = [0; 8];
        tag.copy_from_slice(&self.0[..8]);
        ArrayTag(tag)
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                formatter.write_str("-")?;
            }
            write!(formatter, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl FromStr for Identity {
    type Err = DiskFormatError;

    fn from_str(text: &str) -> Result<Self, DiskFormatError> {
        let digits: String = text.chars().filter(|character| *character != '-').collect();
        let is_hexadecimal = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        match u128::from_str_radix(&digits, 16) {
            Ok(number) if is_hexadecimal && digits.len() == 32 => Ok(Self(number.to_be_bytes())),
            _ => Err(DiskFormatError::NotIdentity(text.to_owned())),
        }
    }
}
