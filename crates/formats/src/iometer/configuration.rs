//! The contents of a configuration.

use super::{AccessSpecification, Version};

/// An Iometer configuration, an `.icf` file. Any section may be missing.
///
/// ```
/// use strewn_formats::iometer::Configuration;
///
/// let text = "\
/// Version 1.1.0
/// 'ACCESS SPECIFICATIONS =========================================================
/// 'Access specification name,default assignment
/// \t4 KiB; 67% Read; 100% random,NONE
/// 'size,% of size,% reads,% random,delay,burst,align,reply
/// \t4096,100,67,100,0,1,4096,0
/// 'END access specifications
/// Version 1.1.0
/// ";
/// let configuration = Configuration::parse(text, "web.icf")?;
/// let specification = configuration
///     .access_specification("4 kib; 67% read; 100% random")
///     .ok_or("it is there")?;
/// assert_eq!(specification.lines[0].read_percent, 67);
/// assert_eq!(configuration.to_icf()?.replace("\r\n", "\n"), text);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// The version of Iometer that wrote it.
    pub version: Version,
    /// The length of the test, and what it varies.
    pub test_setup: Option<TestSetup>,
    /// What Iometer's window shows.
    pub results_display: Option<ResultsDisplay>,
    /// All access specifications, whether or not they are assigned to a worker.
    pub access_specifications: Option<Vec<AccessSpecification>>,
    /// The machines that do the work.
    pub managers: Option<Vec<Manager>>,
}

impl Configuration {
    /// Creates a configuration of these access specifications and nothing else.
    ///
    /// ```
    /// use strewn_formats::iometer::{
    ///     AccessLine, AccessSpecification, Configuration, DefaultAssignment,
    /// };
    ///
    /// let specification = AccessSpecification {
    ///     name: "4 KiB random reads".into(),
    ///     default_assignment: DefaultAssignment::None,
    ///     lines: vec![AccessLine::of_bytes(4096)],
    /// };
    /// let icf = Configuration::of_access_specifications(vec![specification]).to_icf()?;
    /// assert!(icf.contains("\t4096,100,100,100,0,1,0,0\r\n"));
    /// # Ok::<(), strewn_formats::WriteError>(())
    /// ```
    #[must_use]
    pub fn of_access_specifications(specifications: Vec<AccessSpecification>) -> Self {
        Self {
            version: Version::CURRENT,
            test_setup: None,
            results_display: None,
            access_specifications: Some(specifications),
            managers: None,
        }
    }

    /// Returns the access specification of this name; case does not matter.
    #[must_use]
    pub fn access_specification(&self, name: &str) -> Option<&AccessSpecification> {
        let mut specifications = self.access_specifications.iter().flatten();
        specifications.find(|specification| specification.name.eq_ignore_ascii_case(name))
    }

    /// Returns workers with their managers.
    pub fn workers(&self) -> impl Iterator<Item = (&Manager, &Worker)> {
        let managers = self.managers.iter().flatten();
        managers.flat_map(|manager| manager.workers.iter().map(move |worker| (manager, worker)))
    }

    /// Returns the assigned names that are no access specification: neither one of the file's nor `Idle`, which is
    /// built into Iometer. Iometer reads such files and complains.
    ///
    /// ```
    /// use strewn_formats::iometer::Configuration;
    ///
    /// let text = "Version 1.1.0\n'MANAGER LIST ==\n'Manager ID, manager name\n1,HOST\n'Worker\nW\n\
    ///     'Assigned access specs\nIdle\nOLTP\n'End assigned access specs\n'End worker\n'End manager\n\
    ///     'END manager list\n";
    /// let configuration = Configuration::parse(text, "a.icf")?;
    /// assert_eq!(configuration.workers().count(), 1);
    /// assert_eq!(configuration.unknown_assignments(), ["OLTP"]);
    /// # Ok::<(), strewn_formats::FileFormatError>(())
    /// ```
    #[must_use]
    pub fn unknown_assignments(&self) -> Vec<&str> {
        let assigned = self.workers().flat_map(|(_, worker)| worker.assigned_specifications.iter());
        let names = assigned.flatten().map(String::as_str);
        let unknown = names.filter(|name| {
            !name.eq_ignore_ascii_case(super::access_specification::IDLE)
                && self.access_specification(name).is_none()
        });
        unknown.collect()
    }
}

/// The length of a test, and what it varies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestSetup {
    /// A description for people.
    pub description: String,
    /// Length of each test after ramp-up. Zero means until it is stopped.
    pub run_time: RunTime,
    /// Length of the ramp-up before measurement begins.
    pub ramp_up_seconds: u32,
    /// Disk workers of each manager.
    pub disk_workers: WorkerCount,
    /// Network workers of each manager.
    pub network_workers: WorkerCount,
    /// What is recorded.
    pub record_results: RecordResults,
    /// How the number of workers varies, if `test_type` says so.
    pub worker_cycling: Cycling,
    /// How the number of targets varies, if `test_type` says so.
    pub target_cycling: Cycling,
    /// How the number of outstanding accesses varies, if `test_type` says so.
    pub queue_depth_cycling: QueueDepthCycling,
    /// What varies from test to test.
    pub test_type: TestType,
}

impl Default for TestSetup {
    /// Returns the settings that Iometer starts with: one test without end.
    fn default() -> Self {
        let cycling = Cycling { start: 1, step: 1, step_type: StepType::Linear };
        Self {
            description: String::new(),
            run_time: RunTime::default(),
            ramp_up_seconds: 0,
            disk_workers: WorkerCount::OnePerProcessor,
            network_workers: WorkerCount::Fixed(0),
            record_results: RecordResults::All,
            worker_cycling: cycling,
            target_cycling: cycling,
            queue_depth_cycling: QueueDepthCycling {
                start: 1,
                end: 32,
                step: 2,
                step_type: StepType::Exponential,
            },
            test_type: TestType::Normal,
        }
    }
}

/// A length of time in Iometer's terms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct RunTime {
    /// Hours.
    pub hours: u32,
    /// Minutes.
    pub minutes: u32,
    /// Seconds.
    pub seconds: u32,
}

impl RunTime {
    /// Returns the time in seconds.
    ///
    /// ```
    /// use strewn_formats::iometer::RunTime;
    ///
    /// assert_eq!(RunTime { hours: 1, minutes: 20, seconds: 5 }.total_seconds(), 4805);
    /// ```
    #[must_use]
    pub fn total_seconds(self) -> u64 {
        u64::from(self.hours) * 3600 + u64::from(self.minutes) * 60 + u64::from(self.seconds)
    }
}

/// The number of workers of a manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WorkerCount {
    /// As many as its machine has processors.
    OnePerProcessor,
    /// This many.
    Fixed(u32),
}

macro_rules! words {
    ($(#[$about:meta])* $type:ident { $($(#[$doc:meta])* $variant:ident => $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $type {
            $($(#[$doc])* $variant,)+
        }

        impl $type {
            /// The words in a file. Old files have the position instead.
            pub(super) const WORDS: &'static [(Self, &'static str)] =
                &[$((Self::$variant, $word)),+];

            /// Returns the word that a file has for it.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }
    };
}

words! {
    /// What is recorded.
    RecordResults {
        /// Everything.
        All => "ALL",
        /// Managers and workers.
        NoTargets => "NO_TARGETS",
        /// Managers.
        NoWorkers => "NO_WORKERS",
        /// The sum of all managers.
        NoManagers => "NO_MANAGERS",
        /// Nothing.
        None => "NONE",
    }
}

words! {
    /// How a number grows from one test to the next.
    StepType {
        /// By adding the step.
        Linear => "LINEAR",
        /// By multiplying by the step.
        Exponential => "EXPONENTIAL",
    }
}

words! {
    /// What varies from test to test.
    TestType {
        /// Nothing: each access specification is tested once.
        Normal => "NORMAL",
        /// The number of targets of each worker.
        CycleTargets => "CYCLE_TARGETS",
        /// The number of workers.
        CycleWorkers => "CYCLE_WORKERS",
        /// The number of targets, all workers together.
        IncrementTargetsParallel => "INCREMENT_TARGETS_PARALLEL",
        /// The number of targets, one worker after the other.
        IncrementTargetsSerial => "INCREMENT_TARGETS_SERIAL",
        /// The number of workers, and for each the number of targets.
        CycleWorkersAndTargets => "CYCLE_WORKERS_AND_TARGETS",
        /// The number of outstanding accesses.
        CycleOutstandingIos => "CYCLE_OUTSTANDING_IOS",
        /// The number of targets, and for each that of outstanding accesses.
        CycleOutstandingIosAndTargets => "CYCLE_OUTSTANDING_IOS_AND_TARGETS",
    }
}

words! {
    /// The period that the results in the window cover.
    UpdateType {
        /// The test from its start.
        WholeTest => "WHOLE_TEST",
        /// The time since the last update.
        LastUpdate => "LAST_UPDATE",
    }
}

words! {
    /// The contents of written blocks.
    DataPattern {
        /// Repeating bytes.
        RepeatingBytes => "0",
        /// Pseudo-random bytes, regenerated now and then.
        PseudoRandom => "1",
        /// Random bytes.
        FullRandom => "2",
    }
}

/// How the number of workers or targets varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cycling {
    /// The first number.
    pub start: u32,
    /// The increment or factor.
    pub step: u32,
    /// How it grows.
    pub step_type: StepType,
}

/// How the number of outstanding accesses varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct QueueDepthCycling {
    /// The first number.
    pub start: u32,
    /// The limit: no number exceeds it.
    pub end: u32,
    /// The increment or factor.
    pub step: u32,
    /// How it grows.
    pub step_type: StepType,
}

impl QueueDepthCycling {
    /// Returns the numbers of outstanding accesses, one for each test: at most 1000, in case they do not grow.
    ///
    /// ```
    /// use strewn_formats::iometer::{QueueDepthCycling, StepType};
    ///
    /// let cycling =
    ///     QueueDepthCycling { start: 1, end: 32, step: 2, step_type: StepType::Exponential };
    /// assert_eq!(cycling.depths().collect::<Vec<_>>(), [1, 2, 4, 8, 16, 32]);
    /// ```
    pub fn depths(self) -> impl Iterator<Item = u32> {
        let next = move |depth: &u32| match self.step_type {
            StepType::Linear => depth.checked_add(self.step),
            StepType::Exponential => depth.checked_mul(self.step),
        };
        std::iter::successors(Some(self.start), next)
            .take_while(move |depth| *depth <= self.end)
            .take(1000)
    }
}

/// What Iometer's window shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultsDisplay {
    /// Whether the displayed figures are recorded too.
    pub record_last_update: bool,
    /// How often the window is updated: an index into Iometer's list of intervals.
    pub update_frequency: u32,
    /// The period that the results cover.
    pub update_type: UpdateType,
    /// Its bar charts.
    pub bar_charts: Vec<BarChart>,
}

/// A line about a bar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BarChart {
    /// Which bar, 1 to 6.
    pub number: u32,
    /// The setting.
    pub item: BarItem,
}

/// A setting of a bar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BarItem {
    /// The figure it shows.
    Statistic(String),
    /// The manager that it covers.
    Manager {
        /// Its number.
        id: u32,
        /// Its name.
        name: String,
    },
    /// The worker that it covers.
    Worker {
        /// Its number.
        id: u32,
        /// Its name.
        name: String,
    },
}

/// A machine that does the work: a run of Dynamo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manager {
    /// Its number among those of its name.
    pub id: u32,
    /// The name of the machine.
    pub name: String,
    /// Its network address, often empty.
    pub network_address: String,
    /// Its threads.
    pub workers: Vec<Worker>,
}

/// A thread that does the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// Its name.
    pub name: String,
    /// The kind of its targets.
    pub kind: WorkerKind,
    /// How it accesses its targets.
    pub settings: Option<TargetSettings>,
    /// The names of its access specifications, in order.
    pub assigned_specifications: Option<Vec<String>>,
    /// Its targets.
    pub targets: Option<Vec<Target>>,
}

words! {
    /// The kind of a worker and of its targets.
    WorkerKind {
        /// Disks.
        Disk => "DISK",
        /// Another worker by TCP.
        Tcp => "NETWORK,TCP",
        /// Another worker by the Virtual Interface Architecture.
        Vi => "NETWORK,VI",
    }
}

/// How a worker accesses its targets.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct TargetSettings {
    /// Accesses outstanding at each target.
    pub outstanding_ios: u32,
    /// Transactions per connection, if connections are closed and reopened.
    pub connection_rate: Option<u32>,
    /// The value of that field while connections stay open.
    pub idle_transactions_per_connection: u32,
    /// The seed of random numbers; from the clock if absent.
    pub fixed_seed: Option<u64>,
    /// The value of that field while no fixed seed is used.
    pub idle_seed: u64,
    /// Sectors to access; 0 means the whole disk.
    pub maximum_size_sectors: u64,
    /// The first sector that is accessed.
    pub starting_sector: u64,
    /// The contents of written blocks; absent in files of older versions.
    pub data_pattern: Option<DataPattern>,
    /// The interface of a network worker.
    pub local_network_interface: Option<String>,
    /// The outstanding sends of a VI worker.
    pub vi_outstanding_ios: Option<u32>,
}

/// A target of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its name, such as `D: "Data"` or `PHYSICALDRIVE:1`.
    pub name: String,
    /// Its kind.
    pub kind: WorkerKind,
    /// The number and the name of the manager at the other end, for a network.
    pub manager: Option<(u32, String)>,
}
