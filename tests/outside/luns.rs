//! Several LUNs of an array at once: fio on each, a snapshot and a clone taken meanwhile, each an NBD export.

use std::process::{Child, Command, Output, Stdio};

use strewn_testing::Missing;

use crate::array::{Array, MIB};
use crate::tools::{self, needs};

/// A job of fio over all of an export, whose blocks say which round wrote them.
fn job(array: &Array, export: &str, round: u32, how: &[&str]) -> Command {
    let mut command = tools::command("fio");
    command.current_dir(array.folder()).args([
        "--ioengine=nbd",
        "--rw=randwrite",
        "--bs=16k",
        "--iodepth=8",
        "--verify=pattern",
        "--verify_fatal=1",
        "--verify_state_save=0",
        "--thread",
        &format!("--uri=nbd+unix:///{export}?socket={}", array.socket().display()),
    ]);
    command.args(how).args([
        "--name=job".to_owned(),
        format!("--size={}", 8 * MIB),
        format!("--verify_pattern=%o0x{:08x}", 0x5eed_0000 + round),
        format!("--randseed={}", round + 1),
    ]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[track_caller]
fn succeeds(jobs: Vec<Child>) {
    for job in jobs {
        let Output { status, stdout, stderr } = job.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&stdout) + String::from_utf8_lossy(&stderr);
        assert!(status.success(), "{text}");
    }
}

fn write_all(array: &Array, exports: &[&str], round: u32) -> Vec<Child> {
    let begin = |(at, export): (u32, &&str)| {
        job(array, export, 10 * round + at, &["--do_verify=0"]).spawn().unwrap()
    };
    (0..).zip(exports).map(begin).collect()
}

#[track_caller]
fn verify_all(array: &Array, exports: &[&str], round: u32) {
    let begin = |(at, export): (u32, &&str)| {
        job(array, export, 10 * round + at, &["--verify_only=1"]).spawn().unwrap()
    };
    succeeds((0..).zip(exports).map(begin).collect());
}

pub fn four_luns_a_snapshot_and_a_clone_are_worked_on_at_once() -> Result<(), Missing> {
    needs(&["fio", "nbdinfo"])?;
    let array = Array::new("raid-dp", 8);
    let served = array.serve(&[]);
    let folder = "aged";
    array.done(&["volume", "create", folder, "databases", "--size", "16MiB"]);
    array.done(&["volume", "create", folder, "thin", "--size", "1TiB", "--thin"]);
    array.done(&["lun", "create", folder, "databases/one", "--size", "8MiB"]);
    array.done(&["lun", "create", folder, "databases/other", "--size", "8MiB"]);
    array.done(&["lun", "create", folder, "thin/scratch", "--size", "8MiB"]);
    let luns = ["volume/lun", "databases/one", "databases/other", "thin/scratch"];
    succeeds(write_all(&array, &luns, 1));
    array.done(&["snapshot", "create", folder, "databases@before"]);
    let jobs = write_all(&array, &luns, 2);
    array.done(&["clone", "create", folder, "copy", "--of", "databases@before"]);
    array.done(&["snapshot", "create", folder, "volume@meanwhile"]);
    succeeds(jobs);
    verify_all(&array, &luns, 2);

    let mut list = tools::command("nbdinfo");
    list.args(["--list", &format!("nbd+unix:///?socket={}", array.socket().display())]);
    let list = String::from_utf8(list.output().unwrap().stdout).unwrap();
    for export in luns.iter().chain(&[
        "databases/one@before",
        "databases/other@before",
        "volume/lun@meanwhile",
        "copy/one",
        "copy/other",
    ]) {
        assert!(list.contains(&format!("export=\"{export}\"")), "{export}: {list}");
    }
    // The first round's jobs of these two were numbers 1 and 2.
    let of_round_1 = |export: &str, at: u32| {
        job(&array, export, 10 + at, &["--verify_only=1", "--rw=randread"]).spawn().unwrap()
    };
    succeeds(vec![of_round_1("copy/one", 1), of_round_1("copy/other", 2)]);
    succeeds(vec![of_round_1("databases/one@before", 1)]);
    // The clone is written, and neither the snapshot nor the LUN has it.
    succeeds(write_all(&array, &["copy/one"], 3));
    verify_all(&array, &["copy/one"], 3);
    succeeds(vec![of_round_1("databases/one@before", 1), of_round_1("copy/other", 2)]);
    verify_all(&array, &luns, 2);

    array.refused(&["snapshot", "delete", folder, "databases@before"], &["copy"]);
    array.refused(&["lun", "create", folder, "databases/one", "--size", "1MiB"], &["exists"]);
    array.refused(&["lun", "resize", folder, "thin/scratch", "--size", "1MiB"], &["cut off"]);
    array.done(&["clone", "delete", folder, "copy"]);
    array.done(&["snapshot", "delete", folder, "databases@before"]);
    array.done(&["lun", "resize", folder, "thin/scratch", "--size", "1GiB"]);
    array.done(&["lun", "delete", folder, "databases/other"]);
    let left = ["volume/lun", "databases/one"];
    verify_all(&array, &left, 2);
    served.kill();
    let served = array.serve(&[]);
    verify_all(&array, &left, 2);
    served.terminate();
    array.assert_scrubs_clean();
    Ok(())
}
