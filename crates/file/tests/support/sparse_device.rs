//! A device of which only some pages are stored.

use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};

const PAGE_BYTES: usize = 4096;

/// A device of zeros but for the pages of a record: for each its number in four bytes, little-endian, and its bytes.
pub struct SparseDevice<'a> {
    pages: HashMap<u64, &'a [u8]>,
    position: u64,
}

impl<'a> SparseDevice<'a> {
    pub fn new(record: &'a [u8]) -> Self {
        let pages = record
            .chunks_exact(4 + PAGE_BYTES)
            .map(|page| {
                let number = u32::from_le_bytes([page[0], page[1], page[2], page[3]]);
                (u64::from(number), &page[4..])
            })
            .collect();
        Self { pages, position: 0 }
    }
}

impl Read for SparseDevice<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let skipped = (self.position % PAGE_BYTES as u64) as usize;
        let left = usize::try_from(u64::MAX - self.position).unwrap_or(usize::MAX);
        let read = bytes.len().min(PAGE_BYTES - skipped).min(left);
        match self.pages.get(&(self.position / PAGE_BYTES as u64)) {
            Some(page) => bytes[..read].copy_from_slice(&page[skipped..skipped + read]),
            None => bytes[..read].fill(0),
        }
        self.position += read as u64;
        Ok(read)
    }
}

impl Seek for SparseDevice<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let SeekFrom::Start(position) = to else { return Err(io::ErrorKind::Unsupported.into()) };
        self.position = position;
        Ok(position)
    }
}
