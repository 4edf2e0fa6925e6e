//! A workload and the two standard extremes, in one pass over a file.

use serde::Serialize;

use super::model::SpindleModel;
use super::options::CostOptions;
use super::requests::{DEFAULT_REQUESTS, RequestPlan};
use super::resolution::{CostPass, FileCommands};
use super::simulation::FileCost;
use super::verdict::Verdict;
use super::workload::{FileWorkload, Order};
use crate::{AddressSpace, Extent, FileError};

/// What an analysis of a file's cost assumes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CostAnalysisOptions {
    /// The requests drawn of each workload. 1,000 do for each of many files.
    pub requests: u32,
    /// What they follow from.
    pub seed: u64,
    /// What a pass assumes.
    pub cost: CostOptions,
}

impl Default for CostAnalysisOptions {
    fn default() -> Self {
        Self { requests: DEFAULT_REQUESTS, seed: 1, cost: CostOptions::default() }
    }
}

/// What a file costs: a workload, and beside it random reads of 4 KiB and sequential reads of 1 MiB, between which most
/// workloads lie.
///
/// ```
/// use strewn_file::{
///     Address, AddressSpace, CostAnalysis, Device, Extent, FileWorkload, Place, SpindleModel, CostAnalysisOptions,
/// };
///
/// // A file of 64 MiB in extents of 64 KiB, each in its own MiB of the device.
/// let space = AddressSpace::direct(vec![Device {
///     name: "sda".into(),
///     bytes: None,
///     rotational: Some(true),
///     stack: Vec::new(),
///     queue: None,
/// }]);
/// let file_bytes = 64 << 20;
/// let workload = FileWorkload::default();
/// let options = CostAnalysisOptions::default();
/// let mut analysis = CostAnalysis::new(&workload, file_bytes, &space, options)?.ok_or("empty")?;
/// for number in 0..1024u64 {
///     let place = Place::At(Address::new(number << 20));
///     analysis.add(&Extent { offset: number << 16, bytes: 1 << 16, place, shared: false });
/// }
/// let report = analysis.finish(&SpindleModel::shipped("nearline-7200-16tb")?)?;
/// let scan = &report.costs[2];
/// assert_eq!(scan.as_it_lies.counts.commands_per_request, 16.0);
/// assert!(report.verdict.to_string().contains("sequential 1 MiB reads"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CostAnalysis<'a> {
    passes: Vec<CostPass<'a>>,
    space: &'a AddressSpace,
    file_bytes: u64,
}

/// What a file costs, and what that comes to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CostReport {
    /// The workload first; then the standard extremes, unless the workload is one of them.
    pub costs: Vec<FileCost>,
    /// What it comes to.
    pub verdict: Verdict,
}

impl<'a> CostAnalysis<'a> {
    /// An analysis of `workload` and the extremes on a file of `file_bytes`. `None` if the file is empty.
    ///
    /// # Errors
    ///
    /// If requests cannot be drawn: [`RequestPlan::draw`].
    pub fn new(
        workload: &FileWorkload,
        file_bytes: u64,
        space: &'a AddressSpace,
        options: CostAnalysisOptions,
    ) -> Result<Option<Self>, FileError> {
        let mut passes = Vec::new();
        let extremes = Self::extremes();
        let others = extremes.iter().filter(|extreme| extreme.name() != workload.name());
        for workload in std::iter::once(workload).chain(others) {
            let plan = RequestPlan::draw(workload, file_bytes, options.requests, options.seed)?;
            let Some(plan) = plan else { return Ok(None) };
            passes.push(CostPass::new(plan, file_bytes, space, options.cost));
        }
        Ok(Some(Self { passes, space, file_bytes }))
    }

    /// The standard extremes: random reads of 4 KiB, sequential reads of 1 MiB.
    #[must_use]
    pub fn extremes() -> [FileWorkload; 2] {
        [
            FileWorkload::simple(4096, Order::Random, 100),
            FileWorkload::simple(1 << 20, Order::Sequential, 100),
        ]
    }

    /// The requests of the workload.
    #[must_use]
    pub fn plan(&self) -> &RequestPlan {
        self.passes[0].plan()
    }

    /// Takes the next extent, as [`CostPass::add`].
    pub fn add(&mut self, extent: &Extent) {
        self.passes.iter_mut().for_each(|pass| pass.add(extent));
    }

    /// Simulates the requests on drives, after the last extent.
    ///
    /// # Errors
    ///
    /// If the file does not fit onto the drive.
    pub fn finish(self, model: &SpindleModel) -> Result<CostReport, FileError> {
        self.finish_with(|commands| commands.simulate(model))
    }

    /// Has `simulate` find what the requests of each workload cost, after the last extent.
    ///
    /// # Errors
    ///
    /// Those of `simulate`.
    pub fn finish_with(
        self,
        simulate: impl Fn(&FileCommands) -> Result<FileCost, FileError>,
    ) -> Result<CostReport, FileError> {
        let simulated = |pass: CostPass<'_>| simulate(&pass.finish());
        let costs: Vec<FileCost> =
            self.passes.into_iter().map(simulated).collect::<Result<_, _>>()?;
        let not_rotational =
            self.space.devices().iter().any(|device| device.rotational == Some(false));
        let verdict = Verdict::new(&costs, not_rotational).of_file(self.file_bytes);
        Ok(CostReport { costs, verdict })
    }
}
