//! Constants that nobody published, and what else they might have been.

use crate::fields::{Fields, Table, list_of, name};

/// A constant that was chosen, with other values that it might have had. A run does not depend on these; a study of the
/// scenario's sensitivity does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unknown {
    /// The setting, by the name that [`Scenario::parse_with`](crate::Scenario::parse_with) takes.
    pub constant: String,
    /// Other values, each as in the file.
    pub values: Vec<String>,
}

impl Unknown {
    pub(crate) const KEY: &str = "unknown";
}

impl Table for Unknown {
    fn fields(&mut self, f: &mut Fields<'_>) {
        f.value(
            name("constant", "The name of a setting, as `--set` takes it.")
                .required("\"FAS2050.buffer_cache\""),
            &mut self.constant,
        );
        f.value(
            list_of(name("values", "Other values, each as `--set` takes it."))
                .required("[\"1 GiB\"]"),
            &mut self.values,
        );
    }
}
