//! `strewn spindle --list`, `--print` and `--from-datasheet`: profiles that ship, and profiles from data sheets.

use std::fs;

use serde_json::Value;
use strewn::results::DriveCharacterization;
use strewn::spindle::Profile;

use crate::common::{Folder, PROJECT};
use crate::spindle::CHEETAH;

#[test]
fn the_list_has_every_profile_that_ships() {
    let folder = Folder::new();
    let table = folder.strewn(&["spindle", "--list"]).succeeded();
    for part in
        ["name", "capacity", "rpm", "interface", "figures", "from", "strewn spindle --print NAME"]
    {
        assert!(table.contains(part), "no {part:?} in {table}");
    }
    assert!(table.lines().all(|line| line.len() <= 100), "{table}");
    let wide = folder.command(&["spindle", "--list"]).env("COLUMNS", "200").output().unwrap();
    let table = String::from_utf8(wide.stdout).unwrap();
    for name in Profile::shipped_names() {
        let profile = Profile::shipped(name).unwrap();
        let of_name = table.lines().filter(|line| line.contains(&format!(" {name} ")));
        let [figures, credit] = of_name.collect::<Vec<_>>()[..] else { panic!("{name}: {table}") };
        assert!(figures.contains(&profile.rpm.to_string()), "{figures}");
        assert!(credit.contains(&profile.credit), "{credit}");
    }
    let json: Value =
        serde_json::from_str(&folder.strewn(&["spindle", "--list", "--json"]).succeeded()).unwrap();
    let drives = json.as_array().unwrap();
    assert_eq!(drives.len(), Profile::shipped_names().count());
    let sources = |drive: &Value| -> u64 {
        drive["sources"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum()
    };
    for (drive, name) in drives.iter().zip(Profile::shipped_names()) {
        let profile = Profile::shipped(name).unwrap();
        assert_eq!(drive["profile"], name);
        let bytes = profile.capacity_sectors * u64::from(profile.sector_bytes);
        assert_eq!(drive["capacity_bytes"], bytes);
        assert_eq!(sources(drive), profile.numbers().count() as u64);
    }
}

#[test]
fn a_profile_is_printed_byte_for_byte_and_a_copy_of_it_runs() {
    let folder = Folder::new();
    for name in Profile::shipped_names() {
        let shipped = format!("{PROJECT}/crates/spindle/profiles/{name}.toml");
        let printed = folder.strewn(&["spindle", "--print", name]).succeeded();
        assert_eq!(printed, fs::read_to_string(shipped).unwrap(), "{name}");
    }
    let copy = folder.strewn(&["spindle", "--print", "nearline-7200-16tb"]).succeeded();
    folder.write("copy.toml", &copy.replace("rpm = 7200", "rpm = 5400"));
    let words = ["spindle", "copy.toml", "--closed-loop", "1", "--commands", "100"];
    folder.strewn(&words).succeeded();
}

#[test]
fn a_name_that_none_has_is_refused_with_the_nearest() {
    let folder = Folder::new();
    for (name, says) in [
        ("nearline-7200-16bt", "did you mean nearline-7200-16tb?"),
        ("15k6", "did you mean seagate-cheetah-15k6-st3146356fc?"),
        ("floppy", "strewn spindle --list has the names"),
        ("", "strewn spindle --list has the names"),
    ] {
        let ran = folder.strewn(&["spindle", "--print", name]);
        ran.refused(&[&format!("no profile that ships is called {name}"), says]);
    }
    folder
        .strewn(&["spindle", "nearline-7200-16bt"])
        .refused(&["did you mean nearline-7200-16tb?"]);
}

#[test]
fn nothing_else_goes_with_a_list_or_a_print() {
    let folder = Folder::new();
    let before = folder.contents();
    for alone in [&["--list"][..], &["--print", "nearline-7200-16tb"]] {
        for words in [
            &["nearline-7200-16tb"][..],
            &["--closed-loop", "4"],
            &["--replay", "trace.csv"],
            &["--fit", "/dev/null", "--out", "new.toml"],
            &["--out", "new.toml"],
            &["--scheduler", "sptf"],
            &["--depth", "4"],
            &["--cache", "on"],
            &["--sectors", "8"],
            &["--range", "0%..5%"],
            &["--reads", "50"],
            &["--commands", "5"],
            &["--seed", "1"],
        ] {
            folder.strewn(&[&["spindle"], alone, words].concat()).refused(&["cannot be used with"]);
        }
    }
    let both = ["spindle", "--list", "--print", "nearline-7200-16tb"];
    folder.strewn(&both).refused(&["cannot be used with"]);
    let json = ["spindle", "--print", "nearline-7200-16tb", "--json"];
    folder.strewn(&json).refused(&["cannot be used with"]);
    assert_eq!(folder.contents(), before);
}

const SHEET: &str =
    r#"rpm=10000 capacity="300 GB" seek="3.7 ms" outer="204 MB/s" inner="125 MB/s""#;

#[test]
fn a_data_sheet_becomes_a_profile_and_what_it_does_not_say_is_said() {
    let folder = Folder::new();
    let printed = folder.strewn(&["spindle", "--from-datasheet", SHEET]);
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    assert!(printed.stdout.contains("rpm = 10000") && printed.stdout.contains("[provenance]"));
    for part in ["assumed: heads = ", "; heads= replaces it", "full_stroke = 7.4: twice an average"]
    {
        assert!(printed.stderr.contains(part), "no {part:?} in\n{}", printed.stderr);
    }
    let sheet = format!("{SHEET} source='the makers sheet'");
    let words = ["spindle", "--from-datasheet", &sheet, "--out", "mine.toml"];
    let ran = folder.strewn(&words);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{}", ran.stderr);
    let text = folder.read("mine.toml");
    assert!(text.contains("name = \"mine\"") && text.contains("the makers sheet"), "{text}");
    // One that is there is replaced by force only.
    folder.strewn(&words).refused(&["mine.toml: is there already", "--force"]);
    let again = ["spindle", "--from-datasheet", SHEET, "--out", "mine.toml", "--force"];
    assert_eq!(folder.strewn(&again).code, Some(0));
    assert!(!folder.read("mine.toml").contains("the makers sheet"));
}

#[test]
fn a_data_sheets_drive_does_what_the_sheet_says() {
    let folder = Folder::new();
    let words = ["spindle", "--from-datasheet", SHEET, "--out", "mine.toml"];
    assert_eq!(folder.strewn(&words).code, Some(0));
    let printed = folder.strewn(&["spindle", "mine.toml", "--json"]).succeeded();
    let measured: DriveCharacterization = serde_json::from_str(&printed).unwrap();
    let drive = &measured.drives[0];
    assert_eq!((drive.rpm, drive.revolution_ms), (10_000, 6.0));
    let third = (drive.cylinders - 1) / 3;
    let near = drive.seek.iter().min_by_key(|point| point.cylinders.abs_diff(third)).unwrap();
    let rates = [drive.transfer[0].mb_per_s, drive.transfer[99].mb_per_s];
    for (found, said) in [(near.ms, 3.7), (rates[0], 204.0), (rates[1], 125.0)] {
        assert!((found / said - 1.0).abs() < 0.02, "{found}, not {said}");
    }
    // A random read takes the average seek, half a revolution and the overhead, less what the outer zones save.
    let alone = drive.by_depth.iter().find(|point| point.outstanding == 1).unwrap();
    let expected_ms = 3.7 + 3.0 + 0.15;
    assert!((alone.response_ms / expected_ms - 1.0).abs() < 0.05, "{alone:?}");
}

#[test]
fn a_scenario_runs_on_the_drive_of_a_data_sheet() {
    let folder = Folder::new();
    let words = ["spindle", "--from-datasheet", SHEET, "--out", "mine.toml"];
    assert_eq!(folder.strewn(&words).code, Some(0));
    let scenario = folder.read("small.toml").replace(CHEETAH, "mine.toml");
    assert!(scenario.contains("spindle = \"mine.toml\""), "{scenario}");
    folder.write("mine-too.toml", &scenario);
    folder.strewn(&["run", "mine-too.toml", "--out", "out"]).succeeded();
    assert!(folder.read("out/results.json").contains("\"arrays\""));
}

#[test]
fn a_scenario_runs_on_drives_of_any_size() {
    let folder = Folder::new();
    // 300 GB; 4 TB, of more than 2^32 sectors of 512 bytes; 20 TB, of more than 2^32 sectors of 4 KiB.
    for drive in [
        "seagate-savvio-10k3-st9300603ss",
        "seagate-constellation-es3-st4000nm0023",
        "toshiba-mg10-mg10aca20te",
    ] {
        folder.write("drive.toml", &folder.read("small.toml").replace(CHEETAH, drive));
        let tables = folder.strewn(&["run", "drive.toml"]).succeeded();
        assert!(tables.contains("write-anywhere") && tables.contains("in-place"), "{tables}");
    }
}

#[test]
fn a_data_sheets_mistakes_are_reported_at_once_and_nothing_is_written() {
    let folder = Folder::new();
    let before = folder.contents();
    let wrong = r#"rmp=10000 capacity="600 GB" seek="3 min" outer="125 MB/s" inner="204 MB/s""#;
    for out in [&["--out", "new.toml"][..], &[]] {
        folder.strewn(&[&["spindle", "--from-datasheet", wrong], out].concat()).refused(&[
            "--from-datasheet, character 1: no key is called \"rmp\"",
            "did you mean rpm?",
            "character 35: seek: \"min\" is no unit of it",
            "character 66: inner is 204 MB/s, and outer is 125 MB/s",
            "3 problems",
        ]);
    }
    for (words, says) in [
        (&[SHEET, "--out", "new"][..], "does not end in .toml"),
        (&[SHEET, "--out", "none/new.toml"], "there is no such directory"),
        (&[SHEET, CHEETAH], "cannot be used with"),
        (&[SHEET, "--list"], "cannot be used with"),
        (&[SHEET, "--json"], "cannot be used with"),
        (&[SHEET, "--closed-loop", "1"], "cannot be used with"),
        (&[SHEET, "--fit", "/dev/null", "--out", "new.toml"], "cannot be used with"),
        (&[SHEET, "--force"], "--out <PATH>"),
    ] {
        folder.strewn(&[&["spindle", "--from-datasheet"], words].concat()).refused(&[says]);
    }
    assert_eq!(folder.contents(), before);
}

#[test]
fn sources_may_be_one_and_their_faults_come_together() {
    let folder = Folder::new();
    let text = folder.strewn(&["spindle", "--print", "nearline-7200-16tb"]).succeeded();
    let (figures, _) = text.split_once("[provenance]").unwrap();
    let loop_of = |profile: &str| {
        folder.strewn(&["spindle", profile, "--closed-loop", "1", "--commands", "100"])
    };
    folder.write(
        "short.toml",
        &format!("{figures}[provenance]\ndefault = {{ published = \"it\" }}\n"),
    );
    let of_copy = loop_of("short.toml").succeeded();
    assert_eq!(of_copy, loop_of("nearline-7200-16tb").succeeded());
    folder.write(
        "wrong.toml",
        &format!("{figures}[provenance]\nrpm = \"label\"\nmood = {{ assumed = \"good\" }}\n"),
    );
    loop_of("wrong.toml").refused(&[
        "provenance.heads, provenance.sector_bytes",
        "default = { published",
        "provenance.rpm: is no source",
        "provenance.mood: this profile has no such number",
        "3 problems",
    ]);
}
