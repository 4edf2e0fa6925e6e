//! A public item that nothing but its own crate's tests reaches, and no front page teaches.
//!
//! Reached is what a chain of names leads to from a program, an example, a page, a doc test, or another crate's tests.
//! Names are matched without types: `x.len()` reaches every `len` of a type that is itself reached. So an item that is
//! found here is dead, and some dead ones with common names are not found.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::finding::Finding;
use crate::items::{self, Item};
use crate::mentions::{self, Form, Mention};
use crate::repository::{Repository, Role, Workspace};
use crate::tokens::{Source, scan};

/// Packages, one bit each.
type Packages = u64;

const ALL: Packages = Packages::MAX;

/// An item in its file.
struct Node<'a> {
    item: Item<'a>,
    package: usize,
    file: &'a str,
    mentions: Vec<Mention<'a>>,
    /// For which packages it is reached by something other than their tests.
    reached: Packages,
    /// The same, of its name alone: its type may not be reached.
    named: Packages,
}

struct Graph<'a> {
    nodes: Vec<Node<'a>>,
    by_name: HashMap<&'a str, Vec<usize>>,
    /// `impl` blocks and methods by package and type.
    by_owner: HashMap<(usize, &'a str), Vec<usize>>,
    /// Types by package and name.
    types: HashMap<(usize, &'a str), Vec<usize>>,
    type_names: HashSet<&'a str>,
    /// Names given by `as`, and type aliases.
    renamed: HashMap<&'a str, Vec<&'a str>>,
    closures: Vec<BTreeSet<usize>>,
    open: Vec<usize>,
}

/// Checks the library crates of `workspace`.
pub fn check(repository: &Repository, workspace: &Workspace) -> Vec<Finding> {
    let sources: HashMap<&str, Source> = workspace
        .files
        .keys()
        .filter_map(|path| repository.texts.get(path).map(|text| (&**path, scan(text))))
        .collect();
    let mut graph = Graph::of(workspace, &sources);
    graph.start(workspace, &sources);
    for (path, text) in repository.ending(".md") {
        graph.page(workspace, path, text);
    }
    graph.spread();
    graph.findings(workspace)
}

impl<'a> Graph<'a> {
    fn of(workspace: &'a Workspace, sources: &HashMap<&'a str, Source<'a>>) -> Self {
        let mut graph = Graph {
            nodes: Vec::new(),
            by_name: HashMap::new(),
            by_owner: HashMap::new(),
            types: HashMap::new(),
            type_names: HashSet::new(),
            renamed: HashMap::new(),
            closures: workspace.closures(),
            open: Vec::new(),
        };
        for (path, uses) in &workspace.files {
            let Some(source) = sources.get(&**path) else { continue };
            // A file of two targets is what its first one makes it: a library before a test.
            let Some(compiled) = uses.iter().min_by_key(|compiled| compiled.role) else { continue };
            for item in items::read(&source.tokens, compiled.role == Role::Test).items {
                graph.add(item, compiled.package, path, source);
            }
        }
        graph
    }

    fn add(&mut self, item: Item<'a>, package: usize, file: &'a str, source: &Source<'a>) {
        let at = self.nodes.len();
        let tokens = &source.tokens[item.tokens.clone()];
        let mentions = mentions::mentions(tokens, matches!(item.keyword, "!" | "macro_rules"));
        if item.keyword == "use" {
            for three in tokens.windows(3).filter(|three| three[1].is_word("as")) {
                self.renamed.entry(three[2].text).or_default().push(three[0].text);
            }
        }
        match (item.owner, item.name) {
            (Some(owner), name) => {
                self.by_owner.entry((package, owner)).or_default().push(at);
                self.by_name.entry(name).or_default().push(at);
            }
            (None, name) => self.by_name.entry(name).or_default().push(at),
        }
        if matches!(item.keyword, "struct" | "enum" | "union" | "trait") {
            self.types.entry((package, item.name)).or_default().push(at);
            self.type_names.insert(item.name);
        }
        self.nodes.push(Node { item, package, file, mentions, reached: 0, named: 0 });
    }

    /// Raises what is reached without a name.
    fn start(&mut self, workspace: &Workspace, sources: &HashMap<&'a str, Source<'a>>) {
        for at in 0..self.nodes.len() {
            let Node { item, package, file, .. } = &self.nodes[at];
            let own = self.own(workspace, *package);
            let role = workspace.files[*file].iter().map(|compiled| compiled.role).min();
            let is_root = match item.keyword {
                "!" => true,
                "use" => !item.public,
                "const" => item.name == "_",
                "fn" => {
                    item.name == "main"
                        && item.owner.is_none()
                        && matches!(role, Some(Role::Program | Role::Example))
                }
                "impl" if item.owner.is_none() => true,
                _ => item.exported,
            };
            let packages = if item.test { ALL & !own } else { ALL };
            if item.test || is_root || workspace.packages[*package].folder.starts_with("python") {
                self.raise(at, packages);
            } else if item.keyword == "impl" || (item.of_trait && item.keyword == "type") {
                self.raise(at, ALL);
            }
        }
        for (path, uses) in &workspace.files {
            let (Some(source), Some(compiled)) = (sources.get(&**path), uses.first()) else {
                continue;
            };
            let is_front_page = path.ends_with("src/lib.rs");
            let mut page = String::new();
            for comment in &source.comments {
                let Some(line) = comment.documentation() else { continue };
                page.push_str(line);
                page.push('\n');
            }
            let page: &str = &page;
            for mention in mentions::taught(page) {
                // Off a front page, spans refer, and only examples teach; `taught` marks lone spans.
                if is_front_page || !matches!(mention.form, Form::Any) {
                    self.reach(compiled.package, None, mention, ALL);
                }
            }
        }
    }

    fn page(&mut self, workspace: &Workspace, path: &str, text: &str) {
        let folder = path.trim_end_matches("README.md");
        let own = workspace
            .packages
            .iter()
            .position(|package| package.folder == folder && !folder.is_empty());
        if own.is_none() && path != "README.md" && !path.starts_with("docs/") {
            return;
        }
        let facade = workspace.package("strewn").unwrap_or_default();
        for mention in mentions::taught(text) {
            let mut form = mention.form;
            if own.is_none() && form == Form::Any {
                form = Form::Plain;
            }
            self.reach(own.unwrap_or(facade), None, Mention { form, ..mention }, ALL);
        }
    }

    /// The bit of the crate whose tests are in `package`.
    fn own(&self, workspace: &Workspace, package: usize) -> Packages {
        let folder = &workspace.packages[package].folder;
        let tested = folder.strip_suffix("fuzz/").unwrap_or(folder);
        let tested = workspace.packages.iter().position(|package| package.folder == tested);
        1 << tested.unwrap_or(package)
    }

    fn spread(&mut self) {
        while let Some(at) = self.open.pop() {
            let node = &self.nodes[at];
            let (package, owner, reached) = (node.package, node.item.owner, node.reached);
            let mentions = std::mem::take(&mut self.nodes[at].mentions);
            for mention in &mentions {
                self.reach(package, owner, *mention, reached);
            }
            self.nodes[at].mentions = mentions;
            if self.types.contains_key(&(package, self.nodes[at].item.name)) && owner.is_none() {
                for owned in self
                    .by_owner
                    .get(&(package, self.nodes[at].item.name))
                    .cloned()
                    .unwrap_or_default()
                {
                    self.raise(owned, 0);
                }
            }
        }
    }

    /// Raises what `mention`, in `package` and maybe in an `impl` of `owner`, may be.
    fn reach(
        &mut self,
        package: usize,
        owner: Option<&str>,
        mention: Mention<'_>,
        packages: Packages,
    ) {
        let Some(named) = self.by_name.get(mention.name) else {
            return self.reach_renamed(package, owner, mention, packages);
        };
        let named: Vec<usize> = named
            .iter()
            .copied()
            .filter(|at| self.is_meant(*at, package, owner, mention))
            .collect();
        let on_self = mention.form == Form::Call { on_self: true };
        let own = |at: &usize| {
            on_self && self.nodes[*at].package == package && self.nodes[*at].item.owner == owner
        };
        let has_own = named.iter().any(own);
        let chosen: Vec<usize> = named.into_iter().filter(|at| !has_own || own(at)).collect();
        for at in chosen {
            self.raise(at, packages);
        }
        self.reach_renamed(package, owner, mention, packages);
    }

    fn reach_renamed(
        &mut self,
        package: usize,
        owner: Option<&str>,
        mention: Mention<'_>,
        packages: Packages,
    ) {
        for original in self.renamed.get(mention.name).cloned().unwrap_or_default() {
            if original != mention.name {
                for at in self.by_name.get(original).cloned().unwrap_or_default() {
                    if self.is_meant(at, package, owner, Mention { name: original, ..mention }) {
                        self.raise(at, packages);
                    }
                }
            }
        }
    }

    fn is_meant(
        &self,
        at: usize,
        package: usize,
        owner: Option<&str>,
        mention: Mention<'_>,
    ) -> bool {
        let Node { item, package: of, .. } = &self.nodes[at];
        if !self.closures[package].contains(of) {
            return false;
        }
        let is_type = matches!(item.keyword, "struct" | "enum" | "union" | "trait" | "type");
        match (mention.form, item.owner) {
            // What a trait declares is named by any type that has the trait.
            (Form::Path(_), Some(_)) if item.of_trait => true,
            (Form::Any, _) => true,
            (Form::Import, _) => item.keyword == "trait",
            (Form::Call { .. }, method) => method.is_some(),
            (Form::Plain, method) => method.is_none(),
            (Form::Path(qualifier), None) => {
                is_type && qualifier == Some("Self")
                    || !qualifier.is_some_and(|name| self.is_type(name))
            }
            (Form::Path(None), Some(_)) => true,
            (Form::Path(Some("Self")), Some(method)) => owner.is_none_or(|owner| owner == method),
            (Form::Path(Some(qualifier)), Some(method)) => {
                qualifier == method
                    || self.renamed.contains_key(qualifier)
                    || self.by_name.get(qualifier).is_some_and(|named| {
                        named.iter().any(|at| self.nodes[*at].item.keyword == "type")
                    })
            }
        }
    }

    /// Whether `name` is written as types are.
    fn is_type(&self, name: &str) -> bool {
        name.starts_with(|first: char| first.is_ascii_uppercase())
            && !self.renamed.contains_key(name)
    }

    fn raise(&mut self, at: usize, packages: Packages) {
        let node = &self.nodes[at];
        let named = node.named | packages;
        let types = node.item.owner.and_then(|owner| self.types.get(&(node.package, owner)));
        let of_type = types.map_or(ALL, |types| {
            types.iter().fold(0, |reached, at| reached | self.nodes[*at].reached)
        });
        // A test reaches through types that are not reached otherwise.
        let of_type = if node.item.test { ALL } else { of_type };
        let node = &mut self.nodes[at];
        node.named = named;
        let reached = node.reached | named & of_type;
        if reached != node.reached {
            node.reached = reached;
            self.open.push(at);
        }
    }

    fn findings(&self, workspace: &Workspace) -> Vec<Finding> {
        let mut found = Vec::new();
        for node in &self.nodes {
            let Node { item, package, file, reached, .. } = node;
            let package = &workspace.packages[*package];
            let in_library =
                workspace.files[*file].iter().any(|compiled| compiled.role == Role::Library);
            let kept = reached & self.own(workspace, node.package) != 0;
            if kept
                || item.test
                || !item.public
                || !in_library
                || matches!(item.keyword, "use" | "impl" | "!")
            {
                continue;
            }
            let name = item
                .owner
                .map_or_else(|| item.name.into(), |owner| format!("{owner}::{}", item.name));
            found.push(Finding {
                file: (*file).into(),
                line: item.line,
                what: format!("nothing but the tests of {} reaches `{name}`", package.name),
                remedy: "remove it, keep it for tests (`#[cfg(test)]`), or teach it on the crate's front page",
                key: format!("{} {name}", package.name),
            });
        }
        found
    }
}
