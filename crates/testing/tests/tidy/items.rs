//! The items of a source file: functions, types, traits, `impl` blocks, modules, each with its tokens.

use std::ops::Range;

use crate::tokens::{Kind, Token};

/// An item, or a method of an `impl` block.
#[derive(Debug, Clone)]
pub struct Item<'a> {
    /// `fn`, `struct`, `impl`, `use`, …; `!` for a macro that is invoked in the place of an item.
    pub keyword: &'a str,
    /// Empty for `impl`, `use` and `!`.
    pub name: &'a str,
    /// `pub`, without a restriction such as `pub(crate)`.
    pub public: bool,
    /// Type whose `impl` block it is, or is in.
    pub owner: Option<&'a str>,
    /// An `impl` block of a trait, or what a trait declares.
    pub of_trait: bool,
    /// Compiled for tests only.
    pub test: bool,
    /// The compiler or a linker takes it by an attribute, not by a name.
    pub exported: bool,
    pub line: u32,
    /// Modules with a body around it in this file.
    pub inside: Vec<&'a str>,
    /// Its tokens, attributes included.
    pub tokens: Range<usize>,
}

/// `mod name;`, which another file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module<'a> {
    pub name: &'a str,
    /// Modules with a body around it in this file.
    pub inside: Vec<&'a str>,
    /// Value of `#[path]`, and whether it holds always.
    pub path: Option<(&'a str, bool)>,
    pub test: bool,
    pub line: u32,
}

/// What a file has.
#[derive(Debug, Default)]
pub struct Items<'a> {
    pub items: Vec<Item<'a>>,
    pub modules: Vec<Module<'a>>,
}

/// Reads the items of `tokens`.
pub fn read<'a>(tokens: &[Token<'a>], test: bool) -> Items<'a> {
    let mut reader =
        Reader { tokens, ends: groups(tokens), inside: Vec::new(), found: Items::default() };
    reader.read(0..tokens.len(), None, test);
    reader.found
}

/// For each opening bracket, where its closing one is.
pub fn groups(tokens: &[Token]) -> Vec<usize> {
    let mut ends = vec![0; tokens.len()];
    let mut open = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if token.kind == Kind::Punctuation {
            match token.text {
                "(" | "[" | "{" => open.push(at),
                ")" | "]" | "}" => {
                    if let Some(opening) = open.pop() {
                        ends[opening] = at;
                    }
                }
                _ => (),
            }
        }
    }
    for opening in open {
        ends[opening] = tokens.len() - 1;
    }
    ends
}

struct Reader<'a, 't> {
    tokens: &'t [Token<'a>],
    ends: Vec<usize>,
    inside: Vec<&'a str>,
    found: Items<'a>,
}

/// What stands before an item.
#[derive(Debug, Default)]
struct Attributes<'a> {
    test: bool,
    exported: bool,
    path: Option<(&'a str, bool)>,
}

impl<'a> Reader<'a, '_> {
    fn read(&mut self, range: Range<usize>, owner: Option<&'a str>, test: bool) {
        let mut at = range.start;
        while at < range.end {
            at = self.item(at, range.end, owner, test).max(at + 1);
        }
    }

    /// Reads the item at `start`, and returns where the next one begins.
    fn item(&mut self, start: usize, limit: usize, owner: Option<&'a str>, test: bool) -> usize {
        let (mut at, attributes) = self.attributes(start, limit);
        let test = test || attributes.test;
        let mut public = false;
        if self.word(at) == "pub" {
            at += 1;
            public = !self.is(at, "(");
            if !public {
                at = self.ends[at] + 1;
            }
        }
        while self.is_modifier(at) {
            at += 1;
        }
        let Some(keyword) = self.tokens.get(at).filter(|_| at < limit) else { return limit };
        let mut item = Item {
            keyword: keyword.text,
            name: self.word(at + 1),
            public,
            owner,
            of_trait: false,
            test,
            exported: attributes.exported,
            line: keyword.line,
            inside: self.inside.clone(),
            tokens: start..at,
        };
        let named = at + 1;
        match keyword.text {
            "mod" => return self.module(named, attributes.path, test),
            "trait" => return self.interface(item, named, limit),
            "fn" | "struct" | "enum" | "union" => item.tokens.end = self.end(named, limit, true),
            "const" | "static" | "type" => item.tokens.end = self.end(named, limit, false),
            "use" | "extern" => {
                item.name = "";
                item.tokens.end = self.end(named, limit, keyword.text == "extern");
            }
            "macro_rules" => {
                item.name = self.word(at + 2);
                item.tokens.end = self.end(named, limit, true);
            }
            "impl" => return self.implementation(item, at, limit),
            _ if self.is(at + 1, "!") || self.is(at + 1, ":") => {
                (item.keyword, item.name) = ("!", "");
                item.tokens.end = self.end(named, limit, true);
            }
            _ => return at + 1,
        }
        if item.keyword == "static" && item.name == "mut" {
            item.name = self.word(named + 1);
        }
        let end = item.tokens.end;
        self.found.items.push(item);
        end
    }

    fn attributes(&self, start: usize, limit: usize) -> (usize, Attributes<'a>) {
        let (mut at, mut found) = (start, Attributes::default());
        while at < limit && self.is(at, "#") {
            let open = if self.is(at + 1, "!") { at + 2 } else { at + 1 };
            let Some(close) = self.ends.get(open).copied() else { return (limit, found) };
            let inner = &self.tokens[open + 1..close];
            let words: Vec<&str> = inner
                .iter()
                .filter(|token| token.kind == Kind::Ident)
                .map(|token| token.text)
                .collect();
            match words[..] {
                ["test"] | ["cfg", "test" | "fuzzing" | "doctest"] | ["cfg", "all", "test", ..] => {
                    found.test = true
                }
                ["path"] | ["cfg_attr", .., "path"] => {
                    let text = inner.iter().rev().find(|token| token.kind == Kind::Text);
                    found.path = text.map(|token| (token.text.trim_matches('"'), words.len() == 1));
                }
                _ => (),
            }
            found.exported |= words.iter().any(|word| {
                matches!(
                    *word,
                    "no_mangle"
                        | "export_name"
                        | "global_allocator"
                        | "pymodule"
                        | "pyfunction"
                        | "pymethods"
                )
            });
            at = close + 1;
        }
        (at, found)
    }

    fn is_modifier(&self, at: usize) -> bool {
        match self.word(at) {
            "unsafe" | "async" | "default" | "safe" => true,
            "const" => matches!(self.word(at + 1), "fn" | "unsafe" | "async" | "extern"),
            "extern" => matches!(self.word(at + 1), "fn" | "unsafe") || self.word(at + 2) == "fn",
            _ => self.tokens.get(at).is_some_and(|token| token.kind == Kind::Text),
        }
    }

    /// Where an item ends: behind its `;`, or its body in braces.
    fn end(&self, start: usize, limit: usize, has_body: bool) -> usize {
        let mut at = start;
        while at < limit {
            if self.is(at, ";") {
                return at + 1;
            }
            let opens = ["(", "[", "{"].iter().any(|mark| self.is(at, mark));
            if opens && has_body && self.is(at, "{") {
                return self.ends[at] + 1;
            }
            at = if opens { self.ends[at] + 1 } else { at + 1 };
        }
        limit
    }

    fn module(&mut self, named: usize, path: Option<(&'a str, bool)>, test: bool) -> usize {
        let name = self.word(named);
        if self.is(named + 1, "{") {
            let close = self.ends[named + 1];
            self.inside.push(name);
            self.read(named + 2..close, None, test);
            self.inside.pop();
            return close + 1;
        }
        let line = self.tokens[named].line;
        self.found.modules.push(Module { name, inside: self.inside.clone(), path, test, line });
        named + 2
    }

    /// A trait: its header, and each function and constant that it declares.
    fn interface(&mut self, mut item: Item<'a>, named: usize, limit: usize) -> usize {
        let end = self.end(named, limit, true);
        let body = (named..end).find(|at| self.is(*at, "{")).unwrap_or(end);
        item.tokens.end = body;
        let (public, name, test, first) =
            (item.public, item.name, item.test, self.found.items.len() + 1);
        self.found.items.push(item);
        self.read(body + 1..end.saturating_sub(1), Some(name), test);
        for declared in &mut self.found.items[first..] {
            declared.of_trait = true;
            declared.public = public && declared.keyword != "type";
        }
        end
    }

    fn implementation(&mut self, mut item: Item<'a>, at: usize, limit: usize) -> usize {
        let mut open = at + 1;
        while open < limit && !self.is(open, "{") {
            open = if self.is(open, "(") || self.is(open, "[") {
                self.ends[open] + 1
            } else {
                open + 1
            };
        }
        if open >= limit {
            return limit;
        }
        (item.owner, item.of_trait) = self.self_type(at + 1, open);
        item.name = "";
        let (owner, test, close) = (item.owner, item.test, self.ends[open]);
        item.tokens.end = if item.of_trait { close + 1 } else { open };
        let of_trait = item.of_trait;
        self.found.items.push(item);
        if !of_trait {
            self.read(open + 1..close, owner, test);
        }
        close + 1
    }

    /// The type that a header between `start` and `end` names, if it names one, and whether it is of a trait.
    fn self_type(&self, start: usize, end: usize) -> (Option<&'a str>, bool) {
        let mut at = start;
        let mut parameters = Vec::new();
        if self.is(at, "<") {
            let close = self.angle(at, end);
            parameters.extend(self.tokens[at..close].iter().map(|token| token.text));
            at = close;
        }
        let of_trait = (at..end).find(|at| self.word(*at) == "for" && !self.is(at + 1, "<"));
        at = of_trait.map_or(at, |of_trait| of_trait + 1);
        let mut name = None;
        while at < end {
            let token = &self.tokens[at];
            match token.text {
                "where" | "<" => break,
                "&" | "mut" | "dyn" | ":" => (),
                _ if token.kind == Kind::Ident => name = Some(token.text),
                _ if token.kind == Kind::Lifetime => (),
                _ => return (None, of_trait.is_some()),
            }
            at += 1;
        }
        (name.filter(|name| !parameters.contains(name)), of_trait.is_some())
    }

    /// Behind the `>` of the `<` at `at`.
    fn angle(&self, start: usize, end: usize) -> usize {
        let mut depth = 0;
        for at in start..end {
            if self.is(at, "<") {
                depth += 1;
            } else if self.is(at, ">") && !self.is(at - 1, "-") {
                depth -= 1;
                if depth == 0 {
                    return at + 1;
                }
            }
        }
        end
    }

    fn is(&self, at: usize, mark: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is(mark))
    }

    fn word(&self, at: usize) -> &'a str {
        self.tokens.get(at).filter(|token| token.kind == Kind::Ident).map_or("", |token| token.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokens::scan;

    fn summary(text: &str) -> Vec<String> {
        let source = scan(text);
        let found = read(&source.tokens, false);
        let items = found.items.iter().map(|item| {
            let marks = [(item.public, "pub "), (item.test, "test ")];
            let marks: String = marks.iter().filter(|mark| mark.0).map(|mark| mark.1).collect();
            format!("{marks}{} {} {}", item.keyword, item.owner.unwrap_or("-"), item.name)
        });
        items
            .chain(
                found
                    .modules
                    .iter()
                    .map(|module| format!("mod {:?} {}", module.inside, module.name)),
            )
            .collect()
    }

    #[test]
    fn items_of_every_form_are_found() {
        let text = "
            #![forbid(unsafe_code)]
            pub const fn a<const N: usize>() -> [u8; { N }] { struct Inner; [0; N] }
            pub(crate) struct Tuple(pub u8);
            impl<T: Fn() -> u8> Trait<T> for crate::Tuple where T: Clone { fn hidden() {} }
            impl<'a, T> Generic<'a, T> { pub const SIZE: usize = { 1 }; pub unsafe fn b(&self) {} }
            impl<T: Clone> Other for T { fn hidden() {} }
            words! { One, Two }
            pub trait Third: Clone { type Item; fn e(&self) -> u8 { 1 } }
            pub extern \"C\" fn c() {}
            mod outer { mod inner; #[cfg(test)] mod tests { #[test] fn d() {} } }
            #[cfg(all(test, unix))] use x::y;";
        assert_eq!(
            summary(text),
            [
                "pub fn - a",
                "struct - Tuple",
                "impl Tuple ",
                "impl Generic ",
                "pub const Generic SIZE",
                "pub fn Generic b",
                "impl - ",
                "! - ",
                "pub trait - Third",
                "type Third Item",
                "pub fn Third e",
                "pub fn - c",
                "test fn - d",
                "test use - ",
                "mod [\"outer\"] inner",
            ]
        );
    }
}
