//! Rows and columns of tables by segment, as [`strewn_results::COLUMNS`] declares them.

use super::cell::Figure;
use super::{Cell, Columns, FileColumn, Heading};
use strewn_results::{
    ArrayResults, COLUMNS, Column, Group, Place, Results, Segment, Table, Unit, WorkloadFigures,
};

/// The declared columns of these keys.
macro_rules! declared {
    ($($key:literal),+) => {
        const { &[$(strewn_results::Column::declared($key)),+] }
    };
}

pub(crate) use declared;

/// A segment of an array, with its place in the results.
#[derive(Clone, Copy)]
pub(crate) struct SegmentRow<'a> {
    pub(crate) results: &'a Results,
    pub(crate) array: &'a ArrayResults,
    pub(crate) segment: &'a Segment,
    /// The position of the array.
    position: usize,
    /// The position of the segment in it; none of the warm-up.
    pub(crate) number: Option<usize>,
    /// A workload in it, with its position, if only its part is meant.
    pub(crate) workload: Option<(usize, &'a WorkloadFigures)>,
}

impl<'a> SegmentRow<'a> {
    /// Returns the segments of all arrays, each after its warm-up.
    pub(crate) fn all(results: &'a Results) -> impl Iterator<Item = Self> {
        results.arrays.iter().flat_map(move |array| Self::with_warm_up(results, array))
    }

    /// Returns the segments of an array.
    pub(crate) fn of(results: &'a Results, array: &'a ArrayResults) -> impl Iterator<Item = Self> {
        Self::with_warm_up(results, array).filter(|row| row.number.is_some())
    }

    /// Returns the segments of an array, after its warm-up, which is shown beside them and counts for nothing.
    pub(crate) fn with_warm_up(
        results: &'a Results,
        array: &'a ArrayResults,
    ) -> impl Iterator<Item = Self> {
        let position = results.arrays.iter().position(|one| one.name == array.name);
        let position = position.unwrap_or_default();
        let rows = array.segments.iter().enumerate();
        let rows = rows.map(|(number, segment)| (Some(number), segment));
        let warm_up = array.warm_up.as_deref().map(|warm_up| (None, warm_up));
        warm_up.into_iter().chain(rows).map(move |(number, segment)| Self {
            results,
            array,
            segment,
            position,
            number,
            workload: None,
        })
    }

    /// Returns the workloads in the segment that did anything.
    pub(crate) fn workloads(self) -> impl Iterator<Item = Self> {
        let workloads = self.segment.by_workload.iter().enumerate();
        let at_work = workloads.filter(|(_, figures)| figures.ops() > 0);
        at_work.map(move |workload| Self { workload: Some(workload), ..self })
    }

    /// Returns the place of a field of the segment, or of the workload, in `results.json`.
    pub(crate) fn path(&self, field: &str) -> String {
        let segment = match self.number {
            Some(number) => format!("arrays/{}/segments/{number}", self.position),
            None => format!("arrays/{}/warm_up", self.position),
        };
        match self.workload {
            Some((workload, _)) => format!("{segment}/by_workload/{workload}/{field}"),
            None => format!("{segment}/{field}"),
        }
    }

    fn place(&self) -> Place<'a> {
        let workload = self.workload.map(|(_, figures)| figures);
        Place { array: self.array, segment: self.segment, workload }
    }

    /// Returns the cell of a column.
    pub(crate) fn cell(&self, column: &Column) -> Cell {
        if column.is_words() {
            return column.words(&self.place()).into();
        }
        self.figure(column).into()
    }

    /// Returns the figure of a column; none if the segment has none.
    pub(crate) fn figure(&self, column: &Column) -> Option<Figure> {
        let value = column.number(&self.place())?;
        let figure = figure(column, value, self.decimals(column));
        Some(match column.path() {
            Some(path) => figure.at(self.path(&path)),
            None => figure,
        })
    }

    /// Returns the decimals of a column. Files and flash answer within fractions of a millisecond.
    pub(crate) fn decimals(&self, column: &Column) -> usize {
        let is_quick = self.results.real_spindles.is_some() && column.unit == Unit::ResponseMs;
        column.decimals + usize::from(is_quick)
    }
}

/// Returns a value of a column with these decimals.
pub(crate) fn figure(column: &Column, value: f64, decimals: usize) -> Figure {
    match column.unit {
        Unit::Share => Figure::share(value),
        _ => Figure::new(value, decimals),
    }
}

impl<'a> Columns<'a, SegmentRow<'a>> {
    /// Adds a declared column.
    pub(crate) fn declared(self, column: &'static Column) -> Self {
        self.declared_as((column.short_heading(), column.heading()), column)
    }

    /// Adds a declared column under another heading.
    pub(crate) fn declared_as(self, heading: impl Into<Heading>, column: &'static Column) -> Self {
        let with = match column.is_words() {
            true => self.words(heading, |row| row.cell(column)),
            false => self.number(heading, |row| row.cell(column)),
        };
        with.yielding(column.yields)
    }

    /// Adds the columns of a group that has a table of its own.
    pub(crate) fn of_group(self, group: Group) -> Self {
        let of_group = Column::of_table(Table::OfGroup).filter(|column| column.group == group);
        of_group.fold(self, Self::declared)
    }

    /// Adds declared columns.
    pub(crate) fn all(self, columns: &[&'static Column]) -> Self {
        columns.iter().fold(self, |columns, column| columns.declared(column))
    }
}

/// Returns the table of all segments for a file: array, segment and the chosen columns or, if none are, those of the
/// groups that the results have, group by group.
pub(crate) fn segment_columns(results: &Results, chosen: &[&'static Column]) -> Vec<FileColumn> {
    if !chosen.is_empty() {
        return file_columns(results, &with_chosen(chosen));
    }
    let is_there = |column: &&Column| {
        column.is_in_files && results.arrays.iter().any(|array| column.group.is_in(array))
    };
    let mut columns: Vec<&Column> = COLUMNS.iter().filter(is_there).collect();
    // Those that only some runs have come last.
    columns.sort_by_key(|column| column.group);
    file_columns(results, &columns)
}

/// Returns the columns of a table of chosen ones: array, segment and these. Each is there once, since readers of files
/// look columns up by name.
pub(crate) fn with_chosen(chosen: &[&'static Column]) -> Vec<&'static Column> {
    let mut columns = declared!["array", "segment"].to_vec();
    for column in chosen {
        if columns.iter().all(|other| other.key != column.key) {
            columns.push(column);
        }
    }
    columns
}

fn file_columns(results: &Results, columns: &[&Column]) -> Vec<FileColumn> {
    let column = |column: &&Column| FileColumn {
        name: column.key.to_owned(),
        is_words: column.is_words(),
        entries: SegmentRow::all(results).map(|row| column.entry(&row.place())).collect(),
    };
    columns.iter().map(column).collect()
}
