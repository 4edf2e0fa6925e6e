//! Renders a failure: what is wrong, each place with its source line, and the remedy.

use std::env;
use std::io::{self, IsTerminal};
use std::ops::Range;
use std::sync::OnceLock;

use annotate_snippets::renderer::DEFAULT_TERM_WIDTH;
use annotate_snippets::{
    AnnotationKind, Group, Level, Origin, Renderer, Snippet, normalize_untrusted_str,
};
use strewn_report::shown_text;
use strewn_scenario::{Problem, ScenarioError};

use crate::terminal::Failure;

/// Logs are searched for whole lines, so nothing is truncated there.
const LOG_COLUMNS: usize = usize::MAX / 2;

/// Whether messages are coloured, if the program has decided it.
static COLOR: OnceLock<bool> = OnceLock::new();

/// Decides whether the messages of this program are coloured. The first decision counts.
///
/// With `None`, and unless it is decided, messages on a terminal are coloured if the environment allows it: `NO_COLOR`,
/// `CLICOLOR=0` and `TERM=dumb` forbid it, and `CLICOLOR_FORCE` also colours what does not go to a terminal.
pub fn color_messages(color: Option<bool>) {
    if let Some(color) = color {
        let _ = COLOR.set(color);
    }
}

/// Renders a failure for standard error.
pub(crate) fn on_standard_error(failure: &Failure) -> String {
    let is_terminal = io::stderr().is_terminal();
    let is_colored = COLOR.get().copied().unwrap_or_else(|| allows_color(is_terminal));
    let renderer = if is_colored { Renderer::styled() } else { Renderer::plain() };
    rendered(
        failure,
        &renderer.term_width(if is_terminal { DEFAULT_TERM_WIDTH } else { LOG_COLUMNS }),
    )
}

/// Returns whether the environment allows colours, as <https://bixense.com/clicolors/> and <https://no-color.org>
/// define it.
fn allows_color(is_terminal: bool) -> bool {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let is = |name: &str, value: &str| env::var_os(name).is_some_and(|is| is == value);
    if is_set("NO_COLOR") {
        return false;
    }
    if is_set("CLICOLOR_FORCE") && !is("CLICOLOR_FORCE", "0") {
        return true;
    }
    // Older consoles of Windows print escape sequences as they are; its newer terminal sets WT_SESSION.
    let takes_escapes = cfg!(unix) || is_set("WT_SESSION");
    is_terminal && takes_escapes && !is("CLICOLOR", "0") && !is("TERM", "dumb")
}

/// Renders a failure with this renderer's colours and width. No line end follows the last line.
fn rendered(failure: &Failure, renderer: &Renderer) -> String {
    let Some((error, text)) =
        failure.scenario().and_then(|error| Some((error, error.source_text()?)))
    else {
        let all = std::iter::once(failure).chain(failure.others());
        let all = all.map(|failure| message(failure.message(), failure.help(), renderer));
        let mut all: Vec<String> = all.collect();
        if all.len() > 1 {
            all.push(message(&format!("{} problems", all.len()), None, renderer));
        }
        return all.join("\n\n");
    };
    let problems = error.problems();
    let mut reports: Vec<String> =
        problems.iter().map(|problem| located(error, text, problem, renderer)).collect();
    if problems.len() > 1 {
        reports.push(message(failure.message(), failure.help(), renderer));
    }
    reports.join("\n\n")
}

/// Renders a message without a place.
fn message(message: &str, help: Option<&str>, renderer: &Renderer) -> String {
    let message = shown_text(message);
    let error = renderer.render(&[Group::with_title(Level::ERROR.primary_title(message))]);
    match help {
        Some(help) => {
            let help = Group::with_title(Level::HELP.primary_title(shown_text(help)));
            format!("{error}\n{}", renderer.render(&[help]))
        }
        None => error,
    }
}

/// Renders a problem with the source lines that it marks.
fn located(error: &ScenarioError, text: &str, problem: &Problem, renderer: &Renderer) -> String {
    let path = error.path().display().to_string();
    let problem_words = problem.to_string();
    let title = Level::ERROR.primary_title(shown_text(&problem_words));
    let help = Level::HELP.message(normalize_untrusted_str(problem.help()));
    let lines = lines_of(text, &problem.span());
    let span = problem.span().start - lines.start..problem.span().end - lines.start;
    let shown = &text[lines];
    if shown.is_empty() {
        // An empty line has nothing to mark.
        let place = Origin::path(path).line(problem.line()).char_column(problem.column());
        return renderer.render(&[title.element(place).element(help)]);
    }
    let mark = AnnotationKind::Primary.span(span).label(problem.label());
    let snippet = Snippet::source(shown).path(path).line_start(problem.line()).annotation(mark);
    renderer.render(&[title.element(snippet).element(help)])
}

/// Returns the whole lines of a text that a span touches, without the last line end.
fn lines_of(text: &str, span: &Range<usize>) -> Range<usize> {
    let start = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let end = text[span.end..].find('\n').map_or(text.len(), |at| span.end + at);
    start..end
}

#[cfg(test)]
mod tests {
    use strewn_base::Rng;
    use strewn_scenario::Scenario;

    use super::*;

    const PUBLISHED: &str = "published = \"small.published.toml\"";

    /// Returns a valid scenario, with a comment in place of the line that names a file.
    fn good() -> String {
        let text = include_str!("../../tests/command/scenarios/small.toml");
        assert!(text.contains(PUBLISHED));
        text.replace(PUBLISHED, "# No published figures.")
    }

    /// Returns the valid scenario with each text, which must occur, replaced by another.
    fn changed(changes: &[(&str, &str)]) -> String {
        changes.iter().fold(good(), |text, (from, to)| {
            assert!(text.contains(from), "no {from:?}");
            text.replacen(from, to, 1)
        })
    }

    fn shown_in_a_log(text: &str) -> String {
        let error = Scenario::parse(text, "bad.toml").expect_err("the scenario must be refused");
        rendered(&Failure::from(error), &Renderer::plain().term_width(LOG_COLUMNS))
    }

    #[test]
    fn one_problem_is_shown_at_its_line() {
        let shown = shown_in_a_log(&changed(&[("outstanding = 8", "outstandign = 8")]));
        let expected = "\
error: array[anywhere].outstandign: unknown key
  --> bad.toml:17:1
   |
17 | outstandign = 8
   | ^^^^^^^^^^^ no such key here
   |
   = help: did you mean `outstanding`?";
        assert_eq!(shown, expected);
    }

    #[test]
    fn several_problems_are_shown_each_at_its_line() {
        let shown = shown_in_a_log(&changed(&[
            ("\"60 s\"", "\"60 parsecs\""),
            ("data_spindles = 4\n", ""),
        ]));
        let expected = "\
error: segment: `parsecs` is not a unit of this quantity; units of time are ns, us (or \u{b5}s), ms, s, min and h
 --> bad.toml:8:11
  |
8 | segment = \"60 parsecs\"
  |           ^^^^^^^^^^^^ this value
  |
  = help: write a time such as \"76 us\" or \"20 min\"

error: array[anywhere].write_anywhere.data_spindles: is missing
  --> bad.toml:32:1
   |
32 | [array.write_anywhere]
   | ^^^^^^^^^^^^^^^^^^^^^^ missing from this table
   |
   = help: add a line such as data_spindles = 18

error: 2 problems in bad.toml";
        assert_eq!(shown, expected);
    }

    #[test]
    fn an_empty_text_has_places_too() {
        let shown = shown_in_a_log("");
        let first =
            "error: schema: is missing\n--> bad.toml:1:1\n = help: add a line such as schema = 1\n";
        assert!(shown.starts_with(first), "{shown}");
        assert!(shown.ends_with("error: 8 problems in bad.toml"), "{shown}");
    }

    #[test]
    fn a_log_gets_whole_lines_and_no_escape_sequences() {
        let line = format!("title = \"{}\" # \u{1b}[31mred", "x".repeat(2000));
        let shown = shown_in_a_log(&line);
        assert!(shown.contains(&format!("1 | title = \"{}\" # ", "x".repeat(2000))), "{shown}");
        assert!(!shown.contains('\u{1b}'), "{shown}");
    }

    #[test]
    fn a_message_without_a_place() {
        let failure =
            Failure::bad_input("there is no scenario none.toml", "did you mean one.toml?");
        let shown = "error: there is no scenario none.toml\nhelp: did you mean one.toml?";
        assert_eq!(rendered(&failure, &Renderer::plain()), shown);
        let shown = "error: standard output is full";
        assert_eq!(
            rendered(&Failure::failed("standard output is full"), &Renderer::plain()),
            shown
        );
        assert!(rendered(&failure, &Renderer::styled()).contains("\u{1b}["));
    }

    /// Makes one of a few changes to a text, at a random place.
    fn damage(text: &mut Vec<char>, rng: &mut Rng) {
        let Some(at) = rng.below(text.len() as u64 + 1).checked_sub(1) else { return };
        let at = at as usize;
        let odd = [
            '"', '[', ']', '=', '{', '\n', '\r', '\t', '\0', '\u{e9}', '\u{6f22}', '\u{301}',
            '\u{1b}',
        ];
        match rng.below(4) {
            0 => text.truncate(at),
            1 => drop(text.drain(at..(at + 200).min(text.len()))),
            2 => text[at] = *rng.pick(&odd),
            _ => text.insert(at, *rng.pick(&odd)),
        }
    }

    /// Problems of a damaged text are shown at the places that they report, whatever the damage.
    #[test]
    fn problems_of_damaged_texts_are_shown_at_their_places() {
        let good: Vec<char> = good().chars().collect();
        for seed in 0..300 {
            let (mut rng, mut text) = (Rng::new(seed), good.clone());
            (0..4).for_each(|_| damage(&mut text, &mut rng));
            let text: String = text.into_iter().collect();
            let Err(error) = Scenario::parse(&text, "bad.toml") else { continue };
            let shown = shown_in_a_log(&text);
            for problem in error.problems() {
                let place = format!("--> bad.toml:{}:{}\n", problem.line(), problem.column());
                assert!(shown.contains(&place), "seed {seed}: no {place:?} in\n{shown}");
            }
        }
    }
}
