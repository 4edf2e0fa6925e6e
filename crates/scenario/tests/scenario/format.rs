//! The on-disk format of an array, and the log that comes with it.

use crate::common::{GOOD, NAME, changed, error_of, good, in_place, refusal};
use strewn_scenario::{Format, InPlace, NoFiles, Scenario, SettingValue};

/// Returns the good scenario with both arrays in the durable format, and `in_place` among the keys of the second.
fn durable(in_place: &str) -> String {
    GOOD.replace("[array.write_anywhere]", "[array.write_anywhere]\nformat = \"durable\"")
        .replace("[array.in_place]", &format!("[array.in_place]\nformat = \"durable\"\n{in_place}"))
        .replace("lun = \"500 GB\"", "lun = \"465 GiB\"")
}

#[test]
fn an_array_is_as_it_was_in_its_time_unless_the_text_says_otherwise() {
    let scenario = good();
    let layout = scenario.arrays[0].layout.write_anywhere().unwrap();
    assert_eq!(layout.format, Format::Modelled);
    assert_eq!(in_place(&scenario).format, Format::Modelled);
    let text = durable("").replace("format = \"durable\"", "format = \"modelled\"");
    let text = text.replace("465 GiB", "500 GB");
    assert_eq!(Scenario::parse(&text, NAME).unwrap(), scenario);
}

#[test]
fn a_durable_array_in_place_has_a_log() {
    let scenario = Scenario::parse(&durable(""), NAME).unwrap();
    let layout = scenario.arrays[0].layout.write_anywhere().unwrap();
    assert_eq!((layout.format, layout.log_record_header_bytes), (Format::Durable, 160));
    let layout = in_place(&scenario);
    assert_eq!(layout.format, Format::Durable);
    assert_eq!((layout.log_half_bytes, layout.log_record_header_bytes), (64 << 20, 4160));

    let text = durable("log_half = \"16 MiB\"\nlog_record_header = \"64 B\"");
    let scenario = Scenario::parse(&text, NAME).unwrap();
    let layout = in_place(&scenario);
    assert_eq!((layout.log_half_bytes, layout.log_record_header_bytes), (16 << 20, 64));
    assert_eq!(Scenario::parse(&scenario.to_toml().unwrap(), NAME).unwrap(), scenario);

    let (smaller, changes) = scenario.scaled_down(16);
    assert_eq!(in_place(&smaller).log_half_bytes, 4 << 20);
    assert!(changes.contains(&"log half of inplace 16 MiB -> 4 MiB".to_owned()), "{changes:?}");
}

/// The presets of a controller have the same log.
#[test]
fn a_controller_can_have_either_format() {
    let array =
        "[[array]]\nname = \"eva\"\ncontroller = \"eva4400\"\noutstanding = 8\nlun = \"128 GiB\"\n";
    let head = GOOD.split("[[array]]").next().unwrap();
    let modelled = Scenario::parse(&format!("{head}{array}"), NAME).unwrap();
    let text = format!("{head}{array}[array.in_place]\nformat = \"durable\"\n");
    let mut durable = Scenario::parse(&text, NAME).unwrap();
    let layout = durable.arrays[0].layout.get_mut::<InPlace>().unwrap();
    assert_eq!((layout.log_half_bytes, layout.log_record_header_bytes), (64 << 20, 4160));
    layout.format = Format::Modelled;
    assert_eq!(durable, modelled);
}

/// Results that were recorded when there was one format stay as they are.
#[test]
fn settings_name_a_format_only_if_it_is_not_the_usual_one() {
    let of_format = |settings: Vec<(String, SettingValue)>| -> Vec<String> {
        let settings = settings.into_iter();
        let found = settings.filter(|(name, _)| name.contains("format") || name.contains("log_"));
        found.map(|(name, value)| format!("{name} = {value}")).collect()
    };
    let logs = ["log_half = 64 MiB", "log_record_header = 160 B"]
        .map(|setting| format!("array.anywhere.write_anywhere.{setting}"));
    assert_eq!(of_format(good().settings()), logs);
    let formats = of_format(good().every_setting());
    assert_eq!(formats[0], "array.anywhere.write_anywhere.format = modelled");
    assert_eq!(formats[3..], ["array.inplace.in_place.format = modelled"]);
    let scenario = Scenario::parse(&durable(""), NAME).unwrap();
    assert_eq!(
        of_format(scenario.settings()),
        [
            "array.anywhere.write_anywhere.format = durable",
            &logs[0],
            &logs[1],
            "array.inplace.in_place.format = durable",
            "array.inplace.in_place.log_half = 64 MiB",
            "array.inplace.in_place.log_record_header = 4160 B",
        ]
    );
    assert_eq!(scenario.settings(), scenario.every_setting());
}

#[test]
fn a_durable_array_in_place_stores_whole_blocks() {
    let text = changed("layout = \"vraid-5\"", "layout = \"vraid-5\"\nformat = \"durable\"");
    assert_eq!(
        refusal(&text),
        "53 array[inplace].lun: a LUN of 500 GB is not whole blocks of 4 KiB, which the durable format stores; give a \
         multiple of 4 KiB, such as \"476837 MiB\""
    );
    let text = text.replace("500 GB", "476837 MiB");
    Scenario::parse(&text, NAME).unwrap();
    assert_eq!(
        refusal(&text.replace("chunk = \"128 KiB\"", "chunk = \"2 KiB\"")),
        "72 array[inplace].in_place.chunk: a chunk of 2 KiB is not whole blocks of 4 KiB, which the durable format \
         stores; give a power of two of at least 4 KiB"
    );
    // The array of its time takes both.
    let text = changed("chunk = \"128 KiB\"", "chunk = \"2 KiB\"");
    Scenario::parse(&text, NAME).unwrap();
}

#[test]
fn the_log_of_an_array_without_one_is_refused() {
    let text = changed(
        "write_cache = \"512 MiB\"",
        "write_cache = \"512 MiB\"\nlog_half = \"64 MB/s\"\nlog_record_header = \"64 B\"",
    );
    let error = error_of(&text);
    let fields: Vec<_> = error.problems().iter().map(|one| (one.line(), one.field())).collect();
    assert_eq!(
        fields,
        [
            (75, "array[inplace].in_place.log_half"),
            (76, "array[inplace].in_place.log_record_header")
        ]
    );
    for problem in error.problems() {
        assert!(problem.message().contains("the modelled format has no log"), "{problem}");
        assert_eq!(problem.help(), "leave it out, or give format = \"durable\"");
    }
    let too_small = durable("log_half = \"8 KiB\"");
    assert!(refusal(&too_small).ends_with("give at least 8256 B, a header and a block"));
}

fn set(settings: &[(&str, &str)]) -> Result<Scenario, String> {
    let settings: Vec<(String, String)> =
        settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    match Scenario::parse_with(GOOD, NAME, &settings, &NoFiles) {
        Ok((scenario, text)) => {
            assert_eq!(Scenario::parse(&text, NAME).unwrap(), scenario);
            Ok(scenario)
        }
        Err(error) => Err(format!("{error}; {}", error.help().unwrap_or_default())),
    }
}

#[test]
fn settings_valid_only_together_are_given_in_any_order() {
    let mut all = [
        ("in_place.format", "durable"),
        ("inplace.lun", "465 GiB"),
        ("inplace.log_half", "32 MiB"),
    ];
    for _ in 0..2 {
        assert_eq!(in_place(&set(&all).unwrap()).log_half_bytes, 32 << 20);
        all.reverse();
    }
    let error = set(&all[1..]).unwrap_err();
    assert!(
        error.starts_with("inplace.log_half=32 MiB: array[inplace].in_place.log_half the"),
        "{error}"
    );
    assert!(error.ends_with("or give format = \"durable\""), "{error}");
    // The only log there is needs no more of a name than before.
    set(&[("log_half", "32 MiB")]).unwrap();
    let error = set(&[("format", "durable")]).unwrap_err();
    assert!(error.starts_with("`format` is ambiguous"), "{error}");
}

#[test]
fn the_first_setting_that_stays_refused_is_to_blame() {
    let error = set(&[("outstandign", "3"), ("policy", "best-fit")]).unwrap_err();
    assert!(error.starts_with("there is no setting `outstandign`"), "{error}");
    for later in [("anywhere.outstanding", "3"), ("colour", "red")] {
        let error = set(&[("seed", "3"), ("policy", "best-fit"), later]).unwrap_err();
        assert!(error.starts_with("policy=best-fit: "), "{error}");
        assert!(!error.contains("outstanding") && !error.contains("colour"), "{error}");
    }
}
