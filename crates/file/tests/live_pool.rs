//! Pools of this machine, with a zdb and a zpool that print what the real ones print.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use strewn_file::zfs_pool;

/// Where the second run of a test finds what the first has made.
const ROOT: &str = "STREWN_TEST_POOL_ROOT";

fn program(root: &Path, name: &str, script: &str) {
    let path = root.join(name);
    let script = format!("#!/bin/sh\necho \"{name} $@\" >> '{}/asked'\n{script}\n", root.display());
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs test `name` again as a process that finds programs in `root`, and those of the system.
fn run_again(name: &str, root: &Path) {
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", name, "--nocapture"]).env(ROOT, root);
    let output = again.env("PATH", format!("{}:/usr/bin:/bin", root.display())).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn zdb_prints(root: &Path, sample: &str) {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(sample);
    program(root, "zdb", &format!("exec cat '{}'", data.display()));
}

#[test]
fn a_pool_is_read_by_one_zdb_and_one_zpool() {
    const NAME: &str = "a_pool_is_read_by_one_zdb_and_one_zpool";
    if let Some(root) = std::env::var_os(ROOT).map(PathBuf::from) {
        let pool = zfs_pool("tank").unwrap();
        let expected = fs::read_to_string(root.join("expected")).unwrap();
        let names: Vec<_> =
            pool.vdevs.iter().map(|vdev| vdev.name.clone().unwrap_or_default()).collect();
        let zpool = pool.zpool.as_ref().and_then(|zpool| zpool.frag_percent);
        let caveats = pool.caveats.join(" ");
        assert_eq!(format!("{} {zpool:?} {caveats}", names.join(" ")), expected);
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    zdb_prints(root, "zdb-pool.txt");
    let rows = "printf 'tank\\t600\\t60\\t540\\t31\\t10\\tONLINE\\n\\traidz1-0\\t300\\t30\\t270\\t30\\t10\\tONLINE\\n'\n";
    let second = "printf '\\traidz1-1\\t300\\t30\\t270\\t33\\t10\\tONLINE\\n'";
    program(root, "zpool", &format!("{rows}{second}"));
    const CLASSES: &str =
        "segments are told by powers of two, and counted as of the shortest length of their class";
    fs::write(root.join("expected"), format!("raidz1-0 raidz1-1 Some(31) {CLASSES}")).unwrap();
    run_again(NAME, root);
    let columns = "name,size,allocated,free,fragmentation,capacity,health";
    let asked = format!("zdb -PmmM tank\nzpool list -Hpv -o {columns} tank\n");
    assert_eq!(fs::read_to_string(root.join("asked")).unwrap(), asked);
    // Where vdevs are not as many, none is named.
    program(root, "zpool", rows);
    fs::write(root.join("expected"), format!("  Some(31) {CLASSES}")).unwrap();
    run_again(NAME, root);
    program(root, "zpool", "echo \"cannot open 'tank': no such pool\" >&2; exit 1");
    let told = "zpool does not tell its figures: `zpool list";
    let why = format!("-Hpv -o {columns} tank`: cannot open 'tank': no such pool");
    let remedy = "check the name with `zpool list`";
    fs::write(root.join("expected"), format!("  None {CLASSES} {told} {why}; {remedy}")).unwrap();
    run_again(NAME, root);
}

#[test]
fn what_is_missing_is_said_with_the_remedy() {
    const NAME: &str = "what_is_missing_is_said_with_the_remedy";
    if let Some(root) = std::env::var_os(ROOT).map(PathBuf::from) {
        let error = zfs_pool("tank").unwrap_err().to_string();
        let expected = fs::read_to_string(root.join("expected")).unwrap();
        for fragment in expected.lines() {
            assert!(error.contains(fragment), "no {fragment:?} in {error}");
        }
        assert!(!error.contains("DBGMSG"), "{error}");
        return;
    }
    let option = zfs_pool("-x").unwrap_err().to_string();
    assert!(option.contains("`-x` is not the name of a pool"), "{option}");
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let expect = |fragments: &str| {
        fs::write(root.join("expected"), fragments).unwrap();
        run_again(NAME, root);
    };
    if !["/usr/bin/zdb", "/usr/sbin/zdb", "/sbin/zdb"].iter().any(|path| Path::new(path).exists()) {
        expect("`zdb` is not installed\ninstall zfsutils-linux");
    }
    let script = "echo \"zdb: can't open 'tank': No such file or directory\" >&2\n\
                  echo 'ZFS_DBGMSG(zdb) START:' >&2; echo 'ZFS_DBGMSG(zdb) END' >&2; exit 1";
    program(root, "zdb", script);
    expect(
        "`zdb -PmmM tank`: zdb: can't open 'tank': No such file or directory; \nnames with `zpool list`",
    );
    // It ends early, without an error.
    program(root, "zdb", "head -c 3000 \"$0.txt\"");
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/zdb-pool.txt");
    fs::copy(data, root.join("zdb.txt")).unwrap();
    expect("`zdb -PmmM tank`, line 3: the list breaks off\nrun zdb by itself to see more");
    program(root, "zdb", "true");
    expect("`zdb -PmmM tank`\nno histogram of free segments");
}
