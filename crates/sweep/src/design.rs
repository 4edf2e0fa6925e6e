//! Combinations of the axes' values.

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
    let levels = levels(study);
    let counts: Vec<usize> = levels.iter().map(Vec::len).collect();
    let all = match study.design {
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
    Ok(Combinations { levels, all })
}

fn is_drawn(axis: &Axis) -> bool {
    matches!(axis.values, Values::Between(_))
}

/// Returns the values of each axis. Those that are drawn lie one in each of as many equal parts of the range as there are
/// points, at random within it.
fn levels(study: &Study) -> Vec<Vec<Level>> {
    let mut rng = Rng::new(study.design_seed);
    let of_axis = |axis: &Axis| match &axis.values {
        Values::Listed(levels) => levels.clone(),
        Values::Between(between) => {
            let points = study.drawn_points;
            let share = |part: usize, within: f64| (part as f64 + within) / points as f64;
            (0..points)
                .map(|part| between.at(share(part, rng.unit()), axis.is_logarithmic))
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
}
