//! Paths that hold from anywhere.

use std::path::{Path, PathBuf};

/// Returns a path from anywhere: a run may be begun elsewhere.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
