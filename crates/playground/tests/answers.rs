//! Questions as the page asks them, and the answers.
#![allow(clippy::unwrap_used)]

use std::sync::Mutex;

use serde_json::{Value, json};
use strewn_playground::Teller;
use strewn_playground::packet::{Packet, packet};
use strewn_results::Results;
use strewn_run::{RunOptions, run_with_map};
use strewn_scenario::Scenario;

const TEXT: &str = include_str!("../../../scenarios/making-sense-of-wafl-4.toml");
const PUBLISHED: &str = include_str!("../../../scenarios/making-sense-of-wafl-4.published.toml");

/// Asks, and returns the JSON of the answer and its attachments.
fn ask(question: Value, attachments: &[&[u8]], teller: &dyn Teller) -> (Value, Vec<Vec<u8>>) {
    let answered = strewn_playground::answer(&packet(&question, attachments), teller);
    let answered = Packet::read(&answered).unwrap();
    let attached = answered.attachments.iter().map(|bytes| bytes.to_vec()).collect();
    (serde_json::from_slice(answered.json).unwrap(), attached)
}

/// A question about the published experiment, or about another text.
fn about(text: &str, further: Value) -> Value {
    let files = json!({ "making-sense-of-wafl-4.published.toml": PUBLISHED });
    let mut question = json!({ "text": text, "files": files, "scale_down": 64 });
    question.as_object_mut().unwrap().extend(further.as_object().unwrap().clone());
    question
}

fn set(text: &str, settings: Value) -> Value {
    ask(about(text, json!({ "call": "set", "settings": settings })), &[], &()).0
}

/// The text after settings are changed.
fn changed(text: &str, settings: Value) -> String {
    let answer = set(text, settings);
    assert_eq!(answer["ok"], true, "{answer}");
    answer["text"].as_str().unwrap().to_owned()
}

/// The controls of a text, by path.
fn controls(text: &str) -> Vec<Value> {
    let (answer, _) = ask(about(text, json!({ "call": "check" })), &[], &());
    assert_eq!(answer["ok"], true, "{answer}");
    answer["controls"].as_array().unwrap().clone()
}

fn control(text: &str, path: &str) -> Value {
    let found = controls(text).into_iter().find(|control| control["path"] == path);
    found.unwrap_or_else(|| panic!("no {path}"))
}

/// Keeps what it is told.
#[derive(Default)]
struct Told(Mutex<Vec<Value>>);

impl Teller for Told {
    fn tell(&self, told: &[u8]) {
        let told = Packet::read(told).unwrap();
        self.0.lock().unwrap().push(serde_json::from_slice(told.json).unwrap());
    }
}

#[test]
fn arrays_that_run_apart_give_the_bytes_of_a_run() {
    let text = TEXT.replace("segments = 14\n", "segments = 3\n");
    let told = Told::default();
    let run = |array: usize| {
        let question = about(&text, json!({ "call": "run_array", "array": array }));
        let (answer, mut attached) = ask(question, &[], &told);
        assert_eq!(answer, json!({ "ok": true, "segments": 3 }));
        attached.remove(0)
    };
    let done = [run(0), run(1)];
    let told: Vec<Value> = told.0.into_inner().unwrap();
    let count = |kind: &str| told.iter().filter(|told| told["kind"] == kind).count();
    assert_eq!(count("so_far"), 6);
    assert!((6..500).contains(&count("progress")), "{}", count("progress"));

    let question = about(&text, json!({ "call": "results", "wall_seconds": 1.5 }));
    let (answer, _) = ask(question.clone(), &[&done[0], &done[1]], &());
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let scenario = Scenario::parse(&text, folder.join("scenario.toml")).unwrap();
    let options = RunOptions { scale_down: 64, ..RunOptions::default() };
    let (mut results, map) = run_with_map(&scenario, &options, &()).unwrap();
    results.wall_seconds = 1.5;
    let file = |name: &str| answer[name].as_str().unwrap().to_owned();
    // Where the published figures lie is a setting, and the page has no folders.
    let setting = |results: &str| {
        let mut results = Results::from_json(results).unwrap();
        results.settings.retain(|name, _| name != "published");
        results.to_json_string().unwrap()
    };
    assert_eq!(setting(&file("results")), setting(&results.to_json_string().unwrap()));
    assert_eq!(file("map"), map.to_json_string().unwrap());
    let mut csv = Vec::new();
    strewn_report::write_segments_csv(&results, &[], &mut csv).unwrap();
    assert_eq!(file("csv").as_bytes(), csv);
    let ids: Vec<&str> = (answer["sections"].as_array().unwrap().iter())
        .map(|section| section["id"].as_str().unwrap())
        .collect();
    assert!(ids.starts_with(&["summary", "loss", "map"]), "{ids:?}");

    // One array has done nothing yet, and there was another run before.
    let mut question = question;
    question["earlier"] = json!([answer["curves"]]);
    let (partial, _) = ask(question, &[&done[0], b""], &());
    assert_eq!(partial["ok"], true, "{partial}");
    let shown = partial["sections"][0]["html"].as_str().unwrap();
    assert!(shown.contains("earlier runs"));
    let results = Results::from_json(partial["results"].as_str().unwrap()).unwrap();
    assert!(results.partial && results.arrays[1].segments.is_empty());
}

#[test]
fn every_shipped_scenario_has_controls_whose_values_are_its_own() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if !name.ends_with(".toml")
            || name.contains(".published.")
            || name.contains(".sensitivity.")
            || name.contains(".claims.")
        {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let published = text.lines().find_map(|line| line.strip_prefix("published = \""));
        let text = match published {
            Some(_) => text
                .lines()
                .filter(|line| !line.starts_with("published"))
                .map(|line| format!("{line}\n"))
                .collect(),
            None => text,
        };
        // What is fitted to published rows needs them.
        let Ok(scenario) = Scenario::parse(&text, "x.toml") else { continue };
        count += 1;
        let controls = controls(&text);
        assert!(controls.len() >= 10, "{name}");
        for control in controls {
            let Some(value) = control["value"].as_str() else { continue };
            if value == "as the text says" {
                continue;
            }
            let path = control["path"].as_str().unwrap();
            let answer = set(&text, json!([[path, value]]));
            assert_eq!(answer["ok"], true, "{name}: {path} = {value}: {answer}");
            let again = Scenario::parse(answer["text"].as_str().unwrap(), "x.toml").unwrap();
            // An array's sets of spindles may be others than an EVA would make.
            if !path.ends_with(".spindles") && !path.ends_with(".layout") {
                assert_eq!(again, scenario, "{name}: {path} = {value}");
            }
        }
    }
    assert!(count > 10, "{count}");
}

#[test]
fn what_is_valid_only_together_is_changed_together() {
    let text = changed(TEXT, json!([["array.EVA4400.in_place.spindles", "24"]]));
    assert!(text.contains("redundancy_sets = [8, 8, 8]"), "{text}");
    let text = changed(&text, json!([["array.EVA4400.in_place.layout", "raid-5"]]));
    assert!(!text.contains("redundancy_sets"));
    let text = changed(&text, json!([["array.EVA4400.in_place.layout", "vraid-5"]]));
    assert!(text.contains("redundancy_sets = [8, 8, 8]"));

    let every = "array.FAS2050.write_anywhere.snapshots.every";
    assert_eq!(control(&text, every)["value"], Value::Null);
    let kept = changed(&text, json!([[every, "1 h"]]));
    assert_eq!(control(&kept, "array.FAS2050.write_anywhere.snapshots.keep")["value"], "6");
    assert_eq!(control(&changed(&kept, json!([[every, null]])), every)["value"], Value::Null);

    let full = "array.FAS2050.write_anywhere.other_data.full_percent";
    let fuller = changed(&text, json!([[full, "80"]]));
    assert!(fuller.contains("run_blocks = 8"));
    assert!(!changed(&fuller, json!([[full, null]])).contains("other_data"));

    let mix = "workload.access_specification";
    let mixed = changed(&text, json!([[mix, "4 KiB writes, random"]]));
    assert!(!mixed.contains("file-server") && mixed.contains("read_percent = 0"));
    assert_eq!(control(&mixed, mix)["value"], "4 KiB writes, random");
    let again = changed(&mixed, json!([["workload.access.1.read_percent", "10"]]));
    assert_eq!(control(&again, mix)["value"], "as the text says");
    assert!(!changed(&again, json!([[mix, "file-server"]])).contains("read_percent"));
}

#[test]
fn what_is_wrong_has_a_place_and_a_remedy() {
    let text = TEXT.replace("outstanding = 150", "outstandign = 150");
    let (answer, _) = ask(about(&text, json!({ "call": "check" })), &[], &());
    let problem = &answer["problems"][0];
    assert_eq!((&problem["line"], &problem["column"]), (&json!(19), &json!(1)), "{answer}");
    assert_eq!(problem["end_column"], 12);
    assert_eq!(problem["lines"], json!(["outstandign = 150"]));
    assert_eq!(problem["help"], "did you mean `outstanding`?");

    let (answer, _) = ask(json!({ "call": "check", "text": TEXT }), &[], &());
    assert_eq!(answer["ok"], false);
    assert!(answer["message"].as_str().unwrap().contains("making-sense-of-wafl-4.published.toml"));

    let refused = set(TEXT, json!([["array.FAS2050.outstanding", "none at all"]]));
    assert_eq!(refused["ok"], false);
    assert!(refused["message"].as_str().unwrap().contains("outstanding"), "{refused}");
    assert!(!refused["help"].as_str().unwrap().is_empty());

    for question in [&b"\0\0\0\0"[..], b"\x02\0\0\0{}", b"\xff\xff\xff\xff", b""] {
        let answered = strewn_playground::answer(question, &());
        let answered = Packet::read(&answered).unwrap();
        let json: Value = serde_json::from_slice(answered.json).unwrap();
        assert_eq!(json["ok"], false, "{json}");
    }
    let question = about(TEXT, json!({ "call": "run_array", "array": 2 }));
    assert_eq!(ask(question, &[], &()).0["ok"], false);
    let question = about(TEXT, json!({ "call": "results", "wall_seconds": 0.0 }));
    assert_eq!(ask(question.clone(), &[b"", b"damaged"], &()).0["ok"], false);
    assert_eq!(ask(question, &[b""], &()).0["ok"], false);
}

/// A way to buy an array keeps its level of protection, if it gives none of its own: complete runs are not lost for it.
#[test]
fn regression_a_configuration_without_a_protection_level_has_that_of_its_array() {
    let text = TEXT.replace("segments = 14\n", "segments = 1\n");
    let (text, level) = (text.replacen("protection_level = \"none\"\n", "", 1), "protection_level");
    assert_eq!(text.matches(level).count() + 1, TEXT.matches(level).count());
    let text = text.replace("segments = [1, 2]", "segments = [1]");
    let run = |array: usize| {
        let question = about(&text, json!({ "call": "run_array", "array": array }));
        ask(question, &[], &()).1.remove(0)
    };
    let question = about(&text, json!({ "call": "results", "wall_seconds": 0.0 }));
    let (answer, _) = ask(question, &[&run(0), &run(1)], &());
    assert_eq!(answer["ok"], true, "{}", answer["message"]);
}

#[test]
fn what_a_page_cannot_hold_is_refused_before_it_runs() {
    let array = |number: usize| {
        format!(
            "[[array]]\nname = \"a{number}\"\ncontroller = \"fas2050\"\noutstanding = 8\nlun = \"100 GB\"\n"
        )
    };
    let head = TEXT.split("[[array]]").next().unwrap().replace("100 GiB", "10 GiB");
    let head: String = head
        .lines()
        .filter(|line| !line.starts_with("published"))
        .map(|line| format!("{line}\n"))
        .collect();
    for (count, is_refused) in [(2, false), (65, true)] {
        let text = head.clone() + &(0..count).map(array).collect::<String>();
        let (answer, _) = ask(about(&text, json!({ "call": "check" })), &[], &());
        assert_eq!(answer["ok"], true, "{answer}");
        assert_eq!(answer["too_large"].is_string(), is_refused, "{}", answer["too_large"]);
    }
    let wrong: String = (0..1000).map(|number| format!("wrong{number} = 1\n")).collect();
    let (answer, _) = ask(about(&wrong, json!({ "call": "check" })), &[], &());
    let shown = answer["problems"].as_array().unwrap().len();
    assert!((10..100).contains(&shown) && answer["all"].as_u64().unwrap() >= 1000, "{shown}");
}
