//! Rust source as tokens: enough syntax to find items, names and comments, without a parser's compile time.

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Ident,
    Lifetime,
    /// A string of any form, with its quotes.
    Text,
    /// A character, a byte or a number.
    Literal,
    /// One character of punctuation.
    Punctuation,
}

/// One token, and where it begins.
#[derive(Debug, Clone, Copy)]
pub struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    pub line: u32,
}

impl Token<'_> {
    /// Whether it is the punctuation `mark`.
    pub fn is(&self, mark: &str) -> bool {
        self.kind == Kind::Punctuation && self.text == mark
    }

    /// Whether it is the name or keyword `word`.
    pub fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Ident && self.text == word
    }
}

/// A comment with its marks (`//`, `///`, `//!`, `/* */`).
#[derive(Debug, Clone, Copy)]
pub struct Comment<'a> {
    pub text: &'a str,
}

impl<'a> Comment<'a> {
    /// The text of a line of documentation (`///`, `//!`).
    pub fn documentation(&self) -> Option<&'a str> {
        let inner = self.text.strip_prefix("//!");
        inner.or_else(|| self.text.strip_prefix("///").filter(|rest| !rest.starts_with('/')))
    }
}

/// The tokens and comments of a source file.
#[derive(Debug, Default)]
pub struct Source<'a> {
    pub tokens: Vec<Token<'a>>,
    pub comments: Vec<Comment<'a>>,
}

/// Splits `text`. Every byte is in a token, a comment or white space.
pub fn scan(text: &str) -> Source<'_> {
    let mut scanner = Scanner { text, at: 0, line: 1, source: Source::default() };
    while scanner.at < text.len() {
        scanner.next();
    }
    scanner.source
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    source: Source<'a>,
}

impl<'a> Scanner<'a> {
    fn next(&mut self) {
        let rest = &self.text[self.at..];
        let bytes = rest.as_bytes();
        let first = bytes[0];
        if first.is_ascii_whitespace() {
            self.skip(1);
        } else if rest.starts_with("//") {
            let length = rest.find('\n').unwrap_or(rest.len());
            self.comment(length);
        } else if rest.starts_with("/*") {
            self.comment(block_comment(bytes));
        } else if let Some(length) = string(bytes) {
            self.token(Kind::Text, length);
        } else if first == b'\'' {
            let (kind, length) = quote(rest);
            self.token(kind, length);
        } else if rest.starts_with("b'") {
            self.token(Kind::Literal, 1 + quote(&rest[1..]).1);
        } else if rest.starts_with("r#") && bytes.get(2).is_some_and(|byte| is_word(*byte)) {
            self.skip(2);
        } else if first.is_ascii_digit() {
            self.token(Kind::Literal, number(bytes));
        } else if is_word(first) {
            let length = bytes.iter().position(|byte| !is_word(*byte)).unwrap_or(bytes.len());
            self.token(Kind::Ident, length);
        } else {
            self.token(Kind::Punctuation, 1);
        }
    }

    fn skip(&mut self, length: usize) {
        let skipped = &self.text[self.at..self.at + length];
        self.line += skipped.bytes().filter(|byte| *byte == b'\n').count() as u32;
        self.at += length;
    }

    fn token(&mut self, kind: Kind, length: usize) {
        let text = &self.text[self.at..self.at + length];
        self.source.tokens.push(Token { kind, text, line: self.line });
        self.skip(length);
    }

    fn comment(&mut self, length: usize) {
        let text = &self.text[self.at..self.at + length];
        self.source.comments.push(Comment { text });
        self.skip(length);
    }
}

fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

fn block_comment(bytes: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < bytes.len() {
        match bytes[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at.min(bytes.len())
}

/// Length of the string at the start, if there is one: plain, of bytes, of C, or raw.
fn string(bytes: &[u8]) -> Option<usize> {
    let prefix = bytes.iter().take_while(|byte| matches!(byte, b'b' | b'c' | b'r')).count();
    if prefix > 2 {
        return None;
    }
    let raw = bytes[..prefix].contains(&b'r');
    let hashes = bytes[prefix..].iter().take_while(|byte| raw && **byte == b'#').count();
    let open = prefix + hashes;
    if bytes.get(open) != Some(&b'"') {
        return None;
    }
    let mut at = open + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if !raw => at += 1,
            b'"' if bytes[at + 1..].iter().take_while(|byte| **byte == b'#').count() >= hashes => {
                return Some(at + 1 + hashes);
            }
            _ => (),
        }
        at += 1;
    }
    Some(bytes.len())
}

/// A character or a lifetime, whose quote is at the start.
fn quote(text: &str) -> (Kind, usize) {
    let mut letters = text.char_indices().skip(1);
    let (_, letter) = letters.next().unwrap_or((1, ' '));
    if letter == '\\' {
        let close = text[3..].find('\'').map_or(text.len(), |close| close + 4);
        return (Kind::Literal, close);
    }
    match letters.next() {
        Some((at, '\'')) => (Kind::Literal, at + 1),
        _ => {
            let name = text.bytes().skip(1).take_while(|byte| is_word(*byte)).count();
            (Kind::Lifetime, 1 + name)
        }
    }
}

fn number(bytes: &[u8]) -> usize {
    let mut at = 0;
    while at < bytes.len() {
        let fraction = bytes[at] == b'.'
            && bytes.get(at + 1).is_some_and(u8::is_ascii_digit)
            && !bytes[..at].contains(&b'.');
        if !is_word(bytes[at]) && !fraction {
            break;
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_comments_and_lifetimes_are_told_apart() {
        let text = "fn a<'b>(x: &'b str) -> char { let y = r#\"// no \"comment\" fn\"#; /* /* */ */ '\\'' } // end";
        let source = scan(text);
        let words: Vec<&str> = source.tokens.iter().map(|token| token.text).collect();
        assert!(words.contains(&"r#\"// no \"comment\" fn\"#"), "{words:?}");
        assert!(words.contains(&"'\\''"), "{words:?}");
        assert_eq!(words.iter().filter(|word| **word == "'b").count(), 2);
        let comments: Vec<&str> = source.comments.iter().map(|comment| comment.text).collect();
        assert_eq!(comments, ["/* /* */ */", "// end"]);
    }

    #[test]
    fn numbers_end_before_ranges_and_methods() {
        let words: Vec<&str> =
            scan("0..1.5 1.max(2) 0x_ffu8").tokens.iter().map(|token| token.text).collect();
        assert_eq!(words, ["0", ".", ".", "1.5", "1", ".", "max", "(", "2", ")", "0x_ffu8"]);
    }
}
