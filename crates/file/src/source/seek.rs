//! Data and holes by `lseek`, for file systems without FIEMAP: tmpfs, network file systems, FUSE.

use std::fs::File;

use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;

use crate::error::FileError;
use crate::extent::{Extent, Place};

/// The ranges of data of a file, without their places.
///
/// The file may change meanwhile: the ranges are in order and do not overlap, and each was data when it was looked at.
/// Nothing behind the length that the file had at first is returned, so that a file that grows does not keep the
/// iterator going.
#[derive(Debug)]
pub struct SeekExtents<'a> {
    file: &'a File,
    name: String,
    offset: u64,
    file_bytes: u64,
    /// The file system does not tell data from holes.
    is_all_data: bool,
}

/// The ranges of data of `file`, which errors call `name`. Moves the position from which `file` is read next.
///
/// On file systems that do not know holes, all of the file is data.
///
/// # Errors
/// If the length of the file cannot be got.
pub fn seek_extents<'a>(file: &'a File, name: &str) -> Result<SeekExtents<'a>, FileError> {
    let metadata = file.metadata().map_err(|error| FileError::io(name, error))?;
    let (name, file_bytes) = (name.to_owned(), metadata.len());
    Ok(SeekExtents { file, name, offset: 0, file_bytes, is_all_data: false })
}

impl SeekExtents<'_> {
    /// Whether the file system does not tell data from holes, as far as is known up to now.
    #[must_use]
    pub fn is_all_data(&self) -> bool {
        self.is_all_data
    }

    /// The next range of data, or `None` if there is none.
    fn range(&mut self) -> Result<Option<(u64, u64)>, FileError> {
        let from = self.offset;
        let data = match seek(self.file, SeekFrom::Data(from)) {
            Ok(data) => data.max(from),
            // There is no data from there on, or the file has been cut short.
            Err(Errno::NXIO) => return Ok(None),
            Err(Errno::INVAL | Errno::OPNOTSUPP) => {
                self.is_all_data = true;
                return Ok(Some((from, self.file_bytes)));
            }
            Err(error) => return Err(self.error(error)),
        };
        match seek(self.file, SeekFrom::Hole(data)) {
            Ok(hole) => Ok(Some((data, hole))),
            Err(Errno::NXIO) => Ok(None),
            Err(error) => Err(self.error(error)),
        }
    }

    fn error(&self, error: Errno) -> FileError {
        FileError::io(format!("{}: cannot look for data and holes", self.name), error.into())
    }
}

impl Iterator for SeekExtents<'_> {
    type Item = Result<Extent, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.offset < self.file_bytes {
            let (data, end) = match self.range() {
                Ok(Some((data, end))) => (data, end.min(self.file_bytes)),
                Ok(None) => break,
                Err(error) => {
                    self.offset = self.file_bytes;
                    return Some(Err(error));
                }
            };
            if data >= self.file_bytes {
                break;
            }
            if data < end {
                self.offset = end;
                let (offset, bytes, shared) = (data, end - data, false);
                return Some(Ok(Extent { offset, bytes, place: Place::Unknown, shared }));
            }
            // The data became a hole meanwhile. A byte further on, so that this ends.
            self.offset = data + 1;
        }
        self.offset = self.file_bytes;
        None
    }
}
