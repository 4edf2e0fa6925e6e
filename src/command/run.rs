//! `strewn run`.

use std::path::Path;
use std::sync::Arc;

use strewn::report;
use strewn::results::ArrayResults;
use strewn::scenario::{Disk, Nanoseconds, Origin, Problem, Scenario, SetError, SettingValue};
use strewn::sweep::shell_word;
use strewn::terminal::{self, Ending, Failure, Terminal};
use strewn::{Load, QUICK_SCALE_DOWN, RunError, RunOptions, SaveError, SavedRun, Unwritten};

use super::also::{self, Collecting};
use super::arguments::RunArguments;
use super::out_directory::{OutDirectory, try_to_write};
use super::output_files::{self, OutputFiles, RunOutput, Shown};
use super::{load, provenance, scenario_file};

/// Most segments of a run until its goal, if nothing else is given.
const MOST_SEGMENTS_UNTIL: u32 = 1_000;

/// Runs the scenario, prints its tables or its JSON, and writes its files.
pub(crate) fn run(arguments: &RunArguments) -> Result<Ending, Failure> {
    let resumed = arguments.resume.as_ref().map(SavedRun::open).transpose()?;
    let path = arguments.scenario.as_deref().unwrap_or(Path::new(""));
    let (mut scenario, mut text) = match &resumed {
        Some(saved) => (saved.scenario()?, saved.text().0.to_owned()),
        None => scenario_file::load_with_text(path)?,
    };
    let name = scenario_file::name(path);
    // As it was read: settings may be changed below.
    let read = text.clone();
    if !arguments.set.is_empty() {
        (scenario, text) = Scenario::parse_with(&text, name, &arguments.set, &Disk)?;
        // The copy beside the results, and on the page, is of what was run.
        let set = arguments.set.iter().map(|(name, value)| format!("#   --set {name}={value}\n"));
        let head = format!("# {}, changed by\n{}\n", name.display(), set.collect::<String>());
        // A byte-order mark may stand at the beginning only.
        text = head + text.trim_start_matches('\u{feff}');
    }
    scenario.seed = arguments.seed.unwrap_or(scenario.seed);
    let mut shortened = Vec::new();
    if let Some(segments) = arguments.segments {
        if !scenario.phases.is_empty() && segments > scenario.segments {
            return Err(Failure::bad_input(
                format!("--segments {segments}: the phases have {} together", scenario.segments),
                "give fewer to stop earlier, or make a phase longer: --set phase.1.segments=20",
            ));
        }
        if segments < scenario.segments && scenario.phases.is_empty() {
            shortened = warnings_of_end(&text, name, segments);
        }
        scenario.segments = segments;
    }
    if let Some(until) = arguments.until {
        if !scenario.phases.is_empty() {
            return Err(Failure::bad_input(
                "--until: the scenario has phases, which have their own lengths",
                "leave it out, or make a phase longer: --set phase.1.segments=20",
            ));
        }
        scenario.until = Some(until);
        scenario.segments = arguments.segments.unwrap_or(MOST_SEGMENTS_UNTIL);
    }
    if arguments.explain {
        terminal::print(&explained(&scenario))?;
        return Ok(Ending::Complete);
    }
    let scale_down = match (arguments.quick, arguments.scale_down) {
        (true, _) => QUICK_SCALE_DOWN,
        (false, given) => given.unwrap_or(1),
    };
    if let (true, Some(load)) = (scale_down > 1, arguments.load.unscalable()) {
        let flag = if arguments.quick { "--quick" } else { "--scale-down" };
        return Err(Failure::bad_input(
            format!("{flag} cannot be used with {load}"),
            "its addresses, amounts and times are fixed, and a smaller file and shorter segments would not fit them; give \
             --segments to run less of it",
        ));
    }
    for warning in scenario.warnings().into_iter().chain(shortened) {
        terminal::say(&format!("warning: {warning}"));
    }
    if arguments.brief && arguments.format.is_for_programs() {
        return Err(Failure::bad_input(
            "--brief is for a person, and --format json or csv for a program",
            "leave one of the two out",
        ));
    }
    let mut also_shapes = arguments.also.clone();
    also_shapes.dedup();
    let out = arguments.out.as_deref();
    arguments.pictures.check_against(out)?;
    arguments.table.check_against(out)?;
    let out = out
        .map(|path| {
            let mut names = output_files::names_of_run();
            names.extend(also_shapes.iter().map(|shape| shape.file_name().to_owned()));
            OutDirectory::check(path, arguments.force, names)
        })
        .transpose()?;
    let saved_in = arguments.save.as_deref().or(arguments.resume.as_deref());
    if let (Some(out), Some(saved)) = (&arguments.out, saved_in)
        && is_same_directory(out, saved)
    {
        return Err(Failure::bad_input(
            format!("--out {}: the run is saved there", out.display()),
            "give another directory for the results",
        ));
    }
    if let Some(log) = &arguments.record_iolog {
        check_log(log, &scenario)?;
    }
    let mut inputs = provenance::inputs(path, &scenario, &arguments.load);
    match &resumed {
        Some(saved) if arguments.out.is_some() => inputs.extend(provenance::saved(saved)),
        Some(_) => {}
        None if path == Path::new(scenario_file::STANDARD_INPUT) => {
            inputs.insert(0, provenance::Input::of_text(name.to_string_lossy(), &read));
        }
        None => {}
    }
    let load = load::read(&arguments.load, &scenario)?;
    if let Some(with_volumes) = load.as_ref().and_then(|load| load.with_volumes(&scenario)) {
        scenario = with_volumes;
    }
    if let (Some(load), None) = (&load, arguments.segments) {
        refuse_emptiness(load, scenario.segment_ns)?;
    }
    let own = load.as_ref().and_then(|load| load::segments(load, scenario.segment_ns));
    if let (Some(own), None) = (own, arguments.segments) {
        scenario.segments = own;
    }
    let scale_down = match &resumed {
        Some(saved) => saved.text().1,
        None => scale_down,
    };
    let begun = arguments.save.as_ref();
    let begun = begun.map(|path| SavedRun::create(path, &scenario, &text, name, scale_down));
    let save = resumed.or(begun.transpose()?).map(Arc::new);
    // A saved run has its own copy, so that the file may change meanwhile.
    let sensitivity = save.is_none().then(|| strewn::sensitivity_path(name));
    let options = RunOptions {
        jobs: arguments.jobs.unwrap_or_default(),
        scale_down,
        save,
        load,
        by_direction: !also_shapes.is_empty(),
        record_iolog: arguments.record_iolog.clone(),
        replicates: arguments.replicates.unwrap_or_default(),
        sensitivity,
    };

    let terminal = Terminal::of_run(&scenario, &options);
    let observer = Collecting::new(&terminal, scenario.arrays.len(), !also_shapes.is_empty());
    let ran = match out {
        Some(_) => strewn::run_with_map(&scenario, &options, &observer)
            .map(|(results, map)| (results, Some(map))),
        None => strewn::run(&scenario, &options, &observer).map(|results| (results, None)),
    };
    let segments = observer.into_segments();
    // Clear the progress bars before anything is printed.
    drop(terminal);
    let (ran, unwritten) = match ran {
        Err(RunError::Unwritten(kept)) => {
            let Unwritten { results, map, error } = *kept;
            (Ok((results, out.is_some().then_some(map))), Some(error))
        }
        ran => (ran, None),
    };
    let (results, map) = ran?;
    let nothing_to_show =
        |array: &ArrayResults| array.segments.is_empty() && array.data_loss.is_none();
    let how_to_resume = options.save.as_ref().map(|saved| {
        let out = arguments.out.as_ref();
        let out = out.map(|out| format!(" --out {} --force", shell_word(out)));
        format!(
            "to go on with the run: strewn run --resume {}{}",
            shell_word(saved.directory()),
            out.unwrap_or_default()
        )
    });
    let unwritten = unwritten.map(|error| match (&how_to_resume, &error) {
        (Some(help), RunError::Save(SaveError::Write { .. })) => {
            Failure::from(error).with_help(format!("make room there; then, {help}"))
        }
        _ => error.into(),
    });
    if results.arrays.iter().all(nothing_to_show) {
        let is_done = |array: &ArrayResults| array.ended && array.warm_up.is_some();
        if results.arrays.iter().all(is_done) {
            return Err(Failure::bad_input(
                "the load ended during the warm-up, so no segment was measured",
                "give a shorter warm_up, or more load",
            ));
        }
        let stopped = || Failure::stopped("stopped before any segment was complete");
        return Err(match (unwritten, how_to_resume) {
            (Some(unwritten), _) => unwritten,
            (None, Some(help)) => stopped().with_help(help),
            (None, None) => stopped(),
        });
    }
    let is_short = |array: &ArrayResults| {
        array.segments.len() < scenario.segments as usize && array.data_loss.is_none()
    };
    let goes_on = results.partial && results.arrays.iter().any(is_short);

    let json = results.to_json_string().map_err(|error| Failure::failed(error.to_string()))?;
    let files = |out| {
        let shown = Shown { results: &results, map: map.as_ref(), scenario: Some(&text) };
        let made = output_files::of_report(
            &shown,
            &arguments.pictures,
            &[arguments.table.format()],
            &arguments.table.columns(),
        )
        .and_then(|mut others| {
            let load = options.load.as_ref();
            let also = also::files(&also_shapes, &scenario, &results, load, &segments)?;
            others.extend(also);
            Ok(others)
        });
        let mut measured = output_files::of_run(&shown, &json)?;
        measured.push(provenance::of_run(&inputs, &json));
        Ok::<_, Failure>(OutputFiles { out, measured, made })
    };
    let files = out.map(files).transpose()?;
    let format = &arguments.format;
    let text = match (arguments.brief, arguments.quiet) {
        (_, true) => String::new(),
        (true, false) => format.draw(|| report::brief(&results)),
        (false, false) => output_files::printed(&results, &json, format, &arguments.table)?,
    };
    let is_for_programs = format.is_for_programs();
    output_files::publish(RunOutput { text, is_for_programs, files })?;
    if let Some(unwritten) = unwritten {
        return Err(unwritten);
    }
    if let (Some(help), true) = (how_to_resume, goes_on) {
        terminal::say(&help);
    }
    Ok(Ending::of(&results))
}

/// Returns what the scenario would be refused for if it had so few segments itself: what begins only after its end.
fn warnings_of_end(text: &str, name: &Path, segments: u32) -> Vec<String> {
    let shorter = [("segments".to_owned(), segments.to_string())];
    let refused = Scenario::parse_with(text, name, &shorter, &Disk);
    let Err(SetError::Invalid { problems, .. }) = refused else {
        return Vec::new();
    };
    let warning = |problem: &Problem| {
        format!("--segments {segments}: {} {}", problem.field(), problem.message())
    };
    problems.iter().map(warning).collect()
}

/// Most segments of a replay in which nothing arrives. Chosen: more than a night has minutes, and tables can be read.
const MOST_EMPTY_SEGMENTS: u64 = 5_000;

/// Refuses a replay that would measure nothing for most of its time.
fn refuse_emptiness(load: &Load, segment_ns: u64) -> Result<(), Failure> {
    let empty = load.empty_segments();
    if empty <= MOST_EMPTY_SEGMENTS {
        return Ok(());
    }
    let of = Nanoseconds(segment_ns);
    Err(Failure::bad_input(
        format!(
            "nothing of the trace arrives in {empty} segments of {of}, which would all be simulated"
        ),
        "give --closed-loop-trace to leave its times out, --speedup to shorten them, --segments for the first ones only, \
         or longer segments: --set segment=\"1 h\"",
    ))
}

/// Returns whether two paths lead to the same directory, which may not be there yet.
fn is_same_directory(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => std::path::absolute(one).ok() == std::path::absolute(other).ok(),
    }
}

/// Lists every setting of a scenario, and says where those come from that it does not give.
fn explained(scenario: &Scenario) -> String {
    let settings = scenario.every_setting();
    let origins = scenario.origins();
    let columns = settings.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default();
    let line = |(name, value): &(String, SettingValue)| {
        let origin = match origins.get(name) {
            None | Some(Origin::Scenario) => String::new(),
            Some(origin) => format!("   ({origin})"),
        };
        format!("{name:columns$} = {value}{origin}\n")
    };
    settings.iter().map(line).collect()
}

/// Checks that the logs of operations can be written, and that none exists yet.
fn check_log(log: &Path, scenario: &Scenario) -> Result<(), Failure> {
    let shown = log.display();
    let folder = log.parent().filter(|folder| !folder.as_os_str().is_empty());
    if log.file_name().is_none() || folder.is_some_and(|folder| !folder.is_dir()) {
        return Err(Failure::bad_input(
            format!("--record-iolog {shown}: there is no such directory"),
            "give a file in a directory that is there",
        ));
    }
    if log.metadata().is_ok_and(|log| !log.is_file()) {
        return Err(Failure::bad_input(
            format!("--record-iolog {shown} is not a plain file"),
            "give the name of a file to write",
        ));
    }
    let folder = folder.unwrap_or(Path::new("."));
    try_to_write(folder).map_err(|error| {
        Failure::bad_input(
            format!("--record-iolog {shown}: nothing can be written there: {error}"),
            "give a file in a directory that you may write to",
        )
    })?;
    for array in &scenario.arrays {
        let file = strewn::iolog_of_array(log, &array.name, scenario.arrays.len());
        if file.symlink_metadata().is_ok() {
            return Err(Failure::bad_input(
                format!("--record-iolog {shown}: {} is there already", file.display()),
                "give another name, or move it away",
            ));
        }
    }
    Ok(())
}
