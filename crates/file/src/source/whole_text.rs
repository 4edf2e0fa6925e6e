//! Texts that are read as a whole.

use std::io::{self, Read};

use super::utf8_reader::Utf8Reader;

/// Bytes of the longest such text. Of a pool a metaslab takes a kilobyte, and a vdev has at most 131,072.
const LONGEST_BYTES: u64 = 1 << 30;

/// Reads to the end, so that nothing is left out.
///
/// # Errors
/// Those of the reader; if there is more than 1 GiB.
pub fn read_whole(reader: impl Read) -> io::Result<Vec<u8>> {
    at_most(LONGEST_BYTES, reader)
}

fn at_most(most_bytes: u64, reader: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    match reader.take(most_bytes + 1).read_to_end(&mut bytes)? as u64 > most_bytes {
        true => Err(io::Error::other(format!("it is longer than {} MiB", most_bytes >> 20))),
        false => Ok(bytes),
    }
}

/// Returns a saved text as UTF-8, which UTF-16 is converted to.
///
/// # Errors
/// If it is neither.
pub fn saved_text(bytes: &[u8]) -> io::Result<String> {
    let mut text = String::new();
    Utf8Reader::new(bytes).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_whole_or_not_at_all() {
        assert_eq!(at_most(1 << 20, vec![7; 1 << 20].as_slice()).unwrap().len(), 1 << 20);
        let error = at_most(1 << 20, io::repeat(7)).unwrap_err();
        assert_eq!(error.to_string(), "it is longer than 1 MiB");
    }
}
