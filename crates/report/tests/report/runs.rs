use crate::fixture;
use strewn_report::{ChartStyle, runs_chart, runs_csv, runs_tables};
use strewn_results::{CompareError, Metric, Results, Setting, compare_runs};

#[test]
fn the_first_run_is_what_others_are_compared_with() {
    let one = fixture::results();
    let mut other = fixture::results();
    other.arrays[0].segments[2].iops *= 1.1;
    other.arrays[1].segments.truncate(4);
    other.arrays[1].outstanding = 200;
    let runs = [("one".to_owned(), &one), ("other".to_owned(), &other)];
    let compared = compare_runs(&runs).unwrap();
    let difference = |array: usize, segment: usize| {
        compared.arrays[array].segments[segment].figures[1]
            .map(|figures| figures.iops_difference_percent)
    };
    assert_eq!(difference(0, 1), Some(Some(0.0)));
    assert_eq!(difference(0, 2), Some(Some(10.0)));
    assert_eq!(difference(1, 4), None);
    let set: Vec<&str> =
        compared.arrays[1].parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    assert_eq!(set, ["outstanding"]);
    let tables = runs_tables(&compared);
    assert!(tables.contains("+10.0") && tables.lines().all(|line| line.len() <= 160), "{tables}");
    assert_eq!(runs_csv(&compared).lines().count(), 1 + 14 + 14 + 14 + 4);
    let json = compared.to_json_string().unwrap();
    assert_eq!(serde_json::from_str::<strewn_results::RunsComparison>(&json).unwrap(), compared);
}

#[test]
fn a_last_segment_of_a_moment_is_not_compared() {
    let [one, mut other] = [fixture::results(), fixture::results()];
    other.arrays.iter_mut().for_each(|array| array.segments[13].seconds = 0.01);
    let runs = [("one".to_owned(), &one), ("other".to_owned(), &other)];
    let compared = compare_runs(&runs).unwrap();
    for array in &compared.arrays {
        assert!(array.segments[13].figures[1].is_none() && array.segments[12].figures[1].is_some());
        assert!(array.verdicts[0].starts_with("In segment 13 "), "{:?}", array.verdicts);
    }
}

#[test]
fn published_figures_are_drawn_once() {
    let one = fixture::results();
    let runs = [("one".to_owned(), &one), ("other".to_owned(), &one)];
    let svg = runs_chart(&runs, Metric::Iops, ChartStyle::default()).unwrap();
    // Also in the words of the marks.
    assert_eq!(svg.matches("FAS2050, other, segment 3").count(), 1);
    assert_eq!(svg.matches("published 4,296 IOPS").count(), 1);
}

#[test]
fn of_runs_with_one_array_each_those_are_compared_whatever_they_are_called() {
    let mut one = fixture::results();
    let mut other = fixture::results();
    one.arrays.truncate(1);
    other.arrays.remove(0);
    let runs = [("a".to_owned(), &one), ("b".to_owned(), &other)];
    let compared = compare_runs(&runs).unwrap();
    let [array] = &compared.arrays[..] else { panic!() };
    assert_eq!((array.name.as_str(), array.name_in(1)), ("FAS2050, EVA4400", "EVA4400"));
    assert!(compared.left_out.is_empty());
    let set: Vec<&str> = array.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    assert!(set.contains(&"layout") && set.contains(&"outstanding"), "{set:?}");
    let difference = array.segments[0].figures[1].unwrap().iops_difference_percent.unwrap();
    assert!((difference - 21.2).abs() < 0.1, "{difference}");
    assert!(runs_csv(&compared).contains("b,EVA4400,1,"), "{}", runs_csv(&compared));
    let json = compared.to_json_string().unwrap();
    assert_eq!(serde_json::from_str::<strewn_results::RunsComparison>(&json).unwrap(), compared);
    let svg = runs_chart(&runs, Metric::Iops, ChartStyle::default()).unwrap();
    for words in ["FAS2050, a, segment 3", "EVA4400, b, segment 3"] {
        assert_eq!(svg.matches(words).count(), 1, "{words}");
    }
}

/// One run predicted what the other measured, and a different load is not a difference of the
/// arrays.
#[test]
fn a_simulation_beside_real_spindles_says_which_is_which() {
    let one = fixture::results();
    let mut other = fixture::results();
    other.published.clear();
    other.real_spindles = Some(fixture::real_spindles());
    let mix = |read_percent: f64| strewn_results::HostLoad {
        file_bytes: 1 << 30,
        written_file_bytes: None,
        accesses: Some(strewn_results::AccessMix {
            specification: "inline".to_owned(),
            mean_bytes: 4096.0,
            read_percent,
            random_percent: 100.0,
        }),
    };
    let one = Results { load: Some(mix(100.0)), ..one };
    other.load = Some(mix(0.0));
    let runs = [("one".to_owned(), &one), ("other".to_owned(), &other)];
    let svg = runs_chart(&runs, Metric::Iops, ChartStyle::default()).unwrap();
    assert!(svg.contains("simulated, predicted") && svg.contains("measured"), "{svg}");
    let tables = runs_tables(&compare_runs(&runs).unwrap());
    assert!(tables.contains("random, reads, 4 KiB; file of 1 GiB"), "{tables}");
    assert!(tables.contains("random, writes, 4 KiB; file of 1 GiB"), "{tables}");
}

#[test]
fn runs_without_a_common_array_are_refused() {
    let one = fixture::results();
    let mut other = fixture::results();
    for array in &mut other.arrays {
        array.name.push('x');
    }
    let runs = [("one".to_owned(), &one), ("other".to_owned(), &other)];
    let Err(CompareError::NothingInCommon(said)) = compare_runs(&runs) else { panic!() };
    assert_eq!(said, "one has FAS2050, EVA4400; other has FAS2050x, EVA4400x");
}

/// Returns the fixture's results with these settings, the first array named in them.
fn set(policy: &str, cache: &str, seed: u64) -> Results {
    let mut results = fixture::results();
    let text = |text: &str| Setting::Text(text.to_owned());
    results.settings = [
        ("seed", Setting::Count(seed)),
        ("title", text(&format!("seed {seed}"))),
        ("workload.file", text("100 GiB")),
        ("array.FAS2050.write_anywhere.policy", text(policy)),
        ("array.FAS2050.write_anywhere.buffer_cache", text(cache)),
        ("array.FAS2050.outstanding", Setting::Count(150)),
        ("array.EVA4400.outstanding", Setting::Count(170)),
    ]
    .map(|(name, setting)| (name.to_owned(), setting))
    .into();
    results
}

#[test]
fn every_setting_that_differs_is_shown_in_one_unit_and_the_faster_run_is_named() {
    let one = set("emptiest-area", "0.5 GiB", 1);
    let mut two = set("first-fit", "1 GiB", 2);
    two.arrays[0].segments[13].iops *= 0.9;
    let mut three = set("emptiest-area", "0.5 GiB", 1);
    three.arrays[0].segments.truncate(13);
    let runs = [("a".to_owned(), &one), ("b".to_owned(), &two), ("c".to_owned(), &three)];
    let compared = compare_runs(&runs).unwrap();
    let rows = |rows: &[strewn_results::DifferingParameter]| -> Vec<String> {
        let row = |row: &strewn_results::DifferingParameter| {
            let values: Vec<&str> =
                row.values.iter().map(|value| value.as_deref().unwrap_or("-")).collect();
            format!("{}: {}", row.name, values.join(", "))
        };
        rows.iter().map(row).collect()
    };
    assert_eq!(rows(&compared.settings), ["seed: 1, 2, 1", "title: seed 1, seed 2, seed 1"]);
    assert_eq!(
        rows(&compared.arrays[0].parameters),
        [
            "write_anywhere.buffer_cache: 0.5 GiB, 1 GiB, 0.5 GiB",
            "write_anywhere.policy: emptiest-area, first-fit, emptiest-area"
        ]
    );
    assert!(compared.arrays[1].parameters.is_empty());
    assert_eq!(
        compared.arrays[0].verdicts,
        [
            "In segment 14 b (3156 IOPS against 3507) is 10.0 % slower than a. Set differently, each a possible cause: \
             write_anywhere.buffer_cache, write_anywhere.policy, seed.",
            "In segment 13 c (3529 IOPS against 3529) is within 1 % of a. Nothing that changes figures was set differently."
        ]
    );
    let tables = runs_tables(&compared);
    for part in ["FAS2050: why", "99th percentile, ms", "FAS2050: verdict", "parity", "first-fit"] {
        assert!(tables.contains(part), "no {part:?} in\n{tables}");
    }
}

#[test]
fn runs_of_unlike_operations_have_no_verdict_by_figures() {
    let one = fixture::results();
    let mut two = fixture::results();
    let load = |bytes| strewn_results::HostLoad {
        file_bytes: 1 << 30,
        written_file_bytes: None,
        accesses: Some(strewn_results::AccessMix {
            specification: "inline".to_owned(),
            mean_bytes: bytes,
            read_percent: 50.0,
            random_percent: 100.0,
        }),
    };
    let one = Results { load: Some(load(4096.0)), ..one };
    two.load = Some(load(8192.0));
    let runs = [("a".to_owned(), &one), ("b".to_owned(), &two)];
    let compared = compare_runs(&runs).unwrap();
    let verdict = &compared.arrays[0].verdicts[0];
    assert!(verdict.starts_with("b and a have no segment with the same operations"), "{verdict}");
}

#[test]
fn a_default_in_one_run_and_nothing_in_the_other_is_no_difference() {
    let with = |settings: &[(&str, Setting)]| {
        let mut results = set("first-fit", "1 GiB", 1);
        results.settings.extend(settings.iter().map(|(name, setting)| {
            (format!("array.FAS2050.write_anywhere.{name}"), setting.clone())
        }));
        results
    };
    let text = |text: &str| Setting::Text(text.to_owned());
    let none = with(&[]);
    let scan = |per_second: &str| {
        with(&[
            ("read_reallocation", Setting::Flag(false)),
            ("relocation_reads_in_flight", Setting::Count(8)),
            ("reallocation_scan.begins", text("2 h")),
            ("reallocation_scan.per_second", text(per_second)),
            ("reallocation_scan.stretch_blocks", Setting::Count(512)),
            ("reallocation_scan.threshold", Setting::Number(4.0)),
        ])
    };
    let compare = |others: &[&Results]| {
        let runs: Vec<(String, &Results)> = (0..)
            .zip(others)
            .map(|(number, one): (u32, _)| (format!("run {number}"), *one))
            .collect();
        let compared = compare_runs(&runs).unwrap().arrays.remove(0);
        let names: Vec<String> = compared.parameters.into_iter().map(|row| row.name).collect();
        (names, compared.verdicts)
    };
    let begins = "write_anywhere.reallocation_scan.begins";
    let per_second = "write_anywhere.reallocation_scan.per_second";
    for runs in [[&none, &scan("20 MiB")], [&scan("20 MiB"), &none]] {
        let (names, verdicts) = compare(&runs);
        assert_eq!(names, [begins]);
        assert!(verdicts[0].ends_with(&format!("Set differently: {begins}.")), "{verdicts:?}");
    }
    // A third run with another rate: it has a cause more than the second.
    let (names, verdicts) = compare(&[&none, &scan("20 MiB"), &scan("40 MiB")]);
    assert_eq!(names, [begins, per_second]);
    assert!(verdicts[0].ends_with(&format!("Set differently: {begins}.")), "{verdicts:?}");
    assert!(verdicts[1].ends_with(&format!("cause: {begins}, {per_second}.")), "{verdicts:?}");
    let switched = with(&[("read_reallocation", Setting::Flag(true))]);
    let (names, _) = compare(&[&none, &switched]);
    assert_eq!(names, ["write_anywhere.read_reallocation"]);
}
