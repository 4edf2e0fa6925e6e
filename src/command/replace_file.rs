//! Files that are there whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Contents written beside the file they are for, under another name. Removed again if it is dropped before
/// [`put_in_place`](Self::put_in_place).
pub(crate) struct Replacement {
    temporary: PathBuf,
    file: PathBuf,
}

impl Replacement {
    /// Writes `contents` beside `file`, with the permissions of `file` if there is one.
    pub(crate) fn write(file: &Path, contents: &[u8]) -> io::Result<Self> {
        Self::write_with(file, |written| written.write_all(contents))
    }

    /// The same, where `contents` writes them.
    pub(crate) fn write_with<E: From<io::Error>>(
        file: &Path,
        contents: impl FnOnce(&mut File) -> Result<(), E>,
    ) -> Result<Self, E> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        // Hidden, in the same directory so that a rename replaces, and of this process alone.
        let temporary = file.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
        let replacement = Self { temporary, file: file.to_owned() };
        let mut written = File::create(&replacement.temporary)?;
        contents(&mut written)?;
        if let Ok(present) = fs::metadata(file) {
            written.set_permissions(present.permissions())?;
        }
        // A rename may reach the disk before what it names does.
        written.sync_all()?;
        Ok(replacement)
    }

    /// Renames it to the file it is for, which it replaces.
    pub(crate) fn put_in_place(self) -> io::Result<()> {
        fs::rename(&self.temporary, &self.file)
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        // Gone already if it is in its place.
        let _ = fs::remove_file(&self.temporary);
    }
}
