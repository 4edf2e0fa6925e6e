//! `strewn spindle`: replays, closed loops, and what is refused.

use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use strewn::spindle::{
    Arrival, Command, Direction, Drive, MAX_DEPTH, Profile, Scheduler, SimulatedSpindle, replay,
};

use crate::common::Folder;

pub(crate) const CHEETAH: &str = "seagate-cheetah-15k5-st3146855fc";
const CAPACITY_SECTORS: u64 = 286_749_487;
const HEADER: &str = "id,arrival_ms,lba,sectors,rw";

fn cheetah() -> Arc<Drive> {
    Arc::new(Drive::new(&Profile::shipped(CHEETAH).unwrap()).unwrap())
}

/// Commands all over the drive, of which some wait for others.
fn arrivals() -> Vec<Arrival> {
    let arrival = |number: u64| Arrival {
        at_ns: number * 4_000_000,
        command: Command {
            lba: number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (CAPACITY_SECTORS / 64) * 64,
            sectors: 1 << (number % 7),
            direction: if number.is_multiple_of(3) { Direction::Write } else { Direction::Read },
        },
    };
    (0..400).map(arrival).collect()
}

fn rw(direction: Direction) -> &'static str {
    if direction == Direction::Read { "R" } else { "W" }
}

fn trace() -> String {
    let mut text = format!("{HEADER}\n");
    for (number, Arrival { at_ns, command }) in arrivals().iter().enumerate() {
        let Command { lba, sectors, direction } = command;
        let at_ms = *at_ns as f64 / 1e6;
        text.push_str(&format!("{number},{at_ms},{lba},{sectors},{}\n", rw(*direction)));
    }
    text
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// What the library says to [`arrivals`].
fn responses_csv(scheduler: Scheduler, cache: bool) -> String {
    let mut spindle = if cache {
        SimulatedSpindle::with_cache(cheetah(), scheduler, MAX_DEPTH).unwrap()
    } else {
        SimulatedSpindle::new(cheetah(), scheduler, MAX_DEPTH).unwrap()
    };
    let mut text = String::from("id,response_ms\n");
    for (id, ns) in replay(&mut spindle, &arrivals()).unwrap().into_iter().enumerate() {
        text.push_str(&format!("{id},{}.{:06}\n", ns / 1_000_000, ns % 1_000_000));
    }
    text
}

#[test]
fn a_replay_writes_the_responses_of_the_library() {
    let folder = Folder::new();
    folder.write("trace.csv", &trace());
    let aged = Scheduler::AgedSptf { credit_us_per_ms: Scheduler::DEFAULT_CREDIT_US_PER_MS };
    for scheduler in [Scheduler::Fcfs, Scheduler::Sstf, Scheduler::CLook, Scheduler::Sptf, aged] {
        for cache in ["on", "off"] {
            let name = scheduler.to_string();
            let words = ["spindle", CHEETAH, "--replay", "trace.csv", "--scheduler", &name];
            let words = [&words[..], &["--cache", cache, "--out", "responses.csv"]].concat();
            let printed = folder.strewn(&words).succeeded();
            assert!(printed.contains("400 commands") && printed.contains("p99"), "{printed}");
            assert_eq!(folder.read("responses.csv"), responses_csv(scheduler, cache == "on"));
        }
    }
}

#[test]
fn columns_may_stand_in_any_order_and_the_file_may_be_gzip_of_any_name() {
    let folder = Folder::new();
    let mut text = String::from("\u{feff}rw,\"note\",sectors,lba,angle,arrival_ms,id\r\n");
    for (number, Arrival { at_ns, command }) in arrivals().iter().enumerate() {
        let Command { lba, sectors, direction } = command;
        let at_ms = *at_ns as f64 / 1e6;
        let rw = rw(*direction).to_lowercase();
        text.push_str(&format!("\"{rw}\",\"a, b\", {sectors},{lba},,{at_ms},{number}\r\n"));
    }
    fs::write(folder.path("trace"), gzip(&text)).unwrap();
    let words = ["spindle", CHEETAH, "--replay", "trace", "--out", "-"];
    assert_eq!(folder.strewn(&words).succeeded(), responses_csv(Scheduler::Fcfs, false));
    // Two members one behind the other are one text.
    let (head, tail) = text.split_at(text.len() / 2);
    fs::write(folder.path("trace"), [gzip(head), gzip(tail)].concat()).unwrap();
    assert_eq!(folder.strewn(&words).succeeded(), responses_csv(Scheduler::Fcfs, false));
}

#[test]
fn a_replay_prints_mean_and_percentiles() {
    let folder = Folder::new();
    folder.write("trace.csv", &trace());
    let words = ["spindle", CHEETAH, "--replay", "trace.csv", "--json"];
    let figures: Value = serde_json::from_str(&folder.strewn(&words).succeeded()).unwrap();
    let text = responses_csv(Scheduler::Fcfs, false);
    let mut all: Vec<f64> =
        text.lines().skip(1).map(|line| line.split_once(',').unwrap().1.parse().unwrap()).collect();
    all.sort_by(f64::total_cmp);
    let shown = |name: &str| figures["response_ms"][name].as_f64().unwrap();
    assert!((shown("mean") - all.iter().sum::<f64>() / 400.0).abs() < 1e-9);
    assert_eq!((shown("p50"), shown("p95")), (all[199], all[379]));
    assert_eq!((shown("p99"), shown("max")), (all[395], all[399]));
    assert_eq!(figures["commands"], 400);
    // A queue of one leaves nothing to choose.
    let one = ["spindle", CHEETAH, "--replay", "trace.csv", "--out", "-", "--depth", "1"];
    let one = [&one[..], &["--scheduler", "sptf"]].concat();
    assert_eq!(folder.strewn(&one).succeeded(), text);
}

/// One wrong trace, and what must be said of it.
struct Slip {
    trace: &'static str,
    says: &'static [&'static str],
}

#[test]
fn slips_in_a_trace_are_named_by_line_column_and_field() {
    let slips = [
        Slip { trace: "", says: &["bad.csv: the trace is empty", "id, arrival_ms, lba"] },
        Slip {
            trace: "id,arrival_ms,lba,sectors,rw\n",
            says: &["bad.csv: the trace has no commands"],
        },
        Slip {
            trace: "id,arrival_ms,lba,sectors\n1,0,0,8\n",
            says: &["bad.csv:1:1: no column is called rw"],
        },
        Slip { trace: "1,0,0,8,R\n", says: &["bad.csv:1:1: no column is called id"] },
        Slip {
            trace: "id,lba,arrival_ms,lba,sectors,rw\n",
            says: &["bad.csv:1:19: a second column is called lba"],
        },
        Slip { trace: "id,arrival_ms,lba,sectors,rw\n1,0,0,8\n", says: &["bad.csv:2: 4 fields"] },
        Slip {
            trace: "id,arrival_ms,lba,sectors,rw\n1,0,0,8,R,\n",
            says: &["bad.csv:2: 6 fields"],
        },
        Slip {
            trace: "id,arrival_ms,lba,sectors,rw\n,0,0,8,R\n",
            says: &["bad.csv:2:1: id: \"\" is empty"],
        },
        Slip {
            trace: "id,arrival_ms,lba,sectors,rw\n1,soon,0,8,R\n",
            says: &["bad.csv:2:3: arrival_ms: \"soon\" is not a time", "such as 12.5"],
        },
        Slip {
            trace: "id,arrival_ms,lba,sectors,rw\n1,-1,0,8,R\n",
            says: &["bad.csv:2:3: arrival_ms"],
        },
        Slip {
            trace: "id,arrival_ms,lba,sectors,rw\n1,NaN,0,8,R\n",
            says: &["bad.csv:2:3: arrival_ms"],
        },
        Slip {
            trace: "id,arrival_ms,lba,sectors,rw\n1,1e300,0,8,R\n",
            says: &["bad.csv:2:3: arrival_ms"],
        },
        Slip {
            trace: "id,arrival_ms,lba,sectors,rw\n1,5,0,8,R\n\n2,4.999999,0,8,R\n",
            says: &["bad.csv:4:3: arrival_ms: \"4.999999\" is before 5.000000 ms"],
        },
        Slip {
            trace: "id,arrival_ms,lba,sectors,rw\n1,0,-8,8,R\n",
            says: &["bad.csv:2:5: lba: \"-8\"", "write the address of a sector"],
        },
        Slip { trace: "id,arrival_ms,lba,sectors,rw\n1,0,8.5,8,R\n", says: &["bad.csv:2:5: lba"] },
        Slip {
            trace: "id,arrival_ms,lba,sectors,rw\n1,0,286749480,8,R\n",
            says: &["bad.csv:2:5: lba: \"286749480\" is out of reach", "286749487"],
        },
        Slip {
            trace: "id,arrival_ms,lba,sectors,rw\n1,0,18446744073709551615,8,R\n",
            says: &["bad.csv:2:5: lba: ", "is out of reach"],
        },
        Slip {
            trace: "id,arrival_ms,lba,sectors,rw\n1,0,0,0,R\n",
            says: &["bad.csv:2:7: sectors: \"0\" transfers nothing", "at least 1 sector"],
        },
        Slip {
            trace: "id,arrival_ms,lba,sectors,rw\n1,0,0,4294967296,R\n",
            says: &["bad.csv:2:7: sectors"],
        },
        Slip {
            trace: "id,arrival_ms,lba,sectors,rw\né,0,0,8,trim\n",
            says: &["bad.csv:2:9: rw: \"trim\" is neither read nor write", "write R or W"],
        },
        Slip { trace: "id\0,arrival_ms\n", says: &["bad.csv:1: the line is not text"] },
    ];
    let folder = Folder::new();
    folder.write("responses.csv", "id,response_ms\nmine,1\n");
    for Slip { trace, says } in slips {
        for text in [trace.as_bytes().to_vec(), gzip(trace)] {
            fs::write(folder.path("bad.csv"), text).unwrap();
            let before = folder.contents();
            for out in ["responses.csv", "new.csv", "-"] {
                let words = ["spindle", CHEETAH, "--replay", "bad.csv", "--out", out];
                let ran = folder.strewn(&words);
                ran.refused(says);
                ran.refused(&["help: "]);
            }
            assert_eq!(folder.contents(), before, "something was written");
        }
    }
}

#[test]
fn files_that_are_no_trace() {
    let folder = Folder::new();
    let whole = gzip(&trace());
    fs::write(folder.path("cut.gz"), &whole[..whole.len() / 2]).unwrap();
    fs::write(folder.path("short.gz"), &whole[..whole.len() - 3]).unwrap();
    let mut damaged = whole.clone();
    for byte in &mut damaged[60..80] {
        *byte ^= 0xa5;
    }
    fs::write(folder.path("damaged.gz"), damaged).unwrap();
    fs::write(folder.path("binary"), [0x7f, b'E', b'L', b'F', 0xff, 0xfe, 0, 1, 2]).unwrap();
    fs::create_dir(folder.path("directory")).unwrap();
    // Never read to its end, plain or compressed.
    let line = "x".repeat(20 << 20);
    folder.write("huge-line.csv", &line);
    fs::write(folder.path("huge-line.gz"), gzip(&format!("{HEADER}\n{line}"))).unwrap();
    for (file, says) in [
        ("none.csv", &["cannot read trace none.csv"][..]),
        ("directory", &["cannot read trace directory"]),
        ("cut.gz", &["cut.gz:", "the gzip data ends too early", "cut short"]),
        ("short.gz", &["short.gz:402: the gzip data ends too early"]),
        ("damaged.gz", &["damaged.gz:"]),
        ("binary", &["binary:1: the line is not text"]),
        ("huge-line.csv", &["huge-line.csv:1: a line of more than 65536 bytes"]),
        ("huge-line.gz", &["huge-line.gz:2: a line of more than 65536 bytes"]),
    ] {
        let words = ["spindle", CHEETAH, "--replay", file, "--out", "responses.csv"];
        folder.strewn(&words).refused(says);
        assert!(!folder.path("responses.csv").exists());
    }
}

#[test]
fn places_that_cannot_be_written_are_refused_before_the_replay() {
    let folder = Folder::new();
    folder.write("trace.csv", &trace());
    fs::create_dir(folder.path("directory")).unwrap();
    folder.write("drive.toml", &folder.strewn(&["spindle", "--print", CHEETAH]).succeeded());
    let before = folder.contents();
    for (out, says) in [
        ("drive.toml", "--out drive.toml: is there, and holds no response times"),
        ("directory", "--out directory: is a directory"),
        ("none/responses.csv", "there is no such directory"),
        ("trace.csv", "--out trace.csv: is the trace itself"),
        ("./directory/../trace.csv", "is the trace itself"),
        ("trace.csv/responses.csv", "there is no such directory"),
    ] {
        let words = ["spindle", "drive.toml", "--replay", "trace.csv", "--out", out];
        folder.strewn(&words).refused(&[says, "help: "]);
    }
    assert_eq!(folder.contents(), before);
    // What it has written, it replaces.
    for _ in 0..2 {
        let words = ["spindle", CHEETAH, "--replay", "trace.csv", "--out", "new.csv"];
        folder.strewn(&words).succeeded();
    }
    // A device is written into, and stays one.
    let words = ["spindle", CHEETAH, "--replay", "trace.csv", "--out", "/dev/null"];
    folder.strewn(&words).succeeded();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}

pub(crate) fn closed_loop(folder: &Folder, words: &[&str]) -> Value {
    let all = [&["spindle", CHEETAH, "--json", "--closed-loop"], words].concat();
    serde_json::from_str(&folder.strewn(&all).succeeded()).unwrap()
}

#[test]
fn a_closed_loop_keeps_to_littles_law_and_its_seed() {
    let folder = Folder::new();
    let words = ["8", "--sectors", "8", "--range", "0%..5%", "--reads", "67", "--commands", "5000"];
    let words = [&words[..], &["--scheduler", "sptf", "--seed", "3"]].concat();
    let figures = closed_loop(&folder, &words);
    let number = |name: &str| figures[name].as_f64().unwrap();
    assert!((350.0..520.0).contains(&number("iops")), "{figures}");
    assert!((number("iops") * number("response_ms") / 8000.0 - 1.0).abs() < 0.01, "{figures}");
    assert_eq!(
        (figures["first_lba"].as_u64(), figures["end_lba"].as_u64()),
        (Some(0), Some(14_337_474))
    );
    assert_eq!(figures, closed_loop(&folder, &words));
    assert_ne!(figures["iops"], closed_loop(&folder, &words[..11])["iops"]);

    let table = folder.strewn(&["spindle", CHEETAH, "--closed-loop", "1"]).succeeded();
    for part in ["20000 commands of 8 sectors in 0..286749487", "100 % reads", "IOPS", "mean, ms"] {
        assert!(table.contains(part), "no {part:?} in\n{table}");
    }
}

#[test]
fn a_closed_loop_answers_from_the_cache_where_it_is_on() {
    let folder = Folder::new();
    // One place, read again and again.
    let words = ["1", "--range", "0..8", "--commands", "500"];
    let (off, on) = (
        closed_loop(&folder, &words),
        closed_loop(&folder, &[&words[..], &["--cache", "on"]].concat()),
    );
    assert!(on["iops"].as_f64() > off["iops"].as_f64().map(|iops| 4.0 * iops), "{off} {on}");
}

#[test]
fn profiles_that_are_none() {
    let folder = Folder::new();
    folder.write("bad.toml", "name = 3\n");
    folder.write("binary.toml", "\0\0");
    folder.write("c.parv", "disksim_disk CHEETAH {\n}\n");
    for (profile, says) in [
        ("cheetah", &["there is no drive profile cheetah", CHEETAH, "ends in .toml"][..]),
        ("small.json", &["there is no drive profile small.json", CHEETAH]),
        // A file of another program is there, and no profile.
        ("c.parv", &["c.parv is not a drive profile", CHEETAH, "ends in .toml"]),
        ("none.toml", &["cannot read drive profile none.toml"]),
        ("bad.toml", &["drive profile bad.toml", "line 1"]),
        ("binary.toml", &["drive profile binary.toml"]),
        ("small.toml", &["drive profile small.toml"]),
    ] {
        for words in [&["spindle", profile][..], &["spindle", CHEETAH, profile, "--out", "out"]] {
            let ran = folder.strewn(words);
            ran.refused(says);
            ran.refused(&["help: "]);
        }
        assert!(!folder.path("out").exists());
    }
}

#[test]
fn flags_that_cannot_be() {
    let folder = Folder::new();
    folder.write("trace.csv", &trace());
    let before = folder.contents();
    for (words, says) in [
        (&["--replay", "trace.csv", "--closed-loop", "4"][..], &["cannot be used with"][..]),
        (&["nearline-7200-16tb", "--replay", "trace.csv"], &["cannot be used with"]),
        (&["nearline-7200-16tb", "--closed-loop", "1"], &["cannot be used with"]),
        (&["--closed-loop", "4", "--out", "out"], &["cannot be used with"]),
        (&["--replay", "trace.csv", "--seed", "1"], &["cannot be used with"]),
        (&["--replay", "trace.csv", "--sectors", "8"], &["--sectors", "--closed-loop DEPTH"]),
        (&["--scheduler", "sptf"], &["--replay TRACE or --closed-loop DEPTH"]),
        (&["nearline-7200-16tb", "--depth", "2"], &["--depth needs"]),
        (&["--range", "0%..5%", "--out", "out"], &["--range needs"]),
        (&["--replay", "trace.csv", "--scheduler", "look"], &["c-look, sptf, aged-sptf"]),
        (&["--replay", "trace.csv", "--cache", "yes"], &["possible values: on, off"]),
        (&["--replay", "trace.csv", "--depth", "0"], &["from 1 to 256"]),
        (&["--replay", "trace.csv", "--depth", "257"], &["from 1 to 256"]),
        (&["--replay", "trace.csv", "--json", "--out", "-"], &["--json", "standard output"]),
        (&["--closed-loop", "0"], &["from 1 to 4096"]),
        (&["--closed-loop", "-1"], &["such as --closed-loop 8"]),
        (&["--closed-loop", "4", "--sectors", "0"], &["--sectors", "such as --sectors 8"]),
        (&["--closed-loop", "4", "--reads", "101"], &["from 0 to 100"]),
        (&["--closed-loop", "4", "--commands", "0"], &["such as --commands 20000"]),
        (&["--closed-loop", "4", "--range", "5%"], &["such as 0%..5% or 0..2048"]),
        (
            &["--closed-loop", "4", "--range", "0..4"],
            &["0..4", "4 sectors cannot hold a command of 8"],
        ),
        (&["--closed-loop", "4", "--range", "50%..20%"], &["--range 50%..20%", "a wider range"]),
        (
            &["--closed-loop", "4", "--range", "0..286749488"],
            &["the last sector of", "is 286749486", "100%"],
        ),
    ] {
        folder.strewn(&[&["spindle", CHEETAH], words].concat()).refused(says);
    }
    assert_eq!(folder.contents(), before);
    folder.strewn(&["spindle"]).refused(&["<PROFILE>"]);
    let help = folder.strewn(&["spindle", "--help"]).succeeded();
    assert!(help.contains("Exit codes:") && help.contains("c-look"), "{help}");
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let folder = Folder::new();
    folder.write("trace.csv", &trace());
    for words in
        [&["spindle", CHEETAH][..], &["spindle", CHEETAH, "--replay", "trace.csv", "--out", "-"]]
    {
        let mut command = folder.command(words);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""), "{words:?}");
    }
}
