//! One run of a study, complete in itself.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use strewn_results::Results;
use strewn_run::{Observer, RunError, RunOptions, SavedRun, needed_bytes, run};
use strewn_scenario::{Array, Disk, Scenario, ScenarioError, SpindleChoice};

use crate::absolute_path::absolute;

/// Letters of a run's name: 64 bits of a digest, so that of a million runs two have the same name with a probability of
/// 3 in 100 million.
const ID_LETTERS: usize = 16;

/// One run: a scenario with a seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Its number in the plan, from 0.
    pub index: usize,
    /// Names its directory: a digest of the scenario, the drive profiles in it, its seed, its scale and the version of
    /// the program.
    pub id: String,
    /// The value of each axis, as `axis` and `label`; of the first combination, if several come to the same run.
    pub at: Vec<(String, String)>,
    /// Its seed.
    pub seed: u64,
    /// It runs at 1/`scale_down` of full scale.
    pub scale_down: u32,
    /// The memory that it needs, bytes.
    pub memory_bytes: u64,
    /// The simulated time of all its arrays together, nanoseconds.
    pub length_ns: u64,
    /// The text of its scenario, at full scale.
    pub scenario: String,
}

/// Returns whether a word may name a run.
pub(crate) fn is_id(word: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    word.len() == ID_LETTERS && word.bytes().all(is_digit)
}

/// Where a scenario's text comes from, in messages.
const NAME: &str = "scenario.toml";

impl Point {
    /// Returns the run of a scenario, or why there is none.
    pub(crate) fn of(
        scenario: &Scenario,
        scale_down: u32,
        at: &[(String, String)],
    ) -> Result<Self, String> {
        let mut scenario = scenario.clone();
        let mut digest = begun(scale_down);
        let mut unnamed = scenario.clone();
        for (array, unnamed) in scenario.arrays.iter_mut().zip(&mut unnamed.arrays) {
            if let SpindleChoice::File(file) = &mut array.spindle {
                digest.update(file.text().len().to_le_bytes());
                digest.update(file.text());
                unnamed.spindle = SpindleChoice::File(file.clone().at("profile.toml"));
                *file = file.clone().at(absolute(file.path()));
            }
        }
        let text = |scenario: &Scenario| {
            scenario.to_toml().ok_or_else(|| "the scenario cannot be written as a file".to_owned())
        };
        digest.update(text(&unnamed)?);
        let scaled = scenario.scaled_down(scale_down).0;
        Ok(Self {
            index: 0,
            id: ended(digest),
            at: at.to_vec(),
            seed: scenario.seed,
            scale_down,
            memory_bytes: needed_bytes(&scaled),
            length_ns: scaled.length_ns().saturating_mul(scaled.arrays.len() as u64),
            scenario: text(&scenario)?,
        })
    }

    /// Returns its scenario, at full scale.
    ///
    /// # Errors
    /// If a drive profile that it names is not there.
    pub fn scenario(&self) -> Result<Scenario, ScenarioError> {
        Scenario::parse_with_files(&self.scenario, NAME, &Disk)
    }

    /// Returns whether its name is that of its scenario, which is `scenario`, seed and scale. A plan that was edited by
    /// hand would put the results of one run under the name of another, where every later sweep takes them for its own.
    #[must_use]
    pub fn is_intact(&self, scenario: &Scenario) -> bool {
        let is_file = |array: &Array| matches!(array.spindle, SpindleChoice::File(_));
        let id = if scenario.arrays.iter().any(is_file) {
            Self::of(scenario, self.scale_down, &self.at).map(|again| again.id).unwrap_or_default()
        } else {
            // The text is what was digested: it need not be written again for each of thousands of short runs.
            let mut digest = begun(self.scale_down);
            digest.update(&self.scenario);
            ended(digest)
        };
        id == self.id && scenario.seed == self.seed
    }

    /// Returns the values of the axes in a line.
    #[must_use]
    pub fn described(&self) -> String {
        let at = self.at.iter().map(|(axis, label)| format!("{axis} = {label}, "));
        format!("{}seed {}", at.collect::<String>(), self.seed)
    }

    /// Runs it, on one thread. The results are marked as partial if `observer` stopped it.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn run(
        &self,
        save: Option<Arc<SavedRun>>,
        observer: &dyn Observer,
    ) -> Result<Results, RunError> {
        self.run_scenario(&self.scenario()?, save, observer)
    }

    /// Runs it with its scenario, which is read already.
    pub(crate) fn run_scenario(
        &self,
        scenario: &Scenario,
        save: Option<Arc<SavedRun>>,
        observer: &dyn Observer,
    ) -> Result<Results, RunError> {
        let options =
            RunOptions { jobs: 1, scale_down: self.scale_down, save, ..RunOptions::default() };
        run(scenario, &options, observer)
    }
}

/// Begins the digest that names a run.
fn begun(scale_down: u32) -> Sha256 {
    let mut digest = Sha256::new();
    digest.update(format!("strewn {}\n1/{scale_down}\n", env!("CARGO_PKG_VERSION")));
    digest
}

fn ended(digest: Sha256) -> String {
    let letters = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    letters[..ID_LETTERS].to_owned()
}
