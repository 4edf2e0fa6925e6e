//! Files that are replaced atomically: complete or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Contents written to a temporary file beside their target. Removed if dropped before
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

    /// Does the same as [`write`](Self::write), but `contents` writes the file.
    pub(crate) fn write_with<E: From<io::Error>>(
        file: &Path,
        contents: impl FnOnce(&mut File) -> Result<(), E>,
    ) -> Result<Self, E> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        // The file is hidden, in the same directory so that a rename replaces the target, and unique to this process.
        let temporary = file.with_file_name(format!(".{name}.{}.tmp", std::process::id()));
        let replacement = Self { temporary, file: file.to_owned() };
        let mut written = File::create(&replacement.temporary)?;
        contents(&mut written)?;
        if let Ok(present) = fs::metadata(file) {
            written.set_permissions(present.permissions())?;
        }
        // Sync first: a rename may reach the disk before the contents do.
        written.sync_all()?;
        Ok(replacement)
    }

    /// Renames the temporary file over its target.
    pub(crate) fn put_in_place(self) -> io::Result<()> {
        fs::rename(&self.temporary, &self.file)
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        // After a rename there is nothing to remove.
        let _ = fs::remove_file(&self.temporary);
    }
}
