//! An axis of a study: what its runs differ by.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use strewn_results::{AxisValue, SweepAxis};
use toml::{Spanned, Value};

use super::reader::{Reader, written};
use crate::amount::{self, Amount, Kind};
use crate::error::StudyError;

/// Most values of an axis.
pub(crate) const MOST_VALUES: usize = 10_000;

/// An axis.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) name: String,
    pub(crate) values: Values,
    pub(crate) is_logarithmic: bool,
}

/// The values of an axis.
#[derive(Clone, Debug)]
pub(crate) enum Values {
    /// Given one by one.
    Listed(Vec<Level>),
    /// Anywhere between two, as a latin hypercube draws them.
    Between(Between),
}

/// A range of values of one setting.
#[derive(Clone, Debug)]
pub(crate) struct Between {
    setting: String,
    from: Amount,
    to: Amount,
    is_whole: bool,
    /// Whether sizes are in decimal units.
    is_decimal: bool,
    line: usize,
}

/// A value of an axis: what it changes.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    pub(crate) label: String,
    /// Settings by name and value.
    pub(crate) settings: Vec<(String, String)>,
    /// Another base scenario.
    pub(crate) scenario: Option<PathBuf>,
    /// Line in the study's file.
    pub(crate) line: usize,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawAxis {
    name: Spanned<String>,
    setting: Option<Spanned<String>>,
    settings: Option<Vec<Spanned<String>>>,
    values: Option<Spanned<Vec<Spanned<Value>>>>,
    labels: Option<Spanned<Vec<String>>>,
    value: Option<Vec<Spanned<RawValue>>>,
    from: Option<Spanned<Value>>,
    to: Option<Spanned<Value>>,
    points: Option<Spanned<usize>>,
    step: Option<Spanned<Value>>,
    spacing: Option<Spacing>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawValue {
    label: String,
    #[serde(default)]
    set: BTreeMap<String, Value>,
    scenario: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Spacing {
    Linear,
    Log,
}

const ONE_FORM: &str = "give `setting` with `values`, or with `from` and `to`; or `settings` with a list of values each; or [[axis.value]] \
                        tables with `label` and `set`";

impl Axis {
    pub(super) fn read(
        reader: &Reader<'_>,
        raw: Spanned<RawAxis>,
        is_drawn: bool,
    ) -> Result<Self, StudyError> {
        let span = raw.span();
        let raw = raw.into_inner();
        let name = raw.name.get_ref().trim().to_owned();
        if name.is_empty() {
            return Err(reader.wrong(raw.name.span(), "axis.name", "is empty", "name the axis"));
        }
        let is_logarithmic = raw.spacing == Some(Spacing::Log);
        let values = match &raw {
            RawAxis {
                value: Some(values),
                setting: None,
                settings: None,
                values: None,
                from: None,
                ..
            } => Values::Listed(values.iter().map(|value| level_of_table(reader, value)).collect()),
            RawAxis {
                setting: Some(setting),
                values: Some(values),
                from: None,
                settings: None,
                value: None,
                ..
            } => Values::Listed(levels_of_list(reader, setting, values)),
            RawAxis {
                settings: Some(settings),
                values: Some(values),
                from: None,
                setting: None,
                value: None,
                ..
            } => Values::Listed(levels_of_lists(reader, settings, values)?),
            RawAxis {
                setting: Some(setting),
                from: Some(from),
                to: Some(to),
                values: None,
                settings: None,
                value: None,
                ..
            } => {
                let between = Between::read(reader, setting, from, to, is_logarithmic)?;
                match (&raw.points, &raw.step) {
                    (None, None) if is_drawn => Values::Between(between),
                    (points, step) => Values::Listed(between.spaced(
                        reader,
                        points.as_ref(),
                        step.as_ref(),
                        is_logarithmic,
                        to,
                    )?),
                }
            }
            _ => {
                return Err(reader.wrong(
                    span,
                    "axis",
                    "does not say what its values are",
                    ONE_FORM,
                ));
            }
        };
        let mut axis = Self { name, values, is_logarithmic };
        axis.relabel(reader, raw.labels)?;
        axis.check(reader, span)?;
        Ok(axis)
    }

    fn relabel(
        &mut self,
        reader: &Reader<'_>,
        labels: Option<Spanned<Vec<String>>>,
    ) -> Result<(), StudyError> {
        let Some(labels) = labels else { return Ok(()) };
        let Values::Listed(levels) = &mut self.values else { return Ok(()) };
        if labels.get_ref().len() != levels.len() {
            let message = format!("{} labels for {} values", labels.get_ref().len(), levels.len());
            return Err(reader.wrong(
                labels.span(),
                "axis.labels",
                message,
                "give one for each value",
            ));
        }
        for (level, label) in levels.iter_mut().zip(labels.into_inner()) {
            level.label = label;
        }
        Ok(())
    }

    fn check(&self, reader: &Reader<'_>, span: std::ops::Range<usize>) -> Result<(), StudyError> {
        let Values::Listed(levels) = &self.values else { return Ok(()) };
        if levels.is_empty() || levels.len() > MOST_VALUES {
            let message = format!("{} values", levels.len());
            let help = format!("give 1 to {MOST_VALUES} values");
            return Err(reader.wrong(span, "axis.values", message, help));
        }
        for (index, level) in levels.iter().enumerate() {
            if levels[..index].iter().any(|other| other.label == level.label) {
                let message = format!("\"{}\" is there twice", level.label);
                return Err(reader.at_line(
                    level.line,
                    "axis.values",
                    message,
                    "leave one out, or give `labels`",
                ));
            }
        }
        Ok(())
    }

    /// Returns the values that are given one by one.
    pub(crate) fn levels(&self) -> &[Level] {
        match &self.values {
            Values::Listed(levels) => levels,
            Values::Between(_) => &[],
        }
    }

    /// Returns the settings that it changes, each with a line of the study's file.
    pub(crate) fn settings(&self) -> Vec<(&str, usize)> {
        match &self.values {
            Values::Listed(levels) => {
                let named = levels.iter().flat_map(|level| {
                    level.settings.iter().map(|(name, _)| (name.as_str(), level.line))
                });
                named.collect()
            }
            Values::Between(between) => vec![(&between.setting, between.line)],
        }
    }

    /// Returns the axis as results describe it, with these values.
    pub(crate) fn described(&self, levels: &[Level]) -> SweepAxis {
        // What unlike settings share is no quantity.
        let keys: Vec<&str> = levels.iter().filter_map(Level::only_key).collect();
        let is_one = keys.len() == levels.len() && keys.windows(2).all(|pair| pair[0] == pair[1]);
        let setting = keys.first().filter(|_| is_one).map(|key| (*key).to_owned());
        let values: Option<Vec<String>> = levels.iter().map(Level::only_value).collect();
        let numbers = values.filter(|_| is_one).and_then(|values| amount::numbers(&values));
        let (numbers, unit) = match numbers {
            Some((numbers, unit)) => (numbers.into_iter().map(Some).collect(), unit),
            None => (vec![None; levels.len()], String::new()),
        };
        let values = levels.iter().zip(numbers);
        SweepAxis {
            name: self.name.clone(),
            setting: setting.unwrap_or_default(),
            unit,
            is_logarithmic: self.is_logarithmic,
            values: values
                .map(|(level, number)| AxisValue { label: level.label.clone(), number })
                .collect(),
        }
    }
}

impl Level {
    /// Returns the key of its settings, if that is the same for all of them: `outstanding` of several arrays.
    fn only_key(&self) -> Option<&str> {
        let keys = || self.settings.iter().map(|(name, _)| name.rsplit('.').next().unwrap_or(name));
        let first = keys().next().filter(|_| self.scenario.is_none())?;
        keys().all(|key| key == first).then_some(first)
    }

    /// Returns the value of its settings, if that is the same for all of them.
    fn only_value(&self) -> Option<String> {
        let (_, first) = self.settings.first()?;
        self.settings.iter().all(|(_, value)| value == first).then(|| first.clone())
    }
}

impl Between {
    fn read(
        reader: &Reader<'_>,
        setting: &Spanned<String>,
        from: &Spanned<Value>,
        to: &Spanned<Value>,
        is_logarithmic: bool,
    ) -> Result<Self, StudyError> {
        let ends = [from, to].map(|end| Amount::read(&written(end.get_ref())));
        let [Some(low), Some(high)] = ends else {
            let (end, field) =
                if ends[0].is_none() { (from, "axis.from") } else { (to, "axis.to") };
            let message = format!("{} is no quantity", end.get_ref());
            return Err(reader.wrong(
                end.span(),
                field,
                message,
                "write a number, or a size or time with its unit",
            ));
        };
        if low.kind != high.kind {
            let message = "is of another unit than `from`";
            return Err(reader.wrong(
                to.span(),
                "axis.to",
                message,
                "write both with units of one kind",
            ));
        }
        if low.base >= high.base {
            return Err(reader.wrong(
                to.span(),
                "axis.to",
                "is not above `from`",
                "give the lower end first",
            ));
        }
        if is_logarithmic && low.base <= 0.0 {
            let message = "a logarithmic axis cannot start at zero";
            return Err(reader.wrong(
                from.span(),
                "axis.from",
                message,
                "begin above zero, or space the values linearly",
            ));
        }
        let is_whole =
            low.kind != Kind::Number || (from.get_ref().is_integer() && to.get_ref().is_integer());
        let line = reader.line(from.span());
        let is_decimal = !written(from.get_ref()).ends_with("iB");
        let setting = setting.get_ref().clone();
        Ok(Self { setting, from: low, to: high, is_whole, is_decimal, line })
    }

    /// Returns the value at `share` of the way, 0 to 1. Sizes and times between the ends are rounded.
    fn at(&self, share: f64, is_logarithmic: bool) -> Level {
        let base = along(self.from.base, self.to.base, share, is_logarithmic);
        if share <= 0.0 || share >= 1.0 {
            return self.level(base);
        }
        self.valued(self.amount(base).rounded(self.is_decimal))
    }

    /// Returns a value in one of `parts` equal parts, by its number from 0, at `share` of the way through it, 0 to 1.
    pub(crate) fn in_part(
        &self,
        part: usize,
        parts: usize,
        share: f64,
        is_logarithmic: bool,
    ) -> Level {
        // Whole numbers are rounded down, so that the last one has as wide a part as the others.
        let to = if self.is_whole { self.to.base + 1.0 } else { self.to.base };
        let within = |share: f64| {
            let share = (part as f64 + share) / parts as f64;
            along(self.from.base, to, share, is_logarithmic)
        };
        let base = within(share);
        let base = if self.is_whole { base.floor().min(self.to.base) } else { base };
        let rounded = self.amount(base).rounded(self.is_decimal);
        let is_inside = |one: &Amount| (within(0.0)..within(1.0)).contains(&one.base);
        match Amount::read(&rounded).filter(is_inside) {
            Some(_) => self.valued(rounded),
            None => self.level(base),
        }
    }

    fn amount(&self, base: f64) -> Amount {
        let base = if self.is_whole { base.round() } else { base };
        Amount { kind: self.from.kind, base }
    }

    fn level(&self, base: f64) -> Level {
        self.valued(self.amount(base).written())
    }

    fn valued(&self, value: String) -> Level {
        Level {
            label: value.clone(),
            settings: vec![(self.setting.clone(), value)],
            scenario: None,
            line: self.line,
        }
    }

    fn spaced(
        &self,
        reader: &Reader<'_>,
        points: Option<&Spanned<usize>>,
        step: Option<&Spanned<Value>>,
        is_logarithmic: bool,
        to: &Spanned<Value>,
    ) -> Result<Vec<Level>, StudyError> {
        match (points, step) {
            (Some(points), None) => {
                let count = *points.get_ref();
                if !(2..=MOST_VALUES).contains(&count) {
                    let help = format!("give 2 to {MOST_VALUES}");
                    return Err(reader.wrong(
                        points.span(),
                        "axis.points",
                        format!("{count} points"),
                        help,
                    ));
                }
                let mut levels: Vec<Level> = (0..count)
                    .map(|index| self.at(index as f64 / (count - 1) as f64, is_logarithmic))
                    .collect();
                // Whole numbers close together.
                levels.dedup_by(|one, other| one.label == other.label);
                Ok(levels)
            }
            (None, Some(step)) if !is_logarithmic => {
                let by =
                    Amount::read(&written(step.get_ref())).filter(|by| by.kind == self.from.kind);
                let by = by.map(|by| by.base).filter(|by| *by > 0.0);
                let steps = by.map(|by| ((self.to.base - self.from.base) / by + 1e-9).floor());
                match (by, steps) {
                    (Some(by), Some(steps)) if steps < MOST_VALUES as f64 => Ok((0..=steps
                        as usize)
                        .map(|index| self.level(self.from.base + index as f64 * by))
                        .collect()),
                    _ => Err(reader.wrong(
                        step.span(),
                        "axis.step",
                        "is no step from `from` to `to`",
                        "give a positive one, in the same kind of unit",
                    )),
                }
            }
            _ => Err(reader.wrong(
                to.span(),
                "axis.to",
                "does not say how many values there are",
                "give `points`, or `step` of a linear axis",
            )),
        }
    }
}

/// Returns what is at `share` of the way between two numbers.
fn along(from: f64, to: f64, share: f64, is_logarithmic: bool) -> f64 {
    match is_logarithmic {
        true => from * (to / from).powf(share),
        false => from + share * (to - from),
    }
}

fn level_of_table(reader: &Reader<'_>, value: &Spanned<RawValue>) -> Level {
    let RawValue { label, set, scenario } = value.get_ref();
    Level {
        label: label.clone(),
        settings: set.iter().map(|(name, value)| (name.clone(), written(value))).collect(),
        scenario: scenario.clone(),
        line: reader.line(value.span()),
    }
}

fn levels_of_list(
    reader: &Reader<'_>,
    setting: &Spanned<String>,
    values: &Spanned<Vec<Spanned<Value>>>,
) -> Vec<Level> {
    let level = |value: &Spanned<Value>| {
        let text = written(value.get_ref());
        Level {
            label: text.clone(),
            settings: vec![(setting.get_ref().clone(), text)],
            scenario: None,
            line: reader.line(value.span()),
        }
    };
    values.get_ref().iter().map(level).collect()
}

fn levels_of_lists(
    reader: &Reader<'_>,
    settings: &[Spanned<String>],
    values: &Spanned<Vec<Spanned<Value>>>,
) -> Result<Vec<Level>, StudyError> {
    let level = |value: &Spanned<Value>| {
        let parts = value.get_ref().as_array().filter(|parts| parts.len() == settings.len());
        let Some(parts) = parts else {
            let message = format!("{} is no list of {} values", value.get_ref(), settings.len());
            return Err(reader.wrong(
                value.span(),
                "axis.values",
                message,
                "give a value for each of `settings`",
            ));
        };
        let texts: Vec<String> = parts.iter().map(written).collect();
        let label = texts.join(", ");
        let names = settings.iter().map(|name| name.get_ref().clone());
        let settings = names.zip(texts).collect();
        let line = reader.line(value.span());
        let level = Level { label, settings, scenario: None, line };
        let only = level.only_key().and_then(|_| level.only_value());
        Ok(Level { label: only.unwrap_or_else(|| level.label.clone()), ..level })
    };
    values.get_ref().iter().map(level).collect()
}
