//! Runs that are saved, stopped and resumed: the results are those of a run that was never stopped.

use std::fs;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use strewn::results::Results;
use strewn::scenario::Scenario;
use strewn::sim::Simulated;
use strewn::simulate;
use strewn_base::Rng;
use strewn_base::state::{StateError, StateReader, StateWriter};
use strewn_testing::cases;

use crate::common::{Folder, Ran};

/// A scenario of one small array, some behind a wire, with several hosts or cores, with a partner or as one of several
/// blades, with whatever a simulation can have, of each by chance.
fn random_scenario(seed: u64) -> String {
    let mut rng = Rng::new(seed);
    let is_in_place = rng.one_in(3);
    // Clients that compute parity over blades.
    let has_blades = is_in_place && rng.one_in(2);
    let is_durable = rng.one_in(2);
    let format = if is_durable { "durable" } else { "modelled" };
    let mut text = format!(
        "schema = 1\nname = \"random\"\ntitle = \"Seed {seed}\"\nseed = {seed}\nsegment = \"5 s\"\n"
    );
    let has_phases = rng.one_in(3);
    let has_names = has_phases || rng.one_in(2);
    if !has_phases {
        text += "segments = 4\n";
    }
    if has_names {
        let limit = if rng.one_in(2) { "operations_per_second = 40\n" } else { "" };
        text += &format!(
            "[[workload]]\nname = \"mail\"\nlun = \"mail\"\naccess_specification = \"file-server\"\n\
             file = \"64 MiB\"\noutstanding = {}\n\
             [[workload]]\nname = \"log\"\nlun = \"log\"\nfile = \"48 MiB\"\noutstanding = 2\n{limit}\
             [[workload.access]]\nbytes = \"16 KiB\"\npercent = 100\nread_percent = {}\nrandom_percent = {}\n",
            rng.within(1..24),
            rng.pick(&[0, 50, 100]),
            rng.pick(&[0, 40]),
        );
    } else {
        text += "[workload]\naccess_specification = \"file-server\"\nfile = \"96 MiB\"\n";
    }
    if has_phases {
        text += "[[phase]]\nname = \"one\"\nsegments = 2\nworkloads = [\"mail\", \"log\"]\n\
                 [[phase]]\nname = \"two\"\nsegments = 1\nworkloads = [\"log\"]\n\
                 [[phase]]\nname = \"three\"\nsegments = 1\nworkloads = [\"mail\"]\n";
    }
    let controller = if is_in_place { "eva4400" } else { "fas2050" };
    text += &format!("[[array]]\nname = \"array\"\ncontroller = \"{controller}\"\n");
    let scheduler = rng.pick(&["sptf", "aged-sptf", "fcfs", "c-look"]);
    text += &format!("scheduler = \"{scheduler}\"\n");
    if !has_names {
        text += &format!("outstanding = {}\nlun = \"128 MiB\"\n", rng.within(1..40));
    }
    let has_second_group = rng.one_in(2) && !has_blades;
    let has_failure = rng.one_in(2) && !has_blades;
    let is_thin = has_names && !is_in_place && rng.one_in(2);
    let mut groups = String::new();
    if is_in_place {
        let raid_5 = rng.one_in(2);
        text += &match raid_5 {
            _ if has_blades => "[array.in_place]\nlayout = \"raid-0\"\nspindles = 2\n".to_owned(),
            true => "[array.in_place]\nlayout = \"raid-5\"\nspindles = 5\n".to_owned(),
            false => "[array.in_place]\nspindles = 8\nredundancy_sets = [8]\n".to_owned(),
        };
        text += &format!("format = \"{format}\"\nwrite_cache = \"4 MiB\"\n");
        if is_durable {
            text += "log_half = \"2 MiB\"\n";
        }
        if has_second_group && has_names {
            groups += "[[array.in_place.group]]\nlayout = \"raid-5\"\nspindles = 4\n";
        }
    } else {
        let policy =
            rng.pick(&["emptiest-area", "sequential-sweep", "first-fit", "near-neighbours"]);
        let parity = rng.pick(&["raid-dp", "raid-4"]);
        text += &format!(
            "[array.write_anywhere]\nformat = \"{format}\"\npolicy = \"{policy}\"\nparity = \"{parity}\"\n\
             data_spindles = 4\nright_sized = \"256 MiB\"\narea_stripes = 256\nbuffer_cache = \"8 MiB\"\n\
             log_half = \"1 MiB\"\ncheckpoint_interval = \"2 s\"\nspares = 1\n"
        );
        if rng.one_in(2) {
            text += &format!(
                "snapshots = {{ every = \"{} s\", keep = {} }}\n",
                rng.within(2..7),
                rng.within(1..4)
            );
        }
        if has_second_group {
            groups += "[[array.write_anywhere.group]]\ndata_spindles = 3\nparity = \"raid-4\"\nat = \"7 s\"\n";
        }
    }
    text += &groups;
    if has_names {
        for lun in ["mail", "log"] {
            let place = match (is_in_place, has_second_group) {
                (true, true) if lun == "log" => "group = 2\n".to_owned(),
                (true, _) => String::new(),
                _ => format!("volume = \"{lun}\"\n"),
            };
            text += &format!("[[array.lun]]\nname = \"{lun}\"\nsize = \"64 MiB\"\n{place}");
        }
    }
    if is_thin {
        text += "[[array.volume]]\nname = \"log\"\nthin = true\n";
    }
    if has_failure {
        let (at, spindle) = (rng.within(2..12), rng.below(4));
        text += &format!("[[array.failure]]\nat = \"{at} s\"\nspindle = {spindle}\n");
    }
    if has_blades || rng.one_in(3) {
        let (protocol, kind) = *rng.pick(&[
            ("iscsi", "ethernet-1g"),
            ("fcp", "fc-2g"),
            ("nfs", "ethernet-100m"),
            ("smb2", "ethernet-10g-jumbo"),
        ]);
        let mut hosts = String::new();
        let settings = match (protocol, rng.one_in(2)) {
            ("iscsi", true) => {
                "iscsi = { preset = \"open-iscsi\", data_digest = true }\n\
                 tcp = { window = \"16 KiB\", slow_start = \"rfc-3390\" }\n"
            }
            ("nfs", true) => "nfs = { read_size = \"8 KiB\", slots = 2, stability = \"commit\" }\n",
            ("fcp", true) => "fcp = { largest_burst = \"4 KiB\", retry_timeout = \"300 ms\" }\n",
            _ => "",
        };
        // Behind a router, the link that fails and comes back is the router's.
        let has_router = protocol == "iscsi" && rng.one_in(2) && !has_blades;
        // Two hosts, with a link each or one for both.
        if has_names && rng.one_in(2) {
            let client = if has_router { "ethernet-1g" } else { kind };
            let other = rng.pick(&["client", "other client"]);
            text = text
                .replace("\nlun = \"mail\"\n", "\nlun = \"mail\"\nhost = \"one\"\n")
                .replace("\nlun = \"log\"\n", "\nlun = \"log\"\nhost = \"other\"\n");
            hosts = format!(
                "[[host]]\nname = \"one\"\npath = [\"client\"]\ncores = 2\n\
                 [[host]]\nname = \"other\"\npath = [\"{other}\"]\n\
                 [[link]]\nname = \"client\"\nkind = \"{client}\"\n\
                 [[link]]\nname = \"other client\"\nkind = \"{client}\"\n"
            );
        }
        let (path, router, kind) = match has_router {
            true => (
                "\"host\", \"wire\"",
                "router = { command = \"90 us\", pdu = \"20 us\" }\n",
                "fc-1g",
            ),
            false => ("\"wire\"", "", kind),
        };
        text += &format!(
            "[array.front_end]\nprotocol = \"{protocol}\"\npath = [{path}]\n\
             host_pdu = \"5 us\"\ncontroller_per_kib = \"1 us\"\nconnections = 2\n{settings}{router}\
             [[link]]\nname = \"host\"\nkind = \"ethernet-1g\"\n\
             [[link]]\nname = \"wire\"\nkind = \"{kind}\"\nlanes = {}\ndown = \"6 s\"\nup = \"6.5 s\"\n",
            rng.within(1..3),
        );
        text += &hosts;
        if has_blades {
            let lost = rng.pick(&["", "lost_blade = 2\nlost_at = \"8 s\"\n"]);
            text += &format!(
                "[[link]]\nname = \"blade\"\nkind = \"{kind}\"\n\
                 [array.client_raid]\nblades = 5\nwidth = 4\nstripe_unit = \"16 KiB\"\ngroup_depth = {}\n\
                 parity_per_kib = \"3 us\"\nblade_link = \"blade\"\n{lost}",
                rng.within(1..4),
            );
        }
    }
    if rng.one_in(3) {
        let domains = rng.pick(&[
            "",
            "serial_domains = []\n",
            "serial_domains = [[\"operations\", \"network\"], [\"commands\"]]\n",
        ]);
        let cores = rng.within(2..4);
        text += &format!("[array.processor]\ncores = {cores}\n{domains}");
    }
    if !has_blades && !text.contains("[[host]]") && rng.one_in(3) {
        let (protocol, settings) = *rng.pick(&[
            ("nfs", "tcp = { window = \"16 KiB\", slow_start = \"rfc-3390\" }\n"),
            ("smb1", "host_pdu = \"20 us\"\ncontroller_write_per_kib = \"2 us\"\ncores = 2\n"),
        ]);
        text += &format!(
            "[[link]]\nname = \"in front\"\nkind = \"ethernet-100m\"\nlanes = {}\ndown = \"4 s\"\nup = \"4.5 s\"\n\
             [array.gateway]\nprotocol = \"{protocol}\"\npath = [\"in front\"]\nconnections = 2\n{settings}",
            rng.within(1..3),
        );
    }
    if rng.one_in(3) {
        text += "[array.page_cache]\nsize = \"2 MiB\"\nwake_up = \"700 ms\"\nexpiry = \"1.5 s\"\n";
    }
    if !is_in_place && !is_thin && rng.one_in(2) {
        text = text
            .replace("size = \"64 MiB\"\nvolume = \"log\"", "size = \"64 MiB\"\ncontroller = 2");
        let pair = "[array.pair]\nfailing = 2\ntakeover = \"6 s\"\ndetection = \"1 s\"\n\
                    giveback = \"11 s\"\ngiveback_pause = \"2 s\"\n";
        text = text.replacen(
            "[array.write_anywhere]\n",
            &format!("{pair}[array.write_anywhere]\n"),
            1,
        );
    }
    text
}

/// What a segment measured, and the state after it.
type Measured = (String, Vec<u8>);

/// Runs one segment of a simulation whose state is restored first.
struct OneSegment<'a> {
    scenario: &'a Scenario,
    state: Option<&'a [u8]>,
    /// Stops the segment at its end, before it is measured, and returns the state there.
    stop: bool,
}

fn state_of(simulation: &dyn Simulated) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = StateWriter::new(&mut bytes);
    simulation.save(&mut writer).and_then(|()| writer.finish()).unwrap();
    bytes
}

fn restore(simulation: &mut dyn Simulated, bytes: &[u8]) -> Result<(), StateError> {
    let mut reader = StateReader::new(bytes);
    simulation.restore(&mut reader)?;
    reader.finish()
}

impl OneSegment<'_> {
    fn run(&self, index: usize) -> Measured {
        let mut simulation = simulate(self.scenario, index).unwrap();
        if let Some(state) = self.state {
            restore(&mut *simulation, state).unwrap();
            assert!(state_of(&*simulation) == state, "what was restored is saved as other bytes");
        }
        let mut look =
            |_| if self.stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) };
        let segment = simulation.run_segment(self.scenario.segment_ns, &mut look);
        assert_eq!(segment.is_err(), self.stop);
        let segment = segment.map(|mut segment| {
            segment.forget_responses();
            format!("{segment:?}")
        });
        (segment.unwrap_or_default(), state_of(&*simulation))
    }
}

/// Runs all segments, one after another.
fn all_segments(scenario: &Scenario, index: usize) -> Vec<Measured> {
    let mut simulation = simulate(scenario, index).unwrap();
    let mut one = || {
        let mut look = |_| ControlFlow::Continue(());
        let mut segment = simulation.run_segment(scenario.segment_ns, &mut look).unwrap();
        segment.forget_responses();
        (format!("{segment:?}"), state_of(&*simulation))
    };
    (0..scenario.segments).map(|_| one()).collect()
}

#[test]
fn random_arrays_restored_after_each_segment_go_on_as_if_never_stopped() {
    for seed in 0..24 {
        let text = random_scenario(seed);
        let scenario = Scenario::parse(&text, "random.toml")
            .unwrap_or_else(|error| panic!("seed {seed}: {error:?}\n{text}"));
        let all = all_segments(&scenario, 0);
        let mut state: Option<Vec<u8>> = None;
        for (number, (measured, after)) in all.iter().enumerate() {
            if (seed + number as u64).is_multiple_of(2) {
                let stopped =
                    OneSegment { scenario: &scenario, state: state.as_deref(), stop: true };
                state = Some(stopped.run(0).1);
            }
            let one = OneSegment { scenario: &scenario, state: state.as_deref(), stop: false };
            let (again, came_to) = one.run(0);
            assert_eq!(&again, measured, "seed {seed}, segment {number} of\n{text}");
            assert!(
                &came_to == after,
                "seed {seed}: another state after segment {number} of\n{text}"
            );
            state = Some(came_to);
        }
    }
}

/// Each array of each shipped scenario, much scaled down (every fourth but in the long form): restored at random, the
/// next segment is the same.
#[test]
fn every_shipped_scenario_goes_on_as_if_never_stopped() {
    let mut rng = Rng::new(11);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    let mut scenarios = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.ends_with(".toml")
            || name.ends_with(".published.toml")
            || name.ends_with(".sensitivity.toml")
        {
            continue;
        }
        let scenario = Scenario::load(&path).unwrap();
        // Without an end of its own it would run to the last of a thousand segments.
        if scenario.until.is_some() {
            continue;
        }
        scenarios += 1;
        let (scenario, _) = scenario.scaled_down(256);
        for index in (0..scenario.arrays.len()).step_by(cases(4, 1) as usize) {
            let all = all_segments(&scenario, index);
            for _ in 0..2 {
                let number = rng.within(1..all.len() as u64) as usize;
                let state = Some(&*all[number - 1].1);
                let one = OneSegment { scenario: &scenario, state, stop: false };
                let again = one.run(index);
                let place = format!("{name}, array {index}, segment {number}");
                assert_eq!(again.0, all[number].0, "{place}");
                assert!(again.1 == all[number].1, "{place}: another state after it");
            }
        }
    }
    assert!(scenarios >= 10, "{scenarios} scenarios");
}

/// No checksum protects what is restored here.
#[test]
fn damaged_states_are_refused_without_a_panic() {
    let mut refused = 0;
    for seed in 0..6 {
        let text = random_scenario(seed);
        let scenario = Scenario::parse(&text, "random.toml").unwrap();
        let one = OneSegment { scenario: &scenario, state: None, stop: false };
        let (_, state) = one.run(0);
        let mut rng = Rng::new(seed);
        for case in 0..60 {
            let mut damaged = state.clone();
            // Lengths and the small values between the large maps are more likely hit near an end.
            let at = match rng.below(3) {
                0 => rng.below(state.len() as u64),
                1 => rng.below(400.min(state.len() as u64)),
                _ => state.len() as u64 - 1 - rng.below(20_000.min(state.len() as u64)),
            } as usize;
            match rng.below(4) {
                0 => damaged.truncate(at),
                1 => damaged[at] = 0xff,
                _ => damaged[at] ^= 1 << rng.below(8),
            }
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                restore(&mut *simulate(&scenario, 0).unwrap(), &damaged)
            }));
            let Ok(outcome) = outcome else { panic!("seed {seed}, case {case}: a panic at {at}") };
            refused += usize::from(outcome.is_err());
        }
    }
    assert!(refused > 60, "{refused} damaged states refused");
}

/// A directory's results without the time that they took.
fn results(folder: &Folder, directory: &str) -> [String; 3] {
    ["results.json", "segments.csv", "map.json"].map(|name| {
        let text = folder.read(&format!("{directory}/{name}"));
        let lines = text.lines().filter(|line| !line.contains("\"wall_seconds\""));
        lines.collect::<Vec<_>>().join("\n")
    })
}

/// `failing.toml`, with which both arrays are saved while they rebuild.
fn failing() -> Folder {
    let folder = Folder::new();
    folder.write("failing.toml", include_str!("scenarios/failing.toml"));
    folder
}

/// Runs it, stopping after each segment; whatever is asked for with `words`.
fn begun(folder: &Folder, words: &[&str]) -> Ran {
    folder.strewn(&[&["run", "failing.toml", "--segments", "2", "--save", "saved"], words].concat())
}

#[test]
fn a_complete_run_has_the_results_of_one_that_is_not_saved_and_gives_them_again() {
    let folder = failing();
    folder.strewn(&["run", "failing.toml", "--out", "plain"]).succeeded();
    folder.strewn(&["run", "failing.toml", "--save", "saved", "--out", "out"]).succeeded();
    assert_eq!(results(&folder, "out"), results(&folder, "plain"));
    folder.strewn(&["run", "--resume", "saved", "--out", "again"]).succeeded();
    assert_eq!(results(&folder, "again"), results(&folder, "plain"));
}

/// Kills a run again and again, at random times, and resumes it with another number of threads each time.
#[cfg(unix)]
#[test]
fn a_run_that_is_killed_at_random_has_the_same_results() {
    let folder = failing();
    folder.strewn(&["run", "failing.toml", "--out", "plain"]).succeeded();
    let seed = 5;
    let mut rng = Rng::new(seed);
    let mut first = vec!["run", "failing.toml", "--save", "saved"];
    let mut kills = 0;
    loop {
        let jobs = rng.pick(&["1", "2"]).to_string();
        let words = [&first[..], &["--jobs", &jobs, "--out", "out", "--force"]].concat();
        let mut child = folder.command(&words);
        let mut child = child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(rng.within(5..(40 + 20 * kills))));
        let has_ended = child.try_wait().unwrap().is_some();
        child.kill().unwrap();
        let status = child.wait().unwrap();
        if has_ended {
            assert!(status.success(), "seed {seed}, after {kills} kills: {status}");
            break;
        }
        kills += 1;
        assert!(kills < 500, "seed {seed}: it does not go on");
        if folder.path("saved/run.state").exists() {
            first = vec!["run", "--resume", "saved"];
        }
    }
    assert!(kills > 3, "seed {seed}: killed {kills} times");
    assert_eq!(results(&folder, "out"), results(&folder, "plain"), "seed {seed}");
}

#[test]
fn flags_that_would_change_a_run_are_refused() {
    let folder = failing();
    let run = ["run", "failing.toml", "--save", "saved"];
    for words in [&["--record-iolog", "log"][..], &["--trace", "t.csv"], &["--explain"]] {
        folder.strewn(&[&run[..], words].concat()).refused(&["--save", words[0]]);
    }
    let resume = ["run", "--resume", "saved"];
    for words in [&["--speedup", "2"][..], &["--wrap"], &["--trace-device", "1"]] {
        folder.strewn(&[&resume[..], words].concat()).refused(&["--resume", words[0]]);
    }
    for words in [&["--seed", "3"][..], &["--quick"], &["--segments", "3"], &["--set", "seed=2"]] {
        folder.strewn(&[&resume[..], words].concat()).refused(&["--resume", words[0]]);
    }
    folder.strewn(&["run", "failing.toml", "--resume", "saved"]).refused(&["--resume", "SCENARIO"]);
    assert!(!folder.path("saved").exists());
    folder.strewn(&resume).refused(&["saved: no run is saved there", "--save was given"]);
    folder
        .strewn(&[&run[..], &["--out", "./saved"]].concat())
        .refused(&["--out ./saved: the run is saved there"]);
    folder.write("file", "");
    folder.strewn(&["run", "failing.toml", "--save", "file"]).refused(&["file is not a directory"]);
    fs::create_dir(folder.path("full")).unwrap();
    folder.write("full/other", "");
    folder
        .strewn(&["run", "failing.toml", "--save", "full"])
        .refused(&["full: the directory is not empty", "give a directory that is empty"]);
}

/// Stops a run after its first look at what is asked of it, so that it can be resumed.
fn stopped(folder: &Folder, directory: &str) {
    let scenario = Scenario::load(folder.path("failing.toml")).unwrap();
    let text = folder.read("failing.toml");
    let saved = strewn::SavedRun::create(
        folder.path(directory),
        &scenario,
        &text,
        Path::new("failing.toml"),
        1,
    );
    let save = Some(std::sync::Arc::new(saved.unwrap()));
    let options = strewn::RunOptions { jobs: 1, save, ..Default::default() };
    /// Stops each array after its first segment.
    struct AfterOne(std::sync::atomic::AtomicU32);
    impl strewn::Observer for AfterOne {
        fn segment(&self, _array: usize, _segment: &strewn::sim::Segment) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        fn stop(&self) -> bool {
            self.0.load(std::sync::atomic::Ordering::Relaxed) > 1
        }
    }
    let results = strewn::run(&scenario, &options, &AfterOne(Default::default())).unwrap();
    assert!(results.partial);
}

#[test]
fn a_stopped_run_goes_on_elsewhere_and_a_killed_array_from_its_own_segment() {
    let folder = failing();
    folder.strewn(&["run", "failing.toml", "--out", "plain"]).succeeded();
    stopped(&folder, "saved");
    // On another machine there are no scenario and no figures.
    fs::rename(folder.path("saved"), folder.path("moved")).unwrap();
    fs::remove_file(folder.path("failing.toml")).unwrap();
    folder.strewn(&["run", "--resume", "moved", "--out", "out"]).succeeded();
    assert_eq!(results(&folder, "out"), results(&folder, "plain"));
}

#[test]
fn damaged_and_foreign_files_are_refused_by_name() {
    let folder = failing();
    stopped(&folder, "saved");
    let resume = ["run", "--resume", "saved"];
    let whole = fs::read(folder.path("saved/array-1.state")).unwrap();
    let put = |bytes: &[u8]| fs::write(folder.path("saved/array-1.state"), bytes).unwrap();
    let mut rng = Rng::new(1);

    put(&whole[..whole.len() - 100]);
    folder.strewn(&resume).refused(&["array-1.state is truncated", "restore the file"]);
    put(&whole[..20]);
    folder.strewn(&resume).refused(&["array-1.state is truncated"]);
    put(b"something else, and longer than a header would be");
    folder.strewn(&resume).refused(&["array-1.state is not a file of a saved run"]);
    for _ in 0..20 {
        let mut damaged = whole.clone();
        let at = 16 + rng.below(whole.len() as u64 - 16) as usize;
        damaged[at] ^= 1 << rng.below(8);
        put(&damaged);
        folder.strewn(&resume).refused(&["saved/array-1.state is "]);
    }
    let mut newer = whole.clone();
    newer[8] = 9;
    put(&newer);
    folder.strewn(&resume).refused(&["array-1.state has format 9", "the version of Strewn"]);

    let of_other = fs::read(folder.path("saved/array-2.state")).unwrap();
    put(&of_other);
    folder.strewn(&resume).refused(&["array-1.state belongs to another run"]);
    put(&fs::read(folder.path("saved/run.state")).unwrap());
    folder.strewn(&resume).refused(&["array-1.state belongs to another run"]);
    put(&whole);
    folder
        .strewn(&["run", "failing.toml", "--save", "saved"])
        .refused(&["saved: a run is saved there already", "--resume"]);

    // A device may never end.
    #[cfg(unix)]
    {
        fs::remove_file(folder.path("saved/array-1.state")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", folder.path("saved/array-1.state")).unwrap();
        folder.strewn(&resume).refused(&["array-1.state", "not a regular file"]);
    }
    // An array without a file runs from its beginning.
    folder.strewn(&["run", "failing.toml", "--out", "plain"]).succeeded();
    fs::remove_file(folder.path("saved/array-1.state")).unwrap();
    folder.strewn(&["run", "--resume", "saved", "--out", "out"]).succeeded();
    assert_eq!(results(&folder, "out"), results(&folder, "plain"));
}

#[test]
fn a_run_that_was_shortened_is_saved_as_such() {
    let folder = failing();
    let json = begun(&folder, &["--json"]).stdout;
    let read = Results::from_json(&json).unwrap();
    assert!(!read.partial && read.arrays.iter().all(|array| array.segments.len() == 2));
}
