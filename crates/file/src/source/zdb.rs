//! ZFS: what `zdb -ddddd DATASET [OBJECT]` and `zdb -ddddd -O DATASET PATH` print of files and volumes.
//!
//! ```text
//! Dataset tank/vol [ZVOL], ID 80, cr_txg 5, 5.45M, 2 objects, rootbp …
//!
//!     Object  lvl   iblk   dblk  dsize  dnsize  lsize   %full  type
//!          1    2   128K     8K  5.38M     512     4M  100.00  zvol object
//!         dnode maxblkid: 511
//! Indirect blocks:
//!                0 L1  0:603c000:a000 20000L/6000P F=512 B=36/36 cksum=…
//!                0  L0 0:946000:4000 2000L/2000P F=1 B=27/27 cksum=…
//! ```
//!
//! A block is at VDEV:OFFSET:ALLOCATED, has LOGICAL bytes L and STORED bytes P, all hexadecimal. With six d's all its
//! copies are printed; the first is taken. Blocks that deduplication, clones or snapshots share are not marked as such.
//!
//! Gang blocks, whose parts lie at several places, are not marked either (OpenZFS 2.3.2). Their allocation is larger
//! than that of a plain block, so that the vdevs of the pool tell them apart: at their address are the addresses of the
//! parts.

use super::parser::{Dialect, Events, LineParser, ListedFile};
use super::text::{Line, shortened};
use super::zdb_config::{self, Tree, begins_configuration};
use crate::error::FileError;
use crate::extent::{Address, Extent, Place};
use crate::space::PoolLayout;

/// The list.
pub(super) static DIALECT: Dialect = Dialect {
    name: "zdb",
    begins: |text| {
        text.starts_with("Dataset ") || begins_objects(text) || begins_configuration(text)
    },
    parser: || Box::new(ZdbParser::default()),
    file_system: Some("zfs"),
    is_copy_on_write: true,
    is_of_kernel: false,
    counts_in_units: false,
};

#[derive(Debug, Default)]
pub(crate) struct ZdbParser {
    dataset: String,
    object: Option<Object>,
    /// The number of the last object that was passed on.
    passed_on: Option<u64>,
    /// The row below the titles of an object comes next.
    expects_row: bool,
    in_blocks: bool,
    /// Tells plain blocks from gang blocks.
    pool: Option<PoolLayout>,
    /// The configuration of the pool while it is read.
    configuration: Option<Tree>,
}

impl ZdbParser {
    pub(crate) fn new(pool: Option<PoolLayout>) -> Self {
        Self { pool, ..Self::default() }
    }

    /// Takes what comes before the first dataset. Returns whether the line belongs to the configuration of the pool.
    fn configuration(&mut self, line: &Line<'_>) -> Result<bool, FileError> {
        if let Some(tree) = &mut self.configuration {
            if !line.text.starts_with("Dataset ") {
                tree.line(line)?;
                return Ok(true);
            }
            let tree = std::mem::take(tree);
            self.configuration = None;
            let pool = tree.pool().map_err(|message| {
                line.error(format!("before this line, {message}"), zdb_config::UNCHANGED)
            })?;
            self.pool = Some(pool);
        } else if self.object.is_none() && !self.in_blocks && begins_configuration(line.text) {
            self.configuration = Some(Tree::default());
            return Ok(true);
        }
        Ok(false)
    }
}

/// What comes before the blocks of an object.
#[derive(Debug, Default)]
struct Object {
    number: Option<u64>,
    path: Option<String>,
    size: Option<u64>,
    data_block_bytes: Option<u64>,
    last_block: Option<u64>,
    is_volume: bool,
    /// It is a file, a directory or a volume, and not one of the dataset's own objects.
    is_file: bool,
    /// What follows are the entries of a directory, or extended attributes.
    in_entries: bool,
}

/// Whether a line has the titles above an object.
fn is_title(text: &str) -> bool {
    let titles = ["Object", "lvl", "iblk", "dblk"];
    text.split_whitespace().take(titles.len()).eq(titles) && !text.contains('=')
}

/// Returns the dataset of a line `obj=NUMBER dataset=NAME path=PATH …`, as `zdb -O` begins with.
fn dataset_of_path(text: &str) -> Option<&str> {
    let (_, rest) = text.strip_prefix("obj=")?.split_once(" dataset=")?;
    Some(rest.split_once(" path=")?.0)
}

/// Whether a list begins with an object, without the line of its dataset, as that of `zdb -O` does.
pub(super) fn begins_objects(text: &str) -> bool {
    is_title(text) || dataset_of_path(text).is_some()
}

impl LineParser for ZdbParser {
    fn line(&mut self, line: &Line<'_>, events: &mut Events) -> Result<(), FileError> {
        if self.configuration(line)? {
            return Ok(());
        }
        let text = line.text.trim();
        if let Some(rest) = line.text.strip_prefix("Dataset ") {
            self.end(events);
            rest.split(" [").next().unwrap_or_default().clone_into(&mut self.dataset);
        } else if let Some(dataset) = dataset_of_path(text) {
            self.end(events);
            dataset.clone_into(&mut self.dataset);
        } else if is_title(text) {
            self.end(events);
            self.expects_row = true;
        } else if self.expects_row {
            self.expects_row = false;
            self.object = Some(object(text));
        } else if text == "Indirect blocks:" {
            // What is no file has blocks too, and no name.
            let is_file = self.object.as_ref().is_none_or(|object| object.is_file);
            self.end(events);
            self.in_blocks = is_file;
        } else if self.in_blocks {
            let mut words = text.split_whitespace();
            if let (Some(offset), Some("L0")) = (words.next(), words.next())
                && let Some(extent) = block(line, offset, words, self.pool.as_ref())?
            {
                events.extent(line, offset, extent)?;
            }
        } else if let Some(object) = &mut self.object {
            object.attribute(line, text)?;
        }
        Ok(())
    }

    fn pool(&self) -> Option<&PoolLayout> {
        self.pool.as_ref()
    }

    fn object(&self) -> Option<u64> {
        self.passed_on
    }

    /// Passes on an object whose blocks begin, or that has none.
    fn end(&mut self, events: &mut Events) {
        self.in_blocks = false;
        if let Some(object) = self.object.take().filter(|object| object.is_file) {
            self.passed_on = object.number;
            events.file(object.file(&self.dataset));
        }
    }
}

/// Reads the row below the titles: `Object lvl iblk dblk dsize …`. Its columns before `type` have no spaces.
fn object(row: &str) -> Object {
    Object {
        number: row.split_whitespace().next().and_then(|word| word.parse().ok()),
        data_block_bytes: row.split_whitespace().nth(3).and_then(exact_bytes),
        // With six d's its checksum and compression follow.
        is_volume: row.contains(" zvol object"),
        is_file: [" zvol object", " ZFS plain file", " ZFS directory"]
            .iter()
            .any(|kind| row.contains(kind)),
        ..Object::default()
    }
}

/// Reads a size such as `8K`, or 8192 with -P. zdb rounds those with other digits, and rounds to integers from 100 on:
/// of these only powers of two are certain, which sizes of several blocks are.
fn exact_bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|unit: char| unit.is_ascii_alphabetic());
    let number: u64 = digits.parse().ok()?;
    match &text[digits.len()..] {
        "" | "B" => Some(number).filter(|bytes| *bytes > 0),
        unit => {
            let shift = match unit {
                "K" => 10,
                "M" => 20,
                "G" => 30,
                _ => return None,
            };
            Some(number).filter(|number| number.is_power_of_two())?.checked_mul(1 << shift)
        }
    }
}

impl Object {
    fn attribute(&mut self, line: &Line<'_>, text: &str) -> Result<(), FileError> {
        if ["microzap:", "Fat ZAP stats:", "SA xattrs:"].iter().any(|title| text.starts_with(title))
        {
            self.in_entries = true;
        }
        let Some((name, value)) = text.split_once(['\t', ' ']) else { return Ok(()) };
        let value = value.trim_start();
        // An entry is `NAME = NUMBER (type: KIND)`, and an extended attribute `NAME = VALUE`.
        if self.in_entries || value.starts_with('=') {
            return Ok(());
        }
        match name {
            "path" => self.path = Some(value.to_owned()),
            "size" => self.size = Some(line.decimal(value, "the size of the file")?),
            "dnode" => {
                if let Some(number) = value.strip_prefix("maxblkid:") {
                    self.last_block = Some(line.decimal(number.trim(), "maxblkid")?);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn file(self, dataset: &str) -> ListedFile {
        let blocks = self.last_block.and_then(|last| last.checked_add(1));
        let up_to_last_block = blocks.zip(self.data_block_bytes);
        // The size of a volume is in another object; what was written to it ends with the last block.
        let volume_bytes = up_to_last_block
            .filter(|_| self.is_volume)
            .and_then(|(blocks, bytes)| blocks.checked_mul(bytes));
        ListedFile {
            path: self.path.or_else(|| Some(dataset.to_owned())),
            file_bytes: self.size.or(volume_bytes),
            block_bytes: self.data_block_bytes,
            device_bytes: None,
        }
    }
}

/// Reads what follows `OFFSET L0`; `None` is a hole.
fn block<'a>(
    line: &Line<'_>,
    offset: &str,
    words: impl Iterator<Item = &'a str>,
    pool: Option<&PoolLayout>,
) -> Result<Option<Extent>, FileError> {
    let offset_bytes = line.hexadecimal(offset, "the offset of a block")?;
    let (mut allocation, mut is_embedded, mut is_gang) = (None, false, false);
    for word in words {
        let word = word.strip_prefix("size=").unwrap_or(word);
        if word == "EMBEDDED" {
            is_embedded = true;
        } else if let Some((logical, stored)) = sizes(word) {
            let bytes = line.hexadecimal(logical, "the logical size of a block")?;
            let Some(stored) = stored else { return Ok(None) };
            let stored_bytes = line.hexadecimal(stored, "the stored size of a block")?;
            let place = match allocation {
                _ if is_embedded => Place::Inline,
                None => {
                    let message = "the block has a size, and no place before it";
                    return Err(line.error_at(word, message, UNCHANGED));
                }
                Some(_) if is_gang => Place::Unknown,
                Some((at, allocated)) if is_larger(pool, at, allocated, stored_bytes) => {
                    Place::Unknown
                }
                Some((at, allocated_bytes)) => Place::Block { at, stored_bytes, allocated_bytes },
            };
            return Ok(Some(Extent { offset: offset_bytes, bytes, place, shared: false }));
        } else if word == "gang" {
            is_gang = true;
        } else if allocation.is_none() && word.contains(':') {
            allocation = Some(virtual_address(line, word)?);
        }
    }
    Err(line.error("the block has no size", UNCHANGED))
}

const UNCHANGED: &str = "give the output of `zdb -ddddd` unchanged";

/// Divides `2000L/1000P`, or `2000L` of a hole.
fn sizes(word: &str) -> Option<(&str, Option<&str>)> {
    let is_hexadecimal =
        |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    match word.split_once('/') {
        None => Some((word.strip_suffix('L').filter(is_hexadecimal)?, None)),
        Some((logical, stored)) => Some((
            logical.strip_suffix('L').filter(is_hexadecimal)?,
            Some(stored.strip_suffix('P').filter(is_hexadecimal)?),
        )),
    }
}

/// Whether more was allocated than a plain block of `stored_bytes` takes.
fn is_larger(pool: Option<&PoolLayout>, at: Address, allocated: u64, stored_bytes: u64) -> bool {
    let vdev = pool.and_then(|pool| pool.vdevs.iter().find(|vdev| vdev.id == at.volume));
    let plain = vdev.and_then(|vdev| vdev.shape.allocated_bytes(stored_bytes));
    plain.is_some_and(|plain| allocated > plain)
}

/// Reads `VDEV:OFFSET:ALLOCATED`, or the same within `DVA[0]=<…>`, as older versions have it.
fn virtual_address(line: &Line<'_>, word: &str) -> Result<(Address, u64), FileError> {
    let bare = word.split_once("=<").map_or(word, |(_, inner)| inner.trim_end_matches('>'));
    let parts: Vec<&str> = bare.splitn(4, ':').collect();
    let &[vdev, offset, allocated] = parts.as_slice() else {
        let message = format!("`{}` is not VDEV:OFFSET:ALLOCATED", shortened(word));
        return Err(line.error_at(word, message, UNCHANGED));
    };
    let volume = u16::try_from(line.decimal(vdev, "the vdev of a block")?)
        .map_err(|_| line.error_at(vdev, "the vdev is above 65535", UNCHANGED))?;
    let byte = line.hexadecimal(offset, "the address of a block")?;
    Ok((Address { volume, byte }, line.hexadecimal(allocated, "the allocated size of a block")?))
}
