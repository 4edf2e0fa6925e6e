//! Lists of extents: Strewn's own, and what the tools of several systems print.

use std::fmt;
use std::io::BufRead;

use super::parser::{Dialect, Events, LineParser, ListEvent, ListedFile};
use super::text::{Line, TextLines, shortened};
use super::zdb::ZdbParser;
use super::{csv, filefrag, fsutil, other_lists, xfs_bmap, zdb};
use crate::error::FileError;
use crate::extent::Extent;
use crate::space::PoolLayout;

/// The dialects, in the order in which a first line is tried.
static DIALECTS: [&Dialect; 5] =
    [&csv::DIALECT, &filefrag::DIALECT, &zdb::DIALECT, &fsutil::DIALECT, &xfs_bmap::DIALECT];

/// What a list is: the output of one of several programs, or Strewn's own.
#[derive(Clone, Copy)]
pub struct ListDialect(&'static Dialect);

impl ListDialect {
    /// Returns the program: `csv` is Strewn's own, with a header that names its columns.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0.name
    }

    /// Returns the file system whose files it lists; none if there are several.
    #[must_use]
    pub const fn file_system(self) -> Option<&'static str> {
        self.0.file_system
    }

    /// Returns whether what is overwritten moves, in that file system.
    #[must_use]
    pub const fn is_copy_on_write(self) -> bool {
        self.0.is_copy_on_write
    }

    /// Returns whether it is what Linux says of a file, so that what has no place is still to be written out.
    #[must_use]
    pub const fn is_of_kernel(self) -> bool {
        self.0.is_of_kernel
    }

    /// Returns whether the size of a block is the unit that its user chose to count in.
    #[must_use]
    pub const fn counts_in_units(self) -> bool {
        self.0.counts_in_units
    }
}

impl fmt::Debug for ListDialect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
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
/// Semicolons, tabs or spaces may stand between columns instead of commas, `length` for `bytes` and `physical` for
/// `address`, as in lists of one's own making. Numbers are decimal. Lines of the form `# name = value` describe the
/// file: `path`, `file_bytes`, `block_bytes`, `device_bytes`. A line `# path = …` between rows begins the next file;
/// `block_bytes` and `device_bytes` hold until they are given again. Other comments are ignored. A path with control
/// characters or outer spaces is a JSON string.
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
        Self { parser: Some((ListDialect(&zdb::DIALECT), parser)), ..Self::new(reader, name) }
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

    /// The number of the object of ZFS that [`next_file`](Self::next_file) returned last.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "zdb is asked on Linux only"))]
    pub(crate) fn object(&self) -> Option<u64> {
        self.parser.as_ref().and_then(|(_, parser)| parser.object())
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
                return Err(self.lines.error("there is nothing in it", REMEDY));
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

const REMEDY: &str = "give a CSV file with the columns offset, bytes and address, or the output of `filefrag -v`, \
                      `xfs_bmap -vp`, `zdb -ddddd` or `fsutil file queryExtents`";

/// The dialect of a list, from its first line that is not blank.
fn recognise(line: &Line<'_>) -> Result<(ListDialect, Box<dyn LineParser>), FileError> {
    let text = line.text.trim_end();
    if let Some(dialect) = DIALECTS.into_iter().find(|dialect| (dialect.begins)(text)) {
        return Ok((ListDialect(dialect), (dialect.parser)()));
    }
    let message = || format!("`{}` does not begin a list of extents", shortened(text));
    Err(other_lists::refusal(line).unwrap_or_else(|| line.error_at(text, message(), REMEDY)))
}
