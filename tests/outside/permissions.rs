//! The command without permission.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use strewn_testing::Missing;

use crate::common::{Folder, Ran, contents};

/// A user and a group without any rights: nobody, on most systems.
const NOBODY: u32 = 65_534;

/// Runs a copy of the command in `folder`: as nobody if these tests run as root, whom no permission stops.
fn strewn(folder: &Folder, words: &[&str]) -> Result<Ran, Missing> {
    let mut command = Command::new(folder.path("strewn"));
    command.args(words).current_dir(folder.path("")).env("NO_COLOR", "1").stdin(Stdio::null());
    if is_root(folder) {
        command.uid(NOBODY).gid(NOBODY);
    }
    command.output().map(Ran::of).map_err(|error| {
        let what = format!("nobody cannot run a program in {}: {error}", folder.path("").display());
        Missing::new(what, "run these tests as a user other than root")
    })
}

fn is_root(folder: &Folder) -> bool {
    folder.path("small.toml").metadata().unwrap().uid() == 0
}

pub fn without_permission_nothing_is_opened_or_written() -> Result<(), Missing> {
    let folder = Folder::new();
    fs::copy(env!("CARGO_BIN_EXE_strewn"), folder.path("strewn")).unwrap();
    for image in ["secret.img", "raw.img"] {
        File::create(folder.path(image)).unwrap().set_len(1 << 30).unwrap();
    }
    fs::create_dir(folder.path("locked")).unwrap();
    let allow = |name: &str, mode| {
        fs::set_permissions(folder.path(name), Permissions::from_mode(mode)).unwrap();
    };
    allow("secret.img", 0);
    allow("raw.img", 0o444);
    allow("locked", 0o500);
    if is_root(&folder) {
        for name in ["", "locked"] {
            chown(folder.path(name), Some(NOBODY), Some(NOBODY)).map_err(|error| {
                let remedy = "run these tests as a user other than root";
                Missing::new(format!("root may not give files away: {error}"), remedy)
            })?;
        }
    }
    let words = ["spindle", "--fit", "secret.img", "--out", "new.toml"];
    strewn(&folder, &words)?.refused(&["cannot open secret.img", "that you may read"]);
    let words = ["spindle", "--fit", "raw.img", "--out", "locked/new.toml"];
    strewn(&folder, &words)?.refused(&["--out locked/new.toml", "can be written to"]);
    assert!(contents(&folder.path("locked")).is_empty() && !folder.path("new.toml").exists());
    Ok(())
}
