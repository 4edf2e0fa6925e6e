//! A good scenario, and ways to break it.

use strewn_scenario::{InPlace, Scenario, ScenarioError};

/// A scenario of one write-anywhere and one in-place array.
pub const GOOD: &str = include_str!("data/good.toml");

/// The name of the good scenario in errors.
pub const NAME: &str = "scenarios/good.toml";

/// Returns the good scenario, checked.
pub fn good() -> Scenario {
    Scenario::parse(GOOD, NAME).unwrap()
}

/// Returns the good scenario with the first `from`, which must be there, changed to `to`.
pub fn changed(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "the good scenario has no {from:?}");
    GOOD.replacen(from, to, 1)
}

/// Returns the error of a bad scenario.
pub fn error_of(text: &str) -> ScenarioError {
    Scenario::parse(text, NAME).expect_err("the scenario must be refused")
}

/// Returns the only problem of a bad scenario in a line: the line number, the field, the message and the remedy.
pub fn refusal(text: &str) -> String {
    let error = error_of(text);
    let [problem] = error.problems() else { panic!("not one problem: {:#?}", error.problems()) };
    format!("{} {problem}; {}", problem.line(), problem.help())
}

/// The in-place layout of the second array.
pub fn in_place(scenario: &Scenario) -> &InPlace {
    (scenario.arrays[1].layout.in_place().unwrap()) as _
}
