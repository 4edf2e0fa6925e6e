use proptest::prelude::*;
use strewn_formats::iometer::{
    AccessLine, AccessSpecification, BarItem, Configuration, Cycling, DataPattern,
    DefaultAssignment, Feature, Manager, RecordResults, RunTime, StepType, Target, TargetSettings,
    TestSetup, TestType, UpdateType, Version, Worker, WorkerCount, WorkerKind,
};

const FULL: &str = include_str!("../data/full.icf");
const SCRIPT: &str = include_str!("../data/script.icf");
const UNNAMED: &str = include_str!("../data/unnamed.icf");

#[test]
fn every_section_is_read() {
    let configuration = Configuration::parse(FULL, "full.icf").unwrap();
    assert_eq!(configuration.version, Version::CURRENT);
    let setup = configuration.test_setup.as_ref().unwrap();
    assert_eq!(setup.description, "aging of a 100 GiB LUN");
    assert_eq!(setup.run_time.total_seconds(), 1200);
    assert_eq!((setup.ramp_up_seconds, setup.record_results), (30, RecordResults::NoTargets));
    assert_eq!(setup.disk_workers, WorkerCount::OnePerProcessor);
    assert_eq!(setup.test_type, TestType::CycleOutstandingIos);
    let depths: Vec<u32> = setup.queue_depth_cycling.depths().collect();
    assert_eq!(depths, [1, 2, 4, 8, 16, 32, 64, 128]);
    let bars = &configuration.results_display.as_ref().unwrap().bar_charts;
    assert_eq!(bars[2].item, BarItem::Manager { id: 1, name: "FILER".into() });

    // The name contains a comma.
    let file_server = configuration.access_specification("FILE SERVER, AS INTEL HAS IT").unwrap();
    assert_eq!(file_server.default_assignment, DefaultAssignment::Disk);
    assert_eq!(file_server.lines.len(), 8);
    assert_eq!((file_server.lines[3].bytes, file_server.lines[3].percent_of_accesses), (4096, 60));

    let worker = &configuration.managers.as_ref().unwrap()[0].workers[0];
    let settings = worker.settings.as_ref().unwrap();
    assert_eq!((settings.outstanding_ios, settings.fixed_seed), (150, Some(u64::MAX)));
    assert_eq!((settings.maximum_size_sectors, settings.starting_sector), (209_715_200, 2048));
    assert_eq!(settings.data_pattern, Some(DataPattern::PseudoRandom));
    assert_eq!(worker.targets.as_ref().unwrap()[0].name, "D: \"Data\"");
    assert_eq!(configuration.unknown_assignments(), [""; 0]);
}

#[test]
fn what_iometer_wrote_is_written_the_same() {
    let configuration = Configuration::parse(FULL, "full.icf").unwrap();
    assert_eq!(configuration.to_icf().unwrap(), FULL);
    let mut written = Vec::new();
    configuration.write(&mut written).unwrap();
    assert_eq!(written, FULL.as_bytes());
}

#[test]
fn what_scripts_write_is_read_too() {
    let configuration = Configuration::parse(SCRIPT, "script.icf").unwrap();
    assert_eq!(configuration.version, Version::Dated { year: 2006, month: 7, day: 27 });
    let setup = configuration.test_setup.as_ref().unwrap();
    assert_eq!(setup.run_time, RunTime { hours: 0, minutes: 1, seconds: 30 });
    // One worker per processor was once written as 0.
    assert_eq!(setup.disk_workers, WorkerCount::OnePerProcessor);
    let cycling = Cycling { start: 1, step: 5, step_type: StepType::Linear };
    assert_eq!((setup.worker_cycling, setup.test_type), (cycling, TestType::Normal));
    let display = configuration.results_display.as_ref().unwrap();
    assert_eq!((display.update_frequency, display.update_type), (4, UpdateType::LastUpdate));
    // The second replaces the first, whose name differs in case only.
    let specifications = configuration.access_specifications.as_ref().unwrap();
    assert_eq!(specifications.len(), 1);
    assert_eq!(specifications[0].lines[0].read_percent, 51);
    assert_eq!(specifications[0].default_assignment, DefaultAssignment::All);
    let worker = &configuration.managers.as_ref().unwrap()[0].workers[0];
    assert_eq!(worker.settings.as_ref().unwrap().outstanding_ios, 64);
    assert_eq!(worker.settings.as_ref().unwrap().data_pattern, None);
    assert_eq!((&worker.assigned_specifications, &worker.targets), (&None, &None));
}

#[test]
fn specifications_without_names_are_named_as_iometer_does() {
    let configuration = Configuration::parse(UNNAMED, "unnamed.icf").unwrap();
    let specifications = configuration.access_specifications.as_ref().unwrap();
    let names: Vec<&str> = specifications.iter().map(|spec| spec.name.as_str()).collect();
    let expected = [
        "2KB random 67% reads",
        "512byte sequential reads",
        "2KB random 67% reads 2",
        "Untitled 1",
    ];
    assert_eq!(names, expected);
    assert_eq!(specifications[3].lines.len(), 2);
    assert_eq!(specifications[3].lines[0].burst_accesses, 4);
    // The section before has no end line, as in files of that time.
    assert_eq!(configuration.test_setup.as_ref().unwrap().run_time.seconds, 30);
    let written = configuration.to_icf().unwrap();
    let again = Configuration::parse(&written, "again.icf").unwrap();
    assert_eq!(again.version, Version::CURRENT);
    assert_eq!(again.access_specifications, configuration.access_specifications);
}

#[test]
fn what_may_not_be_honoured_is_listed_by_name() {
    let configuration = Configuration::parse(FULL, "full.icf").unwrap();
    let features: Vec<String> = configuration.features().iter().map(ToString::to_string).collect();
    let expected = [
        "ramp up time (test setup)",
        "cycling of outstanding I/Os (test setup)",
        "several workers (manager list)",
        "several targets of a worker (worker \"Worker 1\" of manager \"FILER\")",
        "several access specifications of a worker (worker \"Worker 1\" of manager \"FILER\")",
        "idle (worker \"Worker 1\" of manager \"FILER\")",
        "fixed seed (worker \"Worker 1\" of manager \"FILER\")",
        "disk maximum size (worker \"Worker 1\" of manager \"FILER\")",
        "starting sector (worker \"Worker 1\" of manager \"FILER\")",
        "data pattern (worker \"Worker 1\" of manager \"FILER\")",
        "network (worker \"Worker 2\" of manager \"FILER\")",
        "test of connection rate (worker \"Worker 2\" of manager \"FILER\")",
        "delay between bursts (line 1 of access specification \"8 KiB; 70% Read; bursts\")",
        "bursts (line 1 of access specification \"8 KiB; 70% Read; bursts\")",
        "alignment (line 1 of access specification \"8 KiB; 70% Read; bursts\")",
        "replies (line 1 of access specification \"8 KiB; 70% Read; bursts\")",
    ];
    assert_eq!(features, expected);
    let script = Configuration::parse(SCRIPT, "script.icf").unwrap();
    assert!(script.features().iter().any(|found| found.feature == Feature::ByteAlignment));
}

#[test]
fn sections_may_be_missing() {
    let configuration = Configuration::parse("Version 1.1.0-rc1\n", "empty.icf").unwrap();
    assert_eq!(configuration.test_setup, None);
    assert_eq!(configuration.access_specifications, None);
    assert_eq!(configuration.to_icf().unwrap(), "Version 1.1.0\r\nVersion 1.1.0\r\n");
}

#[test]
fn names_that_would_be_read_as_something_else_are_not_written() {
    for name in ["two\nlines", "'quoted", " spaced", "tail ", &"long".repeat(50)] {
        let specification = AccessSpecification {
            name: name.to_owned(),
            default_assignment: DefaultAssignment::None,
            lines: vec![AccessLine::of_bytes(512)],
        };
        let configuration = Configuration::of_access_specifications(vec![specification]);
        let error = configuration.to_icf().unwrap_err().to_string();
        assert!(error.contains("cannot be written"), "{error}");
    }
    let half = AccessLine { percent_of_accesses: 50, ..AccessLine::of_bytes(512) };
    let specification = AccessSpecification {
        name: "half".into(),
        default_assignment: DefaultAssignment::None,
        lines: vec![half],
    };
    let configuration = Configuration::of_access_specifications(vec![specification]);
    let error = configuration.to_icf().unwrap_err().to_string();
    assert_eq!(
        error,
        "the access specification `half` cannot be written: its lines take 50 % of accesses, and \
         Iometer reads 100 % only"
    );
}

fn name() -> impl Strategy<Value = String> {
    "[A-Za-z0-9][A-Za-z0-9;%, \"é]{0,20}[A-Za-z0-9]"
}

fn line() -> impl Strategy<Value = AccessLine> {
    (any::<[u32; 5]>(), 0..=100_u8, 0..=100_u8).prop_map(|(numbers, reads, random)| AccessLine {
        bytes: numbers[0],
        percent_of_accesses: 0,
        read_percent: reads,
        random_percent: random,
        delay_ms: numbers[1],
        burst_accesses: numbers[2],
        alignment_bytes: numbers[3],
        reply_bytes: numbers[4],
    })
}

fn specification() -> impl Strategy<Value = AccessSpecification> {
    let assignment = prop::sample::select(vec![
        DefaultAssignment::None,
        DefaultAssignment::All,
        DefaultAssignment::Disk,
        DefaultAssignment::Network,
    ]);
    (name(), assignment, prop::collection::vec(line(), 1..10)).prop_map(
        |(name, default_assignment, mut lines)| {
            let count = lines.len() as u8;
            lines.iter_mut().for_each(|line| line.percent_of_accesses = 100 / count);
            lines[0].percent_of_accesses += 100 % count;
            AccessSpecification { name, default_assignment, lines }
        },
    )
}

fn worker() -> impl Strategy<Value = Worker> {
    let settings = (any::<u32>(), any::<Option<u32>>(), any::<Option<u64>>(), any::<[u64; 2]>());
    let settings = settings.prop_map(|(outstanding_ios, connection_rate, fixed_seed, sectors)| {
        TargetSettings {
            outstanding_ios,
            connection_rate,
            fixed_seed,
            maximum_size_sectors: sectors[0],
            starting_sector: sectors[1],
            data_pattern: Some(DataPattern::FullRandom),
            ..TargetSettings::default()
        }
    });
    let target = name().prop_map(|name| Target { name, kind: WorkerKind::Disk, manager: None });
    (
        name(),
        prop::option::of(settings),
        prop::option::of(prop::collection::vec(name(), 0..3)),
        prop::option::of(prop::collection::vec(target, 0..3)),
    )
        .prop_map(|(name, settings, assigned_specifications, targets)| Worker {
            name,
            kind: WorkerKind::Disk,
            settings,
            assigned_specifications,
            targets,
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_reads_back(
        specifications in prop::option::of(prop::collection::vec(specification(), 0..5)),
        workers in prop::collection::vec(worker(), 0..3),
        run in any::<[u32; 3]>(),
        test_type in prop::sample::select(vec![
            TestType::Normal, TestType::CycleTargets, TestType::IncrementTargetsSerial,
        ]),
    ) {
        // The second of two with the same name would replace the first.
        let specifications = specifications.map(|mut all: Vec<AccessSpecification>| {
            for (at, specification) in all.iter_mut().enumerate() {
                specification.name.push_str(&at.to_string());
            }
            all
        });
        let manager = Manager { id: run[0], name: "M".into(), network_address: String::new(), workers };
        let run_time = RunTime { hours: run[0], minutes: run[1], seconds: run[2] };
        let configuration = Configuration {
            version: Version::CURRENT,
            test_setup: Some(TestSetup { run_time, test_type, ..TestSetup::default() }),
            results_display: None,
            access_specifications: specifications,
            managers: Some(vec![manager]),
        };
        let text = configuration.to_icf().unwrap();
        let again = Configuration::parse(&text, "again.icf").unwrap();
        prop_assert_eq!(&again, &configuration);
    }
}

/// Before 1.1.0, Iometer wrote the update frequency without a field in front.
#[test]
fn regression_the_older_update_frequency_is_read() {
    let older = SCRIPT
        .replace(
            "'Record Last Update Results,Update Frequency,Update Type",
            "'Update Frequency,Update Type",
        )
        .replace("ENABLED,4,LAST_UPDATE", "4,LAST_UPDATE");
    assert_ne!(older, SCRIPT);
    let display = Configuration::parse(&older, "older.icf").unwrap().results_display.unwrap();
    assert_eq!((display.record_last_update, display.update_frequency), (false, 4));
    assert_eq!(display.update_type, UpdateType::LastUpdate);
}
