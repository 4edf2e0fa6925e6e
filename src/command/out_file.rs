//! A single file to write, which takes the place of another one only if that is asked for.

use std::path::{Path, PathBuf};

use strewn::terminal::Failure;

use super::out_directory::try_to_write;

/// Returns the file behind `--out`: a new one, or the plain file that is there if `force` is given. Never a device.
/// `contents` is what will be written, in words.
pub(crate) fn out_file(out: &Path, force: bool, contents: &str) -> Result<PathBuf, Failure> {
    let shown = out.display();
    let unusable =
        |what: &str, help: &str| Failure::bad_input(format!("--out {shown}: {what}"), help);
    if out.symlink_metadata().is_err() {
        let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty());
        if !parent.unwrap_or(Path::new(".")).is_dir() {
            return Err(unusable("there is no such directory to write it into", "make it first"));
        }
        check_folder(out, &unusable)?;
        return Ok(out.to_owned());
    }
    let present = out.canonicalize().map_err(|error| {
        unusable(&error.to_string(), "give another file, or correct the symbolic link")
    })?;
    if !present.is_file() {
        return Err(unusable("is no plain file", &format!("give a file for {contents}")));
    }
    if !force {
        return Err(unusable("is there already", "give another file, or --force to replace it"));
    }
    check_folder(&present, &unusable)?;
    Ok(present)
}

/// Checks that something can be written beside a file.
fn check_folder(file: &Path, unusable: &dyn Fn(&str, &str) -> Failure) -> Result<(), Failure> {
    try_to_write(file.parent().unwrap_or(Path::new("."))).map_err(|error| {
        let what = format!("nothing can be written there: {error}");
        unusable(&what, "give a file in a directory that can be written to")
    })
}
