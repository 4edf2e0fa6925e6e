//! Lines that are too long to read: code, comments, prose.
//!
//! rustfmt holds code to its own, smaller width, except what it cannot break and what stands in macros. What has no
//! place to break is excepted here too: a text in quotes, a table, a link by itself, an address.

use crate::finding::Finding;
use crate::repository::Repository;
use crate::tokens::{Kind, Token, scan};

/// Characters of a line at most.
pub const WIDTH: usize = 120;

/// Checks Rust, the comments of TOML, and Markdown.
pub fn check(repository: &Repository) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, text) in &repository.texts {
        let long = match path.rsplit_once('.') {
            Some((_, "rs")) => rust(text),
            Some((_, "toml")) => toml(text),
            Some((_, "md")) => markdown(text),
            _ => continue,
        };
        found.extend(long.into_iter().map(|(line, length)| Finding {
            file: path.clone(),
            line,
            what: format!("a line of {length} characters"),
            remedy: "break it at 120",
            key: format!("{path} {line}"),
        }));
    }
    found
}

/// Numbers and lengths of the lines that are too long.
fn long_lines(text: &str) -> impl Iterator<Item = (u32, usize, &str)> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| line.len() > WIDTH);
    lines
        .map(|(number, line)| (number, line.chars().count(), line))
        .filter(|(_, length, _)| *length > WIDTH)
}

fn rust(text: &str) -> Vec<(u32, usize)> {
    let mut long = long_lines(text).peekable();
    if long.peek().is_none() {
        return Vec::new();
    }
    // A text is not broken for the sake of the width, as rustfmt does not.
    let source = scan(text);
    let is_text = |number: u32| {
        let after = source.tokens.partition_point(|token| token.line <= number);
        let before = source.tokens[..after].iter().rev();
        // The last one of an earlier line may reach into this one.
        let last_line = |token: &Token| token.line + token.text.matches('\n').count() as u32;
        let mut texts = before
            .take_while(|token| last_line(token) >= number)
            .filter(|token| token.kind == Kind::Text);
        texts.any(|token| token.text.len() > WIDTH / 2)
    };
    long.filter(|(number, _, line)| !is_text(*number) && !is_table(line) && !has_long_word(line))
        .map(|(line, length, _)| (line, length))
        .collect()
}

/// Whether a comment's line is of a table.
fn is_table(line: &str) -> bool {
    line.trim_start().trim_start_matches(['/', '!']).trim_start().starts_with('|')
}

fn toml(text: &str) -> Vec<(u32, usize)> {
    let comments = long_lines(text)
        .filter(|(_, _, line)| line.trim_start().starts_with('#') && !has_long_word(line));
    comments.map(|(line, length, _)| (line, length)).collect()
}

fn markdown(text: &str) -> Vec<(u32, usize)> {
    let mut is_code = false;
    let fences: Vec<bool> = text
        .lines()
        .map(|line| {
            let fence = line.trim_start().starts_with("```");
            is_code ^= fence;
            is_code || fence || line.starts_with("    ")
        })
        .collect();
    let prose = long_lines(text).filter(|(number, _, line)| {
        let line = line.trim();
        let is_link = (line.starts_with('[') || line.starts_with("!["))
            && line.ends_with(')')
            && line.matches("](").count() == 1;
        !fences[*number as usize - 1] && !line.starts_with('|') && !is_link && !has_long_word(line)
    });
    prose.map(|(line, length, _)| (line, length)).collect()
}

/// Whether an address or another word of half a line lies across the width.
fn has_long_word(line: &str) -> bool {
    let edge = line.char_indices().nth(WIDTH).map_or(line.len(), |(at, _)| at);
    let start = line[..edge].rfind(' ').map_or(0, |space| space + 1);
    let end = line[edge..].find(' ').map_or(line.len(), |space| edge + space);
    line[start..end].chars().count() > WIDTH / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_found_where_they_can_be_broken() {
        let words = "word ".repeat(30);
        let text = "x".repeat(130);
        let code = format!(
            "// {words}\n//! [x]: https://{text}\n/// | {words}\nf(\"{words}\");\nlet {} = 1;\n",
            "a + ".repeat(30)
        );
        let page = format!(
            "{words}\n| {words} |\n```\n{words}\n```\n![{words}](a.svg)\nsee [{words}](b) {words}\n"
        );
        let repository = Repository::of(&[
            ("a.rs", &*code),
            ("a.toml", &*format!("# {words}\nkey = \"{words}\"\n")),
            ("a.md", &*page),
            ("a.svg", &*words),
        ]);
        let found: Vec<String> = check(&repository)
            .iter()
            .map(|finding| format!("{}:{}", finding.file, finding.line))
            .collect();
        assert_eq!(found, ["a.md:1", "a.md:7", "a.rs:1", "a.rs:5", "a.toml:1"]);
    }
}
