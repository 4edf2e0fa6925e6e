//! Takes the module of `strewn playground` into the command, if there is one: `STREWN_PLAYGROUND_MODULE` is its path.

use std::path::PathBuf;

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=STREWN_PLAYGROUND_MODULE");
    let module = match std::env::var_os("STREWN_PLAYGROUND_MODULE") {
        Some(path) => {
            println!("cargo::rerun-if-changed={}", PathBuf::from(&path).display());
            std::fs::read(path)?
        }
        // A build needs Rust for this machine and nothing else; the command says how to get one.
        None => Vec::new(),
    };
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    std::fs::write(out.join("playground.wasm"), module)
}
