//! Rules about whole files: never compiled, error types of one name, and paths of one machine.

use std::collections::BTreeMap;

use crate::finding::Finding;
use crate::items;
use crate::repository::{Repository, Role, Workspace};
use crate::tokens::scan;

/// Source files that no target reaches by `mod`.
pub fn check_compiled(repository: &Repository, workspace: &Workspace) -> Vec<Finding> {
    let never = repository.ending(".rs").filter(|(path, _)| !workspace.files.contains_key(*path));
    never
        .map(|(path, _)| Finding {
            file: path.into(),
            line: 0,
            what: "no target compiles it".into(),
            remedy: "declare it by `mod`, or remove it",
            key: path.into(),
        })
        .collect()
}

/// Public error types that share a name.
pub fn check_errors(repository: &Repository, workspace: &Workspace) -> Vec<Finding> {
    let mut named: BTreeMap<&str, Vec<(&str, u32)>> = BTreeMap::new();
    for (path, uses) in &workspace.files {
        if !uses.iter().any(|compiled| compiled.role == Role::Library) {
            continue;
        }
        for item in items::read(&scan(&repository.texts[path]).tokens, false).items {
            let is_error =
                matches!(item.keyword, "struct" | "enum") && item.name.ends_with("Error");
            if is_error && item.public && !item.test {
                named.entry(item.name).or_default().push((path, item.line));
            }
        }
    }
    let shared = named.into_iter().filter(|(_, places)| places.len() > 1);
    shared
        .map(|(name, places)| Finding {
            file: places[0].0.into(),
            line: places[0].1,
            what: format!(
                "`{name}` is also in {}",
                places[1..].iter().map(|(path, _)| *path).collect::<Vec<_>>().join(", ")
            ),
            remedy: "name each error for what failed",
            key: name.into(),
        })
        .collect()
}

/// Texts that mean something on one machine only: folders of a user, and where packages come from.
const ELSEWHERE: [&str; 7] = [
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
    concat!("/ro", "ot/"),
    concat!("/wo", "rk/"),
    concat!("index", "-url"),
    concat!("replace", "-with"),
    concat!("artifac", "tory"),
];

/// Where every dependency in a lock file comes from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Paths and registries of one machine.
pub fn check_paths(repository: &Repository) -> Vec<Finding> {
    let mut found = Vec::new();
    for (path, text) in &repository.texts {
        for (number, line) in (1..).zip(text.lines()) {
            let text = ELSEWHERE.into_iter().find(|text| names(line, text));
            let source = line.strip_prefix("source = ").filter(|_| path.ends_with("Cargo.lock"));
            let registry = source.filter(|source| source.trim_matches('"') != REGISTRY);
            if let Some(text) = text.or(registry) {
                found.push(Finding {
                    file: path.clone(),
                    line: number,
                    what: format!("`{text}` is of one machine"),
                    remedy: "write what holds on every machine",
                    key: format!("{path} {text}"),
                });
            }
        }
    }
    found
}

/// Whether `line` has `text` where a path begins.
fn names(line: &str, text: &str) -> bool {
    let mut starts = line.match_indices(text).map(|(at, _)| at);
    starts.any(|at| {
        !text.starts_with('/')
            || !line[..at]
                .ends_with(|before: char| before.is_alphanumeric() || ".-_~*}".contains(before))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(found: &[Finding]) -> Vec<String> {
        found
            .iter()
            .map(|finding| format!("{}:{} {}", finding.file, finding.line, finding.what))
            .collect()
    }

    fn repository() -> Repository {
        Repository::of(&[
            ("crates/a/Cargo.toml", "[package]\nname = \"strewn-a\"\n"),
            ("crates/a/src/lib.rs", "pub enum ReadError {}\nenum OpenError {}\n"),
            ("crates/a/src/forgotten.rs", ""),
            ("crates/b/Cargo.toml", "[package]\nname = \"strewn-b\"\n"),
            ("crates/b/src/lib.rs", "pub struct ReadError;\npub struct OpenError;\n"),
        ])
    }

    #[test]
    fn a_file_that_is_never_compiled_is_found() {
        let repository = repository();
        let found = check_compiled(&repository, &Workspace::of(&repository));
        assert_eq!(lines(&found), ["crates/a/src/forgotten.rs:0 no target compiles it"]);
    }

    #[test]
    fn errors_of_one_name_are_found() {
        let repository = repository();
        let found = check_errors(&repository, &Workspace::of(&repository));
        assert_eq!(
            lines(&found),
            ["crates/a/src/lib.rs:1 `ReadError` is also in crates/b/src/lib.rs"]
        );
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        let path = format!("{}me/strewn", ELSEWHERE[0].trim_end_matches("me/"));
        let page = format!("cd {path}\nnot a{path}\n");
        let lock = format!("source = \"{REGISTRY}\"\nsource = \"registry+https://mirror/\"\n");
        let repository = Repository::of(&[("a.md", &*page), ("Cargo.lock", &*lock)]);
        let found: Vec<(String, u32)> = check_paths(&repository)
            .into_iter()
            .map(|finding| (finding.file, finding.line))
            .collect();
        assert_eq!(found, [("Cargo.lock".into(), 2), ("a.md".into(), 1)]);
    }
}
