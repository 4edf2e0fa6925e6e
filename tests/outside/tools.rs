//! Other people's programs.

use std::path::Path;
use std::process::{Command, Stdio};

/// Whether all of these are installed; if one is not, a line says what is left out.
pub fn have(programs: &[&str]) -> bool {
    programs.iter().all(|program| {
        let is_there = command(program).arg("--version").output().is_ok();
        if !is_there {
            println!("left out: {program} is not installed");
        }
        is_there
    })
}

/// A program, sought where a root's programs are too.
pub fn command(program: &str) -> Command {
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap());
    // What is run is found by the path of this process, not by that of the other.
    let found = path.split(':').map(|directory| Path::new(directory).join(program));
    let mut command = match found.into_iter().find(|path| path.exists()) {
        Some(path) => Command::new(path),
        None => Command::new(program),
    };
    command.stdin(Stdio::null());
    command
}

/// What a tool prints in `directory`. It must succeed.
#[track_caller]
pub fn run(directory: &Path, program: &str, arguments: &[&str]) -> String {
    let output = command(program).args(arguments).current_dir(directory).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(output.status.success(), "{program} {arguments:?}: {text}");
    text
}
