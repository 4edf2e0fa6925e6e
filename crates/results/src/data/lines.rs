//! Sentences in lines.

/// Breaks a sentence into lines of so many characters, of which all but the first begin with `indent`.
#[must_use]
pub fn wrapped(sentence: &str, width: usize, indent: &str) -> String {
    let mut lines = String::new();
    let mut column = 0usize;
    for word in sentence.split(' ') {
        let length = word.chars().count();
        if column > 0 && column.saturating_add(1 + length) > width {
            lines.push('\n');
            lines.push_str(indent);
            column = indent.len();
        } else if column > 0 {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += length;
    }
    lines
}
