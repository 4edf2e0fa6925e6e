//! `strewn file` without permissions that others lack: lists of extents, and files of a temporary directory.

use serde_json::Value;

use crate::common::{Folder, Ran};

/// 128 KiB in three extents, so that each read of 64 KiB takes two commands.
const LIST: &str = "\
offset,bytes,address
0,32768,4194304
32768,65536,1048576
98304,32768,8388608
";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("list.csv", LIST);
    folder
}

fn json(folder: &Folder, words: &[&str]) -> Vec<Value> {
    let printed = folder.strewn(&[&["file", "--json"], words].concat()).succeeded();
    serde_json::from_str(&printed).unwrap()
}

/// Refused with each of `fragments`, and nothing written.
#[track_caller]
fn refused(folder: &Folder, words: &[&str], fragments: &[&str]) {
    let before = folder.contents();
    folder.strewn(&[&["file"], words].concat()).refused(fragments);
    assert_eq!(folder.contents(), before);
}

#[test]
fn a_list_of_three_extents_has_the_figures_that_follow_from_it() {
    let folder = folder();
    let files = json(&folder, &["--from", "list.csv", "--read", "64KiB"]);
    assert_eq!(files.len(), 1);
    let file = &files[0];
    assert_eq!(file["bytes"], 131_072);
    assert_eq!(file["extents"], 3);
    // Of 32 blocks, 31 have a predecessor, and two of those do not follow it.
    assert_eq!(file["layout_score"], 0.935_484);
    // Three in an eighth of a MiB.
    assert_eq!(file["extents_per_gib"], 24_576.0);
    assert_eq!(file["span_bytes"], 8_388_608 + 32_768 - 1_048_576);
    assert_eq!(file["holes"], 0);
    let cost = &file["cost"];
    assert_eq!(cost["access"], "random 64 KiB reads");
    assert_eq!(cost["commands_per_request"], 2.0);
    assert_eq!(cost["contiguous_commands_per_request"], 1.0);
    // Two reads are one pass, and each takes one command more.
    assert_eq!(cost["extra_commands"], 2.0);
}

/// A program of the test, which comes before those of the system.
fn program(folder: &Folder, name: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::create_dir_all(folder.path("bin")).unwrap();
    let path = folder.path("bin").join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// What `strewn` did with the programs of the test.
fn with_programs(folder: &Folder, words: &[&str]) -> crate::common::Ran {
    let path = format!("{}:/usr/bin:/bin", folder.path("bin").display());
    crate::common::Ran::of(folder.command(words).env("PATH", path).output().unwrap())
}

fn sample(name: &str) -> String {
    format!("{}/crates/file/tests/data/{name}", crate::common::PROJECT)
}

#[test]
fn lists_that_powershell_has_saved_are_read() {
    let folder = folder();
    let save = |name: &str| {
        let text = std::fs::read_to_string(sample(name)).unwrap().replace('\n', "\r\n");
        let units = "\u{feff}".encode_utf16().chain(text.encode_utf16());
        let bytes: Vec<u8> = units.flat_map(u16::to_le_bytes).collect();
        std::fs::write(folder.path(name), bytes).unwrap();
    };
    save("fsutil.txt");
    save("zdb-pool.txt");
    let file = &json(&folder, &["--from", "fsutil.txt"])[0];
    assert_eq!((&file["extents"], &file["file_system"]), (&2.into(), &"ntfs".into()));
    assert_eq!((&file["bytes"], &file["hole_bytes"]), (&(0x40 << 16).into(), &(0x10 << 16).into()));
    assert_eq!(file["notes"], Value::Null);
    let pools = |list: &str| folder.strewn(&["file", "--pool-from", list, "--json"]).succeeded();
    assert_eq!(pools("zdb-pool.txt"), pools(&sample("zdb-pool.txt")));
    // Nobody says how large a cluster is.
    folder.write("bare.txt", "VCN: 0x0        Clusters: 0x2a       LCN: 0x1a2b3c\r\n");
    let notes = json(&folder, &["--from", "bare.txt"])[0]["notes"].to_string();
    assert!(notes.contains("taken to be of 4 KiB") && notes.contains("ntfsinfo"), "{notes}");
}

#[test]
fn the_file_whose_scan_loses_most_seconds_comes_first() {
    let folder = folder();
    // Small and scattered: 64 pieces. Large, and less scattered: 1,024 pieces of 256 KiB.
    let pieces = |count: u64, bytes: u64| -> String {
        let row = |n: u64| format!("{},{bytes},{}\n", n * bytes, ((n * 7) % count + 1) * (8 << 20));
        "offset,bytes,address\n".to_owned() + &(0..count).map(row).collect::<String>()
    };
    folder.write("small.csv", &pieces(64, 4096));
    folder.write("large.csv", &pieces(1024, 256 << 10));
    let from = ["--from", "small.csv", "--from", "large.csv"];
    let order = |sort: &str| -> Vec<String> {
        let files = json(&folder, &[&from[..], &["--sort", sort]].concat());
        files.iter().map(|file| file["path"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(order("score"), ["small.csv", "large.csv"]);
    assert_eq!(order("scan"), ["large.csv", "small.csv"]);
    let table = folder.strewn(&[&["file"], &from[..]].concat()).succeeded();
    assert!(table.contains("a scan"), "{table}");
}

#[test]
fn a_logical_volume_is_looked_at_by_its_segments() {
    let folder = folder();
    program(&folder, "lvs", &format!("echo \"$@\" > asked; exec cat '{}'", sample("lvs.json")));
    let words = ["file", "--volume", "/dev/data/vm", "--volume", "data/safe", "--json"];
    let printed = with_programs(&folder, &words).succeeded();
    let files: Vec<Value> = serde_json::from_str(&printed).unwrap();
    let of = |path: &str| files.iter().find(|file| file["path"] == path).unwrap();
    assert_eq!(files.len(), 3);
    let volume = of("/dev/data/vm");
    assert_eq!((&volume["extents"], &volume["source"]), (&3.into(), &"lvs".into()));
    assert_eq!(volume["bytes"], 448 * (4 << 20));
    assert_eq!(of("/dev/data/safe (safe_rimage_1)")["extents"], 2);
    assert!(folder.read("asked").starts_with("-a --segments --units=b --nosuffix"));
    let missing = with_programs(&folder, &["file", "--volume", "/dev/data/none"]);
    missing.refused(&["there is no logical volume /dev/data/none", "/dev/data/vm"]);
    program(&folder, "lvs", "echo '  No access to devices' >&2; exit 5");
    let failed = with_programs(&folder, &["file", "--volume", "/dev/data/vm"]);
    failed.refused(&["`lvs -a", "No access to devices", "run it as root"]);
    if !["/usr/sbin/lvs", "/sbin/lvs", "/usr/bin/lvs"]
        .iter()
        .any(|path| std::path::Path::new(path).exists())
    {
        refused(
            &folder,
            &["--volume", "/dev/data/vm"],
            &["`lvs` is not installed", "install lvm2"],
        );
    }
    // The same listing from elsewhere has all volumes: of a RAID its images, of a thin pool its data.
    let saved = json(&folder, &["--from", &sample("lvs.json")]);
    let paths: Vec<&str> = saved.iter().filter_map(|file| file["path"].as_str()).collect();
    assert_eq!(paths.len(), 5, "{paths:?}");
    assert!(paths.contains(&"/dev/data/pool (pool_tdata)"), "{paths:?}");
}

#[test]
fn a_pool_of_this_machine_is_shown_with_what_a_file_in_it_costs() {
    let folder = folder();
    program(&folder, "zdb", &format!("exec cat '{}'", sample("zdb-pool.txt")));
    program(&folder, "zpool", "echo 'no such pool' >&2; exit 1");
    let printed = with_programs(&folder, &["file", "--pool", "real"]).succeeded();
    for part in [
        "real, by zdb -mm: 354 MiB free",
        "FRAG 31 %; 31 % by the table",
        "a file of 354 MiB written into it",
        "sequential 1 MiB reads",
        "zpool does not tell its figures",
    ] {
        assert!(printed.contains(part), "no {part:?} in {printed}");
    }
    let printed = with_programs(&folder, &["file", "--pool", "real", "--json"]).succeeded();
    let pools: Vec<Value> = serde_json::from_str(&printed).unwrap();
    let scan = &pools[0]["next_file"]["cost"]["simulated"]["scan_s"];
    assert!(scan[0].as_f64() > scan[1].as_f64(), "{scan}");
    // The same list, saved.
    let list = sample("zdb-pool.txt");
    let words = ["file", "--pool-from", &list, "--json"];
    let saved: Vec<Value> = serde_json::from_str(&folder.strewn(&words).succeeded()).unwrap();
    assert_eq!(saved[0]["next_file"], pools[0]["next_file"]);
    program(
        &folder,
        "zdb",
        "echo \"zdb: can't open 'none': No such file or directory\" >&2; exit 1",
    );
    let missing = with_programs(&folder, &["file", "--pool", "none"]);
    missing.refused(&["`zdb -PmmM none`", "No such file or directory", "zpool list"]);
}

#[test]
fn commands_are_no_larger_than_asked_for() {
    let folder = folder();
    folder.write("one.csv", "offset,bytes,address\n0,1048576,1048576\n");
    let commands = |most: &str| {
        let words = ["--from", "one.csv", "--read", "1MiB", "--max-command", most];
        json(&folder, &words)[0]["cost"]["commands_per_request"].as_f64()
    };
    assert_eq!(["1280KiB", "512KiB", "64KiB"].map(commands), [Some(1.0), Some(2.0), Some(16.0)]);
}

#[test]
fn what_cannot_be_asked_is_refused_with_what_to_do() {
    let folder = folder();
    folder.write("file", "text");
    refused(
        &folder,
        &[],
        &[
            "required arguments",
            "<PATH|--from <FILE>|--volume </dev/VG/LV>|--pool <NAME>|--pool-from <FILE>>",
        ],
    );
    refused(&folder, &["file", "--sequential"], &["--sequential", "--read 1MiB --sequential"]);
    refused(&folder, &["file", "--read", "3"], &["'3'", "--read", "multiple of 512 bytes"]);
    refused(&folder, &["file", "--read", "1MB"], &["'1MB'", "4KiB or \"1 MiB\""]);
    refused(&folder, &["file", "--on", "unknown"], &["no drive profile unknown", "nearline-7200"]);
    refused(&folder, &["file", "--top", "0"], &["'0'", "--top 20"]);
    refused(&folder, &["file", "--predict", "a lot"], &["--predict", "\"a lot\"", "8 KiB random"]);
    refused(&folder, &["file", "--every", "1 s"], &["--append <HISTORY.csv>"]);
    refused(&folder, &["file", "--json", "--compare", "x"], &["--json", "cannot be used with"]);
    let two = format!("{}/scenarios/making-sense-of-wafl-4.toml", crate::common::PROJECT);
    refused(
        &folder,
        &["file", "--on", &two],
        &["has 2 arrays", "\"FAS2050\", \"EVA4400\"", ":FAS2050"],
    );
    let icf = format!("{}/crates/formats/tests/data/full.icf", crate::common::PROJECT);
    let named = ["2 access specifications", "full.icf:NAME", "File Server, as Intel has it"];
    refused(&folder, &["file", "--access-spec", &icf], &named);
    folder.write("trim.fio", "[trim]\nrw=trim\nbs=4k\n");
    refused(&folder, &["file", "--fio-job", "trim.fio"], &["trim.fio:1", "discards", "reads"]);
}

#[test]
fn a_missing_file_is_named_and_the_others_are_looked_at() {
    let folder = folder();
    let ran = folder.strewn(&["file", "missing", "--from", "list.csv"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("missing: there is no such file"), "{}", ran.stderr);
    assert!(ran.stdout.contains("list.csv"), "{}", ran.stdout);
}

#[test]
fn lists_that_are_none_are_refused_by_place() {
    let folder = folder();
    std::fs::create_dir(folder.path("directory")).unwrap();
    folder.write("empty", "");
    std::fs::write(folder.path("image.jpg"), b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x02\x9b\x1b[2J")
        .unwrap();
    folder.write("overlap.csv", "offset,bytes,address\n0,65536,1048576\n4096,65536,4194304\n");
    let list = "give a CSV file with the columns offset, bytes and address";
    refused(&folder, &["--from", "directory"], &["directory is a directory", "--save-extents"]);
    refused(&folder, &["--from", "empty"], &["empty: there is nothing in it", list]);
    refused(&folder, &["--from", "image.jpg"], &["image.jpg:1:1", list]);
    refused(&folder, &["--from", "overlap.csv"], &["overlap.csv:3:1", "sort the extents"]);
}

#[test]
fn output_that_cannot_be_is_refused_before_anything_is_looked_at() {
    let folder = folder();
    let list = ["--from", "list.csv"];
    let with = |words: &[&'static str]| [&list[..], words].concat();
    std::fs::create_dir(folder.path("full")).unwrap();
    folder.write("full/other", "kept");
    refused(&folder, &with(&["--out", "full"]), &["--out full: the directory is not empty"]);
    let missing = &["--save-extents no/list.csv", "there is no directory no"];
    refused(&folder, &with(&["--save-extents", "no/list.csv"]), missing);
    let missing = &["--append no/history.csv", "there is no directory no"];
    refused(&folder, &with(&["--append", "no/history.csv"]), missing);
    folder.write("foreign.csv", "a,b\n1,2\n");
    let foreign = &["--append foreign.csv", "no column time", "give a new file"];
    refused(&folder, &with(&["--append", "foreign.csv"]), foreign);
    refused(&folder, &with(&["--append", "foreign.csv", "--every", "1s"]), foreign);
}

#[test]
fn a_comparison_needs_what_json_has_written() {
    let folder = folder();
    folder.write("empty", "");
    folder.strewn(&["run", "small.toml", "--out", "results"]).succeeded();
    let help = "give what strewn file --json has written";
    for other in ["empty", "results/results.json", "list.csv", "results"] {
        let words = ["--from", "list.csv", "--compare", other];
        refused(&folder, &words, &[&format!("--compare {other}"), help]);
    }
    let printed = folder.strewn(&["file", "--from", "list.csv", "--json"]).succeeded();
    folder.write("before.json", &printed);
    let words = ["file", "--from", "list.csv", "--compare", "before.json"];
    let compared = folder.strewn(&words).succeeded();
    let (_, rows) = compared.split_once("Before and after").unwrap();
    assert_eq!(rows.trim(), "list.csv: unchanged");
}

#[test]
fn figures_do_not_depend_on_threads_and_are_the_same_in_csv() {
    let folder = folder();
    std::fs::create_dir(folder.path("tree")).unwrap();
    for number in 0..40 {
        std::fs::write(folder.path(&format!("tree/{number}")), vec![1; 3000 * number]).unwrap();
    }
    let words = ["file", "tree", "--sync", "--json"];
    let once = folder.strewn(&words).succeeded();
    for jobs in ["1", "2"] {
        let again = folder.strewn(&[&words[..], &["--jobs", jobs]].concat()).succeeded();
        assert_eq!(once, again);
    }
    let files: Vec<Value> = serde_json::from_str(&once).unwrap();
    let table = folder.strewn(&["file", "tree", "--sync", "--format", "csv"]).succeeded();
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let headers = reader.headers().unwrap().clone();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    assert_eq!((rows.len(), files.len()), (20, 20));
    for (row, file) in rows.iter().zip(&files) {
        let field = |name: &str| {
            let column = headers.iter().position(|header| header == name);
            &row[column.unwrap_or_else(|| panic!("no column {name}"))]
        };
        assert_eq!(Some(field("path")), file["path"].as_str());
        for (column, figure) in [
            ("bytes", &file["bytes"]),
            ("extents", &file["extents"]),
            ("layout_score_0_to_1", &file["layout_score"]),
            ("extents_per_gib", &file["extents_per_gib"]),
            ("commands_per_request", &file["cost"]["commands_per_request"]),
            ("iops", &file["cost"]["simulated"]["now"]["iops"]),
        ] {
            assert_eq!(field(column).parse().ok(), figure.as_f64(), "{column} of {file}");
        }
    }
}

#[test]
fn looks_again_and_again_are_rows_and_a_chart() {
    let folder = folder();
    folder.write("other.csv", "offset,bytes,address\n0,65536,1048576\n");
    let words = ["file", "--from", "list.csv", "--from", "other.csv"];
    let more = ["--every", "1s", "--times", "2", "--append", "history.csv"];
    let printed = folder.strewn(&[&words[..], &more].concat()).succeeded();
    assert_eq!(printed.lines().count(), 2, "{printed}");
    let history = folder.read("history.csv");
    let mut reader = csv::Reader::from_reader(history.as_bytes());
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let of = |path: &str| rows.iter().filter(|row| &row[1] == path).count();
    assert_eq!((rows.len(), of("list.csv"), of("other.csv")), (4, 2, 2));
    let chart = folder.read("history.svg");
    assert_eq!(roxmltree::Document::parse(&chart).unwrap().root_element().tag_name().name(), "svg");
}

#[test]
fn regression_nothing_is_written_over_but_what_the_command_has_written() {
    let folder = folder();
    folder.write("looked.at", "precious");
    folder.write("other.csv", "precious");
    folder.write("h1.svg", "precious");
    refused(
        &folder,
        &["looked.at", "--save-extents", "looked.at"],
        &["--save-extents looked.at", "a file to be looked at"],
    );
    refused(&folder, &["looked.at", "--save-extents", "other.csv"], &["strewn has not written it"]);
    refused(&folder, &["looked.at", "--save-extents", "/dev/full"], &["no regular file"]);
    refused(&folder, &["--from", "list.csv", "--save-extents", "list.csv"], &["to be looked at"]);
    let chart = ["the chart of --append, h1.svg", "strewn has not written it"];
    refused(&folder, &["looked.at", "--append", "h1.csv"], &chart);
    refused(&folder, &["looked.at", "--append", "h.svg"], &["the same name"]);
    let twice = ["--append", "k.csv", "--save-extents", "k.svg"];
    refused(&folder, &[&["looked.at"], &twice[..]].concat(), &["to be written twice"]);
    std::fs::create_dir(folder.path("out")).unwrap();
    folder.write("out/report.html", "precious");
    let over = ["out/report.html", "--out", "out", "--force"];
    refused(&folder, &over, &["write over out/report.html"]);
    folder.write("notes", "# path = my own notes\nkeep me\n");
    refused(&folder, &["looked.at", "--save-extents", "notes"], &["has not written it"]);
    folder.strewn(&["file", "looked.at", "--save-extents", "new.csv"]).succeeded();
    // What it has written, it replaces.
    folder.strewn(&["file", "looked.at", "--save-extents", "new.csv"]).succeeded();
    for _ in 0..2 {
        folder.strewn(&["file", "--from", "list.csv", "--append", "mine.csv"]).succeeded();
    }
    assert_eq!(folder.read("looked.at"), "precious");
}

#[test]
fn regression_figures_of_looks_replace_only_their_like() {
    let folder = folder();
    folder.write("looked.at", "precious");
    folder.write("notes", "keep me\n");
    std::os::unix::fs::symlink("notes", folder.path("link")).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(folder.path("pipe")).status().unwrap();
    assert!(pipe.success());
    let looks = |metrics: &'static str| {
        let once = ["looked.at", "--every", "1s", "--times", "1", "--append", "h.csv"];
        [&once[..], &["--metrics", metrics]].concat()
    };
    // A pipe has no contents to compare: to read it would be to wait.
    for (metrics, says) in [
        ("looked.at", "a file to be looked at"),
        ("./h.csv", "to be written twice"),
        ("h.svg", "to be written twice"),
        ("notes", "strewn has not written it"),
        ("link", "no regular file"),
        ("pipe", "no regular file"),
        ("/dev/null", "no regular file"),
        ("none/strewn.prom", "there is no directory none"),
    ] {
        let ran = folder.strewn(&[&["file"], &looks(metrics)[..]].concat());
        ran.refused(&[says, "help: "]);
        assert!(!folder.path("h.csv").exists());
    }
    let append = ["file", "looked.at", "--append"];
    for history in ["link", "pipe"] {
        folder.strewn(&[&append[..], &[history]].concat()).refused(&["no regular file"]);
    }
    let beside = ["--out", "out", "--append", "out/files.csv"];
    folder.strewn(&[&["file", "looked.at"], &beside[..]].concat()).refused(&["written twice"]);
    // What it has written, it replaces.
    for _ in 0..2 {
        folder.strewn(&[&["file"], &looks("strewn.prom")[..]].concat()).succeeded();
    }
    assert_eq!(
        (folder.read("looked.at"), folder.read("notes")),
        ("precious".into(), "keep me\n".into())
    );
    assert!(folder.path("link").symlink_metadata().unwrap().is_symlink());
}

#[test]
fn regression_a_directory_that_is_named_twice_is_counted_once() {
    let folder = folder();
    std::fs::create_dir_all(folder.path("tree/sub")).unwrap();
    for name in ["tree/a", "tree/sub/b", "tree/sub/c"] {
        folder.write(name, "text");
    }
    for words in [vec!["tree"], vec!["tree", "tree"], vec!["tree/sub", "./tree", "tree/sub/"]] {
        for more in [&[][..], &["-x"]] {
            let printed = folder.strewn(&[&["file"], &words[..], more].concat()).succeeded();
            assert!(printed.contains("\n3 files, 12 B"), "{printed}");
        }
    }
}

#[test]
fn regression_nobody_is_waited_for() {
    let folder = folder();
    // Threads without number, writes without number, files without end.
    let many = u64::MAX.to_string();
    folder.strewn(&["file", ".", "--jobs", &many]).succeeded();
    let predicted = json(
        &folder,
        &["--from", "list.csv", "--predict", "1000000000000000000 8 KiB random writes"],
    );
    assert_eq!(predicted[0]["prediction"]["writes"], "1000000000000000000 8 KiB random writes");
    refused(&folder, &["--from", "list.csv", "--compare", "/dev/zero"], &["no regular file"]);
    refused(&folder, &["--from", "list.csv", "--append", "/dev/zero"], &["no regular file"]);
    refused(&folder, &["--from", "list.csv", "--on", "/dev/zero"], &["no drive profile"]);
    // An editor left the last row of a history without its end.
    let look = ["file", "--from", "list.csv", "--append", "history.csv"];
    folder.strewn(&look).succeeded();
    let history = folder.read("history.csv");
    folder.write("history.csv", history.trim_end());
    folder.strewn(&look).succeeded();
    assert_eq!(folder.read("history.csv").lines().count(), 3);
}

#[test]
fn regression_what_an_image_names_is_not_opened_unless_it_is_trusted() {
    let folder = folder();
    // A qcow2 of version 3 with the name of a backing file at byte 512.
    let mut image = vec![0; 4096];
    image[..8].copy_from_slice(b"QFI\xfb\0\0\0\x03");
    image[8..16].copy_from_slice(&512u64.to_be_bytes());
    std::fs::write(folder.path("image.qcow2"), image).unwrap();
    let ran = folder.strewn(&["file", "image.qcow2"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("give --inside if you trust it"), "{}", ran.stderr);
    assert!(!ran.stdout.contains("disk inside"), "{}", ran.stdout);
}

/// 64 MiB in pieces of 64 KiB all over a gigabyte, and after it the same in one extent.
#[test]
fn a_comparison_has_the_scan_whatever_was_asked_for_and_stands_in_the_report() {
    let folder = folder();
    let rows = (0..1024u64).map(|piece| {
        let place = piece * 617 % 1024;
        format!("{},65536,{}\n", piece << 16, (1 << 30) + (place << 20))
    });
    let header = "# path = vm.raw\noffset,bytes,address\n";
    folder.write("before.csv", &(header.to_owned() + &rows.collect::<String>()));
    folder.write("after.csv", &format!("{header}0,67108864,1073741824\n"));
    let before = folder.strewn(&["file", "--json", "--from", "before.csv"]).succeeded();
    folder.write("before.json", &before);
    let words = ["file", "--from", "after.csv", "--compare", "before.json", "--out", "report"];
    let printed = folder.strewn(&words).succeeded();
    for row in [
        "extents                              1,024",
        "sequential 1 MiB reads: MB/s",
        "reading all of it once, s",
    ] {
        assert!(printed.contains(row), "{printed}");
    }
    let page = folder.read("report/report.html");
    assert!(page.contains("Before and after") && page.contains("reading all of it once, s"));
    // A small file may be in pieces for all that anybody will notice.
    let pieces = "0,131072,1073741824\n131072,131072,904194304\n262144,262144,4194304\n";
    folder.write("small.csv", &format!("offset,bytes,address\n{pieces}"));
    let small = folder.strewn(&["file", "--from", "small.csv"]).succeeded();
    assert!(small.contains("too little is at stake"), "{small}");
}

/// As `strewn file new.bin` itself says of a file that was written a moment ago.
#[test]
fn a_list_of_what_has_no_place_yet_says_so() {
    let folder = folder();
    folder.write(
        "new.txt",
        "Filesystem type is: ef53\nFile size of new.bin is 8388608 (2048 blocks of 4096 bytes)\n ext:     \
         logical_offset:        physical_offset: length:   expected: flags:\n   0:        0..    2047:          \
         0..         0:      0:             last,unknown_loc,delalloc,eof\nnew.bin: 1 extent found\n",
    );
    let file = json(&folder, &["--from", "new.txt"]).remove(0);
    assert_eq!((&file["bytes"], &file["unknown_bytes"]), (&8_388_608.into(), &8_388_608.into()));
    let note = file["notes"][0].as_str().unwrap();
    assert!(note.starts_with("8 MiB have no place yet") && note.contains("--sync"), "{note}");
}

/// filefrag may count in any unit: extents that lie between blocks of 4 KiB tell that blocks are smaller.
#[test]
fn blocks_of_a_file_system_are_as_small_as_its_addresses_tell() {
    let folder = folder();
    for (first, after, layout_score) in [(8_705, 8_718, 38.0 / 39.0), (8_704, 8_720, 8.0 / 9.0)] {
        folder.write(
            "list.txt",
            &format!(
                "Filesystem type is: ef53\nFile size of raw is 40960 (40 blocks of 1024 bytes)\n ext:     \
                 logical_offset:        physical_offset: length:   expected: flags:\n   0:        0..      11: \
                 {first}..{}: 12:\n   1:       12..      39: {after}..{}: 28: {}: last,eof\nraw: 2 extents found\n",
                first + 11,
                after + 27,
                first + 12
            ),
        );
        let file = json(&folder, &["--from", "list.txt"]).remove(0);
        let found = file["layout_score"].as_f64().unwrap();
        assert!((found - layout_score).abs() < 1e-5, "{found} for {first}");
    }
}

#[test]
fn the_free_space_of_a_pool_comes_from_a_saved_list() {
    let folder = Folder::new();
    let list = include_str!("../../crates/file/tests/data/zdb-mm.txt");
    folder.write("tank.txt", list);
    let text = folder.strewn(&["file", "--pool-from", "tank.txt"]).succeeded();
    for fragment in
        ["by zdb -mm", "FRAG 21 % by the table of OpenZFS 2.3", "next writes of", "128 KiB"]
    {
        assert!(text.contains(fragment), "no {fragment:?} in\n{text}");
    }
    let json = folder.strewn(&["file", "--pool-from", "tank.txt", "--json"]).succeeded();
    let pools: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(pools[0]["frag_percent_by_table"], 21);
    assert_eq!(pools[0]["next_writes"][2]["bytes"], 1 << 20);
    folder.write("empty", "");
    folder
        .strewn(&["file", "--pool-from", "empty"])
        .refused(&["empty: the list is empty", "zdb -mm POOL"]);
    folder.strewn(&["file", "--pool-from", "none"]).refused(&["--pool-from none", "saved to"]);
    folder.strewn(&["file", "--pool-from", "."]).refused(&["--pool-from .", "directory"]);
    folder.strewn(&["file", "--from", "tank.txt"]).refused(&[
        "tank.txt:2:",
        "`zdb -m` of a pool",
        "--pool-from",
    ]);
    let from_standard_input = |list: &str| {
        folder.write("piped.txt", list);
        let mut command = folder.command(&["file", "--pool-from", "-", "--json"]);
        command.stdin(std::fs::File::open(folder.path("piped.txt")).unwrap());
        Ran::of(command.output().unwrap())
    };
    assert_eq!(from_standard_input(list).succeeded(), json);
    from_standard_input(&list[..2000])
        .refused(&["standard input, line 81: the list breaks off", "save the list again, whole"]);
    folder.strewn(&["file", "--pool-from", "tank.txt", "x"]).refused(&["cannot be used with"]);
}
