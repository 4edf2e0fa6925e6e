//! Combinations of the axes' values.

use std::collections::HashSet;

use strewn_base::Rng;

use crate::study::axis::{Axis, Level, Values};
use crate::study::{Design, Study};

/// The values of each axis, and the combinations of them, as indices into the values.
pub(crate) struct Combinations {
    pub(crate) levels: Vec<Vec<Level>>,
    pub(crate) all: Vec<Vec<usize>>,
}

/// Returns the combinations of a study, or why there are none.
pub(crate) fn combinations(study: &Study) -> Result<Combinations, String> {
    let mut levels = levels(study);
    let counts: Vec<usize> = levels.iter().map(Vec::len).collect();
    let mut all = match study.design {
        Design::Grid => grid(&counts),
        Design::OneAtATime => one_at_a_time(&counts),
        Design::Paired => paired(&counts)?,
        Design::LatinHypercube => {
            let is_drawn: Vec<bool> = study.axes.iter().map(is_drawn).collect();
            if !is_drawn.contains(&true) {
                return Err("a latin hypercube needs an axis with `from` and `to` alone".to_owned());
            }
            latin_hypercube(&counts, &is_drawn, study.drawn_points, study.design_seed)
        }
    };
    if study.design == Design::LatinHypercube {
        list_once(&mut levels, &mut all);
    }
    Ok(Combinations { levels, all })
}

/// Lists each drawn value and each combination once: whole numbers may be fewer than parts of the range.
fn list_once(levels: &mut [Vec<Level>], all: &mut Vec<Vec<usize>>) {
    for (axis, levels) in levels.iter_mut().enumerate() {
        let mut kept: Vec<Level> = Vec::new();
        let mut new_index = Vec::with_capacity(levels.len());
        for level in levels.drain(..) {
            // Drawn values ascend, and those that are listed differ.
            if kept.last().is_none_or(|last| last.label != level.label) {
                kept.push(level);
            }
            new_index.push(kept.len() - 1);
        }
        *levels = kept;
        all.iter_mut().for_each(|at| at[axis] = new_index[at[axis]]);
    }
    let mut seen = HashSet::new();
    all.retain(|at| seen.insert(at.clone()));
}

fn is_drawn(axis: &Axis) -> bool {
    matches!(axis.values, Values::Between(_))
}

/// Returns the values of each axis. Those that are drawn lie one in each of as many equal parts of the range as there
/// are points, at random within it.
fn levels(study: &Study) -> Vec<Vec<Level>> {
    let mut rng = Rng::new(study.design_seed);
    let of_axis = |axis: &Axis| match &axis.values {
        Values::Listed(levels) => levels.clone(),
        Values::Between(between) => {
            let points = study.drawn_points;
            (0..points)
                .map(|part| between.in_part(part, points, rng.unit(), axis.is_logarithmic))
                .collect()
        }
    };
    study.axes.iter().map(of_axis).collect()
}

fn grid(counts: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for count in counts {
        all = (all.into_iter())
            .flat_map(|at: Vec<usize>| {
                (0..*count).map(move |index| at.iter().copied().chain([index]).collect())
            })
            .collect();
    }
    all
}

fn one_at_a_time(counts: &[usize]) -> Vec<Vec<usize>> {
    let first = vec![0; counts.len()];
    let mut all = vec![first.clone()];
    for (axis, count) in counts.iter().enumerate() {
        all.extend((1..*count).map(|index| {
            let mut at = first.clone();
            at[axis] = index;
            at
        }));
    }
    all
}

fn paired(counts: &[usize]) -> Result<Vec<Vec<usize>>, String> {
    let first = counts.first().copied().unwrap_or(1);
    match counts.iter().find(|count| **count != first) {
        Some(other) => {
            Err(format!("axes in step need as many values each, not {first} and {other}"))
        }
        None => Ok((0..first).map(|index| vec![index; counts.len()]).collect()),
    }
}

fn latin_hypercube(
    counts: &[usize],
    is_drawn: &[bool],
    points: usize,
    seed: u64,
) -> Vec<Vec<usize>> {
    // Another stream than that of the values.
    let mut rng = Rng::new(seed ^ u64::MAX);
    let order = |rng: &mut Rng| {
        let mut order: Vec<usize> = (0..points).collect();
        for last in (1..points).rev() {
            order.swap(last, rng.below(last as u64 + 1) as usize);
        }
        order
    };
    let orders: Vec<Option<Vec<usize>>> =
        is_drawn.iter().map(|drawn| drawn.then(|| order(&mut rng))).collect();
    let crossed: Vec<usize> =
        counts.iter().zip(is_drawn).map(|(count, drawn)| if *drawn { 1 } else { *count }).collect();
    let with_point = |at: Vec<usize>| {
        let orders = &orders;
        (0..points).map(move |point| {
            let axes = at.iter().zip(orders);
            axes.map(|(index, order)| order.as_ref().map_or(*index, |order| order[point])).collect()
        })
    };
    grid(&crossed).into_iter().flat_map(with_point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_has_every_combination_once_the_last_axis_first() {
        assert_eq!(grid(&[2, 2]), [[0, 0], [0, 1], [1, 0], [1, 1]]);
        assert_eq!(grid(&[]), [Vec::<usize>::new()], "a study without axes is one combination");
    }

    #[test]
    fn one_at_a_time_varies_each_axis_beside_the_first_values() {
        assert_eq!(one_at_a_time(&[3, 2]), [[0, 0], [1, 0], [2, 0], [0, 1]]);
    }

    #[test]
    fn axes_in_step_have_as_many_values_each() {
        assert_eq!(paired(&[2, 2]), Ok(vec![vec![0, 0], vec![1, 1]]));
        assert!(paired(&[2, 3]).is_err());
    }

    #[test]
    fn a_latin_hypercube_has_each_part_of_each_range_once() {
        let all = latin_hypercube(&[16, 2, 16], &[true, false, true], 16, 7);
        assert_eq!(all.len(), 32);
        for fixed in 0..2 {
            for axis in [0, 2] {
                let mut parts: Vec<usize> =
                    all.iter().filter(|at| at[1] == fixed).map(|at| at[axis]).collect();
                parts.sort_unstable();
                assert_eq!(parts, (0..16).collect::<Vec<_>>());
            }
        }
        assert_eq!(all, latin_hypercube(&[16, 2, 16], &[true, false, true], 16, 7));
    }

    fn planned(axes: &str) -> crate::Plan {
        let study = format!(
            "schema = 1\nname = \"drawn\"\ntitle = \"Drawn\"\n\
             scenario = \"../../scenarios/making-sense-of-wafl-4.toml\"\n\
             arrays = [\"FAS2050\"]\nscale_down = 64\n{axes}"
        );
        Study::parse(&study, "study.toml").unwrap().plan(None).unwrap()
    }

    fn labels(plan: &crate::Plan, axis: usize) -> Vec<&str> {
        plan.study.axes[axis].values.iter().map(|value| value.label.as_str()).collect()
    }

    #[test]
    fn whole_numbers_are_drawn_once_each_where_there_are_as_many() {
        for (seed, spacing) in [(0, "linear"), (1, "linear"), (2, "linear")] {
            let plan = planned(&format!(
                "segments = 2\ndesign = \"latin-hypercube\"\npoints = 9\ndesign_seed = {seed}\n\
                 [[axis]]\nname = \"o\"\nsetting = \"FAS2050.outstanding\"\nfrom = 1\nto = 9\n\
                 spacing = \"{spacing}\"\n"
            ));
            assert_eq!(labels(&plan, 0), ["1", "2", "3", "4", "5", "6", "7", "8", "9"]);
        }
    }

    #[test]
    fn combinations_of_fewer_whole_numbers_than_points_are_listed_once() {
        let plan = planned(
            "segments = 2\ndesign = \"latin-hypercube\"\npoints = 20\n\
             [[axis]]\nname = \"o\"\nsetting = \"FAS2050.outstanding\"\nfrom = 1\nto = 4\n",
        );
        assert_eq!(labels(&plan, 0), ["1", "2", "3", "4"]);
        assert_eq!(plan.study.combinations.len(), 4);
        assert_eq!(plan.points.len(), 4);
    }

    /// The scenario fits the first two segments.
    #[test]
    fn a_study_may_run_fewer_segments_than_were_fitted() {
        let plan = planned("segments = 1\n");
        assert_eq!(plan.points[0].scenario().unwrap().segments, 1);
    }

    #[test]
    fn values_between_two_are_rounded_and_steps_are_not() {
        let axis = |setting: &str, range: &str| {
            planned(&format!(
                "segments = 2\n[[axis]]\nname = \"a\"\nsetting = \"FAS2050.{setting}\"\n{range}\n"
            ))
        };
        let sizes = axis(
            "buffer_cache",
            "from = \"512 MiB\"\nto = \"8 GiB\"\npoints = 4\nspacing = \"log\"",
        );
        assert_eq!(labels(&sizes, 0), ["512 MiB", "1.26 GiB", "3.175 GiB", "8 GiB"]);
        let percents = axis("protected_percent", "from = 0.1\nto = 0.7\nstep = 0.2");
        assert_eq!(labels(&percents, 0), ["0.1", "0.3", "0.5", "0.7"]);
    }
}
