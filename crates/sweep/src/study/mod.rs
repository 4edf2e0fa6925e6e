//! Studies as TOML files: a base scenario, axes, and what is measured.

pub(crate) mod axis;
mod choices;
mod figures;
mod reader;

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use strewn_results::{Argument, Prediction, StudyText, SweepChartSpec, TomlError, TomlText};
use strewn_run::QUICK_SCALE_DOWN;
use toml::{Spanned, Value};

use crate::absolute_path::absolute;
use crate::error::StudyError;
use axis::{Axis, RawAxis};
pub use choices::{AxisChoice, ValueChoice};
pub(crate) use figures::Measured;
use figures::RawFigure;
use reader::{Reader, written};

/// The version of the format that this crate reads.
const SCHEMA: u64 = 1;
/// The smallest scale is 1 in so many.
pub const MOST_SCALE_DOWN: u32 = 1 << 16;
/// Most seeds of a combination.
pub const MOST_REPLICATES: u32 = 1_000;
/// Most combinations of a latin hypercube.
const MOST_POINTS: usize = 100_000;

/// How combinations are made of the axes' values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// Every value of each axis with every value of all others.
    #[default]
    Grid,
    /// Each value beside the first values of all other axes.
    OneAtATime,
    /// The first values of all axes, the second values of all axes, and so on.
    Paired,
    /// Points drawn so that each axis with `from` and `to` alone has one in each of as many equal parts of its range;
    /// other axes are crossed with them.
    LatinHypercube,
}

impl Design {
    /// Returns the word for it in files.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Grid => "grid",
            Self::OneAtATime => "one-at-a-time",
            Self::Paired => "paired",
            Self::LatinHypercube => "latin-hypercube",
        }
    }
}

/// A scenario by its text.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    pub(crate) text: String,
    pub(crate) path: PathBuf,
}

/// A study, read and checked by itself. [`plan`](Self::plan) checks it with its scenarios.
#[derive(Clone, Debug)]
pub struct Study {
    pub(crate) path: PathBuf,
    /// Its file, from anywhere, if it was read from one.
    pub(crate) file: Option<PathBuf>,
    /// Its name.
    pub name: String,
    /// Its title, for a reader.
    pub title: String,
    pub(crate) base: Base,
    /// The scenarios that values of axes name, by their paths in the study.
    pub(crate) other_bases: BTreeMap<PathBuf, Base>,
    pub(crate) arrays: Vec<String>,
    pub(crate) lines: Lines,
    pub(crate) segments: Option<u32>,
    pub(crate) scale_down: u32,
    pub(crate) replicates: u32,
    pub(crate) seed: Option<u64>,
    pub(crate) design: Design,
    pub(crate) drawn_points: usize,
    pub(crate) design_seed: u64,
    pub(crate) set: Vec<(String, String)>,
    pub(crate) axes: Vec<Axis>,
    pub(crate) figures: Vec<Measured>,
    pub(crate) charts: Vec<SweepChartSpec>,
    /// What it says beside its figures.
    pub text: StudyText,
}

/// Lines of the study's file, for errors that only a plan finds.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    pub(crate) arrays: usize,
    pub(crate) segments: usize,
    pub(crate) set: usize,
    pub(crate) charts: Vec<usize>,
    pub(crate) predictions: Vec<usize>,
    pub(crate) finding: usize,
    pub(crate) depends: usize,
}

impl Lines {
    fn of(reader: &Reader<'_>, raw: &RawStudy) -> Self {
        fn line<T>(reader: &Reader<'_>, given: Option<&Spanned<T>>) -> usize {
            given.map_or(1, |given| reader.line(given.span()))
        }
        Self {
            arrays: line(reader, raw.arrays.as_ref()),
            segments: line(reader, raw.segments.as_ref()),
            set: line(reader, raw.set.as_ref()),
            charts: raw.chart.iter().map(|chart| reader.line(chart.span())).collect(),
            predictions: raw.prediction.iter().map(|one| reader.line(one.span())).collect(),
            finding: line(reader, raw.finding.as_ref()),
            depends: line(reader, raw.depends.as_ref()),
        }
    }
}

#[derive(Deserialize)]
struct SchemaOnly {
    schema: Spanned<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawStudy {
    #[serde(rename = "schema")]
    _schema: u64,
    name: Spanned<String>,
    title: Spanned<String>,
    scenario: Spanned<Value>,
    #[serde(default)]
    arrays: Option<Spanned<Vec<String>>>,
    segments: Option<Spanned<u32>>,
    scale_down: Option<Spanned<u32>>,
    replicates: Option<Spanned<u32>>,
    seed: Option<u64>,
    #[serde(default)]
    design: Design,
    points: Option<Spanned<usize>>,
    #[serde(default)]
    design_seed: u64,
    #[serde(default)]
    set: Option<Spanned<BTreeMap<String, Value>>>,
    #[serde(default)]
    axis: Vec<Spanned<RawAxis>>,
    #[serde(default)]
    figure: Vec<Spanned<RawFigure>>,
    #[serde(default)]
    chart: Vec<Spanned<SweepChartSpec>>,
    #[serde(default)]
    question: String,
    #[serde(default)]
    argument: Vec<Argument>,
    #[serde(default)]
    prediction: Vec<Spanned<Prediction>>,
    finding: Option<Spanned<String>>,
    depends: Option<Spanned<String>>,
}

impl Study {
    /// Returns by how much smaller than full scale a quick look runs it: as any scenario, unless the study is smaller.
    #[must_use]
    pub fn quick_scale_down(&self) -> u32 {
        self.scale_down.max(QUICK_SCALE_DOWN)
    }

    /// Reads a study's file, and the scenarios that it names.
    ///
    /// # Errors
    /// See [`StudyError`].
    pub fn load(path: impl AsRef<Path>) -> Result<Self, StudyError> {
        let path = path.as_ref();
        let text = read(path)?;
        Ok(Self { file: Some(absolute(path)), ..Self::parse(&text, path)? })
    }

    /// Reads a study's text. `path` is that of its file: errors give it, and the paths of scenarios start from its
    /// folder.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn parse(text: &str, path: impl AsRef<Path>) -> Result<Self, StudyError> {
        Self::parse_with(text, path, &read)
    }

    /// Reads a study's text, and the scenarios that it names by `read_file`.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn parse_with(
        text: &str,
        path: impl AsRef<Path>,
        read_file: &dyn Fn(&Path) -> Result<String, StudyError>,
    ) -> Result<Self, StudyError> {
        let path = path.as_ref();
        let reader = Reader(TomlText::new(text, path));
        let syntax = |error: TomlError| {
            let help = remedy(&error);
            StudyError::study(error, help)
        };
        // The schema first: the shape of another one would only give a puzzling message.
        let SchemaOnly { schema } = reader.0.parse().map_err(syntax)?;
        if *schema.get_ref() != SCHEMA {
            let message =
                format!("schema {} cannot be read, only schema {SCHEMA}", schema.get_ref());
            return Err(reader.wrong(schema.span(), "schema", message, "write schema = 1"));
        }
        let raw: RawStudy = reader.0.parse().map_err(syntax)?;
        Self::read(&reader, raw, path, read_file)
    }

    fn read(
        reader: &Reader<'_>,
        raw: RawStudy,
        path: &Path,
        read_file: &dyn Fn(&Path) -> Result<String, StudyError>,
    ) -> Result<Self, StudyError> {
        check_name(reader, &raw.name)?;
        if raw.title.get_ref().contains(char::is_control) {
            let help = "write it in one line of text";
            return Err(reader.wrong(raw.title.span(), "title", "has control characters", help));
        }
        let lines = Lines::of(reader, &raw);
        let count = |given: &Option<Spanned<u32>>, field: &str, most: u32| match given {
            Some(given) if !(1..=most).contains(given.get_ref()) => {
                let message = format!("{} is not from 1 to {most}", given.get_ref());
                Err(reader.wrong(given.span(), field, message, "correct it, or leave it out"))
            }
            given => Ok(given.as_ref().map(|given| *given.get_ref())),
        };
        let replicates = count(&raw.replicates, "replicates", MOST_REPLICATES)?.unwrap_or(1);
        let scale_down = count(&raw.scale_down, "scale_down", MOST_SCALE_DOWN)?.unwrap_or(1);
        let segments = count(&raw.segments, "segments", 1_000_000)?;
        let drawn_points = drawn_points(reader, raw.design, raw.points.as_ref())?;
        let is_drawn = raw.design == Design::LatinHypercube;
        let axes: Vec<Axis> = (raw.axis.into_iter())
            .map(|axis| Axis::read(reader, axis, is_drawn))
            .collect::<Result<_, _>>()?;
        check_axes(reader, &axes)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let base = match raw.scenario.get_ref() {
            Value::String(file) => base_at(&folder.join(file), read_file)?,
            Value::Table(table) => Base { text: table.to_string(), path: path.to_owned() },
            _ => {
                let help = "give the path of a scenario, or a table with its settings";
                return Err(reader.wrong(raw.scenario.span(), "scenario", "is no path", help));
            }
        };
        let mut other_bases = BTreeMap::new();
        for level in axes.iter().flat_map(Axis::levels) {
            if let Some(file) = &level.scenario {
                other_bases.insert(file.clone(), base_at(&folder.join(file), read_file)?);
            }
        }
        let figures = figures::read(reader, raw.figure)?;
        let text = StudyText {
            question: raw.question,
            arguments: raw.argument,
            predictions: raw.prediction.into_iter().map(Spanned::into_inner).collect(),
            finding: raw.finding.map(Spanned::into_inner).unwrap_or_default(),
            depends: raw.depends.map(Spanned::into_inner).unwrap_or_default(),
        };
        if let Some(arrays) = raw.arrays.as_ref().filter(|arrays| arrays.get_ref().is_empty()) {
            let help = "leave it out to run all of them";
            return Err(reader.wrong(arrays.span(), "arrays", "names none", help));
        }
        let set = raw.set.map(Spanned::into_inner).unwrap_or_default();
        check_settings(reader, &axes, &set)?;
        if raw.segments.is_some() && set.contains_key("segments") {
            let help = "give the study's `segments` alone";
            return Err(reader.at_line(lines.set, "set", "sets `segments` a second time", help));
        }
        Ok(Self {
            path: path.to_owned(),
            file: None,
            name: raw.name.into_inner(),
            title: raw.title.into_inner(),
            base,
            other_bases,
            lines,
            arrays: raw.arrays.map(Spanned::into_inner).unwrap_or_default(),
            segments,
            scale_down,
            replicates,
            seed: raw.seed,
            design: raw.design,
            drawn_points,
            design_seed: raw.design_seed,
            set: set.iter().map(|(name, value)| (name.clone(), written(value))).collect(),
            axes,
            figures,
            charts: raw.chart.into_iter().map(Spanned::into_inner).collect(),
            text,
        })
    }
}

/// Keys of the study itself, which TOML takes for those of the table above them.
const OWN_KEYS: [&str; 12] = [
    "question",
    "finding",
    "depends",
    "scenario",
    "arrays",
    "segments",
    "scale_down",
    "replicates",
    "seed",
    "design",
    "points",
    "title",
];

fn remedy(error: &TomlError) -> String {
    let is_own = |key: &&&str| error.message.starts_with(&format!("unknown field `{key}`"));
    match OWN_KEYS.iter().find(is_own) {
        Some(key) if error.field.contains('.') => {
            format!("move `{key}` above the first [table]: below one, it belongs to that table")
        }
        _ if error.message.starts_with("unknown variant") && error.field.ends_with("metric") => {
            "docs/scenarios.md lists the metrics under \"Compare with published tables\"".to_owned()
        }
        _ => "docs/studies.md lists what a study may say".to_owned(),
    }
}

/// Most bytes of a study's file or a scenario: a device has no end.
const MOST_BYTES: u64 = 64 << 20;

fn read(path: &Path) -> Result<String, StudyError> {
    let limited = || {
        let mut text = String::new();
        let file = std::fs::File::open(path)?;
        if file.take(MOST_BYTES + 1).read_to_string(&mut text)? as u64 > MOST_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "has more than 64 MiB"));
        }
        Ok(text)
    };
    limited().map_err(|source| StudyError::Unreadable { path: path.to_owned(), source })
}

fn base_at(
    path: &Path,
    read_file: &dyn Fn(&Path) -> Result<String, StudyError>,
) -> Result<Base, StudyError> {
    Ok(Base { text: read_file(path)?, path: path.to_owned() })
}

/// A study's name names files.
fn check_name(reader: &Reader<'_>, name: &Spanned<String>) -> Result<(), StudyError> {
    let is_fine = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let text = name.get_ref();
    if text.is_empty() || text.starts_with('.') || !text.chars().all(is_fine) {
        let message = format!("\"{text}\" cannot be the name of a file");
        return Err(reader.wrong(name.span(), "name", message, "use letters, digits, `-` and `_`"));
    }
    Ok(())
}

fn drawn_points(
    reader: &Reader<'_>,
    design: Design,
    points: Option<&Spanned<usize>>,
) -> Result<usize, StudyError> {
    match (design, points) {
        (Design::LatinHypercube, Some(points)) if (2..=MOST_POINTS).contains(points.get_ref()) => {
            Ok(*points.get_ref())
        }
        (Design::LatinHypercube, points) => Err(reader.wrong(
            points.map_or(0..0, Spanned::span),
            "points",
            "a latin hypercube needs the number of its points",
            format!("give points = 64; 2 to {MOST_POINTS}"),
        )),
        (_, Some(points)) => Err(reader.wrong(
            points.span(),
            "points",
            "is of a latin hypercube alone",
            "leave it out, or give design = \"latin-hypercube\"",
        )),
        (_, None) => Ok(0),
    }
}

/// Of two axes that change one setting the second would hide the first, whose differences would then be none.
fn check_settings(
    reader: &Reader<'_>,
    axes: &[Axis],
    set: &BTreeMap<String, Value>,
) -> Result<(), StudyError> {
    let mut changed_by: BTreeMap<&str, &str> =
        set.keys().map(|name| (name.as_str(), "[set]")).collect();
    for axis in axes {
        for (name, line) in axis.settings() {
            let of_all = |one: &str, other: &str| {
                let below = one.strip_prefix("*.");
                below.is_some_and(|below| other.ends_with(&format!(".{below}")))
            };
            let is_same = |other: &str| other == name || of_all(other, name) || of_all(name, other);
            let twice = |(other, _): &(&str, usize)| *other != name && is_same(other);
            if axis.settings().iter().any(twice) {
                let message = format!("`{name}` is also set by another name of this axis");
                let help = "name it once: `*.` means every array";
                return Err(reader.at_line(line, "axis", message, help));
            }
            let by_others = changed_by.iter().filter(|(_, by)| **by != axis.name);
            let other = by_others.into_iter().find(|(other, _)| is_same(other)).map(|(_, by)| *by);
            changed_by.insert(name, &axis.name);
            if let Some(other) = other {
                let message =
                    format!("`{name}` is also set by {other}, and a run has one value of it");
                let help = "set it in one place; one axis may set several settings at once";
                return Err(reader.at_line(line, "axis", message, help));
            }
        }
    }
    Ok(())
}

fn check_axes(reader: &Reader<'_>, axes: &[Axis]) -> Result<(), StudyError> {
    for (index, axis) in axes.iter().enumerate() {
        let line = axis.levels().first().map_or(1, |level| level.line);
        if axes[..index].iter().any(|other| other.name == axis.name) {
            let message = format!("\"{}\" is there twice", axis.name);
            return Err(reader.at_line(line, "axis.name", message, "give each axis another name"));
        }
        let words = axis.levels().iter().map(|level| &level.label).chain([&axis.name]);
        if words.into_iter().any(|word| word.contains(char::is_control)) {
            let help = "write names and labels in one line of text";
            return Err(reader.at_line(line, "axis", "has control characters", help));
        }
        if axis.name == "segment" {
            let help = "give it another name: charts call the segments of a run so";
            return Err(reader.at_line(line, "axis.name", "\"segment\" is no axis", help));
        }
    }
    Ok(())
}
