//! `strewn trace`, and volumes of a trace as neighbours on an array.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::Value;
use strewn::results::{Results, TraceFigures};

use crate::common::{Folder, SMALL};

/// Written by a script that shares nothing with Strewn.
const COUNTS: &str = include_str!("../../crates/formats/tests/data/traces/counts.tsv");

fn sample(name: &str) -> String {
    let samples =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("crates/formats/tests/data/traces");
    samples.join(name).display().to_string()
}

fn figures(folder: &Folder, words: &[&str]) -> TraceFigures {
    let ran = folder.strewn(&[&["trace", "--json"], words].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).unwrap()
}

/// A scenario of one array, without published figures.
fn folder(array: &str) -> Folder {
    let folder = Folder::new();
    let mut parts = SMALL.split("[[array]]\n");
    let head = parts.next().unwrap().replace("published = \"small.published.toml\"\n", "");
    let one = parts.find(|part| part.contains(&format!("name = \"{array}\""))).unwrap();
    let one = one.split("[overhead]").next().unwrap();
    let fitted = "[array.fitted]\nparameters = [\"processor.host_operation\"]\nsegments = [1]\n";
    let head = head.replace("segment = \"60 s\"", "segment = \"5 s\"");
    folder.write("one.toml", &format!("{head}[[array]]\n{}", one.replace(fitted, "")));
    folder
}

fn results(folder: &Folder, words: &[&str]) -> Results {
    let ran = folder.strewn(&[&["run", "one.toml", "--json"], words].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    Results::from_json(&ran.stdout).unwrap()
}

#[test]
fn every_sample_has_the_figures_that_a_script_counted() {
    let folder = Folder::new();
    let mut rows = COUNTS.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let names = rows.next().unwrap();
    for row in rows {
        let expected: HashMap<&str, u64> = names[1..]
            .iter()
            .copied()
            .zip(row[1..].iter().map(|cell| cell.parse().unwrap()))
            .collect();
        let found = figures(&folder, &[&sample(row[0])]);
        let footprint = found.footprint;
        let rewritten = expected["rewritten"] as f64;
        let block_writes = rewritten + footprint.written_blocks as f64;
        let percent = 100.0 * rewritten / block_writes;
        assert!((footprint.rewritten_percent - percent).abs() < 1e-3, "{footprint:?}");
        let (responses, response_us) = found
            .responses
            .map_or((0, 0.0), |of| (of.operations, of.all_ms.mean * 1e3 * of.operations as f64));
        let off_us = response_us - expected["response_us"] as f64;
        assert!(off_us.abs() < 1e-4 * response_us + 1.0, "{}: {off_us}", row[0]);
        let figures = [
            ("operations", found.operations),
            ("reads", found.reads),
            ("bytes", found.read_bytes + found.written_bytes),
            ("volumes", found.volumes),
            ("footprint", footprint.blocks),
            ("trims", found.skipped.trims),
            ("empty", found.skipped.empty),
            ("responses", responses),
        ];
        for (name, value) in figures {
            assert_eq!(value, expected[name], "{name} of {}", row[0]);
        }
        assert_eq!(footprint.error_percent, 0.0);
        // Six significant digits.
        let off_us = found.seconds * 1e6 - expected["last_us"] as f64;
        assert!(off_us.abs() <= 50.0, "{}: {off_us}", row[0]);
        let of_sizes = found.sizes.bins.iter().map(|bin| bin.reads + bin.writes).sum::<u64>();
        assert_eq!(of_sizes, found.operations);
    }
}

#[test]
fn a_table_and_charts_say_what_is_in_a_trace() {
    let folder = Folder::new();
    let file = sample("alibaba.csv.zst");
    let ran = folder.strewn(&["trace", &file, "--out", "out"]);
    let text = ran.succeeded();
    for words in [
        "2,963 operations, format alibaba",
        "footprint",
        "4 volumes, the busiest first",
        "without bytes",
    ] {
        assert!(text.contains(words), "no {words:?} in\n{text}");
    }
    let written: TraceFigures = serde_json::from_str(&folder.read("out/trace.json")).unwrap();
    assert_eq!(written, figures(&folder, &[&file]));
    let names: Vec<String> = folder.contents_of("out").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["trace-bytes.svg", "trace-operations.svg", "trace-sizes.svg", "trace.json"]);
    folder.strewn(&["trace", &file, "--out", "out"]).refused(&["the directory is not empty"]);
    folder.strewn(&["trace", &file, "--out", "out", "--force"]).succeeded();
}

#[test]
fn volumes_are_looked_at_alone() {
    let folder = Folder::new();
    let file = sample("alibaba.csv.zst");
    let all = figures(&folder, &[&file]);
    let two = figures(&folder, &[&file, "--volumes", "17,3"]);
    assert_eq!(two.volumes, 2);
    assert_eq!(two.operations + two.skipped.other_volumes, all.operations);
    let hottest = figures(&folder, &[&file, "--volumes", "hottest:1"]);
    assert_eq!(hottest.hottest, all.hottest[..1]);
    assert_eq!(hottest.operations, all.hottest[0].operations);
    folder
        .strewn(&["trace", &file, "--volumes", "3,99"])
        .refused(&["has no reads or writes of volume 99", "the busiest of its 4 volumes are 3, "]);
    folder.strewn(&["trace", &file, "--volumes", "some"]).refused(&["write 3,17,42 or hottest:8"]);
}

/// Each volume has a LUN, and the array does all of their operations.
#[test]
fn volumes_of_a_trace_are_neighbours_on_an_array() {
    for array in ["anywhere", "inplace"] {
        let folder = folder(array);
        let file = sample("alibaba.csv.zst");
        let hot = figures(&folder, &[&file, "--volumes", "3,42"]);
        let words = ["--trace", &file, "--trace-volumes", "42,3"];
        let run = results(&folder, &words);
        let trace = run.workload.as_ref().unwrap().trace.as_ref().unwrap();
        assert_eq!((trace.records, trace.volumes.len()), (hot.operations, 2));
        assert_eq!(run.host_ops, hot.operations);
        let mut by_volume: HashMap<&str, [u64; 2]> = HashMap::new();
        for of in run.arrays[0].segments.iter().flat_map(|segment| &segment.by_workload) {
            let counts = by_volume.entry(&of.name).or_default();
            counts[0] += of.reads.ops;
            counts[1] += of.writes.ops;
        }
        assert_eq!(by_volume.len(), 2);
        for volume in &hot.hottest {
            let name = format!("volume {}", volume.volume);
            let expected = [volume.reads, volume.operations - volume.reads];
            assert_eq!(by_volume[name.as_str()], expected, "{name}");
        }
        // LUNs of whole MiB, up to the highest address of each.
        let ends = hot.hottest.iter().map(|volume| volume.end_bytes.div_ceil(1 << 20) << 20);
        assert_eq!(run.arrays[0].lun_bytes, Some(ends.sum()));
        // Or as long as the list of sizes says.
        let sizes = sample("device_size.csv");
        let listed = results(&folder, &[&words[..], &["--trace-sizes", &sizes]].concat());
        assert_eq!(listed.arrays[0].lun_bytes, Some((100 + 96) << 20));
        assert_eq!(listed.host_ops, hot.operations);
        // The one with most operations alone is that LUN's share.
        let words = ["--trace", &file, "--trace-volumes", "hottest:1", "--closed-loop-trace"];
        let alone = results(&folder, &words);
        assert_eq!(alone.host_ops, hot.hottest[0].operations);
        assert_eq!(alone.arrays[0].outstanding, 8);
    }
}

#[test]
fn recorded_response_times_stand_beside_simulated_ones() {
    let folder = folder("inplace");
    let file = sample("msr.csv.gz");
    let words = ["--trace", &file, "--trace-device", "0"];
    let run = results(&folder, &words);
    let recorded = run.workload.as_ref().unwrap().trace.as_ref().unwrap().recorded.clone().unwrap();
    let alone = figures(&folder, &[&file, "--volumes", "0"]);
    assert_eq!(Some(recorded.whole), alone.responses);
    // By the segment in which operations arrive.
    assert_eq!(recorded.segments.len(), 3);
    let all: u64 = recorded.segments.iter().map(|of| of.operations).sum();
    assert_eq!(all, run.host_ops);
    let tables = folder.strewn(&[&["run", "one.toml"], &words[..]].concat());
    assert_eq!(tables.code, Some(0), "{}", tables.stderr);
    let table = tables.stdout.split("Response times as recorded, and as simulated").nth(1).unwrap();
    assert!(table.contains("recorded") && table.contains("inplace"), "{table}");
    // The sum over segments is the whole.
    let mean = |of: &strewn::results::RecordedSegment| of.response_ms.mean * of.operations as f64;
    let sum: f64 = recorded.segments.iter().map(mean).sum();
    assert!((sum / all as f64 / recorded.whole.all_ms.mean - 1.0).abs() < 1e-4);
    // A trace without any has no such table.
    let none = ["run", "one.toml", "--trace", &sample("iolog3.log.gz"), "--trace-device", "0"];
    let none = folder.strewn(&none);
    assert_eq!(none.code, Some(0), "{}", none.stderr);
    assert!(!none.stdout.contains("as recorded"), "{}", none.stdout);
}

/// What a tired person may do.
#[test]
fn mistakes_are_found_with_their_place_and_a_remedy() {
    let folder = folder("inplace");
    let file = sample("alibaba.csv.zst");
    let sizes = sample("device_size.csv");
    let run = |words: &[&str]| folder.strewn(&[&["run", "one.toml", "--trace"], words].concat());
    run(&[&file]).refused(&["is of several devices: 3, 17, 42, 651", "--trace-volumes"]);
    run(&[&file, "--trace-volumes", "3,4"]).refused(&["no reads or writes of volume 4"]);
    run(&[&file, "--trace-volumes", "3", "--trace-device", "3"]).refused(&["cannot be used with"]);
    run(&[&file, "--trace-device", "3", "--trace-sizes", &sizes])
        .refused(&["gives sizes of volumes, and none are chosen", "--trace-volumes"]);
    folder.write("list.csv", "3,1048576\n");
    run(&[&file, "--trace-volumes", "3,17", "--trace-sizes", "list.csv"])
        .refused(&["list.csv has no size of volume 17", "add a line"]);
    run(&[&file, "--trace-volumes", "3", "--trace-sizes", "list.csv"]).refused(&[
        "lie beyond volume 3, which has 1048576 bytes in the list of sizes",
        "leave --trace-sizes out",
    ]);
    let wrapped = results(
        &folder,
        &["--trace", &file, "--trace-volumes", "3", "--trace-sizes", "list.csv", "--wrap"],
    );
    assert!(wrapped.workload.unwrap().trace.unwrap().wrapped > 500);
    folder.write("list.csv", "3 1048576\n");
    run(&[&file, "--trace-volumes", "3", "--trace-sizes", "list.csv"])
        .refused(&["list.csv:1: 1 fields, where two are due"]);
    // All four do not fit.
    folder.write("big.csv", "3,R,1099511627776,4096,10\n3,W,0,4096,20\n");
    let too_large = run(&["big.csv", "--trace-volumes", "3"]);
    assert_eq!(too_large.code, Some(2), "{}", too_large.stderr);
    assert!(too_large.stderr.contains("help"), "{}", too_large.stderr);

    let look = |words: &[&str]| folder.strewn(&[&["trace"], words].concat());
    look(&["."]).refused(&[". is a directory", "give the path of a block trace"]);
    look(&["none.csv"]).refused(&["cannot read none.csv"]);
    folder.write("empty.csv", "");
    look(&["empty.csv"]).refused(&["empty.csv: the trace is empty"]);
    let gzip = std::fs::read(sample("msr.csv.gz")).unwrap();
    std::fs::write(folder.path("cut.csv.gz"), &gzip[..gzip.len() / 2]).unwrap();
    look(&["cut.csv.gz"]).refused(&[
        "cut.csv.gz:1",
        "the gzip data ends too early",
        "copy it again",
    ]);
    folder.write("semicolons.csv", "3;R;0;4096;10\n");
    look(&["semicolons.csv"]).refused(&["semicolons.csv:1", "separated by semicolons"]);
    folder.write("mixed.csv", "3,R,0,4096,10\n128166372003061629,web,0,Read,0,4096,1\n");
    look(&["mixed.csv"]).refused(&["mixed.csv:2:33: `4096` follows the timestamp"]);
    // With names of columns, and line ends of Windows.
    folder.write(
        "header.csv",
        "device_id,opcode,offset,length,timestamp\r\n3,R,0,4096,10\r\n3,W,0,512,5\r\n",
    );
    let text = look(&["header.csv"]).succeeded();
    assert!(
        text.contains("2 operations, format alibaba") && text.contains("times go back"),
        "{text}"
    );
    run(&["header.csv", "--trace-volumes", "3"])
        .refused(&["header.csv:3: the record arrives before the one ahead", "--hold-back"]);
    folder.write("queued.txt", "8,0 0 1 0.1 1 Q R 8 + 8 [a]\n8,0 0 2 0.2 1 C R 8 + 8 [0]\n");
    look(&["queued.txt"]).refused(&["no reads or writes, and 2 lines", "--trace-action queued"]);
    let queued = figures(&folder, &["queued.txt", "--trace-action", "queued"]);
    assert_eq!(queued.responses.unwrap().all_ms.mean, 100.0);
}

#[test]
fn regression_a_record_of_impossible_length_is_refused_with_its_line() {
    let folder = folder("inplace");
    for length in ["4294967297", "4398046511104", "9223372036854775808"] {
        folder.write("huge.csv", &format!("0,R,0,4096,10\n0,W,0,{length},20\n"));
        let says = format!("huge.csv:2: a record of {length} bytes");
        for words in [&["trace", "huge.csv"][..], &["run", "one.toml", "--trace", "huge.csv"]] {
            folder.strewn(words).refused(&[&says, "help: correct the length", "4 GiB"]);
        }
    }
    folder.write("large.csv", "0,R,0,4096,10\n0,W,0,4294967296,20\n");
    assert_eq!(figures(&folder, &["large.csv"]).footprint.blocks, 1 << 20);
}

/// Each of these takes milliseconds to count, and all together minutes.
#[cfg(unix)]
#[test]
fn regression_a_signal_ends_the_counting_of_large_records() {
    let folder = Folder::new();
    let records =
        (0..60_000_u64).map(|number| format!("0,W,{},4294967296,{number}\n", number << 32));
    folder.write("large.csv", &records.collect::<String>());
    let mut command = folder.command(&["trace", "large.csv"]);
    let mut child = command.stderr(std::process::Stdio::null()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert!(child.try_wait().unwrap().is_none(), "it was over before it was stopped");
    let stopped = std::process::Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert!(stopped.success());
    let began = std::time::Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
}

#[test]
fn regression_zeros_after_gzip_data_are_padding() {
    let folder = Folder::new();
    let gzip = std::fs::read(sample("msr.csv.gz")).unwrap();
    let operations = figures(&folder, &[&sample("msr.csv.gz")]).operations;
    let zeros = vec![0; 100_000];
    std::fs::write(folder.path("padded.csv.gz"), [&gzip[..], &zeros].concat()).unwrap();
    assert_eq!(figures(&folder, &["padded.csv.gz"]).operations, operations);
    std::fs::write(folder.path("rubbish.csv.gz"), [&gzip[..], &zeros, b"x"].concat()).unwrap();
    let rubbish = folder.strewn(&["trace", "rubbish.csv.gz"]);
    assert_eq!(rubbish.code, Some(2), "{}", rubbish.stderr);
}

#[test]
fn regression_a_replay_that_is_empty_for_months_is_refused() {
    let folder = folder("inplace");
    folder.write("sparse.csv", "0,R,0,4096,10\n0,R,4096,4096,15552000000010\n");
    let run = ["run", "one.toml", "--trace", "sparse.csv", "--json"];
    folder.strewn(&run).refused(&[
        "nothing of the trace arrives in 3110399 segments of 5 s",
        "--closed-loop-trace",
        "--speedup",
        "--segments",
    ]);
    for more in [&["--closed-loop-trace"][..], &["--segments", "2"], &["--speedup", "1000000"]] {
        let ran = folder.strewn(&[&run[..], more].concat());
        assert_eq!(ran.code, Some(0), "{more:?}: {}", ran.stderr);
    }
}

#[test]
fn regression_times_of_a_trace_are_the_limit_of_its_replay() {
    let folder = folder("inplace");
    folder.write("few.csv", "0,R,0,4096,0\n0,R,4096,4096,1000000\n0,R,0,4096,6000000\n");
    let text = folder.strewn(&["run", "one.toml", "--trace", "few.csv", "--brief"]);
    assert_eq!(text.code, Some(0), "{}", text.stderr);
    assert!(text.stdout.contains("operations arrive at the times of the trace"), "{}", text.stdout);
    assert!(!text.stdout.contains("what hosts ask for"), "{}", text.stdout);
}

#[test]
fn figures_are_the_same_each_time() {
    let folder = Folder::new();
    let file = sample("blktrace-big.bin.zst");
    let once = folder.strewn(&["trace", &file, "--json"]).succeeded();
    assert_eq!(folder.strewn(&["trace", &file, "--json"]).succeeded(), once);
    let value: Value = serde_json::from_str(&once).unwrap();
    assert_eq!(value["format"], "blktrace");
}
