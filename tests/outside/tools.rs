//! Programs of other projects.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use strewn_testing::Missing;

/// The Debian package that has a program.
fn package(program: &str) -> &str {
    match program {
        "qemu-io" | "qemu-img" => "qemu-utils",
        "nbdcopy" | "nbdinfo" => "libnbd-bin",
        "mke2fs" | "e2fsck" => "e2fsprogs",
        "sbatch" | "scontrol" | "squeue" | "slurmctld" | "slurmd" => "slurm-wlm",
        "munged" => "munge",
        "kubectl" => "kubernetes-client",
        "promtool" => "prometheus",
        "pdflatex" => "texlive-latex-recommended",
        other => other,
    }
}

/// That all of these programs are on this machine.
///
/// # Errors
/// With the first that is not.
pub fn needs(programs: &[&str]) -> Result<(), Missing> {
    let missing = programs.iter().find(|program| find(program).is_none());
    match missing {
        None => Ok(()),
        Some(program) => Err(Missing::new(
            format!("no {program} on this machine"),
            format!("apt-get install {}", package(program)),
        )),
    }
}

/// The path of a program. Programs for root are sought too.
fn find(program: &str) -> Option<PathBuf> {
    let path = format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap());
    std::env::split_paths(&path)
        .map(|directory| directory.join(program))
        .find(|program| program.is_file())
}

/// A program, to be run without input.
pub fn command(program: &str) -> Command {
    let mut command = Command::new(find(program).unwrap_or_else(|| program.into()));
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
