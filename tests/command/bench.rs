//! `strewn bench`: what a scenario will cost.

use crate::common::Folder;
use serde_json::Value;

#[test]
fn each_array_has_its_rates_memory_and_parts() {
    let tables = Folder::new().strewn(&["bench", "small.toml", "--seconds", "0.2"]).succeeded();
    for part in ["anywhere", "inplace", "bytes/block", "all segments", "the spindles", "% of"] {
        assert!(tables.contains(part), "no {part:?} in\n{tables}");
    }
}

#[test]
fn json_of_one_array_adds_up() {
    let words = ["bench", "small.toml", "--array", "inplace", "--seconds", "0.5", "--json"];
    let json: Value = serde_json::from_str(&Folder::new().strewn(&words).succeeded()).unwrap();
    let [cost] = json.as_array().unwrap().as_slice() else { panic!("one array, not {json}") };
    assert_eq!(cost["array"], "inplace");
    let figure = |name: &str| cost[name].as_f64().unwrap();
    let rate = figure("host_ops") / figure("wall_seconds");
    assert!((rate / figure("host_ops_per_second") - 1.0).abs() < 0.01, "{cost}");
    assert!(figure("spindle_commands_per_second") > figure("host_ops_per_second"), "{cost}");
    let parts = cost["parts"].as_array().unwrap();
    let percent: f64 = parts.iter().map(|part| part["percent"].as_f64().unwrap()).sum();
    assert!((percent - 100.0).abs() < 0.1, "{cost}");
    let spindles = parts.iter().find(|part| part["part"].as_str().unwrap().contains("spindles"));
    assert!(spindles.unwrap()["percent"].as_f64().unwrap() > 5.0, "{cost}");
}

/// At an eighth, as `strewn run --quick` has it: an eighth of the memory and of the time.
#[test]
fn a_quick_run_costs_an_eighth() {
    let folder = Folder::new();
    let cost = |words: &[&str]| -> Value {
        let own = ["bench", "small.toml", "--array", "inplace", "--seconds", "0.3", "--json"];
        let printed = folder.strewn(&[&own, words].concat()).succeeded();
        serde_json::from_str::<Value>(&printed).unwrap()[0].clone()
    };
    let (whole, quick) = (cost(&[]), cost(&["--quick"]));
    let ratio = |name: &str| whole[name].as_f64().unwrap() / quick[name].as_f64().unwrap();
    assert!(ratio("whole_seconds") > 2.0, "{whole} {quick}");
}

#[test]
fn regression_what_does_not_fit_can_be_measured_at_a_smaller_scale() {
    let folder = Folder::new();
    let (head, _) = crate::common::SMALL.split_once("[[array]]\nname = \"inplace\"").unwrap();
    let head = head.replace("published = \"small.published.toml\"\n", "");
    let fitted = "[array.fitted]\nparameters = [\"processor.host_operation\"]\nsegments = [1]\n";
    let large = format!("{}\n[array.page_cache]\nsize = \"900 TiB\"\n", head.replace(fitted, ""));
    folder.write("large.toml", &large);
    let words = ["bench", "large.toml", "--seconds", "0.1"];
    folder.strewn(&words).refused(&["MiB of memory", "help: measure a smaller one: --scale-down "]);
    let scaled = ["bench", "small.toml", "--scale-down", "16", "--seconds", "0.1"];
    folder.strewn(&scaled).succeeded();
    folder.strewn(&[&scaled[..], &["--quick"]].concat()).refused(&["cannot be used with"]);
}

#[test]
fn what_is_not_there_is_named() {
    let folder = Folder::new();
    let anyhow = folder.strewn(&["bench", "small.toml", "--array", "anyhow"]);
    anyhow.refused(&["no array \"anyhow\"", "anywhere, inplace"]);
    for seconds in ["0", "-1", "NaN", "inf", "1e9", "five"] {
        let refused = folder.strewn(&["bench", "small.toml", "--seconds", seconds]);
        refused.refused(&["such as --seconds 5"]);
    }
    folder.strewn(&["bench", "smal.toml"]).refused(&["no scenario smal.toml"]);
}
