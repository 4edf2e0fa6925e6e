//! A schedule from its first incarnation to its last.

use std::collections::BTreeSet;

use strewn_base::Rng;

use crate::harness::Harness;
use crate::plan::Plan;
use crate::rng::stream;
use crate::shadow::Shadow;
use crate::{Options, ScheduleFailure, ScheduleKind, Summary};
use strewn_live::configuration::LayoutName;
use strewn_live::device::simulated::Injected;
use strewn_live::device::{DeviceIndex, SimulatedDevices, SimulatedDisk};

/// The state that a schedule carries from one incarnation to the next.
pub(crate) struct Schedule {
    pub(crate) seed: u64,
    pub(crate) plan: Plan,
    pub(crate) rng: Rng,
    pub(crate) shadow: Shadow,
    pub(crate) summary: Summary,
    pub(crate) verbose: bool,
    single_lun: bool,
    pub(crate) disks: Vec<SimulatedDisk>,
    /// Devices that are missing when the next incarnation begins.
    pub(crate) absent: BTreeSet<DeviceIndex>,
    pub(crate) injected: Vec<Injected>,
    pub(crate) harness: Harness,
    pub(crate) incarnation: u64,
    /// Stripes in which a spindle had a silent fault.
    pub(crate) injured: BTreeSet<u64>,
    /// Old copies of spindles that the labels mark as present.
    pub(crate) stale: BTreeSet<DeviceIndex>,
    /// The devices when the incarnation began.
    pub(crate) disks_before: Vec<SimulatedDisk>,
    /// The device of a mirrored log that may lack records which only the other has.
    pub(crate) weak_log: Option<DeviceIndex>,
    /// Whether the last incarnation was shut down.
    pub(crate) was_shut_down: bool,
}

impl Schedule {
    pub(crate) fn new(seed: u64, kind: ScheduleKind, layout: LayoutName, options: Options) -> Self {
        let plan = Plan::draw(seed, kind, layout, options.single_lun);
        let disks = plan.disks();
        Self {
            seed,
            shadow: Shadow::new(plan.lun_sectors()),
            rng: stream(seed, 1),
            summary: Summary::default(),
            verbose: options.verbose,
            single_lun: options.single_lun,
            harness: Harness::new(SimulatedDevices::new(0, Vec::new()), 0, Vec::new()),
            disks,
            absent: BTreeSet::new(),
            injected: Vec::new(),
            incarnation: 0,
            injured: BTreeSet::new(),
            stale: BTreeSet::new(),
            disks_before: Vec::new(),
            weak_log: None,
            was_shut_down: false,
            plan,
        }
    }

    pub(crate) fn trace(&self, what: impl FnOnce() -> String) {
        if self.verbose {
            eprintln!("life {}, step {}: {}", self.incarnation, self.harness.steps, what());
        }
    }

    pub(crate) fn failure(&self, what: String) -> ScheduleFailure {
        let mut injected = self.injected.clone();
        injected.extend_from_slice(self.harness.devices.injected());
        ScheduleFailure {
            seed: self.seed,
            kind: self.plan.kind,
            layout: self.plan.layout,
            single_lun: self.single_lun,
            array: self.plan.describe(),
            incarnation: self.incarnation,
            step: self.harness.steps,
            what,
            injected: injected.iter().map(|one| format!("{one:?}")).collect(),
        }
    }
}
