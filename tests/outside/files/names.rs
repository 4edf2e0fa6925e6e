//! Names: strange ones, and several of one file.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use strewn_testing::Missing;

use super::{figure, json, one, ran, strewn, text};
use crate::common::Ran;

pub fn strange_names_are_shown_harmlessly_and_found_again() -> Result<(), Missing> {
    let directory = tempfile::tempdir().unwrap();
    let strange = directory.path().join("two\nlines \u{1b}[31mred, \"quoted\"");
    fs::write(&strange, vec![1; 10_000]).unwrap();
    let words = ["--sync"];
    assert_eq!(one(&strange, &words)["path"].as_str(), strange.to_str());
    // A terminal is not told to do anything by a name, nor is a row two rows.
    let table = ran(&[text(&strange), "--sync"]).succeeded();
    assert!(!table.contains('\u{1b}') && !table.contains("two\nlines"), "{table:?}");
    // Saved and read again, it has the same name.
    let list = directory.path().join("list.csv");
    ran(&[text(&strange), "--sync", "--save-extents", text(&list)]).succeeded();
    assert_eq!(json(&["--from", text(&list)])[0]["path"].as_str(), strange.to_str());
    let before = directory.path().join("before.json");
    fs::write(&before, ran(&[text(&strange), "--json", "--sync"]).succeeded()).unwrap();
    let compared = ran(&[text(&strange), "--sync", "--compare", text(&before)]).succeeded();
    assert!(compared.contains("\"quoted\": unchanged"), "{compared}");
    Ok(())
}

pub fn names_that_are_no_text_are_told_apart() -> Result<(), Missing> {
    let directory = tempfile::tempdir().unwrap();
    let names = [b"\xff-one".as_slice(), b"\xfe-one"];
    for (number, name) in names.iter().enumerate() {
        let path = directory.path().join(OsStr::from_bytes(name));
        fs::write(path, vec![1; 5000 * (number + 1)]).unwrap();
    }
    let files = json(&[text(directory.path()), "--sync"]);
    assert_eq!(files.len(), 2);
    assert_ne!(files[0]["path"], files[1]["path"]);
    let before = directory.path().join("before.json");
    let look = |more: &[&str]| {
        let mut command = strewn(more);
        names.iter().for_each(|name| {
            command.arg(directory.path().join(OsStr::from_bytes(name)));
        });
        Ran::of(command.arg("--sync").output().unwrap()).succeeded()
    };
    fs::write(&before, look(&["--json"])).unwrap();
    let compared = look(&["--compare", text(&before)]);
    let (_, rows) = compared.split_once("Before and after").unwrap();
    // Each is compared with itself: the other has another size.
    assert_eq!(rows.matches("-one: unchanged").count(), 2, "{compared}");
    Ok(())
}

pub fn many_names_of_one_file_are_one_file() -> Result<(), Missing> {
    let directory = tempfile::tempdir().unwrap();
    let first = directory.path().join("0");
    fs::write(&first, vec![1; 100_000]).unwrap();
    for number in 1..1000 {
        fs::hard_link(&first, directory.path().join(number.to_string())).unwrap();
    }
    let table = ran(&[text(directory.path()), "--sync"]).succeeded();
    assert!(table.contains("Further names of files that are counted once: 999"), "{table}");
    assert_eq!(json(&[text(directory.path()), "--sync"]).len(), 1);
    let (one, other) = (directory.path().join("1"), directory.path().join("2"));
    let files = json(&[text(&one), text(&other), text(&one), "--sync"]);
    assert_eq!((files.len(), figure(&files[0], "bytes")), (1, 100_000.0));
    Ok(())
}
