//! Writes lists of extents.

use std::io::{self, Write};

use super::csv::COLUMNS;
use super::parser::ListedFile;
use crate::extent::{Extent, Place};

/// Writes extents as CSV, one file after another, as [`ExtentListReader`](crate::ExtentListReader) reads them.
#[derive(Debug)]
pub struct ExtentListWriter<W> {
    writer: W,
    has_header: bool,
}

impl<W: Write> ExtentListWriter<W> {
    /// Writes to `writer`, which had better be buffered.
    pub fn new(writer: W) -> Self {
        Self { writer, has_header: false }
    }

    /// Begins a file. If there are several, each must have a path: it is what separates them.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn file(&mut self, file: &ListedFile) -> io::Result<()> {
        if let Some(path) = &file.path {
            let is_plain = path.trim() == path && !path.is_empty() && !path.starts_with('"');
            if is_plain && !path.contains(char::is_control) {
                writeln!(self.writer, "# path = {path}")?;
            } else {
                writeln!(self.writer, "# path = {}", serde_json::to_string(path)?)?;
            }
        }
        let sizes = [
            ("file_bytes", file.file_bytes),
            ("block_bytes", file.block_bytes),
            ("device_bytes", file.device_bytes),
        ];
        for (name, bytes) in sizes {
            if let Some(bytes) = bytes {
                writeln!(self.writer, "# {name} = {bytes}")?;
            }
        }
        self.header()
    }

    /// Writes an extent of the file that began last.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn extent(&mut self, extent: &Extent) -> io::Result<()> {
        self.header()?;
        let (kind, stored_bytes, allocated_bytes) = match extent.place {
            Place::At(_) => ("data", None, None),
            Place::Block { stored_bytes, allocated_bytes, .. } => {
                ("block", Some(stored_bytes), Some(allocated_bytes))
            }
            Place::Unwritten(_) => ("unwritten", None, None),
            Place::Encoded { stored_bytes, .. } => ("encoded", stored_bytes, None),
            Place::Inline => ("inline", None, None),
            Place::Unknown => ("unknown", None, None),
        };
        write!(self.writer, "{},{},", extent.offset, extent.bytes)?;
        match extent.place.address() {
            Some(at) => write!(self.writer, "{},{},", at.byte, at.volume)?,
            None => write!(self.writer, ",,")?,
        }
        write!(self.writer, "{kind},")?;
        for bytes in [stored_bytes, allocated_bytes] {
            if let Some(bytes) = bytes {
                write!(self.writer, "{bytes}")?;
            }
            write!(self.writer, ",")?;
        }
        writeln!(self.writer, "{}", u8::from(extent.shared))
    }

    fn header(&mut self) -> io::Result<()> {
        if !self.has_header {
            self.has_header = true;
            // All but the path.
            writeln!(self.writer, "{}", COLUMNS[..COLUMNS.len() - 1].join(","))?;
        }
        Ok(())
    }

    /// Flushes what was written, and returns the writer.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.header()?;
        self.writer.flush()?;
        Ok(self.writer)
    }
}
