//! Settings as a person sees and changes them.

use crate::fields::field::{Absence, Listing};
use crate::fields::kind::Kind;
use crate::fields::list::is_default;
use crate::fields::walk::each_setting;
use crate::fields::{Context, Table};
use crate::setting_value::SettingValue;

/// A setting that a scenario has, or may be given.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Its full name, such as `array.FAS2050.write_anywhere.policy`.
    pub name: String,
    /// Its value as a scenario's file writes it; none if it is not set.
    pub value: Option<String>,
    /// What it means.
    pub about: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// Whether a scenario need not have it, and then has nothing in its place.
    pub is_optional: bool,
    /// How a form shows it; none of what people hardly ever argue about.
    pub control: Option<Control>,
}

/// What a setting takes.
#[derive(Debug, Clone, PartialEq)]
pub enum Takes {
    /// One of these words.
    Words(Vec<&'static str>),
    /// A number, whole or not, from one to another.
    Number {
        /// The least that it may be.
        least: f64,
        /// The most, if there is a limit.
        most: Option<u64>,
    },
    /// A number of bytes, with its unit.
    Size,
    /// A time, with its unit.
    Time,
    /// Anything else.
    Text,
}

/// How a form shows a setting.
#[derive(Debug, Clone)]
pub struct Control {
    /// Its place among the controls of an array, of a workload, or of the run.
    pub place: u8,
    /// Its name for a reader.
    pub label: &'static str,
    /// The unit of a number.
    pub unit: Option<&'static str>,
    /// What the setting means, to someone who argues about it.
    pub about: String,
}

/// Returns every setting of a table, with what it means and takes.
pub(crate) fn described(table: &mut dyn Table) -> Vec<Setting> {
    let mut described = Vec::new();
    each_setting(table, Context::default(), &mut |found| {
        let field = found.field;
        if field.listing == Listing::Never {
            return;
        }
        // What is not listed at its default is as good as absent.
        let is_off = |value: &SettingValue| {
            field.listing == Listing::UnlessDefault && is_default(field, value)
        };
        let value = found.slot.get().filter(|value| !found.is_new && !is_off(value));
        let control = field.page.map(|page| Control {
            place: page.place,
            label: page.label,
            unit: page.unit,
            about: [page.about.unwrap_or(field.help), page.more].join(" ").trim_end().to_owned(),
        });
        described.push(Setting {
            name: found.name(),
            is_optional: found.is_new
                || field.absence == Absence::None
                || field.listing == Listing::UnlessDefault,
            value: value.map(|value| field.kind.written(value).to_string()),
            about: field.help,
            takes: takes(&field.kind),
            control,
        });
    });
    described
}

fn takes(kind: &Kind) -> Takes {
    let from = |least: u64, most: Option<u64>| Takes::Number { least: least as f64, most };
    match kind {
        Kind::Count { least, most } => {
            from(*least, Some(*most).filter(|most| *most != u64::from(u32::MAX)))
        }
        Kind::Range(range) => from(*range.start(), Some(*range.end())),
        Kind::PowerOfTwo { most } => from(1, Some(*most)),
        Kind::MultipleOf(unit) => from(*unit, None),
        Kind::Percent => from(0, Some(100)),
        Kind::WholePercent { least } => from(*least, Some(100)),
        Kind::Number { .. } => from(0, None),
        Kind::Choice(words) => Takes::Words(words.clone()),
        Kind::Known(_, names) => Takes::Words(names()),
        kind if kind.is_size() => Takes::Size,
        kind if kind.is_time() => Takes::Time,
        _ => Takes::Text,
    }
}
