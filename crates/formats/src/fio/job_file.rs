//! Job files: sections of options, resolved into jobs.

use std::io::BufRead;
use std::path::Path;
use std::sync::Arc;

use crate::text::{
    self, ErrorKind, FileFormatError, FilePosition, Limits, Line, Lines, nearest, quoted,
};

use super::Job;
use super::engine::{self, EngineKind};
use super::option::{self, Treatment};
use super::setting::{Apply, MOST_JOBS, Resolved, Setting};
use super::size::KbBase;

/// fio truncates longer names.
const LONGEST_NAME_BYTES: usize = 255;

/// A job file.
///
/// Every option is in one of three places: in [`JobFile::jobs`], with its defaults and those of the
/// `[global]` sections resolved; in [`JobFile::ignored`], because it changes nothing that is
/// simulated; or in [`JobFile::refused`], because it would change the workload and is not
/// supported. An option that fio does not have is an error.
///
/// ```
/// use strewn_formats::fio::{BlockSizes, JobFile};
///
/// let text = "\
/// [global]
/// ioengine=libaio
/// direct=1
/// size=100g
/// iodepth=32
/// [mixed]
/// rw=randrw
/// rwmixread=80
/// bssplit=4k/60:8k/40
/// [log]
/// stonewall
/// rw=write
/// fsync=1
/// ";
/// let file = JobFile::parse(text, "mixed.fio")?;
/// assert_eq!(file.jobs[0].read_percent, 80);
/// assert_eq!(file.jobs[1].block_sizes.write, BlockSizes::Fixed(4096));
/// assert_eq!(file.groups().count(), 2);
/// // `direct` is ignored, `fsync` is not to be.
/// assert_eq!(file.ignored[0].name, "direct");
/// let error = file.refuse_unsupported().unwrap_err();
/// assert_eq!(error.problem(), "mixed.fio:13:1: `fsync` is not supported");
/// # Ok::<(), strewn_formats::FileFormatError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct JobFile {
    /// In the order of the file.
    pub jobs: Vec<Job>,
    /// Options without effect on a simulation, in the order of the file.
    pub ignored: Vec<OptionNote>,
    /// Options that would change the workload and are not supported, in the order of the file.
    pub refused: Vec<OptionNote>,
}

/// An option that is not in a [`Job`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OptionNote {
    /// The option.
    pub name: String,
    /// Its value, empty if it has none.
    pub value: String,
    /// The section that it is in.
    pub section: String,
    /// Where it is.
    pub position: FilePosition,
    /// Why it is not in the job.
    pub reason: &'static str,
}

impl JobFile {
    /// Reads a job file in `text`. `name` names the file in errors.
    ///
    /// # Errors
    ///
    /// [`FileFormatError`] at the first line that has no place in a job file, or with every option that fio would not
    /// accept: the first is the error, the rest are its [`others`](FileFormatError::others).
    pub fn parse(text: &str, name: &str) -> Result<Self, FileFormatError> {
        Self::read(text.as_bytes(), Some(name))
    }

    /// Reads the job file at `path`.
    ///
    /// ```no_run
    /// use strewn_formats::fio::JobFile;
    ///
    /// let file = JobFile::load("database.fio")?;
    /// file.refuse_unsupported()?;
    /// # Ok::<(), strewn_formats::FileFormatError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`FileFormatError`] if it cannot be read, or as for [`JobFile::parse`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self, FileFormatError> {
        let name = path.as_ref().display().to_string();
        let file = text::open(path.as_ref(), &name, "give the path of a job file of fio")?;
        Self::read(file, Some(&name))
    }

    /// Reads a job file. `name` names it in errors.
    ///
    /// # Errors
    ///
    /// As for [`JobFile::parse`], and if the reader fails.
    pub fn read(reader: impl BufRead, name: Option<&str>) -> Result<Self, FileFormatError> {
        let file: Option<Arc<str>> = name.map(Arc::from);
        let sections = sections(reader, &file)?;
        let mut result = Self { jobs: Vec::new(), ignored: Vec::new(), refused: Vec::new() };
        let mut errors = Vec::new();
        let mut global = Resolved { job: Job::defaults(), base: KbBase::Binary };
        for section in &sections {
            if section.is_global() {
                global = result.resolve(section, global, &file, &mut errors);
                continue;
            }
            let mut own = global.clone();
            own.job.name.clone_from(&section.name);
            own.job.line = section.number;
            let job = result.resolve(section, own, &file, &mut errors).job;
            result.jobs.push(job);
        }
        if let Some(error) = FileFormatError::all(errors) {
            return Err(error);
        }
        if result.jobs.is_empty() {
            return Err(FileFormatError::new(
                ErrorKind::Missing,
                FilePosition::new(file, 0, 0),
                "there is no job",
                "begin one with its name in brackets, such as [random-reads]",
            ));
        }
        Ok(result)
    }

    /// Returns an error that names the first refused option, if there is one.
    ///
    /// # Errors
    ///
    /// [`FileFormatError`] of kind [`ErrorKind::Refused`] if an option is refused.
    pub fn refuse_unsupported(&self) -> Result<(), FileFormatError> {
        let Some(note) = self.refused.first() else { return Ok(()) };
        Err(FileFormatError::new(
            ErrorKind::Refused,
            note.position.clone(),
            format!("`{}` is not supported", note.name),
            format!("{}; take it out of the job to go without", note.reason),
        ))
    }

    /// Returns the jobs that run side by side, group by group. A job with `stonewall` begins a new
    /// group.
    ///
    /// ```
    /// use strewn_formats::fio::JobFile;
    ///
    /// let file = JobFile::parse("[fill]\nrw=write\n[a]\nstonewall\n[b]\n", "a.fio")?;
    /// let groups: Vec<Vec<&str>> =
    ///     file.groups().map(|jobs| jobs.iter().map(|job| job.name.as_str()).collect()).collect();
    /// assert_eq!(groups, [vec!["fill"], vec!["a", "b"]]);
    /// # Ok::<(), strewn_formats::FileFormatError>(())
    /// ```
    pub fn groups(&self) -> impl Iterator<Item = &[Job]> {
        self.jobs.chunk_by(|_, next| !next.stonewall)
    }

    /// Applies a section's options on top of those of the sections above it. An option that is not accepted is an error
    /// and changes nothing.
    fn resolve(
        &mut self,
        section: &Section,
        mut resolved: Resolved,
        file: &Option<Arc<str>>,
        errors: &mut Vec<FileFormatError>,
    ) -> Resolved {
        // As in fio, `kb_base` holds for the whole section, wherever it stands there.
        for raw in &section.options {
            let line = Line::new(&raw.text, raw.number, file);
            let (name, value) = name_and_value(line.text);
            if let ("kb_base", Some(value)) = (name, value) {
                match KbBase::parse(&line, value) {
                    Ok(base) => resolved.base = base,
                    Err(error) => errors.push(error),
                }
            }
        }
        for raw in &section.options {
            let line = Line::new(&raw.text, raw.number, file);
            errors.extend(self.apply(section, &mut resolved, &line).err());
        }
        let Job { think_time, alignment_bytes, .. } = &resolved.job;
        debug_assert!(think_time.is_none_or(|think_time| think_time.accesses > 0));
        debug_assert!(alignment_bytes.read != Some(0));
        resolved
    }

    fn apply(
        &mut self,
        section: &Section,
        resolved: &mut Resolved,
        line: &Line<'_>,
    ) -> Result<(), FileFormatError> {
        let (name, value) = name_and_value(line.text);
        let Some(treatment) = option::treatment(name) else { return Err(unknown(line, name)) };
        let note = |reason| OptionNote {
            name: name.to_owned(),
            value: value.unwrap_or_default().to_owned(),
            section: section.name.clone(),
            position: line.position_of(name),
            reason,
        };
        match treatment {
            Treatment::Ignored(reason) => {
                // Several names are several files, and accesses go to each in turn.
                let several = name == "filename" && names_several_files(value.unwrap_or_default());
                if several {
                    self.refused.push(note("it names several files; a job accesses one LUN"));
                } else {
                    self.ignored.push(note(reason));
                    if name == "filename" {
                        let given = value.filter(|value| !value.is_empty());
                        resolved.job.file_name = given.map(str::to_owned);
                    }
                }
            }
            Treatment::Refused(reason, off) => {
                if off.contains(&value.unwrap_or("1")) {
                    self.ignored.push(note("its value switches it off"));
                } else {
                    self.refused.push(note(reason));
                }
            }
            Treatment::Mapped(apply) => {
                Setting { line, name, value }.set(apply, resolved)?;
                let kind = resolved.job.io_engine.as_deref().and_then(engine::kind);
                if apply == Apply::IoEngine && kind == Some(EngineKind::NoBlockIo) {
                    self.refused.push(note(engine::NO_BLOCK_IO));
                }
            }
        }
        Ok(())
    }
}

/// A section as written.
struct Section {
    name: String,
    number: u64,
    options: Vec<RawOption>,
}

impl Section {
    fn is_global(&self) -> bool {
        self.name == "global"
    }
}

struct RawOption {
    number: u64,
    text: String,
}

fn sections(
    reader: impl BufRead,
    file: &Option<Arc<str>>,
) -> Result<Vec<Section>, FileFormatError> {
    let mut lines = Lines::new(reader, file.clone(), Limits::CONFIGURATION)?;
    let mut sections: Vec<Section> = Vec::new();
    while let Some(line) = lines.next_line()? {
        let text = line.text.trim();
        if text.is_empty() || text.starts_with([';', '#']) {
            continue;
        }
        if let Some(rest) = text.strip_prefix('[') {
            let Some((name, rest)) = rest.rsplit_once(']') else {
                let help = "write the name of the job in brackets, such as [random-reads]";
                let message = "the bracket is not closed";
                return Err(line.error_of(text, ErrorKind::Syntax, message, help));
            };
            if !without_comment(rest).is_empty() || name.is_empty() {
                let message = "the section is not a name in brackets";
                let help = "write the name of the job in brackets, such as [random-reads]";
                return Err(line.error_of(text, ErrorKind::Syntax, message, help));
            }
            if sections.len() > MOST_JOBS {
                let message = format!("there are more than {MOST_JOBS} jobs");
                let help = "split the file; fio runs no more either";
                return Err(line.error(ErrorKind::Limit, message, help));
            }
            if name.len() > LONGEST_NAME_BYTES {
                let message = format!("the name is longer than {LONGEST_NAME_BYTES} bytes");
                return Err(line.error_of(name, ErrorKind::Limit, message, "shorten it"));
            }
            let (name, number) = (name.to_owned(), line.number);
            sections.push(Section { name, number, options: Vec::new() });
            continue;
        }
        if text.split_ascii_whitespace().next() == Some("include") {
            return Err(line.error_of(
                text,
                ErrorKind::Refused,
                "other files are not included",
                "put the lines of the other file in its place",
            ));
        }
        match sections.last_mut() {
            Some(section) => {
                section.options.push(RawOption { number: line.number, text: text_of(&line) });
            }
            None => {
                return Err(line.error_of(
                    text,
                    ErrorKind::Syntax,
                    "an option stands before the first section",
                    "begin the file with [global] or the name of a job in brackets",
                ));
            }
        }
    }
    Ok(sections)
}

/// Returns the line with its indentation, since columns count from there.
fn text_of(line: &Line<'_>) -> String {
    line.text.trim_end().to_owned()
}

/// Splits a line into the name before the first `=` and what follows it up to a comment.
fn name_and_value(text: &str) -> (&str, Option<&str>) {
    match text.split_once('=') {
        Some((name, value)) => (name.trim(), Some(without_comment(value))),
        None => (without_comment(text), None),
    }
}

/// Strips a comment. Comments are lines of their own, but fio ignores one after a value too.
fn without_comment(text: &str) -> &str {
    let comment = text.char_indices().find(|(at, c)| {
        let after_space = text[..*at].chars().next_back().is_none_or(char::is_whitespace);
        [';', '#'].contains(c) && after_space
    });
    comment.map_or(text, |(at, _)| &text[..at]).trim()
}

/// Returns whether `value` names several files. A colon separates names unless a backslash precedes
/// it.
fn names_several_files(value: &str) -> bool {
    value.replace("\\:", "").contains(':')
}

fn unknown(line: &Line<'_>, name: &str) -> FileFormatError {
    let message = format!("{} is not an option of fio", quoted(name));
    let lower = name.to_ascii_lowercase();
    let help = if option::treatment(&lower).is_some() {
        format!("options are in small letters: write `{lower}`")
    } else if let Some(near) = nearest(&lower, option::names()) {
        format!("did you mean `{near}`?")
    } else {
        "check it against `fio --cmdhelp=all`, or take the line out".to_owned()
    };
    line.error_of(name, ErrorKind::UnknownName, message, help)
}
