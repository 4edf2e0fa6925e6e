//! `strewn playground`.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;

use lzma_rust2::{LzmaOptions, LzmaWriter};
use strewn::Replacement;
use strewn::playground::page;
use strewn::terminal::{self, Ending, Failure};

use super::arguments::PlaygroundArguments;
use super::out_file::out_file;

/// The module that was there when this command was built; empty if there was none.
static OWN_MODULE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/playground.wasm"));

/// What each module begins with: its kind, and version 1 of it.
const BEGINNING: &[u8] = b"\0asm\x01\0\0\0";
/// What the page calls.
const EXPORTS: [&[u8]; 3] = [b"memory", b"reserve", b"call"];
/// The number of the section that lists what a module exports.
const EXPORT_SECTION: u8 = 7;
/// A module is some four megabytes long.
const LONGEST_BYTES: u64 = 64 << 20;

const HOW_TO_BUILD: &str = "build it from Strewn's sources: \
     `rustup target add wasm32-unknown-unknown`, \
     `cargo build --profile playground --target wasm32-unknown-unknown -p strewn-playground`, \
     and give --module target/wasm32-unknown-unknown/playground/strewn_playground.wasm";

/// Writes the page.
pub(crate) fn playground(arguments: &PlaygroundArguments) -> Result<Ending, Failure> {
    let PlaygroundArguments { out, force, module } = arguments;
    let module = match module {
        Some(path) => read_module(path)?,
        None if OWN_MODULE.is_empty() => {
            return Err(Failure::bad_input(
                "this command was built without the module of the playground",
                HOW_TO_BUILD,
            ));
        }
        None => OWN_MODULE.to_vec(),
    };
    let file = out_file(out, *force, "the page")?;
    let is_module = |module: &Path| module.canonicalize().is_ok_and(|module| module == file);
    if arguments.module.as_deref().is_some_and(is_module) {
        return Err(Failure::bad_input("--out is the module", "give another file for the page"));
    }
    let failed = |error: &dyn std::fmt::Display| Failure::failed(error.to_string());
    // What is best for this module: bytes of code are aligned to nothing.
    let options = LzmaOptions {
        lc: 4,
        pb: 0,
        nice_len: LzmaOptions::NICE_LEN_MAX,
        ..LzmaOptions::with_preset(9)
    };
    let mut compressed =
        LzmaWriter::new_use_header(Vec::new(), &options, Some(module.len() as u64))
            .map_err(|error| failed(&error))?;
    compressed.write_all(&module).map_err(|error| failed(&error))?;
    let compressed = compressed.finish().map_err(|error| failed(&error))?;
    let page = page(&compressed).map_err(|error| failed(&error))?;
    let written = Replacement::write(&file, page.as_bytes()).and_then(Replacement::put_in_place);
    written.map_err(|error| {
        Failure::failed(format!("cannot write {}: {error}", out.display())).with_help("make room")
    })?;
    let size = page.len().div_ceil(1 << 10);
    terminal::print(&format!("Written to {}: {size} KiB. Open it in a browser.\n", out.display()))?;
    Ok(Ending::Complete)
}

fn read_module(path: &Path) -> Result<Vec<u8>, Failure> {
    let shown = path.display();
    let unreadable = |error: std::io::Error| {
        Failure::bad_input(format!("--module {shown} cannot be read: {error}"), HOW_TO_BUILD)
    };
    let wrong =
        |what: &str| Err(Failure::bad_input(format!("--module {shown} {what}"), HOW_TO_BUILD));
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return wrong("is no plain file");
    }
    let mut module = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(LONGEST_BYTES).read_to_end(&mut module).map_err(unreadable)?;
    match exports(&module) {
        None => wrong("is not WebAssembly, or not all of it"),
        Some(exports) if !EXPORTS.iter().all(|name| exports.contains(name)) => {
            wrong("is WebAssembly, and not Strewn's")
        }
        Some(_) => Ok(module),
    }
}

/// Returns the names that a WebAssembly module exports; none if its sections are not whole.
fn exports(module: &[u8]) -> Option<Vec<&[u8]>> {
    let mut rest = module.strip_prefix(BEGINNING)?;
    let mut names = Vec::new();
    while let Some((kind, after)) = rest.split_first() {
        let (length, after) = number(after)?;
        let (section, after) = after.split_at_checked(length)?;
        rest = after;
        if *kind == EXPORT_SECTION {
            let (count, mut entries) = number(section)?;
            for _ in 0..count {
                let (length, after) = number(entries)?;
                let (name, after) = after.split_at_checked(length)?;
                // Its kind, and its number.
                entries = number(after.get(1..)?)?.1;
                names.push(name);
            }
        }
    }
    Some(names)
}

/// Reads a number in LEB128. Returns it, and what follows it.
fn number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut number = 0;
    for (at, byte) in bytes.iter().take(5).enumerate() {
        number |= usize::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return Some((number, &bytes[at + 1..]));
        }
    }
    None
}
