//! The repository as this program reads it: files, packages, and which source file is compiled into what.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::items::{self, Module};
use crate::manifest::{Manifest, Table};
use crate::tokens::scan;

/// Texts by their path from the repository's root, with `/`.
#[derive(Debug, Default)]
pub struct Repository {
    /// Every file that git has or would take, whose text is UTF-8.
    pub texts: BTreeMap<String, String>,
    /// Length of each file, other than texts too.
    pub lengths: BTreeMap<String, u64>,
}

impl Repository {
    /// The repository that this program belongs to.
    pub fn load() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).map(Path::to_path_buf);
        let root = root.unwrap_or_default();
        let listed = Command::new("git")
            .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
            .current_dir(&root)
            .output();
        let listed = listed.unwrap_or_else(|error| panic!("git lists the files to check: {error}"));
        assert!(
            listed.status.success(),
            "git ls-files: {}",
            String::from_utf8_lossy(&listed.stderr)
        );
        let mut repository = Self::default();
        for path in String::from_utf8_lossy(&listed.stdout).split_terminator('\0') {
            // A file that was removed and not yet committed is listed.
            let Ok(bytes) = std::fs::read(root.join(path)) else { continue };
            repository.lengths.insert(path.into(), bytes.len() as u64);
            if let Ok(text) = String::from_utf8(bytes) {
                repository.texts.insert(path.into(), text);
            }
        }
        repository
    }

    /// A repository of these files, for tests of rules.
    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Self {
        let texts = files.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect();
        let lengths =
            files.iter().map(|(path, text)| ((*path).into(), text.len() as u64)).collect();
        Self { texts, lengths }
    }

    /// Files whose name ends with `extension`.
    pub fn ending(&self, extension: &str) -> impl Iterator<Item = (&str, &str)> {
        self.texts
            .iter()
            .map(|(path, text)| (&**path, &**text))
            .filter(move |(path, _)| path.ends_with(extension))
    }

    /// Whether there is such a file or folder.
    pub fn has(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        self.lengths.contains_key(path)
            || path.is_empty()
            || self
                .lengths
                .range(folder.clone()..)
                .next()
                .is_some_and(|(other, _)| other.starts_with(&folder))
    }
}

/// What a file is compiled into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    Library,
    /// A program or a build script.
    Program,
    Example,
    /// A test, a benchmark or a fuzz target.
    Test,
}

/// A package with a `Cargo.toml`.
#[derive(Debug)]
pub struct Package {
    /// `strewn-alloc`
    pub name: String,
    /// Folder of its manifest, with a `/` at the end unless it is the root.
    pub folder: String,
    pub manifest: Manifest,
}

/// A source file that is compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// Index of the package that it is compiled into.
    pub package: usize,
    pub role: Role,
    /// Modules from the crate's root to it.
    pub module: Vec<String>,
}

/// The packages of a repository, and their files.
#[derive(Debug)]
pub struct Workspace {
    pub packages: Vec<Package>,
    /// Each compiled file, and what it is compiled into.
    pub files: BTreeMap<String, Vec<Compiled>>,
}

impl Workspace {
    /// Reads the manifests, and follows `mod` from each target.
    pub fn of(repository: &Repository) -> Self {
        let packages: Vec<Package> = repository
            .ending("Cargo.toml")
            .filter_map(|(path, text)| {
                let manifest = Manifest::read(text);
                let name = manifest.value("package", "name")?.to_string();
                Some(Package { name, folder: path.trim_end_matches("Cargo.toml").into(), manifest })
            })
            .collect();
        let mut workspace = Self { packages, files: BTreeMap::new() };
        for package in 0..workspace.packages.len() {
            for (path, role) in targets(repository, &workspace.packages[package]) {
                workspace.follow(
                    repository,
                    path,
                    Compiled { package, role, module: Vec::new() },
                    true,
                );
            }
        }
        workspace
    }

    /// Index of the package whose library is `name`, written with `-` or `_`.
    pub fn package(&self, name: &str) -> Option<usize> {
        let name = name.replace('_', "-");
        self.packages.iter().position(|package| package.name == name)
    }

    /// For each package, itself and the packages of the repository that it can name, directly or through others.
    pub fn closures(&self) -> Vec<BTreeSet<usize>> {
        let direct = |package: &Package| -> Vec<usize> {
            let dependencies = package.manifest.dependencies.iter();
            dependencies.filter_map(|dependency| self.package(&dependency.name)).collect()
        };
        let mut closures: Vec<BTreeSet<usize>> = Vec::new();
        for at in 0..self.packages.len() {
            let (mut seen, mut open) = (BTreeSet::from([at]), vec![at]);
            while let Some(package) = open.pop() {
                open.extend(
                    direct(&self.packages[package]).into_iter().filter(|next| seen.insert(*next)),
                );
            }
            closures.push(seen);
        }
        closures
    }

    fn follow(&mut self, repository: &Repository, path: String, compiled: Compiled, is_root: bool) {
        let Some(text) = repository.texts.get(&path) else { return };
        let uses = self.files.entry(path.clone()).or_default();
        if uses.contains(&compiled) {
            return;
        }
        uses.push(compiled.clone());
        let tokens = scan(text).tokens;
        for module in items::read(&tokens, false).modules {
            let places = places(&path, &module, is_root);
            // More than one, if an attribute chooses.
            for place in places.iter().filter(|place| repository.texts.contains_key(*place)) {
                let role = if module.test { Role::Test } else { compiled.role };
                let names =
                    module.inside.iter().chain([&module.name]).map(|name| (*name).to_string());
                let module = compiled.module.iter().cloned().chain(names).collect();
                self.follow(
                    repository,
                    place.clone(),
                    Compiled { role, module, ..compiled },
                    false,
                );
            }
        }
    }
}

/// Where the file of `module`, declared in `file`, may be.
fn places(file: &str, module: &Module, is_root: bool) -> Vec<String> {
    let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
    let stem = name.trim_end_matches(".rs");
    let inside: PathBuf = module.inside.iter().collect();
    let given = module.path.map(|(path, _)| normal(&Path::new(folder).join(&inside).join(path)));
    if let Some((_, true)) = module.path {
        return given.into_iter().collect();
    }
    let own = is_root || stem == "mod";
    let base = if own { PathBuf::from(folder) } else { Path::new(folder).join(stem) };
    let base = base.join(inside).join(module.name);
    let usual = [normal(&base.with_extension("rs")), normal(&base.join("mod.rs"))];
    given.into_iter().chain(usual).collect()
}

/// `path` without `.` and `..`, with `/`.
pub fn normal(path: &Path) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.iter().filter_map(|part| part.to_str()) {
        match part {
            "." => (),
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// The root files of a package's targets, by Cargo's conventions and its manifest.
fn targets(repository: &Repository, package: &Package) -> Vec<(String, Role)> {
    let folder = &package.folder;
    let fuzz = package.manifest.value("package.metadata", "cargo-fuzz").is_some();
    let program = if fuzz { Role::Test } else { Role::Program };
    let mut found: HashMap<String, Role> = HashMap::new();
    let named =
        [("src/lib.rs", Role::Library), ("src/main.rs", program), ("build.rs", Role::Program)];
    for (name, role) in named {
        found.insert(format!("{folder}{name}"), role);
    }
    let folders = [
        ("src/bin/", program),
        ("examples/", Role::Example),
        ("tests/", Role::Test),
        ("benches/", Role::Test),
    ];
    for (path, _) in repository.ending(".rs") {
        let Some(below) = path.strip_prefix(&**folder) else { continue };
        for (kind, role) in folders {
            let Some(rest) = below.strip_prefix(kind) else { continue };
            if !rest.contains('/') || (rest.ends_with("/main.rs") && rest.matches('/').count() == 1)
            {
                found.insert(path.into(), role);
            }
        }
    }
    for Table { name, values, .. } in &package.manifest.tables {
        let role = match name.as_str() {
            "lib" => Role::Library,
            "bin" => program,
            "example" => Role::Example,
            "test" | "bench" => Role::Test,
            _ => continue,
        };
        let path = values.iter().find(|value| value.key == "path");
        found.extend(path.map(|path| (format!("{folder}{}", path.text()), role)));
    }
    let mut found: Vec<_> =
        found.into_iter().filter(|(path, _)| repository.texts.contains_key(path)).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_found_where_rust_looks_for_them() {
        let repository = Repository::of(&[
            ("crates/a/Cargo.toml", "[package]\nname = \"strewn-a\"\n"),
            (
                "crates/a/src/lib.rs",
                "mod one; mod two; #[cfg(test)] mod checks; #[cfg_attr(unix, path = \"other.rs\")] mod one;",
            ),
            ("crates/a/src/one.rs", "mod inner { mod deep; }"),
            ("crates/a/src/one/inner/deep.rs", ""),
            ("crates/a/src/two/mod.rs", "#[path = \"../odd.rs\"] mod three;"),
            ("crates/a/src/odd.rs", ""),
            ("crates/a/src/checks.rs", ""),
            ("crates/a/src/other.rs", ""),
            ("crates/a/tests/all/main.rs", "mod part;"),
            ("crates/a/tests/all/part.rs", ""),
        ]);
        let workspace = Workspace::of(&repository);
        let modules: Vec<String> = workspace
            .files
            .iter()
            .map(|(path, uses)| {
                format!(
                    "{} {:?} {}",
                    path.trim_start_matches("crates/a/"),
                    uses[0].role,
                    uses[0].module.join("::")
                )
            })
            .collect();
        assert_eq!(
            modules,
            [
                "src/checks.rs Test checks",
                "src/lib.rs Library ",
                "src/odd.rs Library two::three",
                "src/one.rs Library one",
                "src/one/inner/deep.rs Library one::inner::deep",
                "src/other.rs Library one",
                "src/two/mod.rs Library two",
                "tests/all/main.rs Test ",
                "tests/all/part.rs Test part",
            ]
        );
    }
}
