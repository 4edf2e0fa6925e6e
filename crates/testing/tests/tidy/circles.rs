//! Circles of imports: modules of one parent each of which imports, at length, all others.
//!
//! A module is a file or a folder with what is below it. It imports another one if a path in its code, from `crate`,
//! `super`, `self` or a child, ends there. A path through a re-export ends where the item is defined. What a module and
//! the modules below it have of each other is no import: they are one thing, which its parent sees as one.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::Finding;
use crate::items::{self, Item};
use crate::repository::{Repository, Role, Workspace};
use crate::tokens::{Kind, Token, scan};

/// Modules from the crate's root.
type Module<'a> = Vec<&'a str>;

/// A path as written, in the module that has it.
#[derive(Debug, Clone)]
struct Path<'a> {
    module: Module<'a>,
    segments: Vec<&'a str>,
    line: u32,
}

/// The modules of one crate.
#[derive(Debug, Default)]
struct Crate<'a> {
    /// The module of the file that each module is in.
    files: BTreeMap<Module<'a>, Module<'a>>,
    /// What a module's `use` items call things: the path of each.
    imported: BTreeMap<(Module<'a>, &'a str), Path<'a>>,
    paths: Vec<Path<'a>>,
    /// Path of each file.
    names: BTreeMap<Module<'a>, &'a str>,
}

/// A controller's modules that its parts share, and what each of them may import of the others.
const SHARED: [(&str, &[&str]); 4] = [
    ("tag", &[]),
    ("space", &[]),
    ("memory", &["space", "tag"]),
    ("context", &["memory", "space", "tag"]),
];

/// A controller and its parts, which may import what they share, and never each other.
struct Controller {
    package: &'static str,
    folder: &'static str,
    parts: &'static [&'static str],
}

const CONTROLLERS: [Controller; 2] = [
    Controller {
        package: "strewn-array",
        folder: "write_anywhere",
        parts: &["host", "consistency_point", "redundancy", "background"],
    },
    Controller {
        package: "strewn-array",
        folder: "in_place",
        parts: &["host", "destage", "redundancy"],
    },
];

/// Checks the library of each package.
pub fn check(repository: &Repository, workspace: &Workspace) -> Vec<Finding> {
    let mut found = Vec::new();
    for package in 0..workspace.packages.len() {
        let name = &*workspace.packages[package].name;
        for (parent, edges) in Crate::of(&files(package, repository, workspace)).levels() {
            for circle in circles(&edges) {
                let names = circle.join(", ");
                let inside = if parent.is_empty() {
                    String::new()
                } else {
                    format!(" {}", parent.join("::"))
                };
                let (file, line) = edges[circle[0]]
                    .iter()
                    .find(|(to, _)| circle.contains(to))
                    .map_or(("", 0), |(_, place)| *place);
                found.push(Finding {
                    file: file.into(),
                    line,
                    what: format!("a circle of imports in {name}{inside}: {names}"),
                    remedy: "move what they share into a module that imports none of them",
                    key: format!("{name}{inside}: {names}"),
                });
            }
        }
    }
    found
}

/// Checks that the parts of controllers import only what lies below them, and never each other.
pub fn check_layers(repository: &Repository, workspace: &Workspace) -> Vec<Finding> {
    let mut found = Vec::new();
    for Controller { package: name, folder, parts } in CONTROLLERS {
        let package = workspace.packages.iter().position(|package| *package.name == *name);
        let package = package.unwrap_or_else(|| panic!("there is no package {name}"));
        let levels = Crate::of(&files(package, repository, workspace)).levels();
        let shared = SHARED.map(|(module, _)| module);
        let parts = parts.iter().map(|part| (*part, shared.as_slice()));
        for (part, below) in SHARED.into_iter().chain(parts) {
            let Some(edges) = levels.get([folder].as_slice()).and_then(|of| of.get(part)) else {
                panic!("{name} has no module {folder}::{part} that imports or is imported")
            };
            for (to, (file, line)) in edges.iter().filter(|(to, _)| !below.contains(to)) {
                found.push(Finding {
                    file: (*file).into(),
                    line: *line,
                    what: format!("{folder}::{part} imports {folder}::{to}"),
                    remedy: "ask for it by `Next`, or move what they share below both",
                    key: format!("{name} {folder}::{part} {to}"),
                });
            }
        }
    }
    found
}

/// The files of a package's library: path, text and module.
fn files<'a>(
    package: usize,
    repository: &'a Repository,
    workspace: &'a Workspace,
) -> Vec<(&'a str, &'a str, Module<'a>)> {
    let all = workspace
        .files
        .iter()
        .flat_map(|(path, uses)| uses.iter().map(move |compiled| (path, compiled)));
    all.filter(|(_, compiled)| compiled.package == package && compiled.role == Role::Library)
        .map(|(path, compiled)| {
            let module = compiled.module.iter().map(|name| &**name).collect();
            (&**path, &*repository.texts[path], module)
        })
        .collect()
}

/// Modules of one parent, what each imports of the others, and the first file and line that does.
type Edges<'a> = BTreeMap<&'a str, BTreeMap<&'a str, (&'a str, u32)>>;

impl<'a> Crate<'a> {
    fn of(files: &[(&'a str, &'a str, Module<'a>)]) -> Self {
        let mut found = Self::default();
        for (path, text, module) in files {
            found.names.insert(module.clone(), path);
            found.files.insert(module.clone(), module.clone());
            let tokens = scan(text).tokens;
            for item in items::read(&tokens, false).items.iter().filter(|item| !item.test) {
                found.add(item, &tokens[item.tokens.clone()], module);
            }
        }
        found
    }

    fn add(&mut self, item: &Item<'a>, tokens: &[Token<'a>], file: &Module<'a>) {
        let module: Module = file.iter().chain(&item.inside).copied().collect();
        self.files.entry(module.clone()).or_insert_with(|| file.clone());
        let mut at = 0;
        while at < tokens.len() {
            // Behind `impl Trait`, `use<…>` lists what is captured.
            if tokens[at].is_word("use") && !tokens.get(at + 1).is_some_and(|next| next.is("<")) {
                let mut used = Vec::new();
                at = tree(tokens, at + 1, &mut Vec::new(), &mut used);
                for (segments, name) in used {
                    let path = Path { module: module.clone(), segments, line: item.line };
                    if item.keyword == "use" {
                        self.imported.insert((module.clone(), name), path.clone());
                    }
                    self.paths.push(path);
                }
                continue;
            }
            let start = at;
            let mut segments = Vec::new();
            while tokens.get(at).is_some_and(|token| token.kind == Kind::Ident) {
                segments.push(tokens[at].text);
                at += 1;
                let continues = tokens.get(at).is_some_and(|token| token.is(":"))
                    && tokens.get(at + 1).is_some_and(|token| token.is(":"));
                if !continues || tokens.get(at + 2).is_none_or(|token| token.kind != Kind::Ident) {
                    break;
                }
                at += 2;
            }
            // `pub(in super::x)` says who may see, and imports nothing.
            let is_visibility = start > 0
                && tokens[start - 1].is_word("in")
                && start > 1
                && tokens[start - 2].is("(");
            let is_rest =
                start > 0 && tokens[start - 1].is(":") && start > 1 && tokens[start - 2].is(":");
            if segments.len() > 1 && !is_visibility && !is_rest {
                self.paths.push(Path {
                    module: module.clone(),
                    segments,
                    line: tokens[start].line,
                });
            }
            at = at.max(start + 1);
        }
    }

    /// The imports between the modules of each parent.
    fn levels(&self) -> BTreeMap<Module<'a>, Edges<'a>> {
        let mut levels: BTreeMap<Module, Edges> = BTreeMap::new();
        for path in &self.paths {
            let from = &self.files[&path.module];
            let Some(to) = self.target(path, 8) else { continue };
            let common = from.iter().zip(to).take_while(|(one, other)| one == other).count();
            // Not so for a module and one below it.
            if let (Some(one), Some(other)) = (from.get(common), to.get(common)) {
                let edges = levels.entry(from[..common].to_vec()).or_default();
                edges.entry(other).or_default();
                edges.entry(one).or_default().entry(other).or_insert((self.names[from], path.line));
            }
        }
        levels
    }

    /// The file where `path` ends, if that is in this crate.
    fn target(&self, path: &Path<'a>, depth: u32) -> Option<&Module<'a>> {
        let mut segments = path.segments.iter().copied().peekable();
        let mut module = path.module.clone();
        match *segments.peek()? {
            "crate" => {
                module.clear();
                segments.next();
            }
            "self" => drop(segments.next()),
            "super" => (),
            first => {
                let mut child = module.clone();
                child.push(first);
                if !self.files.contains_key(&child) {
                    return None;
                }
            }
        }
        while segments.next_if_eq(&"super").is_some() {
            module.pop();
        }
        while let Some(segment) = segments.next() {
            let mut child = module.clone();
            child.push(segment);
            if self.files.contains_key(&child) {
                module = child;
                continue;
            }
            let imported = self.imported.get(&(module.clone(), segment)).filter(|_| depth > 0);
            if let Some(imported) = imported.filter(|imported| {
                imported.module != path.module || imported.segments != path.segments
            }) {
                let mut through = imported.clone();
                through.segments.extend(segments);
                return self.target(&through, depth - 1);
            }
            break;
        }
        self.files.get(&module)
    }
}

/// Reads a `use` tree at `at`: each path that it imports, and its name here. Returns where the tree ends.
fn tree<'a>(
    tokens: &[Token<'a>],
    mut at: usize,
    prefix: &mut Vec<&'a str>,
    found: &mut Vec<(Vec<&'a str>, &'a str)>,
) -> usize {
    let depth = prefix.len();
    while let Some(token) = tokens.get(at) {
        if token.kind == Kind::Ident && token.text == "as" {
            if let (Some((_, name)), Some(renamed)) = (found.last_mut(), tokens.get(at + 1)) {
                *name = renamed.text;
            }
            at += 2;
            continue;
        }
        match token.text {
            "{" => {
                at += 1;
                while tokens.get(at).is_some_and(|token| !token.is("}") && !token.is(";")) {
                    at = tree(tokens, at, prefix, found);
                    at += usize::from(tokens.get(at).is_some_and(|token| token.is(",")));
                }
                at += 1;
            }
            "," | "}" | ";" => break,
            "*" => {
                found.push((prefix.clone(), "*"));
                at += 1;
            }
            _ if token.kind == Kind::Ident => {
                let continues = tokens.get(at + 1).is_some_and(|token| token.is(":"));
                if continues {
                    prefix.push(token.text);
                } else {
                    let of_self = token.text == "self" && !prefix.is_empty();
                    let segments =
                        prefix.iter().copied().chain((!of_self).then_some(token.text)).collect();
                    let name = if of_self { prefix[prefix.len() - 1] } else { token.text };
                    found.push((segments, name));
                }
                at += 1;
            }
            _ => at += 1,
        }
    }
    prefix.truncate(depth);
    at
}

/// The sets of more than one module that all reach each other.
fn circles<'a>(edges: &Edges<'a>) -> Vec<Vec<&'a str>> {
    let reached = |from: &'a str| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(at) = open.pop() {
            open.extend(edges[at].keys().copied().filter(|next| seen.insert(*next)));
        }
        seen
    };
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        edges.keys().map(|module| (*module, reached(module))).collect();
    let circle = |module: &str, others: &BTreeSet<&'a str>| -> Vec<&'a str> {
        others.iter().copied().filter(|other| reached[other].contains(module)).collect()
    };
    let circles = reached.iter().map(|(module, others)| (module, circle(module, others)));
    circles
        .filter(|(module, circle)| circle.first() == Some(*module))
        .map(|(_, circle)| circle)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles_are_found_through_re_exports() {
        let repository = Repository::of(&[
            ("crates/a/Cargo.toml", "[package]\nname = \"strewn-a\"\n"),
            (
                "crates/a/src/lib.rs",
                "mod one; mod two; mod three; pub use two::{Two as Second, other::Other};",
            ),
            ("crates/a/src/one.rs", "use crate::{Second, three};\nstruct One;"),
            (
                "crates/a/src/two/mod.rs",
                "pub mod other; mod third; fn f() { crate::one::g(); other::h(); }",
            ),
            (
                "crates/a/src/two/other.rs",
                "use super::third::X; use super::f; #[cfg(test)] mod tests { use crate::three; }",
            ),
            ("crates/a/src/two/third.rs", "impl X { fn f() { super::other::Y::g() } }"),
            ("crates/a/src/three.rs", "use super::Other; pub(in crate::one) struct X;"),
        ]);
        let found = check(&repository, &Workspace::of(&repository));
        let keys: Vec<(&str, u32)> =
            found.iter().map(|finding| (&*finding.key, finding.line)).collect();
        assert_eq!(keys, [("strewn-a: one, three, two", 1), ("strewn-a two: other, third", 1)]);
    }
}
