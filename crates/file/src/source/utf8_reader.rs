//! A text as UTF-8, whatever it was saved as: redirections of Windows PowerShell write UTF-16.

use std::io::{self, BufRead, Read};

/// Bytes that are decoded at once.
const CHUNK_BYTES: usize = 1 << 13;

/// Reads UTF-16 of either byte order as UTF-8, and passes on anything else as it is.
#[derive(Debug)]
pub(crate) struct Utf8Reader<R> {
    reader: R,
    encoding: Option<Encoding>,
    /// Bytes to be read, from `at` on.
    ready: Vec<u8>,
    at: usize,
    /// Bytes that were read and are no whole character yet.
    pending: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Encoding {
    /// Bytes are passed on.
    Plain,
    LittleEndian,
    BigEndian,
}

impl Encoding {
    /// Tells UTF-16 by its mark, or by a first character that is ASCII and has a zero beside it.
    fn of(first: &[u8]) -> Self {
        match first {
            [0xff, 0xfe] => Self::LittleEndian,
            [0xfe, 0xff] => Self::BigEndian,
            [ascii, 0] if *ascii > 0 && ascii.is_ascii() => Self::LittleEndian,
            [0, ascii] if *ascii > 0 && ascii.is_ascii() => Self::BigEndian,
            _ => Self::Plain,
        }
    }

    fn unit(self, bytes: &[u8]) -> u16 {
        let bytes = [bytes[0], bytes[1]];
        if self == Self::BigEndian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }
}

impl<R: BufRead> Utf8Reader<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, encoding: None, ready: Vec::new(), at: 0, pending: Vec::new() }
    }

    /// Makes bytes ready, unless there are some or bytes are passed on.
    fn prepare(&mut self) -> io::Result<()> {
        let encoding = match self.encoding {
            Some(encoding) => encoding,
            None => {
                let mut first = Vec::new();
                self.reader.by_ref().take(2).read_to_end(&mut first)?;
                let encoding = Encoding::of(&first);
                let is_mark = matches!(first.as_slice(), [0xff, 0xfe] | [0xfe, 0xff]);
                match encoding {
                    Encoding::Plain => self.ready = first,
                    _ if is_mark => {}
                    _ => self.pending = first,
                }
                *self.encoding.insert(encoding)
            }
        };
        while encoding != Encoding::Plain && self.at == self.ready.len() {
            let read =
                self.reader.by_ref().take(CHUNK_BYTES as u64).read_to_end(&mut self.pending)?;
            let is_end = read == 0;
            if is_end && self.pending.is_empty() {
                return Ok(());
            }
            self.decode(encoding, is_end);
        }
        Ok(())
    }

    fn decode(&mut self, encoding: Encoding, is_end: bool) {
        let units: Vec<u16> =
            self.pending.chunks_exact(2).map(|bytes| encoding.unit(bytes)).collect();
        // The second half of a character may come with the next bytes.
        let is_first_half = units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit));
        let taken = units.len() - usize::from(is_first_half && !is_end);
        let text: String = char::decode_utf16(units[..taken].iter().copied())
            .map(|found| found.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect();
        self.pending.drain(..2 * taken);
        if is_end {
            self.pending.clear();
        }
        (self.ready, self.at) = (text.into_bytes(), 0);
    }
}

impl<R: BufRead> Read for Utf8Reader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let ready = self.fill_buf()?;
        let bytes = ready.len().min(buffer.len());
        buffer[..bytes].copy_from_slice(&ready[..bytes]);
        self.consume(bytes);
        Ok(bytes)
    }
}

impl<R: BufRead> BufRead for Utf8Reader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.prepare()?;
        if self.at < self.ready.len() || self.encoding != Some(Encoding::Plain) {
            return Ok(&self.ready[self.at..]);
        }
        self.reader.fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        if self.at < self.ready.len() || self.encoding != Some(Encoding::Plain) {
            self.at = (self.at + bytes).min(self.ready.len());
        } else {
            self.reader.consume(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::saved_text;

    fn utf16(text: &str, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(to_bytes).collect()
    }

    #[test]
    fn utf_16_of_either_order_is_read_as_utf_8() {
        // Bytes of 0x0a that are no line ends, and characters of two units.
        let text = "a\u{10a}\u{a0a}ü\u{1f4be}\r\n\u{1f4be}b".repeat(3000);
        for to_bytes in [u16::to_le_bytes as fn(u16) -> [u8; 2], u16::to_be_bytes] {
            for mark in ["\u{feff}", ""] {
                let bytes = utf16(&format!("{mark}{text}"), to_bytes);
                assert_eq!(saved_text(&bytes).unwrap(), text);
                // However few bytes come at once.
                let mut slow = Utf8Reader::new(io::BufReader::with_capacity(1, bytes.as_slice()));
                let mut read = String::new();
                slow.read_to_string(&mut read).unwrap();
                assert_eq!(read, text);
            }
        }
        for plain in ["", "a", "ab", "\u{feff}abc\n", "ü"] {
            assert_eq!(saved_text(plain.as_bytes()).unwrap(), plain);
        }
        // A half of a character, and a half of a unit.
        assert_eq!(saved_text(&[0xff, 0xfe, b'a', 0, 0x3d, 0xd8, 7]).unwrap(), "a\u{fffd}");
        assert!(saved_text(b"\xc3\x28").is_err());
    }
}
