//! The settings of a configuration beyond reads and writes of whole sectors of a disk.

use std::fmt;

use strewn_base::SECTOR_BYTES;

use super::access_specification::IDLE;
use super::{AccessSpecification, Configuration, TestType, Worker, WorkerKind};

/// A setting of a configuration that not every simulation honours.
///
/// A caller checks [`Configuration::features`] and refuses those that it does not honour:
///
/// ```
/// use strewn_formats::iometer::{AccessLine, AccessSpecification, Configuration, Feature};
///
/// let specification = AccessSpecification {
///     name: "bursts".into(),
///     default_assignment: Default::default(),
///     lines: vec![AccessLine { delay_ms: 5, burst_accesses: 20, ..AccessLine::of_bytes(8192) }],
/// };
/// let configuration = Configuration::of_access_specifications(vec![specification]);
/// let honoured = [Feature::Alignment];
/// let refused = configuration.features().into_iter().find(|f| !honoured.contains(&f.feature));
/// assert_eq!(
///     refused.map(|feature| feature.to_string()).as_deref(),
///     Some("delay between bursts (line 1 of access specification \"bursts\")")
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Feature {
    /// A size of 0, a specification without lines, or `Idle`: no accesses.
    Idle,
    /// A size that is not a whole number of sectors of 512 bytes.
    PartialSectors,
    /// `delay`.
    Delay,
    /// `burst` of more than one access. It is listed only together with a delay, without which it
    /// has no effect.
    Burst,
    /// `align` to more than one whole sector.
    Alignment,
    /// `align` to bytes that are not whole sectors.
    ByteAlignment,
    /// `reply`.
    Reply,
    /// A run time of zero: until stopped.
    EndlessRun,
    /// `Ramp Up Time`.
    RampUp,
    /// `Test Type` with varying numbers of workers.
    WorkerCycling,
    /// `Test Type` with varying numbers of targets.
    TargetCycling,
    /// `Test Type` with varying numbers of outstanding accesses.
    QueueDepthCycling,
    /// More than one manager.
    SeveralManagers,
    /// More than one worker.
    SeveralWorkers,
    /// A worker with more than one target.
    SeveralTargets,
    /// A worker with more than one access specification: several tests, one after the other.
    SeveralSpecifications,
    /// A network worker or target.
    Network,
    /// `test connection rate`.
    ConnectionRate,
    /// `use fixed seed`.
    FixedSeed,
    /// `Disk maximum size` other than 0.
    MaximumSize,
    /// `starting sector` other than 0.
    StartingSector,
    /// `Data pattern`.
    DataPattern,
}

impl fmt::Display for Feature {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Idle => "idle",
            Self::PartialSectors => "sizes that are not whole sectors",
            Self::Delay => "delay between bursts",
            Self::Burst => "bursts",
            Self::Alignment => "alignment",
            Self::ByteAlignment => "alignment that is not to whole sectors",
            Self::Reply => "replies",
            Self::EndlessRun => "a run without end",
            Self::RampUp => "ramp up time",
            Self::WorkerCycling => "cycling of workers",
            Self::TargetCycling => "cycling of targets",
            Self::QueueDepthCycling => "cycling of outstanding I/Os",
            Self::SeveralManagers => "several managers",
            Self::SeveralWorkers => "several workers",
            Self::SeveralTargets => "several targets of a worker",
            Self::SeveralSpecifications => "several access specifications of a worker",
            Self::Network => "network",
            Self::ConnectionRate => "test of connection rate",
            Self::FixedSeed => "fixed seed",
            Self::MaximumSize => "disk maximum size",
            Self::StartingSector => "starting sector",
            Self::DataPattern => "data pattern",
        })
    }
}

/// A feature, and what asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureUse {
    /// The feature.
    pub feature: Feature,
    /// What asks for it, such as `line 2 of access specification "OLTP"`.
    pub by: String,
}

impl fmt::Display for FeatureUse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({})", self.feature, self.by)
    }
}

impl AccessSpecification {
    /// Returns the features that it uses beyond accesses of whole sectors.
    #[must_use]
    pub fn features(&self) -> Vec<FeatureUse> {
        let mut found = Vec::new();
        if self.lines.is_empty() {
            let by = format!("access specification \"{}\"", self.name);
            found.push(FeatureUse { feature: Feature::Idle, by });
        }
        for (position, line) in self.lines.iter().enumerate() {
            let whole = |bytes: u32| u64::from(bytes).is_multiple_of(SECTOR_BYTES);
            let delays = line.delay_ms > 0;
            let features = [
                (line.bytes == 0, Feature::Idle),
                (!whole(line.bytes), Feature::PartialSectors),
                (delays, Feature::Delay),
                (delays && line.burst_accesses > 1, Feature::Burst),
                (
                    u64::from(line.alignment_bytes) > SECTOR_BYTES && whole(line.alignment_bytes),
                    Feature::Alignment,
                ),
                (!whole(line.alignment_bytes), Feature::ByteAlignment),
                (line.reply_bytes > 0, Feature::Reply),
            ];
            for (_, feature) in features.into_iter().filter(|(asked, _)| *asked) {
                let by = format!("line {} of access specification \"{}\"", position + 1, self.name);
                found.push(FeatureUse { feature, by });
            }
        }
        found
    }
}

impl Configuration {
    /// Returns all features that it uses beyond one worker's accesses of a disk.
    #[must_use]
    pub fn features(&self) -> Vec<FeatureUse> {
        let mut found = Vec::new();
        let mut add = |asked: bool, feature: Feature, by: &str| {
            if asked {
                found.push(FeatureUse { feature, by: by.to_owned() });
            }
        };
        if let Some(setup) = &self.test_setup {
            use TestType as Type;
            let cycles = |types: &[Type]| types.contains(&setup.test_type);
            let workers = [Type::CycleWorkers, Type::CycleWorkersAndTargets];
            let targets = [
                Type::CycleTargets,
                Type::IncrementTargetsParallel,
                Type::IncrementTargetsSerial,
                Type::CycleWorkersAndTargets,
                Type::CycleOutstandingIosAndTargets,
            ];
            let depths = [Type::CycleOutstandingIos, Type::CycleOutstandingIosAndTargets];
            let by = "test setup";
            add(setup.run_time.total_seconds() == 0, Feature::EndlessRun, by);
            add(setup.ramp_up_seconds > 0, Feature::RampUp, by);
            add(cycles(&workers), Feature::WorkerCycling, by);
            add(cycles(&targets), Feature::TargetCycling, by);
            add(cycles(&depths), Feature::QueueDepthCycling, by);
        }
        let managers = self.managers.as_ref().map_or(0, Vec::len);
        add(managers > 1, Feature::SeveralManagers, "manager list");
        add(self.workers().count() > 1, Feature::SeveralWorkers, "manager list");
        for (manager, worker) in self.workers() {
            let by = format!("worker \"{}\" of manager \"{}\"", worker.name, manager.name);
            worker.features(|asked, feature| add(asked, feature, &by));
        }
        let specifications = self.access_specifications.iter().flatten();
        found.extend(specifications.flat_map(AccessSpecification::features));
        found
    }
}

impl Worker {
    fn features(&self, mut add: impl FnMut(bool, Feature)) {
        let targets = self.targets.as_deref().unwrap_or_default();
        let assigned = self.assigned_specifications.as_deref().unwrap_or_default();
        let of_network = self.kind != WorkerKind::Disk;
        let to_network = targets.iter().any(|target| target.kind != WorkerKind::Disk);
        add(of_network || to_network, Feature::Network);
        add(targets.len() > 1, Feature::SeveralTargets);
        add(assigned.len() > 1, Feature::SeveralSpecifications);
        add(assigned.iter().any(|name| name.eq_ignore_ascii_case(IDLE)), Feature::Idle);
        if let Some(settings) = &self.settings {
            add(settings.connection_rate.is_some(), Feature::ConnectionRate);
            add(settings.fixed_seed.is_some(), Feature::FixedSeed);
            add(settings.maximum_size_sectors > 0, Feature::MaximumSize);
            add(settings.starting_sector > 0, Feature::StartingSector);
            add(settings.data_pattern.is_some(), Feature::DataPattern);
        }
    }
}
