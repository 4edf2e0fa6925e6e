//! Files that are replaced atomically: complete or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Contents written to a temporary file beside their target, which they replace at once. Removed if dropped before
/// [`put_in_place`](Self::put_in_place).
pub struct Replacement {
    temporary: PathBuf,
    file: PathBuf,
}

impl Replacement {
    /// Writes `contents` beside `file`, with the permissions of `file` if there is one.
    ///
    /// # Errors
    /// If it cannot be written, or not be brought to storage.
    pub fn write(file: &Path, contents: &[u8]) -> io::Result<Self> {
        Self::write_with(file, |written| written.write_all(contents))
    }

    /// Does the same as [`write`](Self::write), but `contents` writes the file.
    ///
    /// # Errors
    /// As [`write`](Self::write), and those of `contents`.
    pub fn write_with<E: From<io::Error>>(
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
    ///
    /// # Errors
    /// If it cannot be renamed.
    pub fn put_in_place(self) -> io::Result<()> {
        fs::rename(&self.temporary, &self.file)
    }

    /// Removes what programs that were killed left behind of their replacements of `file`. No other program may be
    /// replacing it.
    ///
    /// # Errors
    /// If the directory cannot be read, or a file not be removed.
    pub(crate) fn remove_left_over(file: &Path) -> io::Result<()> {
        let folder = file.parent().unwrap_or(Path::new("."));
        let start = format!(".{}.", file.file_name().unwrap_or_default().to_string_lossy());
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let process = name.strip_prefix(&start).and_then(|rest| rest.strip_suffix(".tmp"));
            if process.is_some_and(|process| process.bytes().all(|byte| byte.is_ascii_digit())) {
                fs::remove_file(folder.join(name))?;
            }
        }
        Ok(())
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        // After a rename there is nothing to remove.
        let _ = fs::remove_file(&self.temporary);
    }
}
