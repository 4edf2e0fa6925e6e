//! Scenarios with phases: a run ages its arrays, scans them, and does both again.

use strewn::results::Results;

use crate::common::Folder;

/// Random writes between two scans of a write-anywhere array, beside one that updates in place.
const SCENARIO: &str = r#"
schema = 1
name = "phased"
title = "A scan before and after ageing"
seed = 3
segment = "10 s"

[[workload]]
name = "updates"
lun = "data"
file = "256 MiB"
outstanding = 16
alignment = "4 KiB"
[[workload.access]]
bytes = "4 KiB"
percent = 100
read_percent = 0
random_percent = 100

[[workload]]
name = "scan"
lun = "data"
file = "256 MiB"
outstanding = 2
[[workload.access]]
bytes = "128 KiB"
percent = 100
read_percent = 100
random_percent = 0

[[phase]]
name = "fresh"
segments = 1
workloads = ["scan"]

[[phase]]
name = "ageing"
segments = 3
workloads = ["updates"]

[[phase]]
name = "aged"
segments = 2
workloads = ["scan"]

[[array]]
name = "filer"
controller = "fas2050"
[array.write_anywhere]
buffer_cache = "16 MiB"
log_half = "4 MiB"
[[array.lun]]
name = "data"
size = "1 GB"

[[array]]
name = "in place"
controller = "eva4400"
[array.in_place]
write_cache = "4 MiB"
[[array.lun]]
name = "data"
size = "1 GB"
"#;

fn run(arguments: &[&str]) -> String {
    let folder = Folder::new();
    folder.write("phased.toml", SCENARIO);
    folder.strewn(&[&["run", "phased.toml"], arguments].concat()).succeeded()
}

#[test]
fn what_one_phase_has_aged_the_next_one_scans() {
    let results = Results::from_json(&run(&["--json"])).unwrap();
    for array in &results.arrays {
        let phases: Vec<_> = array.segments.iter().filter_map(|one| one.phase.as_deref()).collect();
        assert_eq!(phases, ["fresh", "ageing", "ageing", "ageing", "aged", "aged"]);
        for segment in &array.segments {
            let [only] = segment.by_workload.as_slice() else { panic!("{segment:?}") };
            let scans = segment.phase.as_deref() != Some("ageing");
            assert_eq!(only.name, if scans { "scan" } else { "updates" });
            // Nothing of one phase is counted in the next.
            assert_eq!(
                (only.reads.ops, only.writes.ops),
                if scans { (segment.ops, 0) } else { (0, segment.ops) }
            );
        }
        let [fresh, ageing, aged] = array.phases.as_slice() else { panic!("{:?}", array.phases) };
        assert_eq!((fresh.outstanding, ageing.outstanding, aged.outstanding), (2, 16, 2));
        assert_eq!((aged.first_segment, aged.last_segment()), (5, 6));
        assert_eq!(array.outstanding, 16);
    }
    let scans = |array: usize| {
        let segments = &results.arrays[array].segments;
        (segments[0].iops, segments[5].iops)
    };
    let (fresh, aged) = scans(0);
    assert!(aged < 0.5 * fresh, "{fresh} {aged}");
    let (fresh, aged) = scans(1);
    assert!((aged / fresh - 1.0).abs() < 0.02, "{fresh} {aged}");
    let accounts: Vec<_> = results
        .losses
        .iter()
        .map(|loss| {
            (loss.array.as_str(), loss.workloads.concat(), loss.from_segment, loss.to_segment)
        })
        .collect();
    assert!(accounts.contains(&("filer", "scan".to_owned(), 1, 6)), "{accounts:?}");
    assert!(accounts.iter().all(|(_, workload, from, _)| (workload == "scan") == (*from == 1)));
}

#[test]
fn a_phase_of_a_workload_does_not_repeat_an_earlier_one() {
    let folder = Folder::new();
    let again = "[[phase]]\nname = \"again\"\nsegments = 3\nworkloads = [\"updates\"]\n\n[[array]]\nname = \"filer\"";
    let text = SCENARIO.replacen("[[array]]\nname = \"filer\"", again, 1);
    folder.write("phased.toml", &text);
    let limit = ["--set", "workload.1.outstanding=1", "--set", "segment=2 s"];
    let json = folder.strewn(&[&["run", "phased.toml", "--json"], &limit[..]].concat()).succeeded();
    let results = Results::from_json(&json).unwrap();
    let rewritten =
        |segment: usize| results.arrays[0].segments[segment].layout.rewritten_percent.unwrap();
    // The same writes once more would rewrite nothing else.
    let (first, both) = (rewritten(3), rewritten(8));
    let expected = 100.0 * (1.0 - (1.0 - first / 100.0).powi(2));
    assert!(first < 95.0 && both > first + 0.5 * (expected - first), "{first} {both} {expected}");
}

#[test]
fn tables_files_and_page_have_a_row_for_each_phase() {
    let folder = Folder::new();
    folder.write("phased.toml", SCENARIO);
    let tables = folder.strewn(&["run", "phased.toml", "--out", "out"]).succeeded();
    let heading = tables.lines().position(|line| line == "Phases").unwrap();
    let rows: Vec<&str> = tables.lines().skip(heading).take(12).collect();
    for row in
        ["filer      fresh    scan", "filer      ageing   updates", "in place   aged     scan"]
    {
        assert!(rows.iter().any(|line| line.trim_start().starts_with(row)), "{row}: {rows:#?}");
    }
    let csv = folder.read("out/segments.csv");
    let last: Vec<&str> = csv.lines().filter_map(|line| line.rsplit(',').next()).collect();
    assert_eq!(last[..7], ["phase", "fresh", "ageing", "ageing", "ageing", "aged", "aged"]);
    assert!(folder.read("out/iops.svg").contains("\nageing\n"));
    assert!(folder.read("out/report.html").contains("Each phase, over all its segments"));
    let drawn = folder.read("out/report.html");
    folder.strewn(&["report", "out"]).succeeded();
    assert_eq!(folder.read("out/report.html"), drawn);
}

#[test]
fn results_without_phases_say_nothing_of_them() {
    let folder = Folder::new();
    folder.strewn(&["run", "small.toml", "--out", "out"]).succeeded();
    assert!(!folder.read("out/results.json").contains("\"phase"));
    assert!(!folder.read("out/segments.csv").contains("phase"));
}

#[test]
fn a_file_of_another_tool_does_not_say_what_phases_run() {
    let folder = Folder::new();
    folder.write("phased.toml", SCENARIO);
    folder.write("job.fio", "[a]\nrw=randread\nbs=4k\nsize=8m\n");
    let refused = folder.strewn(&["run", "phased.toml", "--fio-job", "job.fio"]);
    assert_ne!(refused.code, Some(0));
    for part in ["the scenario has phases, each with workloads of its own", "and no [[phase]]"] {
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
}

#[test]
fn a_mistake_in_a_phase_is_refused_at_its_line() {
    let folder = Folder::new();
    folder.write(
        "phased.toml",
        &SCENARIO.replacen("workloads = [\"scan\"]", "workloads = [\"scna\"]", 1),
    );
    let refused = folder.strewn(&["run", "phased.toml"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    for part in ["phased.toml:34:14", "there is no workload `scna`", "did you mean `scan`?"] {
        assert!(refused.stderr.contains(part), "no {part:?}: {}", refused.stderr);
    }
}

#[test]
fn a_run_may_end_in_an_early_phase_and_not_go_on_after_the_last() {
    let folder = Folder::new();
    folder.write("phased.toml", SCENARIO);
    let json = folder.strewn(&["run", "phased.toml", "--json", "--segments", "2"]).succeeded();
    let results = Results::from_json(&json).unwrap();
    let phases: Vec<_> =
        results.arrays[0].segments.iter().map(|one| one.phase.as_deref()).collect();
    assert_eq!(phases, [Some("fresh"), Some("ageing")]);
    folder.strewn(&["run", "phased.toml", "--segments", "2"]).succeeded();
    let refused = folder.strewn(&["run", "phased.toml", "--segments", "7"]);
    refused.refused(&["--segments 7: the phases have 6 together", "--set phase.1.segments=20"]);
}

#[test]
fn the_price_of_a_spindle_is_that_of_like_phases() {
    let folder = Folder::new();
    let way = |array: &str, level: &str| {
        format!(
            "[[overhead.configuration]]\narray = \"{array}\"\nname = \"alone\"\nsource = \"a test\"\n{level}"
        )
    };
    let prices = format!(
        "[overhead]\nusd_per_spindle = 1000.0\n{}{}",
        way("filer", ""),
        way("in place", "protection_level = \"none\"\n")
    );
    folder.write("phased.toml", &format!("{SCENARIO}\n{prices}"));
    let json = folder.strewn(&["run", "phased.toml", "--json"]).succeeded();
    let results = Results::from_json(&json).unwrap();
    let rows: Vec<_> =
        results.overhead.iter().map(|row| (row.array.as_str(), row.workloads.concat())).collect();
    let of = |array, workload: &str| (array, workload.to_owned());
    let expected = [
        of("filer", "scan"),
        of("in place", "scan"),
        of("filer", "updates"),
        of("in place", "updates"),
    ];
    assert_eq!(rows, expected);
    let filer = &results.arrays[0].segments;
    assert_eq!(
        (results.overhead[0].iops_fresh, results.overhead[0].iops_end),
        (filer[0].iops, filer[5].iops)
    );
}

#[test]
fn a_bench_measures_each_phase() {
    let folder = Folder::new();
    folder.write("phased.toml", SCENARIO);
    let costs = folder.strewn(&["bench", "phased.toml", "--seconds", "1"]);
    assert_eq!(costs.code, Some(0), "{}", costs.stderr);
    assert!(costs.stdout.contains("filer"), "{}", costs.stdout);
}
