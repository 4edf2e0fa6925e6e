//! The files that scenarios name, and where they come from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use strewn_scenario::{Disk, NoFiles, ProfileFile, Scenario, SpindleChoice};

use crate::common::{changed, refusal};

/// A profile that ships, and is on the disk.
const PROFILE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../spindle/profiles/seagate-cheetah-15k5-st3146855fc.toml"
);

/// The good scenario with a profile's file.
fn naming(file: &str) -> String {
    changed("\"seagate-cheetah-15k5-st3146855fc\"", &format!("{file:?}"))
}

#[test]
fn a_text_alone_reads_no_file() {
    assert!(Path::new(PROFILE).is_file());
    let text = naming(PROFILE);
    let line = 1 + text.lines().position(|line| line.contains(PROFILE)).unwrap();
    assert_eq!(
        refusal(&text),
        format!(
            "{line} array[anywhere].spindle: cannot read drive profile {PROFILE}: no files are given; give the name of a \
             profile that ships: a profile's file is read only by a program that gives the files that a scenario names"
        )
    );
    assert!(Scenario::parse_with(&text, "one.toml", &[], &NoFiles).is_err());
    assert!(serde_json::from_value::<Scenario>(table(&text)).is_err());

    let scenario = Scenario::parse_with_files(&text, "one.toml", &Disk).unwrap();
    assert_eq!(scenario.arrays[0].spindle.profile().unwrap().rpm, 15_020);
}

fn table(text: &str) -> serde_json::Value {
    serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap()
}

#[test]
fn a_profile_comes_from_given_texts_and_is_kept() {
    let text = naming("drives/mine.toml");
    let profile = std::fs::read_to_string(PROFILE).unwrap();
    let path = PathBuf::from("of/drives/mine.toml");
    let files = BTreeMap::from([(path.clone(), profile.clone())]);
    let scenario = Scenario::parse_with_files(&text, "of/one.toml", &files).unwrap();
    let SpindleChoice::File(file) = &scenario.arrays[0].spindle else { panic!("{scenario:?}") };
    assert_eq!((file.path(), file.text()), (path.as_path(), profile.as_str()));
    assert_eq!(
        scenario.arrays[0].spindle,
        SpindleChoice::File(ProfileFile::parse(path, &profile).unwrap())
    );

    // There is no such file on the disk: the scenario has what it needs.
    scenario.check().unwrap();
    assert_eq!(scenario.arrays[0].spindle.profile().unwrap().rpm, 15_020);
    let again = scenario.to_toml().unwrap();
    assert_eq!(Scenario::parse_with_files(&again, "copy.toml", &files).unwrap(), scenario);
    let set = [("anywhere.commands_per_spindle".to_owned(), "3".to_owned())];
    let (set, _) = Scenario::parse_with(&text, "of/one.toml", &set, &files).unwrap();
    assert_eq!(set.arrays[0].spindle, scenario.arrays[0].spindle);

    let error = Scenario::parse_with_files(&text, "elsewhere/one.toml", &files).unwrap_err();
    let [problem] = error.problems() else { panic!("{error:?}") };
    assert_eq!(
        problem.message(),
        "cannot read drive profile elsewhere/drives/mine.toml: it is not among the files given"
    );
}
