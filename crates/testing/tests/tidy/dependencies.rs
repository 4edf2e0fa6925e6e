//! A dependency that nothing in its package uses, or that only tests use, and a feature without effect.

use std::collections::HashSet;

use crate::finding::Finding;
use crate::items;
use crate::manifest::Purpose;
use crate::mentions::is_rust;
use crate::repository::{Package, Repository, Role, Workspace};
use crate::tokens::{Kind, Source, scan};

/// Words of a package's code: what it ships, and what tests, benchmarks and examples have besides.
#[derive(Debug, Default)]
struct Words<'a> {
    shipped: HashSet<&'a str>,
    development: HashSet<&'a str>,
    /// Texts, among them those of `cfg(feature = "…")`.
    texts: HashSet<&'a str>,
}

/// Checks every package, and the workspace's own list.
pub fn check(repository: &Repository, workspace: &Workspace) -> Vec<Finding> {
    let mut found = Vec::new();
    for (at, package) in workspace.packages.iter().enumerate() {
        let words = words(repository, workspace, at);
        found.extend(unused(package, &words));
        found.extend(features(package, &words));
        found.extend(unnamed(workspace, package));
    }
    found
}

fn unused(package: &Package, words: &Words) -> Vec<Finding> {
    let mut found = Vec::new();
    for dependency in &package.manifest.dependencies {
        let word = &*dependency.name.replace('-', "_");
        let (shipped, development) =
            (words.shipped.contains(word), words.development.contains(word));
        let also_normal = |name: &str| {
            let mut others = package.manifest.dependencies.iter();
            others.any(|other| {
                other.name == name && other.purpose == Purpose::Normal && !other.optional
            })
        };
        let fault = match dependency.purpose {
            Purpose::Normal if shipped => continue,
            Purpose::Normal if development => ("only tests use", "move it to [dev-dependencies]"),
            Purpose::Development
                if development && !dependency.features && also_normal(&dependency.name) =>
            {
                ("[dependencies] already has", "remove the line of [dev-dependencies]")
            }
            Purpose::Development if development => continue,
            Purpose::Build if words.shipped.contains(word) => continue,
            Purpose::Workspace => continue,
            _ => ("nothing uses", "remove it"),
        };
        found.push(finding(package, dependency.line, &dependency.name, fault));
    }
    found
}

/// Entries of `[workspace.dependencies]` that no member names.
fn unnamed(workspace: &Workspace, package: &Package) -> Vec<Finding> {
    let entries =
        package.manifest.dependencies.iter().filter(|one| one.purpose == Purpose::Workspace);
    let is_named = |name: &str| {
        let mut all = workspace.packages.iter().flat_map(|package| &package.manifest.dependencies);
        all.any(|other| other.name == name && other.purpose != Purpose::Workspace)
    };
    let unnamed = entries.filter(|entry| !is_named(&entry.name));
    unnamed
        .map(|entry| finding(package, entry.line, &entry.name, ("no member uses", "remove it")))
        .collect()
}

/// Features that switch on nothing: no dependency, no other feature, no code.
fn features(package: &Package, words: &Words) -> Vec<Finding> {
    let empty = package.manifest.values("features").filter(|feature| feature.raw == "[]");
    let without_code =
        empty.filter(|feature| !words.texts.contains(&*format!("\"{}\"", feature.key)));
    without_code
        .map(|feature| {
            finding(
                package,
                feature.line,
                &feature.key,
                ("no code is compiled for the feature", "remove it"),
            )
        })
        .collect()
}

fn finding(
    package: &Package,
    line: u32,
    name: &str,
    (what, remedy): (&str, &'static str),
) -> Finding {
    Finding {
        file: format!("{}Cargo.toml", package.folder),
        line,
        what: format!("{what} `{name}` in {}", package.name),
        remedy,
        key: format!("{} {name}", package.name),
    }
}

fn words<'a>(repository: &'a Repository, workspace: &Workspace, package: usize) -> Words<'a> {
    let mut words = Words::default();
    let fuzz =
        workspace.packages[package].manifest.value("package.metadata", "cargo-fuzz").is_some();
    for (path, uses) in &workspace.files {
        let Some(compiled) =
            uses.iter().filter(|compiled| compiled.package == package).min_by_key(|one| one.role)
        else {
            continue;
        };
        let source = scan(&repository.texts[path]);
        let for_tests = compiled.role >= Role::Example && !fuzz;
        for item in items::read(&source.tokens, for_tests).items {
            let names = if item.test { &mut words.development } else { &mut words.shipped };
            for token in &source.tokens[item.tokens.clone()] {
                match token.kind {
                    Kind::Ident => drop(names.insert(token.text)),
                    Kind::Text => drop(words.texts.insert(token.text)),
                    _ => (),
                }
            }
        }
        // Attributes of modules belong to no item.
        let attributes = source.tokens.iter().filter(|token| token.kind == Kind::Text);
        words.texts.extend(attributes.map(|token| token.text));
        examples(&source, &mut words.development);
    }
    let readme = format!("{}README.md", workspace.packages[package].folder);
    if let Some(text) = repository.texts.get(&readme) {
        example_words(text.lines(), &mut words.development);
    }
    words
}

fn examples<'a>(source: &Source<'a>, words: &mut HashSet<&'a str>) {
    example_words(source.comments.iter().filter_map(|comment| comment.documentation()), words);
}

fn example_words<'a>(lines: impl Iterator<Item = &'a str>, words: &mut HashSet<&'a str>) {
    let mut fence: Option<bool> = None;
    for line in lines {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            fence = if fence.is_some() { None } else { Some(is_rust(language)) };
        } else if fence == Some(true) {
            words.extend(scan(line).tokens.iter().map(|token| token.text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_uses_is_found() {
        let repository = Repository::of(&[
            (
                "Cargo.toml",
                "[workspace.dependencies]\nused = \"1\"\nleft = \"1\"\n[package]\nname = \"root\"\n",
            ),
            (
                "crates/a/Cargo.toml",
                "[package]\nname = \"strewn-a\"\n[features]\nidle = []\nbusy = []\n[dependencies]\nused.workspace = true\n\
                 for-tests = \"1\"\nnobody = \"1\"\n[dev-dependencies]\nused.workspace = true\nin-docs = \"1\"\ngone = \"1\"\n",
            ),
            (
                "crates/a/src/lib.rs",
                "//! ```\n//! in_docs::f();\n//! ```\nuse used::a;\n#[cfg(feature = \"busy\")] mod b {}\n\
                 #[cfg(test)] mod tests { use for_tests::nobody_else; use used::x; }",
            ),
        ]);
        let found = check(&repository, &Workspace::of(&repository));
        let found: Vec<String> =
            found.iter().map(|finding| format!("{}: {}", finding.line, finding.what)).collect();
        assert_eq!(
            found,
            [
                "3: no member uses `left` in root",
                "8: only tests use `for-tests` in strewn-a",
                "9: nothing uses `nobody` in strewn-a",
                "11: [dependencies] already has `used` in strewn-a",
                "13: nothing uses `gone` in strewn-a",
                "4: no code is compiled for the feature `idle` in strewn-a",
            ]
        );
    }
}
