//! What parsers of lists produce, and what each is.

use std::collections::VecDeque;

use super::text::Line;
use crate::error::FileError;
use crate::extent::{Extent, Place};
use crate::space::PoolLayout;

/// What a list says of a file apart from its extents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListedFile {
    /// Its path, or another name. ZFS gives a path from the root of the dataset, and for a volume the dataset's name.
    pub path: Option<String>,
    /// Its length in bytes.
    pub file_bytes: Option<u64>,
    /// Bytes of a block: of the file system, or of the file where files differ, as in ZFS.
    pub block_bytes: Option<u64>,
    /// Bytes of the device that addresses refer to.
    pub device_bytes: Option<u64>,
}

/// What parsers produce.
#[derive(Debug)]
pub(super) enum ListEvent {
    File(ListedFile),
    Extent(Extent),
}

/// What a line yielded, and the checks that hold for every dialect.
#[derive(Debug, Default)]
pub(crate) struct Events {
    pub(super) queue: VecDeque<ListEvent>,
    /// Whether a file has begun.
    begun: bool,
    /// Where the last extent of the file ends, and its line.
    end: u64,
    line: u64,
}

impl Events {
    /// A file begins.
    pub(crate) fn file(&mut self, file: ListedFile) {
        self.queue.push_back(ListEvent::File(file));
        (self.begun, self.end, self.line) = (true, 0, 0);
    }

    /// An extent of the last file that began, from `part` of a line.
    pub(crate) fn extent(
        &mut self,
        line: &Line<'_>,
        part: &str,
        extent: Extent,
    ) -> Result<(), FileError> {
        const COMPLETE: &str = "check that the line is complete and unchanged";
        let Extent { offset, bytes, .. } = extent;
        if bytes == 0 {
            return Err(line.error_at(part, "the extent has no bytes", COMPLETE));
        }
        let Some(end) = offset.checked_add(bytes) else {
            return Err(line.error_at(part, "the extent ends beyond 2^64 bytes", COMPLETE));
        };
        let taken = match extent.place {
            // Encoded bytes of unknown number may be few.
            Place::Encoded { stored_bytes, .. } => stored_bytes.unwrap_or(0),
            Place::Block { stored_bytes, allocated_bytes, .. } => stored_bytes.max(allocated_bytes),
            _ => bytes,
        };
        if extent.place.address().is_some_and(|at| at.byte.checked_add(taken).is_none()) {
            return Err(line.error_at(part, "the address lies beyond 2^64 bytes", COMPLETE));
        }
        if offset < self.end {
            let message = format!(
                "the extent begins at byte {offset}, before the end of the extent in line {} at byte {}",
                self.line, self.end
            );
            return Err(line.error_at(part, message, "sort the extents of each file by offset"));
        }
        if !self.begun {
            self.file(ListedFile::default());
        }
        (self.end, self.line) = (end, line.number);
        self.queue.push_back(ListEvent::Extent(extent));
        Ok(())
    }
}

/// A dialect, given line by line.
pub(crate) trait LineParser: std::fmt::Debug + Send {
    /// Takes the next line.
    fn line(&mut self, line: &Line<'_>, events: &mut Events) -> Result<(), FileError>;
    /// The vdevs of the pool that the list has read.
    fn pool(&self) -> Option<&PoolLayout> {
        None
    }
    /// The number of the object that is the last file, of ZFS.
    fn object(&self) -> Option<u64> {
        None
    }
    /// After the last line.
    fn end(&mut self, _events: &mut Events) {}
}

/// What is read as a list: one of [`DIALECTS`](super::list).
pub(super) struct Dialect {
    /// Its name.
    pub(super) name: &'static str,
    /// Whether a line that is not blank, without its end, begins it.
    pub(super) begins: fn(&str) -> bool,
    pub(super) parser: fn() -> Box<dyn LineParser>,
    /// The file system whose files it lists; none if there are several.
    pub(super) file_system: Option<&'static str>,
    /// Whether what is overwritten moves.
    pub(super) is_copy_on_write: bool,
    /// Whether it is what Linux says of a file, so that what has no place is still to be written out.
    pub(super) is_of_kernel: bool,
    /// Whether the size of a block is the unit that its user chose to count in.
    pub(super) counts_in_units: bool,
}
