//! Lists of extents: Strewn's own, and what the tools of several systems print.

use std::collections::VecDeque;
use std::io::BufRead;

use super::csv::CsvParser;
use super::filefrag::FilefragParser;
use super::other_lists;
use super::text::{Line, TextLines, shortened};
use super::xfs_bmap::XfsBmapParser;
use super::zdb::{ZdbParser, begins_objects};
use super::zdb_config::{PoolLayout, begins_configuration};
use crate::error::FileError;
use crate::extent::{Extent, Place};

/// The program whose output a list is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListDialect {
    /// Strewn's own, with a header that names its columns.
    Csv,
    /// `filefrag -v`, with or without `-e` and `-b`, of any version of e2fsprogs.
    Filefrag,
    /// `xfs_bmap`, or `fiemap` of `xfs_io`.
    XfsBmap,
    /// `zdb -ddddd DATASET [OBJECT]` or `zdb -ddddd -O DATASET PATH`, which `zdb -C POOL` may precede.
    Zdb,
}

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
enum ListEvent {
    File(ListedFile),
    Extent(Extent),
}

/// What a line yielded, and the checks that hold for every dialect.
#[derive(Debug, Default)]
pub(crate) struct Events {
    queue: VecDeque<ListEvent>,
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
    /// After the last line.
    fn end(&mut self, _events: &mut Events) {}
}

/// Reads a list of extents of any dialect, recognised by its first line. Its memory does not depend on the length of
/// the list. What other programs print is read as they print it.
///
/// Strewn's own format is CSV. A header names the columns, in any order:
///
/// | column | needed | meaning |
/// |---|---|---|
/// | `offset` | yes | first byte of the extent in the file |
/// | `bytes` | yes | its length, not 0 |
/// | `address` | yes | first byte in the file system's address space; empty for `inline` and `unknown` |
/// | `volume` | no | the volume of the address; 0 if absent |
/// | `kind` | no | `data` (the default), `block`, `unwritten`, `encoded`, `inline`, `unknown` |
/// | `stored_bytes` | no | bytes that are read of an encoded extent, empty if not known, or of a block |
/// | `allocated_bytes` | no | bytes of the address space that a block takes; `stored_bytes` if empty |
/// | `shared` | no | `0`, `1`, `true` or `false`; whether other files or snapshots have the bytes too |
/// | `path` | no | the file; another value begins another file |
///
/// Numbers are decimal. Lines of the form `# name = value` describe the file: `path`, `file_bytes`, `block_bytes`,
/// `device_bytes`. A line `# path = …` between rows begins the next file; `block_bytes` and `device_bytes` hold until
/// they are given again. Other comments are ignored. A path with control characters or outer spaces is a JSON string.
///
/// ```
/// use strewn_file::{Address, ExtentListReader, Place};
///
/// # fn main() -> Result<(), strewn_file::FileError> {
/// let text = "# file_bytes = 12288\noffset,bytes,address\n0,4096,81920\n4096,8192,4194304\n";
/// let mut list = ExtentListReader::new(text.as_bytes(), "web.csv");
/// let file = list.next_file()?.expect("there is one");
/// assert_eq!(file.file_bytes, Some(12288));
/// let extents = list.extents().collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(extents[1].place, Place::At(Address::new(4194304)));
/// assert_eq!(list.next_file()?, None);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ExtentListReader<R> {
    lines: TextLines<R>,
    parser: Option<(ListDialect, Box<dyn LineParser>)>,
    events: Events,
    ended: bool,
}

impl<R: BufRead> ExtentListReader<R> {
    /// Reads the list that errors call `name`.
    pub fn new(reader: R, name: &str) -> Self {
        let lines = TextLines::new(reader, name);
        Self { lines, parser: None, events: Events::default(), ended: false }
    }

    /// Reads the output of `zdb -ddddd DATASET OBJECT`. With the vdevs of `pool` gang blocks, which are not where zdb
    /// prints their address, are told from plain ones: their place is unknown.
    pub fn zdb(reader: R, name: &str, pool: Option<PoolLayout>) -> Self {
        let parser: Box<dyn LineParser> = Box::new(ZdbParser::new(pool));
        Self { parser: Some((ListDialect::Zdb, parser)), ..Self::new(reader, name) }
    }

    /// The dialect, after the first file.
    #[must_use]
    pub fn dialect(&self) -> Option<ListDialect> {
        self.parser.as_ref().map(|(dialect, _)| *dialect)
    }

    /// The vdevs of the pool, after the first file: those that were given, or those of `zdb -C POOL` before
    /// `zdb -ddddd` in the same text.
    #[must_use]
    pub fn pool(&self) -> Option<&PoolLayout> {
        self.parser.as_ref().and_then(|(_, parser)| parser.pool())
    }

    /// The next file, or `None` after the last. Passes over what extents are left of the file before.
    ///
    /// # Errors
    /// If the list cannot be read, is of no known dialect, or a line is not as it should be; after that there is no
    /// further file and no further extent.
    pub fn next_file(&mut self) -> Result<Option<ListedFile>, FileError> {
        while self.fill()? {
            if let Some(ListEvent::File(file)) = self.events.queue.pop_front() {
                return Ok(Some(file));
            }
        }
        Ok(None)
    }

    /// The next extent of the file that [`next_file`](Self::next_file) returned last, or `None` after its last.
    ///
    /// # Errors
    /// As of [`next_file`](Self::next_file).
    pub fn next_extent(&mut self) -> Result<Option<Extent>, FileError> {
        if !self.fill()? {
            return Ok(None);
        }
        match self.events.queue.front() {
            Some(&ListEvent::Extent(extent)) => {
                self.events.queue.pop_front();
                Ok(Some(extent))
            }
            _ => Ok(None),
        }
    }

    /// The further extents of the file that [`next_file`](Self::next_file) returned last.
    pub fn extents(&mut self) -> impl Iterator<Item = Result<Extent, FileError>> {
        std::iter::from_fn(|| self.next_extent().transpose())
    }

    /// Reads on until there is an event; false at the end.
    fn fill(&mut self) -> Result<bool, FileError> {
        while self.events.queue.is_empty() && !self.ended {
            if let Err(error) = self.read_line() {
                self.ended = true;
                return Err(error);
            }
        }
        Ok(!self.events.queue.is_empty())
    }

    fn read_line(&mut self) -> Result<(), FileError> {
        let Some(line) = self.lines.next_line()? else {
            self.ended = true;
            let Some((_, parser)) = &mut self.parser else {
                return Err(self.lines.error("there is nothing in it", DIALECTS));
            };
            parser.end(&mut self.events);
            return Ok(());
        };
        if line.text.trim().is_empty() {
            return Ok(());
        }
        let parser = match &mut self.parser {
            Some((_, parser)) => parser,
            unknown => &mut unknown.insert(recognise(&line)?).1,
        };
        parser.line(&line, &mut self.events)
    }
}

const DIALECTS: &str = "give a CSV file with the columns offset, bytes and address, or the output of `filefrag -v`, \
                        `xfs_bmap -vp` or `zdb -ddddd`";

/// The dialect of a list, from its first line that is not blank.
fn recognise(line: &Line<'_>) -> Result<(ListDialect, Box<dyn LineParser>), FileError> {
    let text = line.text.trim_end();
    let is_column = |name: &str| name.trim().trim_matches('"') == "offset";
    if text.starts_with('#') || text.split(',').any(is_column) {
        Ok((ListDialect::Csv, Box::new(CsvParser::default())))
    } else if text.starts_with("Filesystem type is:") || text.starts_with("File size of ") {
        Ok((ListDialect::Filefrag, Box::new(FilefragParser::default())))
    } else if text.starts_with("Dataset ") || begins_objects(text) || begins_configuration(text) {
        Ok((ListDialect::Zdb, Box::new(ZdbParser::default())))
    } else if let Some(refusal) = other_lists::refusal(line) {
        Err(refusal)
    } else if text.ends_with(':') || text.ends_with(": no extents") {
        Ok((ListDialect::XfsBmap, Box::new(XfsBmapParser::default())))
    } else {
        let message = format!("`{}` does not begin a list of extents", shortened(text));
        Err(line.error_at(text, message, DIALECTS))
    }
}
