//! The general host: depths, bursts, pauses, rates, ends, and arrivals by the clock.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

use strewn_array::in_place::{DiskGroupConfig, InPlace, InPlaceConfig, LunConfig};
use strewn_array::{Direction, HostOperation, ProcessorCosts};
use strewn_raid::{VraidConfig, VraidLayout};
use strewn_sim::{
    Accesses, AccessesError, ClosedLoop, Host, Outstanding, Rate, Segment, Simulation,
    SimulationError, Spindles, ThinkTime, TimedAccess, Watched, Worker, Workers,
};
use strewn_spindle::{Drive, Profile, Scheduler};
use strewn_workload::{
    Access, AccessSpecification, AccessStream, Distribution, Pattern, PatternLine, PatternStream,
    Sequence,
};

pub(crate) const FILE_SECTORS: u64 = 1 << 20;
pub(crate) const MS: u64 = 1_000_000;

pub(crate) fn simulation<H: Host>(host: H) -> Simulation<InPlace<()>, H> {
    let profile = Profile::shipped("seagate-cheetah-15k5-st3146855fc").unwrap();
    let drive = Arc::new(Drive::new(&profile).unwrap());
    let spindle_sectors = drive.capacity_sectors();
    let array = InPlace::<()>::new(InPlaceConfig {
        destage_low_sectors: 1024,
        processor: ProcessorCosts { host_operation_ns: 20_000, ..ProcessorCosts::default() },
        ..InPlaceConfig::new(
            vec![DiskGroupConfig::new(
                VraidLayout::new(VraidConfig::new(vec![5]), spindle_sectors * 512).unwrap(),
                8,
            )],
            vec![LunConfig::whole(FILE_SECTORS)],
            spindle_sectors,
            4096,
        )
    })
    .unwrap();
    let spindles = Spindles::new(drive, Scheduler::Sptf, 8);
    Simulation::with_host(array, &spindles, host).unwrap()
}

/// Runs until the host is done. Returns the segments, and when each operation was issued and
/// whether it wrote.
fn run(host: impl Host + 'static, segment_ms: u64, most: u32) -> (Vec<Segment>, Vec<(u64, bool)>) {
    let issued = Rc::new(RefCell::new(Vec::new()));
    let told = Rc::clone(&issued);
    let watch = move |now_ns: u64, operation: &HostOperation<()>| {
        told.borrow_mut().push((now_ns, operation.direction == Direction::Write));
    };
    let mut simulation = simulation(Watched::new(Box::new(host), Some(Box::new(watch))));
    let mut segments = Vec::new();
    while !simulation.is_done() && segments.len() < most as usize {
        let segment =
            simulation.run_segment(segment_ms * MS, &mut |_| ControlFlow::Continue(())).unwrap();
        assert!(segment.laws.hold(), "{:?}", segment.laws);
        segments.push(segment);
    }
    drop(simulation);
    (segments, Rc::into_inner(issued).unwrap().into_inner())
}

fn stream(read_percent: u8, burst_accesses: u32, delay_ms: u64) -> Box<PatternStream> {
    let line = PatternLine {
        bytes: 4096,
        weight: 1,
        read_percent,
        random_percent: 100,
        alignment_bytes: 4096,
        burst_accesses,
        delay_ns: delay_ms * MS,
    };
    let pattern = Pattern {
        name: "test".into(),
        lines: vec![line],
        distributions: [Distribution::Uniform, Distribution::Uniform],
        sequence: Sequence::AnyAccess,
    };
    Box::new(PatternStream::new(&pattern, 0, FILE_SECTORS, 1).unwrap())
}

/// Accesses at given times, or as soon as possible.
struct Arrivals(Vec<u64>);

impl Accesses for Arrivals {
    fn next_access(&mut self) -> Result<Option<TimedAccess>, AccessesError> {
        let Some(not_before_ns) = self.0.pop() else { return Ok(None) };
        let sector = not_before_ns / MS * 1000 % FILE_SECTORS / 8 * 8;
        let access = Access { sector, sectors: 8, direction: Direction::Read };
        Ok(Some(TimedAccess { access, not_before_ns, delay_ns: 0 }))
    }
}

fn open(arrivals_ms: impl DoubleEndedIterator<Item = u64>, most: u32) -> Workers {
    let times = arrivals_ms.rev().map(|ms| ms * MS).collect();
    let mut worker = Worker::closed_loop(Box::new(Arrivals(times)), 1);
    worker.outstanding = Outstanding::Open { most };
    Workers::new(vec![worker])
}

/// A closed loop of workers is the plain closed loop, except for events at the very same moment.
#[test]
fn workers_without_a_pace_are_a_closed_loop() {
    let specification = AccessSpecification::shipped("file-server").unwrap();
    let accesses = AccessStream::new(&specification, 0, FILE_SECTORS, 5).unwrap();
    let (plain, _) = run(ClosedLoop::new(accesses, 16), 20_000, 1);
    let pattern = Pattern::from(&specification);
    let accesses = Box::new(PatternStream::new(&pattern, 0, FILE_SECTORS, 5).unwrap());
    let (workers, _) = run(Workers::new(vec![Worker::closed_loop(accesses, 16)]), 20_000, 1);
    let (plain, workers) = (&plain[0], &workers[0]);
    let off = plain.operations.abs_diff(workers.operations) as f64 / plain.operations as f64;
    assert!(off < 0.01, "{} {}", plain.operations, workers.operations);
    assert!((workers.mean_outstanding - 16.0).abs() < 1e-6);
}

#[test]
fn the_delay_of_a_burst_runs_while_answers_come() {
    let (_, issued) =
        run(Workers::new(vec![Worker::closed_loop(stream(100, 3, 100), 8)]), 2_000, 1);
    // At 100, 200 and so on: a burst is issued at once, and the next follows after its delay.
    let expected: Vec<u64> = (1..20).flat_map(|burst| [burst * 100 * MS; 3]).collect();
    let times: Vec<u64> = issued.iter().map(|(at_ns, _)| *at_ns).collect();
    assert_eq!(times[..expected.len()], expected);
}

#[test]
fn think_time_begins_when_all_is_answered() {
    let mut worker = Worker::closed_loop(stream(100, 1, 0), 8);
    worker.think_time = Some(ThinkTime { accesses: 4, pause_ns: 50 * MS });
    let (segments, issued) = run(Workers::new(vec![worker]), 2_000, 1);
    for bursts in issued.chunks_exact(4).collect::<Vec<_>>().windows(2) {
        assert!(bursts[0].iter().all(|one| one.0 == bursts[0][0].0));
        // Longer than the pause, by the longest of four responses.
        let gap_ns = bursts[1][0].0 - bursts[0][0].0;
        assert!((50 * MS + 1..80 * MS).contains(&gap_ns), "{gap_ns}");
    }
    assert!(segments[0].operations > 100);
}

#[test]
fn rates_hold_for_each_direction_and_are_caught_up_with() {
    let mut worker = Worker::closed_loop(stream(50, 1, 0), 4);
    worker.rates = [Some(Rate::Operations(50)), Some(Rate::Operations(50))];
    let (segments, issued) = run(Workers::new(vec![worker]), 20_000, 1);
    let writes = issued.iter().filter(|(_, write)| *write).count();
    assert!((940..=1001).contains(&writes) && (940..=1001).contains(&(issued.len() - writes)));
    assert_eq!(segments.len(), 1);

    let mut worker = Worker::closed_loop(stream(100, 1, 0), 4);
    worker.rates[0] = Some(Rate::Bytes(4096 * 100));
    worker.runtime_ns = Some(10_000 * MS);
    let (segments, issued) = run(Workers::new(vec![worker]), 60_000, 9);
    assert_eq!((issued.len(), segments.len()), (1000, 1));
    assert!(segments[0].length_ns.abs_diff(10_000 * MS) < 50 * MS);
}

#[test]
fn a_rate_of_reads_and_writes_together_is_exact_however_small() {
    for (per_second, read_percent) in [(1, 50), (3, 80), (7, 33)] {
        let mut worker = Worker::closed_loop(stream(read_percent, 1, 0), 4);
        worker.rate = Some(Rate::Operations(per_second));
        let (_, issued) = run(Workers::new(vec![worker]), 60_000, 1);
        assert_eq!(issued.len() as u64, 60 * per_second, "{per_second} a second");
    }
}

#[test]
fn a_group_waits_for_the_one_before() {
    let worker = |group, most_accesses| {
        let mut worker = Worker::closed_loop(stream(if group == 0 { 0 } else { 100 }, 1, 0), 2);
        worker.most_accesses = Some(most_accesses);
        worker.group = group;
        worker
    };
    let mut late = worker(1, 30);
    late.start_delay_ns = 500 * MS;
    let host = Workers::new(vec![worker(0, 10), worker(1, 20), worker(0, 40), late]);
    let (segments, issued) = run(host, 60_000, 9);
    assert_eq!(issued.len(), 100);
    assert!(issued[..50].iter().all(|(_, write)| *write));
    assert!(issued[50..].iter().all(|(_, write)| !write));
    assert!(issued.last().unwrap().0 - issued[50].0 > 500 * MS);
    let [segment] = &segments[..] else { panic!("one segment") };
    assert_eq!(segment.operations, 100);
    let [reads, writes] = &**segment.by_direction.as_ref().unwrap();
    assert_eq!((reads.answered.count, writes.answered.sectors), (50, 50 * 8));
}

#[test]
fn workloads_are_measured_apart_if_there_are_several() {
    let worker = |name: &str, reads, most_accesses| {
        let mut worker = Worker::closed_loop(stream(reads, 1, 0), 2);
        (worker.most_accesses, worker.workload) = (Some(most_accesses), Some(name.into()));
        worker
    };
    let workers = vec![worker("mixed", 100, 30), worker("writes", 0, 50), worker("mixed", 0, 20)];
    let (segments, _) = run(Workers::new(workers), 60_000, 9);
    let [segment] = &segments[..] else { panic!("one segment") };
    let answered = segment.by_workload.iter().map(|workload| {
        let [reads, writes] = &*workload.by_direction;
        (&*workload.name, reads.answered.count, writes.answered.count)
    });
    assert_eq!(answered.collect::<Vec<_>>(), [("mixed", 30, 20), ("writes", 0, 50)]);
    let [mixed, writes] = [0, 1].map(|index| segment.by_workload[index].response);
    assert_eq!(mixed.max_ns.max(writes.max_ns), segment.response.max_ns);
    let mean_ns = (mixed.mean_ns + writes.mean_ns) / 2.0;
    assert!((mean_ns / segment.response.mean_ns - 1.0).abs() < 1e-9, "{mixed:?}, {writes:?}");

    let (segments, _) = run(Workers::new(vec![worker("mixed", 100, 30)]), 60_000, 9);
    assert!(segments[0].by_workload.is_empty(), "one is all");
}

#[test]
fn depths_change_with_segments() {
    let host = Workers::new(vec![Worker::closed_loop(stream(100, 1, 0), 1)]);
    let (segments, _) = run(host.with_depths(vec![8, 2, 4]), 3_000, 4);
    let means: Vec<f64> = segments.iter().map(|segment| segment.mean_outstanding).collect();
    // When the depth falls, the operations above it are answered and not replaced.
    for (mean, depth) in means.iter().zip([8.0, 2.0, 4.0, 4.0]) {
        assert!((mean - depth).abs() < 0.05, "{means:?}");
    }
}

/// Work that ends with a segment, paced or not, leaves no segment without time or with nothing but answers.
#[test]
fn a_run_that_ends_with_a_segment_has_none_after_it() {
    let ending = |change: &dyn Fn(&mut Worker)| {
        let mut worker = Worker::closed_loop(stream(100, 1, 0), 4);
        worker.runtime_ns = Some(2_000 * MS);
        change(&mut worker);
        worker
    };
    let rate = |worker: &mut Worker| worker.rates[0] = Some(Rate::Operations(50));
    let idle: [(&str, Vec<Worker>); 5] = [
        ("rate", vec![ending(&rate)]),
        ("bytes", vec![ending(&|worker| worker.rates[0] = Some(Rate::Bytes(4096 * 50)))]),
        (
            "think time",
            vec![ending(&|worker| {
                worker.think_time = Some(ThinkTime { accesses: 1, pause_ns: 150 * MS });
            })],
        ),
        (
            "start delay",
            vec![ending(&|worker| {
                rate(worker);
                (worker.start_delay_ns, worker.runtime_ns) = (500 * MS, Some(1_500 * MS));
            })],
        ),
        (
            "groups",
            [0, 1]
                .map(|group| {
                    ending(&|worker| {
                        rate(worker);
                        (worker.group, worker.runtime_ns) = (group, Some(1_000 * MS));
                    })
                })
                .into(),
        ),
    ];
    for (name, workers) in idle {
        let (segments, issued) = run(Workers::new(workers), 1_000, 9);
        let lengths_ns: Vec<u64> = segments.iter().map(|segment| segment.length_ns).collect();
        assert_eq!(lengths_ns, [1_000 * MS; 2], "{name}");
        let answered: u64 = segments.iter().map(|segment| segment.operations).sum();
        assert_eq!(answered, issued.len() as u64, "{name}");
    }
    // Operations that are outstanding at the end are answered in the segment that they were issued in.
    let (segments, issued) = run(Workers::new(vec![ending(&|_| {})]), 1_000, 9);
    let [first, last] = &segments[..] else { panic!("{} segments", segments.len()) };
    assert!(first.length_ns == 1_000 * MS && last.length_ns > 1_000 * MS);
    assert!(last.length_ns < 1_050 * MS, "{}", last.length_ns);
    assert_eq!(first.operations + last.operations, issued.len() as u64);
}

/// The laws hold in segments that are idle, that have one operation, or that end during one.
#[test]
fn arrivals_come_by_the_clock_and_laws_hold_in_any_segment() {
    let times = [0, 1, 2, 3, 500, 999, 1000, 4001, 4002, 9_999];
    let (segments, issued) = run(open(times.into_iter(), 100), 1_000, 20);
    assert_eq!(issued.iter().map(|(at_ns, _)| at_ns / MS).collect::<Vec<_>>(), times);
    let operations: Vec<u64> = segments.iter().map(|segment| segment.operations).collect();
    assert_eq!(operations.iter().sum::<u64>(), 10);
    // The last one is answered after ten seconds, in the segment in which it arrived.
    assert_eq!((operations[2], operations[4], operations.len()), (0, 2, 10));
    assert!((1_000 * MS + 1..1_050 * MS).contains(&segments[9].length_ns));

    // In segments of one millisecond.
    let (fine, _) = run(open(0..50, 100), 1, 200);
    assert_eq!(fine.iter().map(|segment| segment.operations).sum::<u64>(), 50);
}

#[test]
fn an_open_loop_that_falls_behind_is_given_up() {
    let mut simulation = simulation(open((0..10_000).map(|number| number / 100), 500));
    let ended = simulation.run_segment(60_000 * MS, &mut |_| ControlFlow::Continue(()));
    let Err(SimulationError::Accesses(error)) = ended else { panic!("it should have been") };
    assert!(error.to_string().contains("more than 500 operations are outstanding"), "{error}");
}

#[test]
fn a_failure_to_get_an_access_ends_the_run() {
    struct Damaged;
    impl Accesses for Damaged {
        fn next_access(&mut self) -> Result<Option<TimedAccess>, AccessesError> {
            Err("line 7 is damaged".into())
        }
    }
    let host = Workers::new(vec![Worker::closed_loop(Box::new(Damaged), 1)]);
    let ended = simulation(host).run_segment(MS, &mut |_| ControlFlow::Continue(()));
    assert!(ended.is_err_and(|error| error.to_string().contains("line 7 is damaged")));
}

/// A run that was stopped as its host was done, and resumed, lacked the last segment.
#[test]
fn regression_a_segment_that_was_stopped_at_its_end_is_measured_by_the_next_call() {
    let worker = Worker { most_accesses: Some(20), ..Worker::closed_loop(stream(100, 1, 0), 4) };
    let mut simulation = simulation(Workers::new(vec![worker]));
    let stopped = simulation.run_segment(10_000 * MS, &mut |_| ControlFlow::Break(()));
    assert!(matches!(stopped, Err(SimulationError::Stopped)));
    assert!(!simulation.is_done());
    let segment = simulation.run_segment(10_000 * MS, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(segment.operations, 20);
    assert!(simulation.is_done());
}
