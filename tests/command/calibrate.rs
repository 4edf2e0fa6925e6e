//! `strewn calibrate`: what it prints, and what it changes in the scenario's file.

use std::fs;

use crate::common::{Folder, SMALL};

/// The one line of the scenario that the fit may change.
const FITTED: &str = "host_operation = \"500 us\"";

#[test]
fn what_fits_is_printed_and_written() {
    let folder = Folder::new();
    let printed = folder.strewn(&["calibrate", "small.toml"]).succeeded();
    for part in ["anywhere, ", "processor.host_operation  500 us -> ", "published IOPS", "840"] {
        assert!(printed.contains(part), "no {part:?} in\n{printed}");
    }
    let after = folder.read("small.toml");
    let changed: Vec<(&str, &str)> =
        SMALL.lines().zip(after.lines()).filter(|(before, after)| before != after).collect();
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert_eq!(changed[0].0, FITTED);
    assert_eq!(after.lines().count(), SMALL.lines().count());
    // Nothing but the two files that were there.
    assert_eq!(folder.contents().len(), 2);

    // It fits: within a thousandth in the segment that it was fitted to.
    let json = folder.strewn(&["run", "small.toml", "--json"]).succeeded();
    let results = strewn::results::Results::from_json(&json).unwrap();
    let error_percent = results.published[0].segments[0].error_percent;
    assert!(error_percent.abs() < 0.1, "{error_percent} %");
}

#[test]
fn a_dry_run_changes_nothing() {
    let folder = Folder::new();
    let before = folder.contents();
    let printed =
        folder.strewn(&["calibrate", "small.toml", "--dry-run", "--jobs", "1"]).succeeded();
    assert!(printed.contains("processor.host_operation  500 us -> "), "{printed}");
    assert!(printed.contains("small.toml is unchanged"), "{printed}");
    assert_eq!(folder.contents(), before);
}

#[cfg(unix)]
#[test]
fn a_scenario_keeps_its_permissions_and_its_links() {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new();
    fs::set_permissions(folder.path("small.toml"), fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("small.toml", folder.path("link.toml")).unwrap();
    folder.strewn(&["calibrate", "link.toml"]).succeeded();
    assert!(folder.path("link.toml").symlink_metadata().unwrap().is_symlink());
    let file = folder.path("small.toml").symlink_metadata().unwrap();
    assert!(file.is_file());
    assert_eq!(file.permissions().mode() & 0o777, 0o640);
    assert_ne!(folder.read("small.toml"), SMALL);
}

#[test]
fn nothing_to_fit_is_refused() {
    let folder = Folder::new();
    let fitted = "[array.fitted]\nparameters = [\"processor.host_operation\"]\nsegments = [1]\n";
    for (from, to, says) in [
        (fitted, "", "there is nothing to fit"),
        ("published = \"small.published.toml\"\n", "", "names no published figures"),
        ("segments = [1]", "segments = [1, 3]", "no IOPS of \"anywhere\" for segment 3"),
    ] {
        let text = SMALL.replace(from, to);
        assert_ne!(text, SMALL);
        folder.write("bad.toml", &text);
        let figures = folder.read("small.published.toml").replace("[840, 750, 700]", "[840, 750]");
        folder.write("small.published.toml", &figures);
        folder.strewn(&["calibrate", "bad.toml"]).refused(&[says, "help: "]);
        assert_eq!(folder.read("bad.toml"), text);
    }
}

/// The fit does not remember where it began.
#[test]
fn a_fit_is_the_same_from_anywhere() {
    let folder = Folder::new();
    let fitted_us = |start: &str| {
        let text = SMALL.replace(FITTED, &format!("host_operation = \"{start}\""));
        assert_ne!(text, SMALL);
        folder.write("start.toml", &text);
        folder.strewn(&["calibrate", "start.toml"]).succeeded();
        let after = strewn::scenario::Scenario::load(folder.path("start.toml")).unwrap();
        after.parameter("anywhere", "processor.host_operation").unwrap().0 / 1e3
    };
    let fits: Vec<f64> = ["1 us", "60 us", "900 us", "8 ms"].into_iter().map(fitted_us).collect();
    for fit in &fits {
        assert!((fit - fits[0]).abs() <= 0.05, "fits from four starts: {fits:?} us");
    }
    // Nor does it when it begins where it ended.
    let again = fitted_us(&format!("{} us", fits[0]));
    assert!((again - fits[0]).abs() <= 0.05, "{again} us from {} us", fits[0]);
}

#[test]
fn figures_that_no_value_gives_are_an_error_and_change_nothing() {
    let folder = Folder::new();
    // More than the spindles can do, whatever the processor costs.
    let figures = folder.read("small.published.toml").replace("[840,", "[84000,");
    folder.write("small.published.toml", &figures);
    let before = folder.contents();
    let failed = folder.strewn(&["calibrate", "small.toml"]);
    assert_eq!(failed.code, Some(1), "{}", failed.stderr);
    for part in ["no values of processor.host_operation were found", "nothing was written"] {
        assert!(failed.stderr.contains(part), "no {part:?} in\n{}", failed.stderr);
    }
    assert_eq!(folder.contents(), before);
}
