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
    let statfs = run("stat", &["-f", "-c", "%f %S", &point]);
    drop(mounted);
    let (blocks, bytes) = statfs.trim().split_once(' ').unwrap();
    let free = blocks.parse::<u64>().unwrap() * bytes.parse::<u64>().unwrap();
    assert_eq!(report.free_bytes, free);
    if options.contains(&"bigalloc") {
        // e2freefrag 1.47.0 has other free blocks than the kernel then.
        return Ok(());
    }
    // Mounted, e2freefrag asks the kernel, which counts what it set aside for files that grow as used.
    let printed = run("e2freefrag", &[&device]);
    assert_eq!(report.block_bytes, figure(&printed, "Blocksize:"), "{printed}");
    let blocks = report.free_bytes / report.block_bytes;
    assert_eq!(blocks, figure(&printed, "Free blocks:"), "{printed}");
    assert_eq!(report.runs, figure(&printed, "Num. free extent:"), "{printed}");
    assert_eq!(report.largest_run_bytes >> 10, figure(&printed, "Max. free extent:"));
    Ok(())
}

pub fn of_ext4_is_that_of_e2freefrag() -> Result<(), Missing> {
    ext4(&["-b", "4096"])?;
    ext4(&["-b", "1024"])
}

pub fn of_ext4_with_clusters_is_that_of_the_kernel() -> Result<(), Missing> {
    ext4(&["-b", "4096", "-O", "bigalloc", "-C", "16384"])
}

pub fn of_xfs_is_that_of_its_histogram() -> Result<(), Missing> {
    program(&["xfs_spaceman"], "apt-get install xfsprogs")?;
    let loops = Loops::new(1, 400)?;
    loops.make(&["mkfs.xfs", "-q", "-f"])?;
    let mounted = loops.mount("rw")?;
    fragment(&mounted);
    let histogram = || run("xfs_spaceman", &["-c", "freesp -s", mounted.point()]);
    // XFS frees what deleted files had in the background: a look between two that are the same.
    let (report, printed) = (0..100)
        .find_map(|_| {
            let before = histogram();
            let report = free_space(&mounted.mount).unwrap();
            let is_still = histogram() == before;
            if !is_still {
                std::thread::sleep(std::time::Duration::from_millis(100));
            }
            is_still.then_some((report, before))
        })
        .expect("XFS is never still");
    check(&report);
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
        let runs = free_space_tree(&loops.devices[0]);
        // The kernel does not give out what holds a superblock, and does not count it as used.
        let (size, used) = data(&usage);
        let superblocks = size - used - report.free_bytes;
        assert!(superblocks <= MOST_SUPERBLOCK_BYTES, "{superblocks}, {profile}\n{usage}");
        assert_eq!(superblocks % (64 << 10), 0, "{profile}\n{usage}");
        // Its tree has the superblocks as free, so that they divide no run there.
        let divided = runs..=runs + superblocks / (64 << 10);
        assert!(divided.contains(&report.runs), "{runs} and {}, {profile}", report.runs);
    }
    Ok(())
}

/// What the file system could not give out is not free: superblocks lie at 64 MiB of each device.
pub fn of_a_full_btrfs_is_none() -> Result<(), Missing> {
    let mut superblocks = 0;
    for (devices, profile) in
        [(1, "single"), (2, "raid0"), (4, "raid10"), (3, "raid5"), (4, "raid6")]
    {
        let loops = Loops::new(devices, 300)?;
        loops.make(&["mkfs.btrfs", "-q", "-f", "-d", profile])?;
        let mounted = loops.mount("compress=no,max_inline=0,space_cache=v2")?;
        for number in 0..4000 {
            let name = mounted.point.join(format!("file{number}"));
            if std::fs::write(name, vec![1; 1 << 20]).is_err() {
                break;
            }
        }
        mounted.sync();
        let report = free_space(&mounted.mount).unwrap();
        let usage = run("btrfs", &["filesystem", "usage", "-b", mounted.point()]);
        let (size, used) = data(&usage);
        superblocks += size - used;
        assert_eq!(report.free_bytes, 0, "{profile}\n{usage}");
    }
    assert!(superblocks > 0, "some data chunk has a superblock in it");
    Ok(())
}

/// A superblock on each of four devices, in a row of three stripes.
const MOST_SUPERBLOCK_BYTES: u64 = 4 * 3 * (64 << 10);

/// Size and used bytes of `Data,single: Size:8388608, Used:…`, over profiles.
fn data(usage: &str) -> (u64, u64) {
    let lines = usage.lines().filter(|line| line.starts_with("Data,"));
    lines.fold((0, 0), |(size, used), line| {
        let number = |name: &str| {
            let (_, rest) = line.split_once(name).unwrap();
            rest.split([',', ' ']).next().unwrap().parse::<u64>().unwrap()
        };
        (size + number("Size:"), used + number("Used:"))
    })
}

/// Free runs in data block groups, as the free space tree counts them.
fn free_space_tree(device: &str) -> u64 {
    let dump = |tree| run("btrfs", &["inspect-internal", "dump-tree", "-t", tree, device]);
    // Lines `item 3 key (FIRST_CHUNK_TREE CHUNK_ITEM 13631488) …` and
    // `length 8388608 owner 2 stripe_len 65536 type DATA`.
    let mut groups = Vec::new();
    let mut start = 0;
    for line in dump("chunk").lines() {
        if let Some((_, rest)) = line.split_once("CHUNK_ITEM ") {
            start = rest.split(')').next().unwrap().parse::<u64>().unwrap();
        } else if line.contains("type DATA") {
            groups.push(start);
        }
    }
    // Lines `item 0 key (13631488 FREE_SPACE_INFO 8388608) …` and `free space info extent count 1 flags 0`.
    let mut runs = 0;
    let mut group = 0;
    for line in dump("10").lines() {
        if let (Some((_, key)), true) = (line.split_once("key ("), line.contains("FREE_SPACE_INFO"))
        {
            group = key.split(' ').next().unwrap().parse().unwrap();
        } else if let Some(rest) = line.trim().strip_prefix("free space info extent count ") {
            let count: u64 = rest.split(' ').next().unwrap().parse().unwrap();
            runs += if groups.contains(&group) { count } else { 0 };
        }
    }
    runs
}
