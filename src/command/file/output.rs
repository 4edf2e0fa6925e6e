//! What is printed and written.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use strewn::Replacement;
use strewn::file::{Extent, ExtentListWriter, FileError, ListedFile, free_space, read_whole};
use strewn::report::{self, ChartError, FilesReport};
use strewn::results::{self, ArrayMap, FileMap, FileRecord, FreeSpaceRecord, files_from_json};
use strewn::terminal::{self, Failure};

use super::Looked;
use super::subject::Subject;
use crate::command::arguments::{FileArguments, Format};
use crate::command::out_directory::{OutDirectory, check_own};
use crate::command::output_files::{picture, picture_names};

const JSON: &str = "files.json";
const CSV: &str = "files.csv";
const REPORT: &str = "report.html";
const MAP: &str = "map";
/// Files in the map; more would make it a book.
const MOST_MAPS: usize = 12;
/// Bytes of a block of the map.
const MAP_BLOCK_BYTES: u64 = 4096;

/// Where output goes, checked before anything is looked at.
pub(super) struct Output {
    out: Option<OutDirectory>,
    before: Option<Vec<FileRecord>>,
}

impl Output {
    pub(super) fn prepare(arguments: &FileArguments) -> Result<Self, Failure> {
        let names = || {
            let own = [JSON, CSV, REPORT].map(str::to_owned).into_iter();
            own.chain(picture_names(MAP, &arguments.pictures)).collect()
        };
        let out = arguments.out.as_deref();
        let out = out.map(|out| OutDirectory::check(out, arguments.force, names())).transpose()?;
        if let Some(out) = &out {
            let mut files = names().into_iter().map(|name: String| out.path().join(name));
            if let Some(input) = files.find(|file| is_input(arguments, file)) {
                return Err(Failure::bad_input(
                    format!("--out would write over {}, which is to be read", input.display()),
                    "give another directory",
                ));
            }
            let is_in_it = |output: &PathBuf| {
                names().iter().any(|name: &String| is_same_file(&out.path().join(name), output))
            };
            if let Some(output) = written_beside(arguments).into_iter().find(is_in_it) {
                return Err(Failure::bad_input(
                    format!("{} is to be written twice, once by --out", output.display()),
                    "give another directory, or another file",
                ));
            }
        }
        if let Some(path) = &arguments.save_extents {
            check_replaceable(arguments, path, "--save-extents", is_list)?;
        }
        Ok(Self { out, before: arguments.compare.as_deref().map(earlier).transpose()? })
    }

    /// Prints what was found, and then writes the files.
    ///
    /// Returns whether all that was asked for is known: free space may not be, nor the files of an earlier look.
    pub(super) fn publish(
        self,
        arguments: &FileArguments,
        looked: &Looked,
    ) -> Result<bool, Failure> {
        let (spaces, mut all_is_known) = match arguments.free_space {
            true => free_spaces(looked),
            false => (Vec::new(), true),
        };
        if let Some(before) = &self.before
            && report::earlier_files(before, &looked.files).iter().all(Option::is_none)
        {
            terminal::say("--compare: none of the files is in the earlier list");
            all_is_known = false;
        }
        let json = results::files_json(&looked.files).map_err(failed)?;
        let format = &arguments.format;
        let printed = match format.format() {
            Format::Json => terminal::print(&json),
            Format::Csv => terminal::print(&csv(&looked.files)?),
            Format::Text | Format::Markdown | Format::Latex => {
                terminal::print(&format.draw(|| self.text(looked, &spaces)))
            }
        };
        if looked.is_partial && format.is_for_programs() {
            terminal::say("PARTIAL: stopped before everything was looked at");
        }
        if format.is_for_programs() {
            // Free space is not a file; it is said beside them.
            let table = report::free_space_table(&spaces);
            if !table.is_empty() {
                terminal::say(table.trim());
            }
        }
        let saved = match &arguments.save_extents {
            Some(path) => save_extents(path, looked),
            None => Ok(()),
        };
        if let Some(out) = &self.out {
            let files = files(arguments, looked, &spaces, json, self.before.as_deref())?;
            out.write(&files, |_| "make room, and repeat the command".to_owned())?;
            let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
            let said = format!("Written into {}: {}.", out.path().display(), names.join(", "));
            match format.is_for_programs() {
                true => terminal::say_to_person(&said),
                false => terminal::print(&format!("\n{said}\n"))?,
            }
        }
        printed.and(saved).map(|()| all_is_known)
    }

    fn text(&self, looked: &Looked, spaces: &[FreeSpaceRecord]) -> String {
        let mut text = String::new();
        if looked.is_partial {
            text.push_str("PARTIAL: stopped before everything was looked at.\n\n");
        }
        if !looked.files.is_empty() {
            text.push_str(&report::files_table(&looked.files));
        }
        if looked.is_tree {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&report::file_totals_sentence(&looked.totals, looked.files.len()));
            let found = &looked.found;
            if found.others > 0 {
                text.push_str(&format!(
                    "Links, pipes, sockets and devices, which have no blocks of their own: {}.\n",
                    found.others
                ));
            }
            if found.pseudo > 0 {
                text.push_str(&format!(
                    "Directories that were left out, since their file systems (proc, sysfs, …) have no blocks: {}.\n",
                    found.pseudo
                ));
            }
            if found.linked > 0 {
                text.push_str(&format!(
                    "Further names of files that are counted once: {}.\n",
                    found.linked
                ));
            }
        }
        text.push_str(&report::free_space_table(spaces));
        if let Some(before) = &self.before {
            text.push_str(&format!(
                "\nBefore and after\n\n{}",
                report::files_comparison(before, &looked.files)
            ));
        }
        text
    }
}

fn csv(files: &[FileRecord]) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    report::write_files_csv(files, &mut bytes).map_err(failed)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads a regular file that is not too long.
pub(super) fn read_bounded(path: &Path) -> std::io::Result<String> {
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is no regular file"));
    }
    String::from_utf8(read_whole(File::open(path)?)?).map_err(|_| {
        std::io::Error::new(std::io::ErrorKind::InvalidData, "stream did not contain valid UTF-8")
    })
}

/// Reads what an earlier look found.
fn earlier(path: &Path) -> Result<Vec<FileRecord>, Failure> {
    let help = "give what strewn file --json has written, or files.json of its --out";
    let text = read_bounded(path).map_err(|error| {
        Failure::bad_input(format!("--compare {}: {error}", path.display()), help)
    })?;
    files_from_json(&text)
        .map_err(|error| Failure::bad_input(format!("--compare {}: {error}", path.display()), help))
}

/// The free space of each file system that was seen.
fn free_spaces(looked: &Looked) -> (Vec<FreeSpaceRecord>, bool) {
    let mut spaces = Vec::new();
    let mut all_are_known = true;
    for file_system in looked.looker.file_systems() {
        let mount = &file_system.mount;
        match free_space(mount) {
            Ok(found) => {
                let mut source = vec![found.source.clone()];
                source.extend(found.caveats.iter().cloned());
                spaces.push(FreeSpaceRecord {
                    mount: mount.mount_point.clone(),
                    file_system: mount.kind.name().to_owned(),
                    source: format!("{}.", source.join("; ")),
                    free_bytes: found.free_bytes,
                    score: found.score,
                    largest_run_bytes: found.largest_run_bytes,
                    runs: found
                        .histogram
                        .iter()
                        .map(|class| (class.from_blocks * found.block_bytes, class.runs))
                        .collect(),
                });
            }
            Err(error) => {
                all_are_known = false;
                terminal::say(&format!("free space of {}: {error}", mount.mount_point));
            }
        }
    }
    (spaces, all_are_known)
}

/// Whether a file begins as a list of extents does.
fn is_list(first: &str) -> bool {
    let header = first.lines().find(|line| !line.starts_with("# "));
    header.is_some_and(|header| header.starts_with("offset,bytes,address"))
}

/// The files that are written beside those of `--out`.
fn written_beside(arguments: &FileArguments) -> Vec<PathBuf> {
    let chart = arguments.append.as_deref().map(super::history::chart_of);
    let named = [&arguments.append, &arguments.save_extents, &arguments.metrics];
    named.into_iter().flatten().cloned().chain(chart).collect()
}

/// Whether two paths lead to the same file, which need not be there yet.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let whole = |path: &Path| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
        Some(folder.join(path.file_name()?))
    };
    one == other || (whole(one).is_some() && whole(one) == whole(other))
}

/// Whether a file is one that is looked at or read.
fn is_input(arguments: &FileArguments, path: &Path) -> bool {
    let numbers =
        |path: &Path| std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()));
    let own = numbers(path);
    let mut inputs = arguments.paths.iter().chain(&arguments.from).chain(&arguments.compare);
    own.is_some() && inputs.any(|input| numbers(input) == own)
}

/// Checks that a file can be written, and that what is there is one that this command writes: not a file that is looked
/// at, nor anybody's.
pub(super) fn check_replaceable(
    arguments: &FileArguments,
    path: &Path,
    flag: &str,
    is_ours: fn(&str) -> bool,
) -> Result<(), Failure> {
    let shown = path.display();
    let refuse = |what: &str| {
        Err(Failure::bad_input(format!("{flag} {shown}: {what}"), "give the name of a new file"))
    };
    if is_input(arguments, path) {
        return refuse("it is a file to be looked at");
    }
    let outputs = written_beside(arguments);
    if outputs.iter().filter(|output| is_same_file(output, path)).count() > 1 {
        return refuse("it is to be written twice");
    }
    // Of a directory it says so.
    check_writable(path, flag)?;
    check_own(path, is_ours).or_else(refuse)
}

/// Checks that a file can be written to, without changing it.
pub(super) fn check_writable(path: &Path, flag: &str) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let problem = if path.is_dir() {
        Some("it is a directory".to_owned())
    } else if !folder.is_dir() {
        Some(format!("there is no directory {}", folder.display()))
    } else {
        crate::command::out_directory::try_to_write(folder).err().map(|error| error.to_string())
    };
    match problem {
        None => Ok(()),
        Some(problem) => Err(Failure::bad_input(
            format!("{flag} {}: {problem}", path.display()),
            "give a file in a directory that exists and that you may write to",
        )),
    }
}

/// Writes the extents of the files listed.
fn save_extents(path: &Path, looked: &Looked) -> Result<(), Failure> {
    let written = Replacement::write_with(path, |file: &mut File| {
        let mut list = ExtentListWriter::new(BufWriter::new(file));
        for (record, origin) in looked.files.iter().zip(&looked.origins) {
            // Gone meanwhile: the others are still worth having.
            let Ok(subject) = origin.open(&looked.looker) else { continue };
            list.file(&ListedFile {
                path: Some(record.path.clone()),
                file_bytes: Some(subject.bytes),
                block_bytes: Some(subject.block_bytes),
                device_bytes: subject.whole_bytes,
            })?;
            for extent in subject.extents() {
                let extent = extent.map_err(|error| std::io::Error::other(error.to_string()))?;
                list.extent(&extent)?;
            }
        }
        list.finish()?.flush()
    });
    written.and_then(Replacement::put_in_place).map_err(|error| {
        Failure::failed(format!("--save-extents {}: {error}", path.display()))
            .with_help("make room, and repeat the command")
    })
}

fn files(
    arguments: &FileArguments,
    looked: &Looked,
    spaces: &[FreeSpaceRecord],
    json: String,
    before: Option<&[FileRecord]>,
) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let maps = maps(looked);
    let when = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let page = FilesReport {
        strewn: env!("CARGO_PKG_VERSION"),
        when: &when,
        files: &looked.files,
        totals: &looked.totals,
        maps: &maps,
        free_space: spaces,
        not_looked_at: &looked.found.not_looked_at,
        before,
        is_partial: looked.is_partial,
    };
    let mut files = vec![
        (JSON.to_owned(), json.into_bytes()),
        (CSV.to_owned(), csv(&looked.files)?.into_bytes()),
        (REPORT.to_owned(), page.to_html().map_err(failed)?.into_bytes()),
    ];
    match report::files_map(&maps, arguments.pictures.style()) {
        Ok(svg) => files.extend(picture(MAP, svg, &arguments.pictures)?),
        Err(ChartError::NothingToDraw) => {}
        Err(error) => return Err(failed(error)),
    }
    Ok(files)
}

fn maps(looked: &Looked) -> Vec<FileMap> {
    let mut maps = Vec::new();
    for (record, origin) in looked.files.iter().zip(&looked.origins) {
        if maps.len() == MOST_MAPS {
            terminal::say(&format!("The map has the first {MOST_MAPS} files."));
            break;
        }
        let Ok(subject) = origin.open(&looked.looker) else { continue };
        match map(&record.path, &subject) {
            Ok(map) => maps.extend(map),
            Err(error) => terminal::say(&format!("no map of {}: {error}", record.path)),
        }
    }
    maps
}

/// Returns the map of a file, from its lowest address on any device to its highest; none if no byte has a place.
fn map(name: &str, subject: &Subject) -> Result<Option<FileMap>, FileError> {
    let mut pieces = Vec::new();
    let place = |extent: &Extent, pieces: &mut Vec<_>| {
        pieces.clear();
        if let Some(at) = extent.place.address() {
            subject.space.read(at, extent.bytes, pieces);
        }
    };
    let (mut low, mut high) = (u64::MAX, 0);
    let mut used = vec![false; subject.space.devices().len()];
    for extent in subject.extents() {
        place(&extent?, &mut pieces);
        for piece in &pieces {
            low = low.min(piece.byte);
            high = high.max(piece.byte + piece.bytes);
            used[usize::from(piece.device)] = true;
        }
    }
    if low >= high {
        return Ok(None);
    }
    let low = low / MAP_BLOCK_BYTES * MAP_BLOCK_BYTES;
    let blocks = (high - low).div_ceil(MAP_BLOCK_BYTES);
    let mut map = ArrayMap::new(name, blocks, None);
    // Devices without any of it have no row.
    let row: Vec<u16> = used
        .iter()
        .scan(0, |rows, used| {
            let row = *rows;
            *rows += u16::from(*used);
            Some(row)
        })
        .collect();
    let rows = used.iter().filter(|used| **used).count() as u16;
    let mut picture = map.picture(rows, false);
    let mut behind: Option<u64> = None;
    for extent in subject.extents() {
        let extent = extent?;
        place(&extent, &mut pieces);
        for piece in &pieces {
            let first = (piece.byte.saturating_sub(low)) / MAP_BLOCK_BYTES;
            let end = (piece.byte + piece.bytes).saturating_sub(low).div_ceil(MAP_BLOCK_BYTES);
            // The file may have moved since the first pass.
            let (first, end) = (first.min(blocks - 1), end.min(blocks));
            let distance = behind.map_or(0, |behind| behind.abs_diff(first));
            picture.add_run(
                row[usize::from(piece.device)],
                first,
                end.max(first + 1) - first,
                distance,
            );
            behind = Some(end);
        }
    }
    map.add(0, &picture);
    let devices = subject.space.devices();
    Ok(Some(FileMap {
        map,
        devices: devices
            .iter()
            .zip(&used)
            .filter(|(_, used)| **used)
            .map(|(device, _)| device.name.clone())
            .collect(),
        first_byte: low,
        device_bytes: devices.iter().filter_map(|device| device.bytes).max(),
    }))
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::failed(error.to_string())
}
