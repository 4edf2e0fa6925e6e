//! A device that may not be opened is present, and must not be treated as lost.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::Command;

use strewn_testing::Missing;

use crate::folder::{Folder, label};

const NAME: &str = "permissions::a_device_without_permission_is_not_taken_for_lost";

/// The user and the group that own nothing, on every system that has one.
const NOBODY: u32 = 65_534;

pub fn a_device_without_permission_is_not_taken_for_lost() -> Result<(), Missing> {
    let directory = tempfile::tempdir().unwrap();
    if fs::metadata(directory.path()).unwrap().uid() == 0 {
        // Root may open everything: this very test runs once more as nobody.
        let program = directory.path().join("program");
        fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
        chown(directory.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        let mut command = Command::new(program);
        command.args(["--exact", NAME]).env("TMPDIR", directory.path());
        let ran = command.current_dir("/").uid(NOBODY).gid(NOBODY).output();
        let Ok(output) = ran else {
            return Err(Missing::new("no permission to run as nobody", "run as another user"));
        };
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
        return Ok(());
    }
    let folder = Folder::new();
    folder.create();
    fs::set_permissions(folder.spindle(1), fs::Permissions::from_mode(0o000)).unwrap();
    let before = label(&folder.spindle(0));
    let error = folder.open_degraded().unwrap_err();
    assert!(error.to_string().contains("spindle-01"), "{error}");
    assert!(error.remedy().contains("access"), "{}", error.remedy());
    assert_eq!(label(&folder.spindle(0)), before);
    Ok(())
}
