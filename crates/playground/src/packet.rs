//! Questions and answers as bytes: a JSON text, and attachments that are not JSON.
//!
//! Each part is its length, as 32 bits with the least significant byte first, and that many bytes. The first part is
//! the JSON.

use serde::Serialize;

/// The parts of a packet: its JSON, and what is attached to it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The JSON.
    pub json: &'a [u8],
    /// The attachments.
    pub attachments: Vec<&'a [u8]>,
}

impl<'a> Packet<'a> {
    /// Takes a packet apart; none if it is cut short.
    #[must_use]
    pub fn read(mut bytes: &'a [u8]) -> Option<Self> {
        let mut parts = Vec::new();
        while !bytes.is_empty() {
            let (length, rest) = bytes.split_first_chunk::<4>()?;
            let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            parts.push(part);
            bytes = rest;
        }
        let (json, attachments) = parts.split_first()?;
        Some(Self { json, attachments: attachments.to_vec() })
    }
}

/// Puts a packet together.
#[must_use]
pub fn packet(json: &impl Serialize, attachments: &[&[u8]]) -> Vec<u8> {
    // What is put in is maps of names to texts and figures.
    let json = serde_json::to_vec(json).unwrap_or_default();
    let mut bytes = Vec::new();
    for part in std::iter::once(json.as_slice()).chain(attachments.iter().copied()) {
        // A module has less than 4 GiB of memory.
        bytes.extend_from_slice(&(part.len() as u32).to_le_bytes());
        bytes.extend_from_slice(part);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_together_is_taken_apart() {
        let bytes = packet(&serde_json::json!({ "call": "check" }), &[b"one", b""]);
        let read = Packet::read(&bytes).unwrap();
        assert_eq!(read.json, br#"{"call":"check"}"#);
        assert_eq!(read.attachments, [&b"one"[..], b""]);
        for cut in 1..bytes.len() {
            let read = Packet::read(&bytes[..cut]);
            assert!(read.is_none_or(|read| read.attachments.len() < 2), "{cut}");
        }
    }
}
