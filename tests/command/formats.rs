//! `--format`: the same tables for a person, a wiki, a program and a spreadsheet.

use crate::common::Folder;
use serde_json::Value;
use strewn::results::{Results, Sweep};

#[test]
fn a_run_is_text_markdown_json_and_csv() {
    let folder = Folder::new();
    let run = |words: &[&str]| folder.strewn(&[&["run", "small.toml"], words].concat()).succeeded();
    let json = run(&["--format", "json", "--out", "out"]);
    let results = Results::from_json(&json).unwrap();
    assert_eq!(results.arrays.len(), 2);
    assert_eq!(run(&["--format", "csv"]), folder.read("out/segments.csv"));
    let markdown = run(&["--format", "markdown"]);
    assert!(markdown.contains("\n## anywhere: write-anywhere, 8 outstanding"), "{markdown}");
    assert!(markdown.contains("\n| segment |"), "{markdown}");
    assert!(!markdown.contains("Left out for the width"), "{markdown}");
    assert_eq!(run(&["--format", "md"]), markdown);
    assert_eq!(run(&["--format", "text"]), run(&[]));
    // What is chosen is printed, in each form.
    let chosen = run(&["--columns", "iops,layout_score"]);
    let heading = chosen.lines().find(|line| line.trim_start().starts_with("segment")).unwrap();
    let words: Vec<&str> = heading.split_whitespace().collect();
    assert_eq!(words, ["segment", "IOPS", "score"], "{chosen}");
    let csv = run(&["--columns", "iops,layout_score", "--format", "csv"]);
    assert_eq!(csv.lines().next().unwrap(), "array,segment,host_ops_per_s,layout_score_0_to_1");
    let brief = run(&["--brief"]);
    assert!(brief.contains("anywhere: ") && !brief.contains("----"), "{brief}");
}

#[test]
fn every_command_with_tables_has_each_form() {
    let folder = Folder::new();
    folder.strewn(&["run", "small.toml", "--out", "one"]).succeeded();
    folder.strewn(&["run", "small.toml", "--seed", "9", "--out", "two"]).succeeded();
    let study = "schema = 1\nname = \"s\"\ntitle = \"S\"\nscenario = \"small.toml\"\nsegments = 1\n\
                 [[axis]]\nname = \"a\"\nsetting = \"*.outstanding\"\nvalues = [1, 8]\n";
    folder.write("study.toml", study);
    let commands: [&[&str]; 6] = [
        &["compare", "one", "two"],
        &["sweep", "study.toml", "--out", "sweep"],
        &["bench", "small.toml", "--seconds", "0.1"],
        &["claims"],
        &["spindle", "--list"],
        &["spindle", "seagate-cheetah-15k5-st3146855fc", "--closed-loop", "4", "--commands", "200"],
    ];
    for command in commands {
        let printed =
            |format: &str| folder.strewn(&[command, &["--format", format]].concat()).stdout;
        assert!(!printed("text").is_empty(), "{command:?}");
        let markdown = printed("markdown");
        assert!(
            markdown.lines().any(|line| line.starts_with("| --- |")
                || line.starts_with("|---")
                || line.starts_with("| ---: |")),
            "{command:?}: {markdown}"
        );
        let latex = printed("latex");
        assert!(
            latex.starts_with(&format!("% strewn {}: strewn ", env!("CARGO_PKG_VERSION"))),
            "{command:?}"
        );
        assert!(tabulars(&latex) > 0, "{command:?}: {latex}");
        let json = printed("json");
        assert!(serde_json::from_str::<Value>(&json).is_ok(), "{command:?}: {json}");
        let csv = printed("csv");
        let first = csv.split("\r\n\r\n").next().unwrap();
        let mut reader = csv::Reader::from_reader(first.as_bytes());
        let columns = reader.headers().unwrap().len();
        assert!(columns > 1, "{command:?}: {csv}");
        assert!(reader.records().all(|row| row.unwrap().len() == columns), "{command:?}: {csv}");
    }
    let sweep = Sweep::from_json(&folder.read("sweep/sweep.json")).unwrap();
    assert_eq!(sweep.axes[0].setting, "outstanding");
}

/// Checks that a text is LaTeX: tables whose rows have as many cells as they have columns, and comments. Returns how
/// many tables there are.
#[track_caller]
fn tabulars(latex: &str) -> usize {
    let (mut tables, mut columns) = (0, None);
    for line in latex.lines().filter(|line| !line.is_empty() && !line.starts_with('%')) {
        if let Some(alignment) = line.strip_prefix("\\begin{tabular}{") {
            columns = Some(alignment.trim_end_matches('}').len());
            tables += 1;
        } else if line == "\\end{tabular}" {
            columns = None;
        } else if !["\\toprule", "\\midrule", "\\bottomrule"].contains(&line) {
            let cells = line.strip_suffix(" \\\\").map(|row| row.split(" & ").count());
            assert_eq!(cells, columns, "{line}");
        }
    }
    assert_eq!(columns, None, "{latex}");
    tables
}

#[test]
fn latex_has_names_as_they_are_and_the_command_that_made_it() {
    let folder = Folder::new();
    for (file, named) in
        [("small.toml", "awkward.toml"), ("small.published.toml", "small.published.toml")]
    {
        folder.write(named, &folder.read(file).replace("\"anywhere\"", "\"50%_A&B #1 ~^\""));
    }
    folder.strewn(&["run", "awkward.toml", "--out", "one %"]).succeeded();
    let run = ["run", "awkward.toml", "--seed", "9", "--out", "two_&", "--format", "latex"];
    let run = folder.strewn(&run).succeeded();
    let command =
        "strewn run awkward.toml --seed 9 --out 'two_&' --format latex\n% \\usepackage{booktabs}\n";
    assert!(
        run.starts_with(&format!("% strewn {}: {command}", env!("CARGO_PKG_VERSION"))),
        "{run}"
    );
    let compared = folder.strewn(&["compare", "one %", "two_&", "--format", "latex"]).succeeded();
    for (latex, name) in
        [(run, "50\\%\\_A\\&B \\#1 \\textasciitilde{}\\textasciicircum{}"), (compared, "two\\_\\&")]
    {
        assert!(tabulars(&latex) > 0, "{latex}");
        assert!(latex.contains(name), "no {name} in\n{latex}");
        // Numbers are on the right.
        assert!(latex.contains("\\begin{tabular}{l") && latex.contains("rr}"), "{latex}");
    }
}

#[test]
fn tables_fit_where_they_are_shown() {
    let folder = Folder::new();
    for columns in ["60", "80", "140"] {
        let mut command = folder.command(&["run", "small.toml"]);
        let printed = command.env("COLUMNS", columns).output().unwrap();
        let text = String::from_utf8(printed.stdout).unwrap();
        let most: usize = columns.parse().unwrap();
        let is_table = |line: &&str| line.starts_with(' ') || line.starts_with("---");
        for line in text.lines().filter(is_table) {
            assert!(line.chars().count() <= most, "{columns}: {line}");
        }
    }
}

#[test]
fn what_is_meant_is_named() {
    let folder = Folder::new();
    folder.write("jobs.fio", "[a]\nrw=read\nsize=1m\n");
    let run = |words: &[&str]| folder.strewn(&[&["run"], words].concat());
    run(&["jobs.fio"]).refused(&["a fio job file", "--fio-job jobs.fio"]);
    run(&["small.toml", "--columns", "IOPSS"]).refused(&["no such column", "did you mean iops"]);
    run(&["small.toml", "--json", "--format", "csv"]).refused(&["--json", "cannot be used with"]);
    run(&["small.toml", "--table", "markdown"]).refused(&["--table needs --out", "--format"]);
    run(&["small.toml", "--format", "yaml"]).refused(&["yaml", "markdown"]);
    run(&["small.toml", "--set", "outstanding=4"]).refused(&["ambiguous", "`*.outstanding`"]);
    run(&["small.toml", "--set", "*.outstandin=4"]).refused(&["*.outstandin", "outstanding"]);
    let set = run(&["small.toml", "--set", "*.outstanding=4", "--segments", "1", "--json"]);
    let results = Results::from_json(&set.succeeded()).unwrap();
    assert!(results.arrays.iter().all(|array| array.outstanding == 4));
}
