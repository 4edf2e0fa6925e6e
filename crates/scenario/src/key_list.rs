//! The keys of a table that are declared once, for the reader of a scenario and for the list of its settings.

use std::ops::RangeInclusive;

use strewn_base::{BLOCK_BYTES, SECTOR_BYTES};
use toml::de::DeValue;

use crate::quantity::{Bytes, Nanoseconds};
use crate::section::Section;
use crate::settings::{Settings, word};
use crate::value::{self, ValueError};

/// What is done with each key of a table: it is read into the value, or the value is listed.
pub(crate) trait KeyList {
    /// `true` or `false`.
    fn flag(&mut self, key: &'static str, value: &mut bool);

    /// A whole number.
    fn count(&mut self, key: &'static str, value: &mut u32, range: RangeInclusive<u32>);

    /// A size in bytes, a multiple of `unit`. `u64::MAX`, no limit, is not listed.
    fn size(
        &mut self,
        key: &'static str,
        bytes: &mut u64,
        range: RangeInclusive<u64>,
        unit: Multiple,
    );

    /// A time in nanoseconds.
    fn time(&mut self, key: &'static str, ns: &mut u64, range: RangeInclusive<u64>);

    /// One of a few words.
    fn choice<T: Copy + PartialEq>(
        &mut self,
        key: &'static str,
        value: &mut T,
        words: &[(&'static str, T)],
    );

    /// Refuses a key that has no meaning because of another one.
    fn refuse(&mut self, key: &'static str, message: &str, help: &str);

    /// A size that is kept in 32 bits.
    fn small_size(
        &mut self,
        key: &'static str,
        bytes: &mut u32,
        range: RangeInclusive<u32>,
        unit: Multiple,
    ) {
        let mut wide = u64::from(*bytes);
        let range = u64::from(*range.start())..=u64::from(*range.end());
        self.size(key, &mut wide, range, unit);
        *bytes = u32::try_from(wide).unwrap_or(*bytes);
    }
}

/// What a size is a multiple of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Multiple {
    Byte,
    /// 32 bits, to which PDUs are padded.
    Word,
    /// What a request of a host is made of.
    Sector,
    /// What arrays and page caches are made of.
    Block,
}

impl Multiple {
    const fn bytes(self) -> u64 {
        match self {
            Self::Byte => 1,
            Self::Word => 4,
            Self::Sector => SECTOR_BYTES,
            Self::Block => BLOCK_BYTES,
        }
    }
}

/// Reads the keys of a table.
pub(crate) struct ReadKeys<'s, 't> {
    section: &'s mut Section<'t>,
    /// Whether every key so far was right.
    pub(crate) is_good: bool,
}

impl<'s, 't> ReadKeys<'s, 't> {
    pub(crate) fn new(section: &'s mut Section<'t>) -> Self {
        Self { section, is_good: true }
    }

    fn read<T: Copy>(
        &mut self,
        key: &'static str,
        value: &mut T,
        read: impl FnOnce(&DeValue<'_>) -> Result<T, ValueError>,
    ) {
        match self.section.optional_or(key, *value, read) {
            Some(read) => *value = read,
            None => self.is_good = false,
        }
    }
}

impl KeyList for ReadKeys<'_, '_> {
    fn flag(&mut self, key: &'static str, value: &mut bool) {
        self.read(key, value, value::flag);
    }

    fn count(&mut self, key: &'static str, value: &mut u32, range: RangeInclusive<u32>) {
        let (least, most) = (*range.start(), *range.end());
        self.read(key, value, |v| match value::count(v)? {
            count if range.contains(&count) => Ok(count),
            count => value::refuse(format!("is {count}"), format!("give {least} to {most}")),
        });
    }

    fn size(
        &mut self,
        key: &'static str,
        bytes: &mut u64,
        range: RangeInclusive<u64>,
        unit: Multiple,
    ) {
        let (least, most, unit) = (Bytes(*range.start()), Bytes(*range.end()), unit.bytes());
        self.read(key, bytes, |v| match value::bytes(v)? {
            bytes if !range.contains(&bytes) => {
                value::refuse(format!("is {}", Bytes(bytes)), format!("give {least} to {most}"))
            }
            bytes if !bytes.is_multiple_of(unit) => value::refuse(
                format!("is {}", Bytes(bytes)),
                format!("give a multiple of {}, from {least} to {most}", Bytes(unit)),
            ),
            bytes => Ok(bytes),
        });
    }

    fn time(&mut self, key: &'static str, ns: &mut u64, range: RangeInclusive<u64>) {
        self.read(key, ns, |v| value::nanoseconds_of(v, &range));
    }

    fn choice<T: Copy + PartialEq>(
        &mut self,
        key: &'static str,
        value: &mut T,
        words: &[(&'static str, T)],
    ) {
        self.read(key, value, |v| value::choice(v, words));
    }

    fn refuse(&mut self, key: &'static str, message: &str, help: &str) {
        if self.section.get(key).is_some() {
            self.section.problem(key, message, help);
            self.is_good = false;
        }
    }
}

impl KeyList for Settings {
    fn flag(&mut self, key: &'static str, value: &mut bool) {
        self.add(key, *value);
    }

    fn count(&mut self, key: &'static str, value: &mut u32, _: RangeInclusive<u32>) {
        self.add(key, *value);
    }

    fn size(&mut self, key: &'static str, bytes: &mut u64, _: RangeInclusive<u64>, _: Multiple) {
        if *bytes < u64::MAX {
            self.add(key, Bytes(*bytes).to_string());
        }
    }

    fn time(&mut self, key: &'static str, ns: &mut u64, _: RangeInclusive<u64>) {
        self.add(key, Nanoseconds(*ns).to_string());
    }

    fn choice<T: Copy + PartialEq>(
        &mut self,
        key: &'static str,
        value: &mut T,
        words: &[(&'static str, T)],
    ) {
        self.add(key, word(words, value));
    }

    fn refuse(&mut self, _: &'static str, _: &str, _: &str) {}
}
