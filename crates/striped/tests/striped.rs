//! A kind that a program adds runs, reports, sweeps and shows on the page as those that ship.
#![allow(clippy::unwrap_used)]

use std::sync::Once;

use serde_json::{Value, json};
use strewn_playground::packet::{Packet, packet};
use strewn_run::{RunOptions, run_with_map};
use strewn_scenario::{Scenario, kinds};
use strewn_striped::Striped;
use strewn_sweep::{Store, Study, SweepOptions, collect, run_points};

const TEXT: &str = r#"
schema = 1
name = "striped"
title = "RAID-0 without cache or log"
seed = 1
segments = 2
segment = "10 s"

[workload]
access_specification = "file-server"
file = "4 GiB"

[[array]]
name = "striped"
outstanding = 32
lun = "500 GB"

[array.processor]
host_operation = "76 us"
spindle_command = "110 us"
per_kib = "0.5 us"

[array.striped]
spindles = 8
"#;

fn added() {
    static ADDED: Once = Once::new();
    ADDED.call_once(kinds::add::<Striped>);
}

#[test]
fn it_runs_and_reports() {
    added();
    let scenario = Scenario::parse(TEXT, "striped.toml").unwrap();
    let (results, map) = run_with_map(&scenario, &RunOptions::default(), &()).unwrap();
    let array = &results.arrays[0];
    assert_eq!(
        (array.layout.as_str(), array.spindles.data, array.spindles.parity),
        ("striped", 8, 0)
    );
    let [first, second] = &array.segments[..] else { panic!("{array:?}") };
    // Nothing ages. The file is half a GiB of each drive, which hardly seeks: half a turn of 4 ms, less by its queue.
    assert!((second.iops / first.iops - 1.0).abs() < 0.05, "{} {}", first.iops, second.iops);
    assert!((8.0 * 250.0..8.0 * 500.0).contains(&first.iops), "{}", first.iops);
    assert!(first.layout.score > 0.9, "{}", first.layout.score);
    // Four fifths read, 11.1 KiB on average from any sector on: one in six goes on in a second chunk of 64 KiB.
    let commands = first.spindle_commands.reads_per_host_op;
    assert!((commands / (0.8 * (1.0 + (11.1 - 0.5) / 64.0)) - 1.0).abs() < 0.02, "{commands}");
    let tables = strewn_report::all_tables(&results);
    assert!(tables.contains("striped"), "{tables}");
    assert!(map.to_json_string().unwrap().contains("striped"));
    let again = run_with_map(&scenario, &RunOptions::default(), &()).unwrap().0;
    assert_eq!(again.arrays, results.arrays);
}

#[test]
fn mistakes_have_their_place_and_remedy() {
    added();
    let problem = |from: &str, to: &str| {
        let error = Scenario::parse(&TEXT.replace(from, to), "striped.toml").unwrap_err();
        let problem = &error.problems()[0];
        (problem.field().to_owned(), problem.help().to_owned())
    };
    let (field, help) = problem("spindles = 8", "spindels = 8");
    assert_eq!(
        (field.as_str(), help.as_str()),
        ("array[striped].striped.spindels", "did you mean `spindles`?")
    );
    assert_eq!(problem("500 GB", "2000 GB").0, "array[striped].lun");
    assert_eq!(
        problem("spindles = 8", "spindles = 8\nchunk = \"5 KiB\"").0,
        "array[striped].striped.chunk"
    );
    assert_eq!(
        problem("[array.striped]", "[array.pair]\ninterconnect = \"1 GB/s\"\n[array.striped]").0,
        "array[striped].pair"
    );
    let (_, help) = problem("[array.striped]\nspindles = 8", "");
    assert!(help.contains("[array.striped]"), "{help}");
}

#[test]
fn it_is_set_by_name_swept_and_in_the_schema() {
    added();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("striped.toml");
    std::fs::write(&file, TEXT).unwrap();
    let study = r#"
schema = 1
name = "spindles"
title = "More spindles"
scenario = "striped.toml"
scale_down = 8

[[axis]]
name = "spindles"
setting = "array.striped.striped.spindles"
values = [4, 8, 16]
"#;
    let plan =
        Study::parse(study, directory.path().join("study.toml")).unwrap().plan(None).unwrap();
    let store = Store::new(directory.path().join("runs"));
    store.write_plan(&plan).unwrap();
    let end = run_points(&plan, &store, &SweepOptions::default(), &()).unwrap();
    let sweep = collect(&plan, &store, &end.failures()).unwrap();
    assert!(sweep.missing.is_empty());
    let name = "striped: IOPS, last segment";
    let figure = sweep.figures.iter().position(|figure| figure.name == name).unwrap();
    let rows = sweep.rows.iter().filter(|row| row.figure == figure);
    let iops: Vec<f64> = rows.map(|row| row.mean.unwrap()).collect();
    assert!(iops.windows(2).all(|pair| pair[1] > 1.4 * pair[0]), "{iops:?}");
    let schema: Value = serde_json::from_str(&strewn_scenario::schema_json()).unwrap();
    assert!(schema.to_string().contains("Chunks over all spindles"));
}

#[test]
fn the_page_has_its_controls_and_results() {
    added();
    let ask = |question: Value, attachments: &[&[u8]]| -> (Value, Vec<Vec<u8>>) {
        let answered = strewn_playground::answer(&packet(&question, attachments), &());
        let answered = Packet::read(&answered).unwrap();
        let attached = answered.attachments.iter().map(|bytes| bytes.to_vec()).collect();
        (serde_json::from_slice(answered.json).unwrap(), attached)
    };
    let about = |call: &str| {
        json!({ "call": call, "text": TEXT, "files": {}, "scale_down": 8, "array": 0,
                "wall_seconds": 1.0 })
    };
    let (checked, _) = ask(about("check"), &[]);
    let controls = checked["controls"].as_array().unwrap();
    let has = |path: &str| controls.iter().any(|control| control["path"] == path);
    assert!(
        has("array.striped.striped.spindles") && has("array.striped.striped.chunk"),
        "{checked}"
    );
    let (_, done) = ask(about("run_array"), &[]);
    let (shown, _) = ask(about("results"), &[&done[0]]);
    assert_eq!(shown["ok"], true, "{shown}");
    assert!(shown["sections"][0]["html"].as_str().unwrap().contains("striped"));
}

/// A kind whose table is called as something that an array has already.
macro_rules! misdeclared {
    ($name:ident, $key:literal, $fields:expr) => {
        #[derive(Debug, Clone, Default, PartialEq)]
        struct $name(Striped, u64);

        impl kinds::Table for $name {
            fn fields(&mut self, f: &mut kinds::Fields<'_>) {
                let fields: fn(&mut Self, &mut kinds::Fields<'_>) = $fields;
                fields(self, f);
            }
        }

        impl kinds::Kind for $name {
            fn table(&self) -> (&'static str, &'static str) {
                ($key, "A kind that cannot be added.")
            }
            fn layout(&self) -> strewn_results::LayoutKind {
                self.0.layout()
            }
            fn refusal(&self, part: kinds::Part) -> Option<(&'static str, &'static str)> {
                self.0.refusal(part)
            }
            fn spindles_by_purpose(&self) -> kinds::KindSpindles {
                self.0.spindles_by_purpose()
            }
            fn check_room(
                &self,
                section: &kinds::Section<'_>,
                luns: &[strewn_scenario::Lun],
                volumes: &[strewn_scenario::Volume],
                drive_bytes: u64,
            ) {
                self.0.check_room(section, luns, volumes, drive_bytes);
            }
            fn simulate(
                &self,
                set_up: kinds::SetUp<'_>,
            ) -> Result<Box<dyn strewn_sim::Simulated>, strewn_scenario::build::SetUpError> {
                self.0.simulate(set_up)
            }
            fn mapped<'a>(
                &self,
                array: &'a dyn std::any::Any,
            ) -> Option<&'a dyn strewn_scenario::build::Mapped> {
                self.0.mapped(array)
            }
            fn capacity(&self) -> strewn_results::CapacityRule {
                self.0.capacity()
            }
        }
    };
}

misdeclared!(Processor, "processor", |_, _| {});
misdeclared!(Spaced, "odd kind", |_, _| {});
misdeclared!(BadDefault, "bad_default", |own, f| {
    f.value(kinds::size("buffer", "A size.").chosen("0"), &mut own.1);
});
misdeclared!(Twice, "twice", |own, f| {
    f.value(kinds::size("buffer", "A size.").chosen("\"1 MiB\""), &mut own.1);
    f.value(kinds::size("buffer", "A size.").chosen("\"1 MiB\""), &mut own.1);
});

#[test]
fn a_kind_that_is_declared_wrongly_is_not_added() {
    fn refusal(add: fn()) -> String {
        let refused = std::panic::catch_unwind(add).unwrap_err();
        refused.downcast_ref::<String>().unwrap().clone()
    }
    assert!(refusal(kinds::add::<Processor>).contains("there is [array.processor]"));
    assert!(refusal(kinds::add::<Spaced>).contains("`odd kind` is no key"));
    assert!(refusal(kinds::add::<BadDefault>).contains("buffer has the default 0"));
    assert!(refusal(kinds::add::<Twice>).contains("buffer is declared twice"));
}

#[test]
fn luns_have_room_in_whole_chunks() {
    added();
    let text = TEXT.replace("spindles = 8", "spindles = 4\nchunk = \"1 GiB\"");
    let of = |gib: u32| text.replace("\"500 GB\"", &format!("\"{gib} GiB\""));
    // Four drives of 136.7 GiB have 136 chunks each.
    Scenario::parse(&of(544), "striped.toml").unwrap();
    let error = Scenario::parse(&of(545), "striped.toml").unwrap_err();
    assert_eq!(error.problems()[0].field(), "array[striped].lun");
}
