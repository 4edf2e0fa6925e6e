//! Settings changed by name in a text that a person wrote.

use std::path::PathBuf;

use strewn_scenario::{NoFiles, Origin, Scenario, SetError, SettingValue};

use crate::common::{GOOD, NAME, good};

/// Returns `text` with one setting changed or removed.
fn edited(scenario: &Scenario, text: &str, setting: &str, value: Option<&str>) -> String {
    scenario.edited(text, &[(setting.to_owned(), value.map(str::to_owned))]).unwrap()
}

/// Returns the lines of a text that another does not have at the same place, after those that both begin with.
fn differing<'t>(one: &'t str, other: &str) -> Vec<&'t str> {
    let same_begin = one.lines().zip(other.lines()).take_while(|(one, other)| one == other).count();
    let rest = |text: &'t str| text.lines().skip(same_begin).collect::<Vec<_>>();
    let (one, other) = (rest(one), other.lines().skip(same_begin).collect::<Vec<_>>());
    let ends = one.iter().rev().zip(other.iter().rev());
    let same_end = ends.take_while(|(one, other)| one == other).count();
    one[..one.len() - same_end].to_vec()
}

fn parse(text: &str) -> Scenario {
    Scenario::parse(text, NAME).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn everything_but_the_value_stays() {
    let windows = GOOD.replace('\n', "\r\n");
    let marked = format!("\u{feff}{GOOD}");
    for text in [GOOD, &windows, &marked] {
        for (setting, value, from, to) in [
            ("anywhere.host_operation", "80 us", "\"76 us\"", "\"80 us\""),
            ("anywhere.commands_per_spindle", "9", "spindle = 8 ", "spindle = 9 "),
            ("in_place.write_cache", "'256 MiB'", "\"512 MiB\"", "'256 MiB'"),
            ("seed", "0x10", "seed = 7", "seed = 0x10"),
        ] {
            assert_eq!(text.matches(from).count(), 1, "{from}");
            let expected = text.replacen(from, to, 1);
            assert_eq!(edited(&good(), text, setting, Some(value)), expected);
            let settings = [(setting.to_owned(), value.to_owned())];
            let (set, changed) = Scenario::parse_with(text, NAME, &settings, &NoFiles).unwrap();
            assert_eq!(changed, expected);
            assert_eq!(parse(&changed), set);
        }
    }
}

/// Every setting of every scenario that ships, set to what it is.
#[test]
fn a_setting_set_to_its_own_value_changes_nothing() {
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "..", "scenarios"].iter().collect();
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.display().to_string();
        if !name.ends_with(".toml") || name.ends_with(".published.toml") || name.contains(".sens") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let scenario = Scenario::parse(&text, &path).unwrap();
        let all: Vec<(String, Option<String>)> = scenario
            .every_setting()
            .into_iter()
            // A file of published figures is written as a path from the scenario's folder.
            .filter(|(setting, _)| setting != "published")
            .map(|(setting, value)| (setting, Some(written(&value))))
            .collect();
        let origins = scenario.origins();
        let reads_the_same = |text: &str, setting: &str| {
            let again = Scenario::parse(text, &path);
            let again = again.unwrap_or_else(|error| panic!("{name}, {setting}: {error}\n{text}"));
            assert_eq!(again, scenario, "{name}, {setting}\n{text}");
        };
        // Each takes a while, and there are thousands; all at once are below.
        for setting in all.iter().step_by(1 + all.len() / 12) {
            let changed = scenario.edited(&text, std::slice::from_ref(setting)).unwrap();
            let comments = |text: &str| -> Vec<String> {
                text.lines().filter_map(|line| Some(line.split_once('#')?.1.to_owned())).collect()
            };
            assert_eq!(comments(&changed), comments(&text), "{name}, {}", setting.0);
            // A list may take several lines, and comments between them.
            let is_list = setting.1.as_ref().is_some_and(|value| value.starts_with('['));
            let is_given = matches!(origins[&setting.0], Origin::Scenario | Origin::Fitted);
            if is_given && !is_list {
                assert_eq!(changed.lines().count(), text.lines().count(), "{name}, {}", setting.0);
            }
            reads_the_same(&changed, &setting.0);
            seen += 1;
        }
        reads_the_same(&scenario.edited(&text, &all).unwrap(), "all");
    }
    assert!(seen > 100, "{seen}");
}

fn written(value: &SettingValue) -> String {
    match value {
        SettingValue::Text(text) => format!("{text:?}"),
        SettingValue::List(values) => {
            format!("[{}]", values.iter().map(written).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// What is not given yet is added where it belongs, and goes again with its table.
#[test]
fn what_is_added_can_be_removed() {
    for (setting, value, added) in [
        ("anywhere.rebuild_steps_in_flight", "3", vec!["rebuild_steps_in_flight = 3"]),
        ("freed_block", "1 us", vec!["freed_block = \"1 us\""]),
        (
            "cleaning.blocks_per_checkpoint",
            "100",
            vec!["", "[array.write_anywhere.cleaning]", "blocks_per_checkpoint = 100"],
        ),
        ("anywhere.cores", "2", vec!["cores = 2"]),
        ("workload.offset", "1 GiB", vec!["offset = \"1 GiB\""]),
    ] {
        let text = edited(&good(), GOOD, setting, Some(value));
        let lines: Vec<&str> = differing(&text, GOOD).into_iter().collect();
        let (mut lines, mut expected) = (lines, added);
        lines.retain(|line| !line.is_empty());
        expected.retain(|line| !line.is_empty());
        assert_eq!(lines, expected, "{setting}\n{text}");
        assert_eq!(edited(&good(), &text, setting, None), GOOD, "{setting}");
        // To remove what is not there changes nothing.
        assert_eq!(edited(&good(), GOOD, setting, None), GOOD, "{setting}");
    }
}

/// In braces, with dotted keys, and in lists of either kind.
#[test]
fn however_tables_are_written() {
    let scenario = good();
    let text = "array = [\n  { name = 'anywhere', processor.per_kib = '1 us' }, # one\n  \
                { name = 'inplace', \"processor\" = { per_kib = '2us' } }\n]\n";
    for (setting, value, from, to) in [
        ("anywhere.per_kib", Some("3 us"), "'1 us'", "\"3 us\""),
        ("inplace.per_kib", Some("3 us"), "'2us'", "\"3 us\""),
        ("anywhere.scheduler", Some("fifo"), "'1 us' }", "'1 us', scheduler = \"fifo\" }"),
        ("inplace.host_operation", Some("3 us"), "'2us' }", "'2us', host_operation = \"3 us\" }"),
        (
            "anywhere.host_operation",
            Some("3 us"),
            "'1 us' }",
            "'1 us', processor.host_operation = \"3 us\" }",
        ),
        ("anywhere.per_kib", None, ", processor.per_kib = '1 us'", ""),
        ("inplace.per_kib", None, ", \"processor\" = { per_kib = '2us' }", ""),
        (
            "write_anywhere.parity",
            Some("raid-dp"),
            "'1 us' }",
            "'1 us', write_anywhere = { parity = \"raid-dp\" } }",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        let changed = edited(&scenario, text, setting, value);
        assert_eq!(changed, text.replacen(from, to, 1), "{setting}");
    }
    let dotted = "[[array]]\nname = 'anywhere'\n  # The costs.\n  processor.per_kib = '1 us' # one\nlun = 1\n";
    assert_eq!(
        edited(&scenario, dotted, "anywhere.host_operation", Some("3 us")),
        dotted.replace("# one\n", "# one\n  processor.host_operation = \"3 us\"\n")
    );
    assert_eq!(
        edited(&scenario, dotted, "anywhere.per_kib", None),
        "[[array]]\nname = 'anywhere'\nlun = 1\n"
    );
}

#[test]
fn comments_above_a_blank_line_outlive_a_key() {
    let text = "# What this is.\n\n# The random numbers.\nseed = 7 # any\n\nsegments = 3 # of 14\n";
    assert_eq!(edited(&good(), text, "seed", None), "# What this is.\n\nsegments = 3 # of 14\n");
    let text = "seed = 7 # any\n# The length.\nsegments = 3";
    assert_eq!(edited(&good(), text, "segments", None), "seed = 7 # any");
}

/// Entries of lists are counted from 1, and the next one is made.
#[test]
fn entries_of_lists() {
    const STREAMS: &str = include_str!("../../../../scenarios/consolidation.toml");
    let scenario = Scenario::parse(STREAMS, "scenarios/consolidation.toml").unwrap();
    let total = edited(&scenario, STREAMS, "workload.1.total", Some("1 GiB"));
    assert_eq!(differing(&total, STREAMS), ["total = \"1 GiB\""]);
    assert_eq!(edited(&scenario, &total, "workload.1.total", None), STREAMS);
}

#[test]
fn what_cannot_be_edited() {
    let scenario = good();
    let edit = |text: &str, setting: &str| {
        scenario.edited(text, &[(setting.to_owned(), Some("1".to_owned()))])
    };
    let error = edit("seed = ?", "seed").unwrap_err();
    let SetError::Scenario(error) = error else { panic!("{error}") };
    assert_eq!((error.problems()[0].line(), error.problems()[0].column()), (1, 8));
    assert!(matches!(edit(GOOD, "sead"), Err(SetError::Unknown { .. })));
    assert!(matches!(edit(GOOD, "per_kib"), Err(SetError::Ambiguous { .. })));
    // The text has no such array.
    assert!(matches!(edit("seed = 1", "anywhere.per_kib"), Err(SetError::Unknown { .. })));
    // Neither text need be a scenario.
    assert_eq!(edit("seed = \"x\"", "seed").unwrap(), "seed = 1");
}
