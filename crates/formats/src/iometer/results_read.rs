//! Reading results from their lines.

use std::io::BufRead;
use std::sync::Arc;

use crate::text::{ErrorKind, FileFormatError, FilePosition, Limits, Line, Lines, quoted};

use super::cursor::{Value, begins};
use super::read_specifications::{access_line, name_and_assignment};
use super::result_columns::position;
use super::{AccessSpecification, RESULT_COLUMNS, ResultRow, Results, TestResults, TestType};

/// Many times what a year of tests gives. A row takes about a KiB of memory.
const MOST_ROWS: usize = 200_000;

/// What the lines that follow contain.
enum Expected {
    /// Keys.
    Key,
    /// The value of a key.
    Value(fn(&mut Reader, &Line<'_>) -> Result<(), FileFormatError>),
    /// Lines of the last access specification.
    AccessLines,
    /// Results, by the columns named above them.
    Rows,
}

struct Reader {
    all: Vec<Results>,
    /// The present test, whose end time is not known yet.
    test: TestResults,
    is_in_test: bool,
    /// Which of [`RESULT_COLUMNS`] each column is, if any.
    columns: Vec<Option<usize>>,
    rows: usize,
}

impl Results {
    /// Reads results: one series or several, of any version since 1998. `name` names the file in
    /// errors. Columns are found by name, and those that Iometer does not have are ignored.
    ///
    /// # Errors
    ///
    /// [`FileFormatError`] if the reader fails, and at the first thing that is not Iometer's.
    pub fn read(reader: impl BufRead, name: Option<&str>) -> Result<Vec<Self>, FileFormatError> {
        let file: Option<Arc<str>> = name.map(Arc::from);
        let mut lines = Lines::new(reader, file.clone(), Limits::RESULTS)?;
        let mut reader = Reader {
            all: Vec::new(),
            test: nothing(),
            is_in_test: false,
            columns: Vec::new(),
            rows: 0,
        };
        let mut expected = Expected::Key;
        while let Some(line) = lines.next_line()? {
            let text = line.text.trim();
            if text.starts_with('\'') {
                expected = reader.key(&line, text)?;
                continue;
            }
            match expected {
                Expected::Value(take) => {
                    take(&mut reader, &line)?;
                    expected = Expected::Key;
                }
                _ if text.is_empty() => {}
                Expected::AccessLines => {
                    let access = access_line(&line)?;
                    match reader.test.access_specifications.last_mut() {
                        Some(specification) => specification.lines.push(access),
                        None => return Err(stray(&line, text)),
                    }
                }
                Expected::Rows => reader.row(&line)?,
                Expected::Key => return Err(stray(&line, text)),
            }
        }
        if reader.is_in_test {
            let position = lines.here();
            let help = "it is cut short, or the line `'Time Stamp` is missing";
            let message = "the file ends within a test";
            return Err(FileFormatError::new(ErrorKind::Missing, position, message, help));
        }
        if reader.all.is_empty() {
            let position = FilePosition::new(file, 0, 0);
            let help =
                "give a results.csv of Iometer, which begins with `'Test Type,Test Description`";
            return Err(FileFormatError::new(
                ErrorKind::Missing,
                position,
                "there are no results",
                help,
            ));
        }
        Ok(reader.all)
    }
}

fn nothing() -> TestResults {
    TestResults { access_specifications: Vec::new(), rows: Vec::new(), finished: String::new() }
}

fn stray(line: &Line<'_>, text: &str) -> FileFormatError {
    let message = format!("{} belongs to no key", quoted(text));
    let help = "put the key that it belongs to before it, such as 'Results and the columns";
    line.error_of(text, ErrorKind::Syntax, message, help)
}

impl Reader {
    /// Reads a key, and returns what follows it.
    fn key(&mut self, line: &Line<'_>, text: &str) -> Result<Expected, FileFormatError> {
        let is = |known: &str| text.eq_ignore_ascii_case(known);
        if is("'Test Type,Test Description") {
            self.all.push(Results {
                test_type: TestType::Normal,
                description: String::new(),
                version: String::new(),
                started: String::new(),
                tests: Vec::new(),
            });
            return Ok(Expected::Value(Self::test_type));
        }
        if self.all.is_empty() {
            let message = format!("{} comes before the type of the test", quoted(text));
            let help = "begin the file with `'Test Type,Test Description`";
            return Err(line.error_of(text, ErrorKind::Syntax, message, help));
        }
        if is("'Version") {
            return Ok(Expected::Value(|reader, line| {
                if let Some(results) = reader.all.last_mut() {
                    results.version = line.text.trim().to_owned();
                }
                Ok(())
            }));
        }
        if is("'Time Stamp") {
            return Ok(Expected::Value(Self::time_stamp));
        }
        if is("'Access specifications") {
            self.is_in_test = true;
            return Ok(Expected::Key);
        }
        if is("'Access specification name,default assignment") {
            return Ok(Expected::Value(Self::specification));
        }
        if begins(text, "'size,") {
            return Ok(Expected::AccessLines);
        }
        if is("'End access specifications") {
            return Ok(Expected::Key);
        }
        if is("'Results") {
            self.is_in_test = true;
            return Ok(Expected::Key);
        }
        if begins(text, "'Target Type,") {
            return self.header(line, text);
        }
        let message = format!("results have no key {}", quoted(text));
        let help = "Iometer writes no such line: take it out";
        Err(line.error_of(text, ErrorKind::UnknownName, message, help))
    }

    fn test_type(&mut self, line: &Line<'_>) -> Result<(), FileFormatError> {
        let text = line.text.trim();
        let (number, description) = text.split_once(',').unwrap_or((text, ""));
        let mut value = Value { line: *line, rest: number.trim() };
        let test_type = value.one_of("test type", TestType::WORDS)?;
        if let Some(results) = self.all.last_mut() {
            results.test_type = test_type;
            results.description = description.trim().to_owned();
        }
        Ok(())
    }

    /// Reads the time of the series' beginning, or of a test's end.
    fn time_stamp(&mut self, line: &Line<'_>) -> Result<(), FileFormatError> {
        let time = line.text.trim().to_owned();
        let Some(results) = self.all.last_mut() else { return Ok(()) };
        if self.is_in_test {
            self.is_in_test = false;
            let mut test = std::mem::replace(&mut self.test, nothing());
            test.finished = time;
            results.tests.push(test);
        } else {
            results.started = time;
        }
        Ok(())
    }

    fn specification(&mut self, line: &Line<'_>) -> Result<(), FileFormatError> {
        let mut value = Value { line: *line, rest: line.text.trim() };
        let (name, default_assignment) = name_and_assignment(&mut value)?;
        let lines = Vec::new();
        let specification = AccessSpecification { name, default_assignment, lines };
        self.test.access_specifications.push(specification);
        Ok(())
    }

    fn header(&mut self, line: &Line<'_>, text: &str) -> Result<Expected, FileFormatError> {
        self.columns.clear();
        for name in text.trim_start_matches('\'').split(',') {
            let at = position(name);
            if at.is_some() && self.columns.contains(&at) {
                let message = format!("a second column is called {}", quoted(name.trim()));
                let help = "take one of the two out";
                return Err(line.error_of(name, ErrorKind::Syntax, message, help));
            }
            if self.columns.len() > 1000 {
                let message = "there are more than 1000 columns";
                return Err(line.error_of(name, ErrorKind::Limit, message, "check the file"));
            }
            self.columns.push(at);
        }
        for (at, name) in RESULT_COLUMNS.iter().enumerate().take(2) {
            if !self.columns.contains(&Some(at)) {
                let message = format!("no column is called {name}");
                let help = "name the columns as Iometer does";
                return Err(line.error(ErrorKind::Missing, message, help));
            }
        }
        Ok(Expected::Rows)
    }

    fn row(&mut self, line: &Line<'_>) -> Result<(), FileFormatError> {
        if self.rows == MOST_ROWS {
            let message = format!("there are more than {MOST_ROWS} lines of results");
            return Err(line.error(ErrorKind::Limit, message, "split the file"));
        }
        let mut cells = [""; RESULT_COLUMNS.len()];
        // One more comma may follow the columns.
        let mut columns = self.columns.iter();
        for text in line.text.split(',') {
            match columns.next() {
                Some(Some(at)) => cells[*at] = text.trim(),
                Some(None) => {}
                None if text.trim().is_empty() => {}
                None => {
                    let columns = self.columns.len();
                    let message = format!("there are more fields than the {columns} columns");
                    let help = "a name with a comma in it? Put a space for it";
                    return Err(line.error_of(text, ErrorKind::Syntax, message, help));
                }
            }
        }
        self.rows += 1;
        self.test.rows.push(ResultRow::from_cells(line, &cells)?);
        Ok(())
    }
}
