//! The problems of a scenario, with their places.

use serde_json::{Value, json};
use strewn_scenario::Problem;

/// More problems than this have one cause, such as a text that is no scenario.
const MOST_PROBLEMS: usize = 30;

/// Lists problems with their places: lines and columns from 1, columns in characters, and the lines that they are in.
pub(crate) fn problems(text: &str, problems: &[Problem]) -> Vec<Value> {
    problems.iter().take(MOST_PROBLEMS).map(|problem| of_problem(text, problem)).collect()
}

fn of_problem(text: &str, problem: &Problem) -> Value {
    let span = problem.span();
    let from = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let to = text[span.end..].find('\n').map_or(text.len(), |at| span.end + at);
    let before_end = &text[..span.end];
    let last_line = before_end.rfind('\n').map_or(0, |at| at + 1);
    let field = problem.field();
    let message = match field.is_empty() {
        true => problem.message().to_owned(),
        false => format!("{field}: {}", problem.message()),
    };
    json!({
        "line": problem.line(),
        "column": problem.column(),
        "end_line": before_end.matches('\n').count() + 1,
        "end_column": before_end[last_line..].chars().count() + 1,
        "message": message,
        "label": problem.label(),
        "help": problem.help(),
        "lines": text[from..to].lines().collect::<Vec<_>>(),
    })
}
