//! Whether runs bear out what documents claim.

use crate::data::claim::{Claim, ClaimTest, ClaimVerdict, ClaimedFigure, ClaimedOf};
use crate::data::comparison::RowStatus;
use crate::data::results::Results;

/// A figure of a claim with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedFigure<'a> {
    /// The figure.
    pub figure: &'a ClaimedFigure,
    /// Its value; none if no results have it.
    pub value: Option<f64>,
    /// Its unit.
    pub unit: &'static str,
    /// Whether it is a row to which a setting was fitted.
    pub is_fitted: bool,
}

/// A claim, and what runs say of it.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgedClaim<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// What runs say of it.
    pub verdict: ClaimVerdict,
    /// Its figures.
    pub figures: Vec<JudgedFigure<'a>>,
}

impl JudgedClaim<'_> {
    /// Whether the verdict is the one that is stated with the claim; `None` if nothing was tested.
    #[must_use]
    pub fn is_as_stated(&self) -> Option<bool> {
        match self.verdict {
            ClaimVerdict::NotTestable | ClaimVerdict::NoResults => None,
            verdict => Some(verdict == self.claim.stated),
        }
    }
}

/// Judges a claim by the results of runs, which are found by the names of their scenarios.
#[must_use]
pub fn judge<'a>(claim: &'a Claim, runs: &[Results]) -> JudgedClaim<'a> {
    let figures: &[ClaimedFigure] = match &claim.test {
        ClaimTest::Figures(figures) => figures,
        ClaimTest::NotTestable(_) => &[],
    };
    let figures: Vec<JudgedFigure<'a>> =
        figures.iter().map(|figure| judged_figure(figure, runs)).collect();
    let within = |judged: &JudgedFigure<'_>| {
        let JudgedFigure { figure, value, .. } = judged;
        value.map(|value| {
            figure.least.is_none_or(|least| value >= least)
                && figure.most.is_none_or(|most| value <= most)
        })
    };
    let holds: Option<Vec<bool>> = figures.iter().map(within).collect();
    let verdict = match (figures.is_empty(), holds) {
        (true, _) => ClaimVerdict::NotTestable,
        (false, None) => ClaimVerdict::NoResults,
        (false, Some(holds)) if holds.iter().all(|holds| *holds) => ClaimVerdict::Reproduced,
        (false, Some(_)) => ClaimVerdict::Contradicted,
    };
    JudgedClaim { claim, verdict, figures }
}

fn judged_figure<'a>(figure: &'a ClaimedFigure, runs: &[Results]) -> JudgedFigure<'a> {
    let run = runs.iter().find(|results| results.scenario == figure.run);
    match &figure.of {
        ClaimedOf::Figure(of) => {
            let value = run.and_then(|run| of.value(&run.arrays));
            JudgedFigure { figure, value, unit: of.unit(), is_fitted: false }
        }
        ClaimedOf::Row(name) => {
            let row = run.and_then(|run| run.published_rows.iter().find(|row| row.name == *name));
            let value = row.and_then(|row| row.simulated);
            let is_fitted = row.is_some_and(|row| row.status == RowStatus::Fitted);
            JudgedFigure { figure, value, unit: row.map_or("", |row| row.of.unit()), is_fitted }
        }
    }
}
