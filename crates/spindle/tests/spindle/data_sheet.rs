//! Profiles made from data sheets: what they give back, and what is refused.

use proptest::prelude::*;
use strewn_spindle::data_sheet::{DataSheet, DataSheetFault};
use strewn_spindle::{Command, Direction, Drive, Profile, Provenance, Track};

const SHEET: &str =
    r#"rpm=10000 capacity="600 GB" seek="3.7 ms" outer="204 MB/s" inner="125 MB/s""#;

/// Milliseconds of a read seek over a third of the stroke, and MB/s of the first and the last hundredth.
fn given_back(profile: &Profile) -> (f64, f64, f64) {
    let drive = Drive::new(profile).unwrap();
    let third = (drive.cylinders() - 1) / 3;
    let ticks = drive.seek_ticks(Track::new(0, 0), Track::new(third, 0));
    let seek_ms = drive.rotation().ns(ticks.into()) as f64 / 1e6;
    let hundredth = drive.capacity_sectors() / 100;
    let rate = |lba: u64| {
        let read = Command { lba, sectors: hundredth as u32, direction: Direction::Read };
        let ticks = drive.transfer(&read).unwrap().ticks;
        let bytes = hundredth as f64 * f64::from(drive.sector_bytes());
        bytes * 1e3 / drive.rotation().ns(ticks) as f64
    };
    (seek_ms, rate(0), rate(99 * hundredth))
}

fn faults(text: &str) -> Vec<DataSheetFault> {
    match DataSheet::parse(text).and_then(|sheet| sheet.profile("mine")) {
        Ok(_) => panic!("{text} is accepted"),
        Err(error) => error.faults,
    }
}

#[test]
fn a_profile_gives_back_what_the_sheet_says() {
    for (text, seek_ms, outer, inner) in [
        (SHEET, 3.7, 204.0, 125.0),
        (
            "rpm='7.2K' capacity='4 TB' seek='8.2 ms' outer='175 MB/s' inner='83 MB/s' heads=10",
            8.2,
            175.0,
            83.0,
        ),
        (
            "rpm=15,000 capacity='146.8 GB' seek='3.5 ms' outer='125 MB/s' inner='73 MB/s' heads=4 \
             track_to_track='0.2 ms' full_stroke='6.7 ms' write_seek='4.0 ms' interface='4 Gb/s' cache='16 MB'",
            3.5,
            125.0,
            73.0,
        ),
        (
            "rpm=5400 capacity='12 TiB' seek='12 ms' outer='180 MiB/s' inner='80 MiB/s' sector=4096",
            12.0,
            188.7,
            83.9,
        ),
    ] {
        let made = DataSheet::parse(text).unwrap().profile("mine").unwrap();
        let found = given_back(&made.profile);
        println!("{text}\n{found:?}");
        for (found, said) in [(found.0, seek_ms), (found.1, outer), (found.2, inner)] {
            assert!((found / said - 1.0).abs() < 0.02, "{found}, not {said}, from {text}");
        }
        assert_eq!(Profile::from_toml(&made.toml, "mine").unwrap(), made.profile);
    }
}

#[test]
fn every_figure_says_whether_the_sheet_has_it() {
    let made = DataSheet::parse(SHEET).unwrap().profile("mine").unwrap();
    let profile = &made.profile;
    assert!(matches!(profile.source("rpm"), Some(Provenance::Published(_))));
    for number in ["heads", "sector_bytes", "seek_ms", "overhead_ms", "zones", "write_settle_ms"] {
        assert!(matches!(profile.source(number), Some(Provenance::Assumed(_))), "{number}");
    }
    for number in ["capacity_sectors", "sectors_per_track"] {
        assert!(matches!(profile.source(number), Some(Provenance::Derived(_))), "{number}");
    }
    let assumed: Vec<&str> = made.assumptions.iter().map(|assumed| assumed.figure).collect();
    assert!(assumed.contains(&"heads") && assumed.contains(&"outline.seek_ms.full_stroke"));
    let heads = made.assumptions.iter().find(|assumed| assumed.figure == "heads").unwrap();
    assert!(heads.to_string().ends_with("; heads= replaces it"), "{heads}");

    let all = format!(
        "{SHEET} heads=6 sector=512 track_to_track='0.3 ms' full_stroke='7.8 ms' write_seek='4.4 ms' \
         interface='6 Gb/s' cache='16 MB' source='a sheet'"
    );
    let made = DataSheet::parse(&all).unwrap().profile("mine").unwrap();
    let profile = &made.profile;
    let sheet = Provenance::Published("a sheet".to_owned());
    for number in ["rpm", "heads", "sector_bytes", "seek_ms", "bus_mb_per_s"] {
        assert_eq!(profile.source(number), Some(&sheet), "{number}");
    }
    assert_eq!((profile.heads, profile.bus_mb_per_s), (6, Some(600.0)));
    assert_eq!(profile.capacity_sectors * 512 % 4096, 0);
    assert!((profile.write_settle_ms - 0.7).abs() < 1e-9);
    assert!(profile.cache.is_some());
    assert!(profile.credit.ends_with("a sheet"));
    let keys: Vec<_> = made.assumptions.iter().filter_map(|assumed| assumed.key).collect();
    assert_eq!(keys, [""; 0], "nothing is left to give");
}

#[test]
fn all_mistakes_are_reported_at_once_with_place_and_remedy() {
    let text = "rmp=10000 capacity='600 GB' capacity='1 TB' seek='3 min' outer='125 MB/s' inner='204 MB/s' heads=0 \
                sector=600 interface=6 cache";
    let found = faults(text);
    let said: Vec<(usize, &str)> =
        found.iter().map(|fault| (fault.column, fault.message.as_str())).collect();
    let place = |part: &str| text.find(part).unwrap() + 1;
    assert_eq!(
        said,
        [
            (1, "no key is called \"rmp\""),
            (place("capacity='1 TB'"), "a second capacity"),
            (place("3 min"), "seek: \"min\" is no unit of it; the units are ms, us, µs, s"),
            (place("204 MB/s"), "inner is 204 MB/s, and outer is 125 MB/s"),
            (place("0 sector"), "heads: 0 is impossible"),
            (place("600 interface"), "sector: 600 is impossible"),
            (place("6 cache"), "interface: 6 has no unit"),
            (text.len() - 4, "cache has no value"),
        ]
    );
    assert_eq!(found[0].remedy, "did you mean rpm?");
    let nothing = faults("");
    assert_eq!(nothing.len(), 5, "{nothing:#?}");
    assert!(nothing.iter().all(|fault| fault.message.ends_with("is missing")));
    assert!(found.iter().all(|fault| !fault.remedy.is_empty()));
}

/// What is said of the one thing that is wrong.
#[test]
fn values_that_no_drive_has_are_refused() {
    for (from, to, says) in [
        ("rpm=10000", "rpm=0", "rpm: 0 is impossible"),
        ("rpm=10000", "rpm=-1", "rpm: -1 is impossible"),
        ("rpm=10000", "rpm=fast", "rpm: \"fast\" is no number"),
        ("rpm=10000", "rpm=7,2", "rpm: \"7,2\" is no number"),
        ("rpm=10000", "rpm=", "rpm: \"\" is no number"),
        ("rpm=10000", "rpm=10000 colour=red", "no key is called \"colour\""),
        ("3.7 ms", "120 s", "seek: 120 s is impossible"),
        ("3.7 ms", "0 ms", "seek: 0 ms is impossible"),
        ("3.7 ms", "3.7", "seek: 3.7 has no unit"),
        ("600 GB", "600 Gb", "capacity: \"Gb\" is no unit of it"),
        ("600 GB", "0 GB", "capacity: 0 GB is impossible"),
        ("600 GB", "1000 TB", "capacity: 244140625000 sectors are more than"),
        ("600 GB", "2000 TB", "capacity: "),
        ("600 GB\"", "600 GB", "capacity: the quotation mark is not closed"),
        ("125 MB/s\"", "125 MB/s", "inner: the quotation mark is not closed"),
        ("125 MB/s\"", "300 MB/s\"", "inner is 300 MB/s, and outer is 204 MB/s"),
        (
            "125 MB/s\"",
            "125 MB/s\" track_to_track='5 ms'",
            "track_to_track is 5 ms, and seek is 3.7 ms",
        ),
        ("125 MB/s\"", "125 MB/s\" full_stroke='3 ms'", "seek is 3.7 ms, and full_stroke is 3 ms"),
        ("125 MB/s\"", "125 MB/s\" write_seek='3 ms'", "seek is 3.7 ms, and write_seek is 3 ms"),
        (
            "125 MB/s\"",
            "125 MB/s\" interface='1 Gb/s'",
            "outer is 204 MB/s, and interface is 100 MB/s",
        ),
        ("125 MB/s\"", "125 MB/s\" source=''", "source is empty"),
        ("125 MB/s\"", "0.1 MB/s\" sector=4096", "inner: a track would have"),
        ("204 MB/s", "90 GB/s", "outer: a track would have"),
        ("3.7 ms", "60 ms", "full_stroke is not below 100 ms"),
    ] {
        let text = SHEET.replacen(from, to, 1);
        assert_ne!(text, SHEET);
        let found = faults(&text);
        assert!(found.iter().any(|fault| fault.message.contains(says)), "{text}: {found:#?}");
        assert!(
            found.iter().all(|fault| (1..=text.len() + 1).contains(&fault.column)),
            "{found:#?}"
        );
    }
    // The rest of the line is read all the same.
    let found = faults(&SHEET.replacen("600 GB\"", "600 GB", 1).replacen("rpm", "rmp", 1));
    assert_eq!(found.len(), 2, "{found:#?}");
    // More cylinders than a profile has.
    let many = "rpm=7200 capacity='16 TB' seek='8 ms' outer='20 MB/s' inner='10 MB/s' heads=1";
    let [fault] = &faults(many)[..] else { panic!() };
    assert!(fault.message.contains("cylinders, more than"), "{fault:?}");
    assert!(fault.remedy.contains("heads="), "{fault:?}");
}

proptest! {
    #[test]
    fn any_text_is_a_sheet_or_says_why_not(text in ".{0,80}", at in 0..SHEET.len()) {
        for text in [text.clone(), format!("{}{text}{}", &SHEET[..at], &SHEET[at..])] {
            if let Ok(sheet) = DataSheet::parse(&text) {
                let _ = sheet.profile("mine");
            }
        }
    }

    #[test]
    fn any_plausible_drive_gives_back_its_figures(
        rpm in 4000..16_000_u32,
        gigabytes in 20.0..15_000.0_f64,
        seek_ms in 2.0..20.0_f64,
        outer in 40.0..300.0_f64,
        part in 0.4..1.0_f64,
    ) {
        let inner = outer * part;
        let text = format!(
            "rpm={rpm} capacity='{gigabytes} GB' seek='{seek_ms} ms' outer='{outer} MB/s' inner='{inner} MB/s'"
        );
        let made = DataSheet::parse(&text).unwrap().profile("mine");
        // Few heads of slow tracks cannot hold much.
        if let Ok(made) = made {
            let found = given_back(&made.profile);
            for (found, said) in [(found.0, seek_ms), (found.1, outer), (found.2, inner)] {
                prop_assert!((found / said - 1.0).abs() < 0.04, "{found}, not {said}, from {text}");
            }
        }
    }
}
