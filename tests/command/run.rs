//! `strewn run`: what it prints.

use std::io::Read;
use std::process::Stdio;

use crate::common::{Folder, Ran};
use serde_json::Value;
use strewn::results::{Results, Segment};

fn results(text: &str) -> Results {
    Results::from_json(text).unwrap()
}

#[test]
fn tables_have_what_was_published_beside_what_was_simulated() {
    let tables = Folder::new().strewn(&["run", "small.toml"]).succeeded();
    let lines: Vec<Vec<&str>> =
        tables.lines().map(|line| line.split_whitespace().collect()).collect();
    let published: Vec<&str> = lines
        .iter()
        .filter(|words| {
            matches!(words.get(1), Some(&"fitted" | &"predicted")) && words[0].len() == 1
        })
        .map(|words| words[3])
        .collect();
    assert_eq!(published, ["840", "750", "700", "1600", "1600", "1600"], "{tables}");
    for part in [
        "anywhere: write-anywhere, 8 outstanding, 5 working spindles of 6 to buy",
        "inplace: in-place, 8 outstanding, 8 working spindles of 8 to buy",
        "RMS error of",
        "anywhere over inplace   at first",
        "processor.host_operation",
        "8: protection level single *",
    ] {
        assert!(tables.contains(part), "no {part:?} in\n{tables}");
    }
    assert!(!tables.contains("of full scale"), "{tables}");
}

#[test]
fn json_has_every_field_that_other_programs_read() {
    let text = Folder::new().strewn(&["run", "small.toml", "--json"]).succeeded();
    let read = results(&text);
    assert_eq!((read.seed, read.arrays.len(), read.arrays[0].segments.len()), (7, 2, 3));
    assert_eq!(read.to_json_string().unwrap(), text);

    let json: Value = serde_json::from_str(&text).unwrap();
    for pointer in [
        "/schema",
        "/scenario",
        "/seed",
        "/strewn",
        "/wall_seconds",
        "/host_ops",
        "/arrays/0/name",
        "/arrays/0/outstanding",
        "/arrays/0/spindles/data",
        "/arrays/0/spindles/parity",
        "/arrays/0/spindles/spare",
        "/arrays/0/spindles/root",
        "/arrays/0/spindles/purchased",
        "/arrays/0/segments/0/index",
        "/arrays/0/segments/0/seconds",
        "/arrays/0/segments/0/ops",
        "/arrays/0/segments/0/iops",
        "/arrays/0/segments/0/mib_per_s",
        "/arrays/0/segments/0/response_ms/mean",
        "/arrays/0/segments/0/response_ms/p50",
        "/arrays/0/segments/0/response_ms/p95",
        "/arrays/0/segments/0/response_ms/p99",
        "/arrays/0/segments/0/response_ms/max",
        "/arrays/0/segments/0/utilization/controller",
        "/arrays/0/segments/0/utilization/spindles",
        "/arrays/0/segments/0/utilization/parity_spindles",
        "/arrays/0/segments/0/spindle_commands/read",
        "/arrays/0/segments/0/spindle_commands/write",
        "/arrays/0/segments/0/spindle_commands/reads_per_host_op",
        "/arrays/0/segments/0/spindle_commands/mean_queue_depth",
        "/arrays/0/segments/0/spindle_commands/mean_service_ms",
        "/arrays/0/segments/0/layout/score",
        "/arrays/0/segments/0/layout/extents_per_gib",
        "/arrays/0/segments/0/layout/span_percent",
        "/arrays/0/segments/0/layout/rewritten_percent",
        "/arrays/0/segments/0/free_space/score",
        "/arrays/0/segments/0/free_space/largest_run_blocks",
        "/arrays/0/segments/0/consistency_points/count",
        "/arrays/0/segments/0/consistency_points/blocks_per_cp",
        "/arrays/0/segments/0/consistency_points/full_stripe_percent",
        "/published/0/predicted_rms_error_percent",
        "/published/0/worst_error_percent",
    ] {
        let found = json.pointer(pointer);
        assert!(found.is_some_and(|value| value.is_number() || value.is_string()), "{pointer}");
    }
    assert_eq!(json.pointer("/published/0/fitted_segments"), Some(&serde_json::json!([1])));
    assert_eq!(json.pointer("/published/0/metric"), Some(&serde_json::json!("iops")));
    assert_eq!(json.pointer("/partial"), None);
    assert_eq!(json.pointer("/scaled"), None);
}

/// The array that never moves a block stays as it was; the other declines.
#[test]
fn writing_anywhere_scatters_and_writing_in_place_does_not() {
    let read = results(&Folder::new().strewn(&["run", "small.toml", "--json"]).succeeded());
    let decline = |name: &str| {
        let segments: &[Segment] = &read.array(name).unwrap().segments;
        segments[2].iops / segments[0].iops
    };
    assert!(decline("anywhere") < 0.9, "{}", decline("anywhere"));
    assert!((decline("inplace") - 1.0).abs() < 0.02, "{}", decline("inplace"));
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let folder = Folder::new();
    let run = |jobs| {
        let words = ["run", "small.toml", "--json", "--jobs", jobs];
        let text = folder.strewn(&words).succeeded();
        results(&text).without_wall_time().to_json_string().unwrap()
    };
    let alone = run("1");
    assert_eq!(alone, run("2"));
    assert_eq!(alone, run("5"));
}

#[test]
fn another_seed_gives_other_figures() {
    let folder = Folder::new();
    let run = |words: &[&str]| {
        let words = [&["run", "small.toml", "--json"], words].concat();
        results(&folder.strewn(&words).succeeded())
    };
    let (one, other, own) = (run(&["--seed", "1"]), run(&["--seed", "2"]), run(&["--seed", "7"]));
    assert_eq!((one.seed, other.seed), (1, 2));
    assert_ne!(one.arrays[0].segments, other.arrays[0].segments);
    assert_ne!(one.arrays[1].segments, other.arrays[1].segments);
    assert_eq!(own.arrays, run(&[]).arrays);
}

/// Segments that are not published are measured all the same, and compared with nothing.
#[test]
fn there_may_be_more_segments_than_are_published() {
    let folder = Folder::new();
    let run = |segments: &str| {
        let words = ["run", "small.toml", "--json", "--segments", segments];
        results(&folder.strewn(&words).succeeded())
    };
    let (one, five) = (run("1"), run("5"));
    assert_eq!(one.arrays[0].segments[..], five.arrays[0].segments[..1]);
    assert_eq!(five.arrays[0].segments.len(), 5);
    assert_eq!(five.published[0].segments.len(), 3);
}

#[test]
fn a_quick_run_says_what_it_made_smaller() {
    let folder = Folder::new();
    // Segments long enough that an eighth of one still measures something.
    folder.write("long.toml", &crate::common::SMALL.replace("\"60 s\"", "\"8 min\""));
    let tables = folder.strewn(&["run", "long.toml", "--quick"]).succeeded();
    let second = tables.lines().nth(1).unwrap();
    assert!(second.contains("At 1/8 of full scale.") && tables.contains("  file "), "{tables}");

    let read = results(&folder.strewn(&["run", "long.toml", "--quick", "--json"]).succeeded());
    assert_eq!(read.scaled.unwrap().by, 8);
    assert_eq!(read.arrays[0].segments[0].seconds, 60.0);
}

/// Nobody reads on: that is no failure, and nothing to complain of.
#[test]
fn a_closed_pipe_is_no_failure() {
    let folder = Folder::new();
    for words in [&["run", "small.toml"][..], &["run", "small.toml", "--json"], &["--help"]] {
        let mut command = folder.command(words);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""), "{words:?}");
    }
}

/// A volume has to hold more than its LUN: metadata, frees held back, the blocks of a consistency point.
#[test]
fn regression_a_file_may_fill_its_lun() {
    let folder = Folder::new();
    let text = crate::common::SMALL;
    let file = text.lines().find(|line| line.starts_with("file = ")).unwrap();
    let size = file.split('"').nth(1).unwrap();
    let full: String = text
        .lines()
        .map(|line| {
            if line.starts_with("lun = ") {
                format!("lun = \"{size}\"\n")
            } else {
                format!("{line}\n")
            }
        })
        .collect();
    folder.write("full.toml", &full);
    let read = results(&folder.strewn(&["run", "full.toml", "--json"]).succeeded());
    assert!(read.arrays.iter().all(|array| !array.segments.is_empty()));
}

#[test]
fn a_scenario_comes_by_standard_input_too() {
    let folder = Folder::new();
    let run = |words: &[&str], text: &[u8]| {
        let mut child = folder
            .command(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // One that is refused before it is read closes the pipe.
        let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), text);
        Ran::of(child.wait_with_output().unwrap())
    };
    let by_file = results(&folder.strewn(&["run", "small.toml", "--json"]).succeeded());
    let text = crate::common::SMALL.as_bytes();
    let by_input = results(&run(&["run", "-", "--json"], text).succeeded());
    assert_eq!(by_input.arrays, by_file.arrays);

    run(&["run", "-"], b"").refused(&["standard input", "schema"]);
    run(&["run", "-"], b"\xff\xfe\x00").refused(&["standard input cannot be read as text"]);
    run(&["run", "-"], &vec![b'#'; (16 << 20) + 1]).refused(&["beyond 16 MiB"]);
    run(&["calibrate", "-"], text).refused(&["--dry-run"]);
}

#[test]
#[cfg_attr(not(feature = "parquet"), ignore = "built without the feature parquet")]
fn the_table_of_segments_as_parquet() {
    let folder = Folder::new();
    folder.strewn(&["run", "small.toml", "--out", "out", "--table", "parquet"]).succeeded();
    let bytes = std::fs::read(folder.path("out/segments.parquet")).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    assert!(!folder.path("out/segments.csv").exists());
    folder.strewn(&["run", "small.toml", "--table", "parquet"]).refused(&["--out DIR"]);
    // A report rewrites what is there.
    folder.write("out/segments.parquet", "of an older version");
    folder.strewn(&["report", "out"]).succeeded();
    assert!(!folder.path("out/segments.csv").exists());
    assert_eq!(std::fs::read(folder.path("out/segments.parquet")).unwrap(), bytes);
    folder.strewn(&["report", "out", "--table", "csv"]).succeeded();
    folder.write("out/segments.parquet", "of an older version");
    folder.write("out/segments.csv", "of an older version");
    folder.strewn(&["report", "out"]).succeeded();
    assert_eq!(std::fs::read(folder.path("out/segments.parquet")).unwrap(), bytes);
    assert!(folder.read("out/segments.csv").starts_with("array,"));
}

#[test]
#[cfg_attr(feature = "parquet", ignore = "built with the feature parquet")]
fn a_build_without_parquet_names_the_feature() {
    let words = ["run", "small.toml", "--out", "out", "--table", "parquet"];
    Folder::new().strewn(&words).refused(&["without Parquet", "--features parquet"]);
}

#[test]
fn settings_are_changed_by_name() {
    let folder = Folder::new();
    let run = |words: &[&str]| {
        let words = [&["run", "small.toml", "--json", "--segments", "1"], words].concat();
        results(&folder.strewn(&words).succeeded())
    };
    let read = run(&[
        "--set",
        "array.policy=first-fit",
        "--set",
        "inplace.commands_per_spindle = 3",
        "--set",
        "workload.file=128 MiB",
        "--set",
        "anywhere.write_anywhere.spares=1",
    ]);
    let setting = |name: &str| read.settings[name].to_string();
    assert_eq!(setting("array.anywhere.write_anywhere.policy"), "first-fit");
    assert_eq!(setting("array.inplace.commands_per_spindle"), "3");
    assert_eq!(setting("array.anywhere.commands_per_spindle"), "4");
    assert_eq!(setting("array.anywhere.write_anywhere.spares"), "1");
    assert_eq!(setting("workload.file"), "128 MiB");
    assert_ne!(read.arrays[0].segments, run(&[]).arrays[0].segments);

    for (set, says) in [
        ("commands_per_spindle=3", &["is ambiguous", "`anywhere.commands_per_spindle`"][..]),
        ("array.polcy=first-fit", &["no setting `array.polcy`", "write_anywhere.policy`"]),
        ("policy=best-fit", &["`best-fit` is not known here", "first-fit"]),
        ("colour=red", &["no setting `colour`", "--explain"]),
        ("anywhere.outstanding=4000000", &["--set: anywhere.outstanding=4000000: ", "500000"]),
        ("lun=1 GB", &["is ambiguous"]),
        ("policy", &["give a name and a value"]),
    ] {
        let ran = folder.strewn(&["run", "small.toml", "--set", set]);
        ran.refused(says);
        // A line of the file is not to blame.
        assert!(!ran.stderr.contains("small.toml:"), "{}", ran.stderr);
    }
}

/// What was run is what the page and the copy of the scenario show.
#[test]
fn changed_settings_are_in_what_is_written() {
    let folder = Folder::new();
    let set = ["run", "small.toml", "--segments", "1", "--set", "array.policy=first-fit"];
    let explained = folder.strewn(&[&set[..], &["--explain"]].concat()).succeeded();
    let policy = explained.lines().find(|line| line.contains("write_anywhere.policy ")).unwrap();
    assert!(policy.ends_with("= first-fit"), "{policy}");
    folder.strewn(&[&set[..], &["--out", "o"]].concat()).succeeded();
    assert!(folder.read("o/report.html").contains("first-fit"));
    let copy = folder.read("o/scenario.toml");
    assert!(copy.starts_with("# small.toml, changed by\n#   --set array.policy=first-fit\n"));
    // Below that, the text is as it was, comments included.
    let expected = crate::common::SMALL.replacen("\"emptiest-area\"", "\"first-fit\"", 1);
    assert!(copy.ends_with(&format!("\n\n{expected}")), "{copy}");
    folder.write("again.toml", &copy);
    let again = folder.strewn(&["run", "again.toml", "--segments", "1", "--json"]).succeeded();
    let first = results(&folder.read("o/results.json"));
    assert_eq!(results(&again).arrays, first.arrays);
}

#[test]
fn every_setting_is_explained_with_its_default() {
    let explained = Folder::new().strewn(&["run", "small.toml", "--explain"]).succeeded();
    let line = |name: &str| {
        let found = explained.lines().find(|line| line.starts_with(&format!("{name} ")));
        found.unwrap_or_else(|| panic!("no {name} in {explained}"))
    };
    assert!(
        line("array.anywhere.write_anywhere.spares").ends_with("= 0   (default)"),
        "{explained}"
    );
    assert!(
        line("array.anywhere.write_anywhere.policy").ends_with("= emptiest-area"),
        "{explained}"
    );
    assert!(line("workload.alignment").ends_with("= 512 B   (default)"), "{explained}");
}

/// Returns the scenario with segments long enough that an eighth of one still measures something.
fn long() -> String {
    crate::common::SMALL.replace("\"60 s\"", "\"8 min\"")
}

#[test]
fn raid_5_in_place_is_simulated() {
    let folder = Folder::new();
    let text = long().split("[overhead]").next().unwrap().to_owned();
    folder.write("vraid.toml", &text);
    let text = text
        .replace("layout = \"vraid-5\"", "layout = \"raid-5\"")
        .replace("redundancy_sets = [8]\n", "")
        .replace("protection_level = \"single\"\n", "");
    folder.write("raid.toml", &text);
    let run = |name: &str| results(&folder.strewn(&["run", name, "--quick", "--json"]).succeeded());
    let (vraid, raid) = (run("vraid.toml"), run("raid.toml"));
    assert_eq!(raid.settings["array.inplace.in_place.layout"].to_string(), "raid-5");
    assert_eq!(raid.arrays[0].segments, vraid.arrays[0].segments);
    let array = raid.array("inplace").unwrap();
    assert_eq!((array.spindles.data, array.spindles.parity), (8, 0));
    assert!(array.segments.iter().all(|segment| segment.spindle_commands.parity_writes > 0));
    assert_ne!(array.segments, vraid.array("inplace").unwrap().segments);
    // A chunk stays on its spindle, whichever the layout.
    assert_eq!(array.segments[0].layout, array.segments[2].layout);

    let explained = folder.strewn(&["run", "raid.toml", "--explain"]).succeeded();
    for line in [
        "array.inplace.in_place.redundancy_sets              = 8   (default)",
        "array.inplace.in_place.protection_level             = none   (default)",
    ] {
        let words: Vec<&str> = line.split_whitespace().collect();
        let has = |line: &str| line.split_whitespace().eq(words.iter().copied());
        assert!(explained.lines().any(has), "no {line:?} in {explained}");
    }
}

#[test]
fn arrays_of_the_durable_format_are_simulated() {
    let folder = Folder::new();
    folder.write("long.toml", &long());
    let run = |words: &[&str]| {
        let words = [&["run", "long.toml", "--quick", "--json"], words].concat();
        results(&folder.strewn(&words).succeeded())
    };
    let set = |format: &str| {
        let settings = ["anywhere", "inplace"].map(|array| format!("{array}.format={format}"));
        run(&["--set", &settings[0], "--set", &settings[1]])
    };
    let (modelled, durable) = (run(&[]), set("durable"));
    // What is recorded of an array of its time does not depend on whether the scenario names its format.
    let json = |read: &Results| read.clone().without_wall_time().to_json_string().unwrap();
    assert_eq!(json(&set("modelled")), json(&modelled));
    assert!(!modelled.settings.keys().any(|name| name.ends_with(".format")));
    for (name, table) in [("anywhere", "write_anywhere"), ("inplace", "in_place")] {
        let setting =
            |key: &str| durable.settings[&format!("array.{name}.{table}.{key}")].to_string();
        assert_eq!(setting("format"), "durable");
        assert!(setting("log_half").ends_with("MiB"));
        let [array, before] = [&durable, &modelled].map(|read| read.array(name).unwrap());
        assert_eq!(array.segments.len(), 3);
        assert_ne!(array.segments, before.segments, "{name}");
    }
    let sets = ["--set", "inplace.log_half=16 MiB"];
    folder.strewn(&[&["run", "long.toml"][..], &sets].concat()).refused(&[
        "--set: inplace.log_half=16 MiB: ",
        "the modelled format has no log",
        "format = \"durable\"",
    ]);
}

#[test]
fn where_no_stripe_was_written_none_is_said_to_be_written_in_part() {
    let folder = Folder::new();
    folder.write(
        "reads.toml",
        "schema = 1\nname = \"reads\"\ntitle = \"reads\"\nseed = 1\nsegments = 2\nsegment = \"5 s\"\n\
         [workload]\nfile = \"256 MiB\"\n\
         [[workload.access]]\nbytes = \"8 KiB\"\npercent = 100\nread_percent = 100\nrandom_percent = 100\n\
         [[array]]\nname = \"a\"\ncontroller = \"fas2050\"\noutstanding = 8\nlun = \"1 GiB\"\n",
    );
    let printed =
        folder.strewn(&["run", "reads.toml", "--out", "out", "--columns", "all"]).succeeded();
    let reads = results(&folder.read("out/results.json"));
    for segment in &reads.arrays[0].segments {
        assert_eq!(segment.consistency_points.unwrap().full_stripe_percent, None);
    }
    // The last columns are what was rewritten, and parity reads for each operation: no segment has full stripes.
    let rows: Vec<&str> = printed.lines().filter(|line| line.ends_with(" 0.00")).collect();
    assert_eq!(rows.len(), 2, "{printed}");
    assert!(!printed.contains("stripes"), "{printed}");
    let csv = folder.read("out/segments.csv");
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let at = lines.next().unwrap().iter().position(|name| *name == "full_stripe_percent").unwrap();
    assert!(lines.all(|line| line[at].is_empty()), "{csv}");
    // A page of an older version's results says what they say.
    let older = folder.read("out/results.json");
    let older = older.replace("\"full_stripe_percent\": null", "\"full_stripe_percent\": 0.0");
    folder.write("out/results.json", &older);
    std::fs::remove_file(folder.path("out/provenance.json")).unwrap();
    folder.strewn(&["report", "out"]).succeeded();
    folder.strewn(&["run", "reads.toml", "--seed", "2", "--out", "two"]).succeeded();
    folder.strewn(&["run", "reads.toml", "--seed", "3", "--out", "three"]).succeeded();
    let compared = folder.strewn(&["compare", "two", "three"]).succeeded();
    let row = compared.lines().rfind(|line| line.trim_start().starts_with("three"));
    assert!(row.unwrap().split_whitespace().any(|cell| cell == "-"), "{compared}");
}

#[test]
fn a_run_ends_when_it_comes_to_its_goal() {
    let folder = Folder::new();
    let run = |more: &[&str]| {
        let all = [&["run", "small.toml", "--json", "--until"], more].concat();
        results(&folder.strewn(&all).succeeded())
    };
    let file_mib =
        |run: &Results| run.load.as_ref().unwrap().file_bytes as f64 / f64::from(1 << 20);
    let written = |run: &Results, array: usize, segments: usize| -> f64 {
        let reads = run.load.as_ref().unwrap().accesses.as_ref().unwrap().read_percent;
        let first = run.arrays[array].segments.iter().take(segments);
        first.map(|one| one.mib_per_s * one.seconds * (1.0 - reads / 100.0)).sum()
    };
    let half = run(&["rewritten 50 %"]);
    assert!(!half.partial);
    for (array, run) in half.arrays.iter().enumerate() {
        let segments = run.segments.len();
        assert!(written(&half, array, segments) >= 0.499 * file_mib(&half), "{segments}");
        assert!(written(&half, array, segments - 1) < 0.501 * file_mib(&half), "{segments}");
    }
    let goal = half.settings["until"].to_string();
    assert_eq!(goal, "rewritten 50 %");
    // What a limit cuts off is said.
    let cut = run(&["rewritten 90000 times", "--segments", "2"]);
    assert!(!cut.partial && cut.arrays.iter().all(|array| array.segments.len() == 2));
    assert!(cut.findings.iter().any(|finding| finding.kind == "goal_missed"), "{:?}", cut.findings);
    folder.strewn(&["run", "small.toml", "--until", "old"]).refused(&["rewritten 100 %", "steady"]);
    folder.write(
        "named.toml",
        &folder.read("small.toml").replacen(
            "segments = ",
            "until = \"rewriten 5 %\"\nsegments = ",
            1,
        ),
    );
    folder.strewn(&["run", "named.toml"]).refused(&["until", "is no goal of a run"]);
}

#[test]
fn tables_are_as_wide_as_the_terminal_and_as_brief_as_asked_for() {
    let folder = Folder::new();
    let widest = |printed: &str| {
        let rows = printed.lines().filter(|line| line.starts_with(" ") || line.starts_with("---"));
        rows.map(str::len).max().unwrap()
    };
    let narrow = folder.strewn(&["run", "small.toml"]).succeeded();
    assert!(widest(&narrow) <= 100, "{narrow}");
    assert!(narrow.contains("Left out for the width: "), "{narrow}");
    let all = folder.strewn(&["run", "small.toml", "--columns", "all"]).succeeded();
    assert!(!all.contains("Left out for the width"), "{all}");
    assert!(widest(&all) > widest(&narrow));
    let brief = folder.strewn(&["run", "small.toml", "--brief"]).succeeded();
    assert_eq!(brief.lines().next(), narrow.lines().next());
    assert!(brief.contains("\n- ") && !brief.contains("---"), "{brief}");
    let quiet = folder.strewn(&["run", "small.toml", "--quiet", "--out", "out"]).succeeded();
    assert_eq!(quiet, "");
    assert!(folder.read("out/report.html").contains("<h1>"));
    folder.strewn(&["run", "small.toml", "--quiet"]).refused(&["--out"]);
}
