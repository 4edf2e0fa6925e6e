//! The encoding of replies on the wire.

use std::io::{self, Write};

use super::content::Content;
use super::protocol::{
    ALLOCATION_CONTEXT_ID, SIMPLE_REPLY_MAGIC, STRING_BYTES, STRUCTURED_REPLY_MAGIC, chunk,
};
use super::stream::Stream;

/// Small replies are collected up to this size; data of at least half of it is sent directly.
const BUFFER_BYTES: usize = 64 << 10;

/// Encodes and sends replies.
pub(super) struct Sender<'a> {
    stream: &'a Stream,
    structured: bool,
    buffer: Vec<u8>,
}

impl<'a> Sender<'a> {
    pub(super) fn new(stream: &'a Stream, structured: bool) -> Self {
        Self { stream, structured, buffer: Vec::with_capacity(BUFFER_BYTES) }
    }

    /// Sends a reply, or buffers it until the next [`flush`](Self::flush).
    pub(super) fn send(&mut self, cookie: u64, content: &Content) -> io::Result<()> {
        match (content, self.structured) {
            (Content::Done, false) => self.simple(cookie, 0),
            (Content::Error(errno, _), false) => self.simple(cookie, *errno as u32),
            (Content::Data { data, .. }, false) => {
                self.simple(cookie, 0);
                self.data(data)?;
            }
            (Content::Done, true) => self.chunk(cookie, chunk::NONE, 0),
            (Content::Error(errno, why), true) => {
                let end =
                    (0..=why.len().min(STRING_BYTES)).rev().find(|&end| why.is_char_boundary(end));
                let why = &why.as_bytes()[..end.unwrap_or_default()];
                self.chunk(cookie, chunk::ERROR, 6 + why.len());
                self.buffer.extend((*errno as u32).to_be_bytes());
                self.buffer.extend(u16::try_from(why.len()).unwrap_or_default().to_be_bytes());
                self.buffer.extend(why);
            }
            (Content::Data { offset, data }, true) => {
                self.chunk(cookie, chunk::OFFSET_DATA, 8 + data.len());
                self.buffer.extend(offset.to_be_bytes());
                self.data(data)?;
            }
            // Only clients with structured replies can select the context.
            (Content::Allocation(descriptors), _) => {
                self.chunk(cookie, chunk::BLOCK_STATUS, 4 + 8 * descriptors.len());
                self.buffer.extend(ALLOCATION_CONTEXT_ID.to_be_bytes());
                for (length, flags) in descriptors {
                    self.buffer.extend(length.to_be_bytes());
                    self.buffer.extend(flags.to_be_bytes());
                }
            }
        }
        if self.buffer.len() >= BUFFER_BYTES / 2 { self.flush() } else { Ok(()) }
    }

    fn simple(&mut self, cookie: u64, error: u32) {
        self.buffer.extend(SIMPLE_REPLY_MAGIC.to_be_bytes());
        self.buffer.extend(error.to_be_bytes());
        self.buffer.extend(cookie.to_be_bytes());
    }

    /// Appends the header of a reply's only chunk.
    fn chunk(&mut self, cookie: u64, kind: u16, bytes: usize) {
        self.buffer.extend(STRUCTURED_REPLY_MAGIC.to_be_bytes());
        self.buffer.extend(chunk::FLAG_DONE.to_be_bytes());
        self.buffer.extend(kind.to_be_bytes());
        self.buffer.extend(cookie.to_be_bytes());
        self.buffer.extend(u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes());
    }

    fn data(&mut self, data: &[u8]) -> io::Result<()> {
        if data.len() < BUFFER_BYTES / 2 {
            self.buffer.extend(data);
            return Ok(());
        }
        self.flush()?;
        self.stream.write_all(data)
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.stream.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}
