//! Runs of one scenario with several seeds, and what is known of the effects of its constants: the sources of the bands
//! around its figures.

use crate::sensitivity_file::sensitivity_text;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use strewn_results::{ArrayResults, BandSources, Published, Results, Sensitivity};
use strewn_scenario::{Array, Scenario};

use crate::array_run::ArrayRun;
use crate::observer::Observer;
use crate::results;
use crate::run_error::RunError;

/// Most runs of one scenario.
pub const MOST_REPLICATES: u32 = 1000;

/// Returns the scenario of each run: they differ by their seed, and the first is the scenario itself.
pub(crate) fn scenarios(scenario: &Scenario, replicates: u32) -> Vec<Scenario> {
    let seeds =
        (0..u64::from(replicates.max(1))).map(|further| scenario.seed.wrapping_add(further));
    seeds.map(|seed| Scenario { seed, ..scenario.clone() }).collect()
}

/// What the bands of a run are made of, besides its further runs.
pub(crate) struct Uncertainty {
    sensitivity: Option<Sensitivity>,
    settings: Vec<String>,
    row_scatter_percent: Vec<f64>,
}

impl Uncertainty {
    /// Reads the sensitivities at `path`, if they are there, or takes `text` for their text. `scenario` is at full
    /// scale.
    pub(crate) fn read(
        scenario: &Scenario,
        path: Option<&Path>,
        text: Option<&str>,
    ) -> Result<Self, RunError> {
        let shown = path.unwrap_or(Path::new("sensitivities of the saved run"));
        let text = match (text, path) {
            (Some(text), _) => Some(text.to_owned()),
            (None, Some(path)) => sensitivity_text(path)
                .map_err(|source| RunError::SensitivityFile { path: path.to_owned(), source })?,
            (None, None) => None,
        };
        let read = |text: String| Sensitivity::from_toml(&text, shown);
        let sensitivity = text.map(read).transpose().map_err(RunError::Sensitivity)?;
        let settings = match &sensitivity {
            Some(_) => scenario.arrays.iter().map(|array| scenario.digest_of(array)).collect(),
            None => Vec::new(),
        };
        let scatter =
            |array: &Array| array.fitted.as_ref().map_or(0.0, |fitted| fitted.row_scatter_percent);
        let row_scatter_percent = scenario.arrays.iter().map(scatter).collect();
        Ok(Self { sensitivity, settings, row_scatter_percent })
    }

    /// Adds bands to the results of the first run. `scenarios` are those of all runs, as they were simulated, and
    /// `further` what the arrays did in all but the first.
    pub(crate) fn add_bands(
        &self,
        results: &mut Results,
        scenarios: &[Scenario],
        further: &[Vec<ArrayRun>],
        published: Option<&Published>,
    ) {
        let of_run = |(scenario, runs): (&Scenario, &Vec<ArrayRun>)| -> Vec<ArrayResults> {
            let (origins, arrays) = (scenario.origins(), scenario.arrays.iter().zip(runs));
            arrays.map(|(array, run)| results::of_array(scenario, &origins, array, run)).collect()
        };
        let replicates: Vec<Vec<ArrayResults>> =
            scenarios.iter().skip(1).zip(further).map(of_run).collect();
        let is_short = |(scenario, run): (&Scenario, &ArrayRun)| {
            run.segments.len() < scenario.segments as usize
                && !run.ended_by_itself()
                && run.data_loss.is_none()
        };
        let with_scenario = scenarios.iter().skip(1).zip(further);
        let mut runs =
            with_scenario.flat_map(|(scenario, runs)| runs.iter().map(move |run| (scenario, run)));
        let sources = BandSources {
            replicates: &replicates,
            stopped: runs.any(is_short),
            published,
            sensitivity: self.sensitivity.as_ref(),
            settings: &self.settings,
            row_scatter_percent: &self.row_scatter_percent,
        };
        strewn_results::add_bands(results, &sources);
    }
}

/// Watches the further runs: it only counts them, and stops them as the first is stopped.
pub(crate) struct Further<'a> {
    observer: &'a dyn Observer,
    done: AtomicUsize,
    all: usize,
}

impl<'a> Further<'a> {
    /// Watches `all` simulations of single arrays.
    pub(crate) fn new(observer: &'a dyn Observer, all: usize) -> Self {
        Self { observer, done: AtomicUsize::new(0), all }
    }

    /// Says that another simulation is done.
    pub(crate) fn one_is_done(&self) {
        let done = 1 + self.done.fetch_add(1, Ordering::Relaxed);
        self.observer.replicates(done, self.all);
    }
}

impl Observer for Further<'_> {
    fn stop(&self) -> bool {
        self.observer.stop()
    }
}
