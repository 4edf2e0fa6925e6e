//! Names from elsewhere, made harmless for whoever reads them.

use std::borrow::Cow;
use std::fmt::Write;

/// Returns whether a letter can act on a terminal or mislead a reader: control characters, letters that change the
/// direction of what follows or have no width, and separators of lines and paragraphs.
pub(crate) fn is_harmful(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{61c}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A path for a terminal: control characters are escaped, so that a name takes one line and changes no colours.
#[must_use]
pub fn shown_path(path: &str) -> String {
    let mut shown = String::with_capacity(path.len());
    for letter in path.chars() {
        match is_harmful(letter) {
            true => shown.extend(letter.escape_default()),
            false => shown.push(letter),
        }
    }
    shown
}

/// A text of several lines for a terminal. What could act or mislead is written as JSON and TOML write it, such as
/// `\u001b`, so that JSON stays what it is; line ends, those of CSV too, and tabs stay.
///
/// ```
/// assert_eq!(strewn_report::shown_text("a\u{1b}[31m\n"), "a\\u001b[31m\n");
/// ```
#[must_use]
pub fn shown_text(text: &str) -> Cow<'_, str> {
    let is_escaped = |letter: char| is_harmful(letter) && letter != '\n' && letter != '\t';
    if !text.contains(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let ends_line = letter == '\r' && letters.peek() == Some(&'\n');
        match is_escaped(letter) && !ends_line {
            // Writing to a string cannot fail.
            true => drop(write!(shown, "\\u{:04x}", u32::from(letter))),
            false => shown.push(letter),
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_can_neither_act_nor_mislead() {
        assert_eq!(shown_path("a\u{1b}[31m\nb"), "a\\u{1b}[31m\\nb");
        assert_eq!(shown_path("a\u{202e}b\u{61c}c\u{fffe}"), "a\\u{202e}b\\u{61c}c\\u{fffe}");
        assert_eq!(shown_path("Grüße/日本"), "Grüße/日本");
    }

    #[test]
    fn a_text_keeps_its_lines_and_json_its_meaning() {
        assert_eq!(shown_text("a\tb\nc"), "a\tb\nc");
        assert_eq!(shown_text("a,b\r\nc\r,d\r\n"), "a,b\r\nc\\u000d,d\r\n");
        assert_eq!(shown_text("\u{7}\r\u{9b}1m\u{2069}"), "\\u0007\\u000d\\u009b1m\\u2069");
        let json = serde_json::to_string_pretty(&["a\u{1b}\u{202e}\u{7f}b"]).unwrap();
        let shown = shown_text(&json);
        assert!(!shown.contains('\u{202e}') && !shown.contains('\u{7f}'));
        let read: Vec<String> = serde_json::from_str(&shown).unwrap();
        assert_eq!(read, ["a\u{1b}\u{202e}\u{7f}b"]);
    }
}
