//! What a person sees of a bad scenario.
#![allow(clippy::unwrap_used)]

mod common;

use common::{changed, error_of};
use miette::{GraphicalReportHandler, GraphicalTheme};
use strewn_scenario::{Scenario, ScenarioError};

/// The report without colours, wide enough that nothing wraps.
fn rendered(error: &ScenarioError) -> String {
    let mut report = String::new();
    GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor())
        .with_width(200)
        .render_report(&mut report, error)
        .unwrap();
    report
}

#[test]
fn one_problem_is_shown_at_its_line() {
    let error = error_of(&changed("area_stripes = 4096", "area_stripes = 4100"));
    let report = rendered(&error);
    for line in [
        "  × scenarios/good.toml:37:16: array[anywhere].write_anywhere.area_stripes: an allocation \
         area of 4100 stripes is not a multiple of 64",
        "    ╭─[scenarios/good.toml:37:16]",
        " 37 │ area_stripes = 4100",
        " 38 │ tetris_stripes = 64",
        "    ·                  ╰── this value",
        "  help: 4160 stripes would do",
    ] {
        assert!(report.lines().any(|shown| shown == line), "no {line:?} in\n{report}");
    }
}

#[test]
fn several_problems_are_shown_each_at_its_line() {
    let text = changed("schedul", "shedul").replace("\"500 GB\"", "\"500 GO\"");
    let report = rendered(&error_of(&text));
    for fragment in [
        "  × 2 problems in scenarios/good.toml",
        "array[anywhere].sheduler: unknown key",
        "    ╭─[scenarios/good.toml:20:1]",
        " 20 │ sheduler = \"sptf\"",
        "╰── no such key here",
        "  help: did you mean `scheduler`?",
        "array[inplace].lun: `GO` is not a unit of this quantity; units of size are B, kB, MB",
        "    ╭─[scenarios/good.toml:53:7]",
        " 53 │ lun = \"500 GO\"",
        "╰── this value",
        "  help: write a size such as \"64 MiB\" or \"1000 GB\"",
    ] {
        assert!(report.contains(fragment), "no {fragment:?} in\n{report}");
    }
}

#[test]
fn a_file_that_there_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.toml");
    let error = Scenario::load(&path).unwrap_err();
    assert_eq!(error.path(), path);
    assert!(error.problems().is_empty());
    let report = rendered(&error);
    assert!(report.contains("cannot read scenario"), "{report}");
    assert!(report.contains("none.toml"), "{report}");
}
