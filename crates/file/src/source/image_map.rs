//! Where the bytes of a guest's disk lie in its image: the output of `qemu-img map --output=json`.
//!
//! ```text
//! [{ "start": 0, "length": 65536, "depth": 0, "present": true, "zero": false, "data": true, "compressed": false,
//!    "offset": 327680}, …]
//! ```

use std::ffi::OsStr;
use std::io::BufRead;
use std::path::Path;

use serde::Deserialize;

use crate::error::FileError;
use crate::tool::ToolOutput;

/// Bytes of the longest object that is read.
const MAX_OBJECT_BYTES: usize = 1 << 16;

/// Consecutive bytes of a guest's disk, as `qemu-img map` has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct MapRange {
    /// The first byte on the guest's disk.
    #[serde(rename = "start")]
    pub offset: u64,
    /// The number of bytes.
    #[serde(rename = "length")]
    pub bytes: u64,
    /// The image that has them: 0 is the image itself, 1 its backing file, and so on.
    pub depth: u32,
    /// The bytes read as zeros.
    pub zero: bool,
    /// The bytes are stored.
    pub data: bool,
    /// They are stored compressed. qemu-img before 8.1 does not say.
    #[serde(default)]
    pub compressed: bool,
    /// The byte of the image file where they begin; none if they are not stored, or compressed.
    #[serde(default, rename = "offset")]
    pub image_offset: Option<u64>,
}

/// Reads the ranges one at a time, in the order of the guest's disk.
#[derive(Debug)]
pub struct MapReader<R> {
    reader: R,
    name: String,
    /// The line, counted from 1, and the column of the last byte read, in bytes.
    line: u64,
    column: u64,
    state: State,
    object: Vec<u8>,
    /// Where the last range ends, and its line.
    end: u64,
    end_line: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before `[`.
    Begin,
    /// After `[`: an object, or `]`.
    First,
    /// After a comma.
    Object,
    /// After an object.
    Comma,
    /// After `]`, or an error.
    End,
}

/// Runs `qemu-img map` for an image, which a virtual machine may be using. Ranges that change meanwhile may be wrong.
///
/// # Errors
/// If qemu-img is not installed. What it says itself about a failure comes with the first range.
pub fn map_image(image: &Path) -> Result<MapReader<ToolOutput>, FileError> {
    let output = start_qemu_img(&["map", "--output=json", "--force-share"], image)?;
    let name = format!("`{}`", output.command());
    Ok(MapReader::new(output, &name))
}

/// Starts qemu-img for an image.
pub(crate) fn start_qemu_img(arguments: &[&str], image: &Path) -> Result<ToolOutput, FileError> {
    // A colon in a relative path would make it a protocol.
    let path = std::path::absolute(image)
        .map_err(|error| FileError::io(image.display().to_string(), error))?;
    let mut all: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
    all.push(path.as_os_str());
    let remedy =
        "check the image with `qemu-img info` and `qemu-img check`, and that you may read it";
    ToolOutput::start("qemu-img", "qemu-utils (qemu-img elsewhere)", &all, remedy)
}

impl<R: BufRead> MapReader<R> {
    /// Reads the map that errors call `name`.
    pub fn new(reader: R, name: &str) -> Self {
        Self {
            reader,
            name: name.to_owned(),
            line: 1,
            column: 0,
            state: State::Begin,
            object: Vec::new(),
            end: 0,
            end_line: 0,
        }
    }

    /// The next byte, or `None` at the end.
    fn byte(&mut self) -> Result<Option<u8>, FileError> {
        let buffer = self.reader.fill_buf();
        let byte = match buffer {
            Ok(buffer) => buffer.first().copied(),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => return self.byte(),
            Err(error) => return Err(FileError::reading(&self.name, error)),
        };
        if let Some(byte) = byte {
            self.reader.consume(1);
            self.column += 1;
            if byte == b'\n' {
                (self.line, self.column) = (self.line + 1, 0);
            }
        }
        Ok(byte)
    }

    fn range(&mut self) -> Result<Option<MapRange>, FileError> {
        loop {
            let byte = self.byte()?;
            self.state = match (self.state, byte) {
                (State::End, None) => return Ok(None),
                (_, Some(b' ' | b'\t' | b'\r' | b'\n')) => continue,
                (State::Begin, Some(b'[')) => State::First,
                (State::First | State::Object, Some(b'{')) => {
                    self.state = State::Comma;
                    return self.object().map(Some);
                }
                (State::Comma, Some(b',')) => State::Object,
                (State::First | State::Comma, Some(b']')) => State::End,
                (_, None) => {
                    return Err(self.error(self.line, self.column, "the map is cut short"));
                }
                (_, Some(byte)) => {
                    let message = format!("`{}` does not belong there", byte.escape_ascii());
                    return Err(self.error(self.line, self.column, &message));
                }
            };
        }
    }

    /// Reads an object behind its `{`.
    fn object(&mut self) -> Result<MapRange, FileError> {
        let (line, column) = (self.line, self.column);
        self.object.clear();
        self.object.push(b'{');
        let (mut depth, mut in_string, mut is_escaped) = (1u32, false, false);
        while depth > 0 {
            let Some(byte) = self.byte()? else {
                return Err(self.error(line, column, "the object is cut short"));
            };
            self.object.push(byte);
            if self.object.len() > MAX_OBJECT_BYTES {
                return Err(self.error(line, column, "the object is too long"));
            }
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = in_string,
                b'"' => in_string = !in_string,
                b'{' if !in_string => depth += 1,
                b'}' if !in_string => depth -= 1,
                _ => {}
            }
        }
        let range: MapRange = serde_json::from_slice(&self.object).map_err(|error| {
            self.error(line, column, &format!("a range is not readable: {error}"))
        })?;
        let (Some(end), Some(_)) = (
            range.offset.checked_add(range.bytes),
            range.image_offset.unwrap_or(0).checked_add(range.bytes),
        ) else {
            return Err(self.error(line, column, "the range ends beyond 2^64 bytes"));
        };
        if range.bytes == 0 {
            return Err(self.error(line, column, "the range has no bytes"));
        }
        if range.offset < self.end {
            let message = format!(
                "the range begins at byte {}, before the end of the range in line {} at byte {}",
                range.offset, self.end_line, self.end
            );
            return Err(self.error(line, column, &message));
        }
        (self.end, self.end_line) = (end, line);
        Ok(range)
    }

    fn error(&self, line: u64, column: u64, message: &str) -> FileError {
        let remedy = "give the output of `qemu-img map --output=json` unchanged";
        FileError::input(format!("{}:{line}:{column}: {message}", self.name), remedy)
    }
}

impl<R: BufRead> Iterator for MapReader<R> {
    type Item = Result<MapRange, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        let is_over = self.state == State::End;
        if is_over {
            return None;
        }
        let range = self.range();
        if range.is_err() {
            self.state = State::End;
        }
        range.transpose()
    }
}
