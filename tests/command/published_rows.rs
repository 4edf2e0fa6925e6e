//! Rows of published tables: printed instead of tables of segments, fitted to, and judged as claims.

use crate::common::{Folder, SMALL};
use strewn::results::{Results, RowStatus};

const ROWS: &str = r#"
title = "Small arrays"
author = "Nobody"
year = 2026

[[row]]
name = "anywhere, in all"
array = "anywhere"
metric = "iops"
figure = 900

[[row]]
name = "anywhere over inplace"
array = "anywhere"
metric = "iops"
over = "inplace"
range = [30, 90]

[[row]]
name = "response"
array = "inplace"
metric = "response_ms"
figure = 5
not_scored = "made up"
"#;

const FITTED: &str = "[[fitted]]\nparameter = \"anywhere.host_operation\"\nrows = [\"anywhere, in all\"]\n\n[workload]";

/// A folder whose scenario has rows, to one of which a cost is fitted.
fn folder() -> Folder {
    let folder = Folder::new();
    let fitted = "[array.fitted]\nparameters = [\"processor.host_operation\"]\nsegments = [1]\n";
    assert!(SMALL.contains(fitted));
    let text = SMALL.replace(fitted, "").replacen("[workload]", FITTED, 1);
    folder.write("small.toml", &text);
    folder.write("small.published.toml", ROWS);
    folder
}

#[test]
fn a_table_of_rows_says_what_was_fitted_and_the_fit_is_written_into_the_file() {
    let folder = folder();
    let before = folder.strewn(&["run", "small.toml"]).succeeded();
    for part in [
        "anywhere, in all",
        "predicted",
        "not scored",
        "Not scored: response: made up.",
        // Declared as fitted, and never fitted.
        "Not fitted: anywhere.host_operation = 500 us; anywhere, in all are off by ",
        " % on average: strewn calibrate fits it.",
        "2 of 3 rows are scored: 0 fitted, 2 predicted.",
    ] {
        assert!(before.contains(part), "no {part:?} in\n{before}");
    }
    let said = folder.strewn(&["calibrate", "small.toml"]).succeeded();
    assert!(said.contains("anywhere.host_operation: 500 us -> "), "{said}");
    folder.strewn(&["run", "small.toml", "--out", "out"]).succeeded();
    let results = Results::from_json(&folder.read("out/results.json")).unwrap();
    let row = &results.published_rows[0];
    assert_eq!((row.status, results.fitted_settings[0].off_percent), (RowStatus::Fitted, None));
    let after = folder.strewn(&["run", "small.toml"]).succeeded();
    assert!(after.contains("Fitted: anywhere.host_operation = ") && !after.contains("Not fitted"));
    assert!(after.contains("2 of 3 rows are scored: 1 fitted, 1 predicted."), "{after}");
    // A setting that was changed since is not what was fitted.
    let other = folder.strewn(&["run", "small.toml", "--set", "anywhere.host_operation=2ms"]);
    assert!(other.succeeded().contains("Not fitted: anywhere.host_operation = 2 ms"));
    assert!(row.error_percent.unwrap().abs() < 0.5, "{row:?}");
    assert!(folder.path("out/rows-iops.svg").exists() && !folder.path("out/rows.svg").exists());
    assert!(folder.read("out/report.html").contains("anywhere over inplace"));
}

#[test]
fn what_cannot_be_fitted_is_said_with_its_unit() {
    let folder = folder();
    folder.write("small.published.toml", &ROWS.replacen("figure = 900", "figure = 900000", 1));
    let ran = folder.strewn(&["calibrate", "small.toml"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    // Eight times half of 500 us.
    assert!(ran.stderr.contains("with 1.9531 us they are off by -"), "{}", ran.stderr);
}

#[test]
fn names_that_do_not_fit_are_refused() {
    for (from, to, says) in [
        (
            "array = \"inplace\"",
            "array = \"in place\"",
            ["`in place`, and the scenario has no such array", "anywhere, inplace"],
        ),
        (
            "metric = \"response_ms\"",
            "metric = \"response_ms\"\nphase = \"late\"",
            ["`late`", "no such phase"],
        ),
        (
            "name = \"anywhere, in all\"",
            "name = \"anywhere in all\"",
            ["there is no row `anywhere, in all`", "anywhere.host_operation"],
        ),
        ("figure = 900", "range = [1, 2]", ["has no figure", "give a row with `figure`"]),
    ] {
        let folder = folder();
        assert!(ROWS.contains(from));
        folder.write("small.published.toml", &ROWS.replacen(from, to, 1));
        folder.strewn(&["run", "small.toml"]).refused(&says);
    }
}

const CLAIMS: &str = r#"
[[claim]]
document = "small"
claim = "The first is slower."
[[claim.figure]]
run = "small"
array = "anywhere"
metric = "iops"
over = "inplace"
most = 100

[[claim]]
document = "small"
claim = "The row is small."
[[claim.figure]]
run = "small"
row = "anywhere, in all"
most = 1

[[claim]]
document = "small"
claim = "Everybody likes it."
not_testable = "likes are not simulated"
"#;

#[test]
fn claims_are_judged_by_results() {
    let folder = folder();
    folder.write("claims.toml", CLAIMS);
    assert_eq!(
        folder.strewn(&["claims", "--claims", "claims.toml", "--list"]).succeeded(),
        "small\n"
    );
    let none = folder.strewn(&["claims", "--claims", "claims.toml"]);
    assert!(
        none.stdout.contains("2 without results") && none.stderr.contains("no results of small")
    );
    folder.strewn(&["run", "small.toml", "--out", "out"]).succeeded();
    let table = folder.strewn(&["claims", "--claims", "claims.toml", "out"]).succeeded();
    for part in [
        "3 claims: 1 reproduced, 1 contradicted, 1 not testable.",
        "| The first is slower. | reproduced |",
        "| The row is small. | **contradicted** |",
        "| Everybody likes it. | not testable: likes are not simulated |",
        "at most 1 IOPS | small: anywhere, in all |",
    ] {
        assert!(table.contains(part), "no {part:?} in\n{table}");
    }
    // A claim that is contradicted fails a check, unless that is stated with it.
    let check = ["claims", "--claims", "claims.toml", "--check"];
    folder.strewn(&check).refused(&["no claim was tested", "results"]);
    let checked = folder.strewn(&[&check[..], &["out"]].concat());
    assert_eq!(checked.code, Some(1), "{}", checked.stderr);
    for part in [
        "ok     reproduced   small: The first is",
        "MISSED contradicted ",
        "stated: reproduced",
        "1 of 2 claims",
    ] {
        assert!(checked.stdout.contains(part), "no {part:?} in\n{}", checked.stdout);
    }
    let stated = CLAIMS.replacen("is small.\"", "is small.\"\nverdict = \"contradicted\"", 1);
    folder.write("stated.toml", &stated);
    let checked =
        folder.strewn(&["claims", "--claims", "stated.toml", "--check", "out"]).succeeded();
    assert!(checked.contains("2 of 2 claims have the verdict"), "{checked}");
    folder
        .strewn(&["claims", "--claims", "claims.toml", "out", "out"])
        .refused(&["another run of small"]);
    // Claims about other runs are left out, and without any there is nothing to print.
    let other = "[[claim]]\ndocument = \"other\"\nclaim = \"It is faster.\"\n[[claim.figure]]\nrun = \"elsewhere\"\n\
                 row = \"x\"\nmost = 1\n[[claim]]\ndocument = \"other\"\nclaim = \"It is liked.\"\nnot_testable = \"no\"\n";
    folder.write("both.toml", &format!("{CLAIMS}{other}"));
    let both = folder.strewn(&["claims", "--claims", "both.toml", "out"]).succeeded();
    assert_eq!(both, table);
    folder.write("other.toml", other);
    folder.strewn(&["claims", "--claims", "other.toml", "out"]).refused(&[
        "there are no claims about small",
        "claims are about elsewhere",
        "--claims",
    ]);
    let all = folder.strewn(&["claims", "--claims", "other.toml"]);
    assert!(all.stdout.contains("It is faster.") && all.stdout.contains("It is liked."));
    let wrong = CLAIMS.replacen("array = \"anywhere\"", "array = \"anywere\"", 1);
    folder.write("claims.toml", &wrong);
    let stale = folder.strewn(&["claims", "--claims", "claims.toml", "out"]);
    assert!(
        stale.code == Some(2) && stale.stderr.contains("no figure of \"The first is slower.\"")
    );
    for (from, to, error) in [
        ("most = 100", "", "claims.toml:5: claim.figure: give bounds"),
        ("most = 100", "least = 3\nmost = 2", "nothing is within these bounds"),
        ("not_testable", "# not_testable", "give [[claim.figure]], or `not_testable`"),
        (
            "not_testable",
            "verdict = \"reproduced\"\nnot_testable",
            "what is not testable has no verdict",
        ),
        ("[[claim.figure]]", "verdict = \"true\"\n[[claim.figure]]", "unknown variant `true`"),
        ("row = ", "rows = ", "unknown field `rows`"),
        ("row = ", "phase = \"x\"\nrow = ", "a `row` says all of what it is of"),
    ] {
        folder.write("claims.toml", &CLAIMS.replacen(from, to, 1));
        folder.strewn(&["claims", "--claims", "claims.toml", "out"]).refused(&[error]);
    }
}

/// Verdicts are stated of what a scenario itself gives, and of nothing that was written by hand.
#[test]
fn regression_claims_of_other_runs_and_of_edited_results_fail_a_check() {
    let folder = folder();
    let stated = CLAIMS.replacen("is small.\"", "is small.\"\nverdict = \"contradicted\"", 1);
    folder.write("stated.toml", &stated);
    let check = ["claims", "--claims", "stated.toml", "--check"];
    folder.strewn(&["run", "small.toml", "--out", "out"]).succeeded();
    folder.strewn(&[&check[..], &["out"]].concat()).succeeded();
    for (out, more, says) in [
        ("other", ["--seed", "8"], "small was run with seed 8, and its own is 7"),
        ("scaled", ["--scale-down", "2"], "small was run at 1/2 of full scale"),
        ("short", ["--until", "rewritten 1000 times"], "small did not come as far as it says"),
    ] {
        let ran = folder.strewn(&[&["run", "small.toml", "--out", out], &more[..]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let checked = folder.strewn(&[&check[..], &[out]].concat());
        assert_eq!(checked.code, Some(1), "{}{}", checked.stdout, checked.stderr);
        if !checked.stderr.contains("have another verdict") {
            assert!(checked.stderr.contains(says), "{}", checked.stderr);
        }
    }
    let edited = folder.read("out/results.json").replacen("\"mean\": ", "\"mean\": 3", 1);
    folder.write("out/results.json", &edited);
    let says = "out/results.json was changed after its run";
    let checked = folder.strewn(&[&check[..], &["out"]].concat());
    assert_eq!(checked.code, Some(1), "{}{}", checked.stdout, checked.stderr);
    assert!(checked.stderr.contains(says) && checked.stderr.contains("help: "));
    let judge = ["claims", "--claims", "stated.toml", "out"];
    for words in [&judge[..], &["compare", "out", "other"], &["report", "out"]] {
        let ran = folder.strewn(words);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stderr.contains("warning: ") && ran.stderr.contains(says), "{}", ran.stderr);
    }
    folder.write("none.toml", "");
    folder
        .strewn(&["claims", "--claims", "none.toml", "out"])
        .refused(&["has no claims", "[[claim]]"]);
}
