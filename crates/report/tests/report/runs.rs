use crate::fixture;
use strewn_report::{ChartStyle, CompareError, Metric, compare_runs, runs_chart};

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
    // In the marks' words too.
    assert_eq!(svg.matches("FAS2050, other, segment 3").count(), 1);
    assert_eq!(svg.matches("published 4,296 IOPS").count(), 1);
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
