//! gzip of one member or several, decompressed as it is read.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

/// Decompresses gzip data of one member or several, and skips zeros after the last, as gzip does: tapes and block
/// devices pad files with them.
///
/// ```
/// use std::io::{Read, Write};
///
/// use flate2::{Compression, write::GzEncoder};
/// use strewn_formats::GzipReader;
///
/// let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
/// encoder.write_all(b"text")?;
/// let mut padded = encoder.finish()?;
/// padded.extend([0; 512]);
/// let mut text = String::new();
/// GzipReader::new(padded.as_slice()).read_to_string(&mut text)?;
/// assert_eq!(text, "text");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct GzipReader<R: BufRead> {
    /// `None` only while one member follows another.
    decoder: Option<GzDecoder<R>>,
}

impl<R: BufRead> GzipReader<R> {
    /// Decompresses what `inner` reads.
    pub fn new(inner: R) -> Self {
        Self { decoder: Some(GzDecoder::new(inner)) }
    }

    /// Returns the reader of the compressed data.
    pub(crate) fn get_ref(&self) -> Option<&R> {
        self.decoder.as_ref().map(GzDecoder::get_ref)
    }
}

impl<R: BufRead> Read for GzipReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some(decoder) = &mut self.decoder else { return Ok(0) };
            let read = decoder.read(buffer)?;
            if read > 0 || buffer.is_empty() || !skip_zeros(decoder.get_mut())? {
                return Ok(read);
            }
            self.decoder = self.decoder.take().map(|decoder| GzDecoder::new(decoder.into_inner()));
        }
    }
}

/// Skips zeros. Returns whether anything follows them.
fn skip_zeros(reader: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            return Ok(false);
        }
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        let all_are = zeros == bytes.len();
        reader.consume(zeros);
        if !all_are {
            return Ok(true);
        }
    }
}
