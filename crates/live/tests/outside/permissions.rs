//! A device that may not be opened is present, and must not be treated as lost.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use strewn_testing::Missing;

use crate::folder::{Folder, label};

pub fn a_device_without_permission_is_not_taken_for_lost() -> Result<(), Missing> {
    let folder = Folder::new();
    folder.create();
    fs::set_permissions(folder.spindle(1), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(folder.spindle(1)).is_ok() {
        return Err(Missing::new("root may open everything", "run as another user"));
    }
    let before = label(&folder.spindle(0));
    let error = folder.open_degraded().unwrap_err();
    assert!(error.to_string().contains("spindle-01"), "{error}");
    assert!(error.remedy().contains("access"), "{}", error.remedy());
    assert_eq!(label(&folder.spindle(0)), before);
    Ok(())
}
