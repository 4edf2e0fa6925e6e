//! Files of a mounted ZFS, with a zdb that prints what the real one printed of a pool.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use strewn_file::{FoundBy, Looker, Piece, Place, System};

/// Where the second run of this test finds what the first has made.
const ROOT: &str = "STREWN_TEST_ZFS_ROOT";

/// A directory with `/proc`, a dataset mounted in `fs`, the devices of its pool, and a zdb in `bin`.
fn machine() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    for made in ["proc/self", "fs", "pool", "bin"] {
        fs::create_dir_all(root.join(made)).unwrap();
    }
    let mount = format!("27 1 0:40 / {} rw - zfs tank/fs rw\n", root.join("fs").display());
    fs::write(root.join("proc/self/mountinfo"), mount).unwrap();
    for number in 0..3 {
        let vdev = File::create(root.join(format!("pool/vdev.0.{number}"))).unwrap();
        vdev.set_len(128 << 20).unwrap();
    }
    for name in ["one", "two"] {
        File::create(root.join("fs").join(name)).unwrap().set_len(1 << 20).unwrap();
    }
    directory
}

fn zdb(root: &Path, script: &str) {
    let path = root.join("bin/zdb");
    fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs test `name` again as a process that finds zdb in `bin` of `root`, and nowhere else.
fn run_again(name: &str, root: &Path) {
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", name, "--nocapture"]).env(ROOT, root);
    let path = format!("{}:/usr/bin:/bin", root.join("bin").display());
    let output = again.env("PATH", path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn looker(root: &Path, sync: bool) -> Looker {
    Looker::with_system(System::below(root), sync)
}

#[test]
fn zdb_tells_where_blocks_lie() {
    if let Some(root) = std::env::var_os(ROOT).map(PathBuf::from) {
        let looker = looker(&root, false);
        let file = looker.open(&root.join("fs/one")).unwrap();
        assert_eq!((file.found_by(), file.found_by().name()), (FoundBy::Zdb, "zdb"));
        assert_eq!((file.bytes(), file.block_bytes()), (1 << 20, 8192));
        // Two passes tell the same.
        let first: Vec<_> = file.extents().map(Result::unwrap).collect();
        let second: Vec<_> = file.extents().map(Result::unwrap).collect();
        assert_eq!((first.len(), &first), (128, &second));
        let Place::Block { at, stored_bytes, allocated_bytes } = first[0].place else { panic!() };
        assert_eq!((at.byte, stored_bytes, allocated_bytes), (0x3b_c000, 8192, 16_384));
        // Of three sectors from 0x3bc on, the second is parity: in each odd MiB, RAID-Z1 has it there.
        let space = &file.file_system().space;
        assert_eq!((space.untranslated_reason(), space.devices().len()), (None, 3));
        assert_eq!(space.devices()[2].bytes, Some(128 << 20));
        let (sector, mut pieces) = (0x3bc, Vec::new());
        assert_eq!(space.read(at, stored_bytes, &mut pieces), 0);
        let piece = |sector: u64| Piece {
            device: (sector % 3) as u16,
            byte: (4 << 20) + sector / 3 * 4096,
            bytes: 4096,
        };
        assert_eq!(pieces, [piece(sector), piece(sector + 2)]);
        let notes = file.notes();
        assert!(notes.len() == 1 && notes[0].contains("last committed"), "{notes:?}");
        assert!(std::ptr::eq(
            &**space,
            &*looker.open(&root.join("fs/two")).unwrap().file_system().space
        ));
        return;
    }
    let machine = machine();
    let root = machine.path();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let script = format!(
        "echo \"$@\" >> '{}'\ncase $1 in -C) exec cat '{1}/zdb-raidz.config.txt';; esac\nexec cat \
         '{1}/zdb-raidz.txt'",
        root.join("asked").display(),
        data.display()
    );
    zdb(root, &script);
    run_again("zdb_tells_where_blocks_lie", root);
    let number = |name: &str| fs::metadata(root.join("fs").join(name)).unwrap().ino();
    let (one, two) = (number("one"), number("two"));
    // The pool is asked for once.
    let asked = format!("-C tank\n-Pddddd tank/fs {one}\n-Pddddd tank/fs {two}\n");
    assert_eq!(fs::read_to_string(root.join("asked")).unwrap(), asked);
}

/// A zdb that lists every object it is asked for, and ends at object 0 as at one that is gone.
fn zdb_of_objects(root: &Path) {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let script = format!(
        "echo \"$@\" >> '{0}/asked'\ncase $1 in -C) exec cat '{1}/zdb-raidz.config.txt';; esac\nshift 2\nfor \
         object; do\n  if [ \"$object\" = \"$(cat '{0}/gone')\" ]; then echo 'zdb: dmu_object_info() failed, errno 2' >&2; \
         exit 1; fi\n  sed \"s/^         1    2 /$object  2 /\" '{1}/zdb-raidz.txt'\ndone",
        root.display(),
        data.display()
    );
    zdb(root, &script);
}

#[test]
fn one_zdb_tells_the_files_of_a_directory() {
    const NAME: &str = "one_zdb_tells_the_files_of_a_directory";
    if let Some(root) = std::env::var_os(ROOT).map(PathBuf::from) {
        let looker = looker(&root, false);
        let paths = ["one", "two", "none"].map(|name| root.join("fs").join(name));
        assert!(looker.looks_ahead(&paths[0]));
        looker.look_ahead(&paths);
        for path in &paths[..2] {
            let file = looker.open(path).unwrap();
            assert_eq!((file.found_by(), file.extents().count()), (FoundBy::Zdb, 128));
        }
        return;
    }
    let machine = machine();
    let root = machine.path();
    zdb_of_objects(root);
    fs::write(root.join("gone"), "0").unwrap();
    let number = |name: &str| fs::metadata(root.join("fs").join(name)).unwrap().ino();
    let mut objects = [number("one"), number("two")];
    objects.sort_unstable();
    let [first, second] = objects;
    let asked = || fs::read_to_string(root.join("asked")).unwrap();
    run_again(NAME, root);
    assert_eq!(asked(), format!("-C tank\n-Pddddd tank/fs {first} {second}\n"));
    // One that is gone takes those behind it along: they are asked for by themselves, and are told all the same.
    for gone in [first, second] {
        fs::remove_file(root.join("asked")).unwrap();
        let message = format!("{gone}");
        fs::write(root.join("gone"), &message).unwrap();
        run_again("one_that_is_gone_does_not_hide_the_others", root);
        let lines: Vec<String> = asked().lines().map(str::to_owned).collect();
        assert_eq!(lines[1], format!("-Pddddd tank/fs {first} {second}"));
        assert!(lines[2..].contains(&format!("-Pddddd tank/fs {gone}")), "{lines:?}");
    }
}

#[test]
fn one_that_is_gone_does_not_hide_the_others() {
    // What is checked is in the second run of the test above.
    let Some(root) = std::env::var_os(ROOT).map(PathBuf::from) else { return };
    let looker = looker(&root, false);
    let paths = ["one", "two"].map(|name| root.join("fs").join(name));
    looker.look_ahead(&paths);
    let found = paths.map(|path| looker.open(&path).unwrap().found_by());
    assert_eq!(found.iter().filter(|found| **found == FoundBy::Zdb).count(), 1);
}

#[test]
fn without_zdb_the_kernel_tells_data_and_holes() {
    if let Some(root) = std::env::var_os(ROOT).map(PathBuf::from) {
        let file = looker(&root, true).open(&root.join("fs/one")).unwrap();
        assert_eq!(file.found_by(), FoundBy::Seek);
        assert!(file.extents().all(|extent| extent.unwrap().place == Place::Unknown));
        assert!(file.file_system().space.untranslated_reason().is_some());
        let expected = fs::read_to_string(root.join("expected")).unwrap();
        let notes = file.notes();
        assert!(notes.len() == 1 && notes[0].contains(&expected), "{notes:?}");
        return;
    }
    let machine = machine();
    let root = machine.path();
    let expect = |expected: &str| {
        fs::write(root.join("expected"), expected).unwrap();
        run_again("without_zdb_the_kernel_tells_data_and_holes", root);
    };
    if !Path::new("/usr/bin/zdb").exists() {
        expect("install zfsutils-linux");
    }
    zdb(root, "echo \"zdb: can't open 'tank': Permission denied\" >&2; exit 1");
    expect("Permission denied");
}
