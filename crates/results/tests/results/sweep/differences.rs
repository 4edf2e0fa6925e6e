use super::fixture::{grid, grid_sweep, iops, numbers, row, sweep_of, words};
use strewn_results::{Sweep, differences, noise_sentence};

fn two_axes() -> Sweep {
    grid_sweep(vec![
        words("redundancy", &["RAID-DP", "RAID-4"]),
        numbers("file", "GB", &[100.0, 500.0, 900.0]),
    ])
}

#[test]
fn each_value_is_compared_with_the_first_of_its_axis_all_else_being_equal() {
    let sweep = two_axes();
    // Of each array: three pairs by redundancy, four by file.
    assert_eq!(sweep.differences.len(), 2 * (3 + 4));
    let pairs = |axis: usize| -> Vec<[usize; 2]> {
        let of = sweep.differences.iter().filter(|one| one.axis == axis && one.figure == 1);
        of.map(|one| one.combinations).collect()
    };
    assert_eq!(pairs(0), [[3, 0], [4, 1], [5, 2]]);
    assert_eq!(pairs(1), [[1, 0], [2, 0], [4, 3], [5, 3]]);
}

/// A seed that moves both sides alike is no noise of their difference.
#[test]
fn differences_are_paired_by_seed() {
    let axes = vec![words("a", &["off", "on"])];
    let samples = |more: f64| vec![Some(1000.0 + more), Some(1200.0 + more), Some(800.0 + more)];
    let first = row(0, &[0], 0, None, samples(0.0));
    let other = row(1, &[1], 0, None, samples(-5.0));
    // Alone, neither could be told from the other.
    assert!(other.interval.unwrap()[1] > first.interval.unwrap()[0] + 400.0);
    let found = differences(&axes, &iops()[..1], &[first, other]);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].mean, found[0].percent), (-5.0, Some(-0.5)));
    assert_eq!(found[0].interval, Some([-5.0, -5.0]));
    assert_eq!(found[0].larger_than_noise, Some(true));
}

#[test]
fn seeds_that_one_side_lacks_count_on_neither() {
    let axes = vec![words("a", &["off", "on"])];
    let first = row(0, &[0], 0, None, vec![Some(100.0), Some(200.0), None]);
    let other = row(1, &[1], 0, None, vec![Some(110.0), None, Some(900.0)]);
    let found = differences(&axes, &iops()[..1], &[first.clone(), other]);
    assert_eq!((found[0].mean, found[0].percent), (10.0, Some(10.0)));
    assert_eq!((found[0].interval, found[0].larger_than_noise), (None, None));
    let nothing = row(1, &[1], 0, None, vec![None; 3]);
    assert_eq!(differences(&axes, &iops()[..1], &[first, nothing]), []);
}

#[test]
fn equal_figures_do_not_differ_and_zero_has_no_percentage() {
    let axes = vec![words("a", &["off", "on", "more"])];
    let rows = [
        row(0, &[0], 0, None, vec![Some(0.0); 2]),
        row(1, &[1], 0, None, vec![Some(0.0); 2]),
        row(2, &[2], 0, None, vec![Some(3.0), Some(4.0)]),
    ];
    let found = differences(&axes, &iops()[..1], &rows);
    assert_eq!((found[0].mean, found[0].larger_than_noise), (0.0, Some(false)));
    assert_eq!((found[1].mean, found[1].percent), (3.5, None));
}

#[test]
fn figures_by_segment_and_designs_without_partners_have_no_differences() {
    let axes = || vec![numbers("a", "", &[1.0, 2.0]), numbers("b", "", &[3.0, 4.0])];
    let mut by_segment = iops();
    by_segment.iter_mut().for_each(|figure| figure.by_segment = true);
    let all = grid(&axes());
    assert_eq!(sweep_of(axes(), by_segment, &all, 3).differences, []);
    let in_step = sweep_of(axes(), iops(), &[vec![0, 0], vec![1, 1]], 3);
    assert_eq!((in_step.differences.len(), noise_sentence(&in_step)), (0, None));
}

#[test]
fn a_reader_learns_how_many_differences_chance_would_make() {
    let sweep = two_axes();
    let larger = sweep.differences.iter().filter(|one| one.larger_than_noise == Some(true)).count();
    assert_eq!(
        noise_sentence(&sweep).unwrap(),
        format!(
            "{larger} of 14 differences are larger than noise; if nothing had any effect, about 1 would look so by chance \
             (5 %)."
        )
    );
    let axes = vec![words("a", &["off", "on"])];
    let all = grid(&axes);
    let one_seed = sweep_of(axes, iops(), &all, 1);
    assert_eq!((one_seed.differences.len(), noise_sentence(&one_seed)), (2, None));
}
