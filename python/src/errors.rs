//! Failures as exceptions. Their classes are Python's own (`strewn/_errors.py`): a class of the stable interface cannot
//! derive from `Exception` before Python 3.12.

use pyo3::prelude::*;
use pyo3::types::PyList;
use strewn::Failure;
use strewn::scenario::{Problem, ProblemKind, ScenarioError, SetError};

/// Returns the exception for a failure.
pub(crate) fn raised(failure: impl Into<Failure>) -> PyErr {
    let failure = failure.into();
    Python::attach(|py| {
        let exception = match failure.scenario() {
            Some(error) => of_scenario(py, error, failure.message(), failure.help()),
            None => of_failure(py, &failure),
        };
        exception.map_or_else(|error| error, PyErr::from_value)
    })
}

/// Returns the exception for work that failed without a remedy.
pub(crate) fn failed(error: impl std::fmt::Display) -> PyErr {
    raised(Failure::failed(error.to_string()))
}

/// Returns the exception for a setting that cannot be changed.
pub(crate) fn unset(error: SetError) -> PyErr {
    match error {
        SetError::Scenario(error) => raised(error),
        error => {
            let help = in_python(&error.help().unwrap_or_default());
            Python::attach(|py| {
                let class = class(py, "ScenarioError");
                let exception = class.and_then(|class| class.call1((error.to_string(), help)));
                exception.map_or_else(|error| error, PyErr::from_value)
            })
        }
    }
}

/// Returns a remedy with the command's way to list settings replaced by ours.
fn in_python(help: &str) -> String {
    help.replace("`strewn run SCENARIO --explain`", "`strewn.scenario_settings(scenario)`")
}

/// Returns the exception for a value of a dictionary that a scenario cannot hold.
pub(crate) fn not_a_value(place: &str, message: &str, help: &str) -> PyErr {
    Python::attach(|py| {
        let exception = class(py, "Problem").and_then(|problem| {
            let problem = problem.call1((place, message, help))?;
            let problems = PyList::new(py, [problem])?;
            class(py, "ScenarioError")?.call1((format!("{place}: {message}"), help, problems))
        });
        exception.map_or_else(|error| error, PyErr::from_value)
    })
}

fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("strewn._errors")?.getattr(name)
}

fn of_failure<'py>(py: Python<'py>, failure: &Failure) -> PyResult<Bound<'py, PyAny>> {
    // Further problems of the same input.
    let others = failure.others().iter();
    let others = others.map(|other| (other.message(), other.help().map(in_python)));
    let others = PyList::new(py, others)?;
    class(py, "StrewnError")?.call1((failure.message(), failure.help().map(in_python), others))
}

fn of_scenario<'py>(
    py: Python<'py>,
    error: &ScenarioError,
    message: &str,
    help: Option<&str>,
) -> PyResult<Bound<'py, PyAny>> {
    let problem = class(py, "Problem")?;
    let of_problem = |at: &Problem| {
        let kind = match at.kind() {
            ProblemKind::Syntax => "syntax",
            ProblemKind::UnknownKey => "unknown-key",
            ProblemKind::Missing => "missing",
            // Kinds may be added; what a value may be is the widest of those that this package names.
            _ => "value",
        };
        let help = in_python(at.help());
        problem.call1((at.field(), at.message(), help, at.line(), at.column(), kind))
    };
    let problems = error.problems().iter().map(of_problem).collect::<PyResult<Vec<_>>>()?;
    let problems = PyList::new(py, problems)?;
    let path = error.path().display().to_string();
    class(py, "ScenarioError")?.call1((
        message,
        help.map(in_python),
        problems,
        path,
        error.source_text(),
    ))
}
