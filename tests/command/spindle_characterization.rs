//! `strewn spindle PROFILE`: the characterization of drives, and its files.

use std::fs;

use strewn::results::DriveCharacterization;
use strewn::spindle::Profile;
use strewn_base::Direction;

use crate::common::{Folder, contents};
use crate::spindle::{CHEETAH, closed_loop};

const NEARLINE: &str = "nearline-7200-16tb";
const CHARTS: [&str; 11] = [
    "iops-by-block.svg",
    "iops-by-depth-reads.svg",
    "iops-by-depth-writes.svg",
    "iops-by-span.svg",
    "rate-by-block.svg",
    "response-by-block.svg",
    "response-by-depth-reads.svg",
    "response-by-depth-writes.svg",
    "response-by-span.svg",
    "seek.svg",
    "transfer.svg",
];

#[test]
fn a_characterization_has_every_table_and_the_same_figures_each_time() {
    let folder = Folder::new();
    let tables = folder.strewn(&["spindle", CHEETAH]).succeeded();
    for part in [
        "revolution, ms",
        "Seek, ms",
        "Sequential read, MB/s",
        "IOPS by commands outstanding: random reads of 4 KiB over the whole drive, cache off",
        "IOPS by commands outstanding: random writes of 4 KiB over the whole drive, cache off",
        "Mean response, ms, by commands outstanding: random writes",
        "IOPS by span, commands outstanding and scheduler: random reads of 4 KiB within the outermost",
        "MB/s by size, commands outstanding and scheduler: random writes",
        "c-look",
        "aged-sptf",
        "64 KiB",
    ] {
        assert!(tables.contains(part), "no {part:?} in\n{tables}");
    }
    assert_eq!(tables, folder.strewn(&["spindle", CHEETAH]).succeeded());
    assert!(tables.lines().all(|line| line.len() <= 160), "{tables}");
}

#[test]
fn a_characterization_is_written_as_json_and_charts() {
    let folder = Folder::new();
    let words = ["spindle", CHEETAH, "nearline-7200-16tb", "--json", "--out", "out"];
    let printed = folder.strewn(&words).succeeded();
    assert_eq!(folder.read("out/drives.json"), printed);
    let measured: DriveCharacterization = serde_json::from_str(&printed).unwrap();
    assert_eq!(measured.drives.len(), 2);
    for drive in &measured.drives {
        // Reads and writes; 5 schedulers at 9 depths; by span and size 1 outstanding, and 16 under each scheduler.
        assert_eq!((drive.by_depth.len(), drive.by_span.len()), (2 * 5 * 9, 2 * 6 * 7));
        assert_eq!((drive.transfer.len(), drive.by_block.is_empty()), (100, false));
        assert_eq!(drive.seek.last().unwrap().cylinders, drive.cylinders - 1);
        let iops = |scheduler: &str, outstanding| {
            let mut points = drive.by_depth.iter();
            let found = points.find(|point| {
                (point.scheduler.as_str(), point.outstanding) == (scheduler, outstanding)
            });
            found.unwrap().iops
        };
        for points in [&drive.by_depth, &drive.by_span, &drive.by_block] {
            let (reads, writes) = points.split_at(points.len() / 2);
            for (read, write) in reads.iter().zip(writes) {
                assert_eq!(read.operation, Direction::Read);
                assert_eq!(write.operation, Direction::Write);
                assert_eq!(
                    (&read.scheduler, read.outstanding, read.sectors, read.end_lba),
                    (&write.scheduler, write.outstanding, write.sectors, write.end_lba)
                );
                // No drive here writes faster than it reads, but for what chance the queue brings.
                assert!(write.iops < 1.02 * read.iops, "{read:?} {write:?}");
            }
        }
        assert_eq!(iops("fcfs", 1), iops("sptf", 1));
        assert!(iops("sptf", 64) > 1.2 * iops("sstf", 64));
        assert!(drive.by_span[0].iops > 1.3 * drive.by_span[6].iops);
    }
    let names: Vec<String> = contents(&folder.path("out")).into_iter().map(|file| file.0).collect();
    assert_eq!(names, [&["drives.json"], &CHARTS[..]].concat());
    for chart in CHARTS {
        let text = folder.read(&format!("out/{chart}"));
        let document = roxmltree::Document::parse(&text).unwrap();
        assert_eq!(document.root_element().tag_name().name(), "svg");
        for drive in [CHEETAH, "nearline-7200-16tb"] {
            assert!(text.contains(drive), "{chart} does not name {drive}");
        }
    }
    // A directory in use is left as it is, unless it is to be replaced.
    let words = ["spindle", CHEETAH, "--out", "out"];
    folder.strewn(&words).refused(&["the directory is not empty", "--force"]);
    assert_eq!(folder.read("out/drives.json"), printed);
    folder.strewn(&["spindle", CHEETAH, "--out", "out", "--force"]).succeeded();
    assert_ne!(folder.read("out/drives.json"), printed);
}

#[test]
fn a_characterization_has_the_cache_on_where_it_is_asked_for() {
    let folder = Folder::new();
    let characterized = |cache: &[&str]| -> DriveCharacterization {
        let words = [&["spindle", CHEETAH, "--json"], cache].concat();
        serde_json::from_str(&folder.strewn(&words).succeeded()).unwrap()
    };
    let (plain, off, on) =
        (characterized(&[]), characterized(&["--cache", "off"]), characterized(&["--cache", "on"]));
    assert_eq!(plain, off);
    assert_eq!((off.cache.as_str(), on.cache.as_str()), ("off", "on"));
    assert_eq!(off.drives[0].transfer, on.drives[0].transfer);
    assert_ne!(off.drives[0].by_depth, on.drives[0].by_depth);
    // The same as a closed loop by itself.
    let words = ["1", "--reads", "0", "--cache", "on", "--commands", "30000"];
    let mut points = on.drives[0].by_depth.iter();
    let alone = points.find(|point| point.operation == Direction::Write).unwrap();
    let iops = closed_loop(&folder, &words)["iops"].as_f64().unwrap();
    // To the digits that a characterization has.
    assert!((alone.iops / iops - 1.0).abs() < 1e-5, "{alone:?} {iops}");

    let shipped = format!("{}/crates/spindle/profiles/{NEARLINE}.toml", crate::common::PROJECT);
    let text = fs::read_to_string(shipped).unwrap();
    let (before, rest) = text.split_once("[cache]").unwrap();
    let (_, after) = rest.split_once("[provenance]").unwrap();
    let after: Vec<&str> = after.lines().filter(|line| !line.starts_with("cache")).collect();
    folder.write("bare.toml", &format!("{before}[provenance]{}", after.join("\n")));
    folder.strewn(&["spindle", "bare.toml", "--cache", "off"]).succeeded();
    let words = ["spindle", CHEETAH, "bare.toml", "--cache", "on", "--out", "out"];
    folder.strewn(&words).refused(&["has no cache", NEARLINE, "add a [cache] table"]);
    assert!(!folder.path("out").exists());
}

#[test]
fn every_shipped_profile_can_be_studied_beside_another() {
    let folder = Folder::new();
    let names: Vec<&str> = Profile::shipped_names().collect();
    for pair in names.chunks(2) {
        let tables = folder.strewn(&[&["spindle"], pair].concat()).succeeded();
        for (letter, name) in ["A", "B"].iter().zip(pair) {
            let heading = format!("{letter}: {name}");
            assert!(pair.len() == 1 || tables.contains(&heading), "no {heading} in\n{tables}");
        }
    }
}
