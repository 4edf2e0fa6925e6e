//! Sources of extents: what real tools print, and what is wrong with it.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use strewn_file::{Extent, ExtentListReader, FileError, ListedFile};

mod bad_input;
mod images;
mod lists;
#[cfg(target_os = "linux")]
mod seek;
mod windows;
mod zfs;

/// A file of tests/data.
fn data(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// The files of a list and their extents.
fn files(mut list: ExtentListReader<&[u8]>) -> Result<Vec<(ListedFile, Vec<Extent>)>, FileError> {
    let mut files = Vec::new();
    while let Some(file) = list.next_file()? {
        files.push((file, list.extents().collect::<Result<_, _>>()?));
    }
    Ok(files)
}

fn listed(text: &str) -> Result<Vec<(ListedFile, Vec<Extent>)>, FileError> {
    files(ExtentListReader::new(text.as_bytes(), "list"))
}
