//! What a reader of this repository may rely on, checked in its sources: everything public is used or taught,
//! everything compiled is needed, links lead somewhere, lines fit, and modules import downwards.
//!
//! Each rule is a module; what it lets pass, and why, is in `exceptions.txt`, whose entries fail when they are no
//! longer needed.

mod circles;
mod dependencies;
mod exceptions;
mod finding;
mod items;
mod links;
mod manifest;
mod mentions;
mod repository;
mod sources;
mod tokens;
mod unreached;
mod width;

use std::sync::OnceLock;

use crate::finding::Finding;
use crate::repository::{Repository, Workspace};

fn repository() -> &'static (Repository, Workspace) {
    static READ: OnceLock<(Repository, Workspace)> = OnceLock::new();
    READ.get_or_init(|| {
        let repository = Repository::load();
        let workspace = Workspace::of(&repository);
        (repository, workspace)
    })
}

fn holds(rule: &str, check: impl Fn(&Repository, &Workspace) -> Vec<Finding>) {
    let (repository, workspace) = repository();
    let lines = exceptions::compare(rule, &check(repository, workspace), exceptions::LIST);
    assert!(lines.is_empty(), "{} faults:\n{}", lines.len(), lines.join("\n"));
}

#[test]
fn public_items_are_reached_or_taught() {
    holds("unreached", unreached::check);
}

#[test]
fn dependencies_are_used() {
    holds("dependencies", dependencies::check);
}

#[test]
fn lines_fit() {
    holds("width", |repository, _| width::check(repository));
}

#[test]
fn modules_import_in_no_circle() {
    holds("circles", circles::check);
}

#[test]
fn parts_of_controllers_import_what_lies_below_them() {
    holds("layers", circles::check_layers);
}

#[test]
fn files_are_compiled() {
    holds("compiled", sources::check_compiled);
}

#[test]
fn links_lead_somewhere() {
    holds("links", |repository, _| links::check(repository));
}

#[test]
fn pictures_are_shown_and_small() {
    holds("pictures", |repository, _| links::check_pictures(repository));
}

#[test]
fn errors_have_names_of_their_own() {
    holds("errors", sources::check_errors);
}

#[test]
fn nothing_is_of_one_machine() {
    holds("paths", |repository, _| sources::check_paths(repository));
}
