//! The declaration of a setting.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use crate::fields::kind::{Kind, Multiple, Own};
use crate::fields::slot::Words;
use crate::setting_value::SettingValue;

/// A setting: what it is called, means and takes, and who may change it.
#[derive(Debug, Clone)]
pub struct Field {
    pub(crate) key: &'static str,
    /// What it means, in a sentence for the schema and the reference.
    pub(crate) help: &'static str,
    pub(crate) kind: Kind,
    pub(crate) absence: Absence,
    /// Where the default comes from.
    pub(crate) source: &'static str,
    /// Whether it is listed among settings.
    pub(crate) listing: Listing,
    /// Its place among the parameters that calibration may set.
    pub(crate) fit: Option<u8>,
    /// How scaling divides it, and what it is called then, with `{}` for what it is of.
    pub(crate) scales: Option<(Scales, Cow<'static, str>)>,
    /// Whether it is a time of the run at which something happens.
    pub(crate) is_moment: bool,
    /// What the entries of a list are called in what scaling says: with `{name}`, `{n}` and `{}`.
    pub(crate) owner: &'static str,
    /// Whether it has to be in the text before its settings can be set by name.
    pub(crate) is_apart: bool,
    pub(crate) page: Option<Page>,
    /// What is wrong with a value of the right kind, with a remedy.
    pub(crate) refusal: Option<Refusal>,
    /// What the key means that may be a value or a list of tables, or one table or several.
    pub(crate) either: Option<&'static str>,
    /// What one entry of a list of tables is, or the name of a table that the schema shares.
    pub(crate) each: &'static str,
    /// The name under which the schema shares the table, and what each such table is.
    pub(crate) shared: Option<&'static str>,
    /// Most entries of a list.
    pub(crate) most: Option<usize>,
    /// Whether entries of a list are found by name: in settings, or in problems alone.
    pub(crate) naming: Naming,
}

/// Returns what is wrong with a value, and a remedy; none if it is right.
pub type Refusal = fn(&SettingValue) -> Option<(String, String)>;

/// What happens without a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Absence {
    /// There is none.
    None,
    /// It is asked for, with an example or a remedy.
    Required(&'static str),
    /// The same, but a controller may have it, or another setting makes it needless.
    RequiredUnless(&'static str),
    /// This one, as TOML.
    Default(&'static str),
    /// The one that a new table has.
    Present,
    /// That of what the table's other settings choose; as a rule this one, as TOML.
    OfKind(&'static str),
    /// The one that the table has already, of another table.
    Inherited,
}

/// Whether a setting is among those that are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    Always,
    /// Unless it is at its default, as results always were; it may be set by name all the same.
    UnlessDefault,
    Never,
}

/// By what a scenario that is scaled down divides a quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scales {
    /// The whole divisor.
    Whole,
    /// Its square root.
    Root,
}

/// How entries of a list of tables are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    Numbers,
    /// By their names in problems, numbered in settings.
    InProblems,
    /// By their names.
    Everywhere,
}

/// A control of the page.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// Its place among the controls of its array or workload.
    pub(crate) place: u8,
    pub(crate) label: &'static str,
    pub(crate) unit: Option<&'static str>,
    /// In other words than those for whoever writes a file, or with more of them.
    pub(crate) about: Option<&'static str>,
    pub(crate) more: &'static str,
}

fn field(key: &'static str, help: &'static str, kind: Kind) -> Field {
    Field {
        key,
        help,
        kind,
        absence: Absence::None,
        source: "",
        listing: Listing::Always,
        fit: None,
        scales: None,
        is_moment: false,
        owner: "{}",
        is_apart: false,
        page: None,
        refusal: None,
        either: None,
        each: "",
        shared: None,
        most: None,
        naming: Naming::Numbers,
    }
}

/// `true` or `false`.
pub fn flag(key: &'static str, help: &'static str) -> Field {
    field(key, help, Kind::Flag)
}

/// A string.
pub fn text(key: &'static str, help: &'static str) -> Field {
    field(key, help, Kind::Text)
}

/// A string of one line.
pub fn name(key: &'static str, help: &'static str) -> Field {
    field(key, help, Kind::Name)
}

/// A whole number of 0 or more.
pub fn whole(key: &'static str, help: &'static str) -> Field {
    field(key, help, Kind::Count { least: 0, most: i64::MAX as u64 })
}

/// A whole number of 1 or more.
pub fn count(key: &'static str, help: &'static str) -> Field {
    field(key, help, Kind::Count { least: 1, most: u32::MAX.into() })
}

/// A number of spindles, or of one of them: 16 bits.
pub fn spindles(key: &'static str, help: &'static str) -> Field {
    count(key, help).at_most(u16::MAX.into())
}

/// A percentage of 0 to 100.
pub fn percent(key: &'static str, help: &'static str) -> Field {
    field(key, help, Kind::Percent)
}

/// A percentage of 0 to 100 without a fraction.
pub fn whole_percent(key: &'static str, help: &'static str) -> Field {
    field(key, help, Kind::WholePercent { least: 0 })
}

/// A number of 0 or more.
pub fn number(key: &'static str, help: &'static str) -> Field {
    field(key, help, Kind::Number { above_zero: false })
}

/// A size of 0 bytes or more.
pub fn size(key: &'static str, help: &'static str) -> Field {
    field(key, help, Kind::Size { least: 0 })
}

/// A time of 0 or more.
pub fn time(key: &'static str, help: &'static str) -> Field {
    field(key, help, Kind::Time { least: 0 })
}

/// What work costs, or a part of a network adds: at most a second, for arithmetic on fractions of nanoseconds.
pub fn cost(key: &'static str, help: &'static str) -> Field {
    field(key, help, Kind::TimeRange(0..=1_000_000_000))
}

/// One of the words of a type.
pub fn choice<T: Words>(key: &'static str, help: &'static str) -> Field {
    field(key, help, Kind::Choice(T::WORDS.iter().map(|(word, _)| *word).collect()))
}

/// One of the names that something has; `what` it is.
pub fn known(
    key: &'static str,
    help: &'static str,
    what: &'static str,
    names: fn() -> Vec<&'static str>,
) -> Field {
    field(key, help, Kind::Known(what, names))
}

/// What is of no common kind.
pub fn own(key: &'static str, help: &'static str, own: &'static Own) -> Field {
    field(key, help, Kind::Own(own))
}

/// A list of what `element` is.
pub fn list_of(element: Field) -> Field {
    Field { kind: Kind::List { of: Box::new(element.kind), is_unique: false }, ..element }
}

/// A table, or a list of tables.
pub fn table(key: &'static str, help: &'static str) -> Field {
    field(key, help, Kind::Table)
}

impl Field {
    /// Asked for, with an example of its value as TOML, or for a table what to add.
    pub fn required(self, example: &'static str) -> Self {
        Self { absence: Absence::Required(example), ..self }
    }

    /// Asked for unless the controller has it, or another setting makes it needless, as its meaning says.
    pub fn required_unless(self, example: &'static str) -> Self {
        Self { absence: Absence::RequiredUnless(example), ..self }
    }

    /// A default as TOML, which was chosen.
    pub fn chosen(self, default: &'static str) -> Self {
        self.default(default, "chosen")
    }

    /// A default as TOML, and where it comes from.
    pub fn default(self, default: &'static str, source: &'static str) -> Self {
        Self { absence: Absence::Default(default), source, ..self }
    }

    /// The default is that of what the table's other settings choose, as a rule this one, as TOML.
    pub fn of_kind(self, default: &'static str, source: &'static str) -> Self {
        Self { absence: Absence::OfKind(default), source, ..self }
    }

    /// The default is what a new table has, which comes from `source`.
    pub fn present(self, source: &'static str) -> Self {
        Self { absence: Absence::Present, source, ..self }
    }

    /// The default is what another table has.
    pub fn inherited(self) -> Self {
        Self { absence: Absence::Inherited, ..self }
    }

    /// No less than one.
    pub fn positive(mut self) -> Self {
        match &mut self.kind {
            Kind::Size { least }
            | Kind::Time { least }
            | Kind::WholePercent { least }
            | Kind::Count { least, .. } => *least = 1,
            Kind::Number { above_zero } => *above_zero = true,
            _ => {}
        }
        self
    }

    /// Zero too.
    pub fn or_zero(mut self) -> Self {
        if let Kind::Count { least, .. } | Kind::Sectors { least } = &mut self.kind {
            *least = 0;
        }
        self
    }

    /// At most this many.
    pub fn at_most(mut self, limit: u64) -> Self {
        if let Kind::Count { most, .. } = &mut self.kind {
            *most = limit;
        }
        self
    }

    /// A whole number, or a time, between two that a reader is told of together.
    pub fn within(mut self, range: RangeInclusive<u64>) -> Self {
        self.kind = match self.kind {
            Kind::Time { .. } | Kind::TimeRange(_) => Kind::TimeRange(range),
            _ => Kind::Range(range),
        };
        self
    }

    /// A power of two, at most this one.
    pub fn power_of_two(self, most: u64) -> Self {
        Self { kind: Kind::PowerOfTwo { most }, ..self }
    }

    /// A whole number of these.
    pub fn multiple_of(self, unit: u64) -> Self {
        Self { kind: Kind::MultipleOf(unit), ..self }
    }

    /// A list in which nothing is twice.
    pub fn unique(mut self) -> Self {
        if let Kind::List { is_unique, .. } = &mut self.kind {
            *is_unique = true;
        }
        self
    }

    /// One of these words alone.
    pub fn of_words(self, words: &[&'static str]) -> Self {
        Self { kind: Kind::Choice(words.to_vec()), ..self }
    }

    /// A size between two, a multiple of a unit.
    pub fn sized(self, range: RangeInclusive<u64>, unit: Multiple) -> Self {
        Self { kind: Kind::SizeRange(range, unit), ..self }
    }

    /// A size of whole sectors.
    pub fn of_sectors(self) -> Self {
        Self { kind: Kind::Sectors { least: 1 }, ..self }
    }

    /// Refuses some values of the right kind, with a message and a remedy.
    pub fn refusing(self, refusal: Refusal) -> Self {
        Self { refusal: Some(refusal), ..self }
    }

    /// Not listed while it is at its default.
    pub fn unless_default(self) -> Self {
        Self { listing: Listing::UnlessDefault, ..self }
    }

    /// Listed if `is_listed`.
    pub fn listed(self, is_listed: bool) -> Self {
        if is_listed { self } else { Self { listing: Listing::Never, ..self } }
    }

    /// Calibration may set it; `place` is its place among the parameters.
    pub fn fit(self, place: u8) -> Self {
        Self { fit: Some(place), ..self }
    }

    /// Scaling divides it. `what` calls it, with `{}` for what it is of.
    pub fn scales(self, by: Scales, what: impl Into<Cow<'static, str>>) -> Self {
        Self { scales: Some((by, what.into())), ..self }
    }

    /// A time of the run at which something happens, which scaling divides too.
    pub fn moment(self, what: impl Into<Cow<'static, str>>) -> Self {
        Self { is_moment: true, ..self.scales(Scales::Whole, what) }
    }

    /// What scaling calls the entries of a list: with `{name}`, `{n}` for the number, and `{}` for what they are of.
    pub fn owner(self, owner: &'static str) -> Self {
        Self { owner, ..self }
    }

    /// Its settings cannot be set by name before the text has it.
    pub fn apart(self) -> Self {
        Self { is_apart: true, ..self }
    }

    /// It has a control on the page.
    pub fn page(self, place: u8, label: &'static str) -> Self {
        Self { page: Some(Page { place, label, unit: None, about: None, more: "" }), ..self }
    }

    /// The unit beside the control.
    pub fn in_unit(mut self, unit: &'static str) -> Self {
        if let Some(page) = &mut self.page {
            page.unit = Some(unit);
        }
        self
    }

    /// What the page says of it in other words.
    pub fn about(mut self, about: &'static str) -> Self {
        if let Some(page) = &mut self.page {
            page.about = Some(about);
        }
        self
    }

    /// What the page says of it besides.
    pub fn more(mut self, more: &'static str) -> Self {
        if let Some(page) = &mut self.page {
            page.more = more;
        }
        self
    }

    /// What the key means that may be given in two forms.
    pub fn either(self, whole: &'static str) -> Self {
        Self { either: Some(whole), ..self }
    }

    /// What one entry of a list of tables is.
    pub fn each(self, each: &'static str) -> Self {
        Self { each, ..self }
    }

    /// The schema describes the table once, under this name.
    pub fn shared(self, name: &'static str) -> Self {
        Self { shared: Some(name), ..self }
    }

    /// Most entries of a list of tables.
    pub fn at_most_tables(self, most: usize) -> Self {
        Self { most: Some(most), ..self }
    }

    /// Problems call entries by their names, and so do settings if `everywhere`.
    pub fn named(self, naming: Naming) -> Self {
        Self { naming, ..self }
    }
}
