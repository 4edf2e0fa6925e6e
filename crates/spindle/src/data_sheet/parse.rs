//! Reads a data sheet from a line of text.

use super::keys::{KEYS, Key, SOURCE, Unit};
use super::{DataSheet, DataSheetError, DataSheetFault};
use strewn_base::nearest;

/// A word of the line with its place.
struct Pair<'t> {
    /// The characters of key and value, counted from 1.
    column: usize,
    value_column: usize,
    key: &'t str,
    /// None without an equals sign.
    value: Option<&'t str>,
    /// Whether a quotation mark has no second one.
    is_open: bool,
}

impl DataSheet {
    /// Reads pairs such as `rpm=10000 capacity="600 GB"`: a key, an equals sign and a value, in quotation marks if it
    /// has spaces.
    ///
    /// # Errors
    ///
    /// All that is wrong by itself: keys that are unknown, repeated or missing, and values that no drive has. Whether
    /// the values go together, [`profile`](Self::profile) finds.
    pub fn parse(text: &str) -> Result<Self, DataSheetError> {
        let mut sheet = Self::default();
        let mut faults = Vec::new();
        let mut seen: Vec<&str> = Vec::new();
        for pair in pairs(text) {
            let fault = sheet.read_pair(&pair, &mut seen);
            faults.extend(fault);
        }
        let missing = KEYS.iter().filter(|key| key.required && !seen.contains(&key.name));
        let end = text.chars().count() + 1;
        faults.extend(missing.map(|key| DataSheetFault {
            column: end,
            message: format!("{} is missing", key.name),
            remedy: format!("add it, such as {}", key.example),
        }));
        faults.extend(sheet.contradictions());
        faults.sort_by_key(|fault| fault.column);
        if faults.is_empty() { Ok(sheet) } else { Err(DataSheetError { faults }) }
    }

    /// Takes a pair over, or says what is wrong with it.
    fn read_pair<'t>(
        &mut self,
        pair: &Pair<'t>,
        seen: &mut Vec<&'t str>,
    ) -> Option<DataSheetFault> {
        let fault = |column: usize, message: String, remedy: String| {
            Some(DataSheetFault { column, message, remedy })
        };
        let name = pair.key;
        let key = KEYS.iter().find(|key| key.name == name);
        if key.is_none() && name != SOURCE {
            let known = KEYS.iter().map(|key| key.name).chain([SOURCE]);
            let remedy = match nearest(name, known.clone()) {
                Some(near) => {
                    // Not missing as well.
                    seen.push(near);
                    format!("did you mean {near}?")
                }
                None => format!("the keys are {}", known.collect::<Vec<_>>().join(", ")),
            };
            return fault(pair.column, format!("no key is called {name:?}"), remedy);
        }
        let example = key.map_or("source=\"the sheet's title\"", |key| key.example);
        if seen.contains(&name) {
            return fault(pair.column, format!("a second {name}"), "give it once".to_owned());
        }
        seen.push(name);
        let Some(value) = pair.value else {
            return fault(pair.column, format!("{name} has no value"), format!("write {example}"));
        };
        if pair.is_open {
            let message = format!("{name}: the quotation mark is not closed");
            return fault(pair.value_column, message, "close it after the value".to_owned());
        }
        let Some(key) = key else {
            if value.trim().is_empty() {
                let message = format!("{name} is empty");
                return fault(pair.value_column, message, format!("write {example}"));
            }
            self.source = Some(value.trim().to_owned());
            return None;
        };
        match quantity(key, value) {
            Ok(number) => {
                (key.set)(self, number);
                self.columns.push((key.name, pair.value_column));
                None
            }
            Err((message, remedy)) => fault(pair.value_column, message, remedy),
        }
    }

    /// Where the value of a key stands.
    pub(super) fn column(&self, key: &str) -> usize {
        let found = self.columns.iter().find(|(name, _)| *name == key);
        found.map_or(1, |(_, column)| *column)
    }

    /// Values that are possible, but not together.
    fn contradictions(&self) -> Vec<DataSheetFault> {
        let value = |key: &str, value: f64| {
            self.columns.iter().any(|(name, _)| *name == key).then_some(value)
        };
        let seek = value("seek", self.seek_ms);
        let (outer, inner) =
            (value("outer", self.outer_mb_per_s), value("inner", self.inner_mb_per_s));
        // Which two keys, their values, and what holds where the first is the smaller one.
        let ascending = [
            ("inner", inner, "outer", outer, "MB/s", "the inner tracks are the shorter ones"),
            (
                "track_to_track",
                self.track_to_track_ms,
                "seek",
                seek,
                "ms",
                "a longer seek takes longer",
            ),
            ("seek", seek, "full_stroke", self.full_stroke_ms, "ms", "a longer seek takes longer"),
            (
                "track_to_track",
                self.track_to_track_ms,
                "full_stroke",
                self.full_stroke_ms,
                "ms",
                "a longer seek takes longer",
            ),
            (
                "seek",
                seek,
                "write_seek",
                self.write_seek_ms,
                "ms",
                "a write settles longer than a read",
            ),
            (
                "outer",
                outer,
                "interface",
                self.interface_mb_per_s,
                "MB/s",
                "the interface carries what the tracks give",
            ),
        ];
        let mut faults = Vec::new();
        for (low_key, low, high_key, high, unit, why) in ascending {
            let (Some(low), Some(high)) = (low, high) else { continue };
            let may_be_equal = !matches!(high_key, "seek" | "full_stroke");
            if low < high || (may_be_equal && low == high) {
                continue;
            }
            faults.push(DataSheetFault {
                column: self.column(low_key),
                message: format!("{low_key} is {low} {unit}, and {high_key} is {high} {unit}"),
                remedy: format!("{why}: correct one, or exchange them"),
            });
        }
        faults
    }
}

/// The value of `key` in its quantity's own unit, or what is wrong with it and what to write.
fn quantity(key: &Key, value: &str) -> Result<f64, (String, String)> {
    let Key { name, example, units, .. } = *key;
    let value = value.trim();
    let is_number = |letter: char| letter.is_ascii_digit() || ".,-+".contains(letter);
    let split = value.find(|letter| !is_number(letter)).unwrap_or(value.len());
    let (number, unit) = (&value[..split], value[split..].trim());
    let Some(number) = thousands_joined(number).and_then(|number| number.parse::<f64>().ok())
    else {
        let message = format!("{name}: {value:?} is no number");
        return Err((message, format!("write a number with a decimal point, such as {example}")));
    };
    let Some((_, factor)) = units.iter().find(|(known, _)| *known == unit) else {
        let known: Vec<&str> = units.iter().map(|(unit, _): &Unit| *unit).collect();
        let known = known.join(", ").trim_start_matches(", ").to_owned();
        let message = match (unit, known.as_str()) {
            ("", _) => format!("{name}: {value} has no unit"),
            (_, "") => format!("{name}: {unit:?} is no unit of it"),
            _ => format!("{name}: {unit:?} is no unit of it; the units are {known}"),
        };
        return Err((message, format!("write {example}")));
    };
    let converted = number * factor;
    if !(key.is_possible)(converted) {
        return Err((
            format!("{name}: {value} is impossible"),
            format!("{}, such as {example}", key.limits),
        ));
    }
    Ok(converted)
}

/// A number without the commas between its thousands; none if a comma is anything else.
fn thousands_joined(number: &str) -> Option<String> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let mut groups = whole.split(',');
    let first = groups.next()?;
    let is_group = |group: &str| group.len() == 3;
    let separated = whole.contains(',');
    if fraction.contains(',') || (separated && !(1..=3).contains(&first.len())) {
        return None;
    }
    groups.all(is_group).then(|| number.replace(',', ""))
}

/// The pairs of the line. A value in quotation marks ends with the same mark.
fn pairs(text: &str) -> Vec<Pair<'_>> {
    let mut pairs = Vec::new();
    let mut rest = text;
    // Characters before `at`, a place in the text.
    let column = |at: &str| text[..text.len() - at.len()].chars().count() + 1;
    loop {
        rest = rest.trim_start_matches(|letter: char| letter.is_whitespace() || letter == ',');
        if rest.is_empty() {
            return pairs;
        }
        let start = rest;
        let key_end =
            rest.find(|letter: char| letter.is_whitespace() || letter == '=').unwrap_or(rest.len());
        let key = &rest[..key_end];
        let after = rest[key_end..].trim_start();
        let Some(value) = after.strip_prefix('=') else {
            let (column, value_column) = (column(start), column(&rest[key_end..]));
            pairs.push(Pair { column, value_column, key, value: None, is_open: false });
            rest = &rest[key_end..];
            continue;
        };
        // A word with an equals sign of its own is the next pair, not this one's value.
        let next = value.trim_start();
        let is_pair = next.split_whitespace().next().is_some_and(|word| word.contains('='));
        let value = if is_pair && !next.starts_with(['"', '\'']) { value } else { next };
        let mark = value.chars().next().filter(|letter| "\"'".contains(*letter));
        let (inside, end) = match mark {
            Some(mark) => (&value[1..], value[1..].find(mark)),
            None => (value, Some(value.find(char::is_whitespace).unwrap_or(value.len()))),
        };
        let end = end.unwrap_or(inside.len());
        // A value with an equals sign has run into the next pair, except words.
        let next_pair = inside[..end].find('=').filter(|_| mark.is_some() && key != SOURCE);
        let next_word = next_pair.and_then(|equals| inside[..equals].rfind(char::is_whitespace));
        let is_open = next_word.is_some() || inside.len() == end && mark.is_some();
        let end = next_word.unwrap_or(end);
        pairs.push(Pair {
            column: column(start),
            value_column: column(inside),
            key,
            value: Some(&inside[..end]),
            is_open,
        });
        rest = &inside[end..];
        if mark.is_some() && !is_open {
            rest = &rest[1..];
        }
    }
}
