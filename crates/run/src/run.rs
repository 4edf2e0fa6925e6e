//! Running a scenario: every array in parallel, segment after segment, into results.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use strewn_results::{
    ArrayMap, ArrayResults, FittedSetting, LayoutMap, MAP_SCHEMA, Published, Results, SCHEMA,
    Scaled,
};
use strewn_scenario::Scenario;
use strewn_sim::{AnyHost, Progress, Segment, Simulated, SimulationError, Watched};

use crate::array_run::ArrayRun;
use crate::client_raid;
use crate::gateway;
use crate::hosts;
use crate::layout_map;
use crate::load::Load;
use crate::memory;
use crate::observer::Observer;
use crate::parallel;
use crate::published_names;
use crate::record::{self, Recording};
use crate::replicates::{self, Further, Uncertainty};
use crate::results;
use crate::run_error::{RunError, Unwritten};
use crate::saved_run::SavedRun;
use crate::scale_limits;
use crate::wall_clock::WallClock;
use strewn_scenario::build;
use strewn_scenario::build::SetUpError;
use strewn_scenario::kinds::SetUp;

/// A run of so many segments,
const MANY_SEGMENTS: u32 = 20;
/// each no longer than this, is one whose throughput is drawn over time; its map is not taken after every segment.
const SHORT_SEGMENT_NS: u64 = 10_000_000_000;

/// How many times smaller `--quick` runs: at 8 the shipped scenario takes seconds, and both arrays stay near their
/// full-scale curves (docs/model.md says how near).
pub const QUICK_SCALE_DOWN: u32 = 8;

/// How to run a scenario.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// Number of threads; 0 for one per core. The results do not depend on it.
    pub jobs: usize,
    /// Run at 1/`scale_down` of full scale (see [`Scenario::scaled_down`]); 0 and 1 mean full scale.
    pub scale_down: u32,
    /// Replaces the scenario's workload. The published figures do not apply to it, and are left out.
    pub load: Option<Load>,
    /// Measure reads and writes apart ([`Segment::by_direction`]). This makes a plain closed loop slower to run.
    pub by_direction: bool,
    /// Log every host operation to this file as a fio iolog. With several arrays there is a file per array, with the
    /// array's name before the extension.
    pub record_iolog: Option<PathBuf>,
    /// Save the run after each segment of an array and when it is stopped, and go on from where it was saved last. The
    /// scenario and [`scale_down`](Self::scale_down) must be its own. Nothing else may be given but `jobs`.
    pub save: Option<Arc<SavedRun>>,
    /// Run the scenario this many times, with its seed and the ones that follow it, and put bands around the figures,
    /// which are those of the first run. 0 and 1 mean one run. Nothing of the further runs is observed or logged.
    pub replicates: u32,
    /// The file that has what unknown constants do to the figures ([`Sensitivity`](strewn_results::Sensitivity)), for
    /// these bands. It is no error if it is not there.
    pub sensitivity: Option<PathBuf>,
}

/// Runs `scenario` and compares it with its published figures.
///
/// The same scenario gives the same results with any number of threads, `wall_seconds` aside.
///
/// # Errors
/// See [`RunError`]. It is not an error if `observer` stops the run: the results hold the complete segments and are
/// marked as partial. Nor is it an error if an array loses data: its results end there and report the loss.
pub fn run(
    scenario: &Scenario,
    options: &RunOptions,
    observer: &dyn Observer,
) -> Result<Results, RunError> {
    Ok(run_and_look(scenario, options, false, observer)?.0)
}

/// As [`run`], and also records the layout of the file before the first segment and after each one. A recording takes a
/// fraction of a second for 100 GiB.
///
/// # Errors
/// As [`run`].
pub fn run_with_map(
    scenario: &Scenario,
    options: &RunOptions,
    observer: &dyn Observer,
) -> Result<(Results, LayoutMap), RunError> {
    run_and_look(scenario, options, true, observer)
}

fn run_and_look(
    scenario: &Scenario,
    options: &RunOptions,
    with_map: bool,
    observer: &dyn Observer,
) -> Result<(Results, LayoutMap), RunError> {
    let clock = WallClock::start();
    let load = options.load.as_ref();
    scenario.check()?;
    let save = options.save.as_deref();
    let published = match load {
        Some(_) => None,
        None => read_published(scenario, save.and_then(SavedRun::published))?,
    };
    let uncertainty = Uncertainty::read(
        scenario,
        options.sensitivity.as_deref(),
        save.and_then(SavedRun::sensitivity),
    )?;
    let scaled = ScaledScenario::new(scenario, options.scale_down);
    let scenario = &scaled.scenario;
    // A state is read as a whole before it is restored.
    let saved_bytes = save.map_or(0, |save| save.bytes(scenario.arrays.len()));
    memory::check_replicates(scenario, saved_bytes, options.replicates, options.jobs)?;
    if let Some(load) = load {
        load.check(scenario)?;
    }
    // Whoever resumes the run may want the map.
    let scenarios = replicates::scenarios(scenario, options.replicates);
    let mut further = run_arrays(&scenarios, options, with_map || save.is_some(), observer)?;
    let mut done = further.remove(0);
    let unwritten = done.iter_mut().find_map(|done| {
        let unsaved = done.unsaved.take().map(RunError::Save);
        unsaved.or_else(|| done.unrecorded.take().map(RunError::Record))
    });
    let (mut results, map) = together(&scaled, published.as_ref(), load, &mut done)?;
    results.wall_seconds = strewn_results::rounded(clock.seconds(), 4);
    uncertainty.add_bands(&mut results, &scenarios, &further, published.as_ref());
    match unwritten {
        Some(error) => Err(RunError::Unwritten(Box::new(Unwritten { results, map, error }))),
        None => Ok((results, map)),
    }
}

/// A scenario as it is run.
pub(crate) struct ScaledScenario {
    pub(crate) scenario: Scenario,
    /// What was scaled down, unless it is run at full scale.
    pub(crate) scaled: Option<Scaled>,
}

impl ScaledScenario {
    /// Returns the scenario at 1/`scale_down` of its scale; 0 and 1 mean full scale.
    pub(crate) fn new(scenario: &Scenario, scale_down: u32) -> Self {
        if scale_down <= 1 {
            return Self { scenario: scenario.clone(), scaled: None };
        }
        let (scenario, mut what) = scenario.scaled_down(scale_down);
        what.extend(scale_limits::changes(&scenario));
        let scaled = Scaled { by: scale_down, what, out_of_proportion: Vec::new() };
        Self { scenario, scaled: Some(scaled) }
    }
}

/// Puts together what the arrays did, in the scenario's order. The maps are taken out of them.
pub(crate) fn together(
    scaled: &ScaledScenario,
    published: Option<&Published>,
    load: Option<&Load>,
    done: &mut [ArrayRun],
) -> Result<(Results, LayoutMap), RunError> {
    let ScaledScenario { scenario, scaled } = scaled;
    let origins = scenario.origins();
    let with_done = scenario.arrays.iter().zip(&*done);
    let mut arrays: Vec<ArrayResults> =
        with_done.map(|(array, done)| results::of_array(scenario, &origins, array, done)).collect();
    if let Some(load) = load {
        for (index, array) in arrays.iter_mut().enumerate() {
            array.outstanding = load.outstanding(scenario, index);
        }
    }
    let ended = done.iter().all(|done| done.host_is_done);
    let workload = load.map(|load| load.described(scenario, ended)).transpose()?;
    let short = |done: &ArrayRun| done.segments.len() < scenario.segments as usize;
    let partial = done.iter().any(|done| short(done) && !done.ended_by_itself());
    let fitted = strewn_results::fitted_segments_by_array(&arrays);
    let overhead = results::overhead(scenario, workload.as_ref(), &arrays)?;
    let host_ops =
        done.iter().flat_map(|done| &done.segments).map(|segment| segment.operations).sum();
    let mut scaled = scaled.clone();
    if let Some(scaled) = &mut scaled {
        let of_array =
            |(array, done)| scale_limits::out_of_proportion(scenario, scaled.by, array, done);
        let with_done = scenario.arrays.iter().zip(&*done);
        scaled.out_of_proportion = with_done.flat_map(of_array).collect();
    }
    let map = LayoutMap {
        schema: MAP_SCHEMA,
        scenario: scenario.name.clone(),
        seed: scenario.seed,
        arrays: done.iter_mut().filter_map(|done| done.map.take()).collect(),
    };
    let is_scaled = scaled.is_some();
    let fitted_settings = results::fitted_settings(scenario, published, &arrays, is_scaled);
    let mut results = Results {
        schema: SCHEMA,
        scenario: scenario.name.clone(),
        title: Some(scenario.title.clone()),
        settings: results::settings(scenario),
        setting_sources: results::setting_sources(scenario, &origins),
        seed: scenario.seed,
        strewn: env!("CARGO_PKG_VERSION").to_owned(),
        host_ops,
        partial,
        scaled,
        load: Some(results::load(scenario, load.is_none())),
        workload,
        real_spindles: None,
        published: published
            .map(|figures| strewn_results::compare(figures, &arrays, &fitted))
            .unwrap_or_default(),
        ratios: published
            .map(|figures| strewn_results::ratios(figures, &arrays, &fitted))
            .unwrap_or_default(),
        published_rows: published
            .map(|figures| {
                let is_fitted = |setting: &&FittedSetting| setting.off_percent.is_none();
                let rows = fitted_settings.iter().filter(is_fitted).flat_map(|one| &one.rows);
                let fitted_rows: Vec<&str> = rows.map(String::as_str).collect();
                strewn_results::compare_rows(figures, &arrays, &fitted_rows, is_scaled)
            })
            .unwrap_or_default(),
        fitted_settings,
        overhead,
        losses: Vec::new(),
        findings: Vec::new(),
        bands: None,
        arrays,
        wall_seconds: 0.0,
    };
    results::mark_unfitted(&mut results, scenario);
    results::set_loads(&mut results, scenario, load.is_none());
    results.losses = strewn_results::losses(&results);
    results.findings = strewn_results::findings(&results);
    Ok((results, map))
}

/// Reads the published figures that a scenario names; `None` if it names none.
///
/// # Errors
/// If the file cannot be read, is wrong, or has figures of an array that the scenario does not have.
pub fn published(scenario: &Scenario) -> Result<Option<Published>, RunError> {
    read_published(scenario, None)
}

/// The same, from `text` if their file has been read.
pub(crate) fn read_published(
    scenario: &Scenario,
    text: Option<&str>,
) -> Result<Option<Published>, RunError> {
    let Some(path) = &scenario.published else { return Ok(None) };
    let text = match text {
        Some(text) => text.to_owned(),
        None => std::fs::read_to_string(path)
            .map_err(|source| RunError::PublishedFile { path: path.clone(), source })?,
    };
    let published = Published::from_toml(&text, path).map_err(RunError::Published)?;
    published_names::check(scenario, &published, path)?;
    Ok(Some(published))
}

/// Runs every array of every scenario, in parallel if there are threads, and returns what they did by scenario. The
/// scenarios differ by their seed; the first is the one that is observed.
fn run_arrays(
    scenarios: &[Scenario],
    options: &RunOptions,
    with_map: bool,
    observer: &dyn Observer,
) -> Result<Vec<Vec<ArrayRun>>, RunError> {
    let observer = UntilOneFails { observer, failed: AtomicBool::new(false) };
    let arrays = scenarios[0].arrays.len();
    let further = Further::new(&observer, (scenarios.len() - 1) * arrays);
    let further_options = (scenarios.len() > 1).then(|| RunOptions {
        scale_down: options.scale_down,
        load: options.load.clone(),
        ..RunOptions::default()
    });
    let run = |number: usize| {
        let (scenario, index) = (&scenarios[number / arrays], number % arrays);
        let done = match &further_options {
            // An array is not set up to be stopped at once.
            Some(_) if number >= arrays && further.stop() => return Ok(ArrayRun::default()),
            Some(options) if number >= arrays => {
                let done = run_array(scenario, options, index, false, &further);
                further.one_is_done();
                done
            }
            _ => run_array(scenario, options, index, with_map, &observer),
        };
        if done.as_ref().map_or(true, |done| done.unsaved.is_some()) {
            observer.failed.store(true, Ordering::Relaxed);
        }
        done
    };
    // In order, so that a run that is stopped has its own figures before it has a band.
    let numbers = (0..scenarios.len() * arrays).collect();
    let mut done = parallel::over_threads(options.jobs, numbers, run)?.into_iter();
    Ok(scenarios.iter().map(|_| done.by_ref().take(arrays).collect()).collect())
}

/// Stops all arrays when one has failed, because their results would be discarded, or cannot be saved.
struct UntilOneFails<'a> {
    observer: &'a dyn Observer,
    failed: AtomicBool,
}

impl Observer for UntilOneFails<'_> {
    fn progress(&self, array: usize, progress: Progress) {
        self.observer.progress(array, progress);
    }

    fn segment(&self, array: usize, segment: &Segment) {
        self.observer.segment(array, segment);
    }

    fn so_far(&self, array: usize, done: &ArrayRun) {
        self.observer.so_far(array, done);
    }

    fn replicates(&self, done: usize, all: usize) {
        self.observer.replicates(done, all);
    }

    fn stop(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.observer.stop()
    }
}

/// Runs one array of `scenario` under its own workloads, and records where its file lies.
pub(crate) fn run_own_array(
    scenario: &Scenario,
    index: usize,
    observer: &dyn Observer,
) -> Result<ArrayRun, RunError> {
    let segments = Segments { scenario, index, with_map: true, save: None, observer };
    segments.run(simulate(scenario, index)?)
}

/// Runs one array of `scenario` to its end, or until its host is done, data are lost or `observer` stops it.
pub(crate) fn run_array(
    scenario: &Scenario,
    options: &RunOptions,
    index: usize,
    with_map: bool,
    observer: &dyn Observer,
) -> Result<ArrayRun, RunError> {
    let save = options.save.as_deref();
    let segments = Segments { scenario, index, with_map, save, observer };
    if options.load.is_none() && !options.by_direction && options.record_iolog.is_none() {
        return segments.run(simulate(scenario, index)?);
    }
    let array = &scenario.arrays[index];
    let host = match &options.load {
        Some(load) => load.host(scenario, index, hosts::seed(scenario, index))?,
        None => own_host(scenario, index)?,
    };
    let recording = options.record_iolog.as_ref().map(|path| {
        let path = record::iolog_of_array(path, &array.name, scenario.arrays.len());
        Recording::begin(path, &build::luns(array))
    });
    let recording = recording.transpose()?;
    let host = match &recording {
        None if !options.by_direction => host,
        recording => {
            let watch = recording.as_ref().map(Recording::watch);
            Watched::new(host.boxed(), watch).into()
        }
    };
    let run = segments.run(simulate_under(scenario, index, host)?)?;
    let unrecorded = recording.and_then(|recording| recording.finish().err());
    Ok(ArrayRun { unrecorded, ..run })
}

/// Builds the host of the scenario's own workloads.
pub(crate) fn own_host(scenario: &Scenario, index: usize) -> Result<AnyHost, RunError> {
    let array = &scenario.arrays[index].name;
    hosts::host(scenario, index).map_err(|source| RunError::Build {
        array: array.clone(),
        scale_down: scenario.spindle_stretch,
        source,
    })
}

/// Sets up array number `index` of `scenario`, with its scheduled failures, added parity groups and snapshots, under
/// its own workloads. This is for programs that step through a simulation themselves; [`run`] is for whole runs.
///
/// ```
/// use std::ops::ControlFlow;
///
/// use strewn_run::simulate;
/// use strewn_scenario::Scenario;
///
/// let scenario = Scenario::default().scaled_down(64).0;
/// let mut simulation = simulate(&scenario, 0)?;
/// let second = simulation.run_segment(1_000_000_000, &mut |_| ControlFlow::Continue(()))?;
/// assert!(second.operations > 4000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`RunError::Build`] and [`RunError::Simulation`] if the array cannot be set up.
///
/// # Panics
/// If the scenario has no such array.
pub fn simulate(scenario: &Scenario, index: usize) -> Result<Box<dyn Simulated>, RunError> {
    simulate_under(scenario, index, own_host(scenario, index)?)
}

/// As [`simulate`], under `host`.
pub(crate) fn simulate_under(
    scenario: &Scenario,
    index: usize,
    host: AnyHost,
) -> Result<Box<dyn Simulated>, RunError> {
    let array = &scenario.arrays[index];
    let simulated = gateway::with_gateway(scenario, host, array)
        .and_then(|host| hosts::with_page_cache(scenario, host, array))
        .and_then(|host| client_raid::with_client_raid(scenario, host, array))
        .map_err(SetUpError::Build)
        .and_then(|host| array.layout.simulate(SetUp { scenario, array, host }));
    simulated.map_err(|error| match error {
        SetUpError::Build(source) => {
            let scale_down = scenario.spindle_stretch;
            RunError::Build { array: array.name.clone(), scale_down, source }
        }
        SetUpError::Simulation(source) => {
            RunError::Simulation { array: array.name.clone(), source }
        }
    })
}

/// Whether a map is taken after every segment, and not only before the first and after the last: a look at a large
/// aggregate takes longer than many a second of a run.
fn maps_every_segment(scenario: &Scenario) -> bool {
    scenario.segments < MANY_SEGMENTS || scenario.segment_ns > SHORT_SEGMENT_NS
}

/// All segments of a scenario, for array number `index`.
struct Segments<'a> {
    scenario: &'a Scenario,
    index: usize,
    with_map: bool,
    save: Option<&'a SavedRun>,
    observer: &'a dyn Observer,
}

impl Segments<'_> {
    fn run(self, mut simulation: Box<dyn Simulated>) -> Result<ArrayRun, RunError> {
        let Self { scenario, index, with_map, save, observer } = self;
        let array = scenario.arrays[index].name.clone();
        let layout = &scenario.arrays[index].layout;
        let files = layout_map::files(scenario, index);
        let empty_map = |simulation: &dyn Simulated| {
            layout_map::mapped(layout, simulation.array())
                .empty_map(scenario, &scenario.arrays[index])
        };
        let look_at_file = |simulation: &dyn Simulated,
                            map: &mut Option<ArrayMap>,
                            segment: u32| {
            if let Some(map) = map {
                let picture = layout_map::mapped(layout, simulation.array()).picture(map, &files);
                map.add(segment, &picture);
            }
        };
        // What will be looked at after each segment, of a state that may be damaged.
        let check = |simulation: &dyn Simulated| {
            simulation.assert_invariants();
            look_at_file(simulation, &mut Some(empty_map(simulation)), 0);
        };
        let restored = save.map(|save| save.restore(index, &mut *simulation, check));
        let restored = restored.transpose()?.flatten();
        let (mut run, mut has_ended) = match restored {
            Some(restored) => restored,
            None => {
                let map = with_map.then(|| empty_map(&*simulation));
                let mut run = ArrayRun { map, ..ArrayRun::default() };
                if scenario.warm_up_ns.is_none() {
                    look_at_file(&*simulation, &mut run.map, 0);
                }
                (run, false)
            }
        };
        while !has_ended && run.segments.len() < scenario.segments as usize {
            if simulation.is_done() {
                break;
            }
            let mut look = |progress| {
                observer.progress(index, progress);
                if observer.stop() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let mut is_stopped = false;
            let warm_up_ns = scenario.warm_up_ns.filter(|_| run.warm_up.is_none());
            let length_ns = warm_up_ns.unwrap_or(scenario.segment_ns);
            match simulation.run_segment(length_ns, &mut look) {
                Ok(segment) if !segment.laws.hold() => {
                    return Err(RunError::LawBroken {
                        array,
                        segment: segment.index,
                        littles_percent: segment.laws.littles_law_error * 100.0,
                        utilization_percent: segment.laws.utilization_law_error * 100.0,
                    });
                }
                // The host was done as the segment before it ended.
                Ok(segment) if segment.length_ns == 0 => {}
                Ok(mut segment) => {
                    // The warm-up is the simulation's first segment, and none of the run's.
                    segment.index -= u32::from(scenario.warm_up_ns.is_some());
                    if warm_up_ns.is_none() {
                        observer.segment(index, &segment);
                    }
                    segment.forget_responses();
                    match warm_up_ns {
                        Some(_) => {
                            run.warm_up = Some(segment);
                            look_at_file(&*simulation, &mut run.map, 0);
                        }
                        None => {
                            let index_of_segment = segment.index;
                            run.segments.push(segment);
                            let array = &scenario.arrays[index];
                            let warm_up = run.warm_up.as_ref();
                            run.is_at_goal =
                                build::is_at_goal(scenario, array, warm_up, &run.segments);
                            let is_last = index_of_segment >= scenario.segments
                                || simulation.is_done()
                                || run.is_at_goal;
                            if is_last || maps_every_segment(scenario) {
                                look_at_file(&*simulation, &mut run.map, index_of_segment);
                            }
                        }
                    }
                    observer.so_far(index, &run);
                }
                Err(SimulationError::Stopped) => is_stopped = true,
                Err(SimulationError::DataLost(lost)) => {
                    run.data_loss = Some(lost);
                    has_ended = true;
                }
                Err(source) => return Err(RunError::Simulation { array, source }),
            }
            run.failures = simulation.failures();
            run.host_is_done = simulation.is_done();
            has_ended |= run.ended_by_itself() || run.segments.len() >= scenario.segments as usize;
            if let Some(save) = save {
                let saved = save.save(index, &run, (!has_ended).then_some(&*simulation));
                run.unsaved = saved.err();
            }
            if is_stopped || run.unsaved.is_some() {
                break;
            }
        }
        Ok(run)
    }
}
