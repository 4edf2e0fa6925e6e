use super::fixture::{grid, grid_sweep, iops, numbers, sweep_of, words};
use super::shapes;
use strewn_report::sweep_table;
use strewn_results::MissingRun;

#[test]
fn a_few_combinations_are_listed_with_what_each_value_changes() {
    let sweep = grid_sweep(vec![
        words("redundancy", &["RAID-DP", "RAID-4"]),
        numbers("file", "GB", &[100.0, 500.0]),
    ]);
    let text = sweep_table(&sweep);
    assert!(
        text.starts_with(
            "Does it matter?\nsmall: strewn 0.1.0, seeds 1 to 3, at 1/8 of full scale\n"
        )
    );
    let lines: Vec<&str> = text.lines().collect();
    let combination = lines.iter().find(|line| line.contains("RAID-4") && line.contains("500 GB"));
    assert!(combination.unwrap().contains('±'), "{text}");
    assert!(
        lines
            .iter()
            .any(|line| line.contains("file") && line.contains("-2.") && line.ends_with("2 of 2"))
    );
    assert!(text.contains("about") || text.contains("fewer than one"), "{text}");
    assert!(lines.iter().all(|line| line.chars().count() < 120), "{text}");
}

#[test]
fn of_many_combinations_it_has_the_extremes_and_says_where_the_others_are() {
    let tens: Vec<f64> = (1..=10).map(f64::from).collect();
    let axes = vec![
        numbers("file", "GB", &tens),
        numbers("outstanding", "", &tens),
        words("layout", &["one", "two", "three", "four"]),
    ];
    let text = sweep_table(&grid_sweep(axes));
    assert!(text.contains("400 combinations; sweep.csv has the figures of each."), "{text}");
    assert!(text.contains("differences.csv has all"), "{text}");
    assert!(text.lines().count() < 70, "{}", text.lines().count());
    assert_eq!(text.matches(" highest ").count(), 2);
}

#[test]
fn one_seed_one_combination_and_no_run_are_said() {
    let axes = vec![words("a", &["off", "on"])];
    let text = sweep_table(&sweep_of(axes.clone(), iops(), &grid(&axes), 1));
    assert!(text.contains("seed 1,") && !text.contains('±'), "{text}");
    assert!(text.contains("With one seed nothing says"), "{text}");
    let text = sweep_table(&sweep_of(axes.clone(), iops(), &[vec![0]], 3));
    assert!(text.contains("FAS2050") && !text.contains("axis"), "{text}");
    let mut nothing = sweep_of(axes, iops(), &[], 3);
    let run = |seed| MissingRun { combination: 0, seed, error: Some("out of memory".to_owned()) };
    nothing.missing = (1..=7).map(run).collect();
    let text = sweep_table(&nothing);
    assert!(text.contains("No figures.\n\n7 runs are missing: failed.\n"), "{text}");
    assert!(
        text.contains("Combination 0, seed 1: out of memory") && text.ends_with("2 more failed.\n")
    );
}

#[test]
fn scattered_combinations_have_the_axes_that_matter() {
    let mut sweep = shapes::latin_hypercube();
    // The first axis alone decides the first figure: more of it is less.
    for row in sweep.rows.iter_mut().filter(|row| row.figure == 0) {
        row.mean = Some(5000.0 - 100.0 * row.at[0] as f64);
    }
    let text = sweep_table(&sweep);
    let (_, matters) = text.split_once("\nWhat matters\n").unwrap();
    // 2.145 / sqrt(14 + 2.145^2).
    assert!(
        matters.contains("Over 16 points, a rank correlation beyond ±0.50 is more than chance"),
        "{text}"
    );
    let yes: Vec<&str> = matters.lines().filter(|line| line.ends_with("yes")).collect();
    assert!(yes.len() == 1 && yes[0].starts_with(" cache "), "{text}");
    assert!(yes[0].contains(" -1.00 "), "{text}");
    assert!(!sweep_table(&shapes::one_at_a_time()).contains("What matters"));
}
