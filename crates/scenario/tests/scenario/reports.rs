//! The error of a bad scenario has everything that a program needs to show it.

use crate::common::{NAME, changed, error_of};
use strewn_scenario::{Problem, ProblemKind, Scenario, ScenarioError};

/// Returns the text that a problem marks.
fn marked<'e>(error: &'e ScenarioError, problem: &Problem) -> &'e str {
    &error.source_text().unwrap()[problem.span()]
}

#[test]
fn one_problem_has_its_place_its_text_and_its_help() {
    let text = changed("area_stripes = 4096", "area_stripes = 4100");
    let error = error_of(&text);
    assert_eq!(error.path().to_str(), Some(NAME));
    assert_eq!(error.source_text(), Some(text.as_str()));
    let [problem] = error.problems() else { panic!("{error:?}") };
    assert_eq!(problem.kind(), ProblemKind::Value);
    assert_eq!(problem.field(), "array[anywhere].write_anywhere.area_stripes");
    assert_eq!((problem.line(), problem.column()), (36, 16));
    assert_eq!(marked(&error, problem), "4100");
    assert_eq!(problem.label(), "this value");
    assert_eq!(problem.help(), "4160 would do");
    assert_eq!(error.help(), Some("4160 would do"));
    assert_eq!(
        error.to_string(),
        "scenarios/good.toml:36:16: array[anywhere].write_anywhere.area_stripes: is 4100, which is \
         not a multiple of 64"
    );
}

#[test]
fn several_problems_have_each_its_place_its_text_and_its_help() {
    let text = changed("schedul", "shedul").replace("\"500 GB\"", "\"500 GO\"");
    let error = error_of(&text);
    assert_eq!(error.to_string(), "2 problems in scenarios/good.toml");
    assert_eq!(error.help(), None);
    let [misspelt, unit] = error.problems() else { panic!("{error:?}") };

    assert_eq!(misspelt.kind(), ProblemKind::UnknownKey);
    assert_eq!(misspelt.to_string(), "array[anywhere].sheduler: unknown key");
    assert_eq!((misspelt.line(), misspelt.column()), (20, 1));
    assert_eq!(marked(&error, misspelt), "sheduler");
    assert_eq!(misspelt.label(), "no such key here");
    assert_eq!(misspelt.help(), "did you mean `scheduler`?");

    assert_eq!(unit.kind(), ProblemKind::Value);
    let message =
        "array[inplace].lun: `GO` is not a unit of this quantity; units of size are B, kB, MB";
    assert!(unit.to_string().starts_with(message), "{unit}");
    assert_eq!((unit.line(), unit.column()), (53, 7));
    assert_eq!(marked(&error, unit), "\"500 GO\"");
    assert_eq!(unit.label(), "this value");
    assert_eq!(unit.help(), "write a size such as \"64 MiB\" or \"1000 GB\"");
}

#[test]
fn a_file_that_there_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none.toml");
    let error = Scenario::load(&path).unwrap_err();
    assert_eq!(error.path(), path);
    assert!(error.problems().is_empty());
    assert_eq!(error.source_text(), None);
    let message = error.to_string();
    assert!(message.contains("cannot read scenario"), "{message}");
    assert!(message.contains("none.toml"), "{message}");
    assert!(error.help().is_some_and(|help| help.contains("TOML")));
}
