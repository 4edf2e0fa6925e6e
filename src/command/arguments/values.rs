//! Parses the values of flags; each error says what to give instead.

use super::output::ChosenColumn;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use strewn::MOST_REPLICATES;
use strewn::formats::trace::SpeedUp;
use strewn::report::ChartSize;
use strewn::results::Column;
use strewn::scenario::{Template, Until};
use strewn::spindle::MAX_DEPTH;
use strewn::sweep::MOST_SCALE_DOWN;

/// Largest number of segments: at 20 minutes each, four years.
pub(crate) const MOST_SEGMENTS: u32 = 100_000;

/// Largest number of commands in a closed loop: half a year of a drive's work.
const MOST_COMMANDS: u32 = 1_000_000_000;
/// Largest number of outstanding commands: no drive queues more.
const MOST_OUTSTANDING: u32 = 4096;
/// Largest number of sectors in a command: no drive accepts more.
const MOST_SECTORS: u32 = 1 << 20;

pub(crate) fn seed(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("give a whole number from 0 to {}, such as --seed 1", u64::MAX))
}

pub(super) fn setting(text: &str) -> Result<(String, String), String> {
    let found = text.split_once('=').map(|(name, value)| (name.trim(), value.trim()));
    let found = found.filter(|(name, value)| !name.is_empty() && !value.is_empty());
    found.map(|(name, value)| (name.to_owned(), value.to_owned())).ok_or_else(|| {
        "give a name and a value, such as --set write_anywhere.policy=first-fit".to_owned()
    })
}

/// Returns a parser of the names of templates, which completions and the manual list with what each compares.
pub(super) fn template() -> impl TypedValueParser<Value = &'static Template> {
    let value = |template: &Template| PossibleValue::new(template.name).help(template.compares);
    PossibleValuesParser::new(Template::ALL.iter().map(value))
        .try_map(|name| Template::named(&name).ok_or("strewn new --list lists what there is"))
}

pub(super) fn jobs(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => {
            Err("zero threads cannot run anything; give 1 or more, or leave out --jobs to use every core"
                .into())
        }
        Ok(jobs) => Ok(jobs),
        Err(_) => Err("give a whole number of threads, such as --jobs 2".into()),
    }
}

pub(super) fn bench_seconds(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|seconds| (0.1..=3600.0).contains(seconds)).ok_or_else(|| {
        "give the seconds of wall time for each array, 0.1 to 3600, such as --seconds 5".into()
    })
}

pub(super) fn hours(text: &str) -> Result<f64, String> {
    let is_some = |hours: &f64| hours.is_finite() && *hours > 0.0;
    text.parse()
        .ok()
        .filter(is_some)
        .ok_or_else(|| "give a number of hours above zero, such as --max-hours 8".into())
}

pub(crate) fn segments(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(0) => Err("zero segments measure nothing; give 1 or more".into()),
        Ok(segments) if segments <= MOST_SEGMENTS => Ok(segments),
        _ => Err(format!("give a whole number from 1 to {MOST_SEGMENTS}, such as --segments 14")),
    }
}

pub(super) fn until(text: &str) -> Result<Until, String> {
    text.parse().map_err(|()| {
        "give a goal, such as --until \"rewritten 100 %\", \"rewritten 3 times\" or steady".into()
    })
}

pub(super) fn scale_down(text: &str) -> Result<u32, String> {
    whole_number(text, MOST_SCALE_DOWN, "--scale-down 64")
}

pub(super) fn replicates(text: &str) -> Result<u32, String> {
    match text.parse() {
        Ok(0) => Err("zero runs measure nothing; give 1 or more".into()),
        Ok(replicates) if replicates <= MOST_REPLICATES => Ok(replicates),
        _ => {
            Err(format!("give a whole number from 1 to {MOST_REPLICATES}, such as --replicates 8"))
        }
    }
}

pub(super) fn speed_up(text: &str) -> Result<SpeedUp, String> {
    let factor: f64 = text
        .parse()
        .map_err(|_| "give a number such as --speedup 2 or --speedup 0.5".to_owned())?;
    SpeedUp::new(factor).map_err(|error| error.to_string())
}

pub(super) fn column(name: &str) -> Result<ChosenColumn, String> {
    let name = name.trim();
    if name == "all" {
        return Ok(ChosenColumn(None));
    }
    let named = Column::named(name).map(|column| ChosenColumn(Some(column)));
    named.ok_or_else(|| {
        let meant = Column::nearest(name).map(|name| format!("; did you mean {name}?"));
        format!(
            "no such column{}; strewn report --list-columns lists them",
            meant.unwrap_or_default()
        )
    })
}

pub(super) fn chart_size(text: &str) -> Result<ChartSize, String> {
    let size = text.split_once('x').and_then(|(width, height)| {
        Some(ChartSize { width_px: width.parse().ok()?, height_px: height.parse().ok()? })
    });
    let possible = size.filter(|size| size.check().is_ok());
    possible
        .ok_or_else(|| "give width and height from 480x320 to 8000x8000, such as 1200x700".into())
}

pub(crate) fn whole_number(text: &str, most: u32, example: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    number.ok_or_else(|| format!("give a whole number from 1 to {most}, such as {example}"))
}

pub(super) fn outstanding(text: &str) -> Result<u32, String> {
    whole_number(text, MOST_OUTSTANDING, "--closed-loop 8")
}

pub(super) fn depth(text: &str) -> Result<u32, String> {
    whole_number(text, MAX_DEPTH, "--depth 32")
}

pub(super) fn sectors(text: &str) -> Result<u32, String> {
    whole_number(text, MOST_SECTORS, "--sectors 8")
}

pub(super) fn commands(text: &str) -> Result<u32, String> {
    whole_number(text, MOST_COMMANDS, "--commands 20000")
}

pub(super) fn percent(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').unwrap_or(text).parse().ok();
    let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
    percent.ok_or_else(|| "give a number from 0 to 100, such as --reads 67".into())
}
