use crate::fixture;
use strewn_report::{ChartStyle, CompareError, Metric, Results, compare_runs, runs_chart};

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
    let tables = compared.tables();
    assert!(tables.contains("+10.0") && tables.lines().all(|line| line.len() <= 160), "{tables}");
    assert_eq!(compared.csv().lines().count(), 1 + 14 + 14 + 14 + 4);
    let json = compared.to_json_string().unwrap();
    assert_eq!(serde_json::from_str::<strewn_report::RunsComparison>(&json).unwrap(), compared);
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
    assert!(compared.csv().contains("b,EVA4400,1,"), "{}", compared.csv());
    let json = compared.to_json_string().unwrap();
    assert_eq!(serde_json::from_str::<strewn_report::RunsComparison>(&json).unwrap(), compared);
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
    let mix = |read_percent: f64| strewn_report::HostLoad {
        file_bytes: 1 << 30,
        accesses: Some(strewn_report::AccessMix {
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
    let tables = compare_runs(&runs).unwrap().tables();
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
