//! What documents claim, and the figures of runs by which that is tested.
//!
//! ```toml
//! [[claim]]
//! document = "making-sense-of-wafl-4"
//! claim = "After fourteen segments the filer delivers 58 % of the EVA4400's IOPS."
//! [[claim.figure]]                   # all of them must hold
//! run = "making-sense-of-wafl-4"     # the name of a scenario
//! array = "FAS2050"                  # or `row`, a row of that scenario's published table
//! metric = "iops"
//! segment = 14
//! over = "EVA4400"
//! range = [55.0, 61.0]               # or `least`, or `most`
//!
//! [[claim]]
//! document = "making-sense-of-wafl-4"
//! claim = "The filer stays ahead."
//! verdict = "contradicted"           # what runs are known to say; reproduced unless given
//!
//! [[claim]]
//! document = "making-sense-of-wafl-4"
//! claim = "Customers notice."
//! not_testable = "what customers notice is not simulated"
//! ```

use crate::data::figure::{FigureMetric, FigureOf, SegmentChoice};
use crate::data::statistic::Statistic;
use crate::data::toml_text::{TomlError, TomlText};
use serde::Deserialize;
use std::path::Path;
use toml::Spanned;

/// What several documents claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Claims {
    /// In the order of the file.
    pub claims: Vec<Claim>,
}

/// What a document claims.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Short name of the document.
    pub document: String,
    /// What it claims, in a sentence.
    pub claim: String,
    /// What runs are known to say of it: the verdict that a reproduction must get.
    pub stated: ClaimVerdict,
    /// How that is tested.
    pub test: ClaimTest,
}

/// What runs say of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClaimVerdict {
    /// All of its figures are within their bounds.
    Reproduced,
    /// One is not.
    Contradicted,
    /// Nothing here can test it.
    NotTestable,
    /// No results have a figure of it.
    NoResults,
}

impl ClaimVerdict {
    /// Returns the words for it in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::Contradicted => "contradicted",
            Self::NotTestable => "not testable",
            Self::NoResults => "no results",
        }
    }
}

/// How a claim is tested.
#[derive(Clone, Debug, PartialEq)]
pub enum ClaimTest {
    /// By figures, all of which must be within their bounds.
    Figures(Vec<ClaimedFigure>),
    /// Not at all, and why.
    NotTestable(String),
}

/// A figure of a run, and the bounds within which a claim holds.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimedFigure {
    /// The scenario whose results have it.
    pub run: String,
    /// What it is of.
    pub of: ClaimedOf,
    /// The lowest value with which the claim holds.
    pub least: Option<f64>,
    /// The highest.
    pub most: Option<f64>,
}

/// What the figure of a claim is of.
#[derive(Clone, Debug, PartialEq)]
pub enum ClaimedOf {
    /// A figure of an array.
    Figure(FigureOf),
    /// The simulated figure of a row of the published table, by its name.
    Row(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawClaims {
    #[serde(default)]
    claim: Vec<RawClaim>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawClaim {
    document: String,
    claim: Spanned<String>,
    #[serde(default)]
    figure: Vec<Spanned<RawFigure>>,
    not_testable: Option<String>,
    verdict: Option<Spanned<StatedVerdict>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum StatedVerdict {
    Reproduced,
    Contradicted,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFigure {
    run: String,
    array: Option<String>,
    row: Option<String>,
    phase: Option<String>,
    segment: Option<SegmentChoice>,
    workload: Option<String>,
    link: Option<String>,
    metric: Option<FigureMetric>,
    #[serde(default)]
    statistic: Statistic,
    over: Option<String>,
    over_segment: Option<SegmentChoice>,
    range: Option<[f64; 2]>,
    least: Option<f64>,
    most: Option<f64>,
}

impl Claims {
    /// Reads the text of a file of claims. `path` is used in messages only.
    ///
    /// # Errors
    ///
    /// If the text is not TOML, or has an unknown field; if a claim has neither figures nor a reason why it cannot be
    /// tested, or both; if two claims are alike; if a figure has no bounds, or bounds that nothing is within.
    pub fn from_toml(text: &str, path: impl AsRef<Path>) -> Result<Self, TomlError> {
        let text = TomlText::new(text, path.as_ref());
        let raw: RawClaims = text.parse()?;
        let mut claims: Vec<Claim> = Vec::with_capacity(raw.claim.len());
        for RawClaim { document, claim, figure, not_testable, verdict } in raw.claim {
            let is_it =
                |other: &Claim| other.document == document && other.claim == *claim.get_ref();
            if claims.iter().any(is_it) {
                return Err(text.error(claim.span(), "claim.claim", "is already there"));
            }
            let test = match (figure.is_empty(), not_testable) {
                (true, Some(why)) => ClaimTest::NotTestable(why),
                (false, None) => {
                    let read = |figure: Spanned<RawFigure>| {
                        let span = figure.span();
                        let read = figure.into_inner().read();
                        read.map_err(|message| text.error(span, "claim.figure", message))
                    };
                    ClaimTest::Figures(figure.into_iter().map(read).collect::<Result<_, _>>()?)
                }
                _ => {
                    let message = "give [[claim.figure]], or `not_testable` with the reason";
                    return Err(text.error(claim.span(), "claim.claim", message));
                }
            };
            let stated = match (&test, verdict) {
                (ClaimTest::NotTestable(_), None) => ClaimVerdict::NotTestable,
                (ClaimTest::NotTestable(_), Some(verdict)) => {
                    let message = "what is not testable has no verdict: leave the key out";
                    return Err(text.error(verdict.span(), "claim.verdict", message));
                }
                (ClaimTest::Figures(_), verdict) => match verdict.map(Spanned::into_inner) {
                    None | Some(StatedVerdict::Reproduced) => ClaimVerdict::Reproduced,
                    Some(StatedVerdict::Contradicted) => ClaimVerdict::Contradicted,
                },
            };
            claims.push(Claim { document, claim: claim.into_inner(), stated, test });
        }
        Ok(Self { claims })
    }

    /// Returns the scenarios whose results are needed, in the order of the file, each once.
    #[must_use]
    pub fn runs(&self) -> Vec<&str> {
        let mut runs: Vec<&str> = Vec::new();
        for claim in &self.claims {
            let ClaimTest::Figures(figures) = &claim.test else { continue };
            for figure in figures {
                if !runs.contains(&figure.run.as_str()) {
                    runs.push(&figure.run);
                }
            }
        }
        runs
    }
}

impl RawFigure {
    fn read(self) -> Result<ClaimedFigure, &'static str> {
        let (least, most) = match (self.range, self.least, self.most) {
            (Some([least, most]), None, None) => (Some(least), Some(most)),
            (None, least, most) => (least, most),
            _ => return Err("give `range`, or `least` and `most`, not both"),
        };
        if least.is_none() && most.is_none() {
            return Err("give bounds: `range`, `least` or `most`");
        }
        if let (Some(least), Some(most)) = (least, most)
            && least.partial_cmp(&most) != Some(std::cmp::Ordering::Less)
        {
            return Err("nothing is within these bounds");
        }
        let narrows = [&self.phase, &self.workload, &self.link, &self.over].map(Option::is_some);
        let is_narrowed = narrows.contains(&true)
            || self.segment.is_some()
            || self.over_segment.is_some()
            || self.statistic != Statistic::MEAN;
        if self.row.is_some() && is_narrowed {
            return Err("a `row` says all of what it is of: leave the other keys out");
        }
        let of = match (self.array, self.row, self.metric) {
            (Some(array), None, Some(metric)) => ClaimedOf::Figure(FigureOf {
                array,
                phase: self.phase,
                segment: self.segment,
                workload: self.workload,
                link: self.link,
                metric,
                statistic: self.statistic,
                over: self.over,
                over_segment: self.over_segment,
            }),
            (None, Some(row), None) => ClaimedOf::Row(row),
            _ => return Err("give `array` and `metric`, or `row` alone"),
        };
        Ok(ClaimedFigure { run: self.run, of, least, most })
    }
}
