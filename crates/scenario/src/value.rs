//! Readers of single TOML values. Each returns the value, or what is wrong with it and what would
//! be right.

use std::ops::RangeInclusive;

use strewn_base::SECTOR_BYTES;
use toml::de::DeValue;

use crate::quantity::{Bytes, Nanoseconds};
use strewn_base::nearest;

/// Why a value was refused.
#[derive(Debug)]
pub(crate) struct ValueError {
    pub(crate) message: String,
    pub(crate) help: String,
}

/// The value read, or why it was refused.
pub(crate) type Reading<T> = Result<T, ValueError>;

pub(crate) fn refuse<T>(message: impl Into<String>, help: impl Into<String>) -> Reading<T> {
    Err(ValueError { message: message.into(), help: help.into() })
}

fn wrong_type<T>(value: &DeValue<'_>, expected: &str, help: &str) -> Reading<T> {
    refuse(format!("is {}, not {expected}", type_of(value)), help)
}

/// Returns the type of a value, with its article.
pub(crate) fn type_of(value: &DeValue<'_>) -> String {
    let article = if value.type_str().starts_with(['a', 'i']) { "an" } else { "a" };
    format!("{article} {}", value.type_str())
}

/// Reads a string.
pub(crate) fn text(value: &DeValue<'_>) -> Reading<String> {
    match value.as_str() {
        Some(text) => Ok(text.to_owned()),
        None => wrong_type(value, "a string", "write it in double quotes"),
    }
}

/// Reads a string of one line that is not empty.
pub(crate) fn name(value: &DeValue<'_>) -> Reading<String> {
    match text(value)? {
        name if name.trim().is_empty() => refuse("is empty", "give it a name"),
        name if name.contains(['\n', '\r']) => refuse("has a line break", "write it in one line"),
        name => Ok(name),
    }
}

/// Puts what was perhaps meant before what is read in any case.
fn with_suggestion(meant: Option<String>, example: &str) -> String {
    meant.map_or_else(|| example.to_owned(), |meant| format!("{meant} {example}"))
}

/// Reads a size in bytes.
pub(crate) fn bytes(value: &DeValue<'_>) -> Reading<u64> {
    let Some(text) = value.as_str() else {
        return wrong_type(
            value,
            "a size",
            "write a number and a unit in double quotes, such as \"64 MiB\"; units of size are B, \
             kB, MB, GB, TB and KiB, MiB, GiB, TiB",
        );
    };
    match text.parse::<Bytes>() {
        Ok(bytes) => Ok(bytes.0),
        Err(error) => {
            let example = "write a size such as \"64 MiB\" or \"1000 GB\"";
            refuse(error.to_string(), with_suggestion(Bytes::suggestion(text), example))
        }
    }
}

/// Reads a size in bytes, above zero.
pub(crate) fn positive_bytes(value: &DeValue<'_>) -> Reading<u64> {
    match bytes(value)? {
        0 => refuse("is zero", "give a size of one byte or more"),
        bytes => Ok(bytes),
    }
}

/// Reads a length of time in nanoseconds.
pub(crate) fn nanoseconds(value: &DeValue<'_>) -> Reading<u64> {
    let Some(text) = value.as_str() else {
        return wrong_type(
            value,
            "a time",
            "write a number and a unit in double quotes, such as \"10 s\"; units of time are ns, \
             us, ms, s, min and h",
        );
    };
    match text.parse::<Nanoseconds>() {
        Ok(time) => Ok(time.0),
        Err(error) => {
            let example = "write a time such as \"76 us\" or \"20 min\"";
            refuse(error.to_string(), with_suggestion(Nanoseconds::suggestion(text), example))
        }
    }
}

/// Reads a length of time in nanoseconds, above zero.
pub(crate) fn positive_nanoseconds(value: &DeValue<'_>) -> Reading<u64> {
    match nanoseconds(value)? {
        0 => refuse("is zero", "give a time longer than that"),
        time => Ok(time),
    }
}

/// Reads a length of time in nanoseconds, within `range`.
pub(crate) fn nanoseconds_of(value: &DeValue<'_>, range: &RangeInclusive<u64>) -> Reading<u64> {
    match nanoseconds(value)? {
        time if range.contains(&time) => Ok(time),
        time => {
            let (least, most) = (Nanoseconds(*range.start()), Nanoseconds(*range.end()));
            refuse(format!("is {}", Nanoseconds(time)), format!("give {least} to {most}"))
        }
    }
}

/// Reads a number that is neither negative nor infinite nor NaN, nor zero if it must be above.
pub(crate) fn number(value: &DeValue<'_>, above_zero: bool) -> Reading<f64> {
    if !above_zero {
        return finite(value);
    }
    match finite(value).map_err(|wrong| refuse_zero_too(wrong, ABOVE_ZERO))? {
        0.0 => refuse("is zero", ABOVE_ZERO),
        number => Ok(number),
    }
}

fn finite(value: &DeValue<'_>) -> Reading<f64> {
    let number = match value {
        DeValue::Float(float) => float.as_str().parse::<f64>().ok(),
        DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix())
            .ok()
            .map(|integer| integer as f64),
        _ => return wrong_type(value, "a number", "write a plain number, without quotes"),
    };
    match number {
        Some(number) if number.is_nan() || number.is_infinite() => {
            refuse(format!("is {number}, not a number"), "write a plain number")
        }
        Some(number) if number < 0.0 => refuse(format!("is negative: {number}"), ZERO_OR_MORE),
        Some(number) => Ok(number),
        None => refuse("is too large", "give a smaller number"),
    }
}

/// What to give in place of a number that is zero or negative, where it must be neither.
const ABOVE_ZERO: &str = "give a number above zero";
const ONE_OR_MORE: &str = "give one or more";
const ZERO_OR_MORE: &str = "give zero or more";

/// Replaces the remedy for a negative number by one for where zero is refused too.
fn refuse_zero_too(wrong: ValueError, help: &str) -> ValueError {
    if wrong.help == ZERO_OR_MORE { ValueError { help: help.to_owned(), ..wrong } } else { wrong }
}

/// Reads a percentage of 0 to 100.
pub(crate) fn percent(value: &DeValue<'_>) -> Reading<f64> {
    let percent = finite(value).map_err(|wrong| ValueError {
        message: wrong.message,
        help: "give a percentage from 0 to 100, as a plain number".to_owned(),
    })?;
    if percent > 100.0 {
        return refuse(format!("is {percent} %"), "give a percentage from 0 to 100");
    }
    Ok(percent)
}

/// Reads a whole number of 0 to `u64::MAX / 2`, TOML's limit.
pub(crate) fn whole(value: &DeValue<'_>) -> Reading<u64> {
    let DeValue::Integer(integer) = value else {
        return wrong_type(value, "a whole number", "write a whole number, without quotes");
    };
    match i64::from_str_radix(integer.as_str(), integer.radix()) {
        Ok(number) => match u64::try_from(number) {
            Ok(number) => Ok(number),
            Err(_) => refuse(format!("is negative: {number}"), ZERO_OR_MORE),
        },
        Err(_) => refuse("does not fit into 64 bits", "give a smaller number"),
    }
}

/// Reads a whole number from `least`, 0 or 1, to `most`.
pub(crate) fn count(value: &DeValue<'_>, least: u64, most: u64) -> Reading<u64> {
    let number = match least {
        0 => whole(value)?,
        _ => whole(value).map_err(|wrong| refuse_zero_too(wrong, ONE_OR_MORE))?,
    };
    match number {
        0 if least > 0 => refuse("is zero", ONE_OR_MORE),
        number if number > most => refuse(format!("is {number}"), format!("give at most {most}")),
        number => Ok(number),
    }
}

/// Reads a percentage of 0 to 100 without a fraction, as access specifications have them.
pub(crate) fn whole_percent(value: &DeValue<'_>) -> Reading<u8> {
    let percent = percent(value)?;
    if percent.fract() != 0.0 {
        return refuse(format!("is {percent} %"), "give a whole percentage, such as 60");
    }
    Ok(percent as u8)
}

/// Reads the length or the alignment of an operation: whole sectors, in bytes, from `least` on.
pub(crate) fn whole_sectors(value: &DeValue<'_>, least: u64) -> Reading<u32> {
    let bytes = if least == 0 { bytes(value)? } else { positive_bytes(value)? };
    match u32::try_from(bytes) {
        Ok(bytes) if u64::from(bytes).is_multiple_of(SECTOR_BYTES) => Ok(bytes),
        Ok(_) => refuse(
            format!("is {}, which is not whole sectors", Bytes(bytes)),
            format!("give a multiple of {SECTOR_BYTES} B"),
        ),
        Err(_) => refuse(format!("is {}", Bytes(bytes)), "give less than 4 GiB"),
    }
}

/// Reads `true` or `false`.
pub(crate) fn flag(value: &DeValue<'_>) -> Reading<bool> {
    match value.as_bool() {
        Some(flag) => Ok(flag),
        None => wrong_type(value, "true or false", "write true or false, without quotes"),
    }
}

/// Reads one of a few words.
pub(crate) fn word(value: &DeValue<'_>, known: &[&'static str]) -> Reading<&'static str> {
    let text = text(value)?;
    match known.iter().find(|word| **word == text) {
        Some(word) => Ok(word),
        None => refuse(format!("`{text}` is not known here"), one_of(&text, known)),
    }
}

/// Returns what to write instead of `word`: the nearest of `known`, and all of them.
pub(crate) fn one_of(word: &str, known: &[impl AsRef<str>]) -> String {
    let list: Vec<String> = known.iter().map(|known| format!("`{}`", known.as_ref())).collect();
    let list = list.join(", ");
    match nearest(word, known.iter().map(AsRef::as_ref)) {
        Some(near) => format!("did you mean `{near}`? known are {list}"),
        None => format!("known are {list}"),
    }
}
