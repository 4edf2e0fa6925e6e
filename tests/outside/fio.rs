//! Jobs of fio over a region of a LUN, whose blocks say which job wrote them.

use std::ops::Range;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::array::{Array, MIB};
use crate::tools;

/// A region, in MiB, and the round that it is written in.
pub type Region = (Range<u64>, u64);

/// Jobs that each write a region once in random order; the round is in every block, so that an older one is noticed.
fn jobs(array: &Array, regions: &[Region], only: &[&str]) -> Command {
    let mut command = tools::command("fio");
    command.current_dir(array.folder()).args([
        "--ioengine=nbd",
        "--rw=randwrite",
        "--bs=16k",
        "--iodepth=16",
        "--verify=pattern",
        "--verify_fatal=1",
        "--verify_state_save=0",
        "--thread",
    ]);
    command.arg(format!("--uri={}", array.uri()));
    // What stands before the first job is of all.
    command.args(only);
    for (mib, round) in regions {
        command.args([
            format!("--name=of-round-{round}"),
            format!("--offset={}", mib.start * MIB),
            format!("--size={}", (mib.end - mib.start) * MIB),
            format!("--verify_pattern=%o0x{:08x}", 0x5eed_0000 + round),
            format!("--randseed={}", round + 1),
        ]);
    }
    command
}

#[track_caller]
fn succeeds(mut command: Command) {
    let output = command.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&text));
}

/// Writes a region.
#[track_caller]
pub fn write(array: &Array, region: Region) {
    succeeds(jobs(array, &[region], &["--do_verify=0"]));
}

/// That regions are as the jobs wrote them.
#[track_caller]
pub fn verify(array: &Array, regions: &[Region]) {
    if !regions.is_empty() {
        succeeds(jobs(array, regions, &["--verify_only=1"]));
    }
}

/// Begins to write a region, again and again.
pub fn begin(array: &Array, region: Region) -> Child {
    let mut command = jobs(array, &[region], &["--do_verify=0", "--time_based", "--runtime=60"]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Waits for a job whose server is gone.
pub fn end(mut child: Child) {
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > Duration::from_secs(5) {
            child.kill().unwrap();
        }
        sleep(Duration::from_millis(5));
    }
}
