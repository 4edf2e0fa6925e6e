//! What a rule finds.

use std::fmt;

/// A fault, with its place and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    pub file: String,
    /// From 1; 0 for the whole file.
    pub line: u32,
    pub what: String,
    pub remedy: &'static str,
    /// What the list of exceptions calls it.
    pub key: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}: {}", self.file, self.line, self.what, self.remedy)
    }
}
