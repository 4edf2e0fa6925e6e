//! `strewn file`: how strewn real files are, what it costs, what would help.

mod history;
mod measure;
mod output;
mod pools;
mod requests;
mod scan;
mod subject;
mod target;
mod volumes;

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use strewn::file::{FileError, Looker, MOST_THREADS, Prediction, WalkOptions, walk};
use strewn::report;
use strewn::results::{FileRecord, FileTotals};
use strewn::terminal::{self, Ending, Failure, FileTerminal};

use super::arguments::FileArguments;
use measure::{Depth, Measuring};
use output::Output;
use requests::Requests;
use scan::{Candidate, Found, Scan, ScanOptions};
use subject::{Image, Subject};
use target::Target;

/// Looks at files and directories.
pub(crate) fn file(arguments: &FileArguments) -> Result<Ending, Failure> {
    arguments.pictures.check_against(arguments.out.as_deref())?;
    let measuring = Measuring {
        requests: Requests::of(arguments)?,
        outstanding: arguments.outstanding,
        seed: arguments.seed,
        max_command_bytes: arguments.max_command.map(|bytes| bytes.0),
        target: Target::of(arguments.on.as_deref())?,
        prediction: prediction(arguments)?,
    };
    if !arguments.pool.is_empty() || !arguments.pool_from.is_empty() {
        return pools::pools(arguments, &measuring);
    }
    let stops = terminal::stop_when_interrupted();
    match arguments.every {
        Some(interval) => history::watch(arguments, &measuring, interval, stops),
        None => {
            let output = Output::prepare(arguments)?;
            let history = arguments.append.as_deref();
            history.map(|history| history::check(arguments, history)).transpose()?;
            let looked = look(arguments, &measuring, stops)?;
            // Half a look would be taken for a change.
            if let Some(history) = &arguments.append
                && !stops()
            {
                history::append(history, SystemTime::now(), &looked.files, arguments)?;
            }
            let looked = Looked { is_partial: stops(), ..looked };
            let all_is_known = output.publish(arguments, &looked)?;
            let ending = ending(&looked, stops())?;
            match all_is_known {
                true => Ok(ending),
                false => Err(Failure::failed("not everything that was asked for is known")),
            }
        }
    }
}

fn prediction(arguments: &FileArguments) -> Result<Option<Prediction>, Failure> {
    let parsed = arguments.predict.as_deref().map(str::parse).transpose();
    parsed.map_err(|error: FileError| match error {
        FileError::Input { message, remedy } => {
            Failure::bad_input(format!("--predict: {message}"), remedy)
        }
        error => bad_input(error),
    })
}

/// What was looked at.
struct Looked {
    /// The files listed, in order.
    files: Vec<FileRecord>,
    /// How each of them is opened for another pass.
    origins: Vec<Origin>,
    looker: Looker,
    totals: FileTotals,
    /// Whether there were directories.
    is_tree: bool,
    /// Whether it was stopped before everything was looked at.
    is_partial: bool,
    found: Found,
}

/// How a file is opened.
#[derive(Clone)]
enum Origin {
    /// By its path.
    Path(PathBuf),
    /// As the disk inside the image at this path.
    Inside(PathBuf),
    /// From a saved list.
    Listed(Arc<Subject>),
}

impl Origin {
    fn open(&self, looker: &Looker) -> Result<Arc<Subject>, FileError> {
        match self {
            Self::Path(path) => Ok(Arc::new(Subject::open(looker, path)?)),
            Self::Inside(path) => Ok(Arc::new(Subject::open(looker, path)?.inside(path, looker)?)),
            Self::Listed(subject) => Ok(Arc::clone(subject)),
        }
    }

    /// The path of the file that is opened, if one is.
    fn to_open(&self) -> Option<PathBuf> {
        match self {
            Self::Path(path) => Some(path.clone()),
            Self::Inside(_) | Self::Listed(_) => None,
        }
    }

    fn path(&self) -> PathBuf {
        match self {
            Self::Path(path) | Self::Inside(path) => path.clone(),
            Self::Listed(subject) => PathBuf::from(&subject.path),
        }
    }
}

/// A file to be looked at closely, and what a quick look found.
struct Entry {
    origin: Origin,
    quick: Option<FileRecord>,
}

/// Looks at everything once.
fn look(
    arguments: &FileArguments,
    measuring: &Measuring,
    stops: fn() -> bool,
) -> Result<Looked, Failure> {
    let looker = Looker::new(arguments.sync);
    let progress = FileTerminal::watch();
    let mut found = Found::default();
    let (named, directories) = sort_out(arguments, &looker, &mut found)?;
    for directory in &directories {
        found = scan(arguments, measuring, &looker, (directory, found), &progress, stops);
    }
    let named = named.into_iter().map(|origin| Entry { origin, quick: None });
    let top = found.take_top().into_iter();
    let top = top.map(|one| Entry { origin: Origin::Path(one.path), quick: Some(one.record) });
    let entries: Vec<Entry> = named.chain(top).collect();
    let looked = closely(&entries, measuring, threads(arguments), &looker, &progress, stops);
    drop(progress);
    let mut listed: Vec<(Candidate, Origin)> = Vec::new();
    for (entry, looked) in entries.into_iter().zip(looked) {
        if let Some((record, origin)) = settle(entry, looked, &mut found) {
            let path = PathBuf::from(&record.path);
            listed.push((Candidate::new(path, record, arguments.sort), origin));
        }
    }
    listed.sort_by(|(one, _), (other, _)| one.cmp(other));
    let (files, origins) = listed.into_iter().map(|(one, origin)| (one.record, origin)).unzip();
    found.sort();
    let totals = found.totals;
    let is_tree = !directories.is_empty();
    Ok(Looked { files, origins, looker, totals, is_tree, is_partial: false, found })
}

/// Divides what the command line names into files, with the disks inside images, and directories.
fn sort_out(
    arguments: &FileArguments,
    looker: &Looker,
    found: &mut Found,
) -> Result<(Vec<Origin>, Vec<PathBuf>), Failure> {
    let mut files = Vec::new();
    for list in &arguments.from {
        let listed = Subject::listed(list).map_err(bad_input)?.into_iter();
        files.extend(listed.map(|subject| Origin::Listed(Arc::new(subject))));
    }
    for subject in volumes::of_machine(&arguments.volume).map_err(bad_input)? {
        files.push(Origin::Listed(Arc::new(subject)));
    }
    let mut directories: Vec<PathBuf> = Vec::new();
    looker.look_ahead(&arguments.paths);
    for path in &arguments.paths {
        let metadata = std::fs::metadata(path);
        if metadata.as_ref().is_ok_and(std::fs::Metadata::is_dir) {
            directories.push(path.clone());
            continue;
        }
        let subject = match Subject::open(looker, path) {
            Ok(subject) => subject,
            Err(error) => {
                let is_number = path.to_str().is_some_and(|text| text.parse::<u32>().is_ok());
                if arguments.nice.is_some() && is_number && !path.exists() {
                    let path = path.display();
                    return Err(Failure::bad_input(
                        format!("there is no file {path}: is it the percentage of --nice?"),
                        format!("write --nice={path}"),
                    ));
                }
                found.refuse(path, reason(path, &error));
                continue;
            }
        };
        if metadata.is_ok_and(|metadata| !found.record_seen(&metadata)) {
            found.linked += 1;
            continue;
        }
        files.push(Origin::Path(path.clone()));
        match subject.image() {
            Some(Image::NamesOthers) if !arguments.inside => {
                terminal::say(&format!(
                    "note: {}: not looked inside: it may name other files, which qemu-img would open; give --inside if you trust it",
                    report::shown_path(&path.display().to_string())
                ));
            }
            Some(_) => files.push(Origin::Inside(path.clone())),
            None => {}
        }
    }
    Ok((files, outermost(directories, arguments.one_file_system)))
}

/// Leaves out directories that are within others, whose files would be counted twice; but not those that a walk that
/// stays on one file system would not come to.
fn outermost(directories: Vec<PathBuf>, one_file_system: bool) -> Vec<PathBuf> {
    let whole = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
    let device = |path: &PathBuf| std::fs::metadata(path).ok().map(|metadata| metadata.dev());
    let all: Vec<PathBuf> = directories.iter().map(whole).collect();
    let is_within = |position: usize| {
        all.iter().enumerate().any(|(other, outer)| {
            let inner = &all[position];
            let is_reached = !one_file_system || device(inner) == device(outer);
            let is_later = inner != outer || other < position;
            other != position && inner.starts_with(outer) && is_reached && is_later
        })
    };
    let kept = directories.iter().enumerate().filter(|(position, _)| !is_within(*position));
    kept.map(|(_, directory)| directory.clone()).collect()
}

/// Takes a close look into the sums. Returns the record to list, if there is one.
fn settle(entry: Entry, looked: Option<Close>, found: &mut Found) -> Option<(FileRecord, Origin)> {
    let Entry { origin, quick } = entry;
    let record = match (looked, quick) {
        (Some(Ok((record, block_bytes))), None) => {
            // The disk inside an image is a second look at the same bytes.
            if !matches!(origin, Origin::Inside(_)) {
                found.add(&record, block_bytes);
            }
            record
        }
        (Some(Ok((record, _))), Some(quick)) => {
            // More requests were counted now.
            let extra = |of: &FileRecord| of.cost.as_ref().map_or(0.0, |cost| cost.extra_commands);
            found.totals.extra_commands += extra(&record) - extra(&quick);
            record
        }
        // It has gone since, or there was no time: what was found first stands.
        (_, Some(quick)) => quick,
        (Some(Err(error)), None) => {
            let path = origin.path();
            // An image itself was looked at; it is no failure if nobody can look into it.
            if matches!(origin, Origin::Inside(_)) && is_missing_tool(&error) {
                let path = report::shown_path(&path.display().to_string());
                terminal::say(&format!("note: {path}: not looked inside: {error}"));
            } else {
                found.refuse(&path, reason(&path, &error));
            }
            return None;
        }
        (None, None) => return None,
    };
    Some((record, origin))
}

fn threads(arguments: &FileArguments) -> usize {
    match (arguments.nice, arguments.jobs) {
        (Some(_), _) => 1,
        (None, Some(jobs)) => jobs.min(MOST_THREADS),
        (None, None) => WalkOptions::default().threads,
    }
}

/// Looks at the files below a directory, and adds them to what was found.
fn scan(
    arguments: &FileArguments,
    measuring: &Measuring,
    looker: &Looker,
    (directory, found): (&Path, Found),
    progress: &FileTerminal,
    stops: fn() -> bool,
) -> Found {
    let options = ScanOptions {
        look: &|path| {
            let looked = Subject::open_found(looker, path).and_then(|subject| {
                Ok((measuring.record(&subject, Depth::Quick)?, subject.block_bytes))
            });
            looked.map_err(|error| reason(path, &error))
        },
        coming: &|paths| {
            // All are in one directory.
            if paths.first().is_some_and(|path| looker.looks_ahead(path)) {
                looker.look_ahead(paths);
            }
        },
        kind: &|path, metadata| {
            let file_system = looker.file_system(path, metadata).ok()?;
            Some(file_system.mount.kind.name().to_owned())
        },
        stops,
        progress: &|files| progress.found(files),
        top: arguments.top as usize,
        sort: arguments.sort,
        root_device: std::fs::metadata(directory).ok().map(|metadata| metadata.dev()),
        one_file_system: arguments.one_file_system,
    };
    let scan = Scan::new(found, options);
    let busy = arguments.nice.map_or(1.0, |percent| f64::from(percent) / 100.0);
    walk(directory, WalkOptions { threads: threads(arguments), busy }, &scan);
    scan.into_found()
}

/// A record, and the bytes of a block.
type Close = Result<(FileRecord, u64), FileError>;

/// Looks at files closely, several at a time; none for those that there was no time for.
fn closely(
    entries: &[Entry],
    measuring: &Measuring,
    threads: usize,
    looker: &Looker,
    progress: &FileTerminal,
    stops: fn() -> bool,
) -> Vec<Option<Close>> {
    let paths: Vec<PathBuf> = entries.iter().filter_map(|entry| entry.origin.to_open()).collect();
    looker.look_ahead(&paths);
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<Close>>> = Mutex::new(entries.iter().map(|_| None).collect());
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, entries.len().max(1)) {
            scope.spawn(|| {
                while !stops() {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(entry) = entries.get(number) else { break };
                    let close = entry.origin.open(looker).and_then(|subject| {
                        Ok((measuring.record(&subject, Depth::Full)?, subject.block_bytes))
                    });
                    done.lock().unwrap_or_else(PoisonError::into_inner)[number] = Some(close);
                    progress.looked(number as u64 + 1, entries.len() as u64);
                }
            });
        }
    });
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// How the command ends: by a signal, with something not looked at, or well.
fn ending(looked: &Looked, stopped: bool) -> Result<Ending, Failure> {
    if stopped {
        return Ok(Ending::Interrupted);
    }
    let found = &looked.found;
    for one in found.not_looked_at.iter().take(MOST_SAID) {
        let path = report::shown_path(&one.path);
        terminal::say(&format!("not looked at: {path}: {}", one.reason));
    }
    match found.failures() {
        0 => Ok(Ending::Complete),
        failures => {
            let more = failures.saturating_sub(MOST_SAID as u64);
            let more =
                if more > 0 { format!(", {more} of them not listed here") } else { String::new() };
            Err(Failure::failed(format!("{failures} not looked at{more}")))
        }
    }
}

/// Reasons on standard error; --out has all.
const MOST_SAID: usize = 20;

/// Whether an error says that a program is not installed.
fn is_missing_tool(error: &FileError) -> bool {
    error.to_string().contains("not installed")
}

fn bad_input(error: FileError) -> Failure {
    match error {
        FileError::Input { message, remedy } => Failure::bad_input(message, remedy),
        error => Failure::bad_input(error.to_string(), "give another file"),
    }
}

/// Why a file was not looked at, without its path, which is beside it.
fn reason(path: &Path, error: &FileError) -> String {
    let text = error.to_string();
    let shown = path.display().to_string();
    let rest = text.strip_prefix(&shown).map(|rest| rest.trim_start_matches([':', ' ']));
    rest.map_or(text.clone(), str::to_owned)
}

/// Why a directory was not read.
fn reason_of_io(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "no permission to read the directory; run as its owner or as root".to_owned()
        }
        _ => error.to_string(),
    }
}
