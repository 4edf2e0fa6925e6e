//! `strewn playground`: what it refuses. The page itself is tested in a browser.

use crate::common::Folder;

/// The smallest module that exports what the page calls; it does nothing.
fn module() -> Vec<u8> {
    let mut module = b"\0asm\x01\0\0\0".to_vec();
    // A type, a function of it, a memory, and the three exports; then the function's body.
    module.extend([1, 4, 1, 0x60, 0, 0]);
    module.extend([3, 2, 1, 0]);
    module.extend([5, 3, 1, 0, 1]);
    let mut exports = vec![3];
    for (name, kind) in [("memory", 2), ("reserve", 0), ("call", 0)] {
        exports.push(name.len() as u8);
        exports.extend(name.bytes());
        exports.extend([kind, 0]);
    }
    module.extend([7, exports.len() as u8]);
    module.extend(exports);
    module.extend([10, 4, 1, 2, 0, 0x0b]);
    module
}

#[test]
fn a_module_is_built_in_a_clone_or_given_and_is_one() {
    let folder = Folder::new();
    let without = ["playground", "--out", "page.html"];
    folder.strewn(&without).refused(&["sources, which are not here", "clone", "--module"]);
    let with = ["playground", "--out", "page.html", "--module", "module.wasm"];
    folder.strewn(&with).refused(&["module.wasm cannot be read"]);
    for (wrong, words) in [
        (b"".to_vec(), "is not WebAssembly"),
        (b"<html>".to_vec(), "is not WebAssembly"),
        (module()[..module().len() - 1].to_vec(), "or not all of it"),
        (module()[..8].to_vec(), "and not Strewn's"),
        ([module(), b"\xff".to_vec()].concat(), "or not all of it"),
    ] {
        std::fs::write(folder.path("module.wasm"), wrong).unwrap();
        folder.strewn(&with).refused(&[words]);
    }
    let directory = ["playground", "--out", "page.html", "--module", "."];
    folder.strewn(&directory).refused(&["is no plain file"]);
    assert!(!folder.path("page.html").exists());
}

#[test]
fn the_page_replaces_nothing_unasked() {
    let folder = Folder::new();
    std::fs::write(folder.path("module.wasm"), module()).unwrap();
    let words = ["playground", "--module", "module.wasm", "--out"];
    let to = |out: &'static str| [&words[..], &[out]].concat();
    assert!(folder.strewn(&to("page.html")).succeeded().contains("page.html"));
    let page = folder.read("page.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("making-sense-of-wafl-4"));
    folder.write("mine.html", "mine");
    folder.strewn(&to("mine.html")).refused(&["is there already", "--force"]);
    assert_eq!(folder.read("mine.html"), "mine");
    folder.strewn(&to("no/such/page.html")).refused(&["no such directory"]);
    folder.strewn(&to(".")).refused(&["is no plain file"]);
    let forced = |out: &'static str| [&to(out)[..], &["--force"]].concat();
    folder.strewn(&forced("module.wasm")).refused(&["--out is the module"]);
    folder.strewn(&forced("mine.html")).succeeded();
    assert_eq!(folder.read("mine.html"), page);
}

#[test]
fn a_scale_is_a_whole_number_and_quick_is_one() {
    let folder = Folder::new();
    for wrong in ["0", "-1", "1.5", "1/64", "100000"] {
        folder.strewn(&["run", "small.toml", "--scale-down", wrong]).refused(&["--scale-down"]);
    }
    folder.strewn(&["run", "small.toml", "--scale-down", "2", "--quick"]).refused(&["--quick"]);
    let json = |flags: &[&str]| {
        let printed =
            folder.strewn(&[&["run", "small.toml", "--json"], flags].concat()).succeeded();
        printed.lines().filter(|line| !line.contains("wall_seconds")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(json(&["--quick"]), json(&["--scale-down", "8"]));
    assert_eq!(json(&[]), json(&["--scale-down", "1"]));
}
