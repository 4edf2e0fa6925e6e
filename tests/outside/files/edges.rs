//! Files that are not simply data: each is shown as what it is, or refused with a reason.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use strewn_testing::{Missing, program};

use super::{MIB, Made, MountPoint, NOBODY, figure, json, notes, one, ran, strewn, text};
use crate::common::Ran;
use crate::loops::{content, run};

/// Requests that take a command for each 64 KiB of a contiguous file.
const READS: [&str; 2] = ["--read", "64KiB"];

#[track_caller]
fn bytes(file: &serde_json::Value, name: &str, expected: u64) {
    assert_eq!(figure(file, name), expected as f64, "{name} of {file:#}");
}

pub fn compressed_bytes_are_counted_as_such() -> Result<(), Missing> {
    let made = Made::new(1, &["mkfs.btrfs", "-q", "-f"], "compress-force=zstd")?;
    let path = made.path("compressed");
    fs::write(&path, "once more ".repeat(MIB as usize / 10)).unwrap();
    made.mounted.sync();
    let found = one(&path, &READS);
    let size = fs::metadata(&path).unwrap().len();
    bytes(&found, "compressed_bytes", size);
    bytes(&found, "placed_bytes", size);
    // Extents of up to 128 KiB, and a read of 64 KiB asks for one or two of them.
    let commands = figure(&found, "cost.commands_per_request");
    assert!((0.9..=2.0).contains(&commands), "{commands}");
    Ok(())
}

/// qemu-img says that they are compressed, and not where they lie.
pub fn compressed_clusters_are_counted_and_said() -> Result<(), Missing> {
    program(&["qemu-img"], "apt-get install qemu-utils")?;
    let folder = tempfile::tempdir().unwrap();
    let [raw, image] = ["raw.img", "comp.qcow2"].map(|name| folder.path().join(name));
    let file = File::create(&raw).unwrap();
    file.set_len(MIB).unwrap();
    // Ten clusters of 64 KiB that can be compressed, and six of zeros.
    file.write_all_at(&"once more ".repeat(65_536).as_bytes()[..655_360], 0).unwrap();
    run("qemu-img", &["convert", "-c", "-f", "raw", "-O", "qcow2", text(&raw), text(&image)]);
    let files = json(&[text(&image)]);
    let inside = &files[1];
    bytes(inside, "compressed_bytes", 655_360);
    bytes(inside, "unknown_bytes", 655_360);
    assert!(notes(inside).contains("640 KiB are compressed clusters"), "{inside:#}");
    assert!(!notes(inside).contains("--sync"), "{inside:#}");
    Ok(())
}

pub fn inline_unwritten_sparse_and_empty_files_take_no_command() -> Result<(), Missing> {
    let made = Made::btrfs()?;
    let inline = made.write("inline", 100);
    let found = one(&inline, &READS);
    bytes(&found, "inline_bytes", 100);
    bytes(&found, "extents", 0);
    assert!(found["cost"].is_null(), "{found:#}");
    let empty = made.write("empty", 0);
    let found = one(&empty, &READS);
    bytes(&found, "bytes", 0);
    assert!(found["cost"].is_null(), "{found:#}");
    let unwritten = made.path("unwritten");
    run("fallocate", &["-l", "1MiB", text(&unwritten)]);
    made.mounted.sync();
    let found = one(&unwritten, &READS);
    bytes(&found, "unwritten_bytes", MIB);
    bytes(&found, "cost.commands_per_request", 0);
    let sparse = made.path("sparse");
    let file = File::create(&sparse).unwrap();
    file.write_all_at(&content(1, 65_536), 512 * MIB).unwrap();
    file.set_len(1024 * MIB).unwrap();
    made.mounted.sync();
    let found = one(&sparse, &READS);
    bytes(&found, "holes", 2);
    bytes(&found, "hole_bytes", 1024 * MIB - 65_536);
    bytes(&found, "placed_bytes", 65_536);
    assert!(figure(&found, "cost.commands_per_request") < 0.01);
    // Together they are a list as any other.
    let all = [&inline, &empty, &unwritten, &sparse].map(|path| text(path));
    let table = ran(&all).succeeded();
    all.iter().for_each(|name| assert!(table.contains(name), "{table}"));
    Ok(())
}

pub fn reflinks_and_snapshots_are_shared() -> Result<(), Missing> {
    let made = Made::btrfs()?;
    let subvolume = made.path("subvolume");
    run("btrfs", &["subvolume", "create", text(&subvolume)]);
    let original = made.write("subvolume/original", 4 * MIB);
    bytes(&one(&original, &READS), "shared_bytes", 0);
    let copy = made.path("copy");
    run("cp", &["--reflink=always", text(&original), text(&copy)]);
    made.mounted.sync();
    for path in [&original, &copy] {
        bytes(&one(path, &READS), "shared_bytes", 4 * MIB);
    }
    fs::remove_file(&copy).unwrap();
    made.mounted.sync();
    bytes(&one(&original, &READS), "shared_bytes", 0);
    let snapshot = made.path("snapshot");
    run("btrfs", &["subvolume", "snapshot", text(&subvolume), text(&snapshot)]);
    made.mounted.sync();
    for path in [&original, &snapshot.join("original")] {
        bytes(&one(path, &READS), "shared_bytes", 4 * MIB);
    }
    // What is written to one of them is its own.
    let file = File::options().write(true).open(&original).unwrap();
    file.write_all_at(&content(2, MIB as usize), MIB).unwrap();
    made.mounted.sync();
    bytes(&one(&original, &READS), "shared_bytes", 3 * MIB);
    Ok(())
}

pub fn files_may_be_as_large_as_their_file_system_allows() -> Result<(), Missing> {
    let kinds: [(&[&str], u64); 3] = [
        (&["mkfs.ext4", "-q", "-F", "-b", "4096"], (16 << 40) - 4096),
        (&["mkfs.xfs", "-q", "-f"], i64::MAX as u64),
        (&["mkfs.btrfs", "-q", "-f"], i64::MAX as u64 / 4096 * 4096),
    ];
    for (mkfs, most) in kinds {
        let made = Made::new(1, mkfs, "rw")?;
        let path = made.path("large");
        let file = File::create(&path).unwrap();
        let block = most / 4096 * 4096 - 4096;
        file.set_len(most).unwrap();
        file.write_all_at(&content(1, 4096), block).unwrap();
        made.mounted.sync();
        let found = one(&path, &READS);
        assert_eq!(found["bytes"].as_u64(), Some(most), "{mkfs:?}");
        bytes(&found, "placed_bytes", 4096);
        bytes(&found, "extents", 1);
        ran(&[text(&path)]).succeeded();
        ran(&[text(&path), "--read", "1MiB", "--sequential"]).succeeded();
    }
    Ok(())
}

/// Refused with exit code 1, and with the path and the reason.
#[track_caller]
fn refused(path: &Path, reason: &str) {
    let ran = ran(&[text(path), "--json"]);
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.stdout.trim(), "[]");
    for fragment in [text(path), reason] {
        assert!(ran.stderr.contains(fragment), "no {fragment} in {}", ran.stderr);
    }
}

pub fn what_is_no_regular_file_is_named_and_not_waited_for() -> Result<(), Missing> {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    run("mkfifo", &[text(&path("pipe"))]);
    refused(&path("pipe"), "a pipe");
    let _listening = UnixListener::bind(path("socket")).unwrap();
    refused(&path("socket"), "a socket");
    refused(Path::new("/dev/null"), "a device");
    refused(&path("removed"), "there is no such file");
    symlink("removed", path("dangling")).unwrap();
    refused(&path("dangling"), "there is no such file");
    // In a directory they are counted, and nothing is wrong.
    fs::write(path("file"), "one").unwrap();
    let table = ran(&[text(directory.path())]).succeeded();
    assert!(
        table.contains("Links, pipes, sockets and devices, which have no blocks of their own: 3"),
        "{table}"
    );
    // A link that is named is followed.
    symlink("file", path("link")).unwrap();
    assert_eq!(figure(&one(&path("link"), &[]), "bytes"), 3.0);
    // What can be looked at is, beside what cannot.
    let both = ran(&[text(&path("pipe")), text(&path("file")), "--json"]);
    assert_eq!(both.code, Some(1));
    assert!(both.stdout.contains("/file\""), "{}", both.stdout);
    Ok(())
}

/// Nobody's look, by a copy of the command where nobody may run it.
fn as_nobody(directory: &Path, words: &[&str]) -> Result<Ran, Missing> {
    let program = directory.join("strewn");
    if !program.exists() {
        fs::copy(env!("CARGO_BIN_EXE_strewn"), &program).unwrap();
    }
    fs::set_permissions(directory, PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = Command::new(program);
    command.arg("file").args(words).env("NO_COLOR", "1").uid(NOBODY).gid(NOBODY);
    let output = command.output();
    output.map(Ran::of).map_err(|error| {
        Missing::new(format!("nobody cannot run a program: {error}"), "run these tests as root")
    })
}

pub fn a_file_without_permission_is_named_with_what_to_do() -> Result<(), Missing> {
    let directory = tempfile::tempdir().unwrap();
    let secret = directory.path().join("secret");
    fs::write(&secret, "secret").unwrap();
    fs::set_permissions(&secret, PermissionsExt::from_mode(0o600)).unwrap();
    let ran = as_nobody(directory.path(), &[text(&secret)])?;
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""));
    assert!(ran.stderr.contains("no permission to read it; run as its owner or as root"));
    Ok(())
}

pub fn a_file_of_tmpfs_lies_nowhere() -> Result<(), Missing> {
    let directory = tempfile::tempdir().unwrap();
    let point = MountPoint::new("tmpfs", "size=16m", &directory.path().join("tmpfs"))?;
    let path = point.0.join("file");
    fs::write(&path, content(1, MIB as usize)).unwrap();
    let found = one(&path, &READS);
    assert_eq!(
        (found["source"].as_str(), found["file_system"].as_str()),
        (Some("seek"), Some("tmpfs"))
    );
    bytes(&found, "unknown_bytes", MIB);
    assert!(found["cost"].is_null());
    assert!(notes(&found).contains("only what is data and what is a hole"), "{found:#}");
    Ok(())
}

pub fn a_file_of_an_overlay_lies_where_the_layer_has_it() -> Result<(), Missing> {
    let made = Made::new(1, &["mkfs.ext4", "-q", "-F"], "rw")?;
    for name in ["lower", "upper", "work"] {
        fs::create_dir(made.path(name)).unwrap();
    }
    let below = made.write("lower/file", MIB);
    let [lower, upper, work] = ["lower", "upper", "work"].map(|name| made.path(name));
    let options =
        format!("lowerdir={},upperdir={},workdir={}", text(&lower), text(&upper), text(&work));
    let point = MountPoint::new("overlay", &options, &made.path("merged"))?;
    let found = one(&point.0.join("file"), &READS);
    assert_eq!(found["file_system"].as_str(), Some("overlay"), "{found:#}");
    assert_eq!(figure(&found, "extents"), figure(&one(&below, &READS), "extents"));
    // The kernel gives addresses of the layer's device, and that device is named.
    let device = made.loops.devices[0].trim_start_matches("/dev/");
    assert!(found["devices"][0]["name"].as_str().unwrap().starts_with(device), "{found:#}");
    Ok(())
}

pub fn a_file_of_fuse_says_where_to_look_instead() -> Result<(), Missing> {
    let nbdfuse = program(&["nbdfuse"], "apt-get install libnbd-bin")?;
    program(&["qemu-nbd"], "apt-get install qemu-utils")?;
    let directory = tempfile::tempdir().unwrap();
    let image = directory.path().join("image");
    fs::write(&image, content(1, MIB as usize)).unwrap();
    let point = directory.path().join("point");
    fs::create_dir(&point).unwrap();
    let mut served = Command::new(nbdfuse)
        .arg(&point)
        .args(["--socket-activation", "qemu-nbd", "-f", "raw"])
        .arg(&image)
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let file = point.join("nbd");
    let until = Instant::now() + Duration::from_secs(5);
    while !file.exists() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    let found = file.exists().then(|| ran(&[text(&file), "--json"]));
    let _ = Command::new("fusermount3").arg("-u").arg(&point).status();
    let _ = Command::new("umount").arg(&point).stderr(std::process::Stdio::null()).status();
    let _ = served.kill();
    let _ = served.wait();
    let found = found.ok_or_else(|| Missing::new("no FUSE in the kernel", "modprobe fuse"))?;
    let files: Vec<serde_json::Value> = serde_json::from_str(&found.succeeded()).unwrap();
    assert!(notes(&files[0]).contains("only what is data and what is a hole"), "{files:?}");
    assert!(files[0]["cost"].is_null());
    Ok(())
}

pub fn a_file_that_is_written_to_meanwhile_has_a_note() -> Result<(), Missing> {
    let made = Made::btrfs()?;
    let path = made.write("busy", 8 * MIB);
    let ended = AtomicBool::new(false);
    let noted = std::thread::scope(|scope| {
        scope.spawn(|| {
            let file = File::options().write(true).open(&path).unwrap();
            for round in 0_u64.. {
                file.write_all_at(&content(round, 4096), round * 37 % 2048 * 4096).unwrap();
                if round % 64 == 0 {
                    file.sync_data().unwrap();
                }
                if ended.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        let looks = (0..20).map(|_| strewn(&[text(&path), "--json"]).output().unwrap());
        let noted = looks.map(Ran::of).any(|ran| ran.succeeded().contains("written to meanwhile"));
        ended.store(true, Ordering::Relaxed);
        noted
    });
    assert!(noted, "no look of twenty noticed");
    Ok(())
}
