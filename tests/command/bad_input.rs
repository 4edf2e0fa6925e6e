//! What is refused: exit code 2, the place and the remedy on standard error, nothing written.

use std::fs;

use crate::common::{Folder, SMALL};

/// A slip in the scenario: the text that is changed, what it becomes, and what the report must say.
struct Slip {
    from: &'static str,
    to: &'static str,
    says: &'static [&'static str],
}

/// Every slip is reported at its line, with its field and with what would be right.
#[test]
fn slips_in_a_scenario() {
    let slips = [
        Slip {
            from: "outstanding = 8",
            to: "outstandign = 8",
            says: &["array[anywhere].outstandign: unknown key", "did you mean `outstanding`?"],
        },
        Slip { from: "outstanding = 8\n", to: "", says: &["array[anywhere]", "outstanding"] },
        Slip { from: "seed = 7\n", to: "", says: &["seed", "seed = 1"] },
        Slip {
            from: "\"256 MiB\"",
            to: "\"256 MB/s\"",
            says: &["workload.file: ", "units of size are B, kB", "write a size such as"],
        },
        Slip { from: "\"60 s\"", to: "\"60 GB\"", says: &["segment: ", "write a time such as"] },
        Slip { from: "\"60 s\"", to: "60", says: &["segment: "] },
        Slip { from: "segments = 3", to: "segments = 0", says: &["segments: "] },
        Slip { from: "segments = 3", to: "segments = -3", says: &["segments: "] },
        Slip { from: "segments = 3", to: "segments = \"three\"", says: &["segments: "] },
        Slip {
            from: "\"256 MiB\"\n",
            to: "\"256 MiB\"\n[[workload.access]]\nbytes = \"4 KiB\"\npercent = 90\nread_percent = 80\n\
                 random_percent = 100\n",
            says: &["workload.access_specification: is given beside"],
        },
        Slip {
            from: "access_specification = \"file-server\"\nfile = \"256 MiB\"\n",
            to: "file = \"256 MiB\"\n[[workload.access]]\nbytes = \"4 KiB\"\npercent = 60\nread_percent = 80\n\
                 random_percent = 100\n[[workload.access]]\nbytes = \"8 KiB\"\npercent = 30\nread_percent = 80\n\
                 random_percent = 100\n",
            says: &[
                "workload.access",
                "sum to 90 %",
                "they must sum to 100 %: this is 10 % too little",
            ],
        },
        Slip {
            from: "\"file-server\"",
            to: "\"file-sever\"",
            says: &["workload.access_specification: ", "file-server"],
        },
        Slip {
            from: "\"256 MiB\"",
            to: "\"256 GiB\"",
            says: &["workload.file: a file of 256 GiB is larger than the LUN of anywhere, 2 GiB"],
        },
        Slip {
            from: "lun = \"2 GiB\"",
            to: "lun = \"2 TiB\"",
            says: &["array[anywhere].lun: ", "larger than the array's usable", "give at most"],
        },
        Slip {
            from: "spindles = 8\nredundancy_sets = [8]",
            to: "spindles = 4\nredundancy_sets = [4]",
            says: &["array[inplace].in_place.redundancy_sets: a set of 4 spindles is too few"],
        },
        Slip {
            from: "redundancy_sets = [8]",
            to: "redundancy_sets = [8, 8]",
            says: &["the sets have 16 spindles, the group 8", "make them sum to 8"],
        },
        Slip {
            from: "data_spindles = 4",
            to: "data_spindles = 400",
            says: &["array[anywhere].write_anywhere.data_spindles: "],
        },
        Slip {
            from: "data_spindles = 4",
            to: "data_spindles = 0",
            says: &["array[anywhere].write_anywhere.data_spindles: "],
        },
        Slip {
            from: "seagate-cheetah-15k5-st3146855fc",
            to: "seagate-cheeta-15k5",
            says: &["array[anywhere].spindle: ", "seagate-cheetah-15k5-st3146855fc"],
        },
        Slip {
            from: "\"sptf\"",
            to: "\"elevator\"",
            says: &["array[anywhere].scheduler: ", "`sptf`"],
        },
        Slip {
            from: "\"raid-4\"",
            to: "\"raid-7\"",
            says: &["write_anywhere.parity: ", "raid-dp"],
        },
        Slip {
            from: "[array.in_place]",
            to: "[array.inplace]",
            says: &["array[inplace].inplace: unknown key", "did you mean `in_place`?"],
        },
        Slip {
            from: "\"small.published.toml\"",
            to: "\"smal.published.toml\"",
            says: &["published: there is no file ", "smal.published.toml"],
        },
        Slip {
            from: "parameters = [\"processor.host_operation\"]",
            to: "parameters = [\"host_operation\"]",
            says: &["there is no parameter `host_operation`", "processor.host_operation"],
        },
        Slip { from: "[workload]", to: "[workload", says: &["the text must be TOML"] },
        Slip { from: "seed = 7", to: "seed = 7\nseed = 8", says: &["duplicate key"] },
        Slip { from: "schema = 1", to: "schema = 2", says: &["schema: is 2", "write schema = 1"] },
    ];
    let folder = Folder::new();
    for Slip { from, to, says } in slips {
        let text = SMALL.replacen(from, to, 1);
        assert_ne!(text, SMALL, "{from:?} is not in the scenario");
        folder.write("bad.toml", &text);
        let before = folder.contents();
        for words in [&["run", "bad.toml", "--out", "out"][..], &["calibrate", "bad.toml"]] {
            let ran = folder.strewn(words);
            ran.refused(says);
            ran.refused(&["help: "]);
            assert!(names_a_line(&ran.stderr), "no file and line in\n{}", ran.stderr);
        }
        assert_eq!(folder.contents(), before, "something was written");
    }
}

/// Whether a report says `bad.toml:` and a line.
fn names_a_line(report: &str) -> bool {
    let places = report.split("bad.toml:").skip(1);
    places.into_iter().any(|after| after.starts_with(|first: char| first.is_ascii_digit()))
}

#[test]
fn every_problem_is_reported_at_once() {
    let folder = Folder::new();
    folder.write("bad.toml", &SMALL.replace("seed", "sede").replace("\"60 s\"", "\"60 parsecs\""));
    folder.strewn(&["run", "bad.toml"]).refused(&[
        "2 problems in bad.toml",
        "bad.toml:6:1",
        "bad.toml:8:11",
    ]);
}

#[test]
fn slips_in_published_figures() {
    let folder = Folder::new();
    folder.write(
        "small.published.toml",
        "title = \"T\"\nauthor = \"A\"\nyear = 2008\n[[array]]\nname = 3\n",
    );
    folder.strewn(&["run", "small.toml"]).refused(&[
        "small.published.toml:5",
        "array.name",
        "help: ",
    ]);
}

#[test]
fn files_that_are_no_scenario() {
    let folder = Folder::new();
    fs::create_dir(folder.path("scenarios")).unwrap();
    folder.write("scenarios/other.toml", SMALL);
    fs::create_dir(folder.path("empty")).unwrap();
    folder.write("letter.txt", "Dear all,\n");
    fs::write(folder.path("binary"), [0xff, 0xfe, 0x00]).unwrap();
    let before = folder.contents();
    for (file, says) in [
        ("none.toml", &["there is no scenario none.toml", "scenarios/other.toml"][..]),
        ("small", &["there is no scenario small", "did you mean small.toml?"]),
        ("other", &["did you mean scenarios/other.toml?"]),
        ("other.toml", &["did you mean scenarios/other.toml?"]),
        ("scenarios", &["scenarios is a directory", "scenarios/other.toml"]),
        ("empty", &["empty is a directory", "there is none in this directory"]),
        ("small.published.toml", &["has published figures", "perhaps small.toml"]),
        ("letter.txt", &["letter.txt:1", "the text must be TOML"]),
        ("binary", &["cannot read scenario binary"]),
        ("/dev/null/x", &["there is no scenario /dev/null/x"]),
    ] {
        folder.strewn(&["run", file, "--out", "out"]).refused(says);
        folder.strewn(&["calibrate", file]).refused(says);
    }
    assert_eq!(folder.contents(), before);
}

#[test]
fn flags_that_cannot_be() {
    let folder = Folder::new();
    let before = folder.contents();
    for (words, says) in [
        (&["small.toml"][..], &["strewn run small.toml"][..]),
        (&["runn", "small.toml"], &["similar subcommand", "'run'"]),
        (&["run"], &["<SCENARIO>"]),
        (&["run", "small.toml", "small.toml"], &["unexpected argument 'small.toml'"]),
        (&["run", "small.toml", "--jobs", "0"], &["--jobs", "give 1 or more", "every core"]),
        (&["run", "small.toml", "--jobs", "-2"], &["--jobs", "such as --jobs 2"]),
        (&["run", "small.toml", "--jobs", "all"], &["--jobs", "such as --jobs 2"]),
        (&["run", "small.toml", "--segments", "0"], &["--segments", "give 1 or more"]),
        (&["run", "small.toml", "--segments", "1.5"], &["--segments", "such as --segments 14"]),
        (&["run", "small.toml", "--segments", "4000000000"], &["from 1 to 100000"]),
        (&["run", "small.toml", "--seed", "-1"], &["--seed", "such as --seed 1"]),
        (&["run", "small.toml", "--seed", "0x10"], &["--seed", "such as --seed 1"]),
        (&["run", "small.toml", "--out"], &["a value is required for '--out <DIR>'"]),
        (&["run", "small.toml", "--out", ""], &["a value is required for '--out <DIR>'"]),
        (&["run", "small.toml", "--force"], &["--out <DIR>"]),
        (&["run", "small.toml", "--quik"], &["'--quick'"]),
        (&["run", "small.toml", "--explain", "--out", "out"], &["'--explain' cannot be used with"]),
        (&["run", "small.toml", "--explain", "--trace", "a.csv"], &["cannot be used with"]),
        (&["calibrate", "small.toml", "--jobs", "0"], &["--jobs", "give 1 or more"]),
        (&["calibrate", "small.toml", "--dryrun"], &["'--dry-run'"]),
        (&["array", "serve", "a"], &["--socket <PATH>|--tcp <ADDRESS:PORT>"]),
        (&["array", "serve", "a", "--tcp", "127.0.0.1:99999"], &["at most 65535"]),
    ] {
        folder.strewn(words).refused(says);
    }
    assert_eq!(folder.contents(), before);
}

/// A thousand arrays of which each would take some hundred MiB: no machine of today runs them at once.
#[test]
fn too_little_memory_is_known_before_the_run() {
    let folder = Folder::new();
    let (head, rest) = SMALL.split_once("[[array]]").unwrap();
    let (array, _) = rest.split_once("[[array]]").unwrap();
    let head = head.replace("256 MiB", "400 GiB").replace("published = ", "# ");
    let array = array.replace("2 GiB", "400 GiB");
    let arrays = (0..1000).map(|number| {
        format!("[[array]]{}", array.replace("\"anywhere\"", &format!("\"anywhere {number}\"")))
    });
    folder.write("huge.toml", &format!("{head}{}", arrays.collect::<String>()));
    let words = ["run", "huge.toml", "--out", "out"];
    folder.strewn(&words).refused(&["MiB of memory", "a smaller file or fewer arrays"]);
    assert!(!folder.path("out").exists());
}

#[test]
fn an_aggregate_that_other_data_does_not_fit_is_refused() {
    let folder = Folder::new();
    let fullness = include_str!("../../scenarios/fullness.toml");
    let little = fullness.replace("full_percent = 95.0", "full_percent = 1.0");
    let much = fullness.replace("reserve_percent = 10.0", "reserve_percent = 0.0");
    let much = much.replace("full_percent = 95.0", "full_percent = 100.0");
    let cases = [
        (
            little,
            "4.7 % of `FAS2050, 95 % full`, which other data is to make 1 % full",
            "smaller file",
        ),
        (much, "`FAS2050, 95 % full` 100 % full leaves no room", "at most 99."),
    ];
    for (text, message, remedy) in cases {
        folder.write("full.toml", &text);
        let words = ["run", "full.toml", "--out", "out"];
        folder.strewn(&words).refused(&["full.toml:23:8", message, remedy]);
        assert!(!folder.path("out").exists());
    }
}

#[test]
fn help_tells_the_exit_codes() {
    let folder = Folder::new();
    for words in [&["--help"][..], &["run", "--help"], &["calibrate", "--help"]] {
        let help = folder.strewn(words).succeeded();
        assert!(help.contains("Exit codes:") && help.contains("130"), "{help}");
    }
    assert!(folder.strewn(&["--version"]).succeeded().starts_with("strewn "));
    // No words at all ask for help too, but they are not what anybody meant.
    assert_eq!(folder.strewn(&[]).code, Some(2));
}

/// Slips of an editor, of another country and of a hurry, each with a remedy of its own.
#[test]
fn slips_have_remedies_of_their_own() {
    let folder = Folder::new();
    let cases: &[(&str, &str, &str)] = &[
        ("file = \"256 MiB\"", "file = \"0,3 GiB\"", "did you mean \"0.3 GiB\"?"),
        ("file = \"256 MiB\"", "file = \"256M\"", "did you mean \"256 MiB\" or \"256 MB\"?"),
        ("segment = \"60 s\"", "segment = \"1 m\"", "did you mean \"1 min\" or \"1 ms\"?"),
        ("segment = \"60 s\"", "segment = \u{201c}60 s\u{201d}", "write straight quotes"),
        ("segments = 3", "segments = -1", "give one or more"),
        ("segments = 3", "segments = 0", "give one or more"),
        (
            "[workload]",
            "[workload]\nalignment = \"1 KiB\"\n[workload]",
            "put the keys of both into one table",
        ),
    ];
    for (from, to, says) in cases {
        assert!(SMALL.contains(from), "{from}");
        folder.write("slip.toml", &SMALL.replacen(from, to, 1));
        folder.strewn(&["run", "slip.toml"]).refused(&[says]);
    }
}

#[test]
fn absurd_values_are_run_with_a_warning() {
    let folder = Folder::new();
    let text = SMALL.replacen("host_operation = \"500 us\"", "host_operation = \"20 ms\"", 1);
    folder
        .write("absurd.toml", &text.replacen("reserve_percent = 10.0", "reserve_percent = 0.1", 1));
    let ran = folder.strewn(&["run", "absurd.toml", "--segments", "1"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for part in [
        "warning: array[anywhere].processor.host_operation is 20 ms",
        "reserve_percent is 0.1 %: are 10 % meant?",
    ] {
        assert!(ran.stderr.contains(part), "no {part:?} in {}", ran.stderr);
    }
}

#[test]
fn a_misspelt_array_in_the_published_file_is_an_error() {
    let folder = Folder::new();
    let published = folder.read("small.published.toml").replace("\"anywhere\"", "\"anywere\"");
    folder.write("small.published.toml", &published);
    folder.strewn(&["run", "small.toml"]).refused(&["figures of `anywere`", "anywhere, inplace"]);
}

#[test]
fn an_option_without_its_partner_names_it() {
    let folder = Folder::new();
    for flag in [&["--theme", "dark"][..], &["--chart-size", "960x560"], &["--png"]] {
        folder.strewn(&[&["run", "small.toml"], flag].concat()).refused(&[flag[0], "--out DIR"]);
    }
    for flag in [&["--wrap"][..], &["--trace-device", "3"], &["--speedup", "2"]] {
        folder.strewn(&[&["run", "small.toml"], flag].concat()).refused(&["--trace <FILE>"]);
    }
}
