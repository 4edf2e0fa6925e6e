//! The text of a scenario, beside what it says.

use std::sync::Arc;

/// The text that a scenario was read from. Scenarios that mean the same are equal, whatever their texts.
#[derive(Debug, Clone)]
pub struct SourceText(Arc<str>);

impl SourceText {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for SourceText {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl PartialEq for SourceText {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
