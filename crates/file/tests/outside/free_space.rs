//! Free space, held against what tools and the kernel say of it.

use strewn_file::{FreeSpaceReport, free_space};
use strewn_testing::{Missing, program};

use crate::loops::{Loops, Mounted, content, run};

/// Files of many sizes, every other of which is deleted.
fn fragment(mounted: &Mounted) {
    for number in 0..120_u64 {
        let bytes = content(number, 3000 + (number * 7919 % 60) as usize * 9000);
        std::fs::write(mounted.point.join(format!("file{number}")), bytes).unwrap();
        if number % 10 == 9 {
            mounted.sync();
        }
    }
    for number in (0..120).step_by(2) {
        std::fs::remove_file(mounted.point.join(format!("file{number}"))).unwrap();
    }
    mounted.sync();
}

/// The number behind `name` in what a tool prints.
fn figure(printed: &str, name: &str) -> u64 {
    let line = printed.lines().find_map(|line| line.trim().strip_prefix(name)).unwrap();
    let digits: String =
        line.trim().chars().take_while(|character| character.is_ascii_digit()).collect();
    digits.parse().unwrap_or_else(|_| panic!("{name}: {line}"))
}

fn check(report: &FreeSpaceReport) {
    assert_eq!(report.histogram.iter().map(|class| class.runs).sum::<u64>(), report.runs);
    assert!(report.runs > 20, "{report:?}");
    let blocks = report.free_bytes / report.block_bytes;
    assert_eq!(report.score, (blocks - report.runs) as f64 / (blocks - 1) as f64);
}

fn ext4(options: &[&str]) -> Result<(), Missing> {
    program(&["e2freefrag"], "apt-get install e2fsprogs")?;
    let loops = Loops::new(1, 300)?;
    loops.make(&[&["mkfs.ext4", "-q", "-F"], options].concat())?;
    let mounted = loops.mount("rw")?;
    fragment(&mounted);
    let report = free_space(&mounted.mount).unwrap();
    check(&report);
    let device = loops.devices[0].clone();
    let point = mounted.point().to_owned();
    let online = run("e2freefrag", &[&device]);
    let statfs = run("stat", &["-f", "-c", "%f %S", &point]);
    drop(mounted);
    // Unmounted, so that all of it is on the device.
    for printed in [online, run("e2freefrag", &[&device])] {
        let (blocks, bytes) = (figure(&printed, "Free blocks:"), figure(&printed, "Blocksize:"));
        assert_eq!(report.block_bytes, bytes, "{printed}");
        assert_eq!(report.free_bytes, blocks * bytes, "{printed}");
        assert_eq!(report.runs, figure(&printed, "Num. free extent:"), "{printed}");
        assert_eq!(report.largest_run_bytes >> 10, figure(&printed, "Max. free extent:"));
    }
    let (blocks, bytes) = statfs.trim().split_once(' ').unwrap();
    let free = blocks.parse::<u64>().unwrap() * bytes.parse::<u64>().unwrap();
    assert_eq!(report.free_bytes, free);
    Ok(())
}

pub fn of_ext4_is_that_of_e2freefrag() -> Result<(), Missing> {
    ext4(&["-b", "4096"])?;
    ext4(&["-b", "1024"])
}

pub fn of_ext4_with_clusters_is_that_of_e2freefrag() -> Result<(), Missing> {
    ext4(&["-b", "4096", "-O", "bigalloc", "-C", "16384"])
}

pub fn of_xfs_is_that_of_its_histogram() -> Result<(), Missing> {
    program(&["xfs_spaceman"], "apt-get install xfsprogs")?;
    let loops = Loops::new(1, 400)?;
    loops.make(&["mkfs.xfs", "-q", "-f"])?;
    let mounted = loops.mount("rw")?;
    fragment(&mounted);
    let report = free_space(&mounted.mount).unwrap();
    check(&report);
    let printed = run("xfs_spaceman", &["-c", "freesp -s", mounted.point()]);
    assert_eq!(report.runs, figure(&printed, "total free extents"));
    assert_eq!(report.free_bytes / report.block_bytes, figure(&printed, "total free blocks"));
    for class in &report.histogram {
        let runs = printed.lines().find_map(|line| {
            let fields: Vec<u64> =
                line.split_whitespace().filter_map(|field| field.parse().ok()).collect();
            (fields.first() == Some(&class.from_blocks)).then(|| fields.get(2).copied())?
        });
        assert_eq!(runs, Some(class.runs), "{printed}");
    }
    Ok(())
}

pub fn of_btrfs_is_that_of_its_free_space_tree() -> Result<(), Missing> {
    for (devices, profile) in [(1, "single"), (1, "dup"), (3, "raid0"), (4, "raid10"), (4, "raid5")]
    {
        let loops = Loops::new(devices, 500)?;
        loops.make(&["mkfs.btrfs", "-q", "-f", "-d", profile])?;
        let mounted = loops.mount("compress=no,max_inline=0,space_cache=v2")?;
        fragment(&mounted);
        let report = free_space(&mounted.mount).unwrap();
        check(&report);
        let usage = run("btrfs", &["filesystem", "usage", "-b", mounted.point()]);
        let unallocated = figure(&usage, "Device unallocated:");
        assert_eq!(report.unallocated_bytes, Some(unallocated), "{usage}");
        let (runs, bytes) = free_space_tree(&loops.devices[0], &usage);
        assert_eq!((report.runs, report.free_bytes), (runs, bytes), "{profile}\n{usage}");
    }
    Ok(())
}

/// Runs and bytes of `FREE_SPACE_EXTENT` items within data block groups.
fn free_space_tree(device: &str, usage: &str) -> (u64, u64) {
    let groups = run("btrfs", &["inspect-internal", "dump-tree", "-t", "chunk", device]);
    let mut data = Vec::new();
    let mut start = 0;
    for line in groups.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        if let Some(at) = fields.iter().position(|field| *field == "CHUNK_ITEM") {
            start = fields[at + 1].trim_end_matches(')').parse().unwrap();
        } else if let ["length", bytes, .., "type", kind] = fields.as_slice() {
            if kind.starts_with("DATA") {
                data.push(start..start + bytes.parse::<u64>().unwrap());
            }
        }
    }
    assert!(!data.is_empty(), "{groups}{usage}");
    let tree = run("btrfs", &["inspect-internal", "dump-tree", "-t", "free-space", device]);
    assert!(!tree.contains("FREE_SPACE_BITMAP"), "extents only");
    let mut found = (0, 0);
    for line in tree.lines() {
        // `item 1 key (13631488 FREE_SPACE_EXTENT 8388608) itemoff …`
        let Some((_, key)) = line.split_once("key (") else { continue };
        let fields: Vec<&str> = key.split([' ', ')']).collect();
        if fields[1] == "FREE_SPACE_EXTENT" {
            let (at, bytes): (u64, u64) = (fields[0].parse().unwrap(), fields[2].parse().unwrap());
            if data.iter().any(|group| group.contains(&at)) {
                found = (found.0 + 1, found.1 + bytes);
            }
        }
    }
    found
}
