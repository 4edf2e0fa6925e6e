//! The parts that declarations of columns are made of.

use super::Table::OfGroup;
use super::{Column, Figure, Group, OverSegments, Place, Source, Table, Unit, Value};

/// What a field holds, as a number.
pub(super) trait Number {
    fn number(self) -> Option<f64>;
}

macro_rules! numbers {
    ($($kind:ty),*) => {
        $(impl Number for $kind {
            fn number(self) -> Option<f64> {
                Some(self as f64)
            }
        })*
    };
}

numbers!(u32, u64, f64);

impl Number for Option<f64> {
    fn number(self) -> Option<f64> {
        self
    }
}

/// A field of a segment.
macro_rules! field {
    ($($part:tt)+) => {
        Source {
            field: stringify!($($part)+),
            value: Value::Number(|at| at.segment.$($part)+.number()),
            is_of_workloads: false,
        }
    };
}

/// A field that a segment and each of its workloads has.
macro_rules! shared_field {
    ($($part:tt)+) => {
        Source {
            field: stringify!($($part)+),
            value: Value::Number(|at| match at.workload {
                Some(of) => of.$($part)+.number(),
                None => at.segment.$($part)+.number(),
            }),
            is_of_workloads: true,
        }
    };
}

/// What relocation moved for one cause; 0 for a cause without any.
macro_rules! relocated {
    ($cause:ident.$figure:ident) => {
        Source {
            field: concat!("relocation?.", stringify!($cause), "?.", stringify!($figure)),
            ..computed(|at| at.segment.relocation?.$cause.map_or(0, |cause| cause.$figure).number())
        }
    };
}

/// Declares the columns, each below its meaning.
macro_rules! columns {
    ($(#[doc = $meaning:literal] $column:expr;)+) => {
        /// Every column, in the order in which tables have them.
        pub static COLUMNS: &[Column] = &[$(Column { meaning: $meaning, ..$column }),+];
    };
}

pub(super) use {columns, field, relocated, shared_field};

pub(super) const fn computed(value: fn(&Place<'_>) -> Option<f64>) -> Source {
    Source { field: "", value: Value::Number(value), is_of_workloads: false }
}

pub(super) const fn computed_of_workloads(value: fn(&Place<'_>) -> Option<f64>) -> Source {
    Source { is_of_workloads: true, ..computed(value) }
}

pub(super) const fn words(key: &'static str, words: fn(&Place<'_>) -> String) -> Column {
    let source = Source { value: Value::Words(words), ..computed(|_| None) };
    number(key, Unit::None, source)
}

/// A column that tables in files have.
pub(super) const fn number(key: &'static str, unit: Unit, source: Source) -> Column {
    Column {
        key,
        meaning: "",
        unit,
        decimals: unit.decimals(),
        group: Group::Always,
        tables: &[],
        is_in_files: true,
        may_starve: false,
        yields: 0,
        headings: None,
        source,
        figure: None,
    }
}

pub(super) const fn count(key: &'static str, source: Source) -> Column {
    number(key, Unit::Count, source)
}

pub(super) const fn percent(key: &'static str, source: Source) -> Column {
    number(key, Unit::Percent, source)
}

pub(super) const fn share(key: &'static str, source: Source) -> Column {
    number(key, Unit::Share, source)
}

pub(super) const fn response(key: &'static str, source: Source) -> Column {
    number(key, Unit::ResponseMs, source)
}

pub(super) const fn ms(key: &'static str, source: Source) -> Column {
    number(key, Unit::Ms, source)
}

pub(super) const fn per_op(key: &'static str, source: Source) -> Column {
    number(key, Unit::PerOp, source)
}

pub(super) const fn mib_per_s(key: &'static str, source: Source) -> Column {
    number(key, Unit::MibPerS, source)
}

impl Column {
    pub(super) const fn headed(mut self, short: &'static str, long: &'static str) -> Self {
        self.headings = Some([short, long]);
        self
    }

    /// It leaves a table that is too wide for a terminal, those with the largest number first.
    pub(super) const fn yielding(mut self, yields: u8) -> Self {
        self.yields = yields;
        self
    }

    pub(super) const fn with_decimals(mut self, decimals: usize) -> Self {
        self.decimals = decimals;
        self
    }

    pub(super) const fn on(mut self, tables: &'static [Table]) -> Self {
        self.tables = tables;
        self
    }

    pub(super) const fn in_group(mut self, group: Group) -> Self {
        self.group = group;
        self
    }

    pub(super) const fn in_table_of(self, group: Group) -> Self {
        self.in_group(group).on(&[OfGroup])
    }

    pub(super) const fn housekeeping(self, heading: &'static str) -> Self {
        self.headed(heading, heading).in_table_of(Group::Housekeeping)
    }

    /// Leaves it out of tables in files that do not ask for it.
    pub(super) const fn unlisted(mut self) -> Self {
        self.is_in_files = false;
        self
    }

    pub(super) const fn that_may_starve(mut self) -> Self {
        self.may_starve = true;
        self
    }

    pub(super) const fn figure(mut self, name: &'static str, over_segments: OverSegments) -> Self {
        self.figure = Some(Figure { name, over_segments, scales: false, if_absent: None });
        self
    }

    pub(super) const fn zero_if_absent(mut self) -> Self {
        if let Some(figure) = &mut self.figure {
            figure.if_absent = Some(0.0);
        }
        self
    }

    pub(super) const fn that_scales(mut self) -> Self {
        if let Some(figure) = &mut self.figure {
            figure.scales = true;
        }
        self
    }
}
