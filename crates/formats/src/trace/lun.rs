//! Traces on a LUN of a different size from the disk they were recorded on.

use thiserror::Error;

use strewn_base::SECTOR_BYTES;

use super::record::TraceRecord;

/// The LUN on which a trace is replayed.
///
/// ```
/// use strewn_formats::trace::{Beyond, Lun, Direction, TraceRecord};
///
/// let record = TraceRecord {
///     arrival_ns: 0,
///     device: 0,
///     offset_bytes: 2_500_000,
///     length_bytes: 4096,
///     direction: Direction::Read,
/// };
/// let refusing = Lun { bytes: 1 << 20, beyond: Beyond::Refuse };
/// assert!(refusing.map(record).is_err());
/// let wrapping = Lun { bytes: 1 << 20, beyond: Beyond::Wrap };
/// assert_eq!(wrapping.map(record)?.offset_bytes, 402_848);
/// # Ok::<(), strewn_formats::trace::BeyondLun>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lun {
    /// Its size.
    pub bytes: u64,
    /// The treatment of a record beyond it.
    pub beyond: Beyond,
}

/// The treatment of a record beyond the LUN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Beyond {
    /// It is an error.
    #[default]
    Refuse,
    /// It begins at its offset modulo the LUN's size, in whole sectors, or at the beginning of the LUN if it would
    /// otherwise end past it. Adjacent records mostly stay adjacent, but distant ones may overlap. A record longer than
    /// the LUN is still an error.
    Wrap,
}

/// A record lies beyond the LUN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[error("{length_bytes} bytes from byte {offset_bytes} do not lie on a LUN of {lun_bytes} bytes")]
pub struct BeyondLun {
    /// Where the record begins.
    pub offset_bytes: u64,
    /// How long it is.
    pub length_bytes: u64,
    /// The size of the LUN.
    pub lun_bytes: u64,
}

impl Lun {
    /// Returns the record at its place on the LUN.
    ///
    /// # Errors
    ///
    /// [`BeyondLun`] if it does not fit and may not be wrapped, or is longer than the LUN.
    pub fn map(&self, record: TraceRecord) -> Result<TraceRecord, BeyondLun> {
        let TraceRecord { offset_bytes, length_bytes, .. } = record;
        let fits = |offset: u64| {
            offset.checked_add(length_bytes).is_some_and(|end_bytes| end_bytes <= self.bytes)
        };
        if fits(offset_bytes) {
            return Ok(record);
        }
        if self.beyond == Beyond::Refuse || !fits(0) {
            let lun_bytes = self.bytes;
            return Err(BeyondLun { offset_bytes, length_bytes, lun_bytes });
        }
        // Modulo a whole number of sectors, an aligned record stays aligned.
        let whole_sectors = self.bytes / SECTOR_BYTES * SECTOR_BYTES;
        let wrapped = offset_bytes.checked_rem(whole_sectors).unwrap_or(0);
        Ok(TraceRecord { offset_bytes: if fits(wrapped) { wrapped } else { 0 }, ..record })
    }
}
