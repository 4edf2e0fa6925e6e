//! What a stretch of code names, and how: a method call names other things than a path does.

use crate::items::groups;
use crate::tokens::{Kind, Token, scan};

/// How a name is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form<'a> {
    /// `x.name(…)`; `self.name(…)` if `on_self`.
    Call { on_self: bool },
    /// `Qualifier::name`. Without a qualifier: of some type that the tokens do not tell.
    Path(Option<&'a str>),
    /// By itself.
    Plain,
    /// Inside of a macro that may do anything with it.
    Any,
    /// In a `use`, without a later mention.
    Import,
}

/// A name, and how it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mention<'a> {
    pub name: &'a str,
    pub form: Form<'a>,
}

/// Macros whose arguments are expressions as anywhere else.
const TRANSPARENT: [&str; 24] = [
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "eprint",
    "eprintln",
    "format",
    "format_args",
    "matches",
    "panic",
    "print",
    "println",
    "prop_assert",
    "prop_assert_eq",
    "prop_assert_ne",
    "todo",
    "try",
    "unreachable",
    "vec",
    "write",
    "writeln",
    "cfg",
];

/// The names in `tokens`. In a `use`, names are imports.
pub fn mentions<'a>(tokens: &[Token<'a>], opaque: bool) -> Vec<Mention<'a>> {
    let ends = groups(tokens);
    let mut found = Vec::new();
    // Until where tokens belong to a macro that may do anything, or to an attribute.
    let mut opaque_until = if opaque { tokens.len() } else { 0 };
    let mut import_until = 0;
    for (at, token) in tokens.iter().enumerate() {
        let any = at < opaque_until;
        match token.kind {
            Kind::Punctuation if token.text == "#" && !any => {
                let open = if tokens.get(at + 1).is_some_and(|next| next.is("!")) {
                    at + 2
                } else {
                    at + 1
                };
                if tokens.get(open).is_some_and(|next| next.is("[")) {
                    opaque_until = ends[open];
                }
            }
            Kind::Text => found.extend(inside_text(token.text, any)),
            Kind::Ident if any => found.push(Mention { name: token.text, form: Form::Any }),
            Kind::Ident if at < import_until => {
                found.push(Mention { name: token.text, form: Form::Import })
            }
            Kind::Ident => {
                let next = |by: usize| tokens.get(at + by);
                let invokes = next(1).is_some_and(|next| next.is("!"))
                    && next(2).is_some_and(|next| ["(", "[", "{"].contains(&next.text));
                if invokes && !TRANSPARENT.contains(&token.text) {
                    opaque_until = ends[at + 2];
                }
                if token.text == "use" && !next(1).is_some_and(|next| next.is("<")) {
                    import_until = (at..tokens.len()).find(|at| tokens[*at].is(";")).unwrap_or(at);
                }
                found.push(Mention { name: token.text, form: form(tokens, at) });
            }
            _ => (),
        }
    }
    found
}

fn form<'a>(tokens: &[Token<'a>], at: usize) -> Form<'a> {
    let before = |by: usize| at.checked_sub(by).map(|at| &tokens[at]);
    let is = |token: Option<&Token>, mark: &str| token.is_some_and(|token| token.is(mark));
    if is(before(1), ".") && !is(before(2), ".") {
        let on_self = before(2).is_some_and(|token| token.is_word("self")) && !is(before(3), ".");
        let called = is(tokens.get(at + 1), "(") || is(tokens.get(at + 1), ":");
        // A field is nobody's method: `Import` reaches neither functions nor methods.
        return if called { Form::Call { on_self } } else { Form::Import };
    }
    if is(before(1), ":") && is(before(2), ":") {
        let Some(end) = at.checked_sub(3) else { return Form::Path(None) };
        let qualifier = if tokens[end].is(">") { generic(tokens, end) } else { Some(end) };
        let qualifier = qualifier
            .filter(|at| tokens[*at].kind == Kind::Ident && (*at == 0 || !tokens[at - 1].is("$")));
        return Form::Path(qualifier.map(|at| tokens[at].text));
    }
    Form::Plain
}

/// The name before the `<…>` or `::<…>` that ends at `end`.
fn generic(tokens: &[Token], end: usize) -> Option<usize> {
    let mut depth = 0;
    for at in (0..=end).rev() {
        if tokens[at].is(">") && !(at > 0 && tokens[at - 1].is("-")) {
            depth += 1;
        } else if tokens[at].is("<") {
            depth -= 1;
            if depth == 0 {
                let name = (0..at).rev().find(|at| !tokens[*at].is(":"))?;
                return (tokens[name].kind == Kind::Ident).then_some(name);
            }
        }
    }
    None
}

/// Names in braces, as format strings have them; in an attribute, every word.
fn inside_text(text: &str, attribute: bool) -> Vec<Mention<'_>> {
    if attribute {
        let words = text
            .split(|mark: char| !mark.is_alphanumeric() && mark != '_')
            .filter(|word| !word.is_empty());
        return words.map(|name| Mention { name, form: Form::Any }).collect();
    }
    let pieces = text.split('{').skip(1);
    let names = pieces.filter_map(|piece| {
        piece.split(|mark: char| !mark.is_alphanumeric() && mark != '_').next()
    });
    names.filter(|name| !name.is_empty()).map(|name| Mention { name, form: Form::Plain }).collect()
}

/// The names in the code spans and Rust examples of a page, and whether each stands alone in its span.
pub fn taught(page: &str) -> Vec<Mention<'_>> {
    let mut found = Vec::new();
    let mut fence: Option<bool> = None;
    for line in page.lines() {
        let trimmed = line.trim_start();
        if let Some(language) = trimmed.strip_prefix("```") {
            fence = if fence.is_some() { None } else { Some(is_rust(language)) };
            continue;
        }
        match fence {
            Some(true) => found.extend(mentions(&scan(line).tokens, false)),
            Some(false) => (),
            None => {
                for span in line.split('`').skip(1).step_by(2) {
                    let alone = span.trim_end_matches("()");
                    let is_name = !alone.is_empty()
                        && alone.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
                    if is_name {
                        found.push(Mention { name: alone, form: Form::Any });
                    } else {
                        found.extend(mentions(&scan(span).tokens, false));
                    }
                }
            }
        }
    }
    found
}

/// Whether a fenced block with these words is a Rust example.
pub fn is_rust(language: &str) -> bool {
    let words = language.split([',', ' ']).map(str::trim);
    let known = ["", "rust", "no_run", "ignore", "should_panic", "compile_fail"];
    words.into_iter().all(|word| known.contains(&word) || word.starts_with("edition"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str) -> Vec<String> {
        let source = scan(text);
        let found = mentions(&source.tokens, false);
        found.iter().map(|mention| format!("{} {:?}", mention.name, mention.form)).collect()
    }

    #[test]
    fn forms_are_told_apart() {
        let found = listed(
            "self.a(); x.b::<u8>(); x.c; X::<Y<Z>>::d(e); format!(\"{f}\", g); odd!(h.i); 0..j; Self::k",
        );
        for expected in [
            "a Call { on_self: true }",
            "b Call { on_self: false }",
            "c Import",
            "d Path(Some(\"X\"))",
            "e Plain",
            "f Plain",
            "g Plain",
            "h Any",
            "i Any",
            "j Plain",
            "k Path(Some(\"Self\"))",
        ] {
            assert!(found.contains(&expected.to_string()), "{expected}: {found:?}");
        }
    }

    #[test]
    fn pages_teach_with_spans_and_examples() {
        let found =
            taught("Call `run()` or `Load::open`.\n```sh\nnot this\n```\n```\nexample();\n```\n");
        let names: Vec<&str> = found.iter().map(|mention| mention.name).collect();
        assert_eq!(names, ["run", "Load", "open", "example"]);
    }
}
