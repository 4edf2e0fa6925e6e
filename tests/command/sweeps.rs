//! Sweeps: many runs of a scenario into one table, stopped and gone on with, in any order and by any worker.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use strewn::results::{Results, Sweep};

use crate::common::{Folder, PROJECT, Ran, contents};

const STUDY: &str = r#"
schema = 1
name = "small-study"
title = "A small study"
question = "What does it ask?"
scenario = "small.toml"
segments = 2
replicates = 2

[[axis]]
name = "alignment"
setting = "workload.alignment"
values = ["512 B", "4 KiB"]

[[axis]]
name = "outstanding"
setting = "anywhere.outstanding"
from = 4
to = 16
points = 2
"#;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("study.toml", STUDY);
    folder
}

/// Every file of a sweep with its contents, wall times aside.
fn files(directory: &Path) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for (name, bytes) in contents(directory) {
        if name == "points" {
            for (id, _) in contents(&directory.join("points")) {
                let of_run = contents(&directory.join("points").join(&id));
                for (file, bytes) in of_run {
                    let text = String::from_utf8_lossy(&bytes);
                    let is_timing =
                        |line: &&str| !line.trim_start().starts_with("\"wall_seconds\"");
                    let text = text.lines().filter(is_timing).collect::<Vec<_>>().join("\n");
                    all.push((format!("{id}/{file}"), text));
                }
            }
        } else {
            all.push((name, String::from_utf8_lossy(&bytes).into_owned()));
        }
    }
    all
}

#[track_caller]
fn done(ran: &Ran) {
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

fn sweep_of(folder: &Folder, name: &str) -> Sweep {
    Sweep::from_json(&folder.read(&format!("{name}/sweep.json"))).unwrap()
}

#[test]
fn a_sweep_runs_every_combination_with_every_seed() {
    let folder = folder();
    let ran = folder.strewn(&["sweep", "study.toml", "--out", "out"]);
    done(&ran);
    assert!(
        ran.stderr.contains("4 combinations, 2 seeds, full scale; 8 runs to do"),
        "{}",
        ran.stderr
    );
    let sweep = sweep_of(&folder, "out");
    assert!(sweep.missing.is_empty());
    // What the table says of a run is what `strewn run` says of it.
    folder.write("alone.toml", &folder.read("small.toml").replace("segments = 3", "segments = 2"));
    let set =
        ["--set", "workload.alignment=4 KiB", "--set", "anywhere.outstanding=16", "--seed", "8"];
    let words = [&["run", "alone.toml", "--json"], &set[..]].concat();
    let results = Results::from_json(&folder.strewn(&words).succeeded()).unwrap();
    let figure = sweep.figures.iter().position(|one| one.name == "anywhere: IOPS, last segment");
    let is_it = |row: &&strewn::results::SweepRow| row.at == [1, 1] && Some(row.figure) == figure;
    let row = sweep.rows.iter().find(is_it).unwrap();
    assert_eq!(row.samples[1], Some(results.arrays[0].segments[1].iops));
    // 2 arrays with 3 figures, and one by segment; 4 combinations.
    let table = folder.read("out/sweep.csv");
    assert_eq!(table.lines().count(), 1 + 4 * 2 * (3 + 2), "{table}");
    assert!(folder.read("out/report.html").contains("A small study"));
}

#[test]
fn the_bytes_do_not_depend_on_how_many_run_at_once() {
    let folder = folder();
    done(&folder.strewn(&["sweep", "study.toml", "--out", "one", "--jobs", "1"]));
    done(&folder.strewn(&["sweep", "study.toml", "--out", "two", "--jobs", "3"]));
    assert_eq!(files(&folder.path("one")), files(&folder.path("two")));
}

#[test]
fn runs_that_are_there_are_not_run_again_also_in_a_study_that_grew() {
    let folder = folder();
    done(&folder.strewn(&["sweep", "study.toml", "--out", "out"]));
    let before = fs::metadata(folder.path("out/points")).unwrap().modified().unwrap();
    let ran = folder.strewn(&["sweep", "--resume", "out"]);
    done(&ran);
    assert!(ran.stderr.contains("all 8 runs are there"), "{}", ran.stderr);
    assert_eq!(fs::metadata(folder.path("out/points")).unwrap().modified().unwrap(), before);
    folder.write("study.toml", &STUDY.replace("replicates = 2", "replicates = 3"));
    let ran = folder.strewn(&["sweep", "study.toml", "--out", "out"]);
    assert!(ran.stderr.contains("4 runs to do; 8 are there"), "{}", ran.stderr);
    assert_eq!(sweep_of(&folder, "out").seeds, [7, 8, 9]);
}

/// As after a power loss: a file without its end, or one of zeros.
#[test]
fn a_run_that_was_cut_short_is_run_again() {
    let folder = folder();
    done(&folder.strewn(&["sweep", "study.toml", "--out", "out"]));
    let whole = files(&folder.path("out"));
    let ids: Vec<String> =
        contents(&folder.path("out/points")).into_iter().map(|(id, _)| id).collect();
    let results = |id: &str| folder.path(&format!("out/points/{id}/results.json"));
    let length = fs::metadata(results(&ids[0])).unwrap().len();
    fs::OpenOptions::new().write(true).open(results(&ids[0])).unwrap().set_len(length / 2).unwrap();
    fs::write(results(&ids[1]), vec![0; length as usize]).unwrap();
    fs::write(results(&ids[2]), "").unwrap();
    let ran = folder.strewn(&["sweep", "--resume", "out"]);
    done(&ran);
    assert!(ran.stderr.contains("3 runs to do; 5 are there"), "{}", ran.stderr);
    assert_eq!(files(&folder.path("out")), whole);
}

/// Killed at any moment, also inside a run that is saved, a sweep goes on to the bytes of one that was not.
#[cfg(unix)]
#[test]
fn a_killed_sweep_goes_on_inside_its_runs() {
    let folder = Folder::new();
    // Long enough to be killed on the way: a second or so each.
    let study =
        STUDY.replace("segments = 2", "segments = 40").replace("replicates = 2", "replicates = 1");
    folder.write("study.toml", &study);
    done(&folder.strewn(&["sweep", "study.toml", "--out", "whole"]));
    let mut command =
        folder.command(&["sweep", "study.toml", "--out", "killed", "--save", "--jobs", "2"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let points = folder.path("killed/points");
    let is_saved = || {
        let entries = fs::read_dir(&points).into_iter().flatten().flatten();
        let mut saved =
            entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "saved"));
        saved.any(|saved| saved.path().join("array-1.state").exists())
    };
    let began = Instant::now();
    while !is_saved()
        && child.try_wait().unwrap().is_none()
        && began.elapsed() < Duration::from_secs(60)
    {
        std::thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let ran = folder.strewn(&["sweep", "--resume", "killed"]);
    done(&ran);
    assert_eq!(files(&folder.path("whole")), files(&folder.path("killed")));
}

/// What a cluster does: tasks by number, in any order, one of them twice.
#[test]
fn tasks_of_a_cluster_give_the_same_bytes() {
    let folder = folder();
    done(&folder.strewn(&["sweep", "study.toml", "--out", "here"]));
    folder.strewn(&["sweep", "study.toml", "--out", "there", "--plan"]);
    for index in ["2", "0", "1", "2"] {
        let mut task = folder.command(&["sweep-point", "there", "--runs-each", "3"]);
        done(&Ran::of(task.env("SLURM_ARRAY_TASK_ID", index).output().unwrap()));
    }
    done(&folder.strewn(&["sweep", "--resume", "there"]));
    assert_eq!(files(&folder.path("here")), files(&folder.path("there")));
}

#[test]
fn a_latin_hypercube_and_values_one_at_a_time() {
    let folder = Folder::new();
    let drawn = STUDY
        .replace("replicates = 2", "design = \"latin-hypercube\"\npoints = 5")
        .replace("points = 2", "");
    folder.write("study.toml", &drawn);
    done(&folder.strewn(&["sweep", "study.toml", "--out", "out"]));
    let sweep = sweep_of(&folder, "out");
    assert_eq!(sweep.axes[1].values.len(), 5);
    let one = STUDY.replace("replicates = 2", "design = \"one-at-a-time\"");
    folder.write("study.toml", &one);
    done(&folder.strewn(&["sweep", "study.toml", "--out", "one"]));
    let combinations: Vec<usize> =
        sweep_of(&folder, "one").rows.iter().map(|row| row.combination).collect();
    assert_eq!(combinations.iter().max(), Some(&2));
}

#[test]
fn what_is_wrong_with_a_study_is_said_with_its_place_and_remedy() {
    let folder = Folder::new();
    let changed = |from: &str, to: &str| {
        assert!(STUDY.contains(from), "no {from:?}");
        STUDY.replacen(from, to, 1)
    };
    for (study, fragments) in [
        (changed("schema = 1", "schema = 2"), &["study.toml:2: schema", "write schema = 1"][..]),
        (changed("title", "titel"), &["unknown field `titel`"]),
        (
            changed("\"small.toml\"", "\"none.toml\""),
            &["none.toml cannot be read", "a path from its folder"],
        ),
        (
            changed("workload.alignment", "workload.alignement"),
            &["study.toml:13: axis", "did you mean `workload.alignment`"],
        ),
        (changed("\"4 KiB\"", "\"4 KB\""), &["study.toml:13: axis", "KiB"]),
        (changed("\"4 KiB\"", "\"512 B\""), &["\"512 B\" is there twice"]),
        (changed("points = 2", ""), &["how many values", "give `points`"]),
        (changed("to = 16", "to = 2"), &["is not above `from`"]),
        (changed("replicates = 2", "replicates = 0"), &["0 is not from 1 to 1000"]),
        (
            changed("segments = 2", "segments = 2\narrays = [\"elsewhere\"]"),
            &["no array \"elsewhere\"", "anywhere, inplace"],
        ),
        (STUDY.to_owned() + "question = \"Late?\"\n", &["move `question` above the first [table]"]),
        (
            STUDY.to_owned() + "[[figure]]\nmetric = \"iops\"\narray = \"no\"\n",
            &["no run has an array \"no\""],
        ),
        (
            STUDY.to_owned() + "[[chart]]\nfigures = [\"speed\"]\n",
            &["there is no figure \"speed\"", "IOPS, last segment"],
        ),
        (
            STUDY.to_owned()
                + "[[prediction]]\ntext = \"so\"\nfigure = \"anywhere: IOPS, last segment\"\nleast = 1\nat = { alignment = \"1 B\" }\n",
            &["has no value \"1 B\"", "512 B; 4 KiB"],
        ),
    ] {
        folder.write("study.toml", &study);
        folder.strewn(&["sweep", "study.toml", "--out", "out"]).refused(fragments);
        assert!(!folder.path("out").exists(), "nothing is written");
    }
}

/// A name that names nothing is found before the first run, in its own line.
#[test]
fn what_figures_charts_and_words_name_must_be_there() {
    let folder = Folder::new();
    let figure =
        |keys: &str| format!("{STUDY}[[figure]]\nname = \"speed\"\nmetric = \"iops\"\n{keys}\n");
    let prediction = |keys: &str| {
        format!(
            "{STUDY}[[prediction]]\ntext = \"so\"\nfigure = \"anywhere: IOPS, last segment\"\n{keys}\n"
        )
    };
    let finding = |words: &str| {
        let keys = format!("question = \"What?\"\nfinding = \"{{{{ {words} }}}}\"\n");
        STUDY.replacen("question = \"What does it ask?\"\n", &keys, 1)
    };
    for (study, fragments) in [
        (
            figure("workload = \"pages\""),
            &["study.toml:21: figure.workload", "no run has a workload \"pages\""][..],
        ),
        (figure("phase = \"night\""), &["study.toml:21: figure.phase", "leave `phase` out"]),
        (figure("link = \"wan\""), &["study.toml:21: figure.link", "no run has a link \"wan\""]),
        (figure("segment = 9"), &["study.toml:21: figure.segment", "give 1 to 2, or \"last\""]),
        (
            figure("over_segment = 3"),
            &["study.toml:21: figure.over_segment", "no run has a segment 3"],
        ),
        (figure("over = \"elsewhere\""), &["study.toml:21: figure.over", "anywhere, inplace"]),
        (
            STUDY.to_owned() + "[[figure]]\nmetric = \"speed\"\n",
            &["study.toml:22: figure.metric", "docs/scenarios.md lists the metrics"],
        ),
        (
            prediction("least = 2\nmost = 1"),
            &["study.toml:21: prediction.least", "2 is above `most`, 1"],
        ),
        (
            prediction("least = 2\nover = { depth = \"1\" }"),
            &["study.toml:21: prediction.over", "there is no axis \"depth\""],
        ),
        (
            STUDY.to_owned()
                + "[[chart]]\nfigures = [\"IOPS, last segment\"]\nx = \"outstandig\"\n",
            &["study.toml:21: chart.x", "there is no axis \"outstandig\""],
        ),
        (finding("at('speed')"), &["study.toml:6: finding", "there is no figure \"speed\" there"]),
        (
            finding("at('anywhere: IOPS, last segment', 'alignment = 1 B')"),
            &["study.toml:6: finding", "has no value \"1 B\""],
        ),
        // All of them at once.
        (
            prediction("least = 2\nmost = 1\n[[chart]]\nfigures = [\"speed\"]"),
            &["study.toml:21: prediction.least", "study.toml:26: chart.figures"],
        ),
    ] {
        folder.write("study.toml", &study);
        folder.strewn(&["sweep", "study.toml", "--out", "out", "--dry-run"]).refused(fragments);
    }
    folder.write(
        "study.toml",
        &finding("at('inplace: IOPS by segment', 'alignment = 4 KiB; segment = 2')"),
    );
    done(&folder.strewn(&["sweep", "study.toml", "--out", "out", "--dry-run"]));
}

#[test]
fn directories_and_flags_that_do_not_fit_are_refused() {
    let folder = folder();
    folder.strewn(&["sweep", "study.toml", "--out", "."]).refused(&["other files, and no sweep"]);
    folder.strewn(&["sweep", "study.toml", "--out", "small.toml"]).refused(&["is not a directory"]);
    folder
        .strewn(&["sweep", "--resume", "nowhere"])
        .refused(&["nowhere has no sweep", "begin one"]);
    folder.strewn(&["sweep", "study.toml"]).refused(&["--out"]);
    let words = ["sweep", "study.toml", "--out", "out", "--max-hours", "0.000001"];
    folder.strewn(&words).refused(&["--max-hours is 0.000001", "a cluster"]);
    done(&folder.strewn(&["sweep", "study.toml", "--out", "out", "--plan"]));
    folder.strewn(&["sweep-point", "out"]).refused(&["SLURM_ARRAY_TASK_ID", "--index N"]);
    folder
        .strewn(&["sweep-point", "out", "--index", "8"])
        .refused(&["there is no task 8", "from 0 to 7"]);
    let manifest = folder.read("out/manifest.jsonl");
    folder.write("out/manifest.jsonl", &manifest[..manifest.len() / 2]);
    folder
        .strewn(&["sweep", "--resume", "out"])
        .refused(&["manifest.jsonl: line", "plan the sweep again"]);
    folder
        .strewn(&["study", "none", "--out", "out"])
        .refused(&["no study \"none\" ships", "alignment"]);
}

#[test]
fn a_batch_script_and_a_job_say_what_each_task_needs() {
    let folder = folder();
    done(&folder.strewn(&["sweep", "study.toml", "--out", "out", "--slurm"]));
    let script = folder.read("out/sweep.sbatch");
    for line in
        ["#SBATCH --array=0-7", "#SBATCH --cpus-per-task=1", "#SBATCH --requeue", "sweep-point"]
    {
        assert!(script.contains(line), "no {line} in\n{script}");
    }
    done(&folder.strewn(&[
        "sweep",
        "study.toml",
        "--out",
        "out",
        "--kubernetes",
        "registry.example/strewn:1",
    ]));
    let job = folder.read("out/job.yaml");
    for line in ["completionMode: Indexed", "completions: 8", "\"registry.example/strewn:1\""] {
        assert!(job.contains(line), "no {line} in\n{job}");
    }
}

#[test]
fn times_are_those_of_full_scale_whatever_the_scale_of_the_run() {
    let folder = folder();
    let figure = "[[figure]]\nname = \"length\"\nmetric = \"seconds\"\n";
    folder.write("length.toml", &format!("{STUDY}\n{figure}"));
    done(&folder.strewn(&["sweep", "length.toml", "--out", "scaled", "--quick"]));
    // Two segments of a minute.
    let rows = sweep_of(&folder, "scaled").rows;
    assert!(rows.iter().all(|row| row.mean == Some(120.0)), "{:?}", rows[0]);
}

#[test]
fn a_setting_is_changed_in_one_place() {
    let folder = folder();
    let second =
        "[[axis]]\nname = \"again\"\nsetting = \"workload.alignment\"\nvalues = [\"1 KiB\"]\n";
    folder.write("twice.toml", &format!("{STUDY}\n{second}"));
    let set = STUDY.replace(
        "[[axis]]\nname = \"alignment\"",
        "[set]\n\"workload.alignment\" = \"1 KiB\"\n[[axis]]\nname = \"alignment\"",
    );
    folder.write("set.toml", &set);
    for (study, other) in [("twice.toml", "alignment"), ("set.toml", "[set]")] {
        let ran = folder.strewn(&["sweep", study, "--out", "out", "--dry-run"]);
        assert_eq!(ran.code, Some(2), "{study}");
        let words = format!("`workload.alignment` is also set by {other}");
        assert!(ran.stderr.contains(&words), "{}", ran.stderr);
    }
}

#[test]
fn a_plan_or_a_run_that_was_changed_is_not_taken_for_what_was_planned() {
    let folder = folder();
    done(&folder.strewn(&["sweep", "study.toml", "--out", "out", "--plan"]));
    let manifest = folder.read("out/manifest.jsonl");
    // Another seed under the same name.
    folder.write("out/manifest.jsonl", &manifest.replacen("\"seed\":7", "\"seed\":70", 1));
    let ran = folder.strewn(&["sweep-point", "out", "--index", "0"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("is not the one that was planned"), "{}", ran.stderr);
    // A name that leads elsewhere.
    let id = manifest.split("\"id\":\"").nth(1).and_then(|rest| rest.get(..16)).unwrap();
    folder.write("out/manifest.jsonl", &manifest.replacen(id, "../../../../evil", 1));
    let ran = folder.strewn(&["sweep", "--resume", "out"]);
    assert!(ran.stderr.contains("is no name of a run"), "{}", ran.stderr);
    folder.write("out/manifest.jsonl", &manifest);
    done(&folder.strewn(&["sweep", "--resume", "out"]));
    let whole = files(&folder.path("out"));
    // Two runs in each other's places.
    let other =
        manifest.lines().nth(1).and_then(|line| line.split("\"id\":\"").nth(1)?.get(..16)).unwrap();
    let points = folder.path("out/points");
    for (from, to) in [(id, "aside"), (other, id), ("aside", other)] {
        fs::rename(points.join(from), points.join(to)).unwrap();
    }
    done(&folder.strewn(&["sweep", "--resume", "out"]));
    assert_eq!(files(&folder.path("out")), whole);
}

#[test]
fn results_that_cannot_be_read_say_how_to_go_on() {
    let folder = folder();
    done(&folder.strewn(&["sweep", "study.toml", "--out", "out"]));
    let id = fs::read_dir(folder.path("out/points")).unwrap().next().unwrap().unwrap().file_name();
    let results = folder.path("out/points").join(id).join("results.json");
    fs::write(&results, "{}\n").unwrap();
    let ran = folder.strewn(&["sweep", "--resume", "out"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("remove the file: the sweep then runs this run again"),
        "{}",
        ran.stderr
    );
    fs::remove_file(&results).unwrap();
    done(&folder.strewn(&["sweep", "--resume", "out"]));
}

#[test]
fn a_dry_run_needs_no_directory_and_a_batch_script_none_of_several_lines() {
    let folder = folder();
    let ran = folder.strewn(&["sweep", "study.toml", "--out", "/proc/none", "--dry-run"]);
    done(&ran);
    let ran = folder.strewn(&["sweep", "study.toml", "--out", "x\ntouch y #", "--slurm"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert!(ran.stderr.contains("control characters"), "{}", ran.stderr);
}

const PREDICTED: &str = r#"
[[argument]]
who = "Someone"
said = "It does not matter."

[[prediction]]
text = "It runs at all."
figure = "anywhere: IOPS, last segment"
least = 0.5
"#;

#[test]
fn a_sweep_says_what_its_study_asks_and_how_its_predictions_came_out() {
    let folder = Folder::new();
    folder.write("study.toml", &format!("{STUDY}{PREDICTED}"));
    let ran = folder.strewn(&["sweep", "study.toml", "--out", "out"]);
    done(&ran);
    for part in [
        "Question: What does it ask?\n",
        "held          It runs at all. [at least 0.5 IOPS; measured ",
        "1 of 1 prediction held.\n",
    ] {
        assert!(ran.stdout.contains(part), "{part}\n{}", ran.stdout);
    }
    let report = folder.read("out/report.html");
    for part in [
        "What does it ask?",
        "<strong>Someone</strong>: It does not matter.",
        "1 of 1 prediction held.",
        "<dt>scenario</dt>",
        "<dt>segments</dt><dd>2 of ",
        "<dt>design</dt><dd>grid</dd>",
        "host operations per second, last segment, in percent of segment 1",
    ] {
        assert!(report.contains(part), "{part}\n{report}");
    }
    // A plan of an earlier version knows less, and can be gone on with.
    let plan = folder.read("out/study.json");
    let mut older: serde_json::Value = serde_json::from_str(&plan).unwrap();
    assert!(older.as_object_mut().unwrap().remove("base").is_some(), "{plan}");
    folder.write("out/study.json", &older.to_string());
    done(&folder.strewn(&["sweep", "--resume", "out"]));
    assert!(!folder.read("out/report.html").contains("<dt>scenario</dt>"));
    // JSON is nothing but JSON.
    let ran = folder.strewn(&["sweep", "--resume", "out", "--json"]);
    assert!(Sweep::from_json(&ran.stdout).is_ok(), "{}", ran.stdout);
}

/// A directory in which another study was planned keeps nothing that speaks of it, and what others put there.
#[test]
fn what_was_written_of_an_earlier_plan_goes() {
    let folder = folder();
    done(&folder.strewn(&["sweep", "study.toml", "--out", "out", "--png"]));
    done(&folder.strewn(&["sweep", "study.toml", "--out", "out", "--slurm"]));
    let charts = |folder: &Folder| -> Vec<String> {
        let names = contents(&folder.path("out")).into_iter().map(|(name, _)| name);
        names.filter(|name| name.ends_with(".svg") || name.ends_with(".png")).collect()
    };
    assert!(charts(&folder).len() > 4, "{:?}", charts(&folder));
    folder.write("out/mine.svg", "mine");
    folder.write("out/mine.yaml", "mine");
    // The same plan keeps its script.
    done(&folder.strewn(&["sweep", "study.toml", "--out", "out", "--plan"]));
    assert!(folder.path("out/sweep.sbatch").exists());
    let figure = "[[figure]]\nname = \"IOPS\"\nmetric = \"iops\"\narray = \"anywhere\"\n";
    folder.write("study.toml", &(STUDY.to_owned() + figure));
    done(&folder.strewn(&["sweep", "study.toml", "--out", "out", "--plan"]));
    assert!(!folder.path("out/sweep.sbatch").exists());
    done(&folder.strewn(&["sweep", "--resume", "out"]));
    assert_eq!(charts(&folder).len(), 2, "{:?}", charts(&folder));
    assert!(folder.path("out/mine.svg").exists() && folder.path("out/mine.yaml").exists());
}

#[test]
fn a_study_that_ships_says_what_it_will_take() {
    let folder = Folder::new();
    let words = ["study", "alignment", "--quick", "--out", "out"];
    let ran = folder.strewn(&[&words[..], &["--dry-run"]].concat());
    done(&ran);
    assert!(ran.stderr.contains("runs to do"), "{}", ran.stderr);
    assert!(!folder.path("out").exists(), "nothing is written");
    let most = [&words[..], &["--max-hours", "0.000001"]].concat();
    folder.strewn(&most).refused(&["--max-hours is 0.000001"]);
}

#[test]
fn a_study_of_ones_own_has_a_page() {
    let folder = folder();
    fs::create_dir(folder.path("pages")).unwrap();
    done(&folder.strewn(&["sweep", "study.toml", "--out", "out", "--pages", "pages/of study"]));
    let page = folder.read("pages/of study/small-study.md");
    for words in
        ["What does it ask?", "`strewn sweep study.toml`", "[study.toml](../../study.toml)"]
    {
        assert!(page.contains(words), "no {words} in\n{page}");
    }
    assert!(folder.path("pages/of study/small-study-1.svg").exists());
    let again = ["sweep", "--resume", "out", "--pages", "pages"];
    done(&folder.strewn(&again));
    let page = folder.read("pages/small-study.md");
    assert!(page.contains("[study.toml](../study.toml)"));
    // Pages and charts that it wrote are replaced, and nothing else.
    done(&folder.strewn(&again));
    for (file, text) in [
        ("pages/small-study.md", "# My notes\n\n## How it was run\n\nBy hand.\n"),
        (
            "pages/small-study-1.svg",
            "<svg xmlns=\"http://www.w3.org/2000/svg\"><title>Mine</title></svg>",
        ),
    ] {
        let own = folder.read(file);
        folder.write(file, text);
        let name = file.strip_prefix("pages/").unwrap();
        let ran = folder.strewn(&again);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        let what = format!("--pages pages: {name}: it is there, and strewn has not written it");
        assert!(ran.stderr.contains(&what), "{}", ran.stderr);
        assert_eq!(folder.read(file), text);
        folder.write(file, &own);
    }
    assert_eq!(folder.read("pages/small-study.md"), page);
}

#[test]
fn pages_of_studies_that_ship_are_known_as_its_own() {
    let directory = PathBuf::from(PROJECT).join("docs/studies");
    for name in strewn::studies::names() {
        let page = fs::read_to_string(directory.join(format!("{name}.md"))).unwrap();
        assert!(strewn::report::is_study_page(&page), "{name}");
        // The list of pages is kept, so it is no page.
        for (chart, _) in page
            .match_indices("](")
            .filter_map(|(at, _)| page[at + 2..].split_once(')'))
            .filter(|(file, _)| file.ends_with(".svg"))
        {
            let svg = fs::read_to_string(directory.join(chart)).unwrap();
            assert!(strewn::report::is_sweep_chart(&svg), "{chart}");
        }
    }
    let list = fs::read_to_string(directory.join("README.md")).unwrap();
    assert!(!strewn::report::is_study_page(&list));
}

#[test]
fn a_list_of_findings_without_their_place_is_refused_before_any_run() {
    let folder = Folder::new();
    fs::create_dir(folder.path("pages")).unwrap();
    let words = ["study", "--all", "--out", "out", "--pages", "pages"];
    for readme in ["mine\n".as_bytes(), b"\xff\xfe"] {
        fs::write(folder.path("pages/README.md"), readme).unwrap();
        folder.strewn(&words).refused(&["README.md"]);
        assert_eq!(fs::read(folder.path("pages/README.md")).unwrap(), readme);
    }
    assert!(!folder.path("out").exists());
}

/// One setting of several arrays in step is an axis of numbers, also in the table.
#[test]
fn one_setting_of_several_arrays_is_an_axis_of_numbers() {
    let folder = Folder::new();
    let head = "schema = 1\nname = \"s\"\ntitle = \"S\"\nscenario = \"small.toml\"\nsegments = 1\n";
    let axes = [
        "setting = \"*.outstanding\"\nvalues = [2, 8]",
        "settings = [\"anywhere.outstanding\", \"inplace.outstanding\"]\nvalues = [[2, 2], [8, 8]]",
        "[[axis.value]]\nlabel = \"2\"\nset = { \"anywhere.outstanding\" = 2, \"inplace.outstanding\" = 2 }\n\
         [[axis.value]]\nlabel = \"8\"\nset = { \"anywhere.outstanding\" = 8, \"inplace.outstanding\" = 8 }",
    ];
    let mut tables = Vec::new();
    for (number, axis) in axes.iter().enumerate() {
        folder.write("study.toml", &format!("{head}[[axis]]\nname = \"load\"\n{axis}\n"));
        let out = format!("out-{number}");
        done(&folder.strewn(&["sweep", "study.toml", "--out", &out]));
        let sweep = sweep_of(&folder, &out);
        let values: Vec<_> = sweep.axes[0].values.iter().map(|value| value.number).collect();
        assert_eq!((values, &*sweep.axes[0].setting), (vec![Some(2.0), Some(8.0)], "outstanding"));
        tables.push(folder.read(&format!("{out}/sweep.csv")));
        let names: Vec<String> =
            contents(&folder.path(&out)).into_iter().map(|(name, _)| name).collect();
        let against = "response-last-segment-against-iops-last-segment.svg";
        assert!(names.iter().any(|name| name == against), "{names:?}");
    }
    assert!(tables[0].starts_with("load,load_number,"), "{}", tables[0]);
    assert_eq!(tables[1], tables[0]);
    assert_eq!(tables[2], tables[0]);
    // Unlike values are words, and unlike settings too.
    let unlike = [
        "settings = [\"anywhere.outstanding\", \"inplace.outstanding\"]\nvalues = [[2, 4], [8, 16]]",
        "settings = [\"anywhere.outstanding\", \"anywhere.commands_per_spindle\"]\nvalues = [[2, 2], [8, 8]]",
    ];
    for (number, axis) in unlike.iter().enumerate() {
        folder.write("study.toml", &format!("{head}[[axis]]\nname = \"load\"\n{axis}\n"));
        let out = format!("unlike-{number}");
        done(&folder.strewn(&["sweep", "study.toml", "--out", &out]));
        assert!(sweep_of(&folder, &out).axes[0].values.iter().all(|value| value.number.is_none()));
    }
    // A chart names figures that are there.
    let chart = "[[axis]]\nname = \"load\"\nsetting = \"*.outstanding\"\nvalues = [2]\n\
                 [[chart]]\nfigures = [\"IOPS, last segment\"]\nagainst = \"nothing\"\n";
    folder.write("study.toml", &format!("{head}{chart}"));
    folder.strewn(&["sweep", "study.toml", "--out", "no"]).refused(&["chart.against", "nothing"]);
}

/// The second of two axes that set one thing would hide the first.
#[test]
fn all_arrays_and_one_of_them_are_one_setting() {
    let folder = Folder::new();
    let study = "schema = 1\nname = \"s\"\ntitle = \"S\"\nscenario = \"small.toml\"\nsegments = 1\n\
                 [[axis]]\nname = \"a\"\nsetting = \"*.outstanding\"\nvalues = [2, 8]\n\
                 [[axis]]\nname = \"b\"\nsetting = \"anywhere.outstanding\"\nvalues = [4, 5]\n";
    folder.write("study.toml", study);
    folder
        .strewn(&["sweep", "study.toml", "--out", "out"])
        .refused(&["anywhere.outstanding", "also set"]);
    let one = study.split("[[axis]]\nname = \"b\"").next().unwrap().replace(
        "setting = \"*.outstanding\"\nvalues = [2, 8]",
        "settings = [\"anywhere.outstanding\", \"*.outstanding\"]\nvalues = [[16, 64]]",
    );
    folder.write("study.toml", &one);
    folder
        .strewn(&["sweep", "study.toml", "--out", "out"])
        .refused(&["outstanding", "another name of this axis"]);
}
