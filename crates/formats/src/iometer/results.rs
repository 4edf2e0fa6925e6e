//! Results, and writing them.

use std::io::Write;

use super::result_columns::header;
use super::write::{fields, name};
use super::{AccessSpecification, ResultRow, TestType};
use crate::text::WriteError;

/// What Iometer writes into `results.csv`: a series of tests.
///
/// ```
/// use strewn_formats::iometer::{Results, ResultRow, RowKind, TestResults, TestType};
///
/// let results = Results {
///     test_type: TestType::Normal,
///     description: "aging".into(),
///     version: "1.1.0".into(),
///     started: "2026-11-21 09:54:02:760".into(),
///     tests: vec![TestResults {
///         access_specifications: vec![],
///         rows: vec![ResultRow::new(RowKind::All, "All")],
///         finished: "2026-11-21 10:14:02:760".into(),
///     }],
/// };
/// let mut csv = Vec::new();
/// results.write(&mut csv)?;
/// assert!(csv.starts_with(b"'Test Type,Test Description\r\n0,aging\r\n"));
/// assert_eq!(Results::read(csv.as_slice(), Some("results.csv"))?, [results]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// What varied from test to test.
    pub test_type: TestType,
    /// A description for people. Commas are written as `-`, as Iometer does.
    pub description: String,
    /// The version of the program that made the results.
    pub version: String,
    /// When the series began, as `2026-11-21 09:54:02:760`.
    pub started: String,
    /// The tests, in order.
    pub tests: Vec<TestResults>,
}

/// The results of one test.
#[derive(Clone, Debug, PartialEq)]
pub struct TestResults {
    /// The access specifications used.
    pub access_specifications: Vec<AccessSpecification>,
    /// The sum first, then each manager with its processors, its workers and their disks.
    pub rows: Vec<ResultRow>,
    /// When it ended, as `2026-11-21 10:14:02:760`.
    pub finished: String,
}

impl Results {
    /// Writes the series with Windows line ends, as Iometer does there. Further series may follow in the same file.
    ///
    /// # Errors
    ///
    /// [`WriteError::NotRepresentable`] if a name or a time contains a line end, begins with a quote or has spaces at
    /// an end, or if a figure is not finite; [`WriteError::Io`] if the output fails.
    pub fn write(&self, mut output: impl Write) -> Result<(), WriteError> {
        let mut line = |text: &str| write!(output, "{text}\r\n");
        let description = self.description.replace(',', "-");
        line("'Test Type,Test Description")?;
        line(&format!("{},{}", test_type(self), name("the description", &description)?))?;
        line("'Version")?;
        line(name("the version", &self.version)?)?;
        line("'Time Stamp")?;
        line(name("the time", &self.started)?)?;
        for test in &self.tests {
            line("'Access specifications")?;
            for specification in &test.access_specifications {
                let assignment = specification.default_assignment.number();
                line("'Access specification name,default assignment")?;
                let called = name("the specification", &specification.name)?;
                line(&format!("{called},{assignment}"))?;
                line("'size,% of size,% reads,% random,delay,burst,align,reply")?;
                for access in &specification.lines {
                    // Iometer ends these lines with a comma.
                    line(&format!("{},", fields(access)))?;
                }
            }
            line("'End access specifications")?;
            line("'Results")?;
            line(&header())?;
            for row in &test.rows {
                name("the name", &row.name)?;
                let cells = row.cells();
                // The cells with letters are NaN and inf.
                let is_number = |cell: &String| !cell.contains(['N', 'n']);
                if !cells[3..].iter().all(is_number) {
                    return Err(WriteError::not_representable(
                        format!("a figure of {:?} that is not finite", row.name),
                        "readers take numbers only; leave the figure out",
                    ));
                }
                line(&cells.join(","))?;
            }
            line("'Time Stamp")?;
            line(name("the time", &test.finished)?)?;
        }
        output.flush()?;
        Ok(())
    }
}

/// Returns the position of the test type, which results have in place of its word.
fn test_type(results: &Results) -> usize {
    let position = TestType::WORDS.iter().position(|(known, _)| *known == results.test_type);
    position.unwrap_or(0)
}
