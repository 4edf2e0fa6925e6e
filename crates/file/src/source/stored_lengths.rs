//! How long compressed extents are on disk, which FIEMAP does not say.

use crate::error::FileError;
use crate::extent::{Extent, Place};

/// Extents whose encoded ones of unknown length get one: up to where the next extent begins, if that is within as many
/// bytes as were encoded; else in the proportion that those before had. A compressed file that was written in order is
/// contiguous on disk, so nearly every length is found.
///
/// ```
/// use strewn_file::{Address, Extent, Place, StoredLengths};
///
/// let encoded = |offset: u64, at: u64| Extent {
///     offset,
///     bytes: 131_072,
///     place: Place::Encoded { at: Address::new(at), stored_bytes: None },
///     shared: false,
/// };
/// let found = [encoded(0, 1 << 20), encoded(131_072, (1 << 20) + 32_768)].map(Ok);
/// for extent in StoredLengths::new(found) {
///     assert!(matches!(extent?.place, Place::Encoded { stored_bytes: Some(32_768), .. }));
/// }
/// # Ok::<(), strewn_file::FileError>(())
/// ```
#[derive(Debug)]
pub struct StoredLengths<I> {
    extents: I,
    waiting: Option<Extent>,
    /// Bytes on disk, and bytes that are encoded in them, of those whose length was found.
    stored: u64,
    encoded: u64,
}

impl<I: Iterator<Item = Result<Extent, FileError>>> StoredLengths<I> {
    /// Completes `extents`, which come in the order of the file.
    pub fn new(extents: impl IntoIterator<IntoIter = I>) -> Self {
        Self { extents: extents.into_iter(), waiting: None, stored: 0, encoded: 0 }
    }

    fn complete(&mut self, mut extent: Extent, next: Option<&Extent>) -> Extent {
        let Place::Encoded { at, stored_bytes: None } = extent.place else { return extent };
        let next = next.and_then(|next| next.place.address());
        let distance = next
            .filter(|next| next.volume == at.volume && next.byte > at.byte)
            .map(|next| next.byte - at.byte)
            .filter(|distance| *distance <= extent.bytes);
        let stored = match distance {
            Some(distance) => {
                self.stored = self.stored.saturating_add(distance);
                self.encoded = self.encoded.saturating_add(extent.bytes);
                distance
            }
            None if self.encoded == 0 => return extent,
            None => {
                let share = self.stored as f64 / self.encoded as f64;
                // In blocks, at least one.
                let blocks = (extent.bytes as f64 * share / 4096.0).round().max(1.0);
                (blocks as u64 * 4096).min(extent.bytes)
            }
        };
        extent.place = Place::Encoded { at, stored_bytes: Some(stored) };
        extent
    }
}

impl<I: Iterator<Item = Result<Extent, FileError>>> Iterator for StoredLengths<I> {
    type Item = Result<Extent, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match (self.waiting.take(), self.extents.next()) {
                (None, None) => return None,
                (None, Some(Ok(first))) => self.waiting = Some(first),
                (Some(waiting), None) => return Some(Ok(self.complete(waiting, None))),
                (Some(waiting), Some(Ok(next))) => {
                    self.waiting = Some(next);
                    return Some(Ok(self.complete(waiting, Some(&next))));
                }
                (_, Some(Err(error))) => return Some(Err(error)),
            }
        }
    }
}
