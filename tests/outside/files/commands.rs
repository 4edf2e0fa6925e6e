//! Extents against those of filefrag, and commands per request against those that the kernel counts.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use strewn_testing::{Missing, program};

use super::{MIB, Made, figure, json, one, ran, text};
use crate::loops::run;

const FILE_MIB: u64 = 64;
/// Iometer's File Server, in blocks of 4 KiB: O_DIRECT reads of less would be rounded up by the file systems.
const FILE_SERVER: &str = "4k/75:8k/6:16k/4:32k/5:64k/10";
/// How far a prediction may be from what is counted.
const TOLERANCE: f64 = 0.05;

/// Offset, address, bytes, and whether nothing was written there.
type Run = (u64, u64, u64, bool);

/// Runs, those that go on in the file and on the device joined.
fn joined(runs: impl Iterator<Item = Run>) -> Vec<Run> {
    let mut joined: Vec<Run> = Vec::new();
    for (offset, address, bytes, unwritten) in runs {
        match joined.last_mut() {
            Some((first, at, before, was_unwritten))
                if *first + *before == offset
                    && *at + *before == address
                    && *was_unwritten == unwritten =>
            {
                *before += bytes;
            }
            _ => joined.push((offset, address, bytes, unwritten)),
        }
    }
    joined
}

/// What filefrag has, every line of it.
fn filefrag(path: &Path) -> Vec<Run> {
    let printed = run("filefrag", &["-v", "-b1", text(path)]);
    let number = |field: &str| field.split("..").next().unwrap().trim().parse::<u64>();
    let runs = printed.lines().filter_map(|line| {
        // `   0:        0..  299999:   13631488..  13931487: 300000:  last,eof`
        let fields: Vec<&str> = line.split(':').map(str::trim).collect();
        number(fields[0]).ok()?;
        let of = |field: usize| number(fields[field]).unwrap();
        Some((of(1), of(2), of(3), line.contains("unwritten")))
    });
    joined(runs)
}

/// What `--save-extents` writes.
fn saved(path: &Path, list: &Path) -> Vec<Run> {
    ran(&[text(path), "--save-extents", text(list)]).succeeded();
    let mut reader =
        csv::ReaderBuilder::new().comment(Some(b'#')).flexible(true).from_path(list).unwrap();
    let headers = reader.headers().unwrap().clone();
    let column = |name: &str| headers.iter().position(|header| header == name).unwrap();
    let (offset, bytes) = (column("offset"), column("bytes"));
    let (address, kind) = (column("address"), column("kind"));
    let rows = reader.records().map(|row| {
        let row = row.unwrap();
        let of = |field: usize| row[field].parse().unwrap();
        (of(offset), of(address), of(bytes), &row[kind] == "unwritten")
    });
    joined(rows)
}

/// Commands that the devices of the file system have completed as reads.
fn reads(made: &Made) -> u64 {
    let of = |device: &String| {
        let name = device.trim_start_matches("/dev/");
        let stat = fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
        stat.split_whitespace().next().unwrap().parse::<u64>().unwrap()
    };
    made.loops.devices.iter().map(of).sum()
}

/// Has the queues merge by a scheduler: mq-deadline, as drives with spindles do, or none; and split at the same size
/// wherever the pages of a request lie.
fn set_queues(made: &Made, scheduler: &str) -> Result<(), Missing> {
    for device in &made.loops.devices {
        let name = device.trim_start_matches("/dev/");
        for (setting, value) in [("scheduler", scheduler), ("max_sectors_kb", "512")] {
            fs::write(format!("/sys/block/{name}/queue/{setting}"), value).map_err(|error| {
                Missing::new(format!("{setting} of {name} cannot be set: {error}"), "run as root")
            })?;
        }
    }
    Ok(())
}

/// Reads of fio's, and commands for each.
fn counted(made: &Made, path: &Path, requests: &[&str]) -> (u64, f64) {
    // What is needed of the metadata is in memory then.
    fs::read(path).unwrap();
    let before = reads(made);
    let filename = format!("--filename={}", text(path));
    let size = format!("--size={FILE_MIB}m");
    let same = [
        "--name=reads",
        &filename,
        &size,
        "--rw=randread",
        "--direct=1",
        "--ioengine=psync",
        "--norandommap",
        // Other places than those that were written.
        "--randrepeat=0",
        "--randseed=4711",
        "--allow_file_create=0",
        "--output-format=json",
    ];
    let printed = run("fio", &[&same, requests].concat());
    let printed: serde_json::Value = serde_json::from_str(&printed).unwrap();
    let requests = printed["jobs"][0]["read"]["total_ios"].as_u64().unwrap();
    (requests, (reads(made) - before) as f64 / requests as f64)
}

/// Holds the prediction of each kind of requests against the kernel's count.
fn compare_commands(made: &Made, path: &Path, layout: &str) {
    let job = made.loops.directory.path().join("file-server.fio");
    fs::write(
        &job,
        format!("[reads]\nrw=randread\nbssplit={FILE_SERVER}\nblockalign=4k\nnorandommap\n"),
    )
    .unwrap();
    let split = format!("--bssplit={FILE_SERVER}");
    let kinds: [(&[&str], &[&str]); 4] = [
        (&["--read", "4KiB"], &["--bs=4k", "--io_size=64m"]),
        (&["--read", "64KiB"], &["--bs=64k", "--io_size=256m"]),
        (&["--read", "1MiB"], &["--bs=1m", "--io_size=2g"]),
        (&["--fio-job", text(&job)], &[&split, "--blockalign=4k", "--io_size=128m"]),
    ];
    for (words, fio) in kinds {
        let found = one(path, words);
        let predicted = figure(&found, "cost.commands_per_request");
        let (requests, counted) = counted(made, path, fio);
        assert!(requests >= 2000, "{requests} requests are too few");
        let off = predicted / counted - 1.0;
        let kind = &made.mounted.mount.kind;
        let row = format!(
            "{} x{} {layout}, {}: predicted {predicted:.3}, counted {counted:.3} of {requests}, {:+.1} %",
            kind.name(),
            made.loops.devices.len(),
            found["cost"]["access"],
            100.0 * off
        );
        if std::env::args().any(|argument| argument == "--nocapture") {
            println!("{row}");
        }
        assert!(off.abs() <= TOLERANCE, "{row}");
    }
}

fn compare_extents(made: &Made, path: &Path) -> usize {
    made.mounted.sync();
    let expected = filefrag(path);
    let list = made.loops.directory.path().join("extents.csv");
    let found = saved(path, &list);
    let differ = expected.iter().zip(&found).find(|(expected, found)| expected != found);
    assert_eq!(differ, None);
    assert_eq!(found.len(), expected.len());
    let extents = |file: &serde_json::Value| file["extents"].as_u64().unwrap() as usize;
    // Whether it was written is no reason to begin another extent.
    let merged =
        joined(expected.into_iter().map(|(offset, at, bytes, _)| (offset, at, bytes, false)));
    assert_eq!(extents(&one(path, &[])), merged.len());
    // The list gives the same on another machine.
    assert_eq!(extents(&json(&["--from", text(&list)])[0]), merged.len());
    merged.len()
}

/// Overwrites parts of a file as a file server would.
fn age(made: &Made, path: &Path) {
    let filename = format!("--filename={}", text(path));
    let size = format!("--size={FILE_MIB}m");
    let split = "--bssplit=512/10:1k/5:2k/5:4k/60:8k/2:16k/4:32k/4:64k/10";
    run(
        "fio",
        &[
            "--name=age",
            &filename,
            &size,
            split,
            "--rw=randrw",
            "--rwmixread=80",
            "--blockalign=4k",
            "--ioengine=psync",
            "--fsync=64",
            "--io_size=160m",
            "--norandommap",
            "--randseed=1",
        ],
    );
    made.mounted.sync();
}

fn needs_tools() -> Result<(), Missing> {
    program(&["filefrag"], "apt-get install e2fsprogs")?;
    program(&["fio"], "apt-get install fio").map(|_| ())
}

/// A fresh file and an aged one. On file systems that overwrite, the aged one begins as a hole.
fn compare(devices: usize, mkfs: &[&str]) -> Result<(Made, PathBuf), Missing> {
    needs_tools()?;
    let made = Made::new(devices, mkfs, "rw")?;
    set_queues(&made, "mq-deadline")?;
    let path = made.write("fresh", FILE_MIB * MIB);
    assert!(compare_extents(&made, &path) <= 4);
    compare_commands(&made, &path, "fresh");
    let aged = made.write("aged", FILE_MIB * MIB);
    if !made.mounted.mount.kind.is_copy_on_write() {
        let file = File::create(&aged).unwrap();
        file.set_len(FILE_MIB * MIB).unwrap();
    }
    age(&made, &aged);
    let extents = compare_extents(&made, &aged);
    assert!(extents > 1000, "{extents} extents are not fragmented");
    compare_commands(&made, &aged, "aged");
    set_queues(&made, "none")?;
    compare_commands(&made, &aged, "aged, no scheduler");
    Ok((made, aged))
}

pub fn on_ext4_are_those_that_the_kernel_counts() -> Result<(), Missing> {
    compare(1, &["mkfs.ext4", "-q", "-F"]).map(|_| ())
}

pub fn on_xfs_are_those_that_the_kernel_counts() -> Result<(), Missing> {
    compare(1, &["mkfs.xfs", "-q", "-f"]).map(|_| ())
}

pub fn on_btrfs_raid1_are_those_that_the_kernel_counts() -> Result<(), Missing> {
    compare(2, &["mkfs.btrfs", "-q", "-f", "-d", "raid1", "-m", "raid1"]).map(|_| ())
}

pub fn on_btrfs_raid10_are_those_that_the_kernel_counts() -> Result<(), Missing> {
    compare(4, &["mkfs.btrfs", "-q", "-f", "-d", "raid10", "-m", "raid1"]).map(|_| ())
}

pub fn on_btrfs_raid5_are_those_that_the_kernel_counts() -> Result<(), Missing> {
    compare(3, &["mkfs.btrfs", "-q", "-f", "-d", "raid5", "-m", "raid1"]).map(|_| ())
}

/// Defragmented, the aged file of one device costs what a contiguous one does, predicted and counted.
pub fn on_btrfs_are_those_that_the_kernel_counts_and_fall_by_defragmentation() -> Result<(), Missing>
{
    let (made, path) = compare(1, &["mkfs.btrfs", "-q", "-f", "-d", "single", "-m", "single"])?;
    let before = made.loops.directory.path().join("before.json");
    let words = [text(&path), "--read", "64KiB"];
    fs::write(&before, ran(&[&words[..], &["--json"]].concat()).succeeded()).unwrap();
    let fragmented = one(&path, &["--read", "64KiB"]);
    let defragment = ["filesystem", "defragment", "-f", "-t", "64M", text(&path)];
    assert!(Command::new("btrfs").args(defragment).status().unwrap().success());
    made.mounted.sync();
    let compared = ran(&[&words[..], &["--compare", text(&before)]].concat()).succeeded();
    let change = |name: &str| {
        let (_, table) = compared.split_once("Before and after").unwrap();
        let row = table.lines().find(|line| line.contains(name)).unwrap().trim();
        row.strip_suffix(" %").unwrap().rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    assert!(change("extents ") < -90.0 && change("commands per request") < -50.0, "{compared}");
    let whole = one(&path, &["--read", "64KiB"]);
    let both = [&fragmented, &whole].map(|of| figure(of, "cost.commands_per_request"));
    assert!(both[0] > 2.0 && both[1] < 1.1, "{both:?}");
    let (_, counted) = counted(&made, &path, &["--bs=64k", "--io_size=256m"]);
    assert!(counted < 1.1, "{counted}");
    Ok(())
}
