//! zstd of one frame or several, decompressed as it is read.

use std::error::Error;
use std::fmt;
use std::io::{self, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Decompresses frame after frame, and skips those that are marked so.
pub(crate) struct ZstdReader<R> {
    inner: R,
    decoder: FrameDecoder,
    /// Whether a frame was begun and its end was not read.
    is_within_frame: bool,
    has_ended: bool,
}

impl<R> fmt::Debug for ZstdReader<R> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ZstdReader").finish_non_exhaustive()
    }
}

impl<R: Read> ZstdReader<R> {
    pub(crate) fn new(inner: R) -> Self {
        let decoder = FrameDecoder::new();
        Self { inner, decoder, is_within_frame: false, has_ended: false }
    }

    pub(crate) fn get_ref(&self) -> &R {
        &self.inner
    }

    /// Begins the next frame. Returns whether there is one.
    fn begin_frame(&mut self) -> io::Result<bool> {
        loop {
            let mut first = [0; 1];
            if self.inner.read(&mut first)? == 0 {
                return Ok(false);
            }
            let begun = self.decoder.reset((&first[..]).chain(&mut self.inner));
            match begun {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let skipped =
                        io::copy(&mut (&mut self.inner).take(length.into()), &mut io::sink())?;
                    if skipped < length.into() {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(of_decoder(error)),
            }
        }
    }
}

impl<R: Read> Read for ZstdReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.has_ended {
                return Ok(0);
            }
            if !self.is_within_frame {
                self.is_within_frame = self.begin_frame()?;
                self.has_ended = !self.is_within_frame;
                continue;
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let decoded = self
                    .decoder
                    .decode_blocks(&mut self.inner, BlockDecodingStrategy::UptoBlocks(1));
                decoded.map_err(of_decoder)?;
            }
            let read = self.decoder.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            let decoder = &self.decoder;
            if let (Some(stored), Some(computed)) =
                (decoder.get_checksum_from_data(), decoder.get_calculated_checksum())
                && stored != computed
            {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "the checksum of a frame does not match",
                ));
            }
            self.is_within_frame = false;
        }
    }
}

/// Returns the error of reading behind one of decoding, so that data that end too early are known as such.
fn of_decoder(error: FrameDecoderError) -> io::Error {
    let mut cause: Option<&(dyn Error + 'static)> = Some(&error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>()
            && error.kind() == io::ErrorKind::UnexpectedEof
        {
            return io::ErrorKind::UnexpectedEof.into();
        }
        cause = error.source();
    }
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}
