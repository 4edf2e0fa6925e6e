//! `strewn compare`: runs side by side.

use std::fs;

use crate::common::{Folder, SMALL};
use serde_json::Value;
use strewn::results::{Results, RunsComparison};

/// A folder with two runs: `one`, and `two` with another seed and fewer segments.
fn folder_with_runs() -> Folder {
    let folder = Folder::new();
    folder.strewn(&["run", "small.toml", "--out", "one"]).succeeded();
    let two = ["run", "small.toml", "--out", "two", "--seed", "8", "--segments", "2"];
    folder.strewn(&two).succeeded();
    folder
}

#[test]
fn differences_are_from_the_first_run() {
    let folder = folder_with_runs();
    let tables = folder.strewn(&["compare", "one", "two/results.json"]).succeeded();
    for part in ["anywhere: IOPS", "inplace: mean response time, ms", "one", "two", "%"] {
        assert!(tables.contains(part), "no {part:?} in\n{tables}");
    }
    let json = folder.strewn(&["compare", "one", "two", "--json"]).succeeded();
    let compared: RunsComparison = serde_json::from_str(&json).unwrap();
    let [one, two] = ["one", "two"]
        .map(|run| Results::from_json(&folder.read(&format!("{run}/results.json"))).unwrap());
    assert_eq!(compared.arrays.len(), 2);
    assert_eq!(compared.runs[1].seed, 8);
    let anywhere = &compared.arrays[0];
    assert_eq!(anywhere.segments.len(), 3);
    let second = &anywhere.segments[1];
    let (before, after) = (one.arrays[0].segments[1].iops, two.arrays[0].segments[1].iops);
    assert_eq!(second.figures[0].unwrap().iops, before);
    assert_eq!(second.figures[0].unwrap().iops_difference_percent, None);
    let difference = second.figures[1].unwrap().iops_difference_percent.unwrap();
    assert!((difference - 100.0 * (after - before) / before).abs() < 1e-3, "{difference}");
    // The second run has no third segment.
    assert_eq!(anywhere.segments[2].figures[1], None);
    assert!(anywhere.parameters.is_empty());
}

#[test]
fn files_are_written_where_asked_and_nowhere_else() {
    let folder = folder_with_runs();
    let before = [folder.contents(), crate::common::contents(&folder.path("one"))];
    let words = ["compare", "one", "two", "--out", "both"];
    let printed = folder.strewn(&[&words[..], &["--json", "--png"]].concat()).succeeded();
    assert_eq!(folder.read("both/comparison.json"), printed);
    let csv = folder.read("both/comparison.csv");
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    assert_eq!(reader.records().count(), 2 * (3 + 2));
    let svg = folder.read("both/iops.svg");
    let document = roxmltree::Document::parse(&svg).unwrap();
    let texts: Vec<&str> = document.descendants().filter_map(|node| node.text()).collect();
    for name in ["anywhere, one", "anywhere, two", "inplace, two"] {
        assert!(texts.iter().any(|text| text.trim() == name), "{name}: {texts:?}");
    }
    assert!(folder.path("both/response.png").exists());
    folder.strewn(&words).refused(&["--out both: the directory is not empty"]);
    fs::remove_dir_all(folder.path("both")).unwrap();
    assert!([folder.contents(), crate::common::contents(&folder.path("one"))] == before);
}

#[test]
fn what_was_set_differently_is_said() {
    let folder = Folder::new();
    folder.strewn(&["run", "small.toml", "--out", "one"]).succeeded();
    folder.write("other.toml", &SMALL.replacen("outstanding = 8", "outstanding = 9", 1));
    folder.strewn(&["run", "other.toml", "--out", "two"]).succeeded();
    let tables = folder.strewn(&["compare", "one", "two"]).succeeded();
    assert!(tables.contains("set differently") && tables.contains("outstanding"), "{tables}");
}

#[test]
fn three_policies_differ_by_their_policy_and_have_a_verdict() {
    let folder = Folder::new();
    for policy in ["emptiest-area", "first-fit", "sequential-sweep"] {
        let present = "policy = \"emptiest-area\"";
        let text = SMALL.replacen(present, &format!("policy = \"{policy}\""), 1);
        folder.write("policy.toml", &text);
        folder.strewn(&["run", "policy.toml", "--out", policy]).succeeded();
    }
    let words = ["compare", "emptiest-area", "first-fit", "sequential-sweep", "--json"];
    let compared: RunsComparison =
        serde_json::from_str(&folder.strewn(&words).succeeded()).unwrap();
    let [policy] = &compared.arrays[0].parameters[..] else { panic!("{compared:?}") };
    assert_eq!(policy.name, "write_anywhere.policy");
    assert_eq!(policy.values[1].as_deref(), Some("first-fit"));
    let verdict = &compared.arrays[0].verdicts[0];
    assert!(verdict.ends_with("Set differently: write_anywhere.policy."), "{verdict}");
    assert!(compared.settings.is_empty(), "{:?}", compared.settings);

    let results = Results::from_json(&folder.read("first-fit/results.json")).unwrap();
    let setting = |name: &str| results.settings[name].to_string();
    assert_eq!(setting("array.anywhere.write_anywhere.spares"), "0", "a default");
    assert_eq!(setting("array.inplace.in_place.write_cache"), "8 MiB");
    let quick = ["run", "small.toml", "--seed", "9", "--segments", "1", "--json"];
    let results = Results::from_json(&folder.strewn(&quick).succeeded()).unwrap();
    let setting = |name: &str| results.settings[name].to_string();
    assert_eq!((setting("seed"), setting("segments")), ("9".to_owned(), "1".to_owned()));
}

#[test]
fn runs_of_different_arrays_are_compared_as_far_as_they_go() {
    let folder = folder_with_runs();
    let rename = |run: &str, renames: &[(&str, &str)]| {
        let mut results: Value = serde_json::from_str(&folder.read("one/results.json")).unwrap();
        for array in results["arrays"].as_array_mut().unwrap() {
            for (from, to) in renames {
                if array["name"] == *from {
                    array["name"] = (*to).into();
                }
            }
        }
        fs::create_dir(folder.path(run)).unwrap();
        folder.write(&format!("{run}/results.json"), &results.to_string());
    };
    rename("half", &[("anywhere", "elsewhere")]);
    let tables = folder.strewn(&["compare", "one", "half"]).succeeded();
    assert!(tables.contains("not compared: one: anywhere, half: elsewhere"), "{tables}");

    rename("none", &[("anywhere", "elsewhere"), ("inplace", "here")]);
    folder.strewn(&["compare", "one", "none", "--out", "new"]).refused(&[
        "no array in common: one has anywhere, inplace; none has elsewhere, here",
        "give runs that have an array of the same name",
    ]);
    assert!(!folder.path("new").exists());
    folder.strewn(&["compare", "one"]).refused(&["2"]);
    folder.strewn(&["compare", "one", "half", "--png"]).refused(&["--png needs --out"]);
    folder.strewn(&["compare", "one", "gone"]).refused(&["there is no gone"]);
}

#[test]
fn defaults_that_are_listed_beside_a_switch_are_not_set_differently() {
    let folder = Folder::new();
    folder.strewn(&["run", "small.toml", "--out", "one"]).succeeded();
    let policy = "policy = \"emptiest-area\"";
    let scan = format!("{policy}\nreallocation_scan = {{ begins = \"1 s\" }}");
    folder.write("scan.toml", &SMALL.replacen(policy, &scan, 1));
    folder.strewn(&["run", "scan.toml", "--out", "two"]).succeeded();
    let compared: RunsComparison =
        serde_json::from_str(&folder.strewn(&["compare", "one", "two", "--json"]).succeeded())
            .unwrap();
    let names: Vec<&str> =
        compared.arrays[0].parameters.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["write_anywhere.reallocation_scan.begins"]);
}
