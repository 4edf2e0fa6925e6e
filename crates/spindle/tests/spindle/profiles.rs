//! Profiles that load, and the field that each broken one names.

use strewn_spindle::{
    Command, Direction, Drive, Profile, ProfileError, Provenance, TICKS_PER_REVOLUTION, Track,
};

fn cheetah() -> Profile {
    Profile::shipped("seagate-cheetah-15k5-st3146855fc").unwrap()
}

#[test]
fn every_shipped_profile_loads_under_its_own_name() {
    for name in Profile::shipped_names() {
        let profile = Profile::shipped(name).unwrap();
        assert_eq!(profile.name, name);
        assert_eq!(Drive::new(&profile).unwrap().capacity_sectors(), profile.capacity_sectors);
    }
    assert_eq!(Profile::shipped("no-such-drive"), None);
}

/// Each case: a name, how to break the Cheetah's profile, the field that is then wrong.
macro_rules! broken {
    ($($name:ident: $break:expr => $field:literal;)*) => {$(
        #[test]
        fn $name() {
            let mut profile = cheetah();
            let breaks: fn(&mut Profile) = $break;
            breaks(&mut profile);
            match Drive::new(&profile) {
                Err(ProfileError::Invalid { field, .. }) => assert_eq!(field, $field),
                other => panic!("{:?}", other.map(|drive| drive.name().to_owned())),
            }
        }
    )*};
}

broken! {
    a_drive_that_stands_still: |drive| drive.rpm = 0 => "rpm";
    no_heads: |drive| drive.heads = 0 => "heads";
    no_band: |drive| drive.band_cylinders = 0 => "band_cylinders";
    no_capacity: |drive| drive.capacity_sectors = 0 => "capacity_sectors";
    more_than_fits: |drive| drive.capacity_sectors += 2_000_000 => "capacity_sectors";
    less_than_its_zones: |drive| drive.capacity_sectors = 1_000_000 => "zone[1].first_lba";
    a_negative_delay: |drive| drive.head_switch_ms = -0.1 => "head_switch_ms";
    no_number: |drive| drive.overhead_ms.write_after_read = f64::NAN
        => "overhead_ms.write_after_read";
    no_seeks: |drive| drive.seek.clear() => "seek";
    no_shortest_seek: |drive| drive.seek[0].0 = 0 => "seek[0]";
    a_seek_curve_that_falls: |drive| drive.seek[300].1 = 1.0 => "seek[300]";
    seeks_out_of_order: |drive| drive.seek[7].0 = 3 => "seek[7]";
    no_zones: |drive| drive.zones.clear() => "zone";
    zones_that_overlap: |drive| drive.zones[1].first_cylinder -= 1 => "zone[1].first_cylinder";
    a_hole_between_zones: |drive| drive.zones[1].first_cylinder += 1 => "zone[1].first_cylinder";
    a_zone_inside_out: |drive| drive.zones[2].last_cylinder = 0 => "zone[2].last_cylinder";
    a_zone_too_full: |drive| drive.zones[3].first_lba += 1_000_000 => "zone[3].first_lba";
    no_sectors: |drive| drive.zones[0].sectors_per_track = 0 => "zone[0].sectors_per_track";
    a_skew_too_few: |drive| drive.zones[4].track_skew_rev.truncate(7) => "zone[4].track_skew_rev";
    a_skew_of_a_turn: |drive| drive.zones[4].turn_skew_rev[1] = 1.0 => "zone[4].turn_skew_rev";
    slips_out_of_order: |drive| drive.zones[0].slips.swap(0, 1) => "zone[0].slips[1]";
}

#[test]
fn unknown_fields_and_bad_toml_name_the_place() {
    for text in ["rpm = 15000\nrmp = 2\n", "rpm = \n"] {
        let error = Profile::from_toml(text, "my.toml").unwrap_err();
        assert!(error.to_string().contains("my.toml"), "{error}");
        assert!(matches!(error, ProfileError::Parse { .. }));
    }
    let error = Profile::from_path("no/such/file.toml".as_ref()).unwrap_err();
    assert!(error.to_string().contains("no/such/file.toml"));
}

#[test]
fn every_shipped_profile_says_where_each_number_comes_from() {
    for name in Profile::shipped_names() {
        let profile = Profile::shipped(name).unwrap();
        let given: Vec<&str> = profile.provenance.keys().map(String::as_str).collect();
        let mut numbers: Vec<&str> = profile.numbers().collect();
        numbers.sort_unstable();
        assert_eq!(given, numbers, "{name}");
    }
}

#[test]
fn a_number_without_provenance_is_named_with_what_to_write() {
    for number in cheetah().numbers() {
        let mut profile = cheetah();
        profile.provenance.remove(number);
        let message = profile.validate().unwrap_err().to_string();
        let remedy = format!("write {number} = {{ measured =");
        assert!(message.contains(&format!("provenance.{number}: ")), "{message}");
        assert!(message.contains(&remedy), "{message}");
        profile.provenance.insert(number.to_owned(), Provenance::Published(" ".to_owned()));
        assert!(profile.validate().is_err(), "{number} may say nothing");
    }
}

/// The table `provenance` of the 15K.4 replaced by these lines.
fn with_sources(lines: &str) -> Result<Profile, ProfileError> {
    let text = include_str!("../../profiles/seagate-cheetah-15k4-st3146854fc.toml");
    let (before, _) = text.split_once("[provenance]").unwrap();
    Profile::from_toml(&format!("{before}[provenance]\n{lines}"), "mine.toml")
}

#[test]
fn one_source_stands_for_all_that_is_not_said_otherwise() {
    let lines = "default = { published = \"the manual\" }\nheads = { assumed = \"one\" }";
    let profile = with_sources(lines).unwrap();
    let manual = Provenance::Published("the manual".to_owned());
    for number in profile.numbers().filter(|number| *number != "heads") {
        assert_eq!(profile.source(number), Some(&manual), "{number}");
    }
    assert_eq!(profile.source("heads"), Some(&Provenance::Assumed("one".to_owned())));
    assert!(with_sources("default = { published = \"\" }").is_err(), "it may not be empty");
}

#[test]
fn all_that_is_wrong_with_the_sources_is_said_at_once() {
    let lines = "rpm = \"label\"\nheads = { heard = \"x\" }\nsector_byte = { assumed = \"x\" }\n\
                 seek_ms = { published = \" \" }\nmood = { assumed = \"good\" }";
    let Err(ProfileError::Provenance { profile, faults }) = with_sources(lines) else {
        panic!("accepted, or one fault at a time");
    };
    assert_eq!(profile, "seagate-cheetah-15k4-st3146854fc");
    let fields: Vec<&str> = faults.iter().map(|fault| fault.field.as_str()).collect();
    let missing = "provenance.sector_bytes, provenance.capacity_sectors, provenance.band_cylinders, \
                   provenance.head_switch_ms, provenance.write_settle_ms, provenance.zero_latency, \
                   provenance.overhead_ms, provenance.zones, provenance.sectors_per_track, provenance.bus_mb_per_s, \
                   provenance.cache";
    let wrong =
        ["heads", "mood", "rpm", "sector_byte", "seek_ms"].map(|it| format!("provenance.{it}"));
    assert_eq!(fields[0], missing);
    assert_eq!(fields[1..], wrong);
    assert!(faults[0].reason.contains("default = { published"), "{}", faults[0]);
    assert!(faults[4].reason.contains("did you mean sector_bytes?"), "{}", faults[4]);
    // As from a file, from a profile in code.
    let mut profile = cheetah();
    profile.provenance.retain(|number, _| number != "rpm");
    profile.provenance.insert("mood".to_owned(), Provenance::Assumed("good".to_owned()));
    assert!(
        matches!(profile.validate(), Err(ProfileError::Provenance { faults, .. }) if faults.len() == 2)
    );
}

#[test]
fn an_outline_and_what_it_stands_for_are_not_both_given() {
    let text = include_str!("../../profiles/seagate-cheetah-15k4-st3146854fc.toml");
    let text = format!("seek = [[1, 0.5]]\n{text}");
    let error = Profile::from_toml(&text, "both.toml").unwrap_err().to_string();
    assert!(error.contains("outline: stands in place of seek and zone"), "{error}");
}

/// Each case: a name, what to replace in the outline of the 15K.4, by what, and the field that is
/// then wrong.
macro_rules! broken_outline {
    ($($name:ident: $from:literal => $to:literal, $field:literal;)*) => {$(
        #[test]
        fn $name() {
            let text = include_str!("../../profiles/seagate-cheetah-15k4-st3146854fc.toml");
            assert!(text.contains($from));
            match Profile::from_toml(&text.replacen($from, $to, 1), "broken.toml") {
                Err(ProfileError::Invalid { field, .. }) => assert_eq!(field, $field),
                other => panic!("{other:?}"),
            }
        }
    )*};
}

broken_outline! {
    an_outline_without_zones: "zones = 16" => "zones = 0", "outline.zones";
    an_outline_of_no_heads: "heads = 8" => "heads = 0", "heads";
    an_outline_that_stands_still: "rpm = 15000" => "rpm = 0", "rpm";
    tracks_longer_inside: "[750, 453]" => "[453, 750]", "outline.sectors_per_track";
    a_mean_seek_past_the_longest: "average = 3.5" => "average = 8.5", "outline.seek_ms";
    a_seek_that_is_no_number: "full_stroke = 7.0" => "full_stroke = inf", "outline.seek_ms.full_stroke";
    more_cylinders_than_any_drive: "[750, 453]" => "[2, 2]", "capacity_sectors";
    a_sector_of_a_strange_size: "sector_bytes = 512" => "sector_bytes = 513", "sector_bytes";
    a_number_from_nowhere: "zero_latency = {" => "# {", "provenance.zero_latency";
    a_source_of_no_kind: "rpm = { published" => "rpm = { rumoured", "provenance.rpm";
    a_source_that_is_a_word: "rpm = { published = \"the drive's name\" }" => "rpm = \"its name\"", "provenance.rpm";
    provenance_of_no_number: "[provenance]" => "[provenance]\nmood = { inferred = \"x\" }",
        "provenance.mood";
    provenance_of_nothing: "{ published = \"the drive's name\" }" => "{ published = \"\" }",
        "provenance.rpm";
    a_cache_of_no_segments: "segments = 16" => "segments = 0", "cache.segments";
    a_bus_that_stands_still: "bus_mb_per_s = 200" => "bus_mb_per_s = 0", "bus_mb_per_s";
}

#[test]
fn an_outline_seeks_as_its_data_sheet_says() {
    for (name, seeks_ms) in [
        ("seagate-cheetah-15k4-st3146854fc", [0.2, 3.5, 7.0]),
        ("seagate-cheetah-15k7-st3450857ss", [0.2, 3.4, 6.6]),
        ("nearline-7200-16tb", [0.4, 8.0, 15.0]),
        ("seagate-barracuda-es2-st3500320ns", [0.8, 8.5, 17.0]),
        ("seagate-cheetah-10k7-st3146707fc", [0.2, 4.7, 10.0]),
        ("seagate-savvio-10k3-st9300603ss", [0.3, 3.8, 7.81]),
        ("seagate-savvio-10k4-st9600204ss", [0.3, 3.8, 7.81]),
        ("seagate-constellation-es3-st4000nm0023", [0.4, 8.2, 16.4]),
        ("wd-ultrastar-dc-hc310-hus726t6tale6l4", [0.23, 7.4, 14.8]),
        ("toshiba-mg10-mg10aca20te", [0.4, 8.0, 15.0]),
    ] {
        let drive = Drive::new(&Profile::shipped(name).unwrap()).unwrap();
        let stroke = drive.cylinders() - 1;
        for (cylinders, ms) in [1, stroke / 3, stroke].into_iter().zip(seeks_ms) {
            let ticks = drive.seek_ticks(Track::new(0, 0), Track::new(cylinders, 0));
            let seek_ms = drive.rotation().ns(u64::from(ticks)) as f64 / 1e6;
            assert!((seek_ms - ms).abs() < 0.02 * ms, "{name}: {seek_ms} ms, not {ms}");
        }
    }
}

/// Drives whose tracks were derived from sustained rates read at those, from the outermost and the innermost tracks.
#[test]
fn an_outline_reads_at_the_rates_of_its_data_sheet() {
    for (name, outer, inner) in [
        ("seagate-savvio-10k3-st9300603ss", 124.0, 67.0),
        ("seagate-savvio-10k4-st9600204ss", 135.0, 72.0),
        ("seagate-constellation-es3-st4000nm0023", 175.0, 83.0),
        ("wd-ultrastar-dc-hc310-hus726t6tale6l4", 255.0, 0.48 * 255.0),
        ("toshiba-mg10-mg10aca20te", 281.0, 0.48 * 281.0),
    ] {
        let drive = Drive::new(&Profile::shipped(name).unwrap()).unwrap();
        let sectors = 100_000_000 / u64::from(drive.sector_bytes());
        for (lba, said) in [(0, outer), (drive.capacity_sectors() - sectors, inner)] {
            let read = Command { lba, sectors: sectors as u32, direction: Direction::Read };
            let ticks = drive.transfer(&read).unwrap().ticks;
            let bytes = sectors as f64 * f64::from(drive.sector_bytes());
            let mb_per_s = bytes * 1e3 / drive.rotation().ns(ticks) as f64;
            assert!((mb_per_s / said - 1.0).abs() < 0.01, "{name}: {mb_per_s} MB/s, not {said}");
        }
    }
}

#[test]
fn reading_an_outline_in_order_keeps_most_of_its_rate() {
    for name in Profile::shipped_names() {
        let profile = Profile::shipped(name).unwrap();
        let drive = Drive::new(&profile).unwrap();
        let tracks = 100;
        let sectors = profile.zones[0].sectors_per_track * tracks;
        let read = Command { lba: 0, sectors, direction: Direction::Read };
        let ticks = drive.transfer(&read).unwrap().ticks;
        let turns = ticks as f64 / f64::from(TICKS_PER_REVOLUTION);
        let share = f64::from(tracks) / turns;
        println!("{name}: {:.0} % of the media rate", 100.0 * share);
        assert!(share > 0.7, "{name}: {share}");
    }
}
