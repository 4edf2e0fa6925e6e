//! `strewn playground`.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use strewn::Replacement;
use strewn::terminal::{self, Ending, Failure};
use strewn_playground::check_module;

use super::arguments::PlaygroundArguments;
use super::out_file::out_file;

/// A module is some four megabytes long.
const LONGEST_BYTES: u64 = 64 << 20;
/// What the module is compiled for.
const TARGET: &str = "wasm32-unknown-unknown";
/// Where the module's sources are in a clone.
const SOURCES: &str = "crates/playground/Cargo.toml";

const HOW_TO_BUILD: &str =
    "in a clone of Strewn's repository leave --module out: the module is built there";

/// Writes the page.
pub(crate) fn playground(arguments: &PlaygroundArguments) -> Result<Ending, Failure> {
    let PlaygroundArguments { out, force, module } = arguments;
    let file = out_file(out, *force, "the page")?;
    let is_module = |module: &Path| module.canonicalize().is_ok_and(|module| module == file);
    if module.as_deref().is_some_and(is_module) {
        return Err(Failure::bad_input("--out is the module", "give another file for the page"));
    }
    let module = match module {
        Some(path) => path.clone(),
        None => build_module()?,
    };
    let page = strewn::playground_page(&read_module(&module)?)
        .map_err(|error| Failure::failed(error.to_string()))?;
    let written = Replacement::write(&file, page.as_bytes()).and_then(Replacement::put_in_place);
    written.map_err(|error| {
        Failure::failed(format!("cannot write {}: {error}", out.display())).with_help("make room")
    })?;
    let size = page.len().div_ceil(1 << 10);
    terminal::print(&format!("Written to {}: {size} KiB. Open it in a browser.\n", out.display()))?;
    Ok(Ending::Complete)
}

/// Builds the module from the clone that this is run in, and returns its path.
fn build_module() -> Result<PathBuf, Failure> {
    let here = std::env::current_dir().unwrap_or_default();
    let Some(clone) = here.ancestors().find(|folder| folder.join(SOURCES).is_file()) else {
        return Err(Failure::bad_input(
            "the simulation in the page is built from Strewn's sources, which are not here",
            "run this in a clone of Strewn's repository, or give a module with --module",
        ));
    };
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| clone.join("target"), |target| here.join(target));
    terminal::say_to_person(
        "Building the simulation as WebAssembly: up to two minutes the first time.",
    );
    // Cargo's name for itself, if it started this command.
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let library = output_in(clone, &rustc, &["--print", "target-libdir", "--target", TARGET]);
    if !library.is_some_and(|path| Path::new(path.trim()).is_dir()) {
        run_in(clone, Command::new("rustup").args(["target", "add", TARGET]))?;
    }
    let mut build = Command::new(cargo);
    build.args(["rustc", "--profile", "playground", "--target", TARGET]);
    build.args(["-p", "strewn-playground", "--crate-type", "cdylib", "--target-dir"]).arg(&target);
    run_in(clone, &mut build)?;
    Ok(target.join(TARGET).join("playground/strewn_playground.wasm"))
}

/// Returns what a program prints; none if it fails.
fn output_in(folder: &Path, program: &OsString, words: &[&str]) -> Option<String> {
    let output = Command::new(program).args(words).current_dir(folder).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn run_in(folder: &Path, command: &mut Command) -> Result<(), Failure> {
    let program = command.get_program().to_string_lossy().into_owned();
    let failed = |why: String| {
        let help = format!("the module needs cargo, and Rust's standard library for {TARGET}");
        Err(Failure::failed(format!("{program} {why}")).with_help(help))
    };
    match command.current_dir(folder).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => failed(format!("ended with {status}")),
        Err(error) => failed(format!("cannot be run: {error}")),
    }
}

fn read_module(path: &Path) -> Result<Vec<u8>, Failure> {
    let shown = path.display();
    let unreadable = |error: std::io::Error| {
        Failure::bad_input(format!("--module {shown} cannot be read: {error}"), HOW_TO_BUILD)
    };
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        let message = format!("--module {shown} is no plain file");
        return Err(Failure::bad_input(message, HOW_TO_BUILD));
    }
    let mut module = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(LONGEST_BYTES).read_to_end(&mut module).map_err(unreadable)?;
    check_module(&module)
        .map_err(|error| Failure::bad_input(format!("--module {shown} {error}"), HOW_TO_BUILD))?;
    Ok(module)
}
