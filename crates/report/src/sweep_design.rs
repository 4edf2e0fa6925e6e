//! How the combinations of a sweep lie among the values of its axes: that decides which tables and charts fit.

use strewn_results::Sweep;

/// The shape of a design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DesignShape {
    /// Every value of each axis with every value of all others; also a single axis, or none.
    Grid,
    /// Each value beside the first values of all other axes.
    OneAtATime,
    /// All axes advance together.
    InStep,
    /// Anything else, such as a Latin hypercube.
    Scattered,
}

/// The combinations of a sweep.
pub(crate) struct SweepDesign<'a> {
    sweep: &'a Sweep,
    /// The value of each axis in each combination, by number. A combination without a row is empty.
    combinations: Vec<&'a [usize]>,
    /// The axes that have more than one value, in order.
    pub(crate) varied: Vec<usize>,
    pub(crate) shape: DesignShape,
}

impl<'a> SweepDesign<'a> {
    pub(crate) fn of(sweep: &'a Sweep) -> Self {
        let mut combinations: Vec<&[usize]> = Vec::new();
        for row in &sweep.rows {
            if combinations.len() <= row.combination {
                combinations.resize(row.combination + 1, &[]);
            }
            combinations[row.combination] = &row.at;
        }
        let varies = |axis: &usize| used(&combinations, *axis).len() > 1;
        let varied: Vec<usize> = (0..sweep.axes.len()).filter(varies).collect();
        let shape = shape(&combinations, &varied);
        Self { sweep, combinations, varied, shape }
    }

    /// Returns how many combinations there are.
    pub(crate) fn len(&self) -> usize {
        self.combinations.len()
    }

    /// Returns the value of each axis in a combination; nothing if it has no row.
    pub(crate) fn at(&self, combination: usize) -> &'a [usize] {
        self.combinations.get(combination).copied().unwrap_or_default()
    }

    /// Returns the values of an axis that occur, ascending by their position.
    pub(crate) fn used(&self, axis: usize) -> Vec<usize> {
        used(&self.combinations, axis)
    }

    /// Returns whether each combination of the other axes was run with every value of this one.
    pub(crate) fn is_crossed(&self, axis: usize) -> bool {
        let mut others: Vec<Vec<usize>> = self.combinations.iter().map(|at| at.to_vec()).collect();
        others.retain(|at| at.len() > axis);
        others.iter_mut().for_each(|at| at[axis] = 0);
        others.sort_unstable();
        others.dedup();
        others.len() * self.used(axis).len() == self.len()
    }

    /// Returns the label of an axis' value in a combination; empty if there is no such combination.
    pub(crate) fn label(&self, combination: usize, axis: usize) -> &'a str {
        let value = || {
            let at = *self.at(combination).get(axis)?;
            Some(self.sweep.axes.get(axis)?.values.get(at)?.label.as_str())
        };
        value().unwrap_or_default()
    }
}

fn used(combinations: &[&[usize]], axis: usize) -> Vec<usize> {
    let mut values: Vec<usize> =
        combinations.iter().filter_map(|at| at.get(axis).copied()).collect();
    values.sort_unstable();
    values.dedup();
    values
}

fn shape(combinations: &[&[usize]], varied: &[usize]) -> DesignShape {
    let there: Vec<&[usize]> = combinations.iter().copied().filter(|at| !at.is_empty()).collect();
    let sizes = varied.iter().map(|axis| used(combinations, *axis).len());
    let in_grid = sizes.fold(1_usize, usize::saturating_mul);
    if varied.len() < 2 || in_grid == there.len() {
        return DesignShape::Grid;
    }
    let others = |at: &&[usize]| varied.iter().filter(|axis| at[**axis] != 0).count() < 2;
    let together = |at: &&[usize]| varied.windows(2).all(|pair| at[pair[0]] == at[pair[1]]);
    if there.iter().all(others) {
        DesignShape::OneAtATime
    } else if there.iter().all(together) {
        DesignShape::InStep
    } else {
        DesignShape::Scattered
    }
}
