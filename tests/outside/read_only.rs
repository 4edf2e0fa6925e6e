//! An array on a file system that is mounted read-only.

use std::process::{Command, Stdio};

use strewn_testing::Missing;

use crate::array::Array;

/// Changes how the array's folder is mounted; returns whether that is permitted.
fn mount(array: &Array, words: &[&str]) -> bool {
    let mut command = Command::new("mount");
    let mounted = command.args(words).arg(array.folder()).stderr(Stdio::null()).status();
    mounted.is_ok_and(|status| status.success())
}

pub fn regression_a_read_only_file_system_is_called_that() -> Result<(), Missing> {
    let array = Array::new("raid-dp", 64);
    let folder = array.folder().to_str().unwrap().to_owned();
    if !mount(&array, &["--bind", &folder]) || !mount(&array, &["-o", "remount,bind,ro"]) {
        let _ = Command::new("umount").arg(&folder).stderr(Stdio::null()).status();
        return Err(Missing::new("no permission to mount", "run as root"));
    }
    let outcome = std::panic::catch_unwind(|| {
        for words in [
            &["serve", "aged", "--tcp", "127.0.0.1:0"][..],
            &["scrub", "aged"],
            &["fail", "aged", "1"],
            &["replace", "aged", "log"],
        ] {
            array.refused(words, &["aged/", "Read-only file system", "remount,rw"]);
        }
        assert_eq!(array.status()["condition"], "whole");
        array.done(&["check", "aged"]);
    });
    assert!(Command::new("umount").arg(&folder).status().unwrap().success());
    outcome.unwrap();
    Ok(())
}
