//! Where something is in a text of TOML, for messages.

/// Returns the line of a text, from 1, that byte `start` is in.
pub(super) fn line_at(text: &str, start: usize) -> usize {
    let before = text.as_bytes().iter().take(start);
    1 + before.filter(|byte| **byte == b'\n').count()
}

/// Returns the line of a parser's error, and the field with its table: `array.iops`. `(syntax)` if the text is not TOML.
pub(super) fn place_of(text: &str, error: &toml::de::Error) -> (usize, String) {
    let line = line_at(text, error.span().map_or(0, |span| span.start));
    let (table, key) = field(text, line);
    // A missing field has no line of its own, so the error is located at its table.
    let missing = error.message().strip_prefix("missing field `");
    let key = missing.and_then(|rest| rest.split('`').next()).unwrap_or(key);
    let field = match (table, key) {
        ("", "") => "(syntax)".to_owned(),
        (only, "") | ("", only) => only.to_owned(),
        (table, key) => format!("{table}.{key}"),
    };
    (line, field)
}

/// Returns the table and key that line `line` belongs to: the last header at or before it, and the last key between the
/// two. A parser's error has a position in the text but no path of keys.
fn field(text: &str, line: usize) -> (&str, &str) {
    let (mut table, mut key) = ("", "");
    for text in text.lines().take(line).map(str::trim) {
        if text.starts_with('[') && text.contains(|letter: char| letter.is_alphabetic()) {
            table = text.split('#').next().unwrap_or_default().trim_matches(['[', ']', ' ']);
            key = "";
        } else if let Some((before, _)) = text.split_once('=')
            && !text.starts_with('#')
        {
            key = before.trim();
        }
    }
    (table, key)
}
